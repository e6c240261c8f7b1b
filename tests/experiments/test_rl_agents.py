"""OpenSpiel's DQN and NFSP on our games: they run through rl_environment, and learn at Standard-Cego."""

import subprocess
from pathlib import Path

import pyspiel
import pytest
from open_spiel.python import rl_agent, rl_environment
from open_spiel.python.algorithms import random_agent

import cardspiel  # noqa: F401 registers the games
from experiments.running.directory import RunDirectory
from tests import commands

pytest.importorskip("tree", reason="OpenSpiel's torch agents need dm-tree, which the peers extra installs")
from experiments.cego import rl_training


def run(*flags: str, cwd: Path) -> subprocess.CompletedProcess:
    return commands.run("experiments.rl_agents", *flags, cwd=cwd)


def test_quick_run_from_the_command_line(tmp_path: Path) -> None:
    result = run("--quick", "--measurements=1", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {"metrics.csv", "learning.png", "report.md"} <= {path.name for path in (tmp_path / "run").iterdir()}
    said = [line for line in result.stderr.splitlines() if not line.startswith("compiling ")]
    assert said == []  # OpenSpiel's own remarks are for those who ask with --verbosity


@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("--game=python_skat", "--game=python_skat cannot be loaded"),
        ("--game=kuhn_poker", "--game=kuhn_poker is not a card game of this project"),
    ],
)
def test_bad_flags(tmp_path: Path, flag: str, complaint: str) -> None:
    result = run(flag, cwd=tmp_path)
    assert result.returncode != 0
    assert complaint in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("name", "kind"), [("python_cego", "nfsp"), ("python_gongzhu", "dqn")])
def test_agents_run(tmp_path: Path, name: str, kind: str) -> None:
    game = pyspiel.load_game(name)
    rows = rl_training.train(game, kind, 6, 1, 200, 1, RunDirectory(tmp_path, {}))
    assert [row["games"] for row in rows] == [0, 6]
    assert rows[-1]["steps"] == 6 * game.max_game_length() // 4


class Recorder:
    """An agent that plays its lowest card and remembers what it was paid."""

    def __init__(self) -> None:
        self.rewards: list[float] = []

    def step(self, time_step: rl_environment.TimeStep) -> rl_agent.StepOutput | None:
        self.rewards.append(time_step.rewards[0])
        if time_step.last():
            return None
        return rl_agent.StepOutput(time_step.observations["legal_actions"][0][0], [])


@pytest.mark.parametrize(
    ("name", "is_paid_on_the_way"),
    [("python_cego", True), ("python_gongzhu", True), ("python_cego(reward=win)", False)],
)
def test_rewards_on_the_way_add_up_to_the_return(name: str, is_paid_on_the_way: bool) -> None:
    game = pyspiel.load_game(name)
    score = rl_training.running_score(game)
    environment = rl_environment.Environment(game, chance_event_sampler=rl_environment.ChanceEventSampler(3))
    others = [random_agent.RandomAgent(seat, game.num_distinct_actions()) for seat in range(4)]
    for _ in range(5):
        agent = Recorder()
        steps = rl_training.play_episode(environment, agent, others, score)
        assert len(agent.rewards) == steps + 1
        payoff_range = game.max_utility() - game.min_utility()
        assert sum(agent.rewards) * payoff_range == pytest.approx(environment.get_state.returns()[0])
        assert any(agent.rewards[1:-1]) == is_paid_on_the_way


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "episodes"), [("dqn", 2000), ("nfsp", 3000)])
def test_agents_learn_standard_cego(tmp_path: Path, kind: str, episodes: int) -> None:
    """Random play in seat 0 wins 40.795 points (Table III of the Cego paper)."""
    game = pyspiel.load_game("python_cego")
    rows = rl_training.train(game, kind, episodes, 1, 100_000, 1, RunDirectory(tmp_path, {}))
    assert rows[-1]["mean return"] > 40.795 + 3 * rows[-1]["s.e."]
