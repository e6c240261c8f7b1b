"""Auctions of solved deals between bidders, in compiled code: what they lead to, and samples to learn from.

A bidder is a row of a population of flat numbers (`coinche_spiel.bidding.numbers`), or one of the literature's
players. Nobody plays cards here: final contracts are worth what `coinche_spiel.bidding.outcomes` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.randomness import below, generator, uniform
from cardtable.replay import ROOT
from coinche_spiel.auction import apply_call, legal_calls, start_auction
from coinche_spiel.bidding.calls import best_call
from coinche_spiel.bidding.contexts import (
    CONTEXT_SIZE,
    NUM_AUCTION,
    THEIRS,
    auction_features,
    seats_heard,
    write_context,
)
from coinche_spiel.bidding.outcomes import contract_worth
from coinche_spiel.bidding.payoffs import PAYOFF_SIZE
from coinche_spiel.cards import NUM_SUITS, TOTAL_POINTS
from coinche_spiel.players import simple_call, strong_call
from coinche_spiel.state import (
    BIDDING,
    DECLARER,
    HAND,
    NONE,
    NUM_ACTIONS,
    PHASE,
    TRUMP,
    TURN,
    VALUE,
    attacking_team,
    contract_value,
    level,
)
from experiments.coinche.bidding.deals import Deals

STRONG, SIMPLE = -1, -2  # in place of a row of the population
CONTRACT_FIELDS = 4  # declarer or NONE, trump, value, level
MOST_CALLS = 40

MATRIX = types.Array(types.float64, 2, "C")
WHOLE_MATRIX = types.Array(types.int64, 2, "C")
WHOLE_CUBE = types.Array(types.int64, 3, "C")
VECTOR = types.Array(types.float64, 1, "C")
WHOLE_VECTOR = types.Array(types.int64, 1, "C")
STREAM = types.Array(types.uint64, 1, "C")


class Setting(NamedTuple):
    """What is played for, and how play differs from the points that are known."""

    root: np.ndarray
    play: np.ndarray  # see `outcomes`


class Results(NamedTuple):
    worth: np.ndarray  # to North and South, by deal
    contracts: np.ndarray  # (deals, CONTRACT_FIELDS)


class Samples(NamedTuple):
    """What somebody to call knew about one suit, and what the suit was worth."""

    hands: np.ndarray
    suits: np.ndarray
    situations: np.ndarray
    auctions: np.ndarray  # (samples, NUM_AUCTION)
    points: np.ndarray  # of the caller's team; they attack in a suit of theirs, we in any other


def play_auctions(setting: Setting, deals: Deals, population: np.ndarray, seats: tuple[int, int, int, int]) -> Results:
    """Every deal with one bidder for each seat."""
    count = len(deals.hands)
    worth, contracts = np.empty(count), np.empty((count, CONTRACT_FIELDS), np.int64)
    who = np.array(seats, np.int64)
    _play(setting.root, deals.hands, deals.points, setting.play, population, who, worth, contracts)
    return Results(worth, contracts)


def match_by_deal(setting: Setting, deals: Deals, population: np.ndarray, first: int, second: int) -> np.ndarray:
    """What the first bidder gains on the second, by deal, each played in both seatings."""
    one = play_auctions(setting, deals, population, (first, second, first, second)).worth
    two = play_auctions(setting, deals, population, (second, first, second, first)).worth
    return (one - two) / 2


def collect(
    setting: Setting, deals: Deals, population: np.ndarray, bidders: np.ndarray, seed: int, noise: float = 0.05
) -> Samples:
    """Samples from auctions in which each team is one of `bidders`, drawn for each deal, with some random calls."""
    room = len(deals.hands) * MOST_CALLS
    hands, suits, situations = (np.empty(room, np.int64) for _ in range(3))
    auctions, points = np.empty((room, NUM_AUCTION)), np.empty(room)
    whole = (hands, suits, situations)
    count = _collect(
        setting.root, deals.hands, deals.points, population, bidders, generator(seed), noise, *whole, auctions, points
    )
    return Samples(hands[:count], suits[:count], situations[:count], auctions[:count], points[:count])


@compiled
def _deal(root, hands, state):
    state[:] = root
    for seat in range(4):
        state[HAND + seat] = hands[seat]
        state[deck.DEALT + seat] = hands[seat]
    start_auction(state)


@compiled
def call_of(state, who, population, context):
    if who == STRONG:
        return strong_call(state, False)
    if who == SIMPLE:
        return simple_call(state, False)
    write_context(state, population[who], context)
    return best_call(state[HAND + state[TURN]], context, population[who])


@entry_point(ROOT, WHOLE_MATRIX, WHOLE_CUBE, VECTOR, MATRIX, WHOLE_VECTOR, VECTOR, WHOLE_MATRIX, nogil=True)
def _play(root, hands, points, play, population, seats, worth, contracts):
    state = np.empty_like(root)
    context = np.empty(CONTEXT_SIZE)
    pays = np.empty(PAYOFF_SIZE)
    for row in range(len(hands)):
        _deal(root, hands[row], state)
        while state[PHASE] == BIDDING:
            apply_call(state, call_of(state, seats[state[TURN]], population, context))
        worth[row] = 0.0
        contracts[row, :] = NONE
        if state[VALUE] != NONE:
            worth[row] = contract_worth(state, points[row, attacking_team(state), state[TRUMP]], play, pays)
            contracts[row, 0] = state[DECLARER]
            contracts[row, 1] = state[TRUMP]
            contracts[row, 2] = contract_value(state)
            contracts[row, 3] = level(state)


@entry_point(
    ROOT,
    WHOLE_MATRIX,
    WHOLE_CUBE,
    MATRIX,
    WHOLE_VECTOR,
    STREAM,
    types.float64,
    WHOLE_VECTOR,
    WHOLE_VECTOR,
    WHOLE_VECTOR,
    MATRIX,
    VECTOR,
    nogil=True,
)
def _collect(root, hands, points, population, bidders, stream, noise, held, suits, situations, auctions, targets):
    state = np.empty_like(root)
    context = np.empty(CONTEXT_SIZE)
    legal = np.empty(NUM_ACTIONS, np.int64)
    count = 0
    for row in range(len(hands)):
        _deal(root, hands[row], state)
        teams = (bidders[below(stream, len(bidders))], bidders[below(stream, len(bidders))])
        calls = 0
        while state[PHASE] == BIDDING and calls < MOST_CALLS // NUM_SUITS:
            seat = state[TURN]
            heard = seats_heard(state)
            for suit in range(NUM_SUITS):
                held[count] = hands[row, seat]
                suits[count] = suit
                situations[count] = auction_features(state, seat, suit, heard, auctions[count])
                attack = seat & 1 if situations[count] != THEIRS else 1 - (seat & 1)
                taken = min(points[row, attack, suit], TOTAL_POINTS)
                targets[count] = taken if seat & 1 == 0 else TOTAL_POINTS - taken
                count += 1
            if uniform(stream) < noise:
                call = legal[below(stream, min(legal_calls(state, legal), 9))]
            else:
                call = call_of(state, teams[seat & 1], population, context)
            apply_call(state, call)
            calls += 1
    return count
