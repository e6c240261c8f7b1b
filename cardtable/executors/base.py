"""The contract of executors, and the two that stay in this process; see the package for the idea."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, Self, TypeVar

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
Answer_co = TypeVar("Answer_co", covariant=True)

WINDOW = 4  # items under way for each worker


class Executor(Protocol):
    """Does independent pieces of work. What it starts, it starts when it is first needed, and keeps until `close()`."""

    def map(
        self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared
    ) -> Iterator[Result]: ...

    def close(self) -> None:
        """Ends what was started; work that nobody waits for any more is given up."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Serial(Executor):
    """One piece after the other, in this thread."""

    def map(self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        for number, item in enumerate(items):
            try:
                yield work(shared, item)
            except Exception as error:
                error.add_note(_where(number))
                raise


class Threads(Executor):
    """Several threads: for compiled work, which lets go of Python's lock."""

    def __init__(self, count: int) -> None:
        self.count = count

    def map(self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        with ThreadPoolExecutor(self.count) as pool:
            yield from in_order(lambda item: pool.submit(work, shared, item), items, lambda: WINDOW * self.count)


class Pending(Protocol[Answer_co]):
    """An answer that is awaited; `concurrent.futures.Future` is one."""

    def result(self) -> Answer_co: ...

    def cancel(self) -> object: ...


def in_order(
    submit: Callable[[Item], Pending[Result]], items: Iterable[Item], window: Callable[[], int]
) -> Iterator[Result]:
    """The answers in the order of the items, with at most `window()` under way; if one fails, the rest is cancelled."""
    left = iter(items)
    under_way: collections.deque[Pending[Result]] = collections.deque()
    number = 0
    try:
        while True:
            for item in itertools.islice(left, max(0, window() - len(under_way))):
                under_way.append(submit(item))
            if not under_way:
                return
            yield under_way.popleft().result()
            number += 1
    except Exception as error:
        error.add_note(_where(number))
        raise
    finally:
        for pending in under_way:
            pending.cancel()


def _where(number: int) -> str:
    return f"in work item {number}"
