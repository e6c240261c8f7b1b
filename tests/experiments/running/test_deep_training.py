"""Who sits where in Deep CFR runs, whom they are measured against, and when strategy networks are fitted."""

import itertools
from typing import Any

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_games, sides_of
from cardtable.parameters import UserError
from cardtable.player import find_player
from experiments.running.deep_training import (
    GROWTH,
    Matches,
    Options,
    deep_task,
    fixed_seats,
    known_players,
    make_trainer,
    strategy_is_due,
)
from experiments.running.loop import Clock, evaluation_points
from gongzhu_spiel.players import mr_greed
from solvers.deep_cfr.large import LargeDeepCFR

LITTLE: dict[str, Any] = {
    "traversals": 1,
    "training_steps": 2,
    "batch_size": 8,
    "memory_rows": 500,
    "strategy_memory_rows": 500,
}
LITTLE |= {"traversal": "corrected", "tries": 1, "strategy_training_steps": 2, "snapshots": 2, "hidden_sizes": (8,)}


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("python_cego", (0,)),  # one against three
        ("python_cego(subgame=raeuber)", (0, 2)),  # everybody for himself
        ("python_gongzhu", (0, 2)),
        ("python_coinche", (0, 2)),
        ("python_toepen", (0,)),
    ],
)
def test_the_learner_holds_the_seats_of_the_first_team(name: str, side: tuple[int, ...]) -> None:
    game = pyspiel.load_game(name)
    assert sides_of(game)[0] == side
    seats = fixed_seats(game, "random")
    assert [seat for seat, player in enumerate(seats) if player is None] == list(side)


def test_players_of_the_package_are_known_by_name() -> None:
    gongzhu = pyspiel.load_game("python_gongzhu")
    assert list(known_players(gongzhu)) == ["random", "if", "greed", "team"]
    seats = fixed_seats(gongzhu, "greed")
    assert [player and player.compiled for player in seats] == [None, mr_greed, None, mr_greed]
    assert list(known_players(pyspiel.load_game("python_cego"))) == ["random"]
    assert not known_players(pyspiel.load_game("kuhn_poker"))
    with pytest.raises(UserError, match=r"--opponents=simple: .* has the players random, if, greed, team"):
        fixed_seats(gongzhu, "simple")


def trained(options: Options) -> LargeDeepCFR:
    game = pyspiel.load_game(options.game)
    opponents = fixed_seats(game, options.opponents) if options.opponents else None
    trainer = make_trainer(game, options, opponents)
    assert isinstance(trainer, LargeDeepCFR)
    trainer.run(1)
    return trainer


@pytest.mark.slow
def test_cego_is_learned_alone_against_three() -> None:
    """`networks="team"` gives the three a network of their own, which never traverses."""
    options = Options("python_cego", opponents="random", games=40, settings={**LITTLE, "networks": "team"})
    trainer = trained(options)
    assert trainer.learning_seats == [0]
    row = Matches(trainer, options).evaluate(Clock(lambda: 0.0), False)
    seed = int(np.random.SeedSequence(1, spawn_key=(9, 1)).generate_state(1)[0])
    cego = trainer.game
    seats = [trainer.player(), *[find_player("random", cego)] * 3]
    returns = play_games(cego, seats, 40, seed).returns
    assert row["random: mean return"] == pytest.approx(returns[:, 0].mean())
    assert not any(name.startswith("itself") for name in row)


@pytest.mark.slow
def test_gongzhu_is_measured_against_all_its_players() -> None:
    options = Options("python_gongzhu", games=20, settings=LITTLE)
    row = Matches(trained(options), options).evaluate(Clock(lambda: 0.0), False)
    measured = [name.split(": ")[0] for name in row if ": " in name]
    assert measured == ["itself", "random", "if", "greed", "team"]
    assert row["itself: mean return"] != row["team: mean return"]


def test_strategy_networks_are_fitted_when_iterations_have_doubled() -> None:
    points = list(itertools.takewhile(lambda point: point < 2000, evaluation_points(GROWTH)))
    due = [point for point in points if strategy_is_due(point, GROWTH)]
    assert due[0] == next(point for point in points if point >= 64)
    for before, after in itertools.pairwise(due):
        assert after == next(point for point in points if point >= 2 * before)
    assert not any(strategy_is_due(iterations, GROWTH) for iterations in range(1, 2000) if iterations not in points)


def test_what_a_run_was_asked_for_is_in_its_config() -> None:
    task = deep_task(Options("kuhn_poker", seed=7, settings={"traversals": 10}))
    assert (task.config["game"], task.config["seed"], task.config["traversals"]) == ("kuhn_poker", 7, 10)
    assert "device" not in task.config, "a run may be resumed on another machine"
