"""ScrofaZero's command: a few iterations, and the tables with what came of them."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cardtable.match import Estimate
from cardtable.spiel import load_card_game
from experiments.gongzhu.scrofazero import verdict
from solvers.alpha_zero.players import save_alpha_zero
from tests import commands


@pytest.mark.slow
def test_training_and_tables(tmp_path: Path) -> None:
    trained = commands.run("experiments.gongzhu_scrofazero", "--quick", "--out=net", cwd=tmp_path)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    rows = list(csv.DictReader((tmp_path / "net" / "metrics.csv").open()))
    assert float(rows[-1]["points"]) < 0  # nobody beats Mr. Greed after three iterations
    played = commands.run("experiments.gongzhu_scrofazero", "--quick", "--tables=net", "--out=tables", cwd=tmp_path)
    assert played.returncode == 0, played.stdout + played.stderr
    tables = list(csv.DictReader((tmp_path / "tables" / "matches.csv").open()))
    assert {row["table"] for row in tables} == {"2", "3", "5", "8"}
    assert len(list(csv.DictReader((tmp_path / "tables" / "table_4.csv").open()))) == 9
    assert len(list(csv.DictReader((tmp_path / "tables" / "table_3.csv").open()))) == 5
    assert len(list(csv.DictReader((tmp_path / "tables" / "table_2.csv").open()))) == 1
    gammas = list(csv.DictReader((tmp_path / "tables" / "table_6.csv").open()))
    assert [row["card"] for row in gammas] == ["D7", "D8", "D4", "D6", "D7", "DJ", "D4", "D10", "DK", "D4"]
    for guess in {row["guessed"] for row in gammas}:  # the best card of a hand has no regret, with D4 and without
        for column in ("without D4", "with D4"):
            found = [float(row[column]) for row in gammas if row["guessed"] == guess and row[column]]
            assert 0 < min(found) < max(found) <= 1
    stratified = [row for row in tables if row["match"] in ("SS", "SZS - greed")]
    assert [row["deals"] for row in stratified] == ["3", "3"]  # one match, in two tables
    assert stratified[0]["points"] == stratified[1]["points"]


def test_verdicts() -> None:
    """A gain of 5 with a standard error of 2 is told from none, with 3 it is not."""
    sure, unsure = Estimate(5.0, 2.0, 100), Estimate(5.0, 3.0, 100)
    assert [verdict(sure, True), verdict(sure, False)] == ["so it is", "the other way round"]
    assert [verdict(unsure, True), verdict(unsure, False)] == ["not told from none"] * 2


def test_bad_flags(tmp_path: Path) -> None:
    result = commands.run("experiments.gongzhu_scrofazero", "--tables=nowhere", cwd=tmp_path)
    assert result.returncode == 1
    assert "nowhere is no saved player" in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    save_alpha_zero(tmp_path, load_card_game("python_gongzhu"), {"some": np.zeros(1, np.float32)}, {}, {})
    result = commands.run("experiments.gongzhu_scrofazero", f"--tables={tmp_path}", "--only=3,9", cwd=tmp_path)
    assert result.returncode == 1
    assert "--only=9; allowed: 2, 3, 4, 5, 6, 7, 8" in result.stdout + result.stderr
