"""The dealing block: the first slots of every game's state, and the deal itself.

The deck is dealt to *piles*: pile p is the hand of seat p; a pile behind the seats, if a game has one, holds the cards
that stay undealt (or a blind). Cards are dealt in id order: each chance node decides which pile receives the next card,
with probability (room left in the pile) / (cards left). So every deal appears exactly once and is equally likely, a
chance node has at most a handful of outcomes, and small games stay small. A card with only one pile to go to is dealt
without a chance node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.randomness import below

MAX_PILES = 5

DECK_SIZE = 0  # one above the highest card id: the number of cards, unless the ids have gaps
NUM_PILES = 1
NEXT_CARD = 2  # the card the next chance node deals; DECK_SIZE when the deal is complete
ROOM = 3  # ROOM + p: how many more cards pile p takes
DEALT = ROOM + MAX_PILES  # DEALT + p: the set of cards dealt to pile p; never changes after the deal
DECK_CARDS = DEALT + MAX_PILES  # the set of all cards; a short deck may keep the ids of the full one, with gaps
BLOCK_SIZE = DECK_CARDS + 1  # a game's own slots start here


def new_state(size: int, piles: Sequence[int], cards: int | None = None) -> np.ndarray:
    """An undealt state of `size` slots whose deck fills piles of the given sizes.

    `cards` is the deck as a card set; without it the ids are 0, 1, 2 and so on.
    """
    if len(piles) > MAX_PILES:
        raise ValueError(f"a deck is dealt to at most {MAX_PILES} piles, not {len(piles)}")
    if cards is None:
        cards = (1 << sum(piles)) - 1
    if cards.bit_count() != sum(piles):
        raise ValueError(f"the piles take {sum(piles)} cards, the deck has {cards.bit_count()}")
    state = np.zeros(size, np.int64)
    state[DECK_CARDS] = cards
    state[DECK_SIZE] = cards.bit_length()
    state[NEXT_CARD] = (cards & -cards).bit_length() - 1
    state[NUM_PILES] = len(piles)
    state[ROOM : ROOM + len(piles)] = piles
    return state


@compiled
def is_dealt(state):
    return state[NEXT_CARD] == state[DECK_SIZE]


@compiled
def deal_outcomes(state, outcomes, probabilities):
    """The piles the next card may go to, with probabilities; returns how many there are."""
    cards_left = bits.count(_undealt(state))
    n = 0
    for pile in range(state[NUM_PILES]):
        room = state[ROOM + pile]
        if room > 0:
            outcomes[n] = pile
            probabilities[n] = room / cards_left
            n += 1
    return n


@compiled
def deal_card(state, pile):
    """Deals the next card to `pile`, and cards that then have only one pile to go to; says whether the deal is done."""
    state[DEALT + pile] |= 1 << state[NEXT_CARD]
    state[ROOM + pile] -= 1
    undealt = _undealt(state)
    undealt &= undealt - 1
    state[NEXT_CARD] = bits.lowest(undealt) if undealt else state[DECK_SIZE]
    return _settle(state)


@compiled
def _settle(state):
    open_pile = -1
    for pile in range(state[NUM_PILES]):
        if state[ROOM + pile] > 0:
            if open_pile >= 0:
                return False
            open_pile = pile
    if open_pile >= 0:
        state[DEALT + open_pile] |= _undealt(state)
        state[ROOM + open_pile] = 0
    state[NEXT_CARD] = state[DECK_SIZE]
    return True


@compiled
def deal_at_random(state, generator):
    """Completes the deal in one go, uniformly: draws cards for every pile but the roomiest, which takes the rest."""
    roomiest = 0
    for pile in range(1, state[NUM_PILES]):
        if state[ROOM + pile] > state[ROOM + roomiest]:
            roomiest = pile
    first = state[NEXT_CARD]
    span = state[DECK_SIZE] - first
    undealt = _undealt(state)
    for pile in range(state[NUM_PILES]):
        if pile == roomiest:
            continue
        drawn = 0
        for _ in range(state[ROOM + pile]):
            card = 1 << (first + below(generator, span))
            while undealt & card == 0:  # taken already: draw again
                card = 1 << (first + below(generator, span))
            drawn |= card
            undealt ^= card
        _fill(state, pile, drawn)
    _fill(state, roomiest, undealt)
    state[NEXT_CARD] = state[DECK_SIZE]


@compiled
def _undealt(state):
    return (state[DECK_CARDS] >> state[NEXT_CARD]) << state[NEXT_CARD]


@compiled
def _fill(state, pile, cards):
    state[DEALT + pile] |= cards
    state[ROOM + pile] = 0


@compiled
def pile_of(state, card):
    """The pile a card was dealt to."""
    pile = 0
    while not bits.contains(state[DEALT + pile], card):
        pile += 1
    return pile


@compiled
def random_subset(cards, size, generator):
    """A uniformly random subset of the given size."""
    chosen = 0
    left = bits.count(cards)
    for _ in range(size):
        card = 1 << bits.nth(cards, below(generator, left))
        chosen |= card
        cards ^= card
        left -= 1
    return chosen
