"""The tournament: a cross table that adds up, ratings, intransitivity, resuming, bad input."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cardtable.parameters import UserError
from experiments.running.round_robin import PairResult, Standings, intransitivity, load_pair, names_in, save_pair
from tests import commands


def standings_of(points: np.ndarray) -> Standings:
    """A round robin in which player i is points[d, i, j] ahead of j in deal d."""
    n = points.shape[1]
    cost = np.array([1.0, 2.0])
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    results = {(i, j): PairResult(points[:, i, j], np.array([10, 10]), cost) for i, j in pairs}
    return Standings([f"p{i}" for i in range(n)], results)


def test_ratings_are_least_squares() -> None:
    """Against the normal equations, solved by numpy; and their errors against deals drawn again."""
    rng = np.random.default_rng(1)
    strength = np.array([3.0, 0.0, -1.0, -2.0])
    luck = rng.normal(size=(400, 4))
    points = (strength + luck)[:, :, None] - (strength + luck)[:, None, :] + 0.1
    points -= np.swapaxes(points, 1, 2)
    standings = standings_of(points / 2)
    means = standings.points.mean(axis=0)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    design = np.array([[float(k == i) - float(k == j) for k in range(4)] for i, j in pairs] + [[1.0] * 4])
    wanted = np.linalg.lstsq(design, np.array([means[i, j] for i, j in pairs] + [0.0]), rcond=None)[0]
    ratings = standings.ratings()
    assert [rating.mean for rating in ratings] == pytest.approx(wanted)
    assert standings.order() == [0, 1, 2, 3]
    again = []
    for _ in range(500):
        drawn = standings.points[rng.integers(400, size=400)].mean(axis=0)
        again.append(drawn.mean(axis=1))
    assert [rating.standard_error for rating in ratings] == pytest.approx(np.std(again, axis=0), rel=0.15)


def test_intransitivity() -> None:
    """0 where strengths add up, 1 for rock, paper, scissors, and the published three of Gongzhu by hand."""
    strength = np.array([5.0, 2.0, -1.0, -6.0])
    assert intransitivity(strength[:, None] - strength[None, :]) == pytest.approx(0)
    assert intransitivity(np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])) == pytest.approx(1)
    if_random, greed_random, greed_if = 194, 275, 80  # Table 2
    x = np.array([[0, -if_random, -greed_random], [if_random, 0, -greed_if], [greed_random, greed_if, 0]])
    gap = abs(-if_random - greed_if + greed_random)
    assert intransitivity(x) == pytest.approx(gap**2 / (gap * (if_random + greed_random + greed_if)))


def test_names() -> None:
    assert names_in("random,monte_carlo(worlds=3,rollout=if), team") == [
        "random",
        "monte_carlo(worlds=3,rollout=if)",
        "team",
    ]
    for text, complaint in (("random", "two or more"), ("a,,b", "two or more"), ("a,b,a", "a is named more than once")):
        with pytest.raises(UserError, match=complaint):
            names_in(text)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return commands.run("experiments.tournament", *arguments)


def test_command(tmp_path: Path) -> None:
    """Cego, one against three; with threads, a match lost and a player who joins late it says the same."""
    arguments = ["--game=python_cego", "--players=random,monte_carlo(worlds=2),monte_carlo(worlds=4)", "--deals=12"]
    two_players = [arguments[0], "--players=random,monte_carlo(worlds=2)", arguments[2]]
    whole, again = tmp_path / "whole", tmp_path / "again"
    result = run(*arguments, f"--out={whole}")
    assert result.returncode == 0, result.stderr
    assert "Intransitivity" in result.stdout
    assert run(*two_players, f"--out={again}", "--executor=threads:2").returncode == 0
    (again / "random monte_carlo(worlds=2).npz").unlink()
    assert run(*arguments, f"--out={again}", "--resume").returncode == 0
    tables = [list(csv.DictReader((folder / "results.csv").open())) for folder in (whole, again)]
    for one, two in zip(*tables, strict=True):
        assert {k: v for k, v in one.items() if "ms" not in k} == {k: v for k, v in two.items() if "ms" not in k}
    assert (whole / "ratings.csv").read_text() == (again / "ratings.csv").read_text()
    assert (whole / "tournament.png").stat().st_size > 10_000
    other = run(*arguments[:2], "--deals=13", f"--out={again}", "--resume")
    assert other.returncode == 1
    assert "deals was 12, is now 13" in other.stderr


def test_damaged_matches_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "match_0_1.npz"
    save_pair(file, PairResult(np.zeros(5), np.ones(2, np.int64), np.ones(2)))
    assert load_pair(file, 5).score.mean == 0
    save_pair(file, PairResult(np.zeros(5), np.ones(2, np.int64), np.full(2, np.nan)))  # of compiled players
    assert np.isnan(load_pair(file, 5).milliseconds).all()
    for wrong in (np.nan, np.inf):
        save_pair(file, PairResult(np.full(5, wrong), np.ones(2, np.int64), np.ones(2)))
        with pytest.raises(UserError, match="not a match of 5 deals"):
            load_pair(file, 5)
    save_pair(file, PairResult(np.zeros(5), np.ones(2, np.int64), np.ones(2)))
    with pytest.raises(UserError, match="not a match of 6 deals"):
        load_pair(file, 6)
    file.write_bytes(b"nonsense")
    with pytest.raises(UserError, match=r"is damaged .* delete it"):
        load_pair(file, 5)
