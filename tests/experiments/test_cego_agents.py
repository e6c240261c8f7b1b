"""Cego's tables: the set-ups are those of the paper, and the control variate changes errors, not means."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.player import find_player
from experiments.cego.agents import RANDOM_MEANS, SETUPS, TABLE_7, controlled, measure
from tests import commands


def test_every_setup_has_its_published_number() -> None:
    assert SETUPS.keys() == TABLE_7.keys() == RANDOM_MEANS.keys()
    assert all(SETUPS[subgame].keys() == TABLE_7[subgame].keys() for subgame in SETUPS)


def test_random_players_get_table_3_with_a_smaller_error() -> None:
    game = pyspiel.load_game("python_cego")
    found = measure(game, "standard", [find_player("random", game)] * 4, 3000, 9)
    assert abs(found.mean.mean - 40.795) < 4 * found.mean.standard_error
    assert found.mean.standard_error < 0.8 * found.plain.standard_error


def test_a_control_variate_takes_luck_away_and_nothing_else() -> None:
    random = np.random.default_rng(1)
    luck = random.standard_normal(5000)
    found = controlled(3 + 2 * luck + 0.1 * random.standard_normal(5000), luck, 0.0, 0.0)
    assert found.mean == pytest.approx(3, abs=0.006)
    assert found.standard_error < 0.002
    assert controlled(luck, luck, 0.0, 0.5).standard_error == pytest.approx(0.5, rel=0.01)


def test_tables_are_written(tmp_path: Path) -> None:
    flags = ["--quick", "--subgames=standard,ultimo", "--agents=expert,random", f"--out={tmp_path / 'run'}"]
    done = commands.run("experiments.cego_agents", *flags)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "run" / "table_7.csv").open()))
    assert [(row["sub-game"], row["set-up"]) for row in rows] == [
        (subgame, setup) for subgame in ("standard", "ultimo") for setup in ("S1", "S2", "S3", "S4")
    ]
    assert float(rows[4]["seat 0"]) > 70  # Ultimo: random players win 8 in a hundred
    for wrong in ("--agents=expert,nobody", "--subgames=bridge"):
        assert commands.run("experiments.cego_agents", *flags[1:], wrong).returncode == 1
