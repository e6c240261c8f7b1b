"""Values of the legal actions of a position, from a network that sees a context and, for each action, its features.

    h = context layers of the context                         (leaky ReLU after each)
    head sizes given:  z = relu(A f + C h + b),  then further layers,  value = w z + b      for each action f
    no head sizes:     value = sum over k of f_k (V_k h + d_k)

The head is shared by all actions, and runs on the legal ones only. Three networks of the literature are special cases:
with actions by number and no head sizes it is the plain one, from a tensor to a value for each action id (DQN); without
context layers it is DouZero's, which sees position and action side by side.

This is the form for playing: numpy and compiled code, no torch. A row is evaluated by itself, inputs and units that are
zero are left out, and nothing depends on who else is in the batch: the same position has the same values, bit by bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.features import encoding_at, feature_addresses, features_of
from cardtable.parameters import UserError
from cardtable.rows import seats_of_rows
from cardtable.rules import ADDRESSES, INTEGERS, STATES, TENSOR, Rules, kernel_at

MOST_UNITS = 100_000
TENSORS = types.Array(types.float32, 2, "C")
# Weights, sizes (see `Shape.sizes`), and the slope of the leaky ReLU.
NETWORK = types.Tuple((TENSOR, INTEGERS, types.float32))


@dataclass(frozen=True)
class Shape:
    """The sizes of a network."""

    context_size: int
    action_size: int
    context_sizes: tuple[int, ...]
    head_sizes: tuple[int, ...]
    negative_slope: float = 0.0

    def blocks(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the arrays of weights, in the order in which they lie in one flat array.

        Matrices have a row for each input.
        """
        found: list[tuple[str, tuple[int, ...]]] = []
        sizes = [self.context_size, *self.context_sizes]
        for number, (before, after) in enumerate(itertools.pairwise(sizes)):
            found += [(f"context.{number}.weight", (before, after)), (f"context.{number}.bias", (after,))]
        if not self.head_sizes:
            return [*found, ("actions.weight", (self.action_size, sizes[-1])), ("actions.bias", (self.action_size,))]
        first = self.head_sizes[0]
        found += [("head.context", (sizes[-1], first)), ("head.actions", (self.action_size, first))]
        found.append(("head.bias", (first,)))
        for number, (before, after) in enumerate(itertools.pairwise([*self.head_sizes, 1]), start=1):
            found += [(f"head.{number}.weight", (before, after)), (f"head.{number}.bias", (after,))]
        return found

    @property
    def num_weights(self) -> int:
        return sum(math.prod(shape) for _, shape in self.blocks())

    def split(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """The flat array as named ones."""
        found, place = {}, 0
        for name, shape in self.blocks():
            size = math.prod(shape)
            found[name] = weights[place : place + size].reshape(shape)
            place += size
        return found

    def sizes(self) -> np.ndarray:
        """For compiled code: both input sizes, the numbers of layers, and their sizes."""
        counts = [self.context_size, self.action_size, len(self.context_sizes), len(self.head_sizes)]
        return np.array([*counts, *self.context_sizes, *self.head_sizes], np.int64)

    def as_json(self) -> dict[str, Any]:
        return {
            "context_size": self.context_size,
            "action_size": self.action_size,
            "context_sizes": list(self.context_sizes),
            "head_sizes": list(self.head_sizes),
            "negative_slope": self.negative_slope,
        }

    @staticmethod
    def of_json(found: Any) -> Shape:
        """UserError if it is no shape."""
        try:
            lists = [tuple(found[name]) for name in ("context_sizes", "head_sizes")]
            single = (found["context_size"], found["action_size"])
            slope = float(found["negative_slope"])
            whole = all(type(size) is int and 1 <= size <= MOST_UNITS for size in (*single, *lists[0], *lists[1]))
            if whole and math.isfinite(slope):
                return Shape(*single, lists[0], lists[1], slope)
        except (KeyError, TypeError, ValueError):
            pass
        raise UserError(f"a network has the shape {found!r}; allowed: sizes of layers from 1 to {MOST_UNITS:,}")


class ActionValues:
    """A frozen network for the positions of a game."""

    def __init__(self, rules: Rules, shape: Shape, weights: np.ndarray, kind: str = "features") -> None:
        features = features_of(rules, kind)
        if (features.context_size, features.action_size) != (shape.context_size, shape.action_size):
            raise UserError(
                f"the network takes {shape.context_size} and {shape.action_size} numbers; the game has "
                f"{features.context_size} and {features.action_size}"
            )
        self.shape = shape
        self.rules = rules
        self.kind = kind
        self.addresses = rules.compiled_kernel().addresses()
        self.features = feature_addresses(features)
        self.network = (np.array(weights, np.float32), shape.sizes(), np.float32(shape.negative_slope))
        self.most_actions = rules.num_distinct_actions

    def __call__(self, states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Legal actions, how many they are, and their values; a row for each row, with room for all actions."""
        actions = np.empty((len(rows), self.most_actions), np.int64)
        counts = np.empty(len(rows), np.int64)
        values = np.zeros((len(rows), self.most_actions), np.float32)
        _values_of_rows(self.addresses, self.features, self.network, states, rows, actions, counts, values)
        return actions, counts, values


class SeatValues:
    """The same with a network for each seat: a row of the weights is the network of the seat to move."""

    def __init__(self, rules: Rules, shape: Shape, weights: np.ndarray, kind: str = "features") -> None:
        self._of_seats = [ActionValues(rules, shape, own, kind) for own in weights]
        self._addresses = self._of_seats[0].addresses
        self.most_actions = rules.num_distinct_actions

    def __call__(self, states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        seats = np.empty(len(rows), np.int64)
        seats_of_rows(self._addresses, states, rows, seats)
        actions = np.zeros((len(rows), self.most_actions), np.int64)
        counts = np.empty(len(rows), np.int64)
        values = np.zeros(actions.shape, np.float32)
        for seat, own in enumerate(self._of_seats):
            here = np.flatnonzero(seats == seat)
            if len(here):
                actions[here], counts[here], values[here] = own(states, rows[here])
        return actions, counts, values


class Scratch(NamedTuple):
    """Room for one evaluation."""

    context: np.ndarray
    details: np.ndarray
    one: np.ndarray
    two: np.ndarray
    base: np.ndarray
    present: np.ndarray  # indices of inputs that are not zero


@compiled
def new_scratch(sizes, most_actions):
    widest = max(sizes[0], sizes[1])
    for place in range(4, len(sizes)):
        widest = max(widest, sizes[place])
    return Scratch(
        np.zeros(sizes[0], np.float32),
        np.zeros((most_actions, sizes[1]), np.float32),
        np.zeros(widest + 1, np.float32),
        np.zeros(widest + 1, np.float32),
        np.zeros(widest + 1, np.float32),
        np.zeros(widest + 1, np.int64),
    )


@compiled(fastmath={"contract"})
def add_product(x, n, weights, place, width, present, out):
    """out += x W for the n x width matrix at a place of the weights; inputs that are zero are left out."""
    count = 0
    for k in range(n):  # without a branch, which could not be foreseen
        present[count] = k
        count += 1 if x[k] != 0.0 else 0
    k = 0
    while k + 4 <= count:  # several rows at a time: the sums are loaded and stored once for all
        a = present[k + 0]
        b = present[k + 1]
        c = present[k + 2]
        d = present[k + 3]
        xa, wa = x[a], weights[place + a * width : place + a * width + width]
        xb, wb = x[b], weights[place + b * width : place + b * width + width]
        xc, wc = x[c], weights[place + c * width : place + c * width + width]
        xd, wd = x[d], weights[place + d * width : place + d * width + width]
        for j in range(width):
            out[j] += (xa * wa[j] + xb * wb[j]) + (xc * wc[j] + xd * wd[j])
        k += 4
    while k < count:
        a = present[k]
        xa, wa = x[a], weights[place + a * width : place + a * width + width]
        for j in range(width):
            out[j] += xa * wa[j]
        k += 1


@compiled
def _activate(x, n, slope):
    for j in range(n):
        if x[j] < 0.0:
            x[j] *= slope


@compiled
def _copy(source, place, n, out):
    for j in range(n):
        out[j] = source[place + j]


@compiled
def values_of_state(encoding, network, state, actions, count, scratch, values):
    """The values of the first `count` of the legal actions of a state, into `values`."""
    weights, sizes, slope = network
    context_size, action_size, context_layers, head_layers = sizes[0], sizes[1], sizes[2], sizes[3]
    scratch.context[:] = 0.0
    scratch.details[:count] = 0.0
    encoding.context(state, scratch.context)
    encoding.actions(state, actions, count, scratch.details)
    place = 0
    # Layers are computed from one array into another, which change roles.
    current, other = scratch.one, scratch.two
    n = context_size
    for layer in range(context_layers):
        width = sizes[4 + layer]
        _copy(weights, place + n * width, width, other)
        source = scratch.context if layer == 0 else current
        add_product(source, n, weights, place, width, scratch.present, other)
        _activate(other, width, slope)
        place += (n + 1) * width
        n = width
        current, other = other, current
    if context_layers == 0:
        _copy(scratch.context, 0, n, current)
    if head_layers == 0:
        for index in range(count):
            total = np.float32(0.0)
            for k in range(action_size):
                f = scratch.details[index, k]
                if f != 0.0:
                    own = weights[place + action_size * n + k]
                    for j in range(n):
                        own += weights[place + k * n + j] * current[j]
                    total += f * own
            values[index] = total
        return
    base, first = scratch.base, sizes[4 + context_layers]
    _copy(weights, place + (n + action_size) * first, first, base)
    add_product(current, n, weights, place, first, scratch.present, base)
    action_place = place + n * first
    head_place = action_place + (action_size + 1) * first
    for index in range(count):
        _copy(base, 0, first, current)
        add_product(scratch.details[index], action_size, weights, action_place, first, scratch.present, current)
        _activate(current, first, slope)
        place = head_place
        n = first
        for layer in range(1, head_layers):
            width = sizes[4 + context_layers + layer]
            _copy(weights, place + n * width, width, other)
            add_product(current, n, weights, place, width, scratch.present, other)
            _activate(other, width, slope)
            place += (n + 1) * width
            n = width
            current, other = other, current
        total = weights[place + n]
        for j in range(n):
            total += current[j] * weights[place + j]
        values[index] = total


@entry_point(ADDRESSES, ADDRESSES, NETWORK, STATES, INTEGERS, STATES, INTEGERS, TENSORS, nogil=True)
def _values_of_rows(addresses, features, network, states, rows, actions, counts, values):
    kernel = kernel_at(addresses)
    encoding = encoding_at(features)
    scratch = new_scratch(network[1], actions.shape[1])
    for index in range(len(rows)):
        state = states[rows[index]]
        counts[index] = kernel.legal_actions(state, actions[index])
        values_of_state(encoding, network, state, actions[index], counts[index], scratch, values[index])


def tensors_of(shape: Shape, weights: np.ndarray, dtype: Any = np.float16) -> dict[str, np.ndarray]:
    """The weights as named arrays for a file; half precision by default, which is enough to play."""
    return {name: part.astype(dtype) for name, part in shape.split(weights).items()}


def weights_of(shape: Shape, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """The flat array of named ones; UserError if they do not fit the shape."""
    wanted = dict(shape.blocks())
    if tensors.keys() != wanted.keys() or any(tensors[name].shape != size for name, size in wanted.items()):
        raise UserError("the weights are not those of a network of its shape")
    return np.concatenate([tensors[name].astype(np.float32).ravel() for name in wanted])


def best_places(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where the highest of the first `counts` values of each row stands; the first of equal ones."""
    listed = np.arange(values.shape[1]) < counts[:, None]
    return np.argmax(np.where(listed, values, -np.inf), axis=1)


def shape_for(
    rules: Rules,
    context_sizes: Sequence[int],
    head_sizes: Sequence[int],
    negative_slope: float,
    kind: str = "features",
) -> Shape:
    """The shape of a network for a game."""
    features = features_of(rules, kind)
    return Shape(
        features.context_size, features.action_size, tuple(context_sizes), tuple(head_sizes), float(negative_slope)
    )
