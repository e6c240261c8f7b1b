"""What a player can learn from the Coinche bidder: `python -m experiments.coinche_lessons`.

The learnt value of each holding, what is opened, answered and called over opponents with how many expected points,
when it coinches, and how often which contract is made. The fast bidder bids solved deals against itself; contracts
are made as often as double dummy and the noise of play say. Writes tables, three pictures and report.md.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
from absl import flags

from cardtable.progress import LateProgress
from coinche_spiel.bidding.numbers import read_numbers

matplotlib.use("Agg")
from experiments.coinche.bidding.deals import solved_deals
from experiments.coinche.bidding.lessons import (
    contract_rows,
    decision_rows,
    decisions,
    draw_contracts,
    draw_holdings,
    draw_openings,
    holding_rows,
)
from experiments.coinche.bidding.making import setting_of
from experiments.running import tables
from experiments.running.command import command, start
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
    define_count("deals", 1000, "solved deals", 2, seconds_each=0.004)
    define_seed("of the deals")
    flags.DEFINE_string("solved", "runs/coinche_solved_deals", "folder for solved deals")
    define_executor()
    define_out("runs/coinche_lessons")
    flags.DEFINE_bool("quick", False, "only 20 deals")

QUICK_DEALS = 20
KINDS = {
    "opening": "Nobody has called a contract",
    "answer": "The partner has opened: expected points in that suit",
    "overcall": "The opponent before has opened: own expected points in that suit",
    "coinched": "The own contract is coinched",
}


@command
def main() -> None:
    count = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    directory = open_directory({"deals": count, "seed": FLAGS.seed})
    folder = Path(FLAGS.solved)
    folder.mkdir(parents=True, exist_ok=True)
    with chosen_executor(directory.path) as executor, LateProgress("solving deals", count) as progress:
        deals = solved_deals(count, FLAGS.seed, executor, folder, progress.advance)
    numbers = read_numbers()["contract"]
    found, contracts = decisions(setting_of("contract").root, deals, numbers.flat())
    report = [f"# What a player can learn: {count:,} deals\n"]
    parts = {"What a holding is worth, in points": holding_rows(numbers)}
    parts |= {title: decision_rows(found, kind) for kind, title in KINDS.items() if any(d.kind == kind for d in found)}
    parts["Contracts"] = contract_rows(contracts)
    for title, rows in parts.items():
        tables.show(title, rows)
        report.append(f"## {title}\n\n{tables.markdown(rows)}")
    for name, figure in (
        ("holdings", draw_holdings(numbers)),
        ("openings", draw_openings(found)),
        ("contracts", draw_contracts(contracts)),
    ):
        report.append(f"![{name}]({directory.save_figure(figure, name).name})")
    directory.write_report("\n\n".join(report) + "\n")


if __name__ == "__main__":
    start(main)
