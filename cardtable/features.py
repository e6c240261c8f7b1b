"""What networks are told of positions, for compiled code: the features of a game, or those that every game has.

A game may say what it wants networks to know (`Rules.features`). Where it does not, the context is the information
tensor of the seat to move, and an action is its number. `observed` takes the observation tensor instead, which some
published agents have had to do with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import JIT_DISABLED, compiled, entry_point
from cardtable.rules import (
    ADDRESSES,
    INTEGER,
    INTEGERS,
    STATE,
    STATES,
    TENSOR,
    WORDS,
    Features,
    Rules,
    addresses_of,
    functions_at,
    kernel_at,
)

TENSORS = types.Array(types.float32, 2, "C")
CONTEXT_SIGNATURE = types.void(STATE, TENSOR)
ACTIONS_SIGNATURE = types.void(STATE, WORDS, INTEGER, TENSORS)


class Encoding(NamedTuple):
    """The compiled functions of `Features`, for compiled code."""

    context: Callable
    actions: Callable


encoding_at = functions_at(Encoding, (CONTEXT_SIGNATURE, ACTIONS_SIGNATURE))


def features_of(rules: Rules, kind: str = "features") -> Features:
    """What networks are told in this game. `kind`: `features`, `information` or `observation`."""
    if kind == "features" and rules.features is not None:
        return rules.features
    if kind == "observation":
        function, size = rules.kernel.observation_tensor, rules.observation_size
    else:
        function, size = rules.kernel.information_tensor, rules.information_size
    context = _tensor_context(rules.kernel.current_player, function)
    return Features(size, rules.num_distinct_actions, context, _action_numbers)


@functools.cache
def _tensor_context(current_player: Callable, tensor: Callable) -> Callable:
    @compiled
    def context(state, out):
        tensor(state, current_player(state), out)

    return context


@compiled
def _action_numbers(state, actions, count, out):
    for index in range(count):
        out[index, actions[index]] = 1.0


def feature_addresses(features: Features) -> Any:
    """Both functions, compiled, as one argument for compiled code, which begins with `encoding_at`."""
    functions = Encoding(features.context, features.actions)
    return functions if JIT_DISABLED else addresses_of(functions, (CONTEXT_SIGNATURE, ACTIONS_SIGNATURE))


@entry_point(ADDRESSES, ADDRESSES, STATES, INTEGERS, INTEGERS, TENSORS, TENSORS, nogil=True)
def encode_decisions(addresses, features, states, rows, starts, contexts, details):
    """The contexts of some rows, and their legal actions one after the other: those of row i begin at starts[i].

    `starts` has one entry more than there are rows; both tensors arrive zeroed.
    """
    kernel = kernel_at(addresses)
    encoding = encoding_at(features)
    actions = np.empty(len(details) + 1, np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        count = kernel.legal_actions(state, actions)
        encoding.context(state, contexts[index])
        encoding.actions(state, actions, count, details[starts[index] : starts[index + 1]])
