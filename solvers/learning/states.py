"""States that come from a file, looked at before anything is changed by them.

A trainer hands over what a state of it looks like: its own arrays and values. A state fits if it has the same names,
types and shapes, and numbers that are numbers. Positions are no numbers like others, as compiled code believes them: a
state holds the ways that lead to them (`cardtable.ways`).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from cardtable.rules import Rules
from cardtable.ways import choices, walked, ways_to

MOST = 1 << 53  # of anything counted


def require_state(
    state: Mapping[str, Any], like: Mapping[str, Any], rows: Mapping[str, int] | None = None, gaps: Collection[str] = ()
) -> None:
    """ValueError unless the state has everything that is in `like`, as it is there.

    `rows` are arrays of any length up to the given one. `gaps` may hold NaN, which means that there is no number.
    """
    missing = sorted(set(like) - set(state))
    if missing:
        raise ValueError(f"the solver state lacks {', '.join(missing)}")
    for name, own in like.items():
        most_rows = None if rows is None else rows.get(name)
        problem = (
            _array_problem(state[name], own, most_rows, name in gaps)
            if isinstance(own, np.ndarray)
            else _value_problem(state[name], own, name in gaps)
        )
        if problem:
            raise ValueError(f"{name} of the solver state {problem}")


def require_numbers(name: str, array: np.ndarray, lowest: int, highest: int) -> None:
    """ValueError unless all whole numbers of an array lie between two, both included: places in something else."""
    if array.size and not (lowest <= array.min() and array.max() <= highest):
        raise ValueError(f"{name} of the solver state has numbers outside of {lowest} to {highest}")


def with_ways(state: Mapping[str, Any], rules: Rules, positions: Collection[str]) -> dict[str, Any]:
    """The same state with ways in the place of positions: as it is handed over, and filed."""
    return {**state, **{name: ways_to(rules, state[name]) for name in positions}}


def with_positions(state: Mapping[str, Any], rules: Rules, most_rows: Mapping[str, int]) -> dict[str, Any]:
    """The positions, each of so many at most, in the place of the ways to them; ValueError if they are none."""
    found = dict(state)
    for name in sorted(set(most_rows) & set(state)):
        try:
            found[name] = walked(rules, state[name], most_rows[name])
        except ValueError as error:
            raise ValueError(f"{name} of the solver state: {error}") from None
    return found


def require_choices(name: str, rules: Rules, positions: np.ndarray, counts: np.ndarray) -> None:
    """ValueError unless there is a choice in every position, among as many legal actions as it says."""
    if (counts < 1).any() or (choices(rules, positions) != counts).any():
        raise ValueError(f"{name} of the solver state is not how many legal actions there are")


def _array_problem(value: Any, own: np.ndarray, most_rows: int | None, gaps: bool) -> str | None:
    if not isinstance(value, np.ndarray):
        return f"is {type(value).__name__}, not an array"
    if value.dtype != own.dtype and not value.dtype.kind == own.dtype.kind == "U":
        return f"has the type {value.dtype}, not {own.dtype}"
    if most_rows is not None:
        if value.ndim != own.ndim or value.shape[1:] != own.shape[1:] or len(value) > most_rows:
            return f"has shape {value.shape}; allowed: up to {(most_rows, *own.shape[1:])}"
    elif value.shape != own.shape:
        return f"has shape {value.shape}, not {own.shape}"
    if value.dtype.kind == "f" and not _all_finite(value, gaps):
        return "has entries that are no finite numbers"
    if value.shape == () and value.dtype.kind == "i" and not 0 <= value <= MOST:
        return f"is {int(value)}; allowed: 0 to {MOST}"
    return None


def _all_finite(value: np.ndarray, gaps: bool) -> bool:
    return not np.isinf(value).any() if gaps else bool(np.isfinite(value).all())


def _value_problem(value: Any, own: Any, gaps: bool) -> str | None:
    if isinstance(own, bool) or not isinstance(own, numbers.Real):
        return None if type(value) is type(own) else f"is {type(value).__name__}, not {type(own).__name__}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return f"is {type(value).__name__}, not a number"
    if isinstance(own, numbers.Integral):
        counts = isinstance(value, numbers.Integral) and 0 <= int(value) <= MOST
        return None if counts else f"is {value!r}; allowed: whole numbers from 0 to {MOST}"
    return None if math.isfinite(value) or (gaps and math.isnan(value)) else f"is {value!r}, not a finite number"
