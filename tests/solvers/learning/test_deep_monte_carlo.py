"""Deep Monte Carlo: it learns, it goes on bit by bit, and what it becomes is a player with files of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Threads
from cardtable.files import read_tensors, write_tensors
from cardtable.match import Estimate, play_games
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.randomness import streams
from cardtable.search.action_values import shape_for
from cardtable.search.saved_values import WEIGHTS_FILE, Saved
from solvers.deep_monte_carlo.lessons import Lessons, collect
from solvers.deep_monte_carlo.settings import Settings
from solvers.deep_monte_carlo.trainer import DeepMonteCarlo
from solvers.learning.actor import Acting, Chunk, Mind
from solvers.learning.players import value_player
from solvers.learning.trainer import Trainer
from tests.test_players import check_player

SMALL = Settings(context_sizes=(16,), head_sizes=(8,), games=12, chunk_games=5, distil_iterations=2)


def states_of(trainer: DeepMonteCarlo) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in trainer.get_state().items() if name != "identity"}


@pytest.fixture(scope="module")
def trained() -> DeepMonteCarlo:
    """Bettel, where it is soon better than random play."""
    game = pyspiel.load_game("python_cego(subgame=bettel)")
    sizes: dict[str, Any] = {"context_sizes": (32,), "head_sizes": (16,), "batch_size": 64, "games": 256}
    trainer = DeepMonteCarlo(game, Settings(**sizes, distil_iterations=8, learning_rate=4e-3), 1)
    trainer.run(8)
    return trainer


def test_learns_bettel(trained: DeepMonteCarlo) -> None:
    assert isinstance(trained, Trainer)
    game, player = trained.game, trained.player()
    random = find_player("random", game)
    mine = Estimate.of(play_games(game, [player, random, random, random], 4000, 7).returns[:, 0])
    theirs = Estimate.of(play_games(game, [random] * 4, 4000, 7).returns[:, 0])
    assert mine.low > theirs.high
    others = Estimate.of(play_games(game, [random, player, player, player], 4000, 7).returns[:, 0])
    assert others.high < theirs.low


def test_what_is_saved_plays_the_same_and_is_read_with_care(trained: DeepMonteCarlo, tmp_path: Path) -> None:
    trained.save_player(tmp_path, {"seed": 1})
    game, other = trained.game, pyspiel.load_game("python_cego(subgame=piccolo)")
    check_player(game, find_player(str(tmp_path), game))
    with pytest.raises(UserError, match="is a player of"):
        find_player(str(tmp_path), other)
    for wrong in ("worlds=-1", "level=hard", "thinks=never", "trust=-1"):
        with pytest.raises(UserError, match="allowed"):
            find_player(f"{tmp_path}({wrong})", game)
    head = json.loads((tmp_path / "player.json").read_text())
    for name, value in (("shape", {}), ("tells", "all"), ("scale", "x"), ("softmax", 1)):
        changed = {**head, "settings": {**head["settings"], name: value}}
        (tmp_path / "player.json").write_text(json.dumps(changed))
        with pytest.raises(UserError, match="damaged"):
            find_player(str(tmp_path), game)
    (tmp_path / "player.json").write_text(json.dumps({**head, "rules_version": 99}))
    with pytest.raises(UserError, match="version 99"):
        find_player(str(tmp_path), game)
    (tmp_path / "player.json").write_text(json.dumps(head))
    (tmp_path / WEIGHTS_FILE).write_bytes(b"x")
    with pytest.raises(UserError, match="damaged"):
        find_player(str(tmp_path), game)
    (tmp_path / WEIGHTS_FILE).unlink()
    with pytest.raises(UserError, match="it has no"):
        find_player(str(tmp_path), game)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["level=easy", "level=medium", "worlds=2", "worlds=2,thinks=all,trust=0"])
def test_levels_and_search(trained: DeepMonteCarlo, options: str, tmp_path: Path) -> None:
    trained.save_player(tmp_path, {})
    check_player(trained.game, find_player(f"{tmp_path}({options})", trained.game))


def test_goes_on_bit_by_bit_and_executors_change_nothing() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    seatings = [(None,) * 4, (None, find_player("random", game), None, None)]
    chosen = SMALL.replace(improve_iterations=1)
    straight = DeepMonteCarlo(game, chosen, 4, seatings)
    straight.run(4)
    half = DeepMonteCarlo(game, chosen, 4, seatings)
    half.run(0)
    half.run(1)
    with Threads(2) as threads:
        resumed = DeepMonteCarlo(game, chosen, 4, seatings, threads)
        resumed.set_state(half.get_state())
        resumed.run(3)
    wanted, found = states_of(straight), states_of(resumed)
    assert wanted.keys() == found.keys()
    assert all((wanted[name] == found[name]).all() for name in wanted)
    assert straight.phase == "returns"
    with pytest.raises(ValueError, match="the checkpoint is of"):
        DeepMonteCarlo(game, chosen, 5, seatings).set_state(half.get_state())


def test_each_seat_has_a_network_of_its_own_if_asked_for(tmp_path: Path) -> None:
    """As published agents were trained: with RMSprop, paid at the end alone. Only the seats that learn change."""
    game = pyspiel.load_game("python_kuhn_collab")
    chosen = SMALL.replace(networks="seat", network="joint", optimiser="rmsprop", tells="observation")
    chosen = chosen.replace(distil_iterations=0, baseline_playouts=0)
    random = find_player("random", game)
    first, second = (DeepMonteCarlo(game, chosen, 4, [(None, random, None, random)]) for _ in range(2))
    assert first.shape.blocks()[0][0] == "head.context"  # position and action side by side, as DouZero has them
    start = [learner.weights() for learner in first.learners]
    first.run(2)
    changed = [bool((learner.weights() != old).any()) for learner, old in zip(first.learners, start, strict=True)]
    assert changed == [True, False, True, False]
    second.run(1)
    third = DeepMonteCarlo(game, chosen, 4, [(None, random, None, random)])
    third.set_state(second.get_state())
    third.run(1)
    wanted, found = states_of(first), states_of(third)
    assert all((wanted[name] == found[name]).all() for name in wanted)
    first.save_player(tmp_path, {})
    check_player(game, find_player(str(tmp_path), game))
    weights = read_tensors(tmp_path / WEIGHTS_FILE, "weights")
    assert {name.partition(".")[0] for name in weights} == {"0", "1", "2", "3"}
    with pytest.raises(UserError, match="a network for each seat"):
        find_player(f"{tmp_path}(worlds=3)", game)
    write_tensors(tmp_path / WEIGHTS_FILE, {name: part for name, part in weights.items() if name[0] != "3"})
    with pytest.raises(UserError, match="3 networks for 4 seats"):
        find_player(str(tmp_path), game)
    with pytest.raises(UserError, match="improve_iterations"):
        chosen.replace(improve_iterations=1)


def test_targets_are_relative_to_random_play() -> None:
    """Of a game that is played at random, returns less their baselines have mean zero; so have all distilled rows."""
    game = pyspiel.load_game("python_cego")
    shape = shape_for(game.rules, (4,), (4,), 0.0)
    mind = Mind(shape, np.zeros(shape.num_weights, np.float32), epsilon=1.0)
    acting = Acting(game, [mind], [(None,) * 4], seed=3)
    returns = collect(Lessons(acting, "returns", 4), Chunk(300, 0, (1,)))
    mean = Estimate.of(returns.targets.astype(np.float64))
    plain = collect(Lessons(acting, "returns", 0), Chunk(300, 0, (1,)))
    assert abs(mean.mean) < 0.5
    assert returns.targets.std() < plain.targets.std(), "the baseline takes no luck away"
    distilled = collect(Lessons(acting, "distilled", 2), Chunk(20, 0, (1,)))
    ends = np.cumsum(distilled.count)
    sums = np.add.reduceat(distilled.targets, np.concatenate([[0], ends[:-1]]))
    assert np.abs(sums).max() < 1e-3
    assert len(distilled.targets) == ends[-1]


def test_improved_values_are_what_greedy_games_bring(trained: DeepMonteCarlo) -> None:
    """Networks everywhere leave nothing to chance: each action is worth what the rest of the game brings, played out
    through pyspiel, with the learner in seat 0 and a fixed network in the others."""
    game = trained.game
    fixed = trained.player()
    shape = shape_for(game.rules, (4,), (), 0.0)
    weights = np.random.default_rng(2).standard_normal(shape.num_weights).astype(np.float32)
    own = value_player("own", game, Saved("x", shape, weights[None], "features", 1.0, False))
    acting = Acting(game, [Mind(shape, weights)], [(None, fixed, fixed, fixed)], seed=3)
    lesson = collect(Lessons(acting, "improved", 1), Chunk(6, 0, (1,)))
    seats, first = [own, fixed, fixed, fixed], 0
    assert len(lesson.states) > 10
    for row, count in zip(lesson.states, lesson.count, strict=True):
        worth = []
        actions = np.empty(game.num_distinct_actions(), np.int64)
        for action in actions[: game.rules.kernel.legal_actions(row, actions)].tolist():
            state = row.copy()
            game.rules.kernel.apply_action(state, action)
            while (seat := game.rules.kernel.current_player(state)) >= 0:
                chosen = seats[seat].choose_rows(state[None], np.arange(1), streams(1, (1,), range(1)))
                game.rules.kernel.apply_action(state, int(chosen[0]))
            returns = np.empty(4)
            game.rules.kernel.returns(state, returns)
            worth.append(returns[0])
        np.testing.assert_allclose(lesson.targets[first : first + count], worth - np.mean(worth), atol=1e-6)
        first += int(count)


def test_impossible_settings_are_refused() -> None:
    for wrong in ({"epsilon": 2.0}, {"learning_rate": 0.0}, {"games": 0}, {"head_sizes": ()}, {"tells": "nothing"}):
        with pytest.raises(UserError, match="allowed"):
            Settings(**wrong)
    with pytest.raises(ValueError, match="no compiled rules"):
        DeepMonteCarlo(pyspiel.load_game("kuhn_poker"))


def test_playing_needs_few_random_numbers(trained: DeepMonteCarlo) -> None:
    """A player that chooses the best draws nothing: its streams stand still."""
    own = streams(1, (1,), range(3))
    before = own.copy()
    states = np.stack([trained.rules.new_state() for _ in range(3)])
    for state, stream in zip(states, streams(2, (0,), range(3)), strict=True):
        trained.rules.kernel.deal(state, stream)
    trained.player().choose_rows(states, np.arange(3), own)  # type: ignore[misc]
    assert (own == before).all()
