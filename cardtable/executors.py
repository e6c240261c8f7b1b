"""Who does the work: the same pieces of work in this thread, or in several.

    executor.map(work, items, shared) -> the answers work(shared, item), in the order of the items

The contract: `work` is a pure function of an importable module, and an item carries all that makes its answer what it
is, its seed included. So results do not depend on who did the work, in what order, or how often. At most a window of
answers is under way, so that memory stays bounded. An exception of an item is raised as itself, with the number of the
item, and is not retried.
"""

from __future__ import annotations

import collections
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

from cardtable.parameters import UserError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")

WINDOW = 4  # items under way for each worker


class Executor(Protocol):
    """Does independent pieces of work; see the top of this module."""

    def map(
        self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared
    ) -> Iterator[Result]: ...


class Serial:
    """One piece after the other, in this thread."""

    def map(self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        for number, item in enumerate(items):
            try:
                yield work(shared, item)
            except Exception as error:
                error.add_note(_where(number))
                raise


class Threads:
    """Several threads: for compiled work, which lets go of Python's lock."""

    def __init__(self, count: int) -> None:
        self.count = count

    def map(self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        with ThreadPoolExecutor(self.count) as pool:
            yield from in_order(lambda item: pool.submit(work, shared, item), items, WINDOW * self.count)


def in_order(submit: Callable[[Item], Future[Result]], items: Iterable[Item], window: int) -> Iterator[Result]:
    """The answers in the order of the items, with at most `window` under way; if one fails, the rest is called off."""
    left = iter(items)
    under_way: collections.deque[Future[Result]] = collections.deque(map(submit, itertools.islice(left, window)))
    number = 0
    try:
        while under_way:
            yield under_way.popleft().result()
            number += 1
            under_way.extend(map(submit, itertools.islice(left, 1)))
    except Exception as error:
        error.add_note(_where(number))
        raise
    finally:
        for future in under_way:
            future.cancel()


def _where(number: int) -> str:
    return f"in work item {number}"


def find_executor(text: str) -> Executor:
    """The executor a flag names: `serial`, `threads:2`, or `threads` for one on each core."""
    kind, _, count = text.partition(":")
    if text == "serial":
        return Serial()
    if kind == "threads" and (count == "" or (count.isdecimal() and int(count) >= 1)):
        return Threads(int(count or os.cpu_count() or 1))
    raise UserError(f"executor is {text!r}; allowed: serial, threads:<number>")
