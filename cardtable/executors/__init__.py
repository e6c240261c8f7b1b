"""Who does the work: the same pieces of work in this thread, in several, in processes, or on a cluster.

    with find_executor("processes:2") as executor:
        executor.map(work, items, shared) -> the answers work(shared, item), in the order of the items

The contract: `work` is a pure function of an importable module, and an item carries all that makes its answer what it
is, its seed included. So results do not depend on who did the work, in what order, or how often: a worker that dies is
replaced and its item done again, and every item is answered once. At most a window of answers is under way, so that
memory stays bounded. An exception of an item is raised as itself, with the number of the item, and is not retried.
What is `shared` goes to every worker once; if it has a method `prepare`, that is called there before the first item,
by one worker of a machine after the other, so that the others find in the cache what the first one compiled.
"""

from __future__ import annotations

import os

from cardtable.executors.base import WINDOW, Executor, Serial, Threads
from cardtable.executors.processes import Processes
from cardtable.parameters import UserError

__all__ = ["EXECUTORS", "WINDOW", "Executor", "Processes", "Serial", "Threads", "find_executor"]

EXECUTORS = "serial, threads:<number>, processes:<number>"


def find_executor(text: str) -> Executor:
    """The executor a flag names; `threads` and `processes` without a number are as many as there are cores."""
    kind, _, count = text.partition(":")
    if text == "serial":
        return Serial()
    if kind in ("threads", "processes") and (count == "" or (count.isdecimal() and int(count) >= 1)):
        workers = int(count or os.cpu_count() or 1)
        return Threads(workers) if kind == "threads" else Processes(workers)
    raise UserError(f"executor is {text!r}; allowed: {EXECUTORS}")
