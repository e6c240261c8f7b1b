"""The runner for Cego's baselines: a quick run from the command line, and its pieces."""

import csv
import subprocess
from pathlib import Path

import numpy as np

from cego_spiel.card_strength import low_cards, trick_wins
from cego_spiel.cards import LOW
from experiments.cego import random_play
from tests import commands


def run(*flags: str, cwd: Path) -> subprocess.CompletedProcess:
    return commands.run("experiments.cego_baselines", *flags, cwd=cwd)


def test_quick_run(tmp_path: Path) -> None:
    result = run("--quick", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = list(csv.DictReader((tmp_path / "run" / "table_3.csv").open()))
    assert len(rows) == 24
    assert all(abs(float(row["z"])) < 5 for row in rows)
    assert {row["game"] for row in rows} == set(random_play.PUBLISHED)
    assert (tmp_path / "run" / "figure_2.png").stat().st_size > 10_000
    report = (tmp_path / "run" / "report.md").read_text()
    assert "exactly those of the rules" in report
    assert len(list(csv.DictReader((tmp_path / "run" / "figure_2.csv").open()))) == 54


def test_bad_flags(tmp_path: Path) -> None:
    for flags in (["--games=10"], ["--executor=threads:0"], ["standard"]):
        result = run(*flags, cwd=tmp_path)
        assert result.returncode != 0
        assert "Traceback" not in result.stderr


def test_published_numbers_add_up() -> None:
    for measure, values in random_play.PUBLISHED.values():
        if len(set(values[1:])) == 1:
            assert abs(values[0] + values[1] - (79 if measure == "points" else 100)) < 0.0011
        else:
            assert abs(sum(values) - 300) < 0.0021


def test_low_cards_are_those_of_the_rules() -> None:
    """30 cards that win 18.28 % of all tricks, as published; a 31st would bring them over 20 %."""
    wins = trick_wins(100_000, seed=3)
    assert wins.sum() == 11 * 100_000
    assert sum(1 << card for card in low_cards(wins)) == LOW
    shares = 100 * np.cumsum(np.sort(wins)) / wins.sum()
    assert abs(shares[29] - 18.28) < 0.2
    assert 20 < shares[30] < 20.3


def test_low_cards_by_hand() -> None:
    assert low_cards(np.array([50, 5, 30, 10, 4, 1])) == [1, 4, 5]  # 1 + 4 + 5 = 10 %; with 10 exactly 20 %
