"""Bidders against bidders on solved deals, the simulating one among them; nobody plays cards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cardtable import deck
from cardtable.randomness import streams
from coinche_spiel.auction import apply_call, start_auction
from coinche_spiel.bidding.outcomes import contract_worth
from coinche_spiel.bidding.payoffs import PAYOFF_SIZE
from coinche_spiel.state import (
    BIDDING,
    COINCHER,
    DECLARER,
    HAND,
    NONE,
    PHASE,
    TRUMP,
    TURN,
    VALUE,
    contract_value,
    level,
)
from experiments.coinche.bidding.auctions import Setting
from experiments.coinche.bidding.deals import SEATS, Deals

Caller = Callable[[np.ndarray, np.ndarray], int]  # (state, random numbers) -> the call of the seat to move
FIELDS = ("declarer", "value", "level", "coincher")


class Judged(NamedTuple):
    """A match of two callers: what the first gains, by deal, and what the contracts were in both seatings."""

    gains: np.ndarray
    contracts: np.ndarray  # (deals, 2 seatings, FIELDS); NONE where the deal is void
    calls: int  # of the first caller
    seconds: float  # CPU time of these

    def figures(self) -> dict[str, str]:
        """How the first caller and its opponent attack: share of deals, mean value, how often coinched."""
        found = {}
        for name, side in (("attacks", 0), ("they attack", 1)):
            attack = (self.contracts[:, :, 0] + np.arange(2)) % 2 == side
            own = self.contracts[attack & (self.contracts[:, :, 0] != NONE)]
            found[name] = f"{len(own) / self.contracts[:, :, 0].size:.0%} at {own[:, 1].mean():.0f}"
            found[f"{name}, coinched"] = f"{(own[:, 2] > 0).mean():.0%}"
        found["ms a call"] = f"{1000 * self.seconds / max(self.calls, 1):.1f}"
        return found


def judge(
    setting: Setting,
    deals: Deals,
    first: Caller,
    second: Caller,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda deals: None,
) -> Judged:
    """Plays every auction in both seatings. What a caller draws depends on seed, deal and seat alone."""
    count = len(deals.hands)
    worth, contracts = np.zeros((count, 2)), np.full((count, 2, len(FIELDS)), NONE, np.int64)
    own = [streams(seed, (1, seat), range(count)) for seat in range(SEATS)]
    pays = np.empty(PAYOFF_SIZE)
    calls, seconds = 0, 0.0
    for row in range(count):
        for seating in range(2):
            state = setting.root.copy()
            state[HAND : HAND + SEATS] = state[deck.DEALT : deck.DEALT + SEATS] = deals.hands[row]
            start_auction(state)
            while state[PHASE] == BIDDING:
                seat = int(state[TURN])
                is_first = (seat + seating) % 2 == 0
                began = time.process_time()
                call = (first if is_first else second)(state, own[seat][row])
                if is_first:
                    seconds += time.process_time() - began
                    calls += 1
                apply_call(state, call)
            if state[VALUE] != NONE:
                attack = int(state[DECLARER]) % 2
                points = deals.points[row, attack, state[TRUMP]]
                worth[row, seating] = contract_worth(state, points, setting.play, pays)
                contracts[row, seating] = state[DECLARER], contract_value(state), level(state), state[COINCHER]
        on_progress(1)
    return Judged((worth[:, 0] - worth[:, 1]) / 2, contracts, calls, seconds)
