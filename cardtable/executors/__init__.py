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

import importlib.util
import os
from pathlib import Path

from cardtable.executors.base import WINDOW, Executor, Serial, Threads
from cardtable.executors.processes import Processes
from cardtable.executors.ray_tasks import LOCAL, Ray
from cardtable.parameters import UserError

__all__ = ["EXECUTORS", "WINDOW", "Executor", "Processes", "Ray", "Serial", "Threads", "find_executor", "has_ray"]

EXECUTORS = "serial, threads:<number>, processes:<number>, ray, ray:<address>"


def has_ray() -> bool:
    """Whether ray is installed; a folder of that name, such as ray's own in /tmp, is not it."""
    found = importlib.util.find_spec("ray")
    return found is not None and found.origin is not None


def find_executor(text: str, allow_mixed_nodes: bool = False, folder: Path | None = None) -> Executor:
    """The executor a flag names; `threads` and `processes` without a number are as many as there are cores.

    `ray` starts ray on this machine; `ray:<address>` joins a cluster, whose nodes must be alike unless told otherwise.
    Which nodes worked is written into the folder, if there is one (`nodes.json`).
    """
    kind, _, count = text.partition(":")
    if text == "serial":
        return Serial()
    if kind in ("threads", "processes") and (count == "" or (count.isdecimal() and int(count) >= 1)):
        workers = int(count or os.cpu_count() or 1)
        return Threads(workers) if kind == "threads" else Processes(workers)
    if kind == "ray" and text != "ray:":
        if not has_ray():
            raise UserError(f"executor is {text!r}, but ray is not installed: pip install 'cardspiel[cluster]'")
        return Ray(count or LOCAL, allow_mixed_nodes, folder)
    raise UserError(f"executor is {text!r}; allowed: {EXECUTORS}")
