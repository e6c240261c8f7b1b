"""Cego's published baselines: `python -m experiments.cego_baselines` (Oeschger, "Applying Deep Reinforcement Learning
to the Card Game Cego").

* Table III: what each seat wins when everybody plays at random, in all six sub-games, beside the published numbers. z
  is the difference in standard errors of a difference, for the paper's numbers are means of 10^6 games too.
* Figure 2: how many tricks each card wins in random games of Solo, and the high and low cards that follow.

Writes table_3.csv, figure_2.csv, figure_2.png and report.md into the run directory.
"""

from __future__ import annotations

import time

from absl import flags

from cardtable.progress import LateProgress
from cego_spiel.card_strength import trick_wins
from experiments.cego.random_play import describe_low_cards, figure_2, figure_2_rows, report, table_3
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_out,
    define_seed,
    open_directory,
)

FLAGS = flags.FLAGS
define_count("games", 1_000_000, "games per sub-game, and for the figure", 1000, bytes_each=100, seconds_each=1e-5)
define_seed("of all games")
define_executor("threads:2")
define_out("runs/cego_baselines")
flags.DEFINE_bool("quick", False, "only 20,000 games")

QUICK_GAMES = 20_000


@command
def main() -> None:
    games = QUICK_GAMES if FLAGS.quick else FLAGS.games
    directory = open_directory({"games": games, "seed": FLAGS.seed})
    before = time.monotonic()

    with chosen_executor(directory.path) as executor:
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

    directory.write_report(report(table, words, games, time.monotonic() - before))
    print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
