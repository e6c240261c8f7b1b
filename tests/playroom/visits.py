"""A server in a thread of the test, and somebody who visits it through a real socket, without a browser."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from playroom.room import House
from playroom.serving import Address, bind, make_server

PATIENCE = 60.0


@contextlib.contextmanager
def serving(folder: Path, **house: Any) -> Iterator[Address]:
    """A server that runs until the block ends."""
    address = bind("127.0.0.1", 0)
    server = make_server(House(folder, **house), address)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [address.sock]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield address
    finally:
        server.should_exit = True
        thread.join(20)
        address.sock.close()


class Visit:
    """One connection. `frames` is everything that came, as text."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.frames: list[str] = []

    def say(self, kind: str, **values: Any) -> None:
        self._socket.send(json.dumps({"type": kind, **values}))

    def send(self, text: str | bytes) -> None:
        self._socket.send(text)

    def hear(self, *kinds: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The next frame of one of these kinds; others are passed over, errors are not."""
        end = time.monotonic() + seconds
        while True:
            text = self._socket.recv(max(end - time.monotonic(), 0.01))
            assert isinstance(text, str)
            self.frames.append(text)
            frame: dict[str, Any] = json.loads(text)
            if frame["type"] in kinds:
                return frame
            assert frame["type"] != "error", frame

    def sit(self, game: str, seats: list[str], **more: Any) -> str:
        """Sits down; returns the token."""
        self.say("sit", game=game, seats=seats, **more)
        token = self.hear("session")["token"]
        assert isinstance(token, str)
        return token

    def play_deal(self, choose: Callable[[dict[str, Any]], int] | None = None) -> dict[str, Any]:
        """Plays until the result is there, the first legal action unless told otherwise; returns the result."""
        answered = -1
        while True:
            frame = self.hear("view", "result")
            if frame["type"] == "result":
                if not frame["waiting"]:
                    return frame
                continue
            view = frame["view"]
            if view["actions"] and view["moves"] > answered:
                answered = view["moves"]
                action = view["actions"][0][0] if choose is None else choose(view)
                self.say("play", action=action, moves=view["moves"])


@contextlib.contextmanager
def visiting(address: Address, origin: str | None = None, path: str = "table", **headers: str) -> Iterator[Visit]:
    url = f"ws://127.0.0.1:{address.port}/{path}"
    own = Origin(f"http://127.0.0.1:{address.port}" if origin is None else origin)
    with connect(url, origin=own, additional_headers=headers, max_size=1 << 22, close_timeout=1) as socket:
        yield Visit(socket)
