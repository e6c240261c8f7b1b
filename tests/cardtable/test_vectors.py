"""Rows of 32 numbers in compiled code, against numpy."""

import numpy as np
import pytest

from cardtable import vectors
from cardtable.compiled import compiled


@compiled
def everything(target, source, rows, count):
    vectors.add_row(target, 0, source, 3)
    vectors.subtract_row(target, 1, source, 4)
    vectors.add_rows(target, 2, source, rows, count)
    vectors.dense_layer(target, 4, 3, source, 5)
    vectors.copy_row(target, 5, source, 7)
    return vectors.dot(target, 2, source, 6)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_against_numpy(count: int) -> None:
    rng = np.random.default_rng(count)
    target = rng.normal(size=(6, 32)).astype(np.float32)
    source = rng.normal(size=(40, 32)).astype(np.float32)
    source.setflags(write=False)
    rows = rng.integers(40, size=5)
    expected = target.copy()
    expected[0] += source[3]
    expected[1] -= source[4]
    expected[2] += source[rows[:count]].sum(axis=0)
    expected[4] = np.maximum(np.maximum(expected[3], 0) @ source[5:37] + source[37], 0)
    expected[5] = source[7]
    found = everything(target, source, rows, count)
    assert target == pytest.approx(expected, abs=1e-4)
    assert found == pytest.approx(float(expected[2] @ source[6]), abs=1e-4)
