"""The largest Toepen that is solved exactly.

python -m experiments.toepen_frontier                     solves one size after the other, to NashConv <= 0.01

Exact solutions are those of the orbit quotient, whose NashConv is that of the lifted profile in the whole game.
`experiments.toepen_full_game` goes on where this ends.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from absl import app, flags

import cardspiel  # noqa: F401
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from experiments.toepen import openings
from experiments.toepen.training import toepen, under_isomorphism
from solvers.arrays.memory import GameTooLargeError, readable_bytes
from solvers.arrays.sequence_form import SequenceForm
from solvers.cfr import CFRSolver
from solvers.toepen.card_tree import build_card_tree
from solvers.toepen_cfr import Bounds, ToepenSolver
from toepen_spiel.rules import toepen_rules

FLAGS = flags.FLAGS

SIZES = ("2-3-2", "3-2-2", "3-3-2", "3-3-3", "4-8-2", "4-4-3", "4-5-3", "4-6-3", "4-7-3", "4-8-3")
QUICK_SIZES = ("2-3-2", "3-3-2")
GIGABYTE = 10**9
SECONDS_BETWEEN_MESSAGES = 10
RARE = 1e-3  # what is played less often than this is not told
ITERATIONS_BETWEEN_LOOKS = 10


class Solved(NamedTuple):
    row: dict[str, Any]  # of the frontier table
    hands: list[dict[str, Any]]  # of the first player
    last_bets: list[dict[str, Any]]


def solve(size: str, target: float, engine: str, max_memory_bytes: int) -> Solved:
    """Solves one size with betting."""
    suits, ranks, hand_size = sizes_of(size)
    ToepenSolver(build_card_tree(2, 2, 2)).run(1)  # compiles, or loads from the cache
    start = time.process_time()
    row: dict[str, Any] = {"size": size, "engine": engine}
    solver: ToepenSolver | CFRSolver
    try:
        if engine == "card_tree":
            tree = build_card_tree(suits, ranks, hand_size, max_memory_bytes)
            row |= {"terminals": tree.num_terminals, "information_sets": tree.num_information_sets}
            solver = ToepenSolver(tree, max_memory_bytes)
        else:
            game = pyspiel.load_game(under_isomorphism(toepen(suits, ranks, hand_size, True, True), "orbit"))
            form = SequenceForm.from_game(game, max_memory_bytes)
            row |= {"terminals": form.num_terminals, "information_sets": form.num_information_sets}
            solver = CFRSolver(form, "dcfr", threads=1)
    except GameTooLargeError as error:
        return Solved({**row, "solved": "no", "note": str(error).split("(raise")[0].strip()}, [], [])
    built = time.process_time()
    bounds = Bounds(np.inf, np.inf)
    shown = time.monotonic()
    while bounds.nash_conv > target:
        solver.run(ITERATIONS_BETWEEN_LOOKS)
        evaluation = solver.evaluate()
        best = evaluation if isinstance(evaluation, Bounds) else evaluation.best_response_values
        bounds = Bounds(*map(float, best))
        if time.monotonic() - shown > SECONDS_BETWEEN_MESSAGES:
            shown = time.monotonic()
            tables.console.print(f"  {size}: iteration {solver.iterations}, NashConv {bounds.nash_conv:.4f}")
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
    if not isinstance(solver, ToepenSolver):
        return Solved(row, [], [])
    return Solved(row, opening_rows(solver, size), last_bets(solver, size))


def sizes_of(size: str) -> tuple[int, int, int]:
    suits, ranks, hand_size = map(int, size.split("-"))
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


def solve_in_own_process(*arguments: Any) -> Solved:
    """So that the memory of one size is free again before the next."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(solve, arguments)


def frontier(run: RunDirectory) -> None:
    sizes = QUICK_SIZES if FLAGS.quick else FLAGS.sizes
    rows: list[dict[str, Any]] = []
    hands: list[dict[str, Any]] = []
    bets: list[dict[str, Any]] = []
    for size in sizes:
        tables.console.print(f"solving {size} ...")
        solved = solve_in_own_process(size, FLAGS.target, FLAGS.engine, int(FLAGS.memory * GIGABYTE))
        row = dict(solved.row)
        if solved.hands:
            row |= {"worst_hand": solved.hands[0]["hand"], "worst_hand_bets": solved.hands[0]["bets"]}
            row |= {"best_hand": solved.hands[-1]["hand"], "best_hand_bets": solved.hands[-1]["bets"]}
            row["bets"] = sum(one["probability"] * one["bets"] for one in solved.hands)
            run.save_figure(
                openings.plot(solved.hands, f"Toepen {size}, solved: betting before the first card"),
                f"openings_{size}",
            )
        rows.append(row)
        hands += solved.hands
        bets += solved.last_bets
        tables.console.print(row)
        write_results(run, rows, hands, bets)


def write_results(
    run: RunDirectory, rows: list[dict[str, Any]], hands: list[dict[str, Any]], bets: list[dict[str, Any]]
) -> None:
    columns = dict.fromkeys(name for row in rows for name in row)
    complete = [{name: row.get(name, "") for name in columns} for row in rows]
    write_csv(run.path / "frontier.csv", complete)
    text = (
        "# Toepen solved exactly\n\nWith betting and the duty to follow suit; suits-ranks-hand size. NashConv is "
        "exact, of the orbit quotient, which is that of the lifted profile in the whole game. `value` is what the "
        "first player wins on average: what the lead is worth; it is exact up to half of NashConv. `bets`: how often "
        "the first player bets before the first card, with her worst hand, her best, and on average. Seconds are "
        f"processor time of one core.\n\n{tables.markdown(complete)}\n"
    )
    if hands:
        write_csv(run.path / "hands.csv", hands)
        largest = hands[-1]["size"]
        groups = openings.by_strength([row for row in hands if row["size"] == largest])
        text += f"The hands of {largest} from weak to strong, in tenths:\n\n{tables.markdown(groups)}\n"
        text += f"![openings](openings_{largest}.png)\n\n"
    if bets:
        write_csv(run.path / "last_bets.csv", bets)
        text += (
            "Bets before the very last card, when its player knows the outcome: how often losers and winners bet, the "
            "share of bluffs, how often bets are called, and where the other side would be indifferent.\n\n"
            f"{tables.markdown(bets)}\n"
        )
    if any("value" in row for row in rows):
        run.save_figure(plot(rows), "frontier")
        text += "![frontier](frontier.png)\n"
    run.write_report(text)


def plot(rows: list[dict[str, Any]]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [row for row in rows if "value" in row]
    figure, axes = plt.subplots(figsize=(7.5, 4))
    axes.scatter([row["terminals"] for row in shown], [row["build_seconds"] + row["solve_seconds"] for row in shown])
    for row in shown:
        where = row["terminals"], row["build_seconds"] + row["solve_seconds"]
        axes.annotate(row["size"], where, xytext=(-4, 5), textcoords="offset points", ha="right", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("terminals of the quotient")
    axes.set_ylabel("seconds to NashConv 0.01, one core")
    axes.set_title("Toepen with betting, solved exactly (suits-ranks-hand size)", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    for size in FLAGS.sizes:
        if not _is_size(size):
            sys.exit(f"--sizes has {size}; allowed: suits-ranks-hand size, such as 4-5-3")
        try:
            toepen_rules(*sizes_of(size), betting=True, follow_suit=True)
        except ValueError as error:
            sys.exit(f"--sizes has {size}: {error}")
    run = RunDirectory(FLAGS.out, {name: FLAGS[name].value for name in OPTIONS})
    frontier(run)
    tables.console.print(f"report in {run.path}")


def _is_size(size: str) -> bool:
    parts = size.split("-")
    return len(parts) == 3 and all(part.isdigit() for part in parts)


OPTIONS = ("sizes", "target", "engine", "memory", "quick")


def define_flags() -> None:
    flags.DEFINE_string("out", "runs/toepen_frontier", "run directory")
    flags.DEFINE_list("sizes", list(SIZES), "suits-ranks-hand size, in ascending order")
    flags.DEFINE_float("target", 0.01, "NashConv to reach", lower_bound=1e-9)
    flags.DEFINE_enum("engine", "card_tree", ["card_tree", "sequence_form"], "arrays that discounted CFR runs on")
    flags.DEFINE_float("memory", 11.0, "gigabytes that may be used", lower_bound=0.01)
    flags.DEFINE_bool("quick", False, "small games, a short run that only shows that everything works")


if __name__ == "__main__":
    define_flags()
    app.run(main)
