"""Suits are interchangeable in the whole of Coinche: cards, calls that name a suit, and trumps are renamed together."""

from __future__ import annotations

from cardtable import deck
from cardtable.compiled import compiled
from cardtable.rules import Symmetry
from coinche_spiel.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, ONE_SUIT
from coinche_spiel.state import (
    ABSENT,
    BEATING,
    BIDS,
    CARDS_PER_WORD,
    CARDS_PLAYED,
    COINCHE,
    DEALING,
    FIRST_BID,
    HAND,
    HISTORY,
    LED,
    MAX_PLAYERS,
    MAX_VALUES,
    NONE,
    PHASE,
    STATE_SIZE,
    SUITS,
    TRUMP,
    TRUMPS,
    bid_of_value,
    played_card,
)

CARDS_PER_SIGNATURE_WORD = 15  # four bits each
SIGNATURE_WORDS = 1 + -(-NUM_CARDS // CARDS_PER_SIGNATURE_WORD)


@compiled
def num_suits(state):
    return state[SUITS]


@compiled
def suit_cards(state, suit):
    return state[deck.DECK_CARDS] & ONE_SUIT << NUM_RANKS * suit


@compiled
def rename(state, new_suit, out):
    """The same position with suit s called new_suit[s]. Before the deal is complete there is nothing to rename."""
    out[:] = state
    if state[PHASE] == DEALING:
        return
    for pile in range(state[deck.NUM_PILES]):
        out[deck.DEALT + pile] = _rename_cards(state[deck.DEALT + pile], state[SUITS], new_suit)
    for seat in range(MAX_PLAYERS):
        out[HAND + seat] = _rename_cards(state[HAND + seat], state[SUITS], new_suit)
        out[ABSENT + seat] = _rename_cards(state[ABSENT + seat], state[SUITS], new_suit)
    for slot in (TRUMPS, LED, BEATING):
        out[slot] = _rename_cards(state[slot], state[SUITS], new_suit)
    if state[TRUMP] != NONE:
        out[TRUMP] = new_suit[state[TRUMP]]
    out[BIDS] = 0
    for value in range(MAX_VALUES + 1):
        bid = bid_of_value(state, value)
        if bid:
            suit = (bid - 1) & 3
            out[BIDS] |= (bid + new_suit[suit] - suit) << 5 * value
    for slot in range(HISTORY, STATE_SIZE):
        out[slot] = 0
    for index in range(state[CARDS_PLAYED]):
        card = _rename_card(played_card(state, index), new_suit)
        out[HISTORY + index // CARDS_PER_WORD] |= card << 5 * (index % CARDS_PER_WORD)


@compiled
def rename_action(state, action, new_suit):
    if action < NUM_CARDS:
        return _rename_card(action, new_suit)
    if FIRST_BID <= action < COINCHE:
        suit = (action - FIRST_BID) % NUM_SUITS
        return action + new_suit[suit] - suit
    return action


@compiled
def signatures(state, player, hand, history, out):
    """Word 0: the ranks of the suit in the hand, and the values bid in it. Words 1 to 3: for each card played, 0 if it
    was of another suit, else its rank + 1."""
    for suit in range(state[SUITS]):
        for word in range(SIGNATURE_WORDS):
            out[suit, word] = 0
        if hand:
            out[suit, 0] = state[HAND + player] >> NUM_RANKS * suit & ONE_SUIT
    if history:
        for value in range(MAX_VALUES + 1):
            bid = bid_of_value(state, value)
            if bid:
                out[(bid - 1) & 3, 0] |= 1 << NUM_RANKS + value
        for index in range(state[CARDS_PLAYED]):
            card = played_card(state, index)
            word = 1 + index // CARDS_PER_SIGNATURE_WORD
            out[card // NUM_RANKS, word] |= (card % NUM_RANKS + 1) << 4 * (index % CARDS_PER_SIGNATURE_WORD)


@compiled
def _rename_card(card, new_suit):
    suit = card // NUM_RANKS
    return card + NUM_RANKS * (new_suit[suit] - suit)


@compiled
def _rename_cards(cards, suits, new_suit):
    renamed = 0
    for suit in range(suits):
        renamed |= (cards >> NUM_RANKS * suit & ONE_SUIT) << NUM_RANKS * new_suit[suit]
    return renamed


SYMMETRY = Symmetry(num_suits, suit_cards, rename, rename_action, signatures, SIGNATURE_WORDS)
