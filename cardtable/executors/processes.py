"""Several processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any

from cardtable.executors.base import WINDOW, Executor, Item, Result, Shared, in_order
from cardtable.executors.pieces import Call, make_call, open_answer, pack, perform

MOST_DEATHS = 3  # of processes while one answer is awaited: then it is the work that kills them


class Processes(Executor):
    """Several processes, for work that holds Python's lock. They are started when needed and kept until `close()`.

    New processes instead of forks: threads of numba and torch do not survive a fork. When one dies, Python gives up the
    whole pool; a new one does again what was under way.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None
        self._leash: Connection | None = None
        self._under_way: dict[_Piece, None] = {}  # in the order in which they were begun

    def map(self, work: Callable[[Shared, Item], Result], items: Iterable[Item], shared: Shared) -> Iterator[Result]:
        call = make_call(work, shared)
        return in_order(lambda item: _Piece(self, call, pack(item)), items, lambda: WINDOW * self.count)

    def submit(self, call: Call, item: bytes) -> Future[bytes]:
        try:
            return self._workers().submit(perform, call, item)
        except BrokenProcessPool:  # somebody died while nobody was looking
            self.close()
            return self._workers().submit(perform, call, item)

    def replace(self) -> None:
        """A new pool, for everything that the old one has not finished."""
        self.close()
        for piece in self._under_way:
            piece.begin_again()

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            held, self._leash = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self.count, context, initializer=_obey, initargs=(held,))
        return self._pool

    def close(self) -> None:
        if self._leash is not None and self._pool is not None:
            self._leash.close()
            self._pool.shutdown(cancel_futures=True)
        self._pool = self._leash = None


class _Piece:
    """An item under way, begun again when its process is lost."""

    def __init__(self, executor: Processes, call: Call, item: bytes) -> None:
        self._executor, self._call, self._item = executor, call, item
        self._deaths = 0
        self.future = executor.submit(call, item)
        executor._under_way[self] = None

    def result(self) -> Any:
        try:
            while True:
                try:
                    answer = self.future.result()
                except BrokenProcessPool:
                    self._deaths += 1
                    if self._deaths == MOST_DEATHS:
                        message = (
                            f"{MOST_DEATHS} processes died on this item or one of the next; is there enough memory?"
                        )
                        raise RuntimeError(message) from None
                    self._executor.replace()
                else:
                    return open_answer(answer)
        finally:
            self.cancel()

    def begin_again(self) -> None:
        if not self.future.done() or self.future.cancelled() or self.future.exception() is not None:
            self.future = self._executor.submit(self._call, self._item)

    def cancel(self) -> None:
        self.future.cancel()
        self._executor._under_way.pop(self, None)


def _obey(leash: Connection) -> None:
    """A worker leaves Ctrl-C to the process that started it, and ends with that process, or when that lets go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        leash.poll(None)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
