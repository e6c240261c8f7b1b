"""The last tricks with open hands, solved exactly: what the teams get if everybody sees everything and plays best.

Alpha-beta search (Knuth and Moore, "An analysis of alpha-beta pruning", 1975) between the teams, with

* a hash table at the ends of tricks: what follows depends on the cards left, who leads, and who has taken which scored
  cards since the search began, and on nothing else;
* equivalent cards merged: of two cards of one hand with the same points and no card between them still in play, one is
  tried;
* the likely card first: one that just does not win the trick, or the worst card of a hand that cannot follow.

Scores are not sums over tricks (the transformer doubles what its owner has, all hearts turn positive), so positions are
worth what a finished game is. Four tricks take some hundred nodes. No recursion: a frame for each card played.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable import bits
from cardtable.compiled import compiled, entry_point
from cardtable.rules import INTEGER, INTEGERS, STATES
from cardtable.tricks import NUM_SEATS, beats, following
from gongzhu_spiel.knowledge import HEART_SET, SCORED_SET, scored_place
from gongzhu_spiel.rules import score
from gongzhu_spiel.state import (
    BEST_CARD,
    BEST_SEAT,
    FULL_DECK,
    HAND,
    LED_SUIT,
    MAX_RANKS,
    NO_TRUMPS,
    TABLE,
    TAKEN,
    TURN,
    require_full_deck,
)

MATRIX = types.Array(types.float64, 2, "C")
FLOATS = types.Array(types.float64, 1, "C")
MOST_CARDS = 24  # left in the four hands; more take too long

# A frame: the position, then what the search knows of it.
HANDS, CAUGHT, MOVER, LED, WINNING_CARD, WINNER, TRICK, CODE = 0, 4, 8, 9, 10, 11, 12, 13
TO_TRY, ALPHA, BETA, BEST, FIRST_ALPHA, FIRST_BETA, SLOT, TRIED = 14, 15, 16, 17, 18, 19, 20, 21
FRAME = 22
INFINITE = 10_000

TABLE_SIZE = 1 << 13
LEFT, CODE_AND_WORLD, VALUE, BOUND, ENTRY = 0, 1, 2, 3, 4
LOWER, EXACT, UPPER = 1, 2, 3


def _classes() -> np.ndarray:
    """Cards with one number have the same points: worthless ones, hearts to the four, and hearts from five to ten."""
    found = np.zeros(FULL_DECK, np.int64)
    for card in range(FULL_DECK):
        if SCORED_SET >> card & 1:
            rank = card % MAX_RANKS
            is_heart = HEART_SET >> card & 1
            found[card] = 1 if is_heart and rank < 3 else 2 if is_heart and rank < 9 else 3 + card
    return found


CLASS = _classes()


@compiled
def _distinct(cards, in_play):
    """The cards of a set without those that are as good as the next lower one; `in_play` is hands and table."""
    kept = 0
    rest = cards
    while rest:
        card = bits.lowest(rest)
        rest &= rest - 1
        first_of_suit = card // MAX_RANKS * MAX_RANKS
        lower = (in_play & (1 << card) - 1) >> first_of_suit << first_of_suit
        if lower:
            neighbour = bits.highest(lower)
            if bits.contains(cards, neighbour) and CLASS[neighbour] == CLASS[card]:
                continue
        kept |= 1 << card
    return kept


@compiled
def _likely(frames, ply, killers):
    """One of the cards to try: what was enough at this depth before; just below the winning card; or the worst."""
    cards = frames[ply, TO_TRY]
    if bits.contains(cards, killers[ply]):
        return killers[ply]
    if frames[ply, LED] == 0:
        return bits.lowest(cards)
    if cards & frames[ply, LED]:
        below = cards & (1 << frames[ply, WINNING_CARD]) - 1
        return bits.highest(below) if below else bits.lowest(cards)
    scored = cards & SCORED_SET
    if scored and (frames[ply, WINNER] - frames[ply, MOVER]) & 1:
        return bits.highest(scored)
    return bits.lowest(cards)


@compiled
def _left(frames, ply):
    return frames[ply, HANDS] | frames[ply, HANDS + 1] | frames[ply, HANDS + 2] | frames[ply, HANDS + 3]


@compiled
def _play(frames, ply, card, child):
    """The position after a card, into the frame `child`."""
    for slot in range(CODE + 1):
        frames[child, slot] = frames[ply, slot]
    mover = frames[ply, MOVER]
    frames[child, HANDS + mover] ^= 1 << card
    trick = frames[ply, TRICK] | 1 << card
    frames[child, TRICK] = trick
    led = frames[ply, LED]
    if led == 0 or beats(card, frames[ply, WINNING_CARD], led, NO_TRUMPS):
        frames[child, WINNING_CARD] = card
        frames[child, WINNER] = mover
    if led == 0:
        frames[child, LED] = bits.suit_cards(card // MAX_RANKS, MAX_RANKS)
    if bits.count(trick) < NUM_SEATS:
        frames[child, MOVER] = (mover + 1) & 3
        return
    winner = frames[child, WINNER]
    scored = trick & SCORED_SET
    frames[child, CAUGHT + winner] |= scored
    while scored:
        frames[child, CODE] |= winner << 2 * scored_place(bits.lowest(scored))
        scored &= scored - 1
    frames[child, MOVER] = winner
    frames[child, LED] = 0
    frames[child, TRICK] = 0


@compiled
def _final(state, frames, ply):
    result = 0
    for seat in range(NUM_SEATS):
        points = score(state, frames[ply, CAUGHT + seat])
        result += points if seat & 1 == 0 else -points
    return result


@compiled
def _open(frames, ply, alpha, beta, slot):
    """Starts the search of a frame's position."""
    legal = following(frames[ply, HANDS + frames[ply, MOVER]], frames[ply, LED])
    frames[ply, TO_TRY] = _distinct(legal, _left(frames, ply) | frames[ply, TRICK])
    frames[ply, ALPHA] = frames[ply, FIRST_ALPHA] = alpha
    frames[ply, BETA] = frames[ply, FIRST_BETA] = beta
    frames[ply, BEST] = -INFINITE if frames[ply, MOVER] & 1 == 0 else INFINITE
    frames[ply, SLOT] = slot


@compiled
def _learn(frames, ply, value, card, killers):
    """A card of this frame is worth so much: maybe the best so far, maybe enough to stop."""
    if frames[ply, MOVER] & 1 == 0:
        frames[ply, BEST] = max(frames[ply, BEST], value)
        frames[ply, ALPHA] = max(frames[ply, ALPHA], value)
    else:
        frames[ply, BEST] = min(frames[ply, BEST], value)
        frames[ply, BETA] = min(frames[ply, BETA], value)
    if frames[ply, ALPHA] >= frames[ply, BETA]:
        frames[ply, TO_TRY] = 0
        killers[ply] = card


@compiled
def _slot(left, code):
    return ((left * 0x9E3779B97F4A7C1 ^ code * 0x2545F4914F6CDD1) >> 20) & TABLE_SIZE - 1


@compiled
def _file(frames, ply, known, world, value):
    """Writes what a finished frame is worth into the hash table."""
    slot = frames[ply, SLOT]
    known[slot, LEFT] = _left(frames, ply) | frames[ply, MOVER] << FULL_DECK
    known[slot, CODE_AND_WORLD] = frames[ply, CODE] | world << 32
    known[slot, VALUE] = value
    if value <= frames[ply, FIRST_ALPHA]:
        known[slot, BOUND] = UPPER
    else:
        known[slot, BOUND] = LOWER if value >= frames[ply, FIRST_BETA] else EXACT


@compiled
def _solve(state, frames, known, killers, world):
    """The best result of seats 0 and 2 from the position in the first frame, which may be the end of the game."""
    if (_left(frames, 0) | frames[0, TRICK]) & SCORED_SET == 0:
        return _final(state, frames, 0)
    ply = 0
    _open(frames, 0, -INFINITE, INFINITE, -1)
    while True:
        if frames[ply, TO_TRY] == 0:
            value = frames[ply, BEST]
            if frames[ply, SLOT] >= 0:
                _file(frames, ply, known, world, value)
            if ply == 0:
                return value
            ply -= 1
            _learn(frames, ply, value, frames[ply, TRIED], killers)
            continue
        card = _likely(frames, ply, killers)
        frames[ply, TO_TRY] ^= 1 << card
        frames[ply, TRIED] = card
        child = ply + 1
        _play(frames, ply, card, child)
        left = _left(frames, child)
        if (left | frames[child, TRICK]) & SCORED_SET == 0:  # nothing left to win
            _learn(frames, ply, _final(state, frames, child), card, killers)
            continue
        slot = -1
        if frames[child, TRICK] == 0:
            left |= frames[child, MOVER] << FULL_DECK
            code = frames[child, CODE]
            slot = _slot(left, code)
            if known[slot, LEFT] == left and known[slot, CODE_AND_WORLD] == code | world << 32:
                bound, value = known[slot, BOUND], known[slot, VALUE]
                if (
                    bound == EXACT
                    or (bound == LOWER and value >= frames[ply, BETA])
                    or (bound == UPPER and value <= frames[ply, ALPHA])
                ):
                    _learn(frames, ply, value, card, killers)
                    continue
        _open(frames, child, frames[ply, ALPHA], frames[ply, BETA], slot)
        ply = child


@compiled
def _enter(state, frames, ply):
    for seat in range(NUM_SEATS):
        frames[ply, HANDS + seat] = state[HAND + seat]
        frames[ply, CAUGHT + seat] = state[TAKEN + seat] & SCORED_SET
    frames[ply, MOVER] = state[TURN]
    frames[ply, LED] = state[LED_SUIT]
    frames[ply, WINNING_CARD] = state[BEST_CARD]
    frames[ply, WINNER] = state[BEST_SEAT]
    frames[ply, TRICK] = state[TABLE]
    frames[ply, CODE] = 0


@entry_point(STATES, INTEGERS, FLOATS, nogil=True)
def solve_positions(states, rows, results):
    """The exact result of seats 0 and 2 in some positions."""
    frames = np.zeros((MOST_CARDS + 2, FRAME), np.int64)
    known = np.zeros((TABLE_SIZE, ENTRY), np.int64)
    killers = np.zeros(MOST_CARDS + 2, np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        require_full_deck(state)
        _enter(state, frames, 0)
        results[index] = _solve(state, frames, known, killers, index + 1)


@entry_point(STATES, INTEGER, INTEGER, MATRIX, nogil=True)
def solve_worlds(worlds, seat, cards, results):
    """The exact result, for the team of a seat, of each card of a set in each world; a row of `results` for each."""
    frames = np.zeros((MOST_CARDS + 2, FRAME), np.int64)
    known = np.zeros((TABLE_SIZE, ENTRY), np.int64)
    killers = np.zeros(MOST_CARDS + 2, np.int64)
    for number in range(len(worlds)):
        world = worlds[number]
        require_full_deck(world)
        _enter(world, frames, MOST_CARDS + 1)
        rest = cards
        index = 0
        while rest:
            _play(frames, MOST_CARDS + 1, bits.lowest(rest), 0)
            rest &= rest - 1
            value = _solve(world, frames, known, killers, number + 1)
            results[number, index] = value if seat & 1 == 0 else -value
            index += 1
