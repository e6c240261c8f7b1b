"""Games as environments, beside the same games played state by state through pyspiel."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError
from coinche_spiel.metrics import points_ahead
from experiments.suites.environments import StateByState, random_actions
from solvers.environments import ME, Environment, seating_of, vector_env

CASES = {
    "python_coinche(reward=good)": [ME, "strong", ME, "simple"],
    "python_gongzhu": ["random", ME, "greed", ME],
    "python_toepen(suits=3,ranks=3,hand_size=2)": ["monte_carlo(worlds=3)", ME],
    "python_cego(subgame=ultimo)": [ME, "random", "random", "random"],
}


def made(name: str, num_envs: int = 6) -> Environment:
    game = pyspiel.load_game(name)
    return Environment(game, seating_of(game, CASES[name]), num_envs, seed=5)


@pytest.mark.parametrize("name", CASES)
def test_the_same_games_as_through_pyspiel(name: str) -> None:
    ours, plain = made(name), StateByState(pyspiel.load_game(name), CASES[name], 6, seed=5)
    generator = np.random.default_rng(1)
    ended = 0
    for _ in range(60):
        np.testing.assert_array_equal(ours.observations(), plain.observations())
        np.testing.assert_array_equal(ours.masks(), plain.masks())
        actions = random_actions(ours.masks(), generator)
        rewards, over = ours.step(actions)
        expected, expected_over = plain.step(actions)
        np.testing.assert_array_equal(rewards, expected)
        np.testing.assert_array_equal(over, expected_over)
        ended += over.sum()
    assert ended >= 6  # most environments have played several games


def test_it_goes_on_from_a_state() -> None:
    first, second = made("python_coinche(reward=good)"), made("python_coinche(reward=good)")
    generator = np.random.default_rng(2)
    for _ in range(25):
        first.step(random_actions(first.masks(), generator))
    second.set_state(first.get_state())
    for _ in range(25):
        np.testing.assert_array_equal(first.observations(), second.observations())
        actions = random_actions(first.masks(), generator)
        for one, other in zip(first.step(actions), second.step(actions), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_state_that_no_game_leads_to_is_refused() -> None:
    environment = made("python_coinche(reward=good)")
    for _ in range(3):
        environment.step(random_actions(environment.masks(), np.random.default_rng(3)))
    shown, good = environment.observations(), environment.get_state()
    for name, place, value in (("chosen", (0, 0), 99), ("chosen", (0, 5), 33), ("deals", 0, -1)):
        bad = {key: array.copy() for key, array in good.items()}
        bad[f"env.{name}"][place] = value
        with pytest.raises(ValueError, match=r"allowed|cannot|outside"):
            environment.set_state(bad)
        np.testing.assert_array_equal(environment.observations(), shown)


def test_progress_is_paid_as_it_comes() -> None:
    """With the trick points of Coinche paid at once, a game pays in all what it pays at its end otherwise."""
    game = pyspiel.load_game("python_coinche")
    seats = seating_of(game, [ME, "strong", ME, "strong"])
    late = Environment(pyspiel.load_game("python_coinche(trick_reward=0.1)"), seats, 8, seed=3)
    soon = Environment(game, seats, 8, seed=3, progress=lambda states, seat: 0.1 * points_ahead(states, seat))
    generator = np.random.default_rng(4)
    totals = np.zeros((2, 8))
    finished, paid_before_the_end = 0, 0
    for _ in range(80):
        actions = random_actions(late.masks(), generator)
        (late_rewards, over), (soon_rewards, _) = late.step(actions), soon.step(actions)
        totals += late_rewards, soon_rewards
        paid_before_the_end += (soon_rewards[~over] != 0).sum()
        np.testing.assert_allclose(totals[0, over], totals[1, over], atol=1e-9)
        totals[:, over] = 0.0
        finished += over.sum()
    assert finished > 10
    assert paid_before_the_end > 10


def test_mistakes() -> None:
    environment = made("python_gongzhu")
    shown = environment.observations()
    for action in (-1, 52, int(np.argmin(environment.masks()[0]))):
        with pytest.raises(UserError, match="the action of environment 0 is"):
            environment.step(np.full(6, action))
    np.testing.assert_array_equal(environment.observations(), shown)


def test_mistakes_of_who_sits_where() -> None:
    pytest.importorskip("gymnasium")
    with pytest.raises(UserError, match="one seat, or seats of one team"):
        vector_env("python_gongzhu", [ME, ME, "random", "random"])
    with pytest.raises(UserError, match="at least one seat that learns"):
        vector_env("python_gongzhu", ["random"] * 4)
    with pytest.raises(UserError, match="4 places"):
        vector_env("python_gongzhu", [ME, "random"])
    with pytest.raises(UserError, match="not a game of this project"):
        vector_env("leduc_poker", [ME, "random"])
    with pytest.raises(UserError, match="num_envs is 0"):
        vector_env("python_gongzhu", [ME, "random", "random", "random"], num_envs=0)


def test_gymnasium_takes_it() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = vector_env("python_gongzhu", [ME, "greed", ME, "greed"], num_envs=3, seed=7)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    observations, info = counted.reset(seed=7)
    assert env.observation_space.contains(observations)
    generator, returns = np.random.default_rng(0), []
    for _ in range(40):
        actions = random_actions(info["action_mask"], generator)
        assert env.action_space.contains(actions)
        observations, rewards, terminated, truncated, info = counted.step(actions)
        assert env.observation_space.contains(observations)
        assert not truncated.any()
        if terminated.any():
            np.testing.assert_allclose(info["episode"]["r"][terminated], rewards[terminated])  # paid at the end only
            returns.extend(rewards[terminated])
    assert len(returns) >= 3
