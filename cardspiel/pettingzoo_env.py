"""Our games, and every other turn-based game of OpenSpiel, as environments of PettingZoo.

    from cardspiel.pettingzoo_env import env

    environment = env("python_coinche(suits=2,ranks=JTA,hand_size=2)")
    environment.reset(seed=1)
    for agent in environment.agent_iter():
        observation, reward, terminated, truncated, info = environment.last()
        action = None if terminated else environment.action_space(agent).sample(observation["action_mask"])
        environment.step(action)

Parameters and transforms are part of the name, or a game is given itself. An episode is a whole game: nothing is
truncated. Chance is played by the environment, from the seed of `reset`. An observation is a dictionary, as in
PettingZoo's own card games: `observation`, OpenSpiel's tensor, and `action_mask`, zero for those who are not to move.
An action that is not legal is refused with a sentence and changes nothing; PettingZoo's `TerminateIllegalWrapper`, put
around an environment, ends the game instead. Needs `pip install 'cardspiel[pettingzoo]'`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyspiel
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError, bad_value
from cardtable.spiel import load_game

Observation: TypeAlias = dict[str, np.ndarray]

RENDER_MODES = ("human", "ansi")


def env(game: str | pyspiel.Game, **options: Any) -> OrderEnforcingWrapper:
    """The environment as PettingZoo's users expect it: with an error for whoever forgets `reset`."""
    return OrderEnforcingWrapper(raw_env(game, **options))


class raw_env(AECEnv[str, Observation, int]):  # noqa: N801 PettingZoo's name for it
    """`perfect_recall` chooses the tensor: all that a player has ever seen, or what it sees now."""

    def __init__(
        self, game: str | pyspiel.Game, *, perfect_recall: bool = True, render_mode: str | None = None
    ) -> None:
        super().__init__()
        if render_mode not in (None, *RENDER_MODES):
            raise bad_value("render_mode", render_mode, f"None, {', '.join(RENDER_MODES)}")
        self.game = load_game(game) if isinstance(game, str) else game
        kind = self.game.get_type()
        if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
            raise UserError(f"in {self.game} players move at the same time; allowed: games in which they take turns")
        if not (kind.provides_information_state_tensor if perfect_recall else kind.provides_observation_tensor):
            raise UserError(f"{self.game} has no tensor for perfect_recall={perfect_recall}")
        self.render_mode = render_mode
        self.metadata = {"name": str(self.game), "render_modes": list(RENDER_MODES), "is_parallelizable": False}
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.num_players())]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._perfect_recall = perfect_recall
        self._rng = np.random.default_rng()
        shape = self.game.information_state_tensor_shape() if perfect_recall else self.game.observation_tensor_shape()
        self._shape = tuple(shape)
        self.action_spaces = {agent: spaces.Discrete(self.game.num_distinct_actions()) for agent in self._seats}
        self.observation_spaces = {agent: self._observation_space() for agent in self._seats}

    def _observation_space(self) -> spaces.Space:
        actions = self.game.num_distinct_actions()
        return spaces.Dict(
            {
                "observation": spaces.Box(-np.inf, np.inf, self._shape, np.float32),
                "action_mask": spaces.Box(0, 1, (actions,), np.int8),
            }
        )

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """A new game; with a seed the same cards as with that seed before."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._state = self.game.new_initial_state()
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._let_chance_act()

    def step(self, action: int | None) -> None:
        """An action of the agent whose turn it is; None of one for whom the game is over."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        legal = self._state.legal_actions()
        if action is None or int(action) not in legal:
            raise bad_value("action", action, f"legal actions of {agent}: {', '.join(map(str, legal))}")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._apply(int(action))
        self._let_chance_act()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _let_chance_act(self) -> None:
        """Plays until an agent is to move or the game is over."""
        while self._state.is_chance_node():
            outcomes, probabilities = zip(*self._state.chance_outcomes(), strict=True)
            self._apply(int(self._rng.choice(outcomes, p=probabilities)))
        if self._state.is_terminal():
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[self._state.current_player()]

    def _apply(self, action: int) -> None:
        self._state.apply_action(action)
        for agent, reward in zip(self.possible_agents, self._state.rewards(), strict=True):
            self.rewards[agent] += reward

    def observe(self, agent: str) -> Observation:
        seat, state = self._seats[agent], self._state
        tensor = state.information_state_tensor(seat) if self._perfect_recall else state.observation_tensor(seat)
        mask = np.zeros(self.game.num_distinct_actions(), np.int8)
        if state.current_player() == seat:
            mask[state.legal_actions()] = 1
        return {"observation": np.array(tensor, np.float32).reshape(self._shape), "action_mask": mask}

    def render(self) -> str | None:
        """All cards, as OpenSpiel's text of the state: a string (`ansi`), or on the terminal (`human`)."""
        if self.render_mode == "ansi":
            return str(self._state)
        if self.render_mode == "human":
            print(self._state)
        return None

    def close(self) -> None:
        """Nothing is kept open."""
