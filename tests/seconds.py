"""Whether equal --seconds mean equally many iterations: `python -m tests.seconds --rounds=3`.

Every kind of run is made with an empty cache of compiled code and then with the one that run has left, in turns. It
prints the iterations of each, the ratio of the medians, and how long the first iteration took, where anything that is
compiled too late would show.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.commands import ROOT

SMALL = "python_gongzhu(suits=2,ranks=4)"
LEARNING = ("--context_sizes=16", "--head_sizes=8", "--games=32", "--deals=20")
KINDS = {
    "cfr_plus": ("solve", "--game=leduc_poker", "--solver=cfr_plus"),
    "tree_cfr": ("solve", "--game=kuhn_poker", "--solver=tree_cfr"),
    "external": ("solve", "--game=leduc_poker", "--solver=external"),
    "outcome": ("solve", "--game=leduc_poker", "--solver=outcome"),
    "deep_cfr, tabulated": ("deep_cfr", "--game=kuhn_poker"),
    "deep_cfr, levels": ("deep_cfr", f"--game={SMALL}", "--engine=levels", "--traversals=50", "--training_steps=20"),
    "dmc": ("train", f"--game={SMALL}", *LEARNING),
    "dqn": ("train", f"--game={SMALL}", "--learner=dqn", *LEARNING),
    "nfsp": ("train", f"--game={SMALL}", "--learner=nfsp", *LEARNING),
}


def measure(kind: str, seconds: float, cache: Path) -> tuple[int, float]:
    """Iterations of a run, and the seconds that its first one took."""
    command, *arguments = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        subprocess.run(
            [sys.executable, "-m", f"experiments.{command}", *arguments, f"--seconds={seconds}", f"--out={out}"],
            cwd=ROOT,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            check=True,
            capture_output=True,
        )
        with (out / "metrics.csv").open() as file:
            rows = list(csv.DictReader(file))
    return int(rows[-1]["step"]), float(rows[0]["seconds"])


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=";".join(KINDS), help="with semicolons between them")
    asked = parser.parse_args(arguments)
    for kind in asked.kinds.split(";"):
        cold, warm = [], []
        for _ in range(asked.rounds):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(measure(kind, asked.seconds, Path(cache)))
                warm.append(measure(kind, asked.seconds, Path(cache)))
        (cold_steps, cold_first), (warm_steps, warm_first) = (zip(*found, strict=True) for found in (cold, warm))
        ratio = statistics.median(cold_steps) / statistics.median(warm_steps)
        print(f"{kind}: cold {cold_steps}, warm {warm_steps}, cold / warm {ratio:.3f}", flush=True)
        firsts = (statistics.median(found) * 1000 for found in (cold_first, warm_first))
        print("  first iteration, ms: cold {:.2f}, warm {:.2f}".format(*firsts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
