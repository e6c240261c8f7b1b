"""Tables 3.1 and 3.2 of the Toepen thesis, counted again: information sets before and after card isomorphisms.

python -m experiments.toepen_counts

Counts information sets with two or more legal actions, of both players together, in all ten settings, under the rules
and (betting rows) without the duty to follow suit, which the thesis's program had lost.

Then asks what each isomorphism loses: the settings with two cards are solved exactly inside the quotient, and the
NashConv of the solution is measured in the game itself.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import pyspiel
from absl import app, flags

import cardspiel  # noqa: F401
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from experiments.toepen.training import toepen, under_isomorphism
from solvers import linear_program
from solvers.arrays.sequence_form import SequenceForm
from solvers.arrays.tree import GameTree
from solvers.best_response import evaluate_probabilities
from solvers.lifted import LiftingTable, keys_in

FLAGS = flags.FLAGS

# suits, ranks, hand size, betting: hand configurations, upper bound, information sets; after isomorphism
THESIS = {
    (2, 2, 2, False): (6, 48, 10, 6),
    (2, 2, 2, True): (6, 1_536, 496, 330),
    (2, 3, 2, False): (15, 240, 39, 21),
    (2, 3, 2, True): (15, 7_680, 3_552, 2_130),
    (3, 2, 2, False): (15, 240, 51, 14),
    (3, 2, 2, True): (15, 7_680, 3_576, 954),
    (3, 3, 2, False): (36, 1_008, 180, 48),
    (3, 3, 2, True): (36, 32_256, 22_338, 5_586),
    (3, 3, 3, False): (84, 30_240, 4_584, 1_173),
    (3, 3, 3, True): (84, 3_870_720, 1_366_338, 376_958),
}


def hand_configurations(suits: int, ranks: int, hand_size: int) -> int:
    return math.comb(suits * ranks, hand_size)


def upper_bound(suits: int, ranks: int, hand_size: int, betting: bool) -> int:
    """The thesis's bound: hands, times opponent's cards and own playable cards, times betting, for two players."""
    cards = suits * ranks
    rounds = math.prod((cards - hand_size - i + 1) * (i + 1) for i in range(1, hand_size))
    return 2 * math.comb(cards, hand_size) * rounds * (2 ** (2 * hand_size + 1) if betting else 1)


def count(setting: tuple[int, int, int, bool], follow_suit: bool) -> dict[str, Any]:
    """One row: what is counted, and what the thesis printed."""
    start = time.perf_counter()
    suits, ranks, hand_size, betting = setting
    configurations, bound, printed, printed_after = THESIS[setting]
    name = toepen(suits, ranks, hand_size, betting, follow_suit)
    base = pyspiel.load_game(name)
    tree = GameTree.from_game(base)
    orbits = pyspiel.load_game(under_isomorphism(name, "orbit"))
    applies = follow_suit != betting  # the thesis's program lost the duty to follow suit with betting, and only then
    return {
        "setting": f"{suits}-{ranks}-{hand_size}",
        "betting": betting,
        "follow_suit": follow_suit,
        "hands": hand_configurations(suits, ranks, hand_size),
        "thesis_hands": configurations,
        "bound": upper_bound(suits, ranks, hand_size, betting),
        "thesis_bound": bound,
        "information_sets": tree.num_information_sets,
        "first_player": int((tree.owner == 0).sum()),
        "thesis_table_3_1": printed if applies else "",
        "thesis_isomorphism": len(keys_in(pyspiel.load_game(under_isomorphism(name, "thesis")), base, tree)),
        "thesis_table_3_2": printed_after if applies else "",
        "orbits": len(keys_in(orbits, base, tree)),
        "decisions_of_the_quotient": GameTree.from_game(orbits).num_information_sets,
        "seconds": round(time.perf_counter() - start, 2),
    }


def lifted_nash_conv(name: str, method: str) -> float:
    """What an exact solution of the quotient has in the game itself; 0 if the isomorphism loses nothing."""
    form = SequenceForm.from_game(pyspiel.load_game(name))
    quotient = pyspiel.load_game(under_isomorphism(name, method))
    inner = SequenceForm.from_game(quotient)
    table = LiftingTable(form, quotient)
    solution = linear_program.solve(inner)
    return evaluate_probabilities(form, table.lift(table.of_form(inner, solution.policy.probabilities))).nash_conv


def loss(setting: tuple[int, int, int, bool], follow_suit: bool) -> dict[str, Any]:
    suits, ranks, hand_size, betting = setting
    name = toepen(suits, ranks, hand_size, betting, follow_suit)
    return {
        "setting": f"{suits}-{ranks}-{hand_size}",
        "betting": betting,
        "follow_suit": follow_suit,
        "thesis_isomorphism": abs(lifted_nash_conv(name, "thesis")),
        "orbits": abs(lifted_nash_conv(name, "orbit")),
    }


def agrees(row: dict[str, Any]) -> bool:
    """Whether a row confirms everything the thesis prints for it."""
    return (
        row["hands"] == row["thesis_hands"]
        and row["bound"] == row["thesis_bound"]
        and row["thesis_table_3_1"] in ("", row["information_sets"])
        and row["thesis_table_3_2"] in ("", row["thesis_isomorphism"])
    )


def plot(rows: list[dict[str, Any]]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [row for row in rows if row["follow_suit"]]
    figure, axes = plt.subplots(figsize=(9, 4.2))
    columns = [
        ("bound", "upper bound of the thesis", "#c9c9c9"),
        ("information_sets", "information sets", "#7a7a7a"),
        ("thesis_isomorphism", "thesis isomorphism (loses information)", "#d9822b"),
        ("orbits", "suit orbits (lossless)", "#1f77b4"),
    ]
    for number, (column, label, colour) in enumerate(columns):
        places = [index + 0.2 * (number - 1.5) for index in range(len(shown))]
        axes.bar(places, [row[column] for row in shown], 0.19, label=label, color=colour)
    axes.set_yscale("log")
    axes.set_ylabel("number, both players")
    names = [f"{row['setting']}\n{'bets' if row['betting'] else 'no bets'}" for row in shown]
    axes.set_xticks(range(len(shown)), names)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Information sets of two-player Toepen (suits-ranks-hand size)", loc="left")
    return figure


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    from rich.progress import track

    settings = [setting for setting in THESIS if not (FLAGS.quick and setting == (3, 3, 3, True))]
    work = [(setting, follow) for setting in settings for follow in ((True, False) if setting[3] else (True,))]
    run = RunDirectory(FLAGS.out, {"quick": FLAGS.quick})
    rows = [count(setting, follow) for setting, follow in track(work, description="counting")]
    write_csv(run.path / "counts.csv", rows)
    small = [(setting, follow) for setting, follow in work if setting[2] == 2 and not (FLAGS.quick and setting[3])]
    losses = [loss(setting, follow) for setting, follow in track(small, description="solving")]
    write_csv(run.path / "losses.csv", losses)
    run.save_figure(plot(rows), "counts")
    shown = [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
    confirmed = sum(map(agrees, rows))
    narrow = ("setting", "betting", "follow_suit", "information_sets", "thesis_isomorphism", "orbits")
    tables.show("Information sets of Toepen", [{name: row[name] for name in narrow} for row in rows])
    tables.show("NashConv that exact solutions of the quotient have in the game", losses)
    run.write_report(
        "# Information sets of two-player Toepen\n\n"
        "Decisions with two or more legal actions, both players together. `thesis_table_3_1` and `_3_2` are the "
        "numbers the thesis prints; its betting rows are for the game without the duty to follow suit. `orbits` counts "
        "what true suit symmetry leaves; in `decisions_of_the_quotient` choices between actions that are alike "
        "are gone as well.\n\n"
        f"{tables.markdown(shown)}\n"
        f"Rows that confirm everything the thesis prints for them: {confirmed} of {len(rows)}.\n\n"
        "![counts](counts.png)\n\n"
        "## What the isomorphisms lose\n\nNashConv in the game itself of an exact solution of the quotient. (The "
        "quotient of the thesis has many solutions; how much one of them loses depends on which is found.)\n\n"
        f"{tables.markdown(losses)}"
    )
    tables.console.print(f"{confirmed} of {len(rows)} rows agree with the thesis; report in {run.path}")


if __name__ == "__main__":
    flags.DEFINE_string("out", "runs/toepen_counts", "run directory")
    flags.DEFINE_bool("quick", False, "leave out the largest setting, and solve only without betting")
    app.run(main)
