"""The first thing to run (`make demo`): solves three card games and shows how close to perfect play each comes."""

from __future__ import annotations

import time

import pyspiel
from rich.live import Live
from rich.table import Table

import cardspiel  # noqa: F401 registers the games
from experiments.running.command import command, start
from experiments.running.tables import console
from solvers.cfr import CFRSolver

GAMES = (
    ("Kuhn poker", "kuhn_poker"),
    ("Leduc poker", "leduc_poker"),
    ("Toepen, 9 cards", "python_toepen(suits=3,ranks=3,hand_size=2)"),
    ("Collaborative Kuhn", "python_kuhn_collab"),
)
ITERATIONS = (10, 100, 1_000)

INTRODUCTION = """[bold]CardSpiel[/bold] solves card games.

Exploitability is what a perfect opponent wins per hand against the strategy
found so far; in two-player games CFR+ brings it down to zero. The first run
compiles rules and solvers (under a minute); later runs start at once.
"""
CLOSING = """
Four players in two teams: CFR has no guarantee there. It settles where no
single player gains much by deviating, but a whole team may.

Next: .venv/bin/python -m experiments.solve --game=leduc_poker --iterations=5000
"""


@command
def main() -> None:
    console.print(INTRODUCTION)
    table = Table(title="Exploitability after 10, 100 and 1,000 iterations", title_justify="left")
    table.add_column("game", no_wrap=True)
    for name in ("information\nsets", *(f"\n{iterations:,}" for iterations in ITERATIONS), "ms an\niteration"):
        table.add_column(name, justify="right", no_wrap=True)
    with Live(table, console=console, auto_refresh=False) as live:
        for title, name in GAMES:
            solver = CFRSolver(pyspiel.load_game(name), variant="cfr_plus", threads=1)
            solver.run(1)  # compiles, so that the clock below only sees solving
            seconds = 0.0
            exploitability = []
            for iterations in ITERATIONS:
                start = time.process_time()
                solver.run(iterations - solver.iterations)
                seconds += time.process_time() - start
                exploitability.append(f"{solver.exploitability():.5f}")
            milliseconds = f"{1e3 * seconds / (ITERATIONS[-1] - 1):.3f}"
            table.add_row(title, f"{solver.form.num_information_sets:,}", *exploitability, milliseconds)
            live.refresh()
    console.print(CLOSING)


if __name__ == "__main__":
    start(main)
