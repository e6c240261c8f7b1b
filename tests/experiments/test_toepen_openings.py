"""Hands in tenths by what they are worth: both seats side by side, though their tenths need not hold the same hands."""

from __future__ import annotations

import math

import pytest

from experiments.toepen.openings import tenths


def test_a_hand_that_fills_more_than_a_tenth_in_one_seat_only() -> None:
    """Four hands: the most frequent one is the best when leading and the second worst when not."""
    chances = {"a": 0.1, "b": 0.08, "c": 0.15, "d": 0.67}
    leading, second = {"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 1, "d": 2, "b": 3, "c": 4}
    rows = [
        {"hand": hand, "probability": chance, "value": leading[hand], "bets": 0.5, "value_second": second[hand]}
        | {"calls": 0.25}
        for hand, chance in chances.items()
    ]
    found = {row["tenth"]: (row["worth leading"], row["worth second"]) for row in tenths(rows)}
    # The middles of the hands are at .05, .14, .255, .665 when leading, at .05, .435, .81, .925 when not.
    assert {tenth: value for tenth, (value, _) in found.items() if not math.isnan(value)} == pytest.approx(
        {1: 1, 2: 2, 3: 3, 7: 4}
    )
    assert {tenth: value for tenth, (_, value) in found.items() if not math.isnan(value)} == pytest.approx(
        {1: 1, 5: 2, 9: 3, 10: 4}
    )
