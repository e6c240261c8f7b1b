"""Exact information-state keys as rows of integers, and the hash table that finds them.

A row is (player, key word, key word, ...). The table is open addressing with linear probing over row numbers; rows are
compared word by word, so two information states are never confused, however the hash falls.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled

EMPTY = -1


@compiled
def hash_row(row):
    """A 32-bit hash; all intermediate values stay below 2**63, so that compiled and plain Python agree."""
    h = 0x9E3779B9
    for word in row:
        for half in (word & 0xFFFFFFFF, (word >> 32) & 0xFFFFFFFF):
            h = (h ^ half) * 0x5BD1E995
            h = (h ^ (h >> 29)) & 0xFFFFFFFF
    h = h * 0x2C1B3C6D
    return (h ^ (h >> 31)) & 0xFFFFFFFF


@compiled
def find_slot(table, rows, row):
    """The slot of `table` that holds the number of `row`, or the empty slot where it belongs."""
    mask = len(table) - 1
    slot = hash_row(row) & mask
    while True:
        index = table[slot]
        if index == EMPTY:
            return slot
        same = True
        for word in range(len(row)):
            if rows[index, word] != row[word]:
                same = False
                break
        if same:
            return slot
        slot = (slot + 1) & mask


@compiled
def build_table(rows, count, table):
    """Enters the first `count` rows, all different, into an empty table whose size is a power of two."""
    for slot in range(len(table)):
        table[slot] = EMPTY
    for index in range(count):
        table[find_slot(table, rows, rows[index])] = index


@compiled
def find_rows(table, rows, wanted, found):
    """The numbers of many rows; -1 where there is none."""
    for i in range(len(wanted)):
        found[i] = table[find_slot(table, rows, wanted[i])]


class KeyIndex:
    """Finds the number of an information state among the rows of a table."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = np.ascontiguousarray(rows, np.int64)
        self.table = np.empty(1 << max(4, (2 * len(rows)).bit_length()), np.int32)
        build_table(self.rows, len(rows), self.table)

    def find(self, row: np.ndarray) -> int:
        """The number of `row`, or -1."""
        return int(self.table[find_slot(self.table, self.rows, row)])

    def find_all(self, rows: np.ndarray) -> np.ndarray:
        """The number of each of `rows`, or -1."""
        found = np.empty(len(rows), np.int64)
        find_rows(self.table, self.rows, np.ascontiguousarray(rows, np.int64), found)
        return found
