"""Compiled loops over many states, one a row: dealing, asking, drawing, stepping.

A `functions` argument is `tuple(rules.compiled_kernel())`. `rows` names the rows that are meant; answers come in their
order. Rows of games that are over are passed over: they have no legal actions, and nobody to encode.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.randomness import sample_index, uniform
from cardtable.rules import (
    CHANCE,
    FUNCTION_TYPES,
    INTEGERS,
    KERNEL_TYPE,
    PLAYER_TYPE,
    STATES,
    STREAMS,
    TERMINAL,
    Kernel,
)

MAX_SEATS = 4  # of loops that know a compiled player for each seat
FLOATS = types.Array(types.float64, 2, "C")
TENSORS = types.Array(types.float32, 2, "C")
ROOT = types.Array(types.int64, 1, "C", readonly=True)


@entry_point(FUNCTION_TYPES["deal"], ROOT, STATES, INTEGERS, STREAMS, nogil=True)
def deal_rows(deal, root, states, rows, streams):
    """A new game in each of the rows; row i is dealt by streams[i]."""
    for row in rows:
        states[row] = root
        deal(states[row], streams[row])


@entry_point(FUNCTION_TYPES["current_player"], STATES, INTEGERS, INTEGERS, nogil=True)
def seats_of_rows(current_player, states, rows, seats):
    for index in range(len(rows)):
        seats[index] = current_player(states[rows[index]])


@entry_point(
    FUNCTION_TYPES["current_player"], FUNCTION_TYPES["legal_actions"], STATES, INTEGERS, STATES, INTEGERS, nogil=True
)
def legal_rows(current_player, legal_actions, states, rows, actions, counts):
    """The legal actions, ascending, and how many there are."""
    for index in range(len(rows)):
        state = states[rows[index]]
        counts[index] = legal_actions(state, actions[index]) if current_player(state) >= 0 else 0


@entry_point(
    FUNCTION_TYPES["current_player"], FUNCTION_TYPES["information_tensor"], STATES, INTEGERS, TENSORS, nogil=True
)
def encode_rows(current_player, encode, states, rows, tensors):
    """What the players to move know, or see, as tensors, which arrive zeroed."""
    for index in range(len(rows)):
        player = current_player(states[rows[index]])
        if player >= 0:
            encode(states[rows[index]], player, tensors[index])


@entry_point(FUNCTION_TYPES["current_player"], FUNCTION_TYPES["information_key"], STATES, INTEGERS, STATES, nogil=True)
def keys_of_rows(current_player, information_key, states, rows, keys):
    for index in range(len(rows)):
        player = current_player(states[rows[index]])
        if player >= 0:
            information_key(states[rows[index]], player, keys[index])


@entry_point(FUNCTION_TYPES["returns"], STATES, FLOATS, nogil=True)
def returns_of_rows(returns, states, out):
    for row in range(len(states)):
        returns(states[row], out[row])


@entry_point(PLAYER_TYPE, STATES, INTEGERS, STREAMS, INTEGERS, nogil=True)
def choose_rows(choose, states, rows, streams, chosen):
    """The choices of a compiled player."""
    for index in range(len(rows)):
        chosen[index] = choose(states[rows[index]], streams[index])


@entry_point(FLOATS, STREAMS, INTEGERS, nogil=True)
def draw_rows(chances, streams, chosen):
    """An action for each row of chances, drawn with them; they need not sum to one."""
    for index in range(len(chances)):
        left = uniform(streams[index]) * chances[index].sum()
        for action in range(len(chances[index])):
            if chances[index, action] > 0.0:  # rounding may leave a little at the end: the last possible one then
                chosen[index] = action
                left -= chances[index, action]
                if left < 0.0:
                    break


@compiled
def settle(kernel, state, stream, actions, probabilities):
    """Lets chance act and plays forced moves; returns who has a choice then, or TERMINAL."""
    while True:
        seat = kernel.current_player(state)
        if seat == TERMINAL:
            return seat
        if seat == CHANCE:
            n = kernel.chance_outcomes(state, actions, probabilities)
            kernel.apply_action(state, actions[sample_index(stream, probabilities, n)])
            continue
        if kernel.legal_actions(state, actions) > 1:
            return seat
        kernel.apply_action(state, actions[0])


@entry_point(KERNEL_TYPE, STATES, STREAMS, INTEGERS, INTEGERS, nogil=True)
def settle_rows(functions, states, streams, sizes, turn):
    """`settle` in every row. `sizes`: distinct actions, chance outcomes."""
    kernel = Kernel(*functions)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    for row in range(len(states)):
        turn[row] = settle(kernel, states[row], streams[row], actions, probabilities)


@entry_point(KERNEL_TYPE, STATES, INTEGERS, INTEGERS, INTEGERS, nogil=True)
def step_rows(functions, states, rows, chosen, sizes):
    """Applies the chosen actions; stops at the first that is not legal and returns its place, or -1."""
    kernel = Kernel(*functions)
    actions = np.empty(sizes[0], np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        legal = False
        for place in range(kernel.legal_actions(state, actions)):
            legal |= actions[place] == chosen[index]
        if not legal:
            return index
        kernel.apply_action(state, chosen[index])
    return -1


@entry_point(
    KERNEL_TYPE,
    types.UniTuple(PLAYER_TYPE, MAX_SEATS),
    STATES,
    STREAMS,
    types.Array(types.uint64, 3, "C"),
    INTEGERS,
    INTEGERS,
    nogil=True,
)
def finish_rows(functions, players, states, streams, own, sizes, decisions):
    """Compiled players play the game in each row to its end; counts the choices of each seat."""
    kernel = Kernel(*functions)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    for row in range(len(states)):
        state = states[row]
        seat = settle(kernel, state, streams[row], actions, probabilities)
        while seat != TERMINAL:
            decisions[seat] += 1
            kernel.apply_action(state, players[seat](state, own[row, seat]))
            seat = settle(kernel, state, streams[row], actions, probabilities)
