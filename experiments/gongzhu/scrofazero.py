"""The tables of the ScrofaZero paper with our own networks: matches, values of cards, examples of gamma."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardtable.match import Estimate
from cardtable.player import read_player_file
from cardtable.randomness import generator
from cardtable.spiel import CardGame
from experiments.running.round_robin import PairResult, Standings
from gongzhu_spiel.game import RANK_NAMES
from gongzhu_spiel.players import BURDEN
from gongzhu_spiel.rules import deal
from gongzhu_spiel.state import HAND, MAX_RANKS, TURN
from solvers.alpha_zero.network import forward
from solvers.alpha_zero.players import load_network
from solvers.alpha_zero.scrofazero import BETA, thirds_inputs
from solvers.alpha_zero.views import GongzhuView

SUITS = "SHDC"


class Match(NamedTuple):
    """A line of a table: who plays whom, and what is published."""

    table: str
    what: str
    first: str
    second: str
    published: str

    @property
    def players(self) -> tuple[str, str]:
        return self.first, self.second


def matches(folder: str, others: dict[str, str]) -> list[Match]:
    """All matches of Tables 2, 3, 5 and 8 for the network in a folder; `others` are networks of other sizes."""
    uniform, stratified = f"{folder}(sampling=uniform)", f"{folder}(sampling=stratified)"
    both = f"{folder}(sampling=stratified,weights=iec)"
    found = [
        Match("2", "if - random", "if", "random", "194 ± 4"),
        Match("2", "greed - random", "greed", "random", "275 ± 5"),
        Match("2", "greed - if", "greed", "if", "80 ± 6"),
        Match("2", "SZS - random", stratified, "random", "319 ± 16"),
        Match("2", "SZS - if", stratified, "if", "127 ± 8"),
        Match("2", "SZS - greed", stratified, "greed", "60 ± 5"),
        Match("3", "US", uniform, "greed", "59.6 ± 3.3"),
        Match("3", "SS", stratified, "greed", "59.7 ± 3.3"),
        Match("3", "US with IEC", f"{folder}(sampling=uniform,weights=iec)", "greed", "54.5 ± 4.7"),
        Match("3", "SS with IEC", both, "greed", "73.9 ± 3.3"),
        Match("3", "SS with IEC, against US", both, uniform, "15.5 ± 4.1"),
        Match("3", "SS with naive Bayes", f"{folder}(sampling=stratified,weights=bayes)", "greed", "worse than IEC"),
        Match("8", "policy head, one-hot", f"{folder}(head_only=one_hot)", "greed", "1 ± 16"),
        Match("8", "policy head, thirds", f"{folder}(head_only=thirds)", "greed", "7 ± 4.6"),
    ]
    sizes = {"this network": folder, **others}
    raw = "(worlds=5,fewest=0,each=1)"  # Table 5 does not say; its best network has what the authors' log says of this
    found += [Match("5", name, f"{path}{raw}", "greed", "0 ± 8, 32 ± 5, -66 ± 8") for name, path in sizes.items()]
    return found


CLAIMS = [
    ("SS", "US", 0.1),
    ("US with IEC", "US", -5.1),
    ("SS with IEC", "SS", 14.2),
    ("SS with IEC", "US", 14.3),
    ("SS with IEC", "SS with naive Bayes", None),
]


def differences(results: Mapping[str, PairResult]) -> list[dict[str, Any]]:
    """What Table 3 is about: lines against each other, on the same deals against Mr. Greed."""
    rows = []
    for first, second, published in CLAIMS:
        found = Estimate.of(results[first].per_deal - results[second].per_deal)
        row = {"over Mr. Greed": f"{first} - {second}", "points": str(found)}
        row["published"] = "better by a lot" if published is None else f"{published:+.1f}"
        rows.append(row | {"verdict": verdict(found, published is None or published > 0)})
    return rows


def verdict(found: Estimate, should_gain: bool) -> str:
    """What the interval of a difference says of a published gain, or loss."""
    if found.low <= 0 <= found.high:
        return "not told from none"
    return "so it is" if (found.mean > 0) == should_gain else "the other way round"


def transitivity(results: Mapping[str, PairResult], deals: int) -> dict[str, Any]:
    """Eq. 17 of Table 2's four players, on the deals that all of its matches have."""
    names = ["random", "if", "greed", "SZS"]
    pairs = itertools.combinations(range(len(names)), 2)
    results_of = {(j, i): results[f"{names[j]} - {names[i]}"].first(deals) for i, j in pairs}
    index, low, high = Standings(names, results_of).intransitivity()
    found = f"{index:.3f} ({low:.3f} to {high:.3f})"
    return {"players": ", ".join(names), "intransitivity": found, "published": "0.03 ± 0.02"}


def values_of_cards(game: CardGame, folder: Path, deals: int, seed: int) -> list[dict[str, Any]]:
    """Table 4: what holding a card is worth to a hand, by the value head.

    In random deals the card changes hands with a low card of the same suit (the lowest one that the other hand has),
    between the leader and each of the opponents; half the difference of the leader's values.
    """
    view, tensors = load_network(folder, read_player_file(folder), game)
    rows = []
    names = [("S", 12, -50), ("S", 11, -30), ("C", 12, -20), ("C", 11, -15), ("C", 10, -10), ("C", 9, -5)]
    names += [("D", 12, 30), ("D", 11, 20), ("D", 10, 10)]
    published = ("-20 to -40", "-20 to -40", "-20", "-20", "-10", "-10", "20", "10", "10")
    for (suit, rank, greed), paper in zip(names, published, strict=True):
        card = SUITS.index(suit) * MAX_RANKS + rank
        found = []
        for number in range(deals):
            state = game.rules.new_state()
            deal(state, generator(seed + number))
            seat, other = int(state[TURN]), int(state[TURN] + 1) % 4
            for owner, taker in ((seat, other), (other, seat)):
                suit_set = (1 << MAX_RANKS) - 1 << card // MAX_RANKS * MAX_RANKS
                low = int(state[HAND + taker]) & suit_set
                if not int(state[HAND + owner]) >> card & 1 or not low:
                    continue
                swapped = state.copy()
                exchange = 1 << card | low & -low
                swapped[HAND + owner] ^= exchange
                swapped[HAND + taker] ^= exchange
                pair = np.stack([state, swapped])
                values = forward(tensors, view.inputs(pair, np.arange(2)))[1][:, 0]
                sign = 1 if owner == seat else -1
                found.append(sign * float(values[0] - values[1]) / 2)
        mean, error = float(np.mean(found)), float(np.std(found) / np.sqrt(len(found)))
        rows.append({"card": suit + RANK_NAMES[rank], "Mr. Greed": greed, "published": paper})
        rows[-1] |= {"ours": round(mean, 1), "s.e.": round(error, 1), "burden in our Mr. Greed": int(BURDEN[card])}
    return rows


class Guess(NamedTuple):
    """Cards of one suit that a hand is thought to hold, with the published factors without and with one more card."""

    table: str
    suit: str
    extra: str  # the card that is called irrelevant
    ranks: tuple[str, ...]
    without: tuple[float, ...]
    beside: tuple[float, ...]  # and of the irrelevant card itself, last


GUESSES = [
    Guess("6", "D", "4", ("7", "8"), (1.0, 0.9897), (1.0, 0.9912, 0.9188)),
    Guess("6", "D", "4", ("6", "7", "J"), (0.9010, 1.0, 0.7398), (0.9043, 1.0, 0.7321, 0.9233)),
    Guess("6", "D", "4", ("10", "K"), (1.0, 0.9538), (1.0, 0.9548, 0.9519)),
    Guess("7", "S", "J", ("5", "10"), (0.9424, 1.0), (0.9464, 1.0, 0.9598)),
    Guess("7", "S", "J", ("8", "10", "Q"), (0.9560, 1.0, 0.4818), (0.9585, 1.0, 0.4950, 0.9528)),
    Guess("7", "S", "J", ("7", "K"), (1.0, 0.8302), (1.0, 0.8331, 0.9677)),
]


def gamma_examples(game: CardGame, folder: Path, temperature: float) -> list[dict[str, Any]]:
    """Tables 6 and 7: correction factors of guessed cards, without and with an irrelevant one (D4, SJ).

    The second seat follows in the first trick; her hand is the guessed cards of that suit, and cards of other suits.
    """
    view, tensors = load_network(folder, read_player_file(folder), game)
    assert isinstance(view, GongzhuView)
    rows = []
    for guess in GUESSES:
        ranks = (*guess.ranks, guess.extra)
        cards = [SUITS.index(guess.suit) * MAX_RANKS + RANK_NAMES.index(rank) for rank in ranks]
        without = [*(_gamma(game, view, tensors, temperature, cards[:-1], card) for card in cards[:-1]), np.nan]
        beside = [_gamma(game, view, tensors, temperature, cards, card) for card in cards]
        published = zip((*guess.without, np.nan), guess.beside, strict=True)
        for rank, ours, paper in zip(ranks, zip(without, beside, strict=True), published, strict=True):
            row: dict[str, Any] = {"table": guess.table, "card": guess.suit + rank, "guessed": " ".join(guess.ranks)}
            row |= {f"without {guess.suit}{guess.extra}": round(ours[0], 4), "published without": paper[0]}
            rows.append(row | {f"with {guess.suit}{guess.extra}": round(ours[1], 4), "published with": paper[1]})
    return rows


def _gamma(
    game: CardGame, view: GongzhuView, tensors: dict, temperature: float, guessed: list[int], card: int
) -> float:
    """The correction factor of a card, averaged over a hundred deals of what else there is."""
    suit = guessed[0] // MAX_RANKS
    found = []
    for number in range(100):
        state = game.rules.new_state()
        deal(state, generator(number))
        lead = next(
            (c for c in range(suit * 13, suit * 13 + 13) if c not in guessed and int(state[HAND]) >> c & 1), None
        )
        if lead is None:
            continue
        game.rules.kernel.apply_action(state, lead)
        rest = [c for c in range(52) if int(state[HAND + 1]) >> c & 1 and c // MAX_RANKS != suit]
        hand = sum(1 << c for c in (*guessed, *rest[: 13 - len(guessed)]))
        logits = forward(tensors, thirds_inputs(view, state, 1, np.array([hand])))[0][0]
        found.append(np.exp(-BETA * temperature * (max(logits[guessed]) - logits[card])))
    return float(np.mean(found))
