import sys

import numpy as np

from cardtable.compiled import compiled
from cardtable.memory_hints import borrowed, prefetch


@compiled
def double_all(rows, times):
    mine = borrowed(rows)
    for _ in range(times):
        for index in range(len(mine)):
            prefetch(mine, index)
            row = mine[index]
            for place in range(len(row)):
                row[place] *= 2
    return mine[0, 0]


def test_a_borrowed_array_is_the_same_memory_and_is_never_freed() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    references = sys.getrefcount(rows)
    assert double_all(rows, 2) == 0.0
    assert rows.tolist() == [[0.0, 4.0, 8.0], [12.0, 16.0, 20.0]]
    for _ in range(100):
        double_all(rows, 0)
    assert sys.getrefcount(rows) == references
