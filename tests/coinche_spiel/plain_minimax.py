"""Minimax of the open play without any cleverness: no bounds, no pruning, every card of every hand.

Written from the rules on its own representation (a card is suit * 8 + rank, tricks are compared card by card), so that
it can be a judge of the double-dummy solver. Compiled only because it would otherwise take hours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
from numba import types
from numba.typed import Dict

PLAIN_POINTS = np.array([0, 0, 0, 2, 3, 4, 10, 11])
TRUMP_POINTS = np.array([0, 0, 14, 20, 3, 4, 10, 11])
TRUMP_PLACE = np.array([0, 1, 6, 7, 2, 3, 4, 5])  # 7 8 Q K 10 A 9 J
SWEEP = 90
DEFAULT_RULES = (False, False, 10)  # pisser=forced, under_partner=no_under, the last trick's points


@numba.njit
def worth(card, trump):
    return TRUMP_POINTS[card % 8] if card // 8 == trump else PLAIN_POINTS[card % 8]


@numba.njit
def beats(card, other, trump):
    """Whether `card`, played after `other` held the trick, takes it."""
    if card // 8 == other // 8:
        if card // 8 == trump:
            return TRUMP_PLACE[card % 8] > TRUMP_PLACE[other % 8]
        return card % 8 > other % 8
    return card // 8 == trump


@numba.njit
def holder(trick, played, trump):
    """Which of the cards played so far holds the trick."""
    best = 0
    for i in range(1, played):
        if beats(trick[i], trick[best], trump):
            best = i
    return best


@numba.njit
def legal_cards(hand, trick, played, trump, forced=False, no_under=False):
    """The legal cards of a hand as a set."""
    if played == 0:
        return hand
    led = trick[0] // 8
    best = holder(trick, played, trump)
    following = trumps = higher = 0
    for card in range(32):
        if hand >> card & 1:
            if card // 8 == led:
                following |= 1 << card
            if card // 8 == trump:
                trumps |= 1 << card
                if beats(card, trick[best], trump):
                    higher |= 1 << card
    if following:
        return higher if led == trump and higher else following
    partner_holds = (played - best) % 2 == 0
    if trumps == 0:
        return hand
    if partner_holds:
        return hand & ~trumps | higher if no_under and higher else hand
    if higher == 0:
        return trumps if forced else hand
    return higher


@numba.njit  # compiled when it is called first, not in every process that only collects tests
def minimax(hands, tricks, number, played, leader, trump, cards_left, north_south_tricks, bonus, only, known, rules):
    """Points of North and South from here on; `bonus` is added or taken for taking all tricks.

    `only` is the one card to play now, or -1 for the best one. `known` remembers values of positions between tricks.
    """
    if cards_left == 0:
        if north_south_tricks == 0:
            return -bonus
        return bonus if north_south_tricks == number else 0
    key = hands[0] | hands[1] | hands[2] | hands[3] | leader << 32
    key |= (north_south_tricks > 0) << 34 | (north_south_tricks < number) << 35
    if played == 0 and only < 0 and key in known:
        return known[key]
    seat = (leader + played) % 4
    best = -10000 if seat % 2 == 0 else 10000
    legal = legal_cards(hands[seat], tricks[number], played, trump, rules[0], rules[1])
    for card in range(32):
        if not legal >> card & 1 or (only >= 0 and card != only):
            continue
        hands[seat] ^= 1 << card
        tricks[number, played] = card
        if played < 3:
            value = minimax(
                *(hands, tricks, number, np.int64(played + 1), leader, trump, np.int64(cards_left - 1)),
                *(north_south_tricks, bonus, np.int64(-1), known, rules),
            )
        else:
            winner = np.int64((leader + holder(tricks[number], 4, trump)) % 4)
            points = rules[2] if cards_left == 1 else 0
            for i in range(4):
                points += worth(tricks[number, i], trump)
            taken = 1 - winner % 2
            value = points * taken + minimax(
                *(hands, tricks, np.int64(number + 1), np.int64(0), winner, trump, np.int64(cards_left - 1)),
                *(np.int64(north_south_tricks + taken), bonus, np.int64(-1), known, rules),
            )
        hands[seat] ^= 1 << card
        best = max(best, value) if seat % 2 == 0 else min(best, value)
    if played == 0 and only < 0:
        known[key] = best
    return best


def card_values(
    hands: Sequence[Sequence[int]],
    trump: int,
    leader: int,
    trick: Sequence[int] = (),
    bonus: int = 0,
    rules: tuple[bool, bool, int] = DEFAULT_RULES,
) -> dict[int, int]:
    """{card: points of North and South} for all legal cards; hands are lists of cards."""
    sets = np.array([sum(1 << card for card in hand) for hand in hands], np.int64)
    tricks = np.zeros((10, 4), np.int64)
    tricks[0, : len(trick)] = trick
    seat = (leader + len(trick)) % 4
    left = sum(map(len, hands))
    legal = legal_cards(sets[seat], tricks[0], len(trick), trump, rules[0], rules[1])
    known = Dict.empty(types.int64, types.int64)
    return {
        card: max(0, minimax(sets, tricks, 0, len(trick), leader, trump, left, 0, bonus, card, known, rules))
        for card in hands[seat]
        if legal >> card & 1
    }
