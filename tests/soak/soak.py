"""Long work in one process, and how much memory it has along the way.

`python -m tests.soak.soak sampling 600` works for 600 CPU seconds and prints megabytes as JSON: one reading after a
fifth of the time, when tables and buffers have their size, and the largest of the last fifth.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel

import cardspiel  # noqa: F401 registers our games

Step = Callable[[], object]
TOEPEN = "python_toepen(suits=2,ranks=3,hand_size=2)"  # small enough that sampling soon knows all of it


def tabular() -> list[Step]:
    from solvers.cfr import CFRSolver
    from solvers.tree_cfr import TreeCFRSolver

    fast = CFRSolver(pyspiel.load_game("kuhn_poker"), "dcfr", threads=1)
    large = CFRSolver(pyspiel.load_game("leduc_poker"), "pcfr_plus", threads=1)
    tree = TreeCFRSolver(pyspiel.load_game(TOEPEN))
    return [
        lambda: fast.run(200_000),
        lambda: large.run(1000),
        large.metrics,
        lambda: large.average_policy().probabilities.sum(),
        lambda: tree.run(50),
        lambda: large.set_state(large.get_state()),
    ]


def sampling() -> list[Step]:
    from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver

    game = pyspiel.load_game(TOEPEN)
    solvers = [
        ExternalSamplingSolver(game, 1),
        OutcomeSamplingSolver(game, 1),
        ExternalSamplingSolver(game, 1, where="tree"),
    ]
    steps: list[Step] = [lambda solver=solver: solver.run(5000) for solver in solvers]  # type: ignore[misc]
    return [
        *steps,
        lambda: solvers[0].average_table().probabilities.sum(),
        lambda: solvers[0].set_state(solvers[0].get_state()),
    ]


def deep_cfr() -> list[Step]:
    from solvers.deep_cfr.large import LargeDeepCFR, large_settings
    from solvers.deep_cfr.settings import Settings
    from solvers.deep_cfr.trainer import TabulatedDeepCFR

    rows = {"memory_rows": 2000, "strategy_memory_rows": 2000}
    few = large_settings(traversals=50, training_steps=20, batch_size=64, snapshots=20, **rows)
    large = LargeDeepCFR(pyspiel.load_game("python_gongzhu(suits=2,ranks=4)"), few, 1)
    tabulated = TabulatedDeepCFR(pyspiel.load_game("leduc_poker"), Settings(traversals=100, training_steps=20), 1)
    return [
        lambda: large.run(1),
        lambda: tabulated.run(1),
        tabulated.metrics,
        lambda: large.set_state(large.get_state()),
    ]


def learners() -> list[Step]:
    """Deep Monte Carlo, Double DQN and NFSP on the batched actor, in self-play and against a player."""
    from cardtable.match import play_match
    from cardtable.player import find_player
    from solvers.deep_monte_carlo.settings import Settings as MonteCarloSettings
    from solvers.deep_monte_carlo.trainer import DeepMonteCarlo
    from solvers.q_learning.settings import Settings as QSettings
    from solvers.q_learning.trainer import QLearning

    game = pyspiel.load_game("python_gongzhu(suits=2,ranks=4)")
    sizes: dict[str, Any] = {"context_sizes": (16,), "head_sizes": (8,), "games": 64, "chunk_games": 32}
    other = find_player("random", game)
    monte_carlo = DeepMonteCarlo(
        game, MonteCarloSettings(distil_iterations=20, **sizes), 1, [(None, other, None, other), (None,) * 4]
    )
    memories = QSettings(memory_rows=2000, training_steps=4, **sizes)
    double_dqn, nfsp = QLearning(game, "dqn", memories, 1), QLearning(game, "nfsp", memories, 1)
    trainers = (monte_carlo, double_dqn, nfsp)
    steps: list[Step] = [lambda trainer=trainer: trainer.run(2) for trainer in trainers]  # type: ignore[misc]
    return [
        *steps,
        lambda: [trainer.set_state(trainer.get_state()) for trainer in trainers],
        lambda: play_match(game, monte_carlo.player(), other, 5, 1),
    ]


def games() -> list[Step]:
    """pyspiel's side: states, observations and redeals, and matches."""
    import numpy as np

    from cardtable.match import play_match
    from cardtable.player import find_player
    from tests.random_play import play_randomly

    everything = [pyspiel.load_game(name) for name in ("python_coinche", "python_cego", "python_gongzhu", TOEPEN)]
    rng = np.random.default_rng(1)
    gongzhu = everything[2]
    players = find_player("greed", gongzhu), find_player("monte_carlo(worlds=2,rollout=team)", gongzhu)
    steps: list[Step] = [lambda game=game: play_randomly(game, rng) for game in everything]  # type: ignore[misc]
    return [*steps, lambda: play_match(gongzhu, *players, 5, 1)]


KINDS = {make.__name__: make for make in (tabular, sampling, deep_cfr, learners, games)}


def megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(kind: str, seconds: float) -> dict[str, float]:
    steps = KINDS[kind]()
    for step in steps:
        step()  # compiles
    start, early, largest = time.process_time(), 0.0, 0.0
    for number, step in enumerate(itertools.cycle(steps), start=1):
        step()
        share = (time.process_time() - start) / seconds
        if share >= 0.2 and not early:
            early = megabytes()
        if share >= 0.8:
            largest = max(largest, megabytes())
        if share >= 1.0:
            return {"early": early, "late": largest, "growth": largest / early - 1.0, "steps": number}
    raise AssertionError("a cycle has no end")


if __name__ == "__main__":
    print(json.dumps(soak(sys.argv[1], float(sys.argv[2]))))
