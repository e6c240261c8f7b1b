"""Which hands the single player may be dealt, and how many there are.

A restriction is a finite automaton that reads the single player's cards in id order. Hence the number of ways to
complete a partly dealt hand,

    WAYS[card, room, q] = WAYS[card + 1, room, q] + WAYS[card + 1, room - 1, NEXT[q, card]],

(the next card goes elsewhere, or into the hand), is tabulated once in whole numbers, and dealing with a restriction
needs no rejection: every chance node weighs its outcomes by the deals they leave. All automata share one numbering of
their states; state 0 is dead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.randomness import next_word
from cego_spiel.cards import HALF_POINTS, HIGH, NUM_CARDS, NUM_PLAIN, SUIT_SIZE, TOP_TRUMPS, TRUMP_1

HAND_SIZE = 11
DEAD = 0


class Restriction(NamedTuple):
    """An automaton: where it starts, where a card takes it (None: no valid hand has this card), what it accepts."""

    start: Any
    take: Callable[[Any, int], Any]
    accepts: Callable[[Any], bool]


def _is_high(card: int) -> bool:
    return bool(HIGH >> card & 1)


def _take_of_solo(state: tuple, card: int) -> tuple:
    """Counts plain suits (up to 3), trumps (up to 8), and top trumps (up to 2); remembers the last plain suit."""
    suits, last_suit, trumps, top = state
    if card < NUM_PLAIN:
        suit = card // SUIT_SIZE
        return (suits if suit == last_suit else min(suits + 1, 3), suit, trumps, top)
    return (suits, None, min(trumps + 1, 8), min(top + (TOP_TRUMPS >> card & 1), 2))


def _take_of_ultimo(state: tuple, card: int) -> tuple | None:
    """Counts trumps (up to 8) and top trumps (up to 2); the first trump must be trump 1."""
    trumps, top = state
    if card < NUM_PLAIN:
        return state
    if trumps == 0 and card != TRUMP_1:
        return None
    return (min(trumps + 1, 8), min(top + (TOP_TRUMPS >> card & 1), 2))


RESTRICTIONS = {
    "none": Restriction(0, lambda state, card: 0, lambda state: True),
    "standard": Restriction(
        0,
        lambda halves, card: min(halves + int(HALF_POINTS[card]), 30),
        lambda halves: halves == 30,
    ),
    "solo": Restriction(
        (0, None, 0, 0),
        _take_of_solo,
        lambda state: state[2] == 8 or (state[2] == 7 and state[3] == 2 and state[0] <= 2),
    ),
    "ultimo": Restriction((0, 0), _take_of_ultimo, lambda state: state == (8, 2)),
    "trump 1": Restriction(False, lambda has_it, card: has_it or card == TRUMP_1, lambda has_it: has_it),
    "bettel": Restriction(0, lambda state, card: None if _is_high(card) else 0, lambda state: True),
    "piccolo": Restriction(
        0,
        lambda highs, card: None if highs + _is_high(card) > 1 else highs + _is_high(card),
        lambda highs: highs == 1,
    ),
}


def _tabulate() -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """The start state of each restriction, and the tables NEXT and WAYS."""
    number: dict[tuple[str, Hashable], int] = {}
    moves: dict[tuple[int, int], int] = {}
    for name, restriction in RESTRICTIONS.items():
        reached = [restriction.start]  # by cards below the present one
        number[name, restriction.start] = 1 + len(number)
        for card in range(NUM_CARDS):
            for state in tuple(reached):
                target = restriction.take(state, card)
                if target is None:
                    continue
                if (name, target) not in number:
                    number[name, target] = 1 + len(number)
                    reached.append(target)
                moves[number[name, state], card] = number[name, target]

    transitions = np.full((1 + len(number), NUM_CARDS), DEAD)
    for (source, card), target in moves.items():
        transitions[source, card] = target
    ways = np.zeros((NUM_CARDS + 1, HAND_SIZE + 1, 1 + len(number)), np.int64)
    for (name, state), index in number.items():
        ways[NUM_CARDS, 0, index] = RESTRICTIONS[name].accepts(state)
    for card in reversed(range(NUM_CARDS)):
        ways[card] = ways[card + 1]
        ways[card, 1:] += ways[card + 1, :-1][:, transitions[:, card]]
    return {name: number[name, restriction.start] for name, restriction in RESTRICTIONS.items()}, transitions, ways


START, NEXT, WAYS = _tabulate()


@compiled
def ways_to_complete(card, room, progress):
    """The number of valid hands that take `room` more cards from `card` on, with the automaton at `progress`."""
    return WAYS[card, room, progress]


@compiled
def take_card(progress, card):
    """Where the automaton goes with one more card."""
    return NEXT[progress, card]


@compiled
def draw_hand(start, first, room, generator):
    """`room` cards, none below `first`, that complete a hand: uniformly drawn by number, then found card by card."""
    number = _below(generator, WAYS[first, room, start])
    progress = start
    hand = 0
    card = first
    while room > 0:
        taken = NEXT[progress, card]
        with_card = WAYS[card + 1, room - 1, taken]
        if number < with_card:
            hand |= 1 << card
            room -= 1
            progress = taken
        else:
            number -= with_card
        card += 1
    return hand


@compiled
def is_valid(start, hand):
    """Whether a complete hand satisfies the restriction."""
    progress = start
    while hand:
        progress = NEXT[progress, bits.lowest(hand)]
        hand &= hand - 1
    return WAYS[NUM_CARDS, 0, progress] == 1


@compiled
def _below(generator, n):
    """A whole number from 0 to n - 1, exactly uniform, for n up to 2**61."""
    limit = (1 << 62) // n * n
    number = np.int64(next_word(generator) >> np.uint64(2))
    while number >= limit:
        number = np.int64(next_word(generator) >> np.uint64(2))
    return number % n
