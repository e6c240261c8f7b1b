"""Ctrl-C and SIGTERM: once asks to stop, twice stops at once.

A run that is asked to stop does so where it can go on later. Everything else is left where it stands: what is in files
is whole, because files are replaced atomically. Compiled code is not interrupted; the answer comes when it returns.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class InterruptedRunError(KeyboardInterrupt):
    """Somebody asked to stop. Like Ctrl-C itself it is no ordinary exception, so that nobody handles it by mistake."""

    def __init__(self, number: int, words: str = "") -> None:
        super().__init__(words)
        self.exit_code = 128 + number  # as shells count: 130 for Ctrl-C, 143 for SIGTERM
        self.words = words


class Asked:
    """Whether somebody asked to stop, and by which signal."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __bool__(self) -> bool:
        return self.number is not None

    def note(self, number: int) -> None:
        self.number = number


def _stop(number: int) -> None:
    raise InterruptedRunError(number)


@contextmanager
def stopping_anywhere() -> Iterator[None]:
    """Whoever asks to stop is obeyed wherever the work is: `InterruptedRunError`."""
    with _on_first_signal(_stop):
        yield


@contextmanager
def stopping_between_pieces() -> Iterator[Asked]:
    """Whoever asks to stop is noted, and the work inside looks whether anybody did."""
    asked = Asked()
    with _on_first_signal(asked.note):
        yield asked


@contextmanager
def _on_first_signal(answer: Callable[[int], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # Python tells only that one of signals
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]  # ignored on purpose, as by nohup

    def first(number: int, _: object) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)  # a second one ends the process
        answer(number)

    for number in ours:
        signal.signal(number, first)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
