"""The solve runner as a user meets it."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from absl import flags
from absl.testing import flagsaver

from experiments import solve
from tests import commands

ROOT = Path(__file__).resolve().parents[2]


def command(out: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments.solve", f"--out={out}", *arguments]


def run(out: Path, **settings: object) -> None:
    """The runner in this process; a complaint to the user is a SystemExit."""
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
    with flagsaver.flagsaver(out=str(out), **settings):
        solve.main(["solve"])


def curve(out: Path) -> list[tuple[int, float]]:
    with (out / "metrics.csv").open() as file:
        return [(int(row["step"]), float(row["exploitability"])) for row in csv.DictReader(file)]


def policy(out: Path) -> np.ndarray:
    with np.load(out / "policy.npz") as archive:
        return archive["probabilities"]


def test_a_run_leaves_everything_behind(tmp_path: Path) -> None:
    run(tmp_path, game="kuhn_poker", solver="cfr_plus", iterations=300)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"config.json", "metrics.csv", "policy.npz", "report.md", "exploitability.png", "checkpoint.npz"} <= names
    assert any(name.startswith("events.out.tfevents") for name in names)
    assert json.loads((tmp_path / "config.json").read_text())["config"]["game"] == "kuhn_poker"
    points = curve(tmp_path)
    assert points[-1][0] == 300
    assert points[-1][1] < 0.001 < points[0][1]


# Their states are compared in quick tests too: tests/solvers/learning/test_trainer.py.
OPENSPIEL = ("openspiel_cfr_plus", "openspiel_cfr_cpp", "openspiel_external", "openspiel_external_cpp")


@pytest.mark.parametrize(
    "solver", ["cfr_plus", "external", *(pytest.param(name, marks=pytest.mark.slow) for name in OPENSPIEL)]
)
def test_stop_and_resume_equals_one_go(solver: str, tmp_path: Path) -> None:
    settings = {"game": "kuhn_poker", "solver": solver, "seed": 3}
    run(tmp_path / "whole", **settings, iterations=60)
    run(tmp_path / "parts", **settings, iterations=25)
    run(tmp_path / "parts", **settings, iterations=60, resume=True)
    assert (policy(tmp_path / "whole") == policy(tmp_path / "parts")).all()
    whole, parts = curve(tmp_path / "whole"), curve(tmp_path / "parts")
    assert whole[-1] == parts[-1]
    assert set(whole) <= set(parts), "the stop at 25 adds one evaluation"


def test_who_cannot_be_resumed_says_so(tmp_path: Path) -> None:
    """OpenSpiel's C++ CFR+ is plain CFR when it is read back."""
    run(tmp_path, game="kuhn_poker", solver="openspiel_cfr_plus_cpp", iterations=20)
    assert curve(tmp_path)[-1][0] == 20
    assert not (tmp_path / "checkpoint.npz").exists()
    with pytest.raises(SystemExit, match="cannot be resumed"):
        run(tmp_path, game="kuhn_poker", solver="openspiel_cfr_plus_cpp", iterations=40, resume=True)
    assert curve(tmp_path)[-1][0] == 20, "and leaves what there is"


@pytest.mark.slow  # tests/test_kills.py does it quickly
def test_kill_and_resume_equals_one_go(tmp_path: Path) -> None:
    """kill -9 in the middle of the work, resume, and end with the same policy bit by bit."""
    settings = {"game": "leduc_poker", "solver": "dcfr", "iterations": 60_000, "checkpoint_seconds": 0.05}
    killed = tmp_path / "killed"
    arguments = [f"--{name}={value}" for name, value in settings.items()]
    process = subprocess.Popen(
        command(killed, *arguments), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not (killed / "checkpoint.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, "it was still running when it was killed"
    assert not (killed / "policy.npz").exists()
    run(killed, **settings, resume=True)
    run(tmp_path / "whole", **settings)
    assert (policy(killed) == policy(tmp_path / "whole")).all()
    assert curve(killed) == curve(tmp_path / "whole")


def test_stops_at_the_target(tmp_path: Path) -> None:
    run(tmp_path, game="kuhn_poker", target_exploitability=0.01)
    points = curve(tmp_path)
    assert points[-1][1] <= 0.01 < points[-2][1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "no_such_game"}, "--game=no_such_game cannot be loaded"),
        ({"game": "python_toepen(suits=9)"}, "suits is 9; allowed: 1 to 4"),
        ({"game": "python_toepen(suits=9"}, "cannot be loaded"),
        ({"game": "goofspiel(num_cards=3)"}, "use pyspiel.convert_to_turn_based"),
        ({"game": "python_toepen"}, "needs about .* of memory"),
        ({"game": "kuhn_poker", "resume": True}, "there is no run to resume"),
    ],
)
def test_mistakes_get_one_clear_line_and_leave_nothing_behind(settings: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        run(tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_typing_errors_in_flags(tmp_path: Path) -> None:
    result = commands.run("experiments.solve", f"--out={tmp_path}", "--solver=magic")
    assert result.returncode != 0
    assert "value should be one of <cfr|cfr_plus|" in result.stderr
    assert "Traceback" not in result.stderr


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path: Path) -> None:
    run(tmp_path, game="kuhn_poker", iterations=5)
    checkpoint = tmp_path / "checkpoint.npz"
    whole, policy_before = checkpoint.read_bytes(), (tmp_path / "policy.npz").read_bytes()
    with pytest.raises(SystemExit, match="game was 'kuhn_poker', is now 'leduc_poker'"):
        run(tmp_path, game="leduc_poker", iterations=9, resume=True)
    run(tmp_path / "other", game="leduc_poker", iterations=1)
    shutil.copy(tmp_path / "other" / "checkpoint.npz", checkpoint)
    with pytest.raises(SystemExit, match=r"game is 'leduc_poker\(\)' there and 'kuhn_poker\(\)' here"):
        run(tmp_path, game="kuhn_poker", iterations=5, resume=True)
    checkpoint.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SystemExit, match="damaged or not a checkpoint"):
        run(tmp_path, game="kuhn_poker", iterations=5, resume=True)
    assert (tmp_path / "policy.npz").read_bytes() == policy_before
