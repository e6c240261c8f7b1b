"""Cego's tables: the set-ups are those of the paper, and the control variate changes errors, not means."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.player import find_player, write_player_file
from experiments.cego.agents import RANDOM_MEANS, SETUPS, TABLE_7, controlled, learnt_from, measure
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


def test_agents_are_kept_apart_by_whom_they_learnt_from(tmp_path: Path) -> None:
    game = pyspiel.load_game("python_cego")
    assert learnt_from("expert") == "self-play"
    assert learnt_from("expert(worlds=20,thinks=own)") == "self-play, with search"
    assert learnt_from("monte_carlo(worlds=20)") == "nothing, with search"
    for opponents, expected in (
        (["random"], "random"),
        (["itself"], "self-play"),
        (["itself", "random"], "itself and random"),
    ):
        write_player_file(tmp_path, "action_values", game, {}, {"opponents": opponents})
        assert learnt_from(str(tmp_path)) == expected
        assert learnt_from(f"{tmp_path}(worlds=5)") == f"{expected}, with search"


def test_tables_are_written(tmp_path: Path) -> None:
    flags = ["--quick", "--subgames=standard,ultimo", "--agents=expert,random", f"--out={tmp_path / 'run'}"]
    done = commands.run("experiments.cego_agents", *flags)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "run" / "table_7.csv").open()))
    assert [(row["sub-game"], row["set-up"]) for row in rows] == [
        (subgame, setup) for subgame in ("standard", "ultimo") for setup in ("S1", "S2", "S3", "S4")
    ]
    assert float(rows[4]["seat 0"]) > 70  # Ultimo: random players win 8 in a hundred
    assert {row["learnt from"] for row in rows} == {"self-play"}
    kept = tmp_path / "run" / "rows.json"
    found = json.loads(kept.read_text())
    assert len(found) == len(rows)
    found["table 7, ultimo, S4, expert"]["seat 0"] = "kept"  # a resumed command measures only what is missing
    del found["table 7, standard, S1, expert"]
    kept.write_text(json.dumps(found))
    assert commands.run("experiments.cego_agents", *flags, "--resume").returncode == 0
    again = list(csv.DictReader((tmp_path / "run" / "table_7.csv").open()))
    assert again == [*rows[:-1], {**rows[-1], "seat 0": "kept"}]
    kept.write_text("[]")
    assert "damaged" in commands.run("experiments.cego_agents", *flags, "--resume").stderr
    for wrong in ("--agents=expert,nobody", "--subgames=bridge", "--subgames="):
        assert commands.run("experiments.cego_agents", *flags[1:], wrong).returncode == 1


@pytest.mark.slow  # 11 CPU seconds; `python -m tests.kills` also kills this command
def test_what_each_part_is_worth_goes_on_where_it_stopped(tmp_path: Path) -> None:
    flags = ["--quick", "--subgame=bettel", "--games=50", "--deals=2", "--seeds=3", "--reference=random"]
    flags += ["--only=improved after distilling,returns from the start", f"--out={tmp_path / 'run'}"]
    done = commands.run("experiments.cego_ablation", *flags)
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "run" / "rows.json").read_text())
    assert list(kept) == ["improved after distilling, seed 3", "returns from the start, seed 3"]
    assert commands.run("experiments.cego_ablation", *flags, "--resume").returncode == 0
    assert json.loads((tmp_path / "run" / "rows.json").read_text()) == kept
    assert "allowed: returns" in commands.run("experiments.cego_ablation", *flags[:-1], "--only=magic").stderr
