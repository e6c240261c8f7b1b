"""A reservoir of rows (features, target per action, weight): a uniform sample of everything that was ever offered.

Vitter's algorithm R (1985). Features of zeros and ones are stored as bits. Illegal actions have the target NaN.
Minibatches draw rows in proportion to their weights, which has the same mean as drawing them evenly and weighting the
loss, and does not let a few heavy rows decide the size of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cardtable.compiled import compiled
from cardtable.randomness import uniform
from solvers.arrays.memory import require_room
from solvers.deep_cfr.memory import reservoir_place
from solvers.learning.states import require_state


class Rows(NamedTuple):
    """Rows side by side; `features` are packed as `pack` does it, or plain numbers."""

    features: np.ndarray
    targets: np.ndarray  # float32 (rows, outputs), NaN where an action is illegal
    weights: np.ndarray  # float32 (rows)


class Reservoir:
    """Keeps at most `capacity` rows of `inputs` features and `outputs` targets."""

    def __init__(self, capacity: int, inputs: int, outputs: int, binary: bool, generator: np.ndarray) -> None:
        self.inputs = inputs
        self.binary = binary
        kind = (np.uint8, packed_size(inputs)) if binary else (np.float32, inputs)
        row_bytes = kind[1] * np.dtype(kind[0]).itemsize + 4 * outputs + 4
        require_room(capacity * row_bytes, f"a memory of {capacity:,} rows")
        self._rows = Rows(
            np.empty((capacity, kind[1]), kind[0]),
            np.empty((capacity, outputs), np.float32),
            np.empty(capacity, np.float32),
        )
        self.seen = 0
        self._generator = generator

    @property
    def capacity(self) -> int:
        return len(self._rows.weights)

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, rows: Rows, factor: float = 1.0, unit: float = 1.0) -> None:
        """Offers rows one after the other; weights are multiplied by `factor`, targets divided by `unit`."""
        _offer(*rows, factor, 1.0 / unit, *self._rows, self.seen, self._generator)
        self.seen += len(rows.weights)

    def rows(self) -> Rows:
        return Rows(*(part[: len(self)] for part in self._rows))

    def batches(
        self, size: int, count: int, random_numbers: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields `count` minibatches of plain features and targets; rows are drawn in proportion to their weights."""
        random_numbers = self._generator if random_numbers is None else random_numbers
        cumulative = np.cumsum(self._rows.weights[: len(self)], dtype=np.float64)
        drawn = np.empty(size, np.int64)
        for _ in range(count):
            _draw_rows(cumulative, drawn, random_numbers)
            yield self.unpacked(drawn), self._rows.targets[drawn]

    def unpacked(self, numbers: np.ndarray) -> np.ndarray:
        features = self._rows.features[numbers]
        return unpack(features, self.inputs) if self.binary else features

    def state(self, name: str) -> dict[str, Any]:
        rows = self.rows()
        return {
            f"{name}.features": rows.features.copy(),
            f"{name}.targets": rows.targets.copy(),
            f"{name}.weights": rows.weights.copy(),
            f"{name}.seen": self.seen,
            f"{name}.generator": self._generator.copy(),
        }

    def require_state(self, name: str, state: Mapping[str, Any]) -> None:
        """ValueError unless `set_state` can go on from it."""
        parts = {f"{name}.{what}": part for what, part in zip(Rows._fields, self._rows, strict=True)}
        like = {**parts, f"{name}.seen": self.seen, f"{name}.generator": self._generator}
        require_state(state, like, dict.fromkeys(parts, self.capacity), gaps=(f"{name}.targets",))
        rows = min(state[f"{name}.seen"], self.capacity)
        for part in parts:
            if len(state[part]) != rows:
                raise ValueError(f"{part} of the solver state has {len(state[part])} rows, not {rows}")
        if (state[f"{name}.weights"] < 0.0).any():
            raise ValueError(f"{name}.weights of the solver state has negative numbers")

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        for what, mine in zip(Rows._fields, self._rows, strict=True):
            other = state[f"{name}.{what}"]
            mine[: len(other)] = other
        self.seen = int(state[f"{name}.seen"])
        self._generator[:] = state[f"{name}.generator"]


def packed_size(inputs: int) -> int:
    return (inputs + 7) // 8


def pack(features: np.ndarray) -> np.ndarray:
    """Zeros and ones as bits, eight to a byte, the first in the lowest place; ValueError if there is anything else."""
    ones = features != 0.0
    if np.count_nonzero(ones) != features.sum(dtype=np.float64):
        raise ValueError("features have numbers other than 0 and 1, which cannot be stored as bits: use binary=False")
    return np.packbits(ones, axis=1, bitorder="little")


def unpack(packed: np.ndarray, inputs: int) -> np.ndarray:
    """Bits as float32 zeros and ones."""
    features = np.empty((len(packed), inputs), np.float32)
    _unpack(packed, features)
    return features


@compiled(nogil=True)
def _unpack(packed, features):
    for row in range(len(features)):
        for column in range(features.shape[1]):
            features[row, column] = (packed[row, column >> 3] >> (column & 7)) & 1


@compiled
def _offer(
    features, targets, weights, weight_factor, target_factor, kept_features, kept_targets, kept_weights, seen, generator
):
    for row in range(len(weights)):
        place = reservoir_place(seen + row, len(kept_weights), generator)
        if place >= 0:
            kept_features[place] = features[row]
            kept_weights[place] = weights[row] * weight_factor
            for action in range(targets.shape[1]):
                kept_targets[place, action] = targets[row, action] * target_factor


@compiled
def _draw_rows(cumulative, drawn, generator):
    for i in range(len(drawn)):
        found = np.searchsorted(cumulative, uniform(generator) * cumulative[-1], side="right")
        drawn[i] = min(found, len(cumulative) - 1)
