"""Gongzhu's published baselines: `python -m experiments.gongzhu_baselines` (Shi, Li and Sun, "ScrofaZero", 2021).

* Table 2: points of one player over another, two seats each, on duplicate deals (every deal is played twice with the
  teams exchanged), for Random, Mr. If and Mr. Greed, beside the published numbers; and the flat Monte Carlo player in
  the place of ScrofaZero.
* The intransitivity of these players, eq. 17: sum of |x_ij + x_jk - x_ik|^2 over all triples, divided by the sum of
  |x_ij + x_jk - x_ik| (|x_ij| + |x_jk| + |x_ik|); 0 is transitive, 1 is rock, paper, scissors.
* The Monte Carlo player's points over Mr. Greed, by number of worlds and rollout policy, with its time for a move.

Writes table_2.csv, monte_carlo.csv, monte_carlo.png and report.md into the run directory.
"""

from __future__ import annotations

from absl import flags

from experiments.gongzhu.matches import (
    Matches,
    describe_transitivity,
    report,
    search_figure,
    search_rows,
    table_2,
    table_2_rows,
)
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
    whole_numbers,
)

FLAGS = flags.FLAGS
define_count("deals", 4096, "duplicate deals per match of Table 2", 16, bytes_each=1000, seconds_each=1e-5)
define_count(
    "search_deals", 1024, "duplicate deals per match of the Monte Carlo player", 16, bytes_each=1000, seconds_each=1e-3
)
flags.DEFINE_list("worlds", ["10", "30", "100"], "numbers of worlds of the Monte Carlo player")
define_count("best_worlds", 100, "worlds of the Monte Carlo player in Table 2", seconds_each=1e-2)
define_seed("of deals and players")
define_executor("threads:2")
define_out("runs/gongzhu_baselines")
flags.DEFINE_bool("quick", False, "32 deals per match, and at most 10 worlds")

QUICK_DEALS = 32
QUICK_WORLDS = 10
MOST_WORLDS = 10**6


@command
def main() -> None:
    worlds = sorted(set(whole_numbers("--worlds", FLAGS.worlds, highest=MOST_WORLDS)))
    deals, search_deals, best_worlds = FLAGS.deals, FLAGS.search_deals, FLAGS.best_worlds
    if FLAGS.quick:
        deals = search_deals = QUICK_DEALS
        worlds = [min(number, QUICK_WORLDS) for number in worlds[:1]]
        best_worlds = min(best_worlds, QUICK_WORLDS)
    config = {"deals": deals, "search_deals": search_deals, "worlds": worlds, "best_worlds": best_worlds}
    directory = open_directory(config | {"seed": FLAGS.seed})

    with chosen_executor(directory.path) as executor:
        runner = Matches(FLAGS.seed, executor)
        points = table_2(runner, deals, search_deals, best_worlds)
        search = search_rows(runner, worlds, search_deals)
    table = table_2_rows(points)
    tables.show("Table 2: points of the first over the second", table)
    write_csv(directory.path / "table_2.csv", table)
    words = describe_transitivity(points)
    print(words)

    tables.show("Monte Carlo player over Mr. Greed", search)
    write_csv(directory.path / "monte_carlo.csv", search)
    directory.save_figure(search_figure(search), "monte_carlo")
    directory.write_report(report(table, words, search, deals, search_deals, best_worlds))
    print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
