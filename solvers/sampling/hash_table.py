"""A growing table of numbers per information set, found by exact key, for compiled code.

Everything lies in one flat array of 64-bit words, one row behind the other in the order of discovery:

    header | key words | first numbers, one per action | second numbers, one per action | action ids, four to a word

The header holds the player and the number of actions and is part of the key. What the numbers are is the business of
the solver: cumulative regrets and cumulative strategies. They are float64, seen through a second array, `numbers`, on
the same memory. A lookup touches one word of `slots` (open addressing, linear probing) and, but for one in millions of
strangers, only the row that it wants: a slot holds 23 bits of the row's hash beside its place. Keys are compared word
by word, so two information sets are never confused.

Compiled code adds rows while there is room and otherwise returns to Python, which calls `InformationTable.grow`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import compiled
from cardtable.rules import PROBABILITIES, WORDS
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.sampling.keys import hash_row

EMPTY = -1
MISSING = -1
FINGERPRINT_BITS = 23  # of the 32 bits of a hash, the highest; the lowest choose the slot
FINGERPRINT_MASK = (1 << FINGERPRINT_BITS) - 1
HASH_BITS_BELOW = 32 - FINGERPRINT_BITS

# Entries of `size`.
USED_WORDS = 0
ROWS = 1

# `InformationTable.arrays` as an argument of an entry point: words, numbers, slots, size.
TABLE_TYPE = types.Tuple((WORDS, PROBABILITIES, WORDS, WORDS))

# Small functions of the hottest loops: numba's own calls, with arrays by value, would cost more than their work.
inlined = compiled(inline="always")
hash_key = inlined(getattr(hash_row, "py_func", hash_row))

ACTION_BITS = 16
ACTIONS_PER_WORD = 64 // ACTION_BITS
PLAYER_BITS = 16  # of the header; the number of actions lies above


@inlined
def header_of(player, num_actions):
    return player | num_actions << PLAYER_BITS


@inlined
def player_of(header):
    return header & ((1 << PLAYER_BITS) - 1)


@inlined
def num_actions_of(header):
    return header >> PLAYER_BITS


@inlined
def row_length(key_words, num_actions):
    return 1 + key_words + 2 * num_actions + (num_actions + ACTIONS_PER_WORD - 1) // ACTIONS_PER_WORD


@inlined
def first_candidate(slots, key_hash):
    """The first slot on the way of this hash that is empty or may hold its row; `find_row` goes on from there."""
    mask = len(slots) - 1
    fingerprint = key_hash >> HASH_BITS_BELOW
    slot = key_hash & mask
    while slots[slot] != EMPTY and slots[slot] & FINGERPRINT_MASK != fingerprint:
        slot = (slot + 1) & mask
    return slot


@inlined
def find_row(words, slots, slot, key_hash, header, key):
    """Where the row of a key starts in `words`, or MISSING; `slot` is the first candidate."""
    mask = len(slots) - 1
    fingerprint = key_hash >> HASH_BITS_BELOW
    while True:
        entry = slots[slot]
        if entry == EMPTY:
            return MISSING
        if entry & FINGERPRINT_MASK == fingerprint:
            start = entry >> FINGERPRINT_BITS
            same = words[start] == header
            for word in range(len(key)):
                same &= words[start + 1 + word] == key[word]
            if same:
                return start
        slot = (slot + 1) & mask


@compiled
def add_row(words, numbers, slots, size, key_hash, header, key, actions):
    """Adds a row of zeros for a key that is missing; returns where it starts. There must be room."""
    start = size[USED_WORDS]
    words[start] = header
    for word in range(len(key)):
        words[start + 1 + word] = key[word]
    count = num_actions_of(header)
    action_words = start + 1 + len(key) + 2 * count
    for number in range(start + 1 + len(key), action_words):
        numbers[number] = 0.0
    end = start + row_length(len(key), count)
    for word in range(action_words, end):
        words[word] = 0
    for action in range(count):
        words[action_words + action // ACTIONS_PER_WORD] |= actions[action] << ACTION_BITS * (action % ACTIONS_PER_WORD)
    _enter(slots, key_hash, start)
    size[USED_WORDS] = end
    size[ROWS] += 1
    return start


@inlined
def find_or_add(words, numbers, slots, size, slot, key_hash, header, key, actions):
    start = find_row(words, slots, slot, key_hash, header, key)
    if start == MISSING:
        start = add_row(words, numbers, slots, size, key_hash, header, key, actions)
    return start


@inlined
def has_room(words, slots, size, rows, longest_row):
    """Whether so many more rows fit and leave the slots at most half full."""
    return size[USED_WORDS] + rows * longest_row <= len(words) and 2 * (size[ROWS] + rows) <= len(slots)


@compiled
def _enter(slots, key_hash, start):
    mask = len(slots) - 1
    slot = key_hash & mask
    while slots[slot] != EMPTY:
        slot = (slot + 1) & mask
    slots[slot] = start << FINGERPRINT_BITS | key_hash >> HASH_BITS_BELOW


@compiled
def _enter_all(words, slots, used_words, key_words):
    start = 0
    while start < used_words:
        _enter(slots, hash_key(words[start + 1 : start + 1 + key_words]), start)
        start += row_length(key_words, num_actions_of(words[start]))


@compiled
def _rows_are_sound(words, numbers, num_rows, key_words, num_actions, longest_row):
    """Whether the words are so many rows, none of them longer than allowed, with finite numbers and known actions."""
    start = 0
    for _ in range(num_rows):
        if start >= len(words):
            return False
        count = num_actions_of(words[start])
        if count < 1 or count > longest_row:
            return False
        end = start + row_length(key_words, count)
        if end - start > longest_row or end > len(words):
            return False
        action_words = start + 1 + key_words + 2 * count
        for number in range(start + 1 + key_words, action_words):
            if not np.isfinite(numbers[number]):
                return False
        for action in range(count):
            word = words[action_words + action // ACTIONS_PER_WORD]
            if word >> ACTION_BITS * (action % ACTIONS_PER_WORD) & ((1 << ACTION_BITS) - 1) >= num_actions:
                return False
        start = end
    return start == len(words)


@compiled
def _fill_rows(words, numbers, slots, size, keys, offsets, actions, weights):
    for index in range(len(keys)):
        key = keys[index, 1:]
        start, end = offsets[index], offsets[index + 1]
        header = header_of(keys[index, 0], end - start)
        row = add_row(words, numbers, slots, size, hash_key(key), header, key, actions[start:end])
        second = row + 1 + len(key) + end - start
        for action in range(end - start):
            numbers[second + action] = weights[start + action]


@compiled
def _read_rows(words, numbers, keys, offsets, actions, weights, group):
    key_words = keys.shape[1] - 1
    row = 0
    for index in range(len(keys)):
        keys[index, 0] = player_of(words[row])
        for word in range(key_words):
            keys[index, 1 + word] = words[row + 1 + word]
        count = num_actions_of(words[row])
        start = offsets[index]
        offsets[index + 1] = start + count
        for action in range(count):
            word = words[row + 1 + key_words + 2 * count + action // ACTIONS_PER_WORD]
            actions[start + action] = word >> ACTION_BITS * (action % ACTIONS_PER_WORD) & ((1 << ACTION_BITS) - 1)
            weights[start + action] = numbers[row + 1 + key_words + group * count + action]
        row += row_length(key_words, count)


@compiled
def _gather(words, numbers, slots, keys, counts, first, stride, group, weights):
    """Writes the numbers of the given keys to weights[first], weights[first + stride], ...; leaves missing ones."""
    key_words = keys.shape[1] - 1
    for index in range(len(keys)):
        key = keys[index, 1:]
        key_hash = hash_key(key)
        slot = first_candidate(slots, key_hash)
        row = find_row(words, slots, slot, key_hash, header_of(keys[index, 0], np.int64(counts[index])), key)
        if row != MISSING:
            for action in range(counts[index]):
                weight = numbers[row + 1 + key_words + group * counts[index] + action]
                weights[first[index] + action * stride[index]] = weight


class TableContents(NamedTuple):
    """A table as flat arrays: information set i has actions offsets[i] to offsets[i + 1] - 1."""

    keys: np.ndarray  # int64 (information sets, 1 + key words): player, key words
    offsets: np.ndarray  # int64
    actions: np.ndarray  # int32
    weights: np.ndarray  # float64: one of the two groups of numbers


class InformationTable:
    """The arrays of a table: `words` with `numbers` on the same memory, `slots`, and `size` (see the module)."""

    def __init__(self, key_words: int, max_actions: int, max_memory_bytes: int | None = None) -> None:
        self.key_words = key_words
        self.size = np.zeros(2, np.int64)
        self._max_memory_bytes = max_memory_bytes
        self.longest_row = int(row_length(key_words, max_actions))
        self._set_words(np.empty(max(4096, 2 * self.longest_row), np.int64))
        self.slots = np.full(1024, EMPTY, np.int64)

    def _set_words(self, words: np.ndarray) -> None:
        self.words = words
        self.numbers = words.view(np.float64)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For compiled code; others after the table has grown."""
        return self.words, self.numbers, self.slots, self.size

    def __len__(self) -> int:
        """Number of information sets."""
        return int(self.size[ROWS])

    @property
    def used_words(self) -> int:
        return int(self.size[USED_WORDS])

    @property
    def memory_bytes(self) -> int:
        """What the arrays take, room for growth included."""
        return self.words.nbytes + self.slots.nbytes

    def grow(self, rows: int = 1) -> None:
        """Makes room for so many more rows; MemoryError if that is more than allowed, and nothing has changed."""
        length, num_slots = len(self.words), len(self.slots)
        if self.used_words + rows * self.longest_row > length:
            length = max(length + length // 2, self.used_words + rows * self.longest_row)
        while 2 * (len(self) + rows) > num_slots:
            num_slots *= 2
        added = 8 * length * (length > len(self.words)) + 8 * num_slots * (num_slots > len(self.slots))
        what = f"a table of more than {len(self)} information sets"
        if self._max_memory_bytes is None:
            require_memory(added, allowed_bytes(None), what, "another")
        else:
            require_memory(self.memory_bytes + added, self._max_memory_bytes, what, "while it grows")
        self._resize(length, num_slots)

    def _resize(self, length: int, num_slots: int) -> None:
        if length > len(self.words):
            words = np.empty(length, np.int64)
            words[: self.used_words] = self.words[: self.used_words]
            self._set_words(words)
        if num_slots > len(self.slots):
            self.slots = np.full(num_slots, EMPTY, np.int64)
            _enter_all(self.words, self.slots, self.used_words, self.key_words)

    def rows(self) -> np.ndarray:
        """A copy of all rows: what a checkpoint needs."""
        return self.words[: self.used_words].copy()

    def set_rows(self, rows: np.ndarray, num_rows: int, num_actions: int = 1 << ACTION_BITS) -> None:
        """Replaces everything by the rows of another table of the same kind; ValueError if they cannot be that.

        All actions of the game are below `num_actions`.
        """
        rows = np.ascontiguousarray(rows, np.int64)
        numbers = rows.view(np.float64)
        if not _rows_are_sound(rows, numbers, num_rows, self.key_words, num_actions, self.longest_row):
            raise ValueError(f"{len(rows)} words are not {num_rows} rows of an information table")
        self._set_words(np.empty(max(4096, len(rows) + 2 * self.longest_row), np.int64))
        self.words[: len(rows)] = rows
        self.size[:] = len(rows), num_rows
        self.slots = np.full(max(1024, 1 << (2 * num_rows).bit_length()), EMPTY, np.int64)
        _enter_all(self.words, self.slots, len(rows), self.key_words)

    def find(self, player: int, key: np.ndarray, num_actions: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Copies of the two groups of numbers of an information set, or None."""
        key_hash = hash_key(key)
        slot = first_candidate(self.slots, key_hash)
        start = int(find_row(self.words, self.slots, slot, key_hash, header_of(player, num_actions), key))
        if start == MISSING:
            return None
        first = start + 1 + self.key_words
        numbers = self.numbers[first : first + 2 * num_actions].copy()
        return numbers[:num_actions], numbers[num_actions:]

    def contents(self, group: int) -> TableContents:
        """All information sets with their first (0) or second (1) numbers."""
        fixed = row_length(self.key_words, 0)
        most_actions = (self.used_words - fixed * len(self)) // 2  # two numbers each, and the words for their ids
        keys = np.empty((len(self), 1 + self.key_words), np.int64)
        offsets = np.zeros(len(self) + 1, np.int64)
        actions, weights = np.empty(most_actions, np.int32), np.empty(most_actions)
        _read_rows(self.words, self.numbers, keys, offsets, actions, weights, group)
        return TableContents(keys, offsets, actions[: offsets[-1]].copy(), weights[: offsets[-1]].copy())

    def gather(self, group: int, keys: np.ndarray, places: tuple[np.ndarray, ...], out: np.ndarray) -> None:
        """Writes the numbers of many information sets into `out`; leaves those that are missing.

        `places` are, per information set, (number of actions, first position, distance between positions).
        """
        _gather(self.words, self.numbers, self.slots, keys, *places, group, out)

    @classmethod
    def of_contents(cls, contents: TableContents) -> InformationTable:
        """A table whose second numbers are the weights; the information sets must all be different."""
        keys, offsets, actions, weights = contents
        counts = np.diff(offsets)
        table = cls(keys.shape[1] - 1, int(counts.max(initial=1)))
        length = sum(int(row_length(table.key_words, count)) * n for count, n in enumerate(np.bincount(counts)))
        table._resize(length, 1 << (2 * len(keys)).bit_length())
        keys = np.ascontiguousarray(keys, np.int64)
        _fill_rows(*table.arrays, keys, offsets.astype(np.int64), actions.astype(np.int64), weights.astype(np.float64))
        return table
