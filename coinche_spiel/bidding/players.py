"""The fast bidder as a player: learnt calls, and the cards of `strong`."""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.calls import best_call
from coinche_spiel.bidding.contexts import CONTEXT_SIZE, write_context
from coinche_spiel.bidding.shipped import numbers_for, numbers_for_plain_cards
from coinche_spiel.players import strong_card
from coinche_spiel.state import BIDDING, HAND, PHASE, TURN


@compiled
def bidder_call(state):
    """The call of the fast bidder for the seat to move, for those who search for their cards."""
    return _call(state, numbers_for(state))


@compiled
def _call(state, numbers):
    context = np.empty(CONTEXT_SIZE)
    write_context(state, numbers, context)
    return best_call(state[HAND + state[TURN]], context, numbers)


@compiled
def bidder_player(state, generator):
    if state[PHASE] == BIDDING:
        return _call(state, numbers_for_plain_cards())
    return strong_card(state)


@compiled
def caller_player(state, generator):
    """As `bidder_player`, with the numbers for searched cards: for whoever takes the calls only."""
    if state[PHASE] == BIDDING:
        return bidder_call(state)
    return strong_card(state)
