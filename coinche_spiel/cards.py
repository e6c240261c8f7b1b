"""The cards of Coinche: 32 cards, `card = suit * 8 + rank`, their strengths and their points.

Card sets are integers with bit `card` set (`cardtable.bits`). Seats are 0 North, 1 East, 2 South, 3 West; partners sit
opposite each other, so the team of a seat is `seat % 2`.
"""

from __future__ import annotations

from cardtable.parameters import refusal

NUM_SUITS = 4
NUM_RANKS = 8
NUM_CARDS = NUM_SUITS * NUM_RANKS
ALL_CARDS = (1 << NUM_CARDS) - 1
ONE_SUIT = (1 << NUM_RANKS) - 1  # the cards of suit 0; shift by 8 * suit for the others

SPADES, HEARTS, CLUBS, DIAMONDS = range(NUM_SUITS)
SEVEN, EIGHT, NINE, JACK, QUEEN, KING, TEN, ACE = range(NUM_RANKS)

SUIT_NAMES = ("♠", "♥", "♣", "♦")
SUIT_LETTERS = "SHCD"
RANK_NAMES = ("7", "8", "9", "J", "Q", "K", "10", "A")
RANK_LETTERS = "789JQKTA"
SEAT_NAMES = ("N", "E", "S", "W")

# Strength of a rank within its suit, 0 the weakest: the rank itself in a plain suit, J > 9 > A > 10 > ... in trumps.
PLAIN_STRENGTH = (0, 1, 2, 3, 4, 5, 6, 7)
TRUMP_STRENGTH = (0, 1, 6, 7, 2, 3, 4, 5)

# The ranks from the weakest to the strongest.
PLAIN_ORDER = (SEVEN, EIGHT, NINE, JACK, QUEEN, KING, TEN, ACE)
TRUMP_ORDER = (SEVEN, EIGHT, QUEEN, KING, TEN, ACE, NINE, JACK)

PLAIN_POINTS = (0, 0, 0, 2, 3, 4, 10, 11)  # 30 in a suit
TRUMP_POINTS = (0, 0, 14, 20, 3, 4, 10, 11)  # 62
DER_POINTS = 10  # the last trick
TOTAL_POINTS = 162  # 62 + 3 * 30 + 10

# STRONGER_TRUMPS[rank]: the ranks (as a set within one suit) that beat this rank when both are trumps.
STRONGER_TRUMPS = tuple(
    sum(1 << other for other in range(NUM_RANKS) if TRUMP_STRENGTH[other] > TRUMP_STRENGTH[rank])
    for rank in range(NUM_RANKS)
)


def card_of(suit: int, rank: int) -> int:
    return suit * NUM_RANKS + rank


def card_name(card: int) -> str:
    """Such as `10♥`."""
    suit, rank = divmod(card, NUM_RANKS)
    return RANK_NAMES[rank] + SUIT_NAMES[suit]


def parse_card(text: str) -> int:
    """A card written as `10♥`, `T♥`, `10H` or `th`; raises UserError for anything else."""
    cleaned = text.strip().upper().replace("10", "T")
    if len(cleaned) == 2:
        suit = SUIT_LETTERS.find(cleaned[1])
        if suit < 0 and cleaned[1] in SUIT_NAMES:
            suit = SUIT_NAMES.index(cleaned[1])
        rank = RANK_LETTERS.find(cleaned[0])
        if suit >= 0 and rank >= 0:
            return card_of(suit, rank)
    raise refusal(f"{text!r} is not a card", "a rank of 7 8 9 J Q K 10 A and a suit of S H C D, such as 10H")


def parse_cards(text: str) -> int:
    """The set of the cards in a text such as `JS 9S AS 10H`; raises UserError if a card is named twice."""
    cards = 0
    for word in text.replace(",", " ").split():
        card = 1 << parse_card(word)
        if cards & card:
            raise refusal(f"{card_name(card.bit_length() - 1)} is named twice in {text!r}", "each card once")
        cards |= card
    return cards


def list_cards(cards: int) -> list[int]:
    """The ids of a card set, ascending."""
    return [card for card in range(NUM_CARDS) if cards >> card & 1]


def cards_text(cards: int) -> str:
    """The names of a card set, or `-` if it is empty."""
    return " ".join(card_name(card) for card in list_cards(cards)) or "-"
