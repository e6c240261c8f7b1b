"""One size of Toepen solved exactly: the rows of `experiments.toepen_frontier`."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel

import cardspiel  # noqa: F401
from cardtable.executors import Processes
from cardtable.parameters import UserError
from experiments.running import tables
from experiments.running.checkpoints import load_checkpoint, save_checkpoint
from experiments.toepen import openings
from experiments.toepen.training import toepen, under_isomorphism
from solvers.arrays.memory import GameTooLargeError, readable_bytes
from solvers.arrays.sequence_form import SequenceForm
from solvers.cfr import CFRSolver
from solvers.toepen.card_tree import build_card_tree
from solvers.toepen.tree_policy import save_tree_policy
from solvers.toepen_cfr import Bounds, ToepenSolver

SECONDS_BETWEEN_MESSAGES = 10
SECONDS_BETWEEN_FILES = 300
RARE = 1e-3  # what is played less often than this is not told
ITERATIONS_BETWEEN_LOOKS = 10


class Plan(NamedTuple):
    """What is done for every size."""

    target: float
    engine: str
    max_memory_bytes: int
    threads: int = 1
    folder: str = ""  # where a size that takes long leaves checkpoints; nowhere if empty
    resume: bool = False
    save: bool = False  # the policy, as a player, in a folder of its own


# What stands in the rows of `Solved`; where a size was too large there is a note instead of figures.
COUNTED: dict[str, type] = {"terminals": int, "information_sets": int}
TOO_LARGE_COLUMNS: dict[str, type] = dict.fromkeys(("size", "engine", "solved", "note"), str)
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("size", "engine", "solved", "peak_memory"), str),
    **COUNTED,
    "iterations": int,
    **dict.fromkeys(("nash_conv", "value", "build_seconds", "solve_seconds"), float),
}
HAND_COLUMNS: dict[str, type] = {"size": str, "hand": str, "probability": float, "value": float, "bets": float}
BET_COLUMNS: dict[str, type] = {
    "size": str,
    "stake": int,
    **dict.fromkeys(("reached", "losers_bet", "winners_bet", "bluffs_of_bets"), float),
    **dict.fromkeys(("indifferent_at", "called", "indifferent_at_calls"), float),
}


class Solved(NamedTuple):
    row: dict[str, Any]  # of the frontier table
    hands: list[dict[str, Any]]  # of the first player
    last_bets: list[dict[str, Any]]

    def columns(self) -> dict[str, type]:
        """What its row must have."""
        if self.row.get("solved") != "no":
            return COLUMNS
        return TOO_LARGE_COLUMNS | (COUNTED if set(COUNTED) & set(self.row) else {})


def solve(plan: Plan, size: str) -> Solved:
    """Solves one size with betting."""
    target, engine, max_memory_bytes = plan.target, plan.engine, plan.max_memory_bytes
    suits, ranks, hand_size = sizes_of(size)
    _compile()
    start = time.process_time()
    row: dict[str, Any] = {"size": size, "engine": engine}
    solver: ToepenSolver | CFRSolver
    try:
        if engine == "card_tree":
            tree = build_card_tree(suits, ranks, hand_size, max_memory_bytes, plan.save)
            row |= {"terminals": tree.num_terminals, "information_sets": tree.num_information_sets}
            solver = ToepenSolver(tree, max_memory_bytes, plan.threads)
        else:
            game = pyspiel.load_game(under_isomorphism(toepen(suits, ranks, hand_size, True, True), "orbit"))
            form = SequenceForm.from_game(game, max_memory_bytes)
            row |= {"terminals": form.num_terminals, "information_sets": form.num_information_sets}
            solver = CFRSolver(form, "dcfr", threads=1)
    except GameTooLargeError as error:
        return Solved({**row, "solved": "no", "note": str(error).split("(raise")[0].strip()}, [], [])
    built = time.process_time()
    bounds = Bounds(np.inf, np.inf)
    shown = saved = time.monotonic()
    file = Path(plan.folder) / f"solving_{size}.npz" if plan.folder else None
    if file is not None and plan.resume and file.exists() and isinstance(solver, ToepenSolver):
        solver.set_state(load_checkpoint(file, solver.identity()) | {"identity": solver.identity()})
        tables.console.print(f"  {size}: goes on after iteration {solver.iterations}")
    while bounds.nash_conv > target:
        solver.run(ITERATIONS_BETWEEN_LOOKS)
        evaluation = solver.evaluate()
        best = evaluation if isinstance(evaluation, Bounds) else evaluation.best_response_values
        bounds = Bounds(*map(float, best))
        if time.monotonic() - shown > SECONDS_BETWEEN_MESSAGES:
            shown = time.monotonic()
            tables.console.print(f"  {size}: iteration {solver.iterations}, NashConv {bounds.nash_conv:.4f}")
        if file is not None and isinstance(solver, ToepenSolver) and time.monotonic() - saved > SECONDS_BETWEEN_FILES:
            # Straight from the tables: a copy would take as much memory again.
            save_checkpoint(file, solver.identity(), dict(solver.lasting_tables()) | {"iterations": solver.iterations})
            saved = time.monotonic()
    solved = time.process_time()
    row |= {
        "solved": "yes",
        "iterations": solver.iterations,
        "nash_conv": bounds.nash_conv,
        "value": bounds.value,
        "build_seconds": built - start,
        "solve_seconds": solved - built,
        "peak_memory": readable_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024),
    }
    if file is not None:
        file.unlink(missing_ok=True)
    if not isinstance(solver, ToepenSolver):
        return Solved(row, [], [])
    if plan.save:
        folder = Path(plan.folder) / f"player_{size}"
        folder.mkdir(exist_ok=True)
        game = pyspiel.load_game(toepen(suits, ranks, hand_size, True, True))
        save_tree_policy(folder, game, solver, {"target": target, "iterations": solver.iterations})
    return Solved(row, opening_rows(solver, size), last_bets(solver, size))


def _compile() -> None:
    """Compiles, or loads from the cache, what is timed afterwards."""
    small = ToepenSolver(build_card_tree(2, 2, 2))
    small.run(1)
    small.evaluate()


def sizes_of(size: str) -> tuple[int, int, int]:
    """Suits, ranks and cards in a hand, from `4-8-3`; UserError for other texts."""
    parts = size.split("-")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise UserError(f"{size} is no size of Toepen; allowed: suits-ranks-hand size, such as 4-8-4")
    suits, ranks, hand_size = map(int, parts)
    return suits, ranks, hand_size


def opening_rows(solver: ToepenSolver, size: str) -> list[dict[str, Any]]:
    """The first player's hands from the weakest to the strongest."""
    game = pyspiel.load_game(toepen(*sizes_of(size), True, True))
    return [
        {
            "size": size,
            "hand": openings.hand_name(game, opening.hand),
            "probability": opening.probability,
            "value": opening.value,
            "bets": opening.bets,
        }
        for opening in sorted(solver.opening(), key=lambda opening: opening.value)
    ]


def last_bets(solver: ToepenSolver, size: str) -> list[dict[str, Any]]:
    """Bets before the very last card, when its player knows the outcome, by stake; beside what indifference asks for.

    At stake a, a call loses or wins a + 1 where a fold loses a: it pays if at least one bet in 2 (a + 1) is a bluff.
    A bluff loses a + 1 if called and wins a if not, where a check loses a: it pays if at most 2 a / (2 a + 1) call.
    """
    found = {(bet.stake, bet.wins): bet for bet in solver.last_bets()}
    rows = []
    for stake in sorted({stake for stake, _ in found}):
        loses, wins = found.get((stake, False)), found.get((stake, True))
        if loses is None or wins is None or loses.reached + wins.reached < RARE:
            continue
        bluffs, others = loses.reached * loses.bets, wins.reached * wins.bets
        rows.append(
            {
                "size": size,
                "stake": stake,
                "reached": loses.reached + wins.reached,
                "losers_bet": loses.bets,
                "winners_bet": wins.bets,
                "bluffs_of_bets": bluffs / (bluffs + others),
                "indifferent_at": 1 / (2 * (stake + 1)),
                "called": (bluffs * loses.called + others * wins.called) / (bluffs + others),
                "indifferent_at_calls": 2 * stake / (2 * stake + 1),
            }
        )
    return rows


def solve_in_own_process(plan: Plan, size: str) -> Solved:
    """So that the memory of one size is free again before the next."""
    with Processes(1) as executor:
        return next(executor.map(solve, [size], plan))
