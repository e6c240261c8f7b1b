"""OpenSpiel's DQN and NFSP on our games: they run through rl_environment, and learn at Standard-Cego."""

import os
import subprocess
import sys
from pathlib import Path

import pyspiel
import pytest

import cego_spiel  # noqa: F401
import gongzhu_spiel  # noqa: F401
from experiments.run_directory import RunDirectory

pytest.importorskip("tree", reason="OpenSpiel's torch agents need dm-tree, which the peers extra installs")
from experiments import rl_training

ROOT = Path(__file__).parents[2]


def run(*flags: str, cwd: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "experiments.rl_agents", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_quick_run_from_the_command_line(tmp_path: Path) -> None:
    result = run("--quick", "--measurements=1", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {"metrics.csv", "learning.png", "report.md"} <= {path.name for path in (tmp_path / "run").iterdir()}


@pytest.mark.parametrize(
    ("flag", "complaint"), [("--game=python_skat", "python_skat"), ("--game=kuhn_poker", "kuhn_poker")]
)
def test_bad_flags(tmp_path: Path, flag: str, complaint: str) -> None:
    result = run(flag, cwd=tmp_path)
    assert result.returncode != 0
    assert complaint in result.stdout + result.stderr


@pytest.mark.parametrize(("name", "kind"), [("python_cego", "nfsp"), ("python_gongzhu", "dqn")])
def test_agents_run(tmp_path: Path, name: str, kind: str) -> None:
    game = pyspiel.load_game(name)
    rows = rl_training.train(game, kind, 6, 1, 200, 1, RunDirectory(tmp_path, {}))
    assert [row["games"] for row in rows] == [0, 6]
    assert rows[-1]["steps"] == 6 * game.max_game_length() // 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dqn", "nfsp"])
def test_agents_learn_standard_cego(tmp_path: Path, kind: str) -> None:
    """Random play in seat 0 wins 40.795 points (Table III of the Cego paper)."""
    game = pyspiel.load_game("python_cego")
    rows = rl_training.train(game, kind, 2000, 1, 20_000, 1, RunDirectory(tmp_path, {}))
    assert rows[-1]["mean return"] > 40.795 + 3 * rows[-1]["s.e."]
