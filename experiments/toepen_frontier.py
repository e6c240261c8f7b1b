"""The largest Toepen that is solved exactly.

python -m experiments.toepen_frontier                     solves one size after the other, to NashConv <= 0.01

python -m experiments.toepen_frontier --sizes=4-8-3 --memory=14 --threads=2     the full deck with three cards

What is solved is filed, and a size that takes long leaves a checkpoint every five minutes: a run that was interrupted,
or killed, goes on with --resume.

Exact solutions are those of the orbit quotient, whose NashConv is that of the lifted profile in the whole game.
`experiments.toepen_full_game` goes on where this ends.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from absl import flags
from matplotlib import pyplot as plt

import cardspiel  # noqa: F401
from cardtable.executors import Executor
from cardtable.files import parse_json, write_atomically
from cardtable.parameters import UserError
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import RunDirectory, write_csv
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    open_directory,
)
from experiments.running.kept_rows import require_rows
from experiments.running.plots import few_ticks
from experiments.toepen import openings
from experiments.toepen.frontier import BET_COLUMNS, HAND_COLUMNS, Plan, Solved, sizes_of, solve_in_own_process
from toepen_spiel.rules import toepen_rules

FLAGS = flags.FLAGS

SIZES = ("2-3-2", "3-2-2", "3-3-2", "3-3-3", "4-8-2", "4-4-3", "4-5-3", "4-6-3", "4-7-3", "4-8-3")
QUICK_SIZES = ("2-3-2", "3-3-2")
GIGABYTE = 10**9
MOST_GIGABYTES = 10**6
MOST_THREADS = 256


def frontier(run: RunDirectory, executor: Executor) -> None:
    sizes = QUICK_SIZES if FLAGS.quick else FLAGS.sizes
    rows: list[dict[str, Any]] = []
    hands: list[dict[str, Any]] = []
    bets: list[dict[str, Any]] = []
    memory = int(FLAGS.memory * GIGABYTE)
    plan = Plan(FLAGS.target, FLAGS.engine, memory, FLAGS.threads, str(run.path.resolve()), FLAGS.resume, FLAGS.save)
    files = [run.path / f"solved_{size}.json" for size in sizes]
    before = {
        size: load_solved(file) for size, file in zip(sizes, files, strict=True) if FLAGS.resume and file.exists()
    }
    new = executor.map(solve_in_own_process, [size for size in sizes if size not in before], plan)
    for size, file in zip(sizes, files, strict=True):
        solved = before[size] if size in before else next(new)
        if size not in before:
            save_solved(file, solved)
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
        tables.show(f"Toepen {size}", [{"": name, "found": value} for name, value in row.items()])
        write_results(run, rows, hands, bets)


def save_solved(file: Path, solved: Solved) -> None:
    text = json.dumps(solved._asdict())
    write_atomically(file, lambda temporary: temporary.write_text(text))


def load_solved(file: Path) -> Solved:
    """A size that was solved before the run was interrupted."""
    try:
        solved = Solved(**parse_json(file.read_bytes()))
        require_rows([solved.row], solved.columns(), file)
        require_rows(solved.hands, HAND_COLUMNS, file)
        require_rows(solved.last_bets, BET_COLUMNS, file)
        if any(not 0 < row["probability"] <= 1 for row in solved.hands):
            raise ValueError
    except (ValueError, TypeError, AttributeError):
        raise UserError(f"{file} is damaged; delete it to solve this size again") from None
    return solved


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
    shown = [row for row in rows if "value" in row]
    figure, axes = plt.subplots(figsize=(7.5, 4))
    axes.scatter([row["terminals"] for row in shown], [row["build_seconds"] + row["solve_seconds"] for row in shown])
    for row in shown:
        where = row["terminals"], row["build_seconds"] + row["solve_seconds"]
        axes.annotate(row["size"], where, xytext=(-4, 5), textcoords="offset points", ha="right", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(0.12)  # so that the names stay inside
    few_ticks(axes.xaxis)
    few_ticks(axes.yaxis)
    axes.set_xlabel("terminals of the quotient")
    axes.set_ylabel("processor seconds to NashConv 0.01")
    axes.set_title("Toepen with betting, solved exactly (suits-ranks-hand size)", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


@command
def main() -> None:
    for size in FLAGS.sizes:
        try:
            toepen_rules(*sizes_of(size), betting=True, follow_suit=True)
        except ValueError as error:
            raise UserError(f"--sizes has {size}: {error}") from None
    run = open_directory({name: FLAGS[name].value for name in OPTIONS})
    with chosen_executor(run.path) as executor:
        frontier(run, executor)
    tables.console.print(f"report in {run.path}")


OPTIONS = ("sizes", "target", "engine", "memory", "quick")


def define_flags() -> None:
    define_out("runs/toepen_frontier", resume="the sizes")
    flags.DEFINE_list("sizes", list(SIZES), "suits-ranks-hand size, in ascending order")
    define_number("target", 0.01, "NashConv to reach", 1e-9)
    flags.DEFINE_enum("engine", "card_tree", ["card_tree", "sequence_form"], "arrays that discounted CFR runs on")
    define_number("memory", 11.0, "gigabytes that each size may use", 0.01, MOST_GIGABYTES)
    define_count("threads", 1, "threads that solve one size; the result is the same", 1, MOST_THREADS)
    flags.DEFINE_bool("save", False, "save each solution as a player, player_<size> in --out (4-8-3: about a gigabyte)")
    define_executor()
    flags.DEFINE_bool("quick", False, "small games, a short run that only shows that everything works")


if __name__ == "__main__":
    define_flags()
    start(main)
