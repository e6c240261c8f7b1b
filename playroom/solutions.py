"""Exact equilibria of games that are small enough: what the best hint of all says.

A game for two, zero-sum, whose tree is small is solved when a table opens, by CFR on the sequence form, in at most ten
seconds of CPU time, and kept as a policy file: the next time it is read. How far from an equilibrium the policy is at
most (its exploitability, exact) is kept with it and said with every hint.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pyspiel

from cardtable.parameters import UserError
from cardtable.player import rules_version
from solvers.arrays.tree import estimate_size
from solvers.cfr import CFRSolver
from solvers.policies import load_metadata, save_policy

SECONDS = 10.0  # of CPU time
MOST_NODES = 2_000_000  # larger trees take longer than that to lay out
GOOD_ENOUGH = 1e-4  # exploitability, as a share of what can be won
ITERATIONS = 200  # between two looks at the clock
SOLVER = "dcfr"


def solution_path(folder: Path, game: pyspiel.Game) -> Path:
    """Where the solution of this variant lies; another version of the rules has another one."""
    name = f"{game} {rules_version(game)}"
    return folder / f"{game.get_type().short_name}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.npz"


def may_be_solved(game: pyspiel.Game) -> bool:
    """Whether it is worth trying: a look at the type, and a few random probes of the tree."""
    kind = game.get_type()
    if game.num_players() != 2 or kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        return False
    if kind.information != pyspiel.GameType.Information.IMPERFECT_INFORMATION:
        return False
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL or not kind.provides_information_state_string:
        return False
    return estimate_size(game).nodes <= MOST_NODES


def solve(game: pyspiel.Game, folder: Path, seconds: float = SECONDS) -> dict[str, object]:
    """Solves a game, unless it has been solved; returns where the policy is and its exploitability.

    UserError if it is too large or does not come near enough in time.
    """
    path = solution_path(folder, game)
    if path.exists():
        return {"path": str(path), "exploitability": float(load_metadata(path)["exploitability"])}
    if not may_be_solved(game):
        raise UserError(f"{game} is too large to be solved while somebody waits")
    deadline = time.process_time() + seconds
    solver = CFRSolver(game, SOLVER, threads=1)
    goal = GOOD_ENOUGH * (game.max_utility() - game.min_utility())
    exploitability = float("inf")
    while exploitability > goal:
        solver.run(ITERATIONS)
        exploitability = solver.exploitability()
        if time.process_time() > deadline:
            break
    if exploitability > 100 * goal:
        raise UserError(f"{game} was not solved in {seconds:g} seconds")
    folder.mkdir(parents=True, exist_ok=True)
    made_by = {"solver": SOLVER, "iterations": solver.iterations, "exploitability": exploitability}
    save_policy(path, solver.average_policy(), made_by)
    return {"path": str(path), "exploitability": exploitability}
