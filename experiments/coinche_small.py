"""Coinche for two, solved: what perfect play bids and when it coinches.

python -m experiments.coinche_small --variant=D1

Solves a duel of `coinche_spiel.small` with Discounted CFR and reads the auction off the average policy: which auctions
happen how often and what they bring, what each hand opens, and what the coinches are made of. A coinche is a bluff
where the contract then stands more often than it falls. All figures are exact expectations under the policy found; its
distance from an equilibrium stands above the tables.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any, NamedTuple

import pyspiel
from absl import flags
from open_spiel.python import policy as openspiel_policy
from rich.progress import Progress

import coinche_spiel  # noqa: F401 registers the game
from coinche_spiel.cards import NUM_CARDS, SUIT_NAMES
from coinche_spiel.small import SMALL_VARIANTS
from coinche_spiel.state import COINCHE
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import define_count, define_out, open_directory
from solvers.cfr import CFRSolver

FLAGS = flags.FLAGS
DUELS = ("D0", "D1")
if __name__ == "__main__":
    flags.DEFINE_enum("variant", "D1", DUELS, "which duel")
    define_count("iterations", 3000, "of Discounted CFR", seconds_each=1e-4)
    define_out(None, "runs/coinche_small_<variant>")
    flags.DEFINE_bool("quick", False, "only 100 iterations")

QUICK_ITERATIONS = 100
CHUNKS = 50
NEVER = 1e-4  # branches of the average policy below this are what is left of the first iterations


class Spot(NamedTuple):
    """A decision of the auction: the calls so far and the hand of the player to speak."""

    calls: str
    hand: str


class Auctions:
    """What happens under a policy: every auction with its probability, and every decision in it."""

    def __init__(self, game: pyspiel.Game, policy: openspiel_policy.Policy) -> None:
        self._policy = policy
        self.probability: dict[str, float] = defaultdict(float)  # of a whole auction
        self.made: dict[str, float] = defaultdict(float)  # probability that it happens and the contract is made
        self.gain: dict[str, float] = defaultdict(float)  # its part of the value to the first speaker
        self.reached: dict[Spot, float] = defaultdict(float)
        self.calls: dict[Spot, dict[str, float]] = {}
        self.coinched: dict[Spot, float] = defaultdict(float)
        self.coinched_and_fell: dict[Spot, float] = defaultdict(float)
        self._walk(game.new_initial_state(), 1.0, (), None)

    @property
    def value(self) -> float:
        return sum(self.gain.values())

    def _walk(self, state: pyspiel.State, probability: float, calls: tuple[str, ...], coinche: Spot | None) -> None:
        if state.is_terminal():
            self._finish(state, probability, calls, coinche)
            return
        if state.is_chance_node():
            for outcome, chance in state.chance_outcomes():
                self._walk(state.child(outcome), probability * chance, calls, coinche)
            return
        choices = {a: p for a, p in self._policy.action_probabilities(state).items() if p > NEVER}
        total = sum(choices.values())
        in_auction = state.legal_actions()[0] >= NUM_CARDS
        spot = Spot(_text(calls), state.information_state_string().split(" | ")[0][3:])
        if in_auction:
            self.reached[spot] += probability
            self.calls[spot] = {state.action_to_string(a): p / total for a, p in choices.items()}
        for action, chance in choices.items():
            said = (*calls, state.action_to_string(action)) if in_auction else calls
            self._walk(state.child(action), probability * chance / total, said, spot if action == COINCHE else coinche)

    def _finish(self, state: pyspiel.State, probability: float, calls: tuple[str, ...], coinche: Spot | None) -> None:
        auction = _text(calls, with_suits=False)
        gain = state.returns()[0]
        bidder = next((index % 2 for index, call in enumerate(calls) if call[0].isdigit()), None)
        made = bidder is not None and state.returns()[bidder] > 0
        self.probability[auction] += probability
        self.made[auction] += probability * made
        self.gain[auction] += probability * gain
        if coinche is not None:
            self.coinched[coinche] += probability
            self.coinched_and_fell[coinche] += probability * (not made)


def _text(calls: tuple[str, ...], with_suits: bool = True) -> str:
    text = ", ".join(calls)
    return text if with_suits else text.translate({ord(suit): None for suit in SUIT_NAMES})


def auction_rows(auctions: Auctions) -> list[dict[str, Any]]:
    rows = []
    for auction, probability in sorted(auctions.probability.items(), key=lambda item: -item[1]):
        has_contract = any(character.isdigit() for character in auction)
        rows.append(
            {
                "auction": auction,
                "how often": f"{probability:.4f}",
                "contract made": f"{auctions.made[auction] / probability:.3f}" if has_contract else "-",
                "to the first speaker": f"{auctions.gain[auction] / probability:+.1f}",
            }
        )
    return rows


def renamed(spot: Spot) -> Spot:
    """The same decision with the two suits exchanged."""
    exchange = {ord(SUIT_NAMES[0]): SUIT_NAMES[1], ord(SUIT_NAMES[1]): SUIT_NAMES[0]}
    cards = spot.hand.translate(exchange).split()
    in_order = sorted(cards, key=lambda card: SUIT_NAMES.index(card[-1]))  # stable: ranks stay in their order
    return Spot(spot.calls.translate(exchange), " ".join(in_order))


def up_to_suits(spots: list[Spot]) -> list[Spot]:
    """One of each pair of decisions that differ only by the names of the suits."""
    kept: list[Spot] = []
    for spot in sorted(spots):
        if renamed(spot) not in kept:
            kept.append(spot)
    return kept


def decision_rows(auctions: Auctions, calls: str) -> list[dict[str, Any]]:
    """What each hand says after the given calls."""
    spots = up_to_suits([spot for spot in auctions.reached if spot.calls == calls])
    rows = []
    for spot in spots:
        choices = auctions.calls[spot]
        said = ", ".join(f"{call} {p:.0%}" if p < 0.995 else call for call, p in choices.items() if p >= 0.005)
        rows.append({"hand": spot.hand, "says": said})
    return sorted(rows, key=lambda row: (row["says"], row["hand"]))


def coinche_rows(auctions: Auctions) -> list[dict[str, Any]]:
    rows = []
    for spot in up_to_suits(list(auctions.coinched)):
        rows.append(
            {
                "after": spot.calls,
                "hand": spot.hand,
                "coinches": f"{auctions.calls[spot].get('coinche', 0.0):.0%}",
                "contract falls": f"{auctions.coinched_and_fell[spot] / auctions.coinched[spot]:.0%}",
            }
        )
    return rows


def solve(variant: str, iterations: int) -> tuple[pyspiel.Game, CFRSolver]:
    game = pyspiel.load_game(SMALL_VARIANTS[variant])
    solver = CFRSolver(game, variant="dcfr")
    with Progress(console=tables.console) as progress:
        task = progress.add_task(f"solving {variant}", total=iterations)
        while solver.iterations < iterations:
            solver.run(min(max(1, iterations // CHUNKS), iterations - solver.iterations))
            progress.update(task, completed=solver.iterations)
    return game, solver


@command
def main() -> None:
    iterations = QUICK_ITERATIONS if FLAGS.quick else FLAGS.iterations
    config = {"variant": FLAGS.variant, "iterations": iterations}
    directory = open_directory(config, f"runs/coinche_small_{FLAGS.variant}")
    before = time.process_time()
    game, solver = solve(FLAGS.variant, iterations)
    seconds = time.process_time() - before
    with tables.console.status("reading the auctions"):
        auctions = Auctions(game, solver.average_policy())
    nash_conv = solver.nash_conv()
    payoff_range = game.max_utility() - game.min_utility()
    summary = [
        {
            "variant": FLAGS.variant,
            "iterations": iterations,
            "CPU seconds": seconds,
            "NashConv": nash_conv,
            "exploitability / range": nash_conv / 2 / payoff_range,
            "value to the first speaker": auctions.value,
        }
    ]
    parts = {
        "Solved": summary,
        "Auctions": auction_rows(auctions),
        "Opening, by hand": decision_rows(auctions, ""),
        "After a pass, by hand": decision_rows(auctions, "pass"),
    }
    coinches = coinche_rows(auctions)
    if coinches:
        parts["Coinches"] = coinches
    for title, rows in parts.items():
        tables.show(title, rows)
        write_csv(directory.path / f"{title.split(',')[0].lower().replace(' ', '_')}.csv", rows)
    report = "\n".join(f"## {title}\n\n{tables.markdown(rows)}" for title, rows in parts.items())
    directory.write_report(f"# Coinche {FLAGS.variant}, {SMALL_VARIANTS[FLAGS.variant]}\n\n{report}")
    tables.console.print(f"Written to {directory.path}")


if __name__ == "__main__":
    start(main)
