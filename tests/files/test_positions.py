"""Positions in files: whatever numbers stand in their place, none reaches compiled code that believes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.match import Task, play_part
from cardtable.player import find_player
from experiments.running.filed_games import load_games, save_games
from tests.commands import ROOT
from tests.files.learners import WITH_MEMORIES
from tests.files.loaders import ours
from tests.variants import COINCHE_M0

QUICK = ("games", "examples", "choices", "dqn", "nfsp", "alpha zero")


def attacked(names: Sequence[str]) -> str:
    command = [sys.executable, "-m", "tests.files.attacks", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def results() -> str:
    return attacked(QUICK)


@pytest.mark.parametrize("name", QUICK)
def test_only_positions_that_play_leads_to_come_out_of_files(name: str, results: str) -> None:
    assert f"{name}: held\n" in results, results


@pytest.mark.slow  # compiles the learner
def test_tables_of_views_are_looked_through() -> None:
    found = attacked(["views"])
    assert "views: held\n" in found, found


def test_games_dealt_by_everybody_are_filed_as_they_were(tmp_path: Path) -> None:
    """Where the deal goes round, a way begins at the table of its deal."""
    game = pyspiel.load_game(COINCHE_M0)
    task = Task(game, (find_player("random", game),) * 4, 1, 1)
    assert len(task.tables) == 4
    items = [(5, 12), (12, 18)]
    parts = [play_part(task, item) for item in items]
    save_games(tmp_path / "games.npz", parts, task, 5)
    for one, other in zip(parts, load_games(tmp_path / "games.npz", items, task), strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.returns, other.returns)


def test_positions_are_filed_as_ways_only() -> None:
    """No state array in any of these files: they could not be told from wrong ones."""
    assert ours().rules.state_size > 20
    for make in WITH_MEMORIES.values():
        trainer = make()
        trainer.run(1)
        for name, value in trainer.get_state().items():
            if isinstance(value, np.ndarray):
                assert value.shape[1:] != (ours().rules.state_size,), name
