"""Loops over runs of numbers in compiled code, against numpy."""

import numpy as np
import pytest

from cardtable.compiled import compiled
from cardtable.elementwise import elementwise, larger, positive, share, where_positive


@elementwise("stays", "goes")
def divide(stays, goes, chances, *, factor):
    gone = stays * chances
    return stays - gone, goes + factor * gone


@elementwise("out")
def choose(out, first, second, *, least):
    total = positive(first) + positive(second)
    return where_positive(out, share(positive(first), total, least), larger(first, second))


@compiled
def both(stays, goes, chances, out, places, factor, size):
    divide(stays, places[0], goes, places[1], chances, places[2], factor, size)
    choose(out, 0, stays, places[0], goes, places[1], factor, size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 13, 16, 31, 54, 88])
def test_against_numpy(size: int, dtype: type) -> None:
    """Every length up to the last number, and not one number more."""
    rng = np.random.default_rng(size)
    stays, goes, chances, out = rng.normal(size=(4, 100)).astype(dtype)
    chances.setflags(write=False)
    places = np.array([3, 5, 7])
    factor = dtype(0.25)
    expected_stays, expected_goes, expected_out = stays.copy(), goes.copy(), out.copy()
    gone = stays[3 : 3 + size] * chances[7 : 7 + size]
    expected_stays[3 : 3 + size] -= gone
    expected_goes[5 : 5 + size] += factor * gone
    first, second = expected_stays[3 : 3 + size], expected_goes[5 : 5 + size]
    total = np.maximum(first, 0) + np.maximum(second, 0)
    with np.errstate(invalid="ignore"):
        shares = np.where(total > 0, np.maximum(first, 0) / total, factor)
    expected_out[:size] = np.where(out[:size] > 0, shares, np.maximum(first, second))
    both(stays, goes, chances, out, places, factor, size)
    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    for found, expected in ((stays, expected_stays), (goes, expected_goes), (out, expected_out)):
        assert found.dtype == dtype
        assert found == pytest.approx(expected, abs=tolerance)
