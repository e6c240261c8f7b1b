"""The one way to train at any game of ours."""

from __future__ import annotations

import csv
from pathlib import Path

import pyspiel
import pytest
import torch

from cardtable.match import play_match
from cardtable.player import find_player
from cardtable.search.saved_values import WEIGHTS_FILE
from experiments.running.learner_training import Options, make_learner, seatings_of
from tests import commands


def test_trains_measures_and_saves_a_player(tmp_path: Path) -> None:
    game = pyspiel.load_game("python_toepen(suits=2,ranks=2,hand_size=2)")
    out = tmp_path / "run"
    done = commands.run("experiments.train", f"--game={game}", "--quick", "--learner=dmc", f"--out={out}")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((out / "metrics.csv").open()))
    assert [int(row["step"]) for row in rows] == [1, 2, 3]
    assert all(float(row["nash_conv"]) >= 0 for row in rows)
    assert (out / "learning.png").exists()
    player = find_player(str(out), game)
    assert play_match(game, player, find_player("random", game), 20).score.n == 20
    shape = ["--context_sizes=8", "--head_sizes=8"]
    later = ["--distil_iterations=0", "--later_learning_rate=1e-30", "--iterations=1", "--deals=20"]
    onward = tmp_path / "onward"
    arguments = [f"--game={game}", f"--start={out}", *later, f"--out={onward}"]
    assert commands.run("experiments.train", *arguments, *shape).returncode == 0
    assert (onward / WEIGHTS_FILE).read_bytes() == (out / WEIGHTS_FILE).read_bytes()
    assert "has another shape" in commands.run("experiments.train", *arguments, "--overwrite").stderr
    again = commands.run("experiments.train", f"--game={game}", "--quick", f"--out={out}")
    assert "holds a run already" in again.stderr


def test_whoever_trains_has_one_thread_of_torch() -> None:
    """CPU seconds count, and more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        make_learner(Options("python_toepen(suits=2,ranks=2,hand_size=2)", quick=True))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_seats_learn_together_or_in_turn() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    random = find_player("random", game)

    def learning(opponents: list[str], seats: list[tuple[int, ...]]) -> list[list[int]]:
        seatings = seatings_of(game, opponents, seats)
        return [[seat for seat, player in enumerate(seating) if player is None] for seating in seatings]

    assert learning(["random"], [(0, 2)]) == [[0, 2]]
    assert learning(["random", "itself"], [(0,), (1, 3)]) == [[0], [1, 3], [0, 1, 2, 3]]
    assert seatings_of(game, ["random"], [(1,)])[0][0].name == random.name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--game=kuhn_poker"], "not a game of this project"),
        (["--learner=ppo"], "value should be one of"),
        (["--gamma=0.9"], "--gamma is not for Deep Monte Carlo"),
        (["--learner=dqn", "--distil_iterations=3"], "--distil_iterations is not for Double DQN"),
        (["--opponents=nobody"], "there is no player 'nobody'"),
        (["--opponents=random", "--seats=7"], "seats is [7]; allowed: 0 to"),
        (["--opponents=random", "--seats=0/"], "allowed are whole numbers"),
        (["--context_sizes=100000000"], "of memory"),
        (["--start=nowhere"], "is no saved player"),
        (["--start=expert"], "there is no expert"),
        (["--learner=dqn", "--start=expert"], "start is for Deep Monte Carlo"),
        (["--networks=seat", "--improve_iterations=2"], "plays all seats"),
    ],
)
def test_refuses(flags: list[str], complaint: str, tmp_path: Path) -> None:
    arguments = ["--game=python_kuhn_collab", "--quick", *flags, f"--out={tmp_path / 'run'}"]
    done = commands.run("experiments.train", *arguments)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "learner"),
    [
        ("python_coinche", "dmc"),
        ("python_gongzhu", "nfsp"),
        ("python_cego(subgame=raeuber)", "dqn"),
        ("python_tied_rewards(game=python_kuhn_collab())", "dqn"),
        ("python_card_isomorphism(game=python_toepen())", "nfsp"),
    ],
)
def test_every_game_can_be_learnt(game: str, learner: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = commands.run("experiments.train", f"--game={game}", f"--learner={learner}", "--quick", f"--out={out}")
    assert done.returncode == 0, done.stderr
    assert find_player(str(out), pyspiel.load_game(game)).choose_rows is not None
