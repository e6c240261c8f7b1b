"""What Double DQN and NFSP remember: transitions in a ring, decisions in a reservoir. Positions are state arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solvers.arrays.memory import require_room
from solvers.learning.states import require_state


class Ring:
    """The latest rows of several arrays; or, as a `reservoir`, an even sample of all rows ever added (algorithm R)."""

    def __init__(self, rows: int, columns: Mapping[str, tuple[Any, tuple[int, ...]]], reservoir: bool = False) -> None:
        """`columns`: type and shape of a row of each array."""
        bytes_each = sum(np.dtype(kind).itemsize * int(np.prod(shape)) for kind, shape in columns.values())
        require_room(float(rows) * bytes_each, f"a memory of {rows:,} rows")
        self.arrays = {name: np.zeros((rows, *shape), kind) for name, (kind, shape) in columns.items()}
        self.rows = rows
        self.added = 0
        self._reservoir = reservoir

    def __len__(self) -> int:
        return min(self.added, self.rows)

    def add(self, new: Mapping[str, np.ndarray], random: np.random.Generator) -> None:
        count = len(next(iter(new.values())))
        numbers = self.added + np.arange(count)
        places = numbers % self.rows
        if self._reservoir:
            drawn = random.integers(0, numbers + 1)
            places = np.where(numbers < self.rows, numbers, drawn)
        kept = np.flatnonzero(places < self.rows)
        for name, array in self.arrays.items():
            array[places[kept]] = new[name][kept]
        self.added += count

    def draw(self, count: int, random: np.random.Generator) -> dict[str, np.ndarray]:
        rows = random.integers(0, len(self), count)
        return {name: array[rows] for name, array in self.arrays.items()}

    def state(self, name: str) -> dict[str, Any]:
        held = {f"{name}.{column}": array[: len(self)].copy() for column, array in self.arrays.items()}
        return {**held, f"{name}.added": self.added}

    def require_state(self, name: str, state: Mapping[str, Any]) -> None:
        like = {f"{name}.{column}": array for column, array in self.arrays.items()}
        require_state(state, {**like, f"{name}.added": self.added}, dict.fromkeys(like, self.rows))
        if {len(state[column]) for column in like} != {min(int(state[f"{name}.added"]), self.rows)}:
            raise ValueError(f"{name} of the solver state has not as many rows as were added")

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        self.added = int(state[f"{name}.added"])
        for column, array in self.arrays.items():
            array[: len(self)] = state[f"{name}.{column}"]
