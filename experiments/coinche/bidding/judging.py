"""Bidders against bidders on solved deals, the simulating one among them; nobody plays cards."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
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
    """Plays every auction in both seatings."""
    count = len(deals.hands)
    worth, contracts = np.zeros((count, 2)), np.full((count, 2, len(FIELDS)), NONE, np.int64)
    random = _random_of(seed, count)
    calls, seconds = 0, 0.0

    def timed(state: np.ndarray, stream: np.ndarray) -> int:
        nonlocal calls, seconds
        began = time.process_time()
        call = first(state, stream)
        seconds += time.process_time() - began
        calls += 1
        return call

    for row in range(count):
        for seating in range(2):
            callers = [timed if (seat + seating) % 2 == 0 else second for seat in range(SEATS)]
            state, _ = _bid(setting, deals, row, callers, random)
            worth[row, seating] = _worth(setting, deals, row, state)
            if state[VALUE] != NONE:
                contracts[row, seating] = state[DECLARER], contract_value(state), level(state), state[COINCHER]
        on_progress(1)
    return Judged((worth[:, 0] - worth[:, 1]) / 2, contracts, calls, seconds)


def worth_of_calls(
    setting: Setting,
    deals: Deals,
    caller: Caller,
    without: Mapping[str, tuple[Collection[int], Caller]],
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda deals: None,
) -> dict[str, tuple[np.ndarray, float]]:
    """What some calls bring a side in self-play: its gains by deal over a side without them, and how often they come.

    `without` has calls by name, and the same caller without them. Where none of them is heard in self-play the side
    without them says the same, and there is nothing to play: every auction of a deal draws the same random numbers.
    """
    count = len(deals.hands)
    random = {key: _random_of(seed, count) for key in ("all", *((name, side) for name in without for side in range(2)))}
    gains = {name: np.zeros(count) for name in without}
    heard = dict.fromkeys(without, 0)
    for row in range(count):
        _, said = _bid(setting, deals, row, [caller] * SEATS, random["all"])
        for name, (calls, barred) in without.items():
            if any(call in calls for call in said):
                heard[name] += 1
                for side in range(2):
                    callers = [caller if seat % 2 == side else barred for seat in range(SEATS)]
                    state, _ = _bid(setting, deals, row, callers, random[name, side])
                    gains[name][row] += (1 - 2 * side) * _worth(setting, deals, row, state) / 2
        on_progress(1)
    return {name: (gains[name], heard[name] / count) for name in without}


def _random_of(seed: int, count: int) -> list[np.ndarray]:
    """Random numbers for each seat in each deal; `_bid` uses them up."""
    return [streams(seed, (1, seat), range(count)) for seat in range(SEATS)]


def _bid(
    setting: Setting, deals: Deals, row: int, callers: Sequence[Caller], random: Sequence[np.ndarray]
) -> tuple[np.ndarray, list[int]]:
    """One auction: the state at its end, and the calls. What a caller draws depends on seed, deal and seat alone."""
    state = setting.root.copy()
    state[HAND : HAND + SEATS] = state[deck.DEALT : deck.DEALT + SEATS] = deals.hands[row]
    start_auction(state)
    calls: list[int] = []
    while state[PHASE] == BIDDING:
        seat = int(state[TURN])
        calls.append(int(callers[seat](state, random[seat][row])))
        apply_call(state, calls[-1])
    return state, calls


def _worth(setting: Setting, deals: Deals, row: int, state: np.ndarray) -> float:
    """What North and South can expect of the contract: nothing of a void deal."""
    if state[VALUE] == NONE:
        return 0.0
    points = deals.points[row, int(state[DECLARER]) % 2, state[TRUMP]]
    return float(contract_worth(state, points, setting.play, np.empty(PAYOFF_SIZE)))
