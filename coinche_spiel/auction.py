"""The auction: which calls are legal, what they do, when it ends (RULES.md, "The auction")."""

from __future__ import annotations

from cardtable.compiled import compiled
from coinche_spiel.cards import NUM_SUITS
from coinche_spiel.play import start_play
from coinche_spiel.state import (
    BIDDING,
    BIDS,
    CAPOT,
    CAPOT_VALUE,
    CARDS_PLAYED,
    COINCHE,
    COINCHE_ALLOWED,
    COINCHER,
    DECLARER,
    FIRST_BID,
    MAX_VALUES,
    NONE,
    NUM_VALUES,
    OVER,
    PASS,
    PASSES,
    PHASE,
    PLAYERS,
    SUITS,
    SURCOINCHE,
    SURCOINCHER,
    TRUMP,
    TURN,
    VALUE,
    bid_of_value,
    first_seat,
    next_seat,
    played_card,
)


@compiled
def start_auction(state):
    state[PHASE] = BIDDING
    state[TURN] = first_seat(state)


@compiled
def legal_calls(state, out):
    """Writes the legal calls as ascending actions; returns how many there are. Passing is always one of them."""
    out[0] = PASS
    n = 1
    own_contract = (state[TURN] ^ state[DECLARER]) & 1 == 0
    if state[COINCHER] != NONE:  # the contract is frozen
        if own_contract:
            out[n] = SURCOINCHE
            n += 1
        return n
    for value in range(state[VALUE] + 1, state[NUM_VALUES]):
        for suit in range(state[SUITS]):
            out[n] = FIRST_BID + NUM_SUITS * value + suit
            n += 1
    if state[CAPOT_VALUE] > 0 and state[VALUE] != CAPOT:
        for suit in range(state[SUITS]):
            out[n] = FIRST_BID + NUM_SUITS * CAPOT + suit
            n += 1
    if state[COINCHE_ALLOWED] and state[VALUE] != NONE and not own_contract:
        out[n] = COINCHE
        n += 1
    return n


@compiled
def apply_call(state, action):
    seat = state[TURN]
    state[TURN] = next_seat(state, seat)
    if action == PASS:
        state[PASSES] += 1
        if state[VALUE] == NONE:
            if state[PASSES] == state[PLAYERS]:
                state[PHASE] = OVER  # nobody wants to play: the deal is void
        elif state[PASSES] == state[PLAYERS] - 1:
            start_play(state)
        return
    state[PASSES] = 0
    if action < COINCHE:
        value = (action - FIRST_BID) // NUM_SUITS
        suit = (action - FIRST_BID) % NUM_SUITS
        state[BIDS] |= (1 + 4 * seat + suit) << (5 * value)
        state[VALUE] = value
        state[TRUMP] = suit
        state[DECLARER] = seat
    elif action == COINCHE:
        state[COINCHER] = seat
    else:
        state[SURCOINCHER] = seat
        start_play(state)


@compiled
def list_calls(state, out):
    """Writes all calls of the auction so far, passes included, as actions; returns how many.

    Values rise, so the callers of the values in order, and the turn order, say it all.
    """
    seat = first_seat(state)
    n = 0
    for value in range(MAX_VALUES + 1):
        bid = bid_of_value(state, value)
        if bid:
            n = _pass_until(state, seat, (bid - 1) >> 2, out, n)
            out[n] = FIRST_BID + NUM_SUITS * value + ((bid - 1) & 3)
            n += 1
            seat = next_seat(state, (bid - 1) >> 2)
    for caller, call in ((state[COINCHER], COINCHE), (state[SURCOINCHER], SURCOINCHE)):
        if caller != NONE:
            n = _pass_until(state, seat, caller, out, n)
            out[n] = call
            n += 1
            seat = next_seat(state, caller)
    for _ in range(state[PASSES]):
        out[n] = PASS
        n += 1
    return n


@compiled
def moves(state, out):
    """All calls and cards since the deal, in order; returns how many."""
    n = list_calls(state, out)
    for index in range(state[CARDS_PLAYED]):
        out[n + index] = played_card(state, index)
    return n + state[CARDS_PLAYED]


@compiled
def _pass_until(state, seat, caller, out, n):
    while seat != caller:
        out[n] = PASS
        n += 1
        seat = next_seat(state, seat)
    return n
