"""Compiled loops over many states, one a row: dealing, asking, drawing, stepping.

An `addresses` argument is `rules.compiled_kernel().addresses()`. `rows` names the rows that are meant; answers come
in their order. Rows of games that are over are passed over: they have no legal actions, and nobody to encode.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.parameters import bad_value
from cardtable.randomness import sample_index, uniform
from cardtable.rules import ADDRESSES, CHANCE, INTEGERS, STATES, STREAMS, TERMINAL, kernel_at, player_at

FLOATS = types.Array(types.float64, 2, "C")
MASKS = types.Array(types.boolean, 2, "C")
TENSORS = types.Array(types.float32, 2, "C")
ROOT = types.Array(types.int64, 1, "C", readonly=True)


def require_rows(states: np.ndarray, rows: np.ndarray, *streams: np.ndarray, size: int) -> None:
    """Row numbers of `states`, each of which has `size` numbers, and one stream for each of them where some are given:
    compiled code does not look."""
    shape = np.shape(states)
    if len(shape) != 2 or shape[1] != size:
        raise bad_value("the shape of states", shape, f"(any number, {size})")
    if np.ndim(rows) != 1:
        raise bad_value("rows", rows, "numbers of rows of states, in one dimension")
    if len(rows) and not 0 <= np.min(rows) <= np.max(rows) < shape[0]:
        raise bad_value("rows", rows, f"0 to {shape[0] - 1}")
    for each in streams:
        if len(each) != len(rows):
            raise bad_value("the number of streams", len(each), f"{len(rows)}, one for each of the rows")


@entry_point(ADDRESSES, ROOT, STATES, INTEGERS, STREAMS, nogil=True)
def deal_rows(addresses, root, states, rows, streams):
    """A new game in each of the rows; row i is dealt by streams[i]."""
    kernel = kernel_at(addresses)
    for row in rows:
        states[row] = root
        kernel.deal(states[row], streams[row])


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGERS, nogil=True)
def seats_of_rows(addresses, states, rows, seats):
    kernel = kernel_at(addresses)
    for index in range(len(rows)):
        seats[index] = kernel.current_player(states[rows[index]])


@entry_point(ADDRESSES, STATES, INTEGERS, MASKS, nogil=True)
def mask_rows(addresses, states, rows, mask):
    """Which actions are legal; `mask` arrives false."""
    kernel = kernel_at(addresses)
    actions = np.empty(mask.shape[1], np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        if kernel.current_player(state) >= 0:
            for place in range(kernel.legal_actions(state, actions)):
                mask[index, actions[place]] = True


@entry_point(ADDRESSES, STATES, INTEGERS, types.boolean, TENSORS, nogil=True)
def encode_rows(addresses, states, rows, everything, tensors):
    """What the players to move know (`everything`), or see now, as tensors, which arrive zeroed."""
    kernel = kernel_at(addresses)
    for index in range(len(rows)):
        state = states[rows[index]]
        player = kernel.current_player(state)
        if player >= 0 and everything:
            kernel.information_tensor(state, player, tensors[index])
        elif player >= 0:
            kernel.observation_tensor(state, player, tensors[index])


@entry_point(ADDRESSES, STATES, INTEGERS, STATES, nogil=True)
def keys_of_rows(addresses, states, rows, keys):
    kernel = kernel_at(addresses)
    for index in range(len(rows)):
        player = kernel.current_player(states[rows[index]])
        if player >= 0:
            kernel.information_key(states[rows[index]], player, keys[index])


@entry_point(ADDRESSES, STATES, FLOATS, nogil=True)
def returns_of_rows(addresses, states, out):
    kernel = kernel_at(addresses)
    for row in range(len(states)):
        kernel.returns(states[row], out[row])


@entry_point(ADDRESSES, STATES, INTEGERS, STREAMS, INTEGERS, nogil=True)
def choose_rows(player, states, rows, streams, chosen):
    """The choices of a compiled player: the first of `player_addresses`."""
    choose = player_at(player, 0)
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


@entry_point(ADDRESSES, STATES, STREAMS, INTEGERS, INTEGERS, nogil=True)
def settle_rows(addresses, states, streams, sizes, turn):
    """`settle` in every row. `sizes`: distinct actions, chance outcomes."""
    kernel = kernel_at(addresses)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    for row in range(len(states)):
        turn[row] = settle(kernel, states[row], streams[row], actions, probabilities)


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGERS, INTEGERS, nogil=True)
def step_rows(addresses, states, rows, chosen, sizes):
    """Applies the chosen actions; stops at the first that is not legal and returns its place, or -1."""
    kernel = kernel_at(addresses)
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
    ADDRESSES,
    ADDRESSES,
    STATES,
    STREAMS,
    types.Array(types.uint64, 3, "C"),
    INTEGERS,
    INTEGERS,
    nogil=True,
)
def finish_rows(addresses, players, states, streams, own, sizes, decisions):
    """Compiled players play the game in each row to its end; counts the choices of each seat."""
    kernel = kernel_at(addresses)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    for row in range(len(states)):
        state = states[row]
        seat = settle(kernel, state, streams[row], actions, probabilities)
        while seat != TERMINAL:
            decisions[seat] += 1
            kernel.apply_action(state, player_at(players, seat)(state, own[row, seat]))
            seat = settle(kernel, state, streams[row], actions, probabilities)
