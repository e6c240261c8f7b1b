"""Commands as forks that can be watched, hurried and killed, for `tests.kills` and `tests.random_flags`.

Like `tests.commands`, whose forks only run to their end. Both are processes of their own: forks of a test process, with
its threads, would be unsafe.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.commands import ROOT, end, exit_code

COMMANDS = sorted(path.stem for path in (ROOT / "experiments").glob("*.py") if path.stem != "__init__")


def freeze_clocks() -> None:
    """From now on, here and in all processes that are started from here; before anything is imported that measures."""
    sys.path.insert(0, str(ROOT / "tests" / "frozen_clock"))
    os.environ["PYTHONPATH"] = os.pathsep.join([sys.path[0], str(ROOT)])
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")


class Ended(NamedTuple):
    """How a command ended; a negative code is the number of a signal, None means that it did not end in time."""

    code: int | None
    seconds: float
    stdout: str
    stderr: str


class Fork:
    """`python -m experiments.<command> <arguments>` under way in a folder, which also gets its output."""

    def __init__(self, command: str, arguments: Sequence[str], folder: Path) -> None:
        self._outputs = {name: folder / f".{name}.txt" for name in ("out", "err")}
        for path in self._outputs.values():
            path.unlink(missing_ok=True)
        request = {"argv": [f"experiments.{command}", *arguments], "cwd": str(folder)}
        self._start = time.monotonic()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)  # so that it can be killed with all that it starts
            signal.signal(signal.SIGINT, signal.default_int_handler)
            end(exit_code(request | {name: str(path) for name, path in self._outputs.items()}))
        with contextlib.suppress(OSError):  # whoever comes first, it or we; it may even be done
            os.setpgid(self.pid, self.pid)

    def wait(self, timeout: float) -> Ended:
        """Its end; or, if it takes longer, the end that it is given here."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            seconds = time.monotonic() - self._start
            if pid or seconds > timeout:
                break
            time.sleep(0.005)
        if not pid:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        texts = [path.read_text(errors="replace") if path.exists() else "" for path in self._outputs.values()]
        return Ended(os.waitstatus_to_exitcode(status) if pid else None, seconds, *texts)
