"""Clocks that stand still, so that two runs which do the same write the same, times included.

With this folder on PYTHONPATH, Python runs this file at the start of every process; `tests.forked` asks for it.
"""

import resource
import time
from types import SimpleNamespace


def freeze() -> None:
    time.perf_counter = time.process_time = time.thread_time = lambda: 0.0
    resource.getrusage = lambda who: SimpleNamespace(ru_maxrss=0)  # type: ignore[assignment, return-value]


freeze()
