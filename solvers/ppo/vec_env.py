"""`Environment` as a VecEnv of stable-baselines3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from solvers.environments import Environment


class GameVecEnv(VecEnv):
    """Games one after the other in every environment; `action_masks` is what sb3-contrib asks for."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._chosen = np.zeros(environment.num_envs, np.int64)
        super().__init__(
            environment.num_envs,
            spaces.Box(-np.inf, np.inf, (environment.observation_size,), np.float32),
            spaces.Discrete(environment.rules.num_distinct_actions),
        )

    def reset(self) -> np.ndarray:
        """Goes on where the environments are: a learner that resumes calls it too."""
        return self.environment.observations()

    def step_async(self, actions: np.ndarray) -> None:
        self._chosen = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        rewards, over = self.environment.step(self._chosen)
        return self.environment.observations(), rewards.astype(np.float32), over, [{} for _ in range(self.num_envs)]

    def action_masks(self) -> np.ndarray:
        """(num_envs, actions): which actions are legal."""
        return self.environment.masks()

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """The only method that environments have one by one is `action_masks`."""
        if method_name != "action_masks":
            raise AttributeError(f"environments have no method {method_name!r}")
        return list(self.action_masks()[self._places(indices)])

    def has_attr(self, attr_name: str) -> bool:
        return attr_name == "action_masks"

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name != "render_mode":
            raise AttributeError(f"environments have no attribute {attr_name!r}")
        return [None for _ in self._places(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"environments have no attribute {attr_name!r}")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._places(indices)]

    def _places(self, indices: int | Sequence[int] | None) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(indices)

    def close(self) -> None:
        """Nothing is open."""
