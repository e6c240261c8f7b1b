"""Cego's published baselines: `python -m experiments.cego_baselines` (Oeschger, "Applying Deep Reinforcement Learning
to the Card Game Cego").

* Table III: what each seat wins when everybody plays at random, in all six sub-games, beside the published numbers. z
  is the difference in standard errors of a difference, for the paper's numbers are means of 10^6 games too.
* Figure 2: how many tricks each card wins in random games of Solo, and the high and low cards that follow.

Writes table_3.csv, figure_2.csv, figure_2.png and report.md into the run directory.
"""

from __future__ import annotations

import sys
import time

from absl import app, flags

from cardtable.progress import LateProgress
from cego_spiel.card_strength import trick_wins
from experiments.cego.random_play import describe_low_cards, figure_2, figure_2_rows, report, table_3
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from experiments.running.flags import chosen_executor, define_executor

FLAGS = flags.FLAGS
flags.DEFINE_integer("games", 1_000_000, "games per sub-game, and for the figure", 1000)
flags.DEFINE_integer("seed", 1, "of all games", 0)
define_executor("threads:2")
flags.DEFINE_string("out", "runs/cego_baselines", "run directory")
flags.DEFINE_bool("quick", False, "only 20,000 games")

QUICK_GAMES = 20_000


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    games = QUICK_GAMES if FLAGS.quick else FLAGS.games
    directory = RunDirectory(FLAGS.out, {"games": games, "seed": FLAGS.seed})
    start = time.monotonic()

    with chosen_executor() as executor:
        table = table_3(games, FLAGS.seed, executor)
    tables.show(f"Table III: random players, {games:,} games per sub-game", table)
    write_csv(directory.path / "table_3.csv", table)

    with LateProgress("counting trick wins"):
        wins = trick_wins(games, FLAGS.seed)
    cards = figure_2_rows(wins)
    write_csv(directory.path / "figure_2.csv", cards)
    directory.save_figure(figure_2(cards), "figure_2")
    words = describe_low_cards(wins)
    print(words)

    directory.write_report(report(table, words, games, time.monotonic() - start))
    print(f"written to {directory.path}")


if __name__ == "__main__":
    app.run(main)
