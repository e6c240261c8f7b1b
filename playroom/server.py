"""The web face: one page, one socket. Everything that a stranger could send is limited before it is looked at.

Any page in the browser can open a socket to this machine, and a name that somebody else owns can be made to point at
it. So a socket needs our own page as its origin, and every request a host name that is ours. On other addresses than
loopback a token in the page's address is needed too.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from playroom import catalog
from playroom.room import House, Room, Visitor
from playroom.session import Frame

STATIC = Path(__file__).parent / "static"
LONGEST_MESSAGE = 1 << 16  # bytes
MESSAGES_A_SECOND = 30.0
MESSAGES_AT_ONCE = 60.0
MOST_REFUSED = 200  # messages over the rate, before the connection is closed
MOST_CONNECTIONS = 128
MOST_FRAMES_WAITING = 300  # of a visitor who does not read: more than a deal and its analysis; some 10 kB each
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Door:
    """Who may come in: names under which this server may be addressed, and the token where one is needed."""

    def __init__(self, app: Any, names: tuple[str, ...], port: int, token: str | None) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in names}
        if port == 80:
            self._hosts |= set(names)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        reason = self._reason_to_refuse(HTTPConnection(dict(scope)))
        if reason is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # before it was accepted: HTTP 403
        else:
            await PlainTextResponse(reason, 403, HEADERS)(dict(scope), receive, send)

    def _reason_to_refuse(self, request: HTTPConnection) -> str | None:
        host = request.headers.get("host", "")
        if host not in self._hosts:
            return "this server is not called that way"
        origin = request.headers.get("origin")
        if request.scope["type"] == "websocket" and origin not in (f"http://{host}", f"https://{host}"):
            return "only the table's own page may connect"
        if origin is not None and origin.partition("://")[2] not in self._hosts:
            return "only the table's own page may ask"
        if self._token is not None and not request.url.path.startswith("/static/"):
            given = request.query_params.get("token", "")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return "the address needs the token that was printed when the server started"
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", []),
                *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
            ]
        await send(message)

    return sending


class Rate:
    """So many messages a second, a few more at once."""

    def __init__(self) -> None:
        self._left = MESSAGES_AT_ONCE
        self._then = time.monotonic()
        self.refused = 0

    def allows(self) -> bool:
        now = time.monotonic()
        self._left = min(MESSAGES_AT_ONCE, self._left + (now - self._then) * MESSAGES_A_SECOND)
        self._then = now
        if self._left < 1.0:
            self.refused += 1
            return False
        self._left -= 1.0
        self.refused = 0
        return True


class Sockets:
    """All connections: messages in, frames out."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._connections = 0

    async def serve(self, socket: WebSocket) -> None:
        if self._connections >= MOST_CONNECTIONS:
            await socket.close(1013)
            return
        self._connections += 1
        try:
            await socket.accept()
            await self._serve(socket)
        finally:
            self._connections -= 1

    async def _serve(self, socket: WebSocket) -> None:
        frames: asyncio.Queue[Frame | None] = asyncio.Queue(MOST_FRAMES_WAITING)

        def send(frame: Frame) -> None:
            with contextlib.suppress(asyncio.QueueFull):  # who does not read misses frames, and sees all on return
                frames.put_nowait(frame)

        visitor = Visitor(send)
        writing = asyncio.create_task(_write(socket, frames))
        rate = Rate()
        try:
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                if not rate.allows():
                    if rate.refused == 1:
                        send({"type": "error", "text": "too many messages; slow down"})
                    if rate.refused > MOST_REFUSED:
                        await socket.close(1008, "too many messages")
                        break
                    continue
                text = message.get("text")
                await self._room.receive(visitor, message.get("bytes") or b"" if text is None else text)
        except (WebSocketDisconnect, RuntimeError):
            pass  # it went away in the middle of a frame
        finally:
            self._room.leave(visitor)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


async def _write(socket: WebSocket, frames: asyncio.Queue[Frame | None]) -> None:
    while True:
        await socket.send_text(json.dumps(await frames.get(), ensure_ascii=False))


async def _page(request: HTTPConnection) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html")


async def _nothing(request: HTTPConnection) -> Response:
    return Response(status_code=204)


def make_app(house: House, port: int, names: tuple[str, ...] = LOOPBACK, token: str | None = None) -> Door:
    """The whole application, behind its door."""
    room = Room(house)

    @contextlib.asynccontextmanager
    async def open_house(app: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(asyncio.to_thread(_load_menu, house))
        room.compute.start()
        yield
        loading.cancel()
        await room.close()

    app = Starlette(
        routes=[
            Route("/", _page),
            Route("/favicon.ico", _nothing),
            Mount("/static", StaticFiles(directory=STATIC)),
            WebSocketRoute("/table", Sockets(room).serve),
        ],
        lifespan=open_house,
    )
    return Door(app, names, port, token)


def _load_menu(house: House) -> None:
    """Loads the first games while nobody has chosen one yet."""
    first = house.game or catalog.MENU[0].variants[0][1]
    with contextlib.suppress(Exception):
        catalog.about_game(first)
