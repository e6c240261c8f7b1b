"""What executors cost: pieces of work of 0.2 s a second, beside two copies of the work that know nothing of each other.

A piece is a number of random games of Coinche, which answers with half a megabyte. The contestants take turns in short
rounds, so that whatever else the machine does slows all of them alike; the median of the rounds counts. Workers are
started, and everything compiled, before the first round. And where Deep CFR on Coinche stops gaining from workers: how
long the learner itself takes, which no worker can take off it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import torch

import cardspiel  # noqa: F401
from cardtable.batch import play_out
from cardtable.executors import Executor, find_executor, has_ray
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from solvers.deep_cfr.large import LargeDeepCFR, large_settings

PIECE_SECONDS = 0.2
PIECES, QUICK_PIECES = 20, 4
ROUNDS, QUICK_ROUNDS = 5, 1
COPIES = 2
NAMES = ("serial", "threads:2", "processes:1", "processes:2", "ray")
CHUNKS = 16  # traversals of a piece of work
WORKERS = (1, 2, 4, 8, 16, 64, 1000)


class Piece(NamedTuple):
    games: int
    seed: int


def play(shared: str, piece: Piece) -> np.ndarray:
    rules = pyspiel.load_game(shared).rules
    return play_out(rules, piece.games, np.random.SeedSequence(piece.seed), threads=1).returns


def play_alone(shared: str, pieces: list[Piece]) -> float:
    """All these pieces in one go; how long it took."""
    start = time.perf_counter()
    for piece in pieces:
        play(shared, piece)
    return time.perf_counter() - start


GAME = "python_coinche"


def games_of_a_piece() -> int:
    play(GAME, Piece(1000, 0))
    start = time.perf_counter()
    play(GAME, Piece(20_000, 0))
    return int(20_000 * PIECE_SECONDS / (time.perf_counter() - start))


def rate(executor: Executor, pieces: list[Piece]) -> float:
    start = time.perf_counter()
    for _ in executor.map(play, pieces, GAME):
        pass
    return len(pieces) / (time.perf_counter() - start)


def rate_of_copies(executor: Executor, pieces: list[Piece]) -> float:
    halves = [pieces[copy::COPIES] for copy in range(COPIES)]
    return len(pieces) / max(executor.map(play_alone, halves, GAME))


def speeds(pieces: int, rounds: int) -> list[dict[str, Any]]:
    """Pieces a second of each executor, and their share of what two copies reach."""
    names = [name for name in NAMES if name != "ray" or has_ray()]
    executors = {name: find_executor(name) for name in names}
    contestants: dict[str, Callable[[list[Piece]], float]] = {
        name: lambda work, executor=executor: rate(executor, work)  # type: ignore[misc]
        for name, executor in executors.items()
    }
    contestants["two copies"] = lambda work: rate_of_copies(executors["processes:2"], work)
    found: dict[str, list[float]] = {name: [] for name in contestants}
    games = games_of_a_piece()
    try:
        for number in range(-1, rounds):  # the first is to warm up
            work = [Piece(games, number * pieces + piece + pieces) for piece in range(pieces)]
            for name, run_round in contestants.items():
                speed = run_round(work)
                if number >= 0:
                    found[name].append(speed)
    finally:
        for executor in executors.values():
            executor.close()
    best = statistics.median(found["two copies"])
    return [
        {
            "executor": name,
            "pieces/s": statistics.median(own),
            "lowest": min(own),
            "highest": max(own),
            "share of two copies": statistics.median(own) / best,
        }
        for name, own in found.items()
    ]


def deep_cfr_shares(iterations: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Wall seconds of an iteration of Deep CFR on Coinche by who works; and what more workers could bring at best."""
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for name in ("serial", "processes:1", "processes:2"):
        with find_executor(name) as executor:
            settings = large_settings(chunk_traversals=CHUNKS)
            trainer = LargeDeepCFR(pyspiel.load_game(GAME), settings, 1, executor=executor)
            trainer.run(1)
            before, start = dict(trainer.seconds), time.perf_counter()
            trainer.run(iterations)
            wall = (time.perf_counter() - start) / iterations
            spent = {part: (trainer.seconds[part] - before[part]) / iterations for part in before}
            learner = spent["training"] + spent["reservoirs"]
            rows.append(
                {
                    "executor": name,
                    "seconds an iteration": wall,
                    "traversing": sum(spent.values()) - learner,
                    "filing": spent["reservoirs"],
                    "training": spent["training"],
                }
            )
    serial = rows[0]
    learner = serial["filing"] + serial["training"]
    whole = learner + serial["traversing"]
    bounds = [{"workers": count, "gain at best": whole / (learner + serial["traversing"] / count)} for count in WORKERS]
    return rows, bounds


def run(directory: RunDirectory, quick: bool = False) -> list[dict[str, Any]]:
    rows = speeds(QUICK_PIECES if quick else PIECES, QUICK_ROUNDS if quick else ROUNDS)
    tables.show("Pieces of 0.2 s a second, two cores", rows)
    write_csv(directory.path / "speed.csv", rows)
    iterations, bounds = deep_cfr_shares(1 if quick else 5)
    tables.show("Deep CFR on Coinche, seconds an iteration", iterations)
    tables.show("What more workers could bring, by Amdahl's law", bounds)
    write_csv(directory.path / "deep_cfr.csv", iterations)
    directory.write_report(
        "# Executors\n\n`python -m experiments.benchmark --suite=executors`\n\n"
        + "\n".join(tables.markdown(part) for part in (rows, iterations, bounds))
    )
    return rows
