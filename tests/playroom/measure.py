"""How quick the table is: `python -m tests.playroom.measure` prints what a person waits for. No test: machines differ.

From the click to the answer of the next player, first page, weight of the page, and how long another table's move takes
while a search of a minute is under way.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def first_page(folder: Path) -> None:
    command = [sys.executable, "-m", "playroom", "--no-browser", "--port=0", f"--folder={folder}"]
    before = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    print(f"from the command to the address: {time.perf_counter() - before:.2f} s")
    with browser() as chromium:
        sizes: list[int] = []
        opened = chromium.new_context().new_page()
        opened.on("response", lambda answer: sizes.append(len(answer.body())))
        before = time.perf_counter()
        opened.goto(url)
        opened.wait_for_selector("#sit")
        print(f"first page: {time.perf_counter() - before:.2f} s, {sum(sizes) / 1000:.0f} kB in {len(sizes)} files")
    server.terminate()
    server.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        first_page(Path(name))
        answers(Path(name))
