"""The runner: results on disk, clear refusals, and a run that is killed and resumed ends as if nothing had happened."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from experiments.running.directory import RunDirectory
from experiments.suites import deep
from tests import commands

ROOT = Path(__file__).resolve().parents[2]


def command(*flags: str) -> list[str]:
    return [sys.executable, "-m", "experiments.deep_cfr", *flags]


def run(*flags: str) -> subprocess.CompletedProcess:
    return commands.run("experiments.deep_cfr", *flags)


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path / "checkpoint.npz") as archive:
        return {name: archive[name] for name in archive.files if name != "json"}


@pytest.mark.slow
def test_a_run_killed_and_resumed_equals_one_that_was_not(tmp_path: Path) -> None:
    flags = ["--game=kuhn_poker", "--iterations=60", "--traversals=300", "--seed=3", "--checkpoint_seconds=0"]
    whole = run(*flags, f"--out={tmp_path / 'whole'}")
    assert whole.returncode == 0, whole.stderr
    killed = tmp_path / "killed"
    with subprocess.Popen(
        command(*flags, f"--out={killed}"), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            metrics = killed / "metrics.csv"
            if (killed / "checkpoint.npz").exists() and metrics.exists() and len(metrics.read_text().splitlines()) > 6:
                break
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    resumed = run(*flags, f"--out={killed}", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    first, second = arrays(tmp_path / "whole"), arrays(killed)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    rows = [list(csv.DictReader((path / "metrics.csv").open())) for path in (tmp_path / "whole", killed)]
    curves = [[(int(row["step"]), float(row["nash_conv"])) for row in part] for part in rows]
    assert curves[0] == curves[1]


def test_what_a_quick_run_leaves_behind(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("--game=python_toepen(suits=2,ranks=3,hand_size=2)", "--engine=levels", "--quick", f"--out={out}")
    assert result.returncode == 0, result.stderr
    names = {path.name for path in out.iterdir()}
    assert {"config.json", "metrics.csv", "report.md", "learning.png", "checkpoint.npz"} <= names
    assert any(name.startswith("events.out") for name in names)
    header = (out / "metrics.csv").read_text().splitlines()[0]
    assert header == "step,seconds,nodes,advantage loss,itself: mean return,random: mean return"


REFUSALS = [
    (["--game=no_such_game"], "cannot be loaded"),
    (["--game=kuhn_poker", "--device=abacus"], "device is 'abacus'"),
    (["--game=kuhn_poker", "--hidden_sizes=8,x"], "whole numbers"),
    (["--game=kuhn_poker", "--traversal=rollouts"], "allowed for enumerated games"),
    (["--game=kuhn_poker", "--negative_slope=2"], "negative_slope is 2.0"),
    (["--game=kuhn_poker", "--learning_rate=nan"], "--learning_rate=nan: allowed: finite numbers"),
    (["--game=kuhn_poker", "--resume"], "there is no run to resume"),
    (["--game=kuhn_poker", "--opponents=simple"], "has the players (none)"),
    (["--game=kuhn_poker", "--engine=levels"], "has no compiled rules"),
    (
        ["--game=python_toepen", "--engine=levels", "--traversal=external", "--node_budget=300", "--iterations=1"],
        "node_budget = 300",
    ),
]


def test_what_cannot_work_is_said_without_a_traceback(tmp_path: Path) -> None:
    for flags, expected in REFUSALS:
        result = run(*flags, f"--out={tmp_path / 'run'}")
        assert result.returncode == 1
        assert expected in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_benchmark_suite(tmp_path: Path) -> None:
    summary = deep.run(RunDirectory(tmp_path, {}), quick=True)
    assert {row["work"] for row in summary} == {"kuhn_poker", "leduc_poker"}
    assert {row["average"] for row in summary} == {"single", "strategy"}
    assert all(row["best"] <= row["worst"] < 5.0 for row in summary)
    files = {path.name for path in tmp_path.iterdir()}
    assert {"report.md", "summary.csv", "ours.csv", "curves.csv", "coinche_speed.csv", "learning_curves.png"} <= files


@pytest.mark.slow
def test_the_coinche_study(tmp_path: Path) -> None:
    result = commands.run("experiments.coinche_deep_cfr", "--quick", "--games=50", f"--out={tmp_path}")
    assert result.returncode == 0, result.stderr
    report = (tmp_path / "report.md").read_text()
    assert all(f"| {claim} " in report for claim in ("C1", "C2", "C6", "C7", "C8"))
    assert "too few iterations" in report
    assert "refuted" in report
    assert (tmp_path / "opponents.png").exists()
