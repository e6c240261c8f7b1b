import math

import numpy as np

from cardtable.randomness import below, generator, generators, next_word, sample_index, uniform


def test_splitmix64_reference_sequence() -> None:
    """First outputs for seed 1234567, as listed in the reference implementations of splitmix64."""
    stream = np.array([1234567], np.uint64)
    assert [int(next_word(stream)) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_seeds() -> None:
    assert generator(5) == generator(5)
    assert generator(5) != generator(6)
    assert len(np.unique(generators(5, 1000))) == 1000


def test_below_is_uniform() -> None:
    stream = generator(1)
    n, draws = 7, 70_000
    counts = np.bincount([below(stream, n) for _ in range(draws)], minlength=n)
    assert len(counts) == n
    chi_square = ((counts - draws / n) ** 2 / (draws / n)).sum()
    assert chi_square < 22.5  # 0.999 quantile with 6 degrees of freedom


def test_uniform_and_sample_index() -> None:
    stream = generator(2)
    values = np.array([uniform(stream) for _ in range(20_000)])
    assert 0 <= values.min() < values.max() < 1
    assert abs(values.mean() - 0.5) < 4 * math.sqrt(1 / 12 / 20_000)
    probabilities = np.array([0.2, 0.0, 0.8])
    counts = np.bincount([sample_index(stream, probabilities, 3) for _ in range(20_000)], minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 4_000) < 4 * math.sqrt(20_000 * 0.2 * 0.8)
