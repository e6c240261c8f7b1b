"""Every game and transform in random variants beside its plain rules: a little in the quick tests, much in the long."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing.lockstep import FUZZED, fuzz

DECISIONS = int(os.environ.get("FUZZ_DECISIONS", "100000"))  # of each game, in the long tests


@pytest.mark.parametrize("name", FUZZED)
def test_random_variants_follow_the_plain_rules(name: str) -> None:
    @settings(max_examples=6)
    @given(st.integers(0, 2**32 - 1))
    def play(seed: int) -> None:
        assert fuzz(name, seed, 1, games_a_variant=2)["decisions"] > 0

    play()


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZED)
def test_many_random_variants_follow_the_plain_rules(name: str) -> None:
    """Another seed every time; the message of a failure names it."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"python -m tests.fuzzing.lockstep {name} {DECISIONS} {seed}")
    found = fuzz(name, seed, DECISIONS)
    assert found["variants"] > 1
