"""`Environment` as a gymnasium VectorEnv."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from solvers.environments import Environment


class GameVectorEnv(VectorEnv):
    """Games one after the other in every environment; the next is dealt in the step in which one ends.

    What is legal stands in `info["action_mask"]`. Where a game has ended, the observation is that of the next one; a
    finished game has nobody to move and so none of its own.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012, as gymnasium has it

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.num_envs = environment.num_envs
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (environment.observation_size,), np.float32)
        self.single_action_space = spaces.Discrete(environment.rules.num_distinct_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        first = seed[0] if isinstance(seed, list) else seed
        self.environment.reset(first)
        return self.environment.observations(), self._info()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        rewards, over = self.environment.step(actions)
        return self.environment.observations(), rewards, over, np.zeros(self.num_envs, np.bool_), self._info()

    def action_masks(self) -> np.ndarray:
        """(num_envs, actions), as sb3-contrib calls it."""
        return self.environment.masks()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.environment.masks()}
