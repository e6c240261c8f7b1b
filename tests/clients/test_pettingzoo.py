"""Our games as PettingZoo's environments: its own tests, and the same game beside it in OpenSpiel."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest

import cardspiel
from cardtable.parameters import UserError

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

from cardspiel.pettingzoo_env import env, raw_env

SMALL = "python_toepen(suits=3,ranks=3,hand_size=2)"
SIGNALS = "python_partner_oracle(game=python_kuhn_collab(),accuracy=0.9,step=0.25)"  # chance acts after the deal
# PettingZoo knows its own card games, whose observations are dictionaries too, by name.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
]


@pytest.mark.parametrize(
    "name",
    [SMALL, SIGNALS, "leduc_poker", *(pytest.param(name, marks=pytest.mark.slow) for name in cardspiel.GAMES)],
)
@pytest.mark.filterwarnings("error")
def test_pettingzoos_own_tests(name: str) -> None:
    for perfect_recall in (True, False):
        api_test(env(name, perfect_recall=perfect_recall), num_cycles=200)
    seed_test(lambda: env(name), num_cycles=50)


@pytest.mark.parametrize(
    "name", [SMALL, SIGNALS, *(pytest.param(name, marks=pytest.mark.slow) for name in cardspiel.GAMES)]
)
def test_it_is_the_game(name: str) -> None:
    """The same actions on a state of OpenSpiel: same players, masks and tensors, and at the end the same returns."""
    game = pyspiel.load_game(name)
    environment = raw_env(name)
    rng = np.random.default_rng(1)
    for seed in range(5):
        environment.reset(seed=seed)
        chance = np.random.default_rng(seed)
        state, earned = game.new_initial_state(), dict.fromkeys(environment.possible_agents, 0.0)
        for agent in environment.agent_iter():
            observation, reward, terminated, truncated, _ = environment.last()
            assert not truncated
            earned[agent] += reward
            while state.is_chance_node():
                outcomes = state.chance_outcomes()
                chances = [probability for _, probability in outcomes]
                state.apply_action(outcomes[chance.choice(len(outcomes), p=chances)][0])
            assert state.is_terminal() == terminated
            if terminated:
                environment.step(None)
                continue
            seat = state.current_player()
            assert agent == f"player_{seat}"
            assert np.flatnonzero(observation["action_mask"]).tolist() == state.legal_actions()
            assert observation["observation"].tolist() == state.information_state_tensor(seat)
            assert not environment.observe(environment.possible_agents[seat - 1])["action_mask"].any()
            action = rng.choice(state.legal_actions())
            environment.step(action)
            state.apply_action(int(action))
        assert list(earned.values()) == state.returns()
        assert any(earned.values())


def test_parameters_are_kept() -> None:
    game = pyspiel.load_game(SMALL)
    for environment in (env(SMALL), env(game)):
        assert environment.metadata["name"] == str(game)
        assert environment.action_space("player_0").n == game.num_distinct_actions()
        shape = environment.observation_space("player_1")["observation"].shape
        assert shape == tuple(game.information_state_tensor_shape())
        assert shape != tuple(pyspiel.load_game("python_toepen").information_state_tensor_shape())


def test_illegal_actions() -> None:
    environment = env(SMALL, render_mode="ansi")
    with pytest.raises(AttributeError, match="before reset"):
        print(environment.agents)
    environment.reset(seed=1)
    before, agent = environment.render(), environment.agent_selection
    wrong = int(np.flatnonzero(environment.last()[0]["action_mask"] == 0)[0])
    for action in (wrong, -1, 1000, None):
        with pytest.raises(UserError, match=f"action is .*; allowed: legal actions of {agent}"):
            environment.step(action)
    assert (environment.render(), environment.agent_selection) == (before, agent)
    ended = TerminateIllegalWrapper(raw_env(SMALL), illegal_reward=-1)
    ended.reset(seed=1)
    ended.step(wrong)
    assert all(ended.terminations.values())


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("matrix_rps", {}, "at the same time"),
        ("python_tiepen", {}, "did you mean python_toepen"),
        (SMALL, {"render_mode": "rgb_array"}, "allowed: None, human, ansi"),
        ("tic_tac_toe", {"perfect_recall": True}, "has no tensor for perfect_recall=True"),
    ],
)
def test_what_cannot_be(name: str, options: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        env(name, **options)
