"""What the calls of an auction say about the hands behind them: `coinche_spiel.bidding.likelihood`, for beliefs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import compiled
from cardtable.rules import INTEGERS, PROBABILITIES, STATES
from coinche_spiel.bidding.calls import NUMBERS_SIZE, VALUES_SIZE
from coinche_spiel.bidding.likelihood import new_auction, prepare, seat_likelihood
from coinche_spiel.bidding.shipped import numbers_for


class Auction(NamedTuple):
    """An auction laid out for `seat_likelihood`."""

    calls: np.ndarray  # how many; 0: nothing is to be read from them
    contexts: np.ndarray
    positions: np.ndarray
    numbers: np.ndarray
    values: np.ndarray


AUCTION_TYPE = types.Tuple((INTEGERS, types.Array(types.float64, 2, "C"), STATES, PROBABILITIES, PROBABILITIES))


def new_auction_room(state_size: int) -> Auction:
    contexts, positions = new_auction(state_size)
    return Auction(np.zeros(1, np.int64), contexts, positions, np.zeros(NUMBERS_SIZE), np.zeros(VALUES_SIZE))


@compiled
def listen(state, auction):
    """Prepares for questions about the auction of this state."""
    auction.numbers[:] = numbers_for(state)
    auction.calls[0] = prepare(state, auction.numbers, auction.contexts, auction.positions)


@compiled
def judge_calls(auction, seat, hand):
    """The log of how likely the seat's calls were, had it been dealt this hand."""
    calls = auction.calls[0]
    if calls == 0:
        return 0.0
    return math.log(
        seat_likelihood(hand, seat, calls, auction.contexts, auction.positions, auction.numbers, auction.values)
    )
