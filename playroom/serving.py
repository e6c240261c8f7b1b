"""Starting the server: an address, a token where one is needed, and uvicorn."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass

import uvicorn

from cardtable.parameters import UserError
from playroom.room import House
from playroom.server import LONGEST_MESSAGE, LOOPBACK, make_app

BACKLOG = 128
TOKEN_VARIABLE = "PLAYROOM_TOKEN"


@dataclass(frozen=True)
class Address:
    """Where the server listens and what people type."""

    sock: socket.socket
    port: int
    url: str
    names: tuple[str, ...]
    token: str | None
    warning: str = ""


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> Address:
    """Takes the port; UserError if somebody else has it. Beyond this machine a token is needed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)  # from now on whoever knows the address may come, and waits until we serve
    except OSError as error:
        sock.close()
        reason = error.strerror or error
        raise UserError(f"{host}:{port} cannot be used: {reason}; --port=0 takes any free one") from None
    port = sock.getsockname()[1]
    if is_loopback(host):
        return Address(sock, port, f"http://{_written(host)}:{port}/", LOOPBACK, None)
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(16)
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
    names = (*LOOPBACK, _written(host), shown, *_own_addresses())
    warning = (
        f"listening on {host}: everybody who can reach this machine and has the token can play, with this machine's "
        "processor; what is sent is not encrypted"
    )
    return Address(sock, port, f"http://{_written(shown)}:{port}/?token={token}", names, token, warning)


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _own_addresses() -> tuple[str, ...]:
    """The addresses that this machine's name stands for."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return ()
    return tuple(sorted({_written(str(entry[4][0])) for entry in found}))


def make_server(house: House, address: Address) -> uvicorn.Server:
    """A server that is ready to `run(sockets=[address.sock])`."""
    config = uvicorn.Config(
        make_app(house, address.port, address.names, address.token),
        ws_max_size=LONGEST_MESSAGE,
        ws_ping_interval=20.0,
        log_level="warning",
        access_log=False,  # addresses hold tokens
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)
