"""The one loop that drives every trainer: limits, evaluations, progress, checkpoints, resuming, results.

A front door says what is trained and what is worth knowing about it (`Task`), and when to stop (`Limits`). All that a
run does and writes is here.

*Evaluations* come after 1, 2, 3, ... iterations with growing distances, the same whatever interrupts a run, and at its
end. *Checkpoints* come by the clock. A checkpoint holds the trainer, the seconds so far and all rows of metrics.csv up
to there: a run that goes on puts that table back, so that no row is lost or written twice wherever the last one was
killed. An evaluation that was due at the checkpoint and is not in its table comes first.

Seconds are CPU seconds of training, so that equal seconds mean equally much whatever else the machine does; evaluation
is not counted, unless it asks for it (`Clock`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cardtable.parameters import UserError
from cardtable.player import PLAYER_FILE, write_player_file
from experiments.running import tables
from experiments.running.checkpoints import load_checkpoint, save_checkpoint
from experiments.running.directory import RunDirectory
from experiments.running.interruptions import InterruptedRunError, stopping_between_pieces
from solvers.learning.trainer import CannotResumeError, Trainer
from solvers.policies import POLICY_FILE, TablePolicy, save_policy

Row = dict[str, float]  # a row of metrics.csv: step, seconds, and what the task evaluates; counts are integers

PIECE_SECONDS = 0.5  # of training without a look at limits, checkpoints and Ctrl-C, where iterations are that short
ROWS_SHOWN = 12
WIDEST_TABLE = 8  # tables with more columns are shown as first and last row side by side


class Clock:
    """Adds up the seconds of what happens inside `with clock:`."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self.seconds = 0.0
        self._timer = timer

    def __enter__(self) -> None:
        self._start = self._timer()

    def __exit__(self, *_: object) -> None:
        self.seconds += self._timer() - self._start


@dataclass(frozen=True)
class Limits:
    """When a run is over: whatever comes first. Every run has at least one iteration."""

    iterations: int | None = None
    seconds: float | None = None
    target: tuple[str, float] | None = None  # a figure of the evaluations, and how low it has to be

    def share_done(self, iterations: int, seconds: float, rows: Sequence[Row]) -> float:
        if iterations == 0:
            return 0.0
        shares = [0.0]
        if self.iterations is not None:
            shares.append(iterations / self.iterations)
        if self.seconds is not None:
            shares.append(seconds / max(self.seconds, 1e-9))
        if self.target is not None and rows and rows[-1][self.target[0]] <= self.target[1]:
            shares.append(1.0)
        return min(max(shares), 1.0)


@dataclass(frozen=True)
class Task:
    """What is trained, and what is told about it."""

    title: str
    trainer: Trainer
    config: Mapping[str, Any]  # as in config.json; a run can only be resumed with the same
    evaluate: Callable[[Clock, bool], Mapping[str, float]]  # the figures of a row; the flag says that it is the last
    remarks: Callable[[], Sequence[str]]  # sentences for the report
    draw: Callable[[Sequence[Row]], Figure | None]
    picture: str  # the name of what is drawn
    shown: tuple[str, ...] = ()  # figures beside the progress bar
    policy: Callable[[], TablePolicy] | None = None  # what is saved as a player at the end, if it is a table; or
    save_player: Callable[[Path, Mapping[str, Any]], None] | None = None  # writes the player into a folder
    growth: float = 1.15  # each evaluation comes after so many times the iterations of the one before
    timer: Callable[[], float] = time.process_time


def evaluation_points(growth: float) -> Iterator[int]:
    """1, 2, 3, ... with growing distances."""
    point = 1
    while True:
        yield point
        point = max(point + 1, int(point * growth))


class Run:
    """A task in a run directory, new or resumed."""

    def __init__(
        self,
        task: Task,
        path: str | Path,
        limits: Limits,
        *,
        resume: bool = False,
        overwrite: bool = False,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.task, self.trainer, self.limits = task, task.trainer, limits
        self.path = Path(path)
        self.rows: list[Row] = []
        self.clock = Clock(task.timer)
        self._checkpoint = self.path / "checkpoint.npz"
        self._checkpoint_seconds = checkpoint_seconds
        self._cannot_resume = ""
        self._piece = 1
        self.directory = RunDirectory(self.path, task.config, resume=resume, overwrite=overwrite)
        if resume:
            try:
                self._restore()
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                self.directory.close()
                raise _not_resumed(self._checkpoint, error) from None
        self._saved_at = time.monotonic()

    # ------------------------------------------------------------------------------------------ checkpoints

    def _restore(self) -> None:
        """Goes on from the checkpoint; from the start if the run was killed before its first one."""
        if self._checkpoint.exists():
            state = load_checkpoint(self._checkpoint, self.trainer.identity())
            rows, seconds = state.pop("run_rows"), float(state.pop("run_seconds"))
            if not all(isinstance(value, int | float) for row in rows for value in (row["step"], *row.values())):
                raise ValueError(f"{self._checkpoint} is damaged: its rows of metrics are no numbers")
            self.trainer.set_state(state)
            self.rows, self.clock.seconds = rows, seconds
        else:
            self.trainer.get_state()  # those who cannot be resumed say so
        self.directory.replace_metrics(self.rows)

    def _save(self) -> None:
        try:
            state = self.trainer.get_state()
        except CannotResumeError as error:
            self._cannot_resume = str(error)
        else:
            run = {"run_rows": self.rows, "run_seconds": self.clock.seconds}
            save_checkpoint(self._checkpoint, self.trainer.identity(), {**state, **run})
        self._saved_at = time.monotonic()

    # ------------------------------------------------------------------------------------------ running

    def go(self) -> list[Row]:
        """Trains, evaluates and writes everything; returns the rows of metrics.csv."""
        try:
            tables.console.print(self.task.title)
            self.trainer.run(0)  # compiles, so that the clock only sees training
            self._train()
            self._write_results()
            return self.rows
        finally:
            self.directory.close()

    def _train(self) -> None:
        points = (point for point in evaluation_points(self.task.growth) if point >= self.trainer.iterations)
        point = next(points)
        with self._progress() as show, stopping_between_pieces() as asked:
            while True:
                done = self._share_done() >= 1.0
                logged = self.rows[-1]["step"] if self.rows else 0
                if self.trainer.iterations > logged and (done or self.trainer.iterations == point):
                    self._evaluate(done)
                if self._share_done() >= 1.0 or asked:
                    break
                if self.trainer.iterations == point:
                    point = next(points)
                self._advance(point if self.limits.iterations is None else min(point, self.limits.iterations))
                show()
        self._save()
        if asked.number is not None:
            advice = self._cannot_resume or "the same command with --resume goes on"
            words = f"interrupted after {self.trainer.iterations:,} iterations; {advice}"
            raise InterruptedRunError(asked.number, words)

    def _share_done(self) -> float:
        return self.limits.share_done(self.trainer.iterations, self.clock.seconds, self.rows)

    def _advance(self, target: int) -> None:
        """Trains towards an iteration, for a time short enough to keep limits, checkpoints and Ctrl-C."""
        iterations = min(self._piece, target - self.trainer.iterations)
        before = self.clock.seconds
        with self.clock:
            self.trainer.run(iterations)
        took = max(self.clock.seconds - before, 1e-9)
        left = PIECE_SECONDS if self.limits.seconds is None else self.limits.seconds - self.clock.seconds
        self._piece = max(1, min(2 * self._piece, int(iterations * min(left, PIECE_SECONDS) / took)))
        if time.monotonic() - self._saved_at > self._checkpoint_seconds:
            self._save()

    def _evaluate(self, last: bool) -> None:
        found = self.task.evaluate(self.clock, last)
        row = {"seconds": self.clock.seconds, **found}
        self.rows.append({"step": self.trainer.iterations, **row})
        self.directory.log(self.trainer.iterations, row)

    @contextmanager
    def _progress(self) -> Iterator[Callable[[], None]]:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[shown]}"))
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=tables.console) as progress:
            task = progress.add_task("training", total=1.0, shown="")

            def show() -> None:
                known = self.rows[-1] if self.rows else {}
                figures = [f"{name} {known[name]:.3g}" for name in self.task.shown if name in known]
                text = ", ".join([f"iteration {self.trainer.iterations:,}", *figures])
                progress.update(task, completed=self._share_done(), shown=text)

            yield show
            show()

    # ------------------------------------------------------------------------------------------ results

    def _write_results(self) -> None:
        task, written = self.task, ["metrics.csv", "report.md"]
        made_by = {**task.config, "iterations": self.trainer.iterations}
        if task.policy is not None:
            policy = task.policy()
            save_policy(self.path / POLICY_FILE, policy, made_by)
            write_player_file(self.path, "policy", policy.game, {}, made_by)
            written.append(POLICY_FILE)
        if task.save_player is not None:
            task.save_player(self.path, made_by)
            written.append(PLAYER_FILE)
        figure = task.draw(self.rows)
        if figure is not None:
            written.append(self.directory.save_figure(figure, task.picture).name)
        if not self._cannot_resume:
            written.append(self._checkpoint.name)
        shown = self._shown_rows()
        lines = [
            f"# {task.title}",
            "",
            f"{self.trainer.iterations:,} iterations in {self.clock.seconds:.3g} CPU seconds of training "
            "(evaluation not counted).",
            *task.remarks(),
            "",
            tables.markdown(shown),
        ]
        if figure is not None:
            lines.append(f"![{task.picture}]({task.picture}.png)")
        self.directory.write_report("\n".join(lines) + "\n")
        tables.show(task.title, shown)
        tables.console.print(f"Written to {self.path}: {', '.join(written)}")
        if self._cannot_resume:
            tables.console.print(f"No checkpoint: {self._cannot_resume}")

    def _shown_rows(self) -> list[dict[str, Any]]:
        """About a dozen rows; of wide tables only the first and the last, side by side."""
        first, last = self.rows[0], self.rows[-1]
        if len(last) > WIDEST_TABLE:
            absent = math.nan  # of what is measured at the end alone
            return [{"figure": name, "first": first.get(name, absent), "last": last[name]} for name in last]
        return [*self.rows[: -1 : max(1, len(self.rows) // ROWS_SHOWN)], last]


def _not_resumed(checkpoint: Path, error: Exception) -> UserError:
    """In one sentence why a run cannot go on: another run's checkpoint, a damaged one, or a trainer that never can."""
    if isinstance(error, CannotResumeError):
        return error
    if isinstance(error, ValueError):
        return UserError(str(error))
    return UserError(f"{checkpoint} does not hold what this run needs ({error!r})")
