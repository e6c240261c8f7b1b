"""The run loop on a trainer that only counts: when it looks, when it stops, and what a killed run loses (nothing)."""

import csv
import os
import signal
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from cardtable.parameters import UserError
from cardtable.player import Player
from experiments.running.interruptions import InterruptedRunError
from experiments.running.loop import Clock, Limits, Run, Task, evaluation_points
from solvers.learning.trainer import CannotResumeError


class Counter:
    """Its figure is 1 / iterations. `at` says what happens when an iteration begins."""

    def __init__(self, at: Mapping[int, Any] | None = None, work: float = 0.0) -> None:
        self.iterations = 0
        self.longest = 0
        self._at, self._work = at or {}, work

    def run(self, iterations: int) -> None:
        self.longest = max(self.longest, iterations)
        for _ in range(iterations):
            _work(self._work)
            self._at.get(self.iterations, lambda: None)()
            self.iterations += 1

    def metrics(self) -> dict[str, float]:
        return {"gap": 1 / self.iterations, "nodes": 3 * self.iterations}

    def identity(self) -> dict[str, Any]:
        return {"game": "counting", "rules_version": 1}

    def get_state(self) -> dict[str, Any]:
        return {"iterations": self.iterations}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.iterations = state["iterations"]

    def player(self) -> Player:
        raise NotImplementedError("a trainer has one, but nobody asks this one to play")


def _work(seconds: float) -> None:
    """Uses so much of the CPU."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Forgetful(Counter):
    def get_state(self) -> dict[str, Any]:
        raise CannotResumeError("it forgets everything")


class KilledError(Exception):
    """Ends a run as a kill does: without a last word."""


def go(trainer: Counter, path: Path, limits: Limits, resume: bool = False, fail_at: int = 0) -> list[tuple]:
    def evaluate(clock: Clock, last: bool) -> dict[str, float]:
        if trainer.iterations == fail_at:
            raise KilledError
        return {**trainer.metrics(), "last": int(last)}

    task = Task(
        "counting", trainer, {"to": "infinity"}, evaluate, lambda: ["A remark."], lambda rows: None, "none", growth=1.5
    )
    Run(task, path, limits, resume=resume, checkpoint_seconds=0.0).go()
    return rows_in(path)


def rows_in(path: Path) -> list[tuple]:
    with (path / "metrics.csv").open() as file:
        return [(int(row["step"]), float(row["gap"]), int(row["nodes"])) for row in csv.DictReader(file)]


def test_points_have_growing_distances() -> None:
    assert list(islice(evaluation_points(1.5), 9)) == [1, 2, 3, 4, 6, 9, 13, 19, 28]


def test_a_run_looks_at_the_points_and_at_its_end(tmp_path: Path) -> None:
    rows = go(Counter(), tmp_path, Limits(iterations=20))
    assert [step for step, _, _ in rows] == [1, 2, 3, 4, 6, 9, 13, 19, 20]
    assert rows[-1] == (20, 0.05, 60), "counts are integers in the file"
    with (tmp_path / "metrics.csv").open() as file:
        assert [row["last"] for row in csv.DictReader(file)] == ["0"] * 8 + ["1"]
    report = (tmp_path / "report.md").read_text()
    assert "20 iterations" in report
    assert "A remark." in report


def test_what_is_measured_at_the_end_alone_is_in_the_report(tmp_path: Path) -> None:
    """In a wide table, of which the first and the last row are shown."""

    def evaluate(clock: Clock, last: bool) -> dict[str, float]:
        figures = {f"figure {number}": float(number) for number in range(9)}
        return figures | {"at the end": 7.25} if last else figures

    task = Task("counting", Counter(), {}, evaluate, list, lambda rows: None, "none")
    Run(task, tmp_path, Limits(iterations=3)).go()
    assert "| at the end | – | 7.25 |" in (tmp_path / "report.md").read_text()


def test_a_run_stops_at_its_target(tmp_path: Path) -> None:
    rows = go(Counter(), tmp_path, Limits(iterations=1000, target=("gap", 0.1)))
    assert rows[-1][0] == 13
    assert rows[-2][1] > 0.1 >= rows[-1][1]


def test_a_run_stops_when_its_seconds_are_over(tmp_path: Path) -> None:
    trainer = Counter(work=0.01)
    go(trainer, tmp_path / "some", Limits(seconds=0.3))
    assert 10 <= trainer.iterations <= 40
    idle = Counter({5: lambda: time.sleep(0.5)}, work=0.01)  # others have the machine, as they may at any time
    go(idle, tmp_path / "idle", Limits(seconds=0.3))
    assert 10 <= idle.iterations <= 40
    assert go(Counter(), tmp_path / "none", Limits(seconds=0.0)) == [(1, 1.0, 3)], "but not before it has begun"


def test_pieces_grow_while_they_are_short(tmp_path: Path) -> None:
    trainer = Counter()
    go(trainer, tmp_path, Limits(iterations=5000))
    assert trainer.longest > 100


@pytest.mark.parametrize("fail_at", [1, 4, 9, 13])
def test_no_row_is_lost_when_killed_between_checkpoint_and_evaluation(fail_at: int, tmp_path: Path) -> None:
    """The checkpoint of the iteration is there, its row is not: it is the first thing that a resumed run makes."""
    with pytest.raises(KilledError):
        go(Counter(), tmp_path / "killed", Limits(iterations=20), fail_at=fail_at)
    resumed = Counter()
    rows = go(resumed, tmp_path / "killed", Limits(iterations=20), resume=True)
    assert rows == go(Counter(), tmp_path / "whole", Limits(iterations=20))


@pytest.mark.parametrize("killed_at", [0, 1, 5, 11])
def test_no_row_is_written_twice_or_lost_when_killed_in_training(killed_at: int, tmp_path: Path) -> None:
    def kill() -> None:
        raise KilledError

    with pytest.raises(KilledError):
        go(Counter({killed_at: kill}), tmp_path / "killed", Limits(iterations=20))
    with (tmp_path / "killed" / "metrics.csv").open("a") as file:
        file.write("99,torn")
    rows = go(Counter(), tmp_path / "killed", Limits(iterations=20), resume=True)
    assert rows == go(Counter(), tmp_path / "whole", Limits(iterations=20))


def test_a_finished_run_that_is_resumed_only_writes_its_results(tmp_path: Path) -> None:
    before = go(Counter(), tmp_path, Limits(iterations=6))
    again = Counter()
    assert go(again, tmp_path, Limits(iterations=6), resume=True) == before
    assert again.iterations == 6
    assert again.longest == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_says_how_to_go_on(number: int, tmp_path: Path) -> None:
    handler = signal.getsignal(number)
    stopped = Counter({5: lambda: os.kill(os.getpid(), number)})
    with pytest.raises(
        InterruptedRunError, match=r"after .* iterations; the same command with --resume goes on"
    ) as stop:
        go(stopped, tmp_path / "stopped", Limits(iterations=20))
    assert stop.value.exit_code == 128 + number
    assert signal.getsignal(number) is handler
    assert stopped.iterations < 20
    rows = go(Counter(), tmp_path / "stopped", Limits(iterations=20), resume=True)
    assert rows == go(Counter(), tmp_path / "whole", Limits(iterations=20))


def test_who_cannot_be_resumed_leaves_no_checkpoint(tmp_path: Path) -> None:
    go(Forgetful(), tmp_path, Limits(iterations=6))
    assert not (tmp_path / "checkpoint.npz").exists()
    with pytest.raises(UserError, match="it forgets everything"):
        go(Forgetful(), tmp_path, Limits(iterations=9), resume=True)
