"""How likely the calls of an auction are with imagined hands, for whoever weighs worlds by what was bid.

Nobody is told how the others bid, so each seat is one of several kinds all the time, whichever it is: the fast bidder
(`calls`), or one of the literature's players.

    likelihood of a seat = sum over kinds k of  prior_k * prod over its calls c of  p_k(c)
    p_k(c) = NOISE / (number of legal calls) + (1 - NOISE) * (the chance that kind k calls c)

Nothing is ever impossible. What does not depend on the hands is prepared once for an auction:

    auction = new_auction(state_size)
    calls = prepare(state, numbers_for(state), *auction)             # once
    seat_likelihood(hand, seat, calls, *auction, numbers, values)    # for each imagined hand, about half a microsecond
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.auction import apply_call, legal_calls, list_calls
from coinche_spiel.bidding.calls import made_call_chance
from coinche_spiel.bidding.contexts import CALL, CALLER, CHOICES, CONTEXT_SIZE, before_the_auction, write_context
from coinche_spiel.observation import LONGEST_AUCTION
from coinche_spiel.players import simple_call, strong_call
from coinche_spiel.state import HAND, NUM_ACTIONS

NOISE = 0.05
BIDDER, STRONG, SIMPLE = 0.6, 0.25, 0.15  # how common each kind is


def new_auction(state_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for the contexts and the positions of an auction."""
    return np.empty((LONGEST_AUCTION, CONTEXT_SIZE)), np.empty((LONGEST_AUCTION, state_size), np.int64)


@compiled
def prepare(state, numbers, contexts, positions):
    """Writes context and position before every call of the auction so far; returns how many there are."""
    calls = np.empty(LONGEST_AUCTION, np.int64)
    legal = np.empty(NUM_ACTIONS, np.int64)
    position = np.empty_like(state)
    before_the_auction(state, position)
    n = list_calls(state, calls)
    for index in range(n):
        positions[index] = position
        write_context(position, numbers, contexts[index])
        contexts[index, CALL] = calls[index]
        contexts[index, CHOICES] = legal_calls(position, legal)
        apply_call(position, calls[index])
    return n


@compiled
def kind_likelihoods(hand, seat, calls, contexts, positions, numbers, values):
    """For each kind (bidder, strong, simple): its prior times the likelihood of all calls of a seat with this hand.

    `values` is room for `calls.VALUES_SIZE` numbers.
    """
    as_bidder = BIDDER
    as_strong = STRONG
    as_simple = SIMPLE
    for index in range(calls):
        context = contexts[index]
        if context[CALLER] != seat or context[CHOICES] < 2.0:
            continue
        even = NOISE / context[CHOICES]
        position = positions[index]
        position[HAND + seat] = hand  # nothing else of the position depends on the cards
        as_bidder *= even + (1.0 - NOISE) * made_call_chance(hand, context, numbers, values)
        called = np.int64(context[CALL])
        as_strong *= even + (1.0 - NOISE if strong_call(position, False) == called else 0.0)
        as_simple *= even + (1.0 - NOISE if simple_call(position, False) == called else 0.0)
    return as_bidder, as_strong, as_simple


@compiled
def seat_likelihood(hand, seat, calls, contexts, positions, numbers, values):
    """The likelihood of all calls of a seat, if it was dealt this hand, whoever sits there."""
    as_bidder, as_strong, as_simple = kind_likelihoods(hand, seat, calls, contexts, positions, numbers, values)
    return as_bidder + as_strong + as_simple
