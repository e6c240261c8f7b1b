"""The Cego deck: 54 cards, four plain suits of eight and 22 trumps.

    0-7 clubs, 8-15 spades, 16-23 hearts, 24-31 diamonds   eight cards each, weakest first
    32-53 trumps: trump 1 ("Geiß") to trump 21, then the Gstieß, the highest

Inside a suit the higher id wins. Points are counted in halves, so that they are whole numbers.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled

NUM_CARDS = 54
NUM_PLAIN = 32
SUIT_SIZE = 8
NUM_SUITS = 5  # four plain suits and the trumps

ALL_CARDS = (1 << NUM_CARDS) - 1
PLAIN = (1 << NUM_PLAIN) - 1
TRUMPS = ALL_CARDS ^ PLAIN
TRUMP_1 = 32
TOP_TRUMPS = 0b111111 << 48  # trumps 17 to 21 and the Gstieß

# Low cards of Bettel and Piccolo: everything below the queen in plain suits, and trumps 1 to 6.
LOW = sum(1 << card for card in range(NUM_PLAIN) if card % SUIT_SIZE <= 5) | 0b111111 << TRUMP_1
HIGH = ALL_CARDS ^ LOW

_FACES = {4: 3, 5: 5, 6: 7, 7: 9}  # jack 1.5, cavalier 2.5, queen 3.5, king 4.5
HALF_POINTS = np.array(
    [_FACES.get(card % SUIT_SIZE, 1) for card in range(NUM_PLAIN)]
    + [9 if card in (TRUMP_1, 52, 53) else 1 for card in range(NUM_PLAIN, NUM_CARDS)]
)
TOTAL_HALF_POINTS = int(HALF_POINTS.sum())

SUIT_NAMES = "♣♠♥♦"
_BLACK_NAMES = ("7", "8", "9", "10", "J", "C", "Q", "K")
_RED_NAMES = ("4", "3", "2", "1", "J", "C", "Q", "K")


def card_name(card: int) -> str:
    """Names such as `K♣`, `T7` for trump 7, `Gstieß`."""
    if card >= NUM_PLAIN:
        return "Gstieß" if card == NUM_CARDS - 1 else f"T{card - NUM_PLAIN + 1}"
    suit, strength = divmod(card, SUIT_SIZE)
    return (_BLACK_NAMES if suit < 2 else _RED_NAMES)[strength] + SUIT_NAMES[suit]


@compiled
def suit_of(card):
    """The set of all cards of the same suit."""
    return TRUMPS if card >= NUM_PLAIN else bits.suit_cards(card // SUIT_SIZE, SUIT_SIZE)


@compiled
def half_points(cards):
    """The worth of a card set in half points."""
    points = 0
    while cards:
        points += HALF_POINTS[bits.lowest(cards)]
        cards &= cards - 1
    return points


@compiled
def card_at(order):
    """The card in that place of the order of the exchange: trumps over plain cards, then by strength, then by id."""
    return order if order >= NUM_PLAIN else order % 4 * SUIT_SIZE + order // 4


@compiled
def best_card(cards):
    """The highest card of a set in the strength order."""
    if cards & TRUMPS:
        return bits.highest(cards)
    order = NUM_PLAIN - 1
    while not bits.contains(cards, card_at(order)):
        order -= 1
    return card_at(order)


@compiled
def worst_card(cards):
    """The lowest card of a set in the strength order."""
    if cards & PLAIN == 0:
        return bits.lowest(cards)
    order = 0
    while not bits.contains(cards, card_at(order)):
        order += 1
    return card_at(order)
