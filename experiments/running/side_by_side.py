"""Independent pieces of an experiment in several processes, with a progress bar."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from rich.progress import track

from experiments.running import tables

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int, description: str
) -> Iterator[Result]:
    """`work` of each item, in the order of the items, each as soon as it and those before it are done.

    New processes instead of forks: threads of numba and torch do not survive a fork.
    """
    if workers == 1:
        yield from map(work, track(items, description=description, console=tables.console))
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        done = pool.map(work, items)
        yield from track(done, description=description, total=len(items), console=tables.console)
