"""The learnt numbers of the bidders, as they ship with the package, and as one flat array for compiled code.

`numbers.json` is made by `experiments.coinche_bidder`. For every kind there are the weights of each situation, by
the names of `contexts.ALL_FEATURES`, and the judgement, by the names of `calls.JUDGEMENT`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardtable.files import read_json
from cardtable.parameters import UserError
from coinche_spiel.bidding.calls import JUDGEMENT, NUMBERS_SIZE
from coinche_spiel.bidding.contexts import ALL_FEATURES, AUCTION_FEATURES, JUDGEMENT_AT, SITUATION_SIZE, SITUATIONS
from coinche_spiel.bidding.holdings import TABLE_SIZE, tables_of

FILE = Path(__file__).with_name("numbers.json")
# For scores by the contract alone, for card points scored beside it, and for who plays the cards of `strong`.
KINDS = ("contract", "points", "plain_cards")
LARGEST = 10_000.0


class Numbers(NamedTuple):
    """What a bidder has learnt."""

    weights: dict[str, dict[str, float]]  # by situation and feature
    judgement: dict[str, float]

    def flat(self) -> np.ndarray:
        """All of it as compiled code wants it."""
        flat = np.empty(NUMBERS_SIZE)
        for place, situation in enumerate(SITUATIONS):
            start = place * SITUATION_SIZE
            weights = self.weights[situation]
            flat[start : start + TABLE_SIZE] = tables_of(weights)
            flat[start + TABLE_SIZE : start + SITUATION_SIZE] = [weights[name] for name in AUCTION_FEATURES]
        flat[JUDGEMENT_AT:] = [self.judgement[name] for name in JUDGEMENT]
        return flat


def read_numbers(path: Path = FILE) -> dict[str, Numbers]:
    """The numbers of each kind; UserError if the file is not what it should be."""
    found = read_json(path, "the numbers of a bidder")
    try:
        return {kind: numbers_from(found[kind]) for kind in KINDS}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"{path} does not hold the numbers of a bidder: {error}") from None


def numbers_from(found: Mapping[str, Any]) -> Numbers:
    """The numbers of one kind, checked."""
    weights = {
        situation: {name: _number(found["weights"][situation][name]) for name in ALL_FEATURES}
        for situation in SITUATIONS
    }
    judgement = {name: _number(found["judgement"][name]) for name in JUDGEMENT}
    for name, value in judgement.items():
        if ("spread" in name or name == "temperature") and value < 1.0:
            raise ValueError(f"{name} is {value}; allowed: 1 or more")
    return Numbers(weights, judgement)


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or abs(number) > LARGEST:
        raise ValueError(f"{value} is not a number of points")
    return number
