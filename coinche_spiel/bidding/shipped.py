"""The numbers that ship with the package, for compiled code."""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.numbers import read_numbers
from coinche_spiel.state import CARD_POINTS_TOO, REWARD, STATE_SIZE

NUMBERS = np.stack([numbers.flat() for numbers in read_numbers().values()])  # a row for each scoring


@compiled
def numbers_for(state):
    """The numbers for the scoring of a game."""
    by_points = len(state) == STATE_SIZE and state[REWARD] == CARD_POINTS_TOO
    return NUMBERS[1 if by_points else 0]
