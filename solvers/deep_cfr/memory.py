"""What enumerated games remember of their traversals: per information set, sums of rows and of their weights.

Rows of equal information set share their inputs, so the loss over them depends only on the sum of their weights and
their weighted mean. All rows that one iteration adds to one information set are merged into one; `Sums` keeps their
totals for ever, `MergedReservoir` keeps a uniform sample of a limited number of merged rows (Vitter's algorithm R)
and its totals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cardtable.compiled import compiled
from cardtable.randomness import uniform
from solvers.arrays.memory import require_room
from solvers.learning.states import require_numbers, require_state


class Sums:
    """Totals over all rows: flat tables over actions, see `tabulated`; weights at the place of a set's first action."""

    def __init__(self, table_size: int) -> None:
        self.values = np.zeros(table_size)
        self.weights = np.zeros(table_size)

    def add(self, sets: np.ndarray, action_offset: np.ndarray, values: np.ndarray, weights: np.ndarray) -> None:
        """Adds the rows of `sets` from flat tables of weighted values and weights; sets of weight zero have no row."""
        _add_to_sums(sets, action_offset, values, weights, self.values, self.weights)

    def replace(self, sets: np.ndarray, action_offset: np.ndarray, values: np.ndarray, weights: np.ndarray) -> None:
        """What is known of `sets` becomes the rows of these flat tables."""
        _clear(sets, action_offset, self.values, self.weights)
        self.add(sets, action_offset, values, weights)

    def discount(self, above: float, below: float) -> None:
        """Multiplies sums above and below zero with these; weights, which say how much a mean can be relied on, with
        the first."""
        self.values *= np.where(self.values > 0.0, above, below)
        self.weights *= above

    def plus(self, other: Sums) -> Sums:
        """Both together, with the weights of these sums: what is added is a guess, and nothing that was seen."""
        both = Sums(len(self.values))
        both.values[:] = self.values + other.values
        both.weights[:] = self.weights
        return both

    def state(self, name: str) -> dict[str, Any]:
        return {f"{name}.values": self.values.copy(), f"{name}.weights": self.weights.copy()}

    def require_state(self, name: str, state: Mapping[str, Any]) -> None:
        """ValueError unless `set_state` can go on from it."""
        require_state(state, {f"{name}.values": self.values, f"{name}.weights": self.weights})

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        self.values[:] = state[f"{name}.values"]
        self.weights[:] = state[f"{name}.weights"]


class MergedReservoir(Sums):
    """The same over a uniform sample of at most `capacity` merged rows."""

    def __init__(self, table_size: int, num_sets: int, capacity: int, most_actions: int, generator: np.ndarray) -> None:
        super().__init__(table_size)
        self._num_sets = num_sets
        require_room(capacity * (8 * most_actions + 12), f"a memory of {capacity:,} rows")
        self._row_set = np.empty(capacity, np.int32)
        self._row_weight = np.empty(capacity)
        self._row_values = np.empty((capacity, most_actions))
        self._seen = np.zeros(1, np.int64)  # rows that were ever offered
        self._generator = generator

    def __len__(self) -> int:
        return min(int(self._seen[0]), len(self._row_set))

    def add(self, sets: np.ndarray, action_offset: np.ndarray, values: np.ndarray, weights: np.ndarray) -> None:
        _offer_rows(
            sets,
            action_offset,
            values,
            weights,
            self._row_set,
            self._row_weight,
            self._row_values,
            self._seen,
            self._generator,
            self.values,
            self.weights,
        )

    def state(self, name: str) -> dict[str, Any]:
        rows = len(self)
        return {
            **super().state(name),
            f"{name}.row_set": self._row_set[:rows].copy(),
            f"{name}.row_weight": self._row_weight[:rows].copy(),
            f"{name}.row_values": self._row_values[:rows].copy(),
            f"{name}.seen": int(self._seen[0]),
            f"{name}.generator": self._generator.copy(),
        }

    def require_state(self, name: str, state: Mapping[str, Any]) -> None:
        super().require_state(name, state)
        parts = {"row_set": self._row_set, "row_weight": self._row_weight, "row_values": self._row_values}
        parts = {f"{name}.{what}": part for what, part in parts.items()}
        like = {**parts, f"{name}.seen": 0, f"{name}.generator": self._generator}
        require_state(state, like, dict.fromkeys(parts, len(self._row_set)))
        rows = min(state[f"{name}.seen"], len(self._row_set))
        for part in parts:
            if len(state[part]) != rows:
                raise ValueError(f"{part} of the solver state has {len(state[part])} rows, not {rows}")
        require_numbers(f"{name}.row_set", state[f"{name}.row_set"], 0, self._num_sets - 1)

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        rows = len(state[f"{name}.row_set"])
        super().set_state(name, state)
        self._row_set[:rows] = state[f"{name}.row_set"]
        self._row_weight[:rows] = state[f"{name}.row_weight"]
        self._row_values[:rows] = state[f"{name}.row_values"]
        self._seen[0] = state[f"{name}.seen"]
        self._generator[:] = state[f"{name}.generator"]


@compiled
def _clear(sets, action_offset, value_sums, weight_sums):
    for number in sets:
        value_sums[action_offset[number] : action_offset[number + 1]] = 0.0
        weight_sums[action_offset[number]] = 0.0


@compiled
def _add_to_sums(sets, action_offset, values, weights, value_sums, weight_sums):
    for number in sets:
        first = action_offset[number]
        if weights[first] > 0.0:
            weight_sums[first] += weights[first]
            for place in range(first, action_offset[number + 1]):
                value_sums[place] += values[place]


@compiled
def reservoir_place(seen, capacity, generator):
    """Where the next row goes (or -1: it is dropped) when `seen` rows were offered before it: algorithm R."""
    if seen < capacity:
        return seen
    place = int(uniform(generator) * (seen + 1))
    return place if place < capacity else -1


@compiled
def _offer_rows(
    sets,
    action_offset,
    values,
    weights,
    row_set,
    row_weight,
    row_values,
    seen,
    generator,
    value_sums,
    weight_sums,
):
    capacity = len(row_set)
    for number in sets:
        first = action_offset[number]
        if weights[first] <= 0.0:
            continue
        row = reservoir_place(seen[0], capacity, generator)
        if row >= 0:
            if seen[0] >= capacity:
                old_first = action_offset[row_set[row]]
                weight_sums[old_first] -= row_weight[row]
                for action in range(action_offset[row_set[row] + 1] - old_first):
                    value_sums[old_first + action] -= row_values[row, action]
            row_set[row] = number
            row_weight[row] = weights[first]
            weight_sums[first] += weights[first]
            for action in range(action_offset[number + 1] - first):
                row_values[row, action] = values[first + action]
                value_sums[first + action] += values[first + action]
        seen[0] += 1
