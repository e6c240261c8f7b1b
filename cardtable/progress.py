"""A progress bar that only appears when the work takes longer than a moment."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PATIENCE_SECONDS = 2.0


class LateProgress:
    """`with LateProgress("reading states", total) as progress: ... progress.update(done)`."""

    def __init__(self, description: str, total: float | None = None) -> None:
        self._description = description
        self._total = total
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._done = 0.0

    def __enter__(self) -> LateProgress:
        return self

    def update(self, done: float) -> None:
        """Shows that `done` of `total` are done; cheap enough for every thousandth step."""
        if self._bar is None:
            if time.monotonic() - self._start < PATIENCE_SECONDS:
                return
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                transient=True,
                disable=not sys.stdout.isatty(),  # in a file it would leave nothing but empty lines
            )
            self._task = self._bar.add_task(self._description, total=self._total)
            self._bar.start()
        if self._total is not None and done > self._total:  # totals may be estimates
            self._total = done
        self._bar.update(self._task, completed=done, total=self._total)

    def advance(self, more: float) -> None:
        """Shows that `more` have been done since the last call."""
        self._done += more
        self.update(self._done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
