"""Games played to their end inside compiled code, at random or with networks in some seats: what learners learn from.

From the *true* state, hidden cards included: such values are targets and baselines of training, and the network that
learns them sees only what its player knows. From *worlds* in which the hidden cards are dealt again (`resample`) they
are a search. Either way a value is the mean return of the player to move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.features import encoding_at
from cardtable.randomness import below, sample_index
from cardtable.rules import ADDRESSES, CHANCE, INTEGER, INTEGERS, STATES, STREAMS, TERMINAL, Rules, kernel_at
from cardtable.search.action_values import TENSORS, ActionValues, new_scratch, values_of_state

FLOATS = types.Array(types.float32, 1, "C")
# Networks side by side: all weights, where those of each begin (and end), a row of sizes for each, and slopes.
NETWORKS = types.Tuple((FLOATS, INTEGERS, STATES, FLOATS))
AT_RANDOM = -1  # who plays a seat in a playout, if no network does


def sizes_of(rules: Rules) -> np.ndarray:
    """Distinct actions, chance outcomes and players, for the functions here."""
    return np.array([rules.num_distinct_actions, rules.max_chance_outcomes, rules.num_players], np.int64)


def side_by_side(networks: Sequence[ActionValues]) -> tuple[np.ndarray, ...]:
    """Networks that are told the same, for compiled code, which numbers them in this order."""
    weights = [own.network[0] for own in networks]
    sizes = np.zeros((len(networks), max(len(own.network[1]) for own in networks)), np.int64)
    for row, own in zip(sizes, networks, strict=True):
        row[: len(own.network[1])] = own.network[1]
    starts = np.cumsum([0, *(len(own) for own in weights)])
    return np.concatenate(weights), starts, sizes, np.array([own.network[2] for own in networks], np.float32)


@compiled
def network_at(networks, number):
    weights, starts, sizes, slopes = networks
    return weights[starts[number] : starts[number + 1]], sizes[number], slopes[number]


@compiled
def _let_chance_act(kernel, state, generator, actions, probabilities):
    n = kernel.chance_outcomes(state, actions, probabilities)
    kernel.apply_action(state, actions[sample_index(generator, probabilities, n)])


@compiled
def play_out_at_random(kernel, state, generator, actions, probabilities):
    """Everybody plays at random to the end."""
    while True:
        seat = kernel.current_player(state)
        if seat == TERMINAL:
            return
        if seat == CHANCE:
            _let_chance_act(kernel, state, generator, actions, probabilities)
        else:
            kernel.apply_action(state, actions[below(generator, kernel.legal_actions(state, actions))])


@compiled
def play_out(kernel, encoding, networks, minds, state, generator, room):
    """Every seat plays what its network values most, or at random, to the end."""
    actions, probabilities, scratch, values = room
    while True:
        seat = kernel.current_player(state)
        if seat == TERMINAL:
            return
        if seat == CHANCE:
            _let_chance_act(kernel, state, generator, actions, probabilities)
            continue
        n = kernel.legal_actions(state, actions)
        place = 0
        if n > 1 and minds[seat] != AT_RANDOM:
            values_of_state(encoding, network_at(networks, minds[seat]), state, actions, n, scratch, values)
            for other in range(1, n):
                if values[other] > values[place]:
                    place = other
        elif n > 1:
            place = below(generator, n)
        kernel.apply_action(state, actions[place])


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGER, INTEGERS, STREAMS, TENSORS, nogil=True)
def random_values(addresses, states, rows, playouts, sizes, streams, values):
    """For each row and legal action the mean return of the player to move over random playouts from the true state."""
    kernel = kernel_at(addresses)
    choices = np.empty(sizes[0], np.int64)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    returns = np.empty(sizes[2])
    trial = np.empty(states.shape[1], np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        player = kernel.current_player(state)
        for place in range(kernel.legal_actions(state, choices)):
            total = 0.0
            for _ in range(playouts):
                trial[:] = state
                kernel.apply_action(trial, choices[place])
                play_out_at_random(kernel, trial, streams[index], actions, probabilities)
                kernel.returns(trial, returns)
                total += returns[player]
            values[index, place] = total / playouts


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGER, INTEGERS, STREAMS, FLOATS, nogil=True)
def random_baselines(addresses, states, rows, playouts, sizes, streams, values):
    """For each row the mean return of the player to move if everybody, she too, plays at random from here."""
    kernel = kernel_at(addresses)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    returns = np.empty(sizes[2])
    trial = np.empty(states.shape[1], np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        player = kernel.current_player(state)
        total = 0.0
        for _ in range(playouts):
            trial[:] = state
            play_out_at_random(kernel, trial, streams[index], actions, probabilities)
            kernel.returns(trial, returns)
            total += returns[player]
        values[index] = total / playouts


@entry_point(
    ADDRESSES,
    ADDRESSES,
    NETWORKS,
    STATES,
    STATES,
    INTEGERS,
    INTEGER,
    types.boolean,
    INTEGERS,
    STREAMS,
    TENSORS,
    TENSORS,
    nogil=True,
)
def network_values(
    addresses, features, networks, minds, states, rows, playouts, deals_again, sizes, streams, values, squares
):
    """As `random_values`, with networks in some seats: one row of `minds` for each seat to move says who plays where.

    Where `deals_again` is true every playout has a world of its own, the same for all actions. `squares` gets the mean
    of the squares of each action's difference to the first one.
    """
    kernel = kernel_at(addresses)
    encoding = encoding_at(features)
    choices = np.empty(sizes[0], np.int64)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    largest = np.zeros(networks[2].shape[1], np.int64)
    for own in networks[2]:
        largest = np.maximum(largest, own)
    room = (actions, np.empty(sizes[1]), new_scratch(largest, sizes[0]), np.empty(sizes[0], np.float32))
    returns = np.empty(sizes[2])
    world = np.empty(states.shape[1], np.int64)
    trial = np.empty(states.shape[1], np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        player = kernel.current_player(state)
        n = kernel.legal_actions(state, choices)
        values[index, :n] = 0.0
        squares[index, :n] = 0.0
        for _ in range(playouts):
            world[:] = state
            if deals_again:
                kernel.resample(world, player, streams[index])
            first = 0.0
            for place in range(n):
                trial[:] = world
                kernel.apply_action(trial, choices[place])
                play_out(kernel, encoding, networks, minds[player], trial, streams[index], room)
                kernel.returns(trial, returns)
                if place == 0:
                    first = returns[player]
                values[index, place] += returns[player] / playouts
                squares[index, place] += (returns[player] - first) ** 2 / playouts
