"""Speed of Coinche beside `colver`, an independent engine and solver in Rust: `python -m experiments.coinche_speed`.

One process, one core, CPU time; both sides take turns deal by deal, so that a busy machine slows them alike. Ratios
compare totals. Full deals and plays are random; `colver` plays a deal that is already dealt, ours deals it too. Values
of both solvers are compared on the way, and a difference stops the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from absl import flags
from rich.progress import track

from coinche_spiel.cards import list_cards
from coinche_spiel.double_dummy import can_make, solve_cards, solve_trumps
from coinche_spiel.fast_play import random_deals, random_plays
from experiments.coinche.colver_players import SUIT_THERE, card_there, import_colver
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import define_count, define_out, define_seed, open_directory

FLAGS = flags.FLAGS
if __name__ == "__main__":
    define_count("deals", 150, "deals to measure on", bytes_each=100, seconds_each=0.01)
    define_seed("of the deals")
    define_out("runs/coinche_speed")
    flags.DEFINE_bool("quick", False, "only 3 deals")

PLAYS = 16_384  # of ours for each deal
ROLLOUTS = 200  # of colver's for each deal
QUESTION = 82

FULL_DEALS = "random full deals"
PLAYS_OF_A_DEAL = "random plays of a deal"
EVERY_CARD = "double dummy, every first card"
VALUE = "double dummy, value for one trump"
ASKED = f"double dummy, at least {QUESTION}?"


class Clock:
    """CPU seconds and units of work by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.units: dict[str, int] = {}

    def time(self, name: str, units: int, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start
        self.units[name] = self.units.get(name, 0) + units
        return result

    def per_unit(self, name: str) -> float | None:
        return self.seconds[name] / self.units[name] if name in self.seconds else None


def measure(deals: int = 150, seed: int = 1, show_progress: bool = False) -> list[dict[str, Any]]:
    """One row per kind of work: microseconds of ours and of colver (0 where it is absent or cannot), and the ratio."""
    peer = import_colver()
    hands = random_deals(deals, seed=seed).hands
    trumps = np.random.default_rng(seed).integers(4, size=deals)
    run_deal(hands[0], int(trumps[0]), Clock(), Clock(), peer)  # compiles
    ours, theirs = Clock(), Clock()
    for deal in track(range(deals), "deals", disable=not show_progress):
        run_deal(hands[deal], int(trumps[deal]), ours, theirs, peer)
    rows = []
    for name in (FULL_DEALS, PLAYS_OF_A_DEAL, EVERY_CARD, VALUE, ASKED):
        mine, other = ours.per_unit(name), theirs.per_unit(name)
        assert mine is not None
        rows.append(
            {
                "work": name,
                "ours (µs)": mine * 1e6,
                "colver (µs)": other * 1e6 if other else 0.0,
                "ratio": other / mine if other else 0.0,
                "deals": deals,
            }
        )
    return rows


def run_deal(hands: np.ndarray, trump: int, ours: Clock, theirs: Clock, peer: Any) -> None:
    """Everything once on one deal."""
    sets = hands.tolist()
    ours.time(FULL_DEALS, PLAYS, lambda: random_deals(PLAYS, seed=1))
    ours.time(PLAYS_OF_A_DEAL, PLAYS, lambda: random_plays(hands, trump, plays=PLAYS, seed=1))
    cards = ours.time(EVERY_CARD, 1, lambda: solve_cards(sets, trump, sweep_bonus=True))
    values = ours.time(VALUE, 4, lambda: solve_trumps(sets))
    answer = ours.time(ASKED, 1, lambda: can_make(QUESTION, sets, trump))
    require(answer == (values[trump] >= QUESTION), "the question and the value disagree", sets, trump)
    if peer is None:
        return
    env = peer.Env.deal_with_hands(3, [[card_there(card) for card in list_cards(hand)] for hand in sets])
    theirs.time(FULL_DEALS, ROLLOUTS, lambda: env.rollout(ROLLOUTS))
    pairs = theirs.time(VALUE, 4, env.solve_all_suits)["suits"]
    env.set_contract(SUIT_THERE[trump], 80, 0, 0)
    env.set_phase_playing()
    theirs.time(PLAYS_OF_A_DEAL, ROLLOUTS, lambda: env.rollout(ROLLOUTS))
    scores = dict(theirs.time(EVERY_CARD, 1, env.solve_scores)["scores"])
    require({card_there(card): value for card, value in cards.items()} == scores, "card values differ", sets, trump)
    capped = [min(162, pairs[suit][0]) for suit in SUIT_THERE]  # colver counts 252 for all tricks
    require(values == capped, "values by trump differ", sets, trump)


def require(condition: bool, complaint: str, hands: list[int], trump: int) -> None:
    if not condition:
        raise AssertionError(f"{complaint}: hands {hands}, trump {trump}")


@command
def main() -> None:
    deals = 3 if FLAGS.quick else FLAGS.deals
    directory = open_directory({"deals": deals, "seed": FLAGS.seed})
    rows = measure(deals, FLAGS.seed, show_progress=True)
    title = f"Coinche, CPU time per unit of work, one core, {deals} deals"
    tables.show(title, rows)
    write_csv(directory.path / "results.csv", rows)
    note = "" if import_colver() else "\ncolver is not installed, so there is nothing to compare with.\n"
    directory.write_report(f"# {title}\n\n{tables.markdown(rows)}{note}")


if __name__ == "__main__":
    start(main)
