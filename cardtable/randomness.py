"""Random numbers inside compiled code, from a one-word generator that the caller owns.

The generator is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the state
is a counter, the output a hash of it. A generator is a `uint64` array of length one, so that compiled code can move it
on. `generators` makes independent ones from one `numpy.random.SeedSequence`; the same seed gives the same numbers,
compiled or not.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from cardtable.compiled import JIT_DISABLED, compiled


def generators(seed: int | np.random.SeedSequence | None, count: int) -> np.ndarray:
    """`count` independent generators as a (count, 1) array; row i is one generator."""
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return sequence.generate_state(count, np.uint64).reshape(count, 1)


def generator(seed: int | np.random.SeedSequence | None = None) -> np.ndarray:
    """One generator."""
    return generators(seed, 1)[0]


def streams(seed: int, path: tuple[int, ...], numbers: np.ndarray | range) -> np.ndarray:
    """One generator for each number (of a deal, say), as a (count, 2) array: the same wherever the number turns up.

    A row is a generator like any other, with a second word that stays what it is: whoever wants one draw for a whole
    game, such as which of several networks to play it with, takes it from there (`lot`).
    """
    return streams_of_paths(seed, (path,), numbers)[0]


def streams_of_paths(seed: int, paths: Sequence[tuple[int, ...]], numbers: np.ndarray | range) -> np.ndarray:
    """`streams` of several paths at once, (paths, count, 2): for few numbers that takes hardly longer than one path."""
    counters = np.asarray(numbers, np.uint64).reshape(1, -1, 1) * _GAMMA
    return _scrambled(_scrambled(counters + np.stack([_start(seed, path) for path in paths])[:, None, :]))


@functools.lru_cache(maxsize=1024)  # environments ask again for every game
def _start(seed: int, path: tuple[int, ...]) -> np.ndarray:
    return np.random.SeedSequence(seed, spawn_key=path).generate_state(2, np.uint64)


def lot(stream: np.ndarray, n: int) -> np.ndarray:
    """For rows of `streams`: a whole number from 0 to n - 1 that does not change while the generators move on."""
    return (_scrambled(np.atleast_2d(stream)[:, 1] + _GAMMA) % np.uint64(n)).astype(np.int64)


_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _scrambled(z: np.ndarray) -> np.ndarray:
    """splitmix64's hash of each word; products of arrays wrap around as they should, and numpy says nothing."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


if JIT_DISABLED:
    _WORD = (1 << 64) - 1

    def next_word(generator):
        """The next 64 random bits."""
        counter = (int(generator[0]) + 0x9E3779B97F4A7C15) & _WORD
        generator[0] = counter
        z = ((counter ^ (counter >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        return z ^ (z >> 31)

else:

    @compiled
    def next_word(generator):
        """The next 64 random bits."""
        generator[0] += np.uint64(0x9E3779B97F4A7C15)
        z = generator[0]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@compiled
def below(generator, n):
    """A whole number from 0 to n - 1, exactly uniform (Lemire 2019: multiply, reject uneven cases); n < 2**31."""
    product = _high_half(generator) * n
    if product & 0xFFFFFFFF < n:
        uneven = (0x100000000 - n) % n
        while product & 0xFFFFFFFF < uneven:
            product = _high_half(generator) * n
    return product >> 32


@compiled
def uniform(generator):
    """A float in [0, 1) with 53 random bits."""
    return np.int64(next_word(generator) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _high_half(generator):
    return np.int64(next_word(generator) >> np.uint64(32))


@compiled
def sample_index(generator, probabilities, n):
    """Index of one of the first n probabilities, drawn with them; they sum to one up to rounding."""
    left = uniform(generator)
    for index in range(n - 1):
        left -= probabilities[index]
        if left < 0.0:
            return index
    return n - 1
