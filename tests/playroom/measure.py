"""How quick the table is: `python -m tests.playroom.measure` prints what a person waits for. No test: machines differ.

From the click to the answer of the next player, first page, weight of the page, how long another table's move takes
while a search of a minute is under way, and time and memory with 200 visitors who want a table, a flood of messages and
giant frames.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from websockets.exceptions import WebSocketException

from playroom.serving import Address
from tests.playroom.browsing import browser
from tests.playroom.visits import Visit, serving, visiting

BUSY = "tests.playroom.slow_players:busy"


def answers(folder: Path) -> None:
    with serving(folder, players=(BUSY,), limit=60.0) as address:
        with visiting(address) as visit:
            visit.sit("python_coinche", ["strong", "strong", "me", "strong"])
            visit.play_deal()
            print(f"click to the answer of strong: median {1000 * statistics.median(_waits(visit, 10)):.0f} ms")
        with visiting(address) as slow, visiting(address) as quick:
            quick.sit("python_coinche", ["strong", "strong", "me", "strong"])
            quick.play_deal()
            slow.sit("python_kuhn_collab", ["random", BUSY, "random", "random"])
            slow.hear("view")
            time.sleep(1.0)
            waits = _waits(quick, 10)
            print(f"the same beside a search of 60 s: median {1000 * statistics.median(waits):.0f} ms", end="")
            print(f", longest {1000 * max(waits):.0f} ms of {len(waits)}")


def _waits(visit: Visit, deals: int) -> list[float]:
    """Seconds from each own move to the frame with the next player's move."""
    waits = []
    for _ in range(deals):
        visit.say("next")
        asked = None
        while True:
            frame = visit.hear("view", "result")
            if frame["type"] == "result":
                break
            view, done = frame["view"], frame["done"]
            if asked is not None and done and done["seat"] != 2:
                waits.append(time.perf_counter() - asked)
                asked = None
            if view["actions"]:
                time.sleep(0.05)  # nobody clicks faster; the server would ask us to slow down
                asked = time.perf_counter()
                visit.say("play", action=view["actions"][0][0], moves=view["moves"])
    return waits


@contextlib.contextmanager
def server_process(folder: Path) -> Iterator[tuple[int, str]]:
    """A server of its own, as `make play` starts it: its process and its address."""
    command = [sys.executable, "-m", "playroom", "--no-browser", "--port=0", f"--folder={folder}"]
    before = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    print(f"from the command to the address: {time.perf_counter() - before:.2f} s")
    try:
        yield server.pid, url
    finally:
        server.terminate()
        server.wait()


def first_page(folder: Path) -> None:
    with server_process(folder) as (_, url), browser() as chromium:
        sizes: list[int] = []
        opened = chromium.new_context().new_page()
        opened.on("response", lambda answer: sizes.append(len(answer.body())))
        before = time.perf_counter()
        opened.goto(url)
        opened.wait_for_selector("#sit")
        print(f"first page: {time.perf_counter() - before:.2f} s, {sum(sizes) / 1000:.0f} kB in {len(sizes)} files")


def _memory(process: int) -> float:
    """MB that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1000 if found else 0.0


def _all_memory(process: int) -> str:
    workers = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and f"PPid:\t{process}\n" in _status(entry)
    ]
    return f"server {_memory(process):.0f} MB, {len(workers)} processes that think {sum(map(_memory, workers)):.0f} MB"


def _status(entry: Path) -> str:
    with contextlib.suppress(OSError):
        return (entry / "status").read_text()
    return ""


def crowd(folder: Path) -> None:
    """200 visitors, then messages as fast as they go, then giants; somebody plays on meanwhile."""
    with server_process(folder) as (process, url), contextlib.ExitStack() as visits:
        address = Address(socket.socket(), int(url.rstrip("/").rpartition(":")[2]), url, (), None)
        player = visits.enter_context(visiting(address))
        player.sit("python_coinche", ["strong", "strong", "me", "strong"])
        player.play_deal()
        print(f"one table: {_all_memory(process)}")
        seated = refused = 0
        for _ in range(200):
            try:
                visit = visits.enter_context(visiting(address))
                visit.say("sit", game="python_coinche", seats=["strong", "strong", "me", "strong"])
                seated += visit.hear("session", "error")["type"] == "session"
            except (WebSocketException, OSError):
                refused += 1
        told = 200 - seated - refused
        print(f"200 visitors: {seated} seated, {told} told that all tables are taken, {refused} not let in")
        waits = _waits(player, 5)
        print(f"click to the answer of strong then: median {1000 * statistics.median(waits):.0f} ms", end="")
        print(f", longest {1000 * max(waits):.0f} ms; {_all_memory(process)}")
    with server_process(folder) as (process, url):
        address = Address(socket.socket(), int(url.rstrip("/").rpartition(":")[2]), url, (), None)
        for name, message, pause in (
            ("1,000 messages a second", "x", 0.001),
            ("frames of 1 MB", "x" * (1 << 20), 0.05),
        ):
            with visiting(address) as player:
                player.sit("python_coinche", ["strong", "strong", "me", "strong"])
                player.play_deal()
                before, stop = _memory(process), threading.Event()
                thread = threading.Thread(target=_flood, args=(address, message, pause, stop))
                thread.start()
                waits = _waits(player, 5)
                stop.set()
                thread.join()
                print(f"{name}: {before:.0f} MB before, {_memory(process):.0f} MB after; click to the answer ", end="")
                print(f"meanwhile: median {1000 * statistics.median(waits):.0f} ms, longest {1000 * max(waits):.0f} ms")


def _flood(address: Address, message: str, pause: float, stop: threading.Event) -> None:
    while not stop.is_set():
        with contextlib.suppress(WebSocketException, OSError), visiting(address) as visit:
            while not stop.is_set():
                visit.send(message)
                time.sleep(pause)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        first_page(Path(name))
        answers(Path(name))
        if os.path.exists("/proc/self/status"):
            crowd(Path(name))
