"""Work for the tests, where any process can import it."""

from __future__ import annotations

import os
import time

import numpy as np


def count(shared: str, item: int) -> int:
    """Takes a while, and notes in a file that it ran to its end."""
    time.sleep(0.3)
    with open(f"{shared}/{item}", "a") as file:
        file.write("x")
    if item == 1000:
        raise LookupError("no thousand")
    return item * item


def megabyte(shared: np.ndarray, item: np.ndarray) -> np.ndarray:
    shared[0] = 1.0  # writable, as everywhere
    item[:] += 1
    return item


def where(shared: None, item: int) -> int:
    time.sleep(0.2)
    return os.getpid()
