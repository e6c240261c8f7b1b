"""Tables 3.1 and 3.2 of the Toepen thesis, counted again: information sets before and after card isomorphisms.

python -m experiments.toepen_counts

Counts information sets with two or more legal actions, of both players together, in all ten settings, under the rules
and (betting rows) without the duty to follow suit, which the thesis's program had lost.

Then asks what each isomorphism loses: the settings with two cards are solved exactly inside the quotient, and the
NashConv of the solution is measured in the game itself.
"""

from __future__ import annotations

from typing import Any

from absl import flags
from rich.progress import track

from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import chosen_executor, define_executor, define_out, open_directory
from experiments.toepen.counts import THESIS, count, loss

FLAGS = flags.FLAGS


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
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=2)  # no bar is that high
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Information sets of two-player Toepen (suits-ranks-hand size)", loc="left")
    return figure


@command
def main() -> None:
    settings = [setting for setting in THESIS if not (FLAGS.quick and setting == (3, 3, 3, True))]
    work = [(setting, follow) for setting in settings for follow in ((True, False) if setting[3] else (True,))]
    run = open_directory({"quick": FLAGS.quick})
    with chosen_executor(run.path) as executor:
        rows = list(track(executor.map(count, work, None), "counting", total=len(work), console=tables.console))
        write_csv(run.path / "counts.csv", rows)
        small = [(setting, follow) for setting, follow in work if setting[2] == 2 and not (FLAGS.quick and setting[3])]
        losses = list(track(executor.map(loss, small, None), "solving", total=len(small), console=tables.console))
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
    define_out("runs/toepen_counts")
    define_executor()
    flags.DEFINE_bool("quick", False, "leave out the largest setting, and solve only without betting")
    start(main)
