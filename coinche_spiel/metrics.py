"""How a team plays: attack rate, success, precision of its bids and the other figures of the Coinche literature.

`team_metrics` takes finished deals and gives each figure as a numerator and a denominator per deal, so that whoever
collects deals can pool them and knows how uncertain the ratio of the sums is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from coinche_spiel.auction import list_calls
from coinche_spiel.observation import LONGEST_AUCTION
from coinche_spiel.scoring import attack_points, is_made
from coinche_spiel.state import (
    CAPOT,
    CARDS_PLAYED,
    COINCHER,
    MAX_VALUES,
    NONE,
    PLAYERS,
    POINTS,
    VALUE,
    attacking_team,
    bid_of_value,
    contract_value,
    level,
)

GAMES = ("python_coinche",)  # whose final states are single deals


class DealFacts(NamedTuple):
    """What happened in finished deals, one entry each; a void deal has attack NONE."""

    attack: np.ndarray  # the attacking team
    value: np.ndarray  # of the contract; a capot has its own value
    is_capot: np.ndarray
    level: np.ndarray  # 1 coinched, 2 surcoinched
    points: np.ndarray  # of the attack, as they count for the contract
    made: np.ndarray
    coincher: np.ndarray  # the team that coinched, or NONE
    bids_0: np.ndarray  # whether team 0 called a contract
    bids_1: np.ndarray
    calls: np.ndarray
    cards: np.ndarray


@entry_point(types.Array(types.int64, 2, "C"), types.Array(types.int64, 2, "C"))
def _read_facts(states, facts):
    calls = np.empty(LONGEST_AUCTION, np.int64)
    for row in range(len(states)):
        state = states[row]
        for value in range(MAX_VALUES + 1):
            bid = bid_of_value(state, value)
            if bid:
                facts[7 + ((bid - 1) >> 2 & 1), row] = 1
        facts[9, row] = list_calls(state, calls)
        facts[10, row] = state[CARDS_PLAYED]
        facts[0, row] = NONE
        facts[6, row] = NONE
        if state[VALUE] != NONE:
            facts[0, row] = attacking_team(state)
            facts[1, row] = contract_value(state)
            facts[2, row] = state[VALUE] == CAPOT
            facts[3, row] = level(state)
            facts[4, row] = attack_points(state)
            facts[5, row] = is_made(state)
            if state[COINCHER] != NONE:
                facts[6, row] = state[COINCHER] & 1


def deal_facts(states: np.ndarray) -> DealFacts:
    """Reads finished deals, one state a row."""
    facts = np.zeros((len(DealFacts._fields), len(states)), np.int64)
    _read_facts(np.ascontiguousarray(states), facts)
    return DealFacts(*facts)


def team_metrics(states: np.ndarray, returns: np.ndarray, seat: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The figures of the team of `seat` over finished deals (one a row), each as (numerators, denominators).

    `returns` has one column per seat. A figure is the sum of its numerators divided by the sum of its denominators.
    """
    facts = deal_facts(states)
    team = seat % 2
    reward = returns[:, seat]
    everything = np.ones(len(states))
    attacks = (facts.attack == team).astype(float)
    defends = (facts.attack == 1 - team).astype(float)
    undoubled = attacks * (facts.level == 0)
    numbers = undoubled * (facts.is_capot == 0)
    miss = np.abs(facts.value - facts.points)
    opponents_bid = facts.bids_0 if team == 1 else facts.bids_1
    players = states[0, PLAYERS] if len(states) else 1
    return {
        "mean return": (reward, everything),
        "reward attacking": (reward * attacks, attacks),
        "reward defending": (reward * defends, defends),
        "attack rate": (attacks, everything),
        "success attacking": (facts.made * attacks, attacks),
        "success defending": ((1 - facts.made) * defends, defends),
        "contract": (facts.value * attacks, attacks),
        "precision": (miss * undoubled, undoubled),
        "precision without capot": (miss * numbers, numbers),
        "capot rate": (facts.is_capot * attacks, attacks),
        "coinche rate": ((facts.coincher == team).astype(float), opponents_bid.astype(float)),
        "void rate": ((facts.attack == NONE).astype(float), everything),
        "table turns": ((facts.calls + facts.cards) / players, everything),
    }


def points_ahead(states: np.ndarray, seat: int) -> np.ndarray:
    """By how many card points the team of `seat` is ahead so far, in each of the states."""
    team = seat % 2
    return (states[:, POINTS + team] - states[:, POINTS + 1 - team]).astype(float)
