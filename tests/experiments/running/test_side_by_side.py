"""Pieces of work in several processes come back complete and in order."""

import os

import pytest

from experiments.running.side_by_side import side_by_side


def square_and_process(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def refuse(number: int) -> int:
    raise ValueError(f"not {number}")


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers: int) -> None:
    found = list(side_by_side(square_and_process, range(5), workers, "squares"))
    assert [square for square, _ in found] == [0, 1, 4, 9, 16]
    assert (os.getpid() in {process for _, process in found}) == (workers == 1)


def test_what_goes_wrong_in_a_process_is_said() -> None:
    with pytest.raises(ValueError, match="not 7"):
        list(side_by_side(refuse, [7], 2, "refusals"))
