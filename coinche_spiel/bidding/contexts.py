"""What everybody knows when somebody has to call: a *context*, one row of numbers that does not depend on the hands.

It holds who calls, the contract so far, what each contract would pay, and for every suit its situation and an offset:
what the auction alone says about the points the caller's team would take with that suit as trump. With a context,
valuing the calls of a hand takes a few look-ups (`calls`), so the past calls of thousands of imagined hands are
judged quickly: contexts of an auction are written once (`likelihood.prepare`), hands are asked about afterwards.

An offset is linear in features of the auction, with weights for each situation.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.holdings import FEATURES, TABLE_SIZE
from coinche_spiel.bidding.payoffs import PAYOFF_SIZE, write_payoff
from coinche_spiel.cards import NUM_SUITS
from coinche_spiel.state import (
    BELOTE,
    BIDDING,
    BIDS,
    CAPOT,
    CAPOT_VALUE,
    CARDS_PLAYED,
    COINCHE_ALLOWED,
    COINCHE_TAKES_OVER,
    COINCHER,
    DECLARER,
    MAX_PLAYERS,
    MIN_BID,
    NONE,
    NUM_VALUES,
    PASSES,
    PHASE,
    SURCOINCHER,
    TRUMP,
    TURN,
    VALUE,
    bid_of_value,
    first_seat,
    level,
)

# What the auction has said about a suit, seen from the seat to call.
SITUATIONS = ("fresh", "partners", "own", "common", "theirs")
FRESH, PARTNERS, OWN, COMMON, THEIRS = range(len(SITUATIONS))

# Features of the auction, for one suit. A value called counts in tens from the lowest (80: 0, 90: 1, ...).
AUCTION_FEATURES = (
    "always",
    "i_lead",
    "partner_leads",
    "next_leads",
    "i_passed",
    "i_bid_another",
    "i_bid_it_tens",
    "partner_passed",
    "partner_bid_another",
    "partner_bid_another_tens",
    "partner_bid_it_tens",
    "next_passed",
    "next_bid_another",
    "next_bid_another_tens",
    "next_bid_it",
    "next_bid_it_tens",
    "previous_passed",
    "previous_bid_another",
    "previous_bid_another_tens",
    "previous_bid_it",
    "previous_bid_it_tens",
    "they_coinched_it",
    "we_coinched_it",
)
NUM_AUCTION = len(AUCTION_FEATURES)
ALL_FEATURES = (*FEATURES, *AUCTION_FEATURES)

# Numbers of a bidder, flat: for every situation its tables and its auction weights, then the judgement (`calls`).
SITUATION_SIZE = TABLE_SIZE + NUM_AUCTION
JUDGEMENT_AT = len(SITUATIONS) * SITUATION_SIZE

# A context.
(
    CALLER,
    CALL,  # the action that was called, or NONE
    HIGHEST,  # index of the highest value so far, or NONE
    SUIT,  # of that contract
    SIDE,  # whose contract it is
    LEVEL,
    SILENT,  # passes since the last other call
    MAY_COINCHE,
    VALUES,  # how many values there are
    LOWEST,  # the lowest value
    HAS_CAPOT,
    HAS_BELOTE,
    TAKES_OVER,
    CHOICES,  # how many calls were legal; written where it is asked for (`likelihood`)
) = range(14)
NOBODY, OURS, OTHERS = range(3)  # in SIDE
SITUATION_OF = 16  # + suit
OFFSET_OF = SITUATION_OF + NUM_SUITS
PAYOFF_OF = OFFSET_OF + NUM_SUITS  # + PAYOFF_SIZE * index of the value: what it pays the caller's team, not coinched
NOW_PAYS = PAYOFF_OF + PAYOFF_SIZE * (CAPOT + 1)  # the contract so far, to its attack, at its level
NEXT_PAYS = NOW_PAYS + PAYOFF_SIZE  # the same, one level higher
CONTEXT_SIZE = NEXT_PAYS + PAYOFF_SIZE


@compiled
def write_context(state, numbers, out):
    """The context of the seat to call."""
    seat = state[TURN]
    highest = state[VALUE]
    at_level = level(state)
    out[CALLER] = seat
    out[CALL] = NONE
    out[HIGHEST] = highest
    out[SUIT] = state[TRUMP]
    out[SIDE] = NOBODY if highest == NONE else (OURS if (state[DECLARER] ^ seat) & 1 == 0 else OTHERS)
    out[LEVEL] = at_level
    out[SILENT] = state[PASSES]
    out[MAY_COINCHE] = state[COINCHE_ALLOWED]
    out[VALUES] = state[NUM_VALUES]
    out[LOWEST] = state[MIN_BID]
    out[HAS_CAPOT] = state[CAPOT_VALUE] > 0
    out[HAS_BELOTE] = state[BELOTE]
    out[TAKES_OVER] = state[COINCHE_TAKES_OVER]
    if at_level == 0:
        for index in range(highest + 1, state[NUM_VALUES]):
            write_payoff(state, index, 0, seat & 1, out, PAYOFF_OF + PAYOFF_SIZE * index)
        if state[CAPOT_VALUE] > 0:
            write_payoff(state, CAPOT, 0, seat & 1, out, PAYOFF_OF + PAYOFF_SIZE * CAPOT)
    if highest != NONE:
        write_payoff(state, highest, at_level, _attackers(state, at_level), out, NOW_PAYS)
        if at_level < 2:
            write_payoff(state, highest, at_level + 1, _attackers(state, at_level + 1), out, NEXT_PAYS)
    features = np.empty(NUM_AUCTION)
    heard = seats_heard(state)
    for suit in range(NUM_SUITS):
        situation = auction_features(state, seat, suit, heard, features)
        start = situation * SITUATION_SIZE + TABLE_SIZE
        offset = 0.0
        for feature in range(NUM_AUCTION):
            offset += numbers[start + feature] * features[feature]
        out[SITUATION_OF + suit] = situation
        out[OFFSET_OF + suit] = offset


@compiled
def _attackers(state, at_level):
    """The team that must make the present contract once it is at this level."""
    return (state[DECLARER] & 1) ^ (1 if state[COINCHE_TAKES_OVER] and at_level > 0 else 0)


@compiled
def auction_features(state, seat, suit, heard, out):
    """Writes the features of the auction for one suit; returns the suit's situation. `heard` is `seats_heard`."""
    out[:] = 0.0
    out[0] = 1.0
    leader = (first_seat(state) - seat) & 3
    if leader == 0:
        out[1] = 1.0
    elif leader == 2:
        out[2] = 1.0
    elif leader == 1:
        out[3] = 1.0
    last_it = np.full(MAX_PLAYERS, NONE, np.int64)  # by relative seat: the index it last bid in this suit
    last_other = np.full(MAX_PLAYERS, NONE, np.int64)
    for value in range(CAPOT + 1):
        bid = bid_of_value(state, value)
        if bid:
            caller = (((bid - 1) >> 2) - seat) & 3
            if (bid - 1) & 3 == suit:
                last_it[caller] = value
            else:
                last_other[caller] = value
    for other in range(MAX_PLAYERS):
        silent = last_it[other] == NONE and last_other[other] == NONE
        passed = silent and ((seat + other - first_seat(state)) & 3) < heard
        if other == 0:
            out[4] = passed
            out[5] = last_other[0] != NONE
            out[6] = max(last_it[0], 0)
        elif other == 2:
            out[7] = passed
            out[8] = last_other[2] != NONE
            out[9] = max(last_other[2], 0)
            out[10] = max(last_it[2], 0)
        else:
            at = 11 if other == 1 else 16
            out[at] = passed
            out[at + 1] = last_other[other] != NONE
            out[at + 2] = max(last_other[other], 0)
            out[at + 3] = last_it[other] != NONE
            out[at + 4] = max(last_it[other], 0)
    if state[COINCHER] != NONE and state[TRUMP] == suit:
        if (state[COINCHER] ^ seat) & 1:
            out[21] = 1.0
        else:
            out[22] = 1.0
    if last_it[0] != NONE:
        return COMMON if last_it[2] != NONE else OWN
    if last_it[2] != NONE:
        return PARTNERS
    return THEIRS if last_it[1] != NONE or last_it[3] != NONE else FRESH


@compiled
def seats_heard(state):
    """How many seats have called at least once, from the first on."""
    seat = 0  # counted from the first
    heard = state[PASSES]
    for value in range(CAPOT + 1):
        bid = bid_of_value(state, value)
        if bid:
            caller = (((bid - 1) >> 2) - first_seat(state)) & 3
            heard += ((caller - seat) & 3) + 1
            seat = (caller + 1) & 3
    return MAX_PLAYERS if state[COINCHER] != NONE else min(heard, MAX_PLAYERS)


@compiled
def before_the_auction(state, out):
    """The same deal when nobody had called."""
    out[:] = state
    out[PHASE] = BIDDING
    out[TURN] = first_seat(state)
    out[BIDS] = 0
    for slot in (VALUE, TRUMP, DECLARER, COINCHER, SURCOINCHER):
        out[slot] = NONE
    out[PASSES] = 0
    out[CARDS_PLAYED] = 0
