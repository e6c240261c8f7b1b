"""Makes the numbers of the Coinche bidders: `python -m experiments.coinche_bidder --kind=contract`.

Deals are solved double dummy under every trump (or played by the cards of `strong`, for `plain_cards`). Then, in
rounds: bidders of a population, the literature's among them, bid on the deals; the points of the caller's team are
fitted by what the caller knew; and the judgement is tuned by auctions against the population
(`experiments.coinche.bidding`). Cards are not played: contracts are worth what the points and the noise of play say.

Kinds: `contract` for scores by the contract alone, with searched cards; `points` for card points beside the contract,
as colver scores; `plain_cards` for who plays the cards of `strong`, as the player `bidder` does.

Writes rounds.csv, report.md and results.json; --numbers=coinche_spiel/bidding/numbers.json also puts the result there.
Deals and rounds are filed as they come: an interrupted run goes on with --resume. Three CPU minutes, more than half of
them for the deals, which all kinds share.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from absl import flags

from cardtable.files import read_json, write_atomically
from cardtable.parameters import UserError
from cardtable.progress import LateProgress
from coinche_spiel.bidding.numbers import KINDS
from experiments.coinche.bidding.deals import deals_played, solved_deals
from experiments.coinche.bidding.making import judged, make_rounds, setting_of
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
    flags.DEFINE_enum("kind", "contract", list(KINDS), "which numbers to make")
    define_count("deals", 12_000, "deals to learn from", 200, bytes_each=20_000, seconds_each=0.004)
    define_count("test_deals", 1000, "other deals, to judge by", 100, bytes_each=2000, seconds_each=0.004)
    define_count("rounds", 3, "of regression and tuning", seconds_each=1)
    define_count("generations", 7, "of candidates, in each round")
    define_count("candidates", 30, "in each generation", 10)
    define_seed("of deals and candidates")
    define_executor()
    define_out(None, "runs/coinche_bidder_<kind>", resume="the run")
    flags.DEFINE_string("solved", "runs/coinche_solved_deals", "folder for solved deals, which all kinds learn from")
    flags.DEFINE_string("numbers", None, "a file of numbers in which those of this kind are replaced")
    flags.DEFINE_bool("quick", False, "200 deals, one round of two small generations")

NAMES = ("kind", "deals", "test_deals", "rounds", "generations", "candidates", "seed")
QUICK = {"deals": 200, "test_deals": 100, "rounds": 1, "generations": 2, "candidates": 10}


def known_numbers() -> dict[str, Any]:
    """What is in the file of --numbers already."""
    if not FLAGS.numbers or not Path(FLAGS.numbers).exists():
        return {}
    found = read_json(FLAGS.numbers, "the numbers of bidders")
    if not isinstance(found, dict):
        raise UserError(f"--numbers={FLAGS.numbers} does not hold the numbers of bidders")
    return found


@command
def main() -> None:
    config: dict[str, Any] = {name: FLAGS[name].value for name in NAMES} | (QUICK if FLAGS.quick else {})
    known_numbers()  # complains now, not when all is done
    directory = open_directory(config, f"runs/coinche_bidder_{FLAGS.kind}")
    kind, seed = config["kind"], config["seed"]
    counts = (config["deals"], config["test_deals"])
    if kind == "plain_cards":
        train, test = (deals_played(count, seed + place) for place, count in enumerate(counts))
    else:
        folder = Path(FLAGS.solved)
        folder.mkdir(parents=True, exist_ok=True)
        with chosen_executor(directory.path) as executor, LateProgress("solving deals", sum(counts)) as progress:
            train, test = (
                solved_deals(count, seed + place, executor, folder, progress.advance)
                for place, count in enumerate(counts)
            )
    setting = setting_of(kind)
    generations = config["generations"]
    with LateProgress("tuning", config["rounds"] * generations) as progress:
        made = make_rounds(
            setting,
            train,
            config["rounds"],
            generations,
            config["candidates"],
            seed,
            directory.path,
            progress.advance,
        )
    rows = judged(setting, test, made)
    title = f"Bidders for {kind}, gains a deal on {len(test.hands):,} other deals"
    tables.show(title, rows)
    write_csv(directory.path / "rounds.csv", rows)
    numbers = made[-1].numbers()._asdict()
    text = json.dumps({kind: numbers}, indent=1)
    write_atomically(directory.path / "results.json", lambda file: file.write_text(text + "\n"))
    directory.write_report(f"# {title}\n\n{tables.markdown(rows)}\nThe last round is in results.json.\n")
    if FLAGS.numbers:
        path = Path(FLAGS.numbers)
        together = json.dumps({**known_numbers(), kind: numbers}, indent=1)
        write_atomically(path, lambda file: file.write_text(together + "\n"))
        tables.console.print(f"written to {path}")


if __name__ == "__main__":
    start(main)
