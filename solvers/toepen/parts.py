"""Blocks over views (`solvers.toepen.blocks`) arranged for a walk that asks for many views of one context.

All views of a context (memory, seat, turn, order of leaders) stand in a table of their own, their numbers next to each
other: a part. A part is found once for a node of the walk and is small enough for the processor's nearest caches, where
the table of all views is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable.compiled import compiled
from solvers.toepen.blocks import CONTEXT, FREE, LABELS, PLACES, START, Blocks

WORD, FIRST, MASK = range(3)  # columns of contexts: its word, where its table starts, and the length of that less one
NO_PART = -1  # as a word
SPREAD, SHIFT = 0x1E3779B97F4A7C15, 38  # which bits of a product say where to look


class Parts(NamedTuple):
    contexts: np.ndarray  # by open addressing
    keys: np.ndarray  # the first words of views, part by part, each by open addressing
    starts: np.ndarray  # where the numbers of a view start; FREE if there is no view


def parts_of(blocks: Blocks, base: int) -> tuple[Parts, np.ndarray]:
    """The same policy; its numbers, in their new order, are to stand behind `base` others."""
    entries = blocks.slots[blocks.slots[:, START] != FREE]
    # Without betting a view with one label has no numbers, and starts where the next one does.
    by_start = entries[np.lexsort((entries[:, LABELS], entries[:, START]))]
    lengths = np.diff(np.append(by_start[:, START], len(blocks.numbers)))
    order = np.argsort(by_start[:, CONTEXT], kind="stable")
    entries, lengths = by_start[order], lengths[order]
    new = np.cumsum(lengths) - lengths
    numbers = blocks.numbers[np.repeat(entries[:, START] - new, lengths) + np.arange(lengths.sum())]
    words, firsts, counts = np.unique(entries[:, CONTEXT], return_index=True, return_counts=True)
    sizes = np.array([1 << max(1, (2 * int(count)).bit_length()) for count in counts], np.int64)
    tables = 1 + np.cumsum(sizes) - sizes  # in front a free place, for contexts without a part
    contexts = np.zeros((1 << max(4, (2 * len(words)).bit_length()), 3), np.int64)
    contexts[:, WORD] = NO_PART
    keys = np.zeros(1 + int(sizes.sum()), np.int64)
    starts = np.full(len(keys), FREE, np.int64)
    for word, table, size in zip(words.tolist(), tables.tolist(), sizes.tolist(), strict=True):
        contexts[part_of(contexts, word)] = word, table, size - 1
    _enter(keys, starts, tables, sizes - 1, firsts, counts, entries[:, PLACES].copy(), base + new)
    return Parts(contexts, keys, starts), numbers


@compiled
def part_of(contexts, word):
    """The row of a context, or the one where it belongs: that leads to a free place."""
    mask = len(contexts) - 1
    row = (word * SPREAD >> SHIFT) & mask
    while contexts[row, WORD] != word and contexts[row, WORD] != NO_PART:
        row = (row + 1) & mask
    return row


@compiled
def place_of(keys, starts, first, mask, places):
    """Where a view stands in its part, or the free place where it belongs."""
    place = (places * SPREAD >> SHIFT) & mask
    while starts[first + place] != FREE and keys[first + place] != places:
        place = (place + 1) & mask
    return first + place


@compiled
def _enter(keys, starts, tables, masks, firsts, counts, places, values):
    for part in range(len(tables)):
        for entry in range(firsts[part], firsts[part] + counts[part]):
            place = place_of(keys, starts, tables[part], masks[part], places[entry])
            keys[place] = places[entry]
            starts[place] = values[entry]
