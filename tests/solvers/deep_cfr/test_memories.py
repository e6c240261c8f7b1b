"""Reservoirs: every row is equally likely to be kept, and nothing is lost or mixed up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardtable.randomness import generator
from solvers.deep_cfr.large import Snapshots
from solvers.deep_cfr.memory import MergedReservoir, Sums
from solvers.deep_cfr.reservoir import Reservoir, Rows, pack, unpack


def numbered(first: int, count: int) -> Rows:
    """Rows that carry their number in the target."""
    numbers = np.arange(first, first + count)
    features = ((numbers[:, None] >> np.arange(12)) & 1).astype(np.float32)
    return Rows(pack(features), numbers[:, None].astype(np.float32), np.ones(count, np.float32))


def test_all_rows_are_equally_likely_to_be_kept() -> None:
    kept = np.zeros(100)
    runs = 3000
    for run in range(runs):
        reservoir = Reservoir(20, 12, 1, True, generator(run))
        reservoir.add(numbered(0, 37))
        reservoir.add(numbered(37, 63))
        found = reservoir.rows()
        assert len(set(found.targets[:, 0])) == 20
        kept[found.targets[:, 0].astype(int)] += 1
    # Each row is kept with probability 1/5; six standard errors are never reached by chance.
    assert np.abs(kept / runs - 0.2).max() < 6 * np.sqrt(0.2 * 0.8 / runs)


def test_features_and_targets_stay_together() -> None:
    reservoir = Reservoir(50, 12, 1, True, generator(1))
    reservoir.add(numbered(0, 400))
    for features, targets in reservoir.batches(30, 5):
        assert ((features @ (1 << np.arange(12))) == targets[:, 0]).all()


def test_batches_draw_rows_by_weight() -> None:
    reservoir = Reservoir(4, 12, 1, True, generator(1))
    weights = np.array([1.0, 0.0, 3.0, 6.0], np.float32)
    reservoir.add(numbered(0, 4)._replace(weights=weights))
    drawn = np.concatenate([targets[:, 0] for _, targets in reservoir.batches(1000, 20)])
    shares = np.bincount(drawn.astype(int), minlength=4) / len(drawn)
    assert np.abs(shares - weights / 10).max() < 0.02
    assert shares[1] == 0.0


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 10**6))
def test_bits_are_packed_and_unpacked(columns: int, rows: int, seed: int) -> None:
    features = np.random.default_rng(seed).integers(0, 2, (rows, columns)).astype(np.float32)
    assert (unpack(pack(features), columns) == features).all()


def test_other_numbers_than_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="other than 0 and 1"):
        pack(np.array([[0.0, 0.5]], np.float32))


@pytest.mark.parametrize("capacity", [7, 1000])
def test_sums_of_a_merged_reservoir_are_those_of_its_rows(capacity: int) -> None:
    offset = np.array([0, 2, 5, 7])
    reservoir = MergedReservoir(7, 3, capacity, 3, generator(3))
    everything = Sums(7)
    random = np.random.default_rng(0)
    for _ in range(40):
        values, weights = random.standard_normal(7), np.zeros(7)
        weights[offset[:-1]] = random.integers(0, 3, 3)
        for memory in (reservoir, everything):
            memory.add(np.arange(3), offset, values, weights)
    state = reservoir.state("r")
    expected_values, expected_weights = np.zeros(7), np.zeros(7)
    for number, weight, values in zip(state["r.row_set"], state["r.row_weight"], state["r.row_values"], strict=True):
        first, last = offset[number], offset[number + 1]
        expected_weights[first] += weight
        expected_values[first:last] += values[: last - first]
    np.testing.assert_allclose(reservoir.values, expected_values, atol=1e-12)
    np.testing.assert_allclose(reservoir.weights, expected_weights, atol=1e-12)
    assert len(reservoir) == min(capacity, state["r.seen"])
    if capacity == 1000:  # nothing had to go
        np.testing.assert_allclose(reservoir.values, everything.values, atol=1e-12)


def test_snapshots_are_drawn_in_proportion_to_the_iteration() -> None:
    places, last = 4000, 5
    snapshots = Snapshots(places, 1, generator(1))
    for iteration in range(1, last + 1):
        snapshots.offer(np.array([iteration], np.float32), iteration, float(iteration))
    assert (snapshots.weights[:, 0] == snapshots.iteration).all()
    shares = np.bincount(snapshots.iteration, minlength=last + 1) / places
    assert np.abs(shares - np.arange(last + 1) / 15).max() < 6 * np.sqrt(0.25 / places)
    copy = Snapshots(places, 1, generator(2))
    copy.set_state("s", snapshots.state("s"))
    assert (copy.weights == snapshots.weights).all()
