"""The table of information sets: against a dictionary, where hashes collide, while it grows, in and out of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.arrays.memory import GameTooLargeError
from solvers.sampling.hash_table import (
    InformationTable,
    TableContents,
    add_row,
    find_or_add,
    first_candidate,
    has_room,
    hash_key,
    header_of,
)

WORD = st.integers(-(2**63), 2**63 - 1)


def put(table: InformationTable, player: int, key: tuple[int, ...], actions: list[int]) -> int:
    """Finds or adds a row as compiled code does."""
    if not has_room(table.words, table.slots, table.size, 1, table.longest_row):
        table.grow()
    words = np.array(key, np.int64)
    key_hash = hash_key(words)
    slot = first_candidate(table.slots, key_hash)
    arrays = (table.words, table.numbers, table.slots, table.size)
    header = header_of(player, len(actions))
    return int(find_or_add(*arrays, slot, key_hash, header, words, np.array(actions, np.int64)))


@given(st.lists(st.tuples(st.integers(0, 3), st.tuples(WORD, st.integers(0, 2)), st.integers(1, 9)), max_size=300))
def test_it_is_a_dictionary(entries: list[tuple[int, tuple[int, int], int]]) -> None:
    table = InformationTable(key_words=2, max_actions=9)
    expected: dict[tuple, int] = {}
    for player, key, count in entries:
        row = put(table, player, key, list(range(count)))
        assert expected.setdefault((player, key, count), row) == row
    assert len(table) == len(expected)
    for (player, key, count), row in expected.items():
        assert put(table, player, key, list(range(count))) == row


def test_growing_keeps_everything() -> None:
    table = InformationTable(key_words=1, max_actions=4)
    random = np.random.default_rng(0)
    keys = random.permutation(6_000)
    for key in keys:
        row = put(table, key % 2, (int(key),), [1, 5, 9])
        table.numbers[row + 2 : row + 8] = key + np.arange(6) / 10
    assert len(table) == 6_000
    for key in keys[::7]:
        found = table.find(key % 2, np.array([key]), 3)
        assert found is not None
        regrets, strategy = found
        assert regrets == pytest.approx(key + np.array([0.0, 0.1, 0.2]))
        assert strategy == pytest.approx(key + np.array([0.3, 0.4, 0.5]))
    assert table.find(0, np.array([3]), 3) is None  # 3 belongs to player 1
    assert table.find(0, np.array([4]), 2) is None


def test_keys_with_equal_hashes_are_kept_apart() -> None:
    random = np.random.default_rng(1)
    keys = random.integers(0, 2**62, 200_000)
    hashes = np.array([hash_key(keys[i : i + 1]) for i in range(len(keys))])
    order = np.argsort(hashes)
    equal = np.flatnonzero(np.diff(hashes[order]) == 0)
    assert len(equal) > 0  # 200,000 keys, 2**32 hashes: about five pairs
    table = InformationTable(key_words=1, max_actions=2)
    for i in equal:
        first, second = int(keys[order[i]]), int(keys[order[i + 1]])
        rows = {put(table, 0, (first,), [0, 1]), put(table, 0, (second,), [0, 1]), put(table, 0, (first,), [0, 1])}
        assert len(rows) == 2


def test_arrays_in_and_out() -> None:
    keys = np.array([[0, 5, -7], [1, 5, -7], [0, 6, 2**62]])
    offsets = np.array([0, 2, 7, 10])
    actions = np.array([3, 65535, 0, 1, 2, 3, 40_000, 7, 8, 9])
    weights = np.arange(10) / 3
    table = InformationTable.of_contents(TableContents(keys, offsets, actions, weights))
    for written, read in zip((keys, offsets, actions, weights), table.contents(1), strict=True):
        assert np.array_equal(written, read)
    assert not table.contents(0).weights.any()

    out = np.full(20, -1.0)
    wanted = np.array([[0, 6, 2**62], [0, 9, 9], [0, 5, -7]])
    table.gather(1, wanted, (np.array([3, 2, 2]), np.array([10, 3, 0]), np.array([1, 1, 4])), out)
    assert out[10:13].tolist() == weights[7:].tolist()
    assert (out[0], out[4]) == (weights[0], weights[1])
    assert (np.delete(out, [0, 4, 10, 11, 12]) == -1.0).all()

    copy = InformationTable(key_words=2, max_actions=5)
    copy.set_rows(table.rows(), len(table))
    assert np.array_equal(copy.contents(1).weights, weights)
    for rows, num_rows in ((table.rows()[:-1], 3), (table.rows(), 2), (table.rows(), 4), (np.zeros(30, np.int64), 3)):
        with pytest.raises(ValueError, match="rows of an information table"):
            copy.set_rows(rows, num_rows)
    with pytest.raises(ValueError, match="rows of an information table"):
        copy.set_rows(table.rows(), len(table), int(actions.max()))
    copy.set_rows(table.rows(), len(table), int(actions.max()) + 1)
    assert np.array_equal(copy.contents(1).weights, weights)


def test_the_limit_is_kept() -> None:
    table = InformationTable(key_words=1, max_actions=2, max_memory_bytes=150_000)

    def fill() -> None:
        for key in range(100_000):
            put(table, 0, (key,), [0, 1])

    with pytest.raises(GameTooLargeError, match="information sets"):
        fill()
    assert 0 < len(table) < 100_000
    assert table.memory_bytes <= 150_000
    assert table.find(0, np.array([0]), 2) is not None
    assert not has_room(table.words, table.slots, table.size, 1000, table.longest_row)


def test_rows_start_as_zeros() -> None:
    table = InformationTable(key_words=1, max_actions=3)
    table.numbers[:] = np.nan
    key = np.array([8])
    add_row(table.words, table.numbers, table.slots, table.size, hash_key(key), header_of(2, 3), key, np.arange(3))
    found = table.find(2, key, 3)
    assert found is not None
    regrets, strategy = found
    assert (regrets.tolist(), strategy.tolist()) == ([0.0] * 3, [0.0] * 3)
