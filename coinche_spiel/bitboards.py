"""Card sets arranged for fast play: the *board* order, and the rules of a trick on it.

Once trump is known, a card set is rearranged so that comparing cards means comparing integers. A board has four bytes:

* byte 3 (bits 24 to 31) holds the trumps, weakest first: 7 8 Q K 10 A 9 J;
* bytes 0 to 2 hold the other three suits in their usual order, each with its 7 in the lowest bit and its ace on top.

A card on a board is the one-bit set `1 << position`. Of the cards that can win a trick (those of the led suit and the
trumps) the higher integer wins, and the trumps that beat a card are always `stronger_trumps(card)`, be that card a
trump or not. The rule that says which cards are legal is that of the game, `coinche_spiel.play.playable`, which
compares sets only and so serves boards as well.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, ONE_SUIT, PLAIN_POINTS, TRUMP_ORDER, TRUMP_POINTS
from coinche_spiel.play import playable

TRUMP_BYTE = NUM_SUITS - 1
TRUMPS = ONE_SUIT << (NUM_RANKS * TRUMP_BYTE)
SUITS = tuple(ONE_SUIT << (NUM_RANKS * byte) for byte in range(NUM_SUITS))


def _trump_byte_tables() -> tuple[np.ndarray, np.ndarray]:
    """For every set of ranks of the trump suit, the same set by strength; and the other way round."""
    by_strength = np.zeros(1 << NUM_RANKS, np.int64)
    by_rank = np.zeros(1 << NUM_RANKS, np.int64)
    for ranks in range(1 << NUM_RANKS):
        for strength, rank in enumerate(TRUMP_ORDER):
            if ranks >> rank & 1:
                by_strength[ranks] |= 1 << strength
            if ranks >> strength & 1:
                by_rank[ranks] |= 1 << rank
    return by_strength, by_rank


_BY_STRENGTH, _BY_RANK = _trump_byte_tables()

# POSITION_POINTS[p]: what the card at position p of a board is worth.
POSITION_POINTS = np.array([*PLAIN_POINTS * TRUMP_BYTE, *(TRUMP_POINTS[rank] for rank in TRUMP_ORDER)], np.int64)

# BYTE_POINTS[byte * 256 + set]: what a set within one byte of a board is worth.
BYTE_POINTS = np.array(
    [
        sum(int(POSITION_POINTS[NUM_RANKS * byte + bit]) for bit in range(NUM_RANKS) if cards >> bit & 1)
        for byte in range(NUM_SUITS)
        for cards in range(1 << NUM_RANKS)
    ],
    np.int64,
)


@compiled
def to_board(cards, trump):
    """The board of a card set (ids are suit * 8 + rank) when `trump` is the trump suit."""
    shift = NUM_RANKS * trump
    below = cards & ((1 << shift) - 1)
    above = cards >> (shift + NUM_RANKS)
    return below | (above << shift) | (_BY_STRENGTH[(cards >> shift) & ONE_SUIT] << (NUM_RANKS * TRUMP_BYTE))


@compiled
def from_board(board, trump):
    """The card set of a board: the inverse of `to_board`."""
    shift = NUM_RANKS * trump
    plain = board & (TRUMPS ^ ((1 << NUM_CARDS) - 1))
    below = plain & ((1 << shift) - 1)
    above = plain >> shift
    return below | (above << (shift + NUM_RANKS)) | (_BY_RANK[board >> (NUM_RANKS * TRUMP_BYTE)] << shift)


@compiled
def board_points(board):
    """What the cards of a board are worth."""
    return (
        BYTE_POINTS[board & 255]
        + BYTE_POINTS[256 + ((board >> 8) & 255)]
        + BYTE_POINTS[512 + ((board >> 16) & 255)]
        + BYTE_POINTS[768 + ((board >> 24) & 255)]
    )


@compiled
def suit_at(position):
    """All cards of the suit of the card at this position."""
    return ONE_SUIT << (position & 24)


@compiled
def stronger_trumps(best):
    """The trumps that beat the card `best`: the higher trumps if it is a trump, all trumps if it is not."""
    return TRUMPS & -(best << 1)


@compiled
def takes_trick(card, best, led):
    """Whether `card` beats `best`, the card that holds the trick; `led` is all cards of the led suit."""
    return card & (led | TRUMPS) > best


@compiled
def legal_cards(hand, led, best, partner_holds):
    """The cards of `hand` that may be played by the federation's rules, as boards.

    `led` is all cards of the led suit and `best` the card that holds the trick, both 0 for the leader of the trick;
    `partner_holds` says whether the player's partner played `best`.
    """
    return playable(hand, led, TRUMPS, stronger_trumps(best), partner_holds, False, False)
