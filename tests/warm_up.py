"""Compiles what nearly every test needs, into an empty cache, before the tests start.

Left to themselves, the workers of a test run compile the same functions at the same time. Here each half is compiled
once, in a process of its own: `python -m tests.warm_up 0` and `python -m tests.warm_up 1`. A third one reads the tests.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pyspiel

import cardspiel  # noqa: F401 registers our games

HALVES = (
    (("python_coinche", "python_coinche_match", "python_toepen"), ("cardtable.match", "cardtable.search.flat")),
    (
        ("python_cego", "python_gongzhu", "python_kuhn_collab"),
        ("solvers.cfr", "solvers.best_response", "solvers.mccfr", "solvers.arrays.tree"),
    ),
)
ROOT = Path(__file__).resolve().parents[1]


def warm_up_if_cold() -> None:
    """Everything side by side, if the run has a cache of its own and it is empty."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    if cache and not any(Path(cache).rglob("*.nbi")):
        commands = [[sys.executable, "-m", "tests.warm_up", str(half)] for half in range(len(HALVES))]
        # pytest rewrites every assertion of a module that it has no bytecode of; left to themselves, all workers do.
        commands.append([sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0"])
        for process in [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) for command in commands]:
            process.wait()


def main(half: int) -> None:
    games, modules = HALVES[half]
    for name in games:
        pyspiel.load_game(name).rules.compiled_kernel(resample=True).addresses()
    for name in modules:
        for value in vars(importlib.import_module(name)).values():
            if hasattr(value, "argument_types"):  # an entry point
                value.compile()


if __name__ == "__main__":
    main(int(sys.argv[1]))
