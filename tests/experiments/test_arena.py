"""The arena: estimates, figures of players, the command, bad input."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_match, require_sequential
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.spiel import load_game
from experiments.running.match_figures import figures, ratio
from solvers.cfr import CFRSolver
from solvers.policies import save_policy
from tests import commands

# Estimates.


def test_estimate_of_a_plain_mean() -> None:
    values = np.random.default_rng(1).normal(size=(500, 1))
    found = ratio(values, np.ones_like(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(values.std(ddof=1) / 500**0.5)
    assert found.n == 500


def test_estimate_treats_the_games_of_a_deal_as_one() -> None:
    """A deal repeated is no new information; a deal whose two games cancel has no uncertainty at all."""
    values = np.random.default_rng(2).normal(size=(300, 1))
    once = ratio(values, np.ones_like(values))
    twice = ratio(np.hstack([values, values]), np.ones((300, 2)))
    assert twice.standard_error == pytest.approx(once.standard_error)
    assert ratio(np.hstack([values, -values]), np.ones((300, 2))).standard_error == pytest.approx(0, abs=1e-12)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """A share among a random number of attempts per deal: about 95% of the intervals contain it."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        attempts = rng.integers(0, 3, size=(200, 2))
        found = ratio(rng.binomial(attempts, 0.3).astype(float), attempts.astype(float))
        covered += found.low <= 0.3 <= found.high
    assert 0.93 < covered / 2000 < 0.97


def test_estimate_of_nothing() -> None:
    assert np.isnan(ratio(np.zeros((5, 2)), np.zeros((5, 2))).mean)


def test_known_figures_of_the_players() -> None:
    """Figures of the literature for 20,000 deals, here within four standard errors of our own few thousand."""
    game = pyspiel.load_game("python_coinche")
    match = play_match(game, find_player("strong", game), find_player("random", game), 4000)
    strong, random = figures(game, match, 0), figures(game, match, 1)
    for found, expected in (
        (strong["mean return"], 229),
        (strong["attack rate"], 0.013),
        (strong["success attacking"], 0.809),
        (random["success attacking"], 0.008),
        (random["contract"], 231.5),
        (strong["table turns"], 9.94),
    ):
        assert abs(found.mean - expected) < 4 * found.standard_error + 0.004 * expected


def test_gongzhu_players_play() -> None:
    """Mr. Greed is about 78 points better than Mr. If, with a standard error of about 150 points per deal."""
    game = pyspiel.load_game("python_gongzhu")
    match = play_match(game, find_player("greed", game), find_player("if", game), 400)
    found = figures(game, match, 0)["mean return"]
    assert abs(found.mean - 78) < 10 + 4 * found.standard_error
    assert tuple(found)[:2] == pytest.approx(tuple(match.score)[:2])


@pytest.mark.parametrize("name", ["leduc_poker", "kuhn_poker(players=3)", "python_kuhn_collab"])
def test_other_games(name: str) -> None:
    game = pyspiel.load_game(name)
    match = play_match(game, find_player("random", game), find_player("uniform_random", game), 60)
    found = figures(game, match, 0)["mean return"]
    assert abs(found.mean) < 5 * found.standard_error
    assert found.n == 120
    assert "attack rate" not in figures(game, match, 0)


# The runner.


def run_arena(*arguments: str) -> subprocess.CompletedProcess:
    return commands.run("experiments.arena", *arguments)


def test_runner(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--game=python_toepen", "--north_south=random", "--east_west=random", "--quick", "--seed=3"]
    result = run_arena(*arguments, f"--out={out}")
    assert result.returncode == 0, result.stderr
    assert "random (1)" in result.stdout
    assert json.loads((out / "config.json").read_text())["config"]["deals"] == 200
    rows = (out / "results.csv").read_text().splitlines()
    assert rows[0] == "player,figure,mean,low,high,standard_error,weight"
    assert len(rows) == 1 + 2 * 5
    assert (out / "arena.png").stat().st_size > 10_000
    report = (out / "report.md").read_text()
    assert "--seed=3" in report
    assert "| mean return |" in report


def test_one_command_plays_a_saved_policy_and_a_search_with_threads(tmp_path: Path) -> None:
    game = pyspiel.load_game("python_toepen(suits=2,ranks=3,hand_size=2,betting=False)")
    solver = CFRSolver(game, variant="cfr_plus")
    solver.run(50)
    save_policy(tmp_path / "solved.npz", solver.average_policy())
    written = []
    for executor in ("serial", "threads:2"):
        result = run_arena(
            f"--game={game}",
            f"--north_south={tmp_path / 'solved.npz'}",
            "--east_west=monte_carlo(worlds=3)",
            "--deals=60",
            f"--executor={executor}",
            f"--out={tmp_path / executor[:6]}",
        )
        assert result.returncode == 0, result.stderr
        assert "CPU time a decision: solved" in result.stdout
        written.append((tmp_path / executor[:6] / "results.csv").read_text())
    assert written[0] == written[1]
    assert "solved,mean return" in written[0]


def test_bad_games() -> None:
    with pytest.raises(UserError, match="--game=python_topen cannot be loaded"):
        load_game("python_topen")
    with pytest.raises(UserError, match="reward is 'mirrors'; allowed: classic, mirror"):
        load_game("python_coinche(reward=mirrors)")
    with pytest.raises(UserError, match="matrix_mp is not a sequential game"):
        require_sequential(load_game("matrix_mp"))
    with pytest.raises(UserError, match="has one player only"):
        require_sequential(load_game("catch"))


def test_runner_with_a_typo() -> None:
    """A message and a failing exit code, no traceback."""
    result = run_arena("--game=python_toepen", "--north_south=strnog")
    assert result.returncode == 1
    assert "experiments.arena: there is no player 'strnog'" in result.stderr
    assert "Traceback" not in result.stderr
