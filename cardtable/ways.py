"""Positions as the ways that lead to them: this is how they are filed.

Compiled code believes a state array: a wrong number in it is an index that nobody checks. So no file holds one. It
holds what chance and the players did from the beginning to each position, and whoever reads it plays that again, every
step checked by the rules. Whatever is in a file, only positions come out of it to which play leads.

A way is a row: the values of the slots in `Rules.forgotten`, the steps, and `END` behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import types

from cardtable import deck
from cardtable.compiled import JIT_DISABLED, compiled, entry_point
from cardtable.replay import MOVES_SIGNATURE, ROOT
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    INTEGERS,
    LABEL_SIGNATURE,
    STATE,
    STATES,
    TERMINAL,
    Rules,
    addresses_of,
    functions_at,
    kernel_at,
)

END = -1
KIND = np.int32
WAYS = types.Array(types.int32, 2, "C")
PIECE = 1 << 20  # numbers of the ways that are written in one go


class Guide(NamedTuple):
    """What tells the way to a position, compiled: moves and names of the game inside, and how the deal began."""

    moves: Callable
    label: Callable
    begin: Callable


GUIDE_SIGNATURES = (MOVES_SIGNATURE, LABEL_SIGNATURE, types.void(STATE, STATE))
guide_at = functions_at(Guide, GUIDE_SIGNATURES)


@compiled
def _same_name(state, action):
    return action


@compiled
def _at_the_root(state, out):
    pass


def most_steps(rules: Rules) -> int:
    """No way is longer."""
    return len(rules.forgotten) + rules.max_chance_nodes + rules.max_game_length


def ways_to(rules: Rules, states: np.ndarray) -> np.ndarray:
    """A way to each of these positions, which must come from play: (positions, steps of the longest)."""
    if states.dtype != np.int64 or states.shape != (len(states), rules.state_size):
        raise ValueError(f"states have the shape {states.shape}; allowed: rows of {rules.state_size} int64")
    return joined(list(_written(rules, np.ascontiguousarray(states))))


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Ways one below the other, as long as the longest of them."""
    ways = np.full((sum(map(len, parts)), max(part.shape[1] for part in parts)), END, KIND)
    first = 0
    for part in parts:
        ways[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return ways


def _written(rules: Rules, states: np.ndarray) -> Iterator[np.ndarray]:
    moves = rules.moves or rules.moves_inside
    assert moves is not None, "every game lists its moves, or those of the game inside"
    guide = Guide(moves, rules.origin.label if rules.origin else _same_name, rules.begin or _at_the_root)
    addresses: Any = guide if JIT_DISABLED else addresses_of(tuple(guide), GUIDE_SIGNATURES)
    kernel = rules.compiled_kernel().addresses()
    width = most_steps(rules)
    rows = max(1, PIECE // width)
    for first in range(0, max(len(states), 1), rows):  # also for none: who rehearses wants all compiled
        part = states[first : first + rows]
        ways = np.full((len(part), width), END, KIND)
        longest = _write(kernel, addresses, rules.root, _slots(rules)[0], _sizes(rules), part, ways)
        assert longest >= 0, "a position to which no way leads"
        yield ways[:, : max(longest, 1)]


def walked(rules: Rules, ways: np.ndarray, most_rows: int) -> np.ndarray:
    """The positions to which ways from a file lead, one a row; ValueError if they are no ways of this game."""
    if not isinstance(ways, np.ndarray) or ways.dtype != KIND or ways.ndim != 2:
        raise ValueError("positions are not given as the ways that lead to them")
    if len(ways) > most_rows or not 1 <= ways.shape[1] <= max(most_steps(rules), 1):
        raise ValueError(f"ways have the shape {ways.shape}; allowed: up to {(most_rows, most_steps(rules))}")
    states = np.empty((len(ways), rules.state_size), np.int64)
    kernel = rules.compiled_kernel().addresses()
    bad = _walk(kernel, rules.root, *_slots(rules), _sizes(rules), np.ascontiguousarray(ways), states)
    if bad >= 0:
        raise ValueError(f"play does not lead to the position in row {bad}")
    return states


def choices(rules: Rules, states: np.ndarray) -> np.ndarray:
    """How many legal actions there are in each position; 0 where nobody is to move."""
    counts = np.empty(len(states), np.int64)
    _count(rules.compiled_kernel().addresses(), states, _sizes(rules), counts)
    return counts


def _sizes(rules: Rules) -> np.ndarray:
    """Room for lists of actions or outcomes, for outcomes, and for the moves of a game."""
    outcomes = max(rules.max_chance_outcomes, 1)
    return np.array([max(rules.num_distinct_actions, outcomes), outcomes, rules.max_game_length], np.int64)


def _slots(rules: Rules) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where a beginning may differ from the root, from which number, and up to which."""
    slots, lowest, highest = np.array(rules.forgotten, np.int64).reshape(-1, 3).T.copy()
    return slots, lowest, highest


@compiled
def _equal(one, other):
    same = len(one) == len(other)
    for slot in range(len(one)):
        same &= one[slot] == other[slot]
    return same


@compiled
def _tried(kernel, guide, now, goal, moves, made, room):
    """A step that is no move of the game inside: it leads to the goal, or it leaves the moves as they were made."""
    steps, chances, trial, listed = room
    by_chance = kernel.current_player(now) == CHANCE
    count = kernel.chance_outcomes(now, steps, chances) if by_chance else kernel.legal_actions(now, steps)
    found = -1
    for index in range(count):
        trial[:] = now
        kernel.apply_action(trial, steps[index])
        if _equal(trial, goal):
            return steps[index]
        if by_chance and found < 0 and guide.moves(trial, listed) == made and _equal(listed[:made], moves[:made]):
            found = steps[index]
    return found


@entry_point(ADDRESSES, ADDRESSES, ROOT, INTEGERS, INTEGERS, STATES, WAYS, nogil=True)
def _write(addresses, guides, root, slots, sizes, states, ways):
    """Writes a way to each state, and returns how long the longest is; -1 if there is none to one of them."""
    kernel = kernel_at(addresses)
    guide = guide_at(guides)
    room = (np.empty(sizes[0], np.int64), np.empty(sizes[1]), np.empty_like(root), np.empty(sizes[2], np.int64))
    moves = np.empty(sizes[2], np.int64)
    now = np.empty_like(root)
    longest = 0
    for row in range(len(states)):
        goal = states[row]
        now[:] = root
        guide.begin(goal, now)
        total = guide.moves(goal, moves)
        made = 0
        length = len(slots)
        for index in range(length):
            ways[row, index] = now[slots[index]]
        while not _equal(now, goal):
            player = kernel.current_player(now)
            if length == ways.shape[1] or player == TERMINAL:
                return -1
            if player == CHANCE and not deck.is_dealt(now):
                step = deck.pile_of(goal, now[deck.NEXT_CARD])
            elif player == CHANCE or made == total:
                step = _tried(kernel, guide, now, goal, moves, made, room)
            else:
                step = guide.label(now, moves[made])
                made += 1
            if step < 0:
                return -1
            ways[row, length] = step
            length += 1
            kernel.apply_action(now, step)
        longest = max(longest, length)
    return longest


@entry_point(ADDRESSES, ROOT, INTEGERS, INTEGERS, INTEGERS, INTEGERS, WAYS, STATES, nogil=True)
def _walk(addresses, root, slots, lowest, highest, sizes, ways, states):
    """Goes all ways; stops at the first step that is not possible and returns its row, or -1.

    Nothing that comes from a file is an index here: slots and steps are compared before they are taken.
    """
    kernel = kernel_at(addresses)
    possible = np.empty(sizes[0], np.int64)
    chances = np.empty(sizes[1])
    for row in range(len(ways)):
        now = states[row]
        now[:] = root
        if ways.shape[1] < len(slots):
            return row
        for index in range(len(slots)):
            value = ways[row, index]
            if value < lowest[index] or value > highest[index]:
                return row
            now[slots[index]] = value
        for index in range(len(slots), ways.shape[1]):
            step = np.int64(ways[row, index])
            if step == END:
                break
            player = kernel.current_player(now)
            if player == TERMINAL:
                return row
            count = (
                kernel.chance_outcomes(now, possible, chances)
                if player == CHANCE
                else kernel.legal_actions(now, possible)
            )
            found = False
            for place in range(count):
                found |= possible[place] == step
            if not found:
                return row
            kernel.apply_action(now, step)
    return -1


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGERS, nogil=True)
def _count(addresses, states, sizes, counts):
    kernel = kernel_at(addresses)
    actions = np.empty(sizes[0], np.int64)
    for row in range(len(states)):
        counts[row] = kernel.legal_actions(states[row], actions) if kernel.current_player(states[row]) >= 0 else 0
