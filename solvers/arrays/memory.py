"""How much memory there is, and the error that says a game needs more."""

from __future__ import annotations

import os
from pathlib import Path

from cardtable.parameters import UserError

# Leave room for everything else that runs.
USABLE_SHARE = 0.8


class GameTooLargeError(MemoryError):
    """The arrays of a game would not fit; the message says how much they need and how much is allowed."""


def available_bytes() -> int:
    """Memory that a process may still take: what the system calls available, or less inside a container."""
    amounts = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                amounts.append(int(line.split()[1]) * 1024)
    except OSError:
        amounts.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            amounts.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except OSError:
        pass
    return min(amounts)


def allowed_bytes(max_memory_bytes: int | None) -> int:
    """The user's limit, or most of what is available."""
    return int(USABLE_SHARE * available_bytes()) if max_memory_bytes is None else max_memory_bytes


def require_memory(needed: float, allowed: int, what: str, how_known: str) -> None:
    if needed > allowed:
        raise GameTooLargeError(
            f"{what} needs {how_known} {readable_bytes(needed)} of memory, {readable_bytes(allowed)} are allowed "
            "(a smaller game takes less, and so does sampling: solvers.mccfr, --solver=external of experiments.solve)"
        )


def require_room(needed: float, what: str) -> None:
    """For arrays whose size somebody has chosen: UserError if they need more memory than there is."""
    allowed = allowed_bytes(None)
    if needed > allowed:
        raise UserError(f"{what} needs {readable_bytes(needed)} of memory; {readable_bytes(allowed)} are free")


def readable_bytes(amount: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            return f"{amount:.3g} {unit}"
        amount /= 1000
    raise AssertionError
