"""Profiles of Toepen learned by external sampling under different abstractions: of the full game, mostly."""

from __future__ import annotations

import time
from typing import NamedTuple

import pyspiel

from cardtable.executors import Executor, Serial, Threads
from cardtable.parameters import UserError
from experiments.toepen.training import under_isomorphism
from solvers.mccfr import ExternalSamplingSolver

PLACES = "places"
# name: isomorphism, hand, history
ABSTRACTIONS = {
    "suit orbits only": ("orbit", "exact", "exact"),
    "advanced history": ("orbit", "exact", "ante"),
    "advanced combined": ("orbit", "bucket", "ante"),
    "simple history": ("orbit", "exact", "none"),
    PLACES: ("none", "places", "stakes"),
}
GIGABYTE = 10**9
MOST_GIGABYTES = 10**6
TIME, MEMORY = "time", "memory"  # what ended a training


class Trained(NamedTuple):
    """How long a training went on; as long again, with the same seed and memory, gives the same table."""

    iterations: int  # that were finished
    seconds: float
    ended_by: str  # TIME, or MEMORY, somewhere in the iterations that followed


def abstracted(base: str, isomorphism: str, hand: str, history: str) -> pyspiel.Game:
    inner = under_isomorphism(base, isomorphism)
    exact = hand == history == "exact"
    return pyspiel.load_game(inner if exact else f"python_bucketing(game={inner},hand={hand},history={history})")


def train(solver: ExternalSamplingSolver, seconds: float, name: str) -> Trained:
    """Runs for so much processor time, or until the memory is used up."""
    from rich.progress import Progress

    solver.run(1)  # compiles
    start = time.process_time()
    step = 10
    with Progress() as bar:
        task = bar.add_task(name, total=seconds)
        while (used := time.process_time() - start) < seconds:
            bar.update(task, completed=used)
            before = time.process_time()
            try:
                solver.run(step)
            except MemoryError:
                return Trained(solver.iterations, time.process_time() - start, MEMORY)
            if time.process_time() - before < 1.0:
                step *= 2
        bar.update(task, completed=seconds)
    return Trained(solver.iterations, used, TIME)


def train_again(solver: ExternalSamplingSolver, iterations: int, until_filled: bool) -> None:
    """The same table once more."""
    solver.run(iterations)
    try:
        while until_filled:
            solver.run(1 << 20)
    except MemoryError:
        pass


def require_here(executor: Executor) -> None:
    if not isinstance(executor, Serial | Threads):
        raise UserError("profiles are gigabytes and stay in this process; allowed: --executor=serial, threads:<number>")
