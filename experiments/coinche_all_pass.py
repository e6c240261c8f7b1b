"""Is it an equilibrium of Coinche that everybody passes? It is not, and this counts the evidence.

python -m experiments.coinche_all_pass

Three pieces, from what nobody can doubt to what a player can use:

* **Sure capots.** Hands with which North takes all eight tricks against any three hands and any play of theirs: trumps
  that draw all others, and side suits headed by the highest cards. All C(32, 8) hands are counted. Passing such a hand
  gives away 250 points, so whoever passes always can do better, whatever the others do.
* **Hidden cards.** North opens as a heuristic player does, or more cautiously, everybody else passes, then all four
  play at random, or as the simple or the strong player does. The better the defence, the less an opening brings.
* **Open cards.** The same auction, then all four play perfectly with open cards (double dummy).
"""

from __future__ import annotations

import numpy as np
from absl import flags

from experiments.coinche.all_pass import (
    CAPOT_GAIN,
    CARD_PLAYERS,
    OPENINGS,
    count_sure_capots,
    heuristic_play,
    open_play,
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
)

FLAGS = flags.FLAGS
if __name__ == "__main__":
    define_count("deals", 200_000, "played with hidden cards", 2, bytes_each=1000, seconds_each=1e-6)
    define_count("open_deals", 20_000, "played with open cards", 2, bytes_each=100, seconds_each=1e-4)
    define_seed("of the deals")
    define_executor("threads:2")
    define_out("runs/coinche_all_pass")
    flags.DEFINE_bool("quick", False, "a hundredth of the deals, and no count of sure capots")


@command
def main() -> None:
    share = 100 if FLAGS.quick else 1
    directory = open_directory({name: FLAGS[name].value for name in ("deals", "open_deals", "seed", "quick")})
    report = "# Everybody passes?\n\nNorth speaks first and leads; the other three always pass.\n\n"
    with chosen_executor(directory.path) as executor:
        if not FLAGS.quick:
            report += f"{_sure_capots()}\n\n"
        rows = [
            heuristic_play(opening, player, max(2, FLAGS.deals // share), FLAGS.seed)
            for player in CARD_PLAYERS
            for opening in OPENINGS
        ]
        rows += [open_play(name, max(2, FLAGS.open_deals // share), FLAGS.seed, executor) for name in OPENINGS]
    tables.show("What opening brings where everybody else passes (0 for passing too)", rows)
    write_csv(directory.path / "results.csv", rows)
    directory.write_report(report + tables.markdown(rows))
    tables.console.print(f"Written to {directory.path}")


def _sure_capots() -> str:
    counts = np.zeros(2, np.int64)
    with tables.console.status("counting sure capots"):
        count_sure_capots(counts)
    sure = (
        f"{counts[1]:,} of {counts[0]:,} hands are a sure capot: {CAPOT_GAIN} points, "
        "whatever the other three hold and do."
    )
    tables.console.print(sure)
    return sure


if __name__ == "__main__":
    start(main)
