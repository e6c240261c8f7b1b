"""One process compiles a function, the others that want it wait and load what it has filed.

Workers of an executor, of the table and of the tests start together and want the same functions. So each function is a
byte of one file in the folder of its cache, locked while it is compiled. The operating system ends such a lock with the
process that holds it. Functions wait for those they call and never the other way round, so nobody waits in a circle;
where locks cannot be had, or somebody takes far too long, everybody compiles for himself.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from contextlib import AbstractContextManager

FILE = "compiling.lock"
LONGEST_SECONDS = 300.0  # of a function that somebody else compiles: more is a process that hangs
PAUSE_SECONDS = 0.02


class CompileLocks:
    """The locks of this process. Compilation is nested, and `depth` says how deep: inner locks go with outer ones."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}  # of folders; never closed, since that would end all locks in it
        self._taken: list[tuple[int, str, int | None]] = []  # depth, folder, byte; no byte where there was no lock

    def take(self, folder: str, function: str, depth: int, waiting: AbstractContextManager) -> None:
        """Locks a function; first waits, inside of `waiting`, while somebody else compiles it."""
        self.release(depth)  # what is left of a compilation that failed
        place = int.from_bytes(hashlib.sha256(function.encode()).digest()[:7], "big")
        locked = False
        with contextlib.suppress(OSError):  # file systems without locks, or without room
            file = self._file(folder)
            locked = _try_lock(file, place)
            if not locked:
                with waiting:
                    locked = _wait_for_lock(file, place)
        self._taken.append((depth, folder, place if locked else None))

    def release(self, depth: int) -> None:
        """Frees what was locked at this depth or deeper."""
        while self._taken and self._taken[-1][0] >= depth:
            _, folder, place = self._taken.pop()
            if place is not None:
                with contextlib.suppress(OSError):
                    fcntl.lockf(self._files[folder], fcntl.LOCK_UN, 1, place)

    def _file(self, folder: str) -> int:
        if folder not in self._files:
            self._files[folder] = os.open(os.path.join(folder, FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return self._files[folder]


def _try_lock(file: int, place: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _wait_for_lock(file: int, place: int) -> bool:
    end = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < end:
        time.sleep(PAUSE_SECONDS)
        if _try_lock(file, place):
            return True
    return False
