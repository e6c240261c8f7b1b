"""Where a state of Gongzhu keeps what, and how its numbers read.

Card ids are suit * ranks + rank with suits spades, hearts, diamonds, clubs and rank 0 the lowest, so inside a suit the
higher id wins. A smaller deck has fewer suits (the first ones) and fewer ranks (the highest ones); the scored cards
that are left keep their worth.
"""

from __future__ import annotations

import numpy as np

from cardtable import deck, tricks
from cardtable.compiled import compiled
from cardtable.rules import CHANCE, TERMINAL

MAX_SUITS = 4
MAX_RANKS = 13
FULL_DECK = MAX_SUITS * MAX_RANKS
SPADES, HEARTS, DIAMONDS, CLUBS = range(MAX_SUITS)
TEAMS = ((0, 2), (1, 3))
NO_TRUMPS = 0

# Slots of the state behind the dealing block: first the variant, then the position.
SUITS = deck.BLOCK_SIZE
RANKS = SUITS + 1
HEART_CARDS = SUITS + 2  # the four kinds of scored cards, as card sets; empty if the deck does not have them
PIG = SUITS + 3  # the queen of spades
SHEEP = SUITS + 4  # the jack of diamonds
TRANSFORMER = SUITS + 5  # the ten of clubs
TAKEN = SUITS + 6  # TAKEN + s: the cards of the tricks seat s has won
TABLE = SUITS + 10  # the cards of the present trick
TRICKS = SUITS + 11  # the trick block
TURN = TRICKS + tricks.TURN
LED_SUIT = TRICKS + tricks.LED_SUIT
BEST_CARD = TRICKS + tricks.BEST_CARD
BEST_SEAT = TRICKS + tricks.BEST_SEAT
CARDS_PLAYED = TRICKS + tricks.CARDS_PLAYED
HAND = TRICKS + tricks.HAND
VOID = TRICKS + tricks.VOID
HISTORY = TRICKS + tricks.HISTORY

# Ranks of a full suit, two lowest.
TEN, JACK, QUEEN, KING, ACE = 8, 9, 10, 11, 12
PIG_POINTS = -100
SHEEP_POINTS = 100
LONE_TRANSFORMER_POINTS = 50
# A heart costs ten points for each of these sets it belongs to: 5 and up, J and up, Q and up, K and up, the ace.
HEARTS_FROM_5 = 0b1111111111000
HEARTS_FROM_J = 0b1111000000000
HEARTS_FROM_Q = 0b1110000000000
HEARTS_FROM_K = 0b1100000000000
HEARTS_FROM_A = 0b1000000000000


def scored_cards(state: np.ndarray) -> list[int]:
    """The ids of the scored cards of the deck: hearts from low to high, then pig, sheep, transformer."""
    special = [int(state[slot]) for slot in (PIG, SHEEP, TRANSFORMER)]
    hearts = int(state[HEART_CARDS])
    return [card for card in range(hearts.bit_length()) if hearts >> card & 1] + [
        card.bit_length() - 1 for card in special if card
    ]


@compiled
def require_full_deck(state):
    """For functions that know the cards of the full deck by number."""
    if state[deck.DECK_SIZE] != FULL_DECK:
        raise ValueError("this works with the full deck of 52 cards only")


@compiled
def current_player(state):
    if state[CARDS_PLAYED] == state[deck.DECK_SIZE]:
        return TERMINAL
    return state[TURN] if deck.is_dealt(state) else CHANCE


@compiled
def moves(state, out):
    """All cards played so far, in order; returns how many."""
    return tricks.moves(state, TRICKS, out)
