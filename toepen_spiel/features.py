"""What a network is told of a position of Toepen, from the chair of the player to move.

Suits come in an order of their own: the suit led first, then those of which the player holds most; where that does not
decide, what was played of a suit does, so that suits with other names give the same numbers. Ranks keep their numbers,
from the weakest, in decks of any size. An action is its card or what is said, and what the card does.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Features
from cardtable.tricks import write_cards
from toepen_spiel.state import (
    ANSWERING,
    ANTE,
    CALLED,
    CARDS_PLAYED,
    DECIDING,
    HAND,
    HAND_SIZE,
    LAST_BETTOR,
    LED_CARD,
    MAX_RANKS,
    MAX_SUITS,
    NO_CARD,
    NOBODY,
    NUM_BETTING_ACTIONS,
    PHASE,
    RANKS,
    SUITS,
    TURN,
    VOID,
    history_entry,
)

NUM_CARDS = MAX_SUITS * MAX_RANKS
MOST_TRICKS = NUM_CARDS // 2

# The context.
OWN = 0
UNSEEN = OWN + NUM_CARDS  # with the other player, or not dealt
PLAYED = UNSEEN + NUM_CARDS  # by the player, and by the other one
LED = PLAYED + 2 * NUM_CARDS
VOIDS = LED + NUM_CARDS  # of the other player
TRICKS_LEFT = VOIDS + MAX_SUITS  # cards that the player still has to play
PHASES = TRICKS_LEFT + MOST_TRICKS + 1
BETTOR = PHASES + 3  # who bet last: the player, the other one
STAKE = BETTOR + 2
MY_TURN = STAKE + 1
IS_CALLED = MY_TURN + 1
CONTEXT_SIZE = IS_CALLED + 1

# An action: the card, or what is said, then what the card does.
SAID = NUM_CARDS
DETAILS = SAID + NUM_BETTING_ACTIONS
NUM_DETAILS = 7
ACTION_SIZE = DETAILS + NUM_DETAILS


@compiled
def _player(state):
    return 1 - state[TURN] if state[PHASE] == ANSWERING else state[TURN]


@compiled
def _suit(state, suit):
    return bits.suit_cards(suit, state[RANKS])


@compiled
def _played(state, player):
    """What the player has played, and what the other one has."""
    found = np.zeros(2, np.int64)
    for index in range(state[CARDS_PLAYED]):
        card, _, seat = history_entry(state, index)
        found[0 if seat == player else 1] |= 1 << card
    return found


@compiled
def _suit_places(state, player, played):
    """place[s]: where suit s stands in the player's own order."""
    key = np.zeros(MAX_SUITS, np.int64)
    ranks = state[RANKS]
    mask = (1 << ranks) - 1
    for suit in range(state[SUITS]):
        shift = suit * ranks
        own = state[HAND + player] >> shift & mask
        led = 1 if state[LED_CARD] != NO_CARD and state[LED_CARD] // ranks == suit else 0
        void = 1 if state[VOID + 1 - player] >> shift & 1 else 0
        known = (led << 4 | bits.count(own)) << MAX_RANKS | own
        known = (known << MAX_RANKS | (played[0] >> shift & mask)) << MAX_RANKS | (played[1] >> shift & mask)
        key[suit] = known << 1 | void
    place = np.zeros(MAX_SUITS, np.int64)
    for suit in range(state[SUITS]):
        for other in range(state[SUITS]):
            if key[other] > key[suit] or (key[other] == key[suit] and other < suit):
                place[suit] += 1
    return place


@compiled
def _renamed(state, cards, place):
    """A card set under the player's own names of the suits, eight cards to each."""
    found, ranks = 0, state[RANKS]
    for suit in range(state[SUITS]):
        found |= (cards >> suit * ranks & ((1 << ranks) - 1)) << place[suit] * MAX_RANKS
    return found


@compiled
def context(state, out):
    player = _player(state)
    played = _played(state, player)
    place = _suit_places(state, player, played)
    hand = state[HAND + player]
    unseen = state[deck.DECK_CARDS] & ~(hand | played[0] | played[1])
    write_cards(_renamed(state, hand, place), OWN, out)
    write_cards(_renamed(state, unseen, place), UNSEEN, out)
    for which in range(2):
        write_cards(_renamed(state, played[which], place), PLAYED + which * NUM_CARDS, out)
    if state[LED_CARD] != NO_CARD:
        write_cards(_renamed(state, 1 << state[LED_CARD], place), LED, out)
    for suit in range(state[SUITS]):
        if state[VOID + 1 - player] & _suit(state, suit):
            out[VOIDS + place[suit]] = 1.0
    out[TRICKS_LEFT + bits.count(hand)] = 1.0
    out[PHASES + (0 if state[PHASE] == DECIDING else 1 if state[PHASE] == ANSWERING else 2)] = 1.0
    if state[LAST_BETTOR] != NOBODY:
        out[BETTOR + (0 if state[LAST_BETTOR] == player else 1)] = 1.0
    out[STAKE] = state[ANTE] / (1 + state[HAND_SIZE])
    out[MY_TURN] = 1.0 if state[TURN] == player else 0.0
    out[IS_CALLED] = state[CALLED] * 1.0


@compiled
def actions(state, choices, count, out):
    player = _player(state)
    played = _played(state, player)
    place = _suit_places(state, player, played)
    hand = state[HAND + player]
    unseen = state[deck.DECK_CARDS] & ~(hand | played[0] | played[1])
    ranks, led = state[RANKS], state[LED_CARD]
    for index in range(count):
        card, row = choices[index], out[index]
        if card >= state[deck.DECK_SIZE]:
            row[SAID + card - state[deck.DECK_SIZE]] = 1.0
            continue
        suit = _suit(state, card // ranks)
        higher = suit & ~((2 << card) - 1)
        lower = suit & ((1 << card) - 1)
        row[bits.lowest(_renamed(state, 1 << card, place))] = 1.0
        row[DETAILS] = 1.0 if led == NO_CARD else 0.0
        row[DETAILS + 1] = 1.0 if led != NO_CARD and suit & (1 << led) and card > led else 0.0
        row[DETAILS + 2] = 1.0 if unseen & higher == 0 else 0.0
        row[DETAILS + 3] = bits.count(unseen & higher) / MAX_RANKS
        row[DETAILS + 4] = bits.count(unseen & lower) / MAX_RANKS
        row[DETAILS + 5] = bits.count(hand & suit) / MAX_RANKS
        row[DETAILS + 6] = 1.0 if state[VOID + 1 - player] & suit else 0.0


FEATURES = Features(CONTEXT_SIZE, ACTION_SIZE, context, actions)
