"""Weights that are trained: one flat array, with its gradients and its optimiser.

That is Adam (Kingma and Ba 2015), or RMSprop (Tieleman and Hinton 2012) with the settings of published agents. All
parameters of a network lie in one array, as do their gradients and moments: a step of the optimiser is a few
operations whatever the number of layers, and a snapshot or a checkpoint is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from solvers.learning.states import require_state

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual settings
DECAY, FLOOR, LONGEST = 0.99, 1e-5, 40.0  # DouZero's settings of RMSprop: decay, epsilon, longest gradient


class FlatWeights:
    """So many weights on a device, and an optimiser for them."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.device = device
        self.size = size
        self._weights, self._gradients, self._means, self._squares = torch.zeros(4, size, device=device).unbind()
        self._steps = 0

    def to_device(self, array: np.ndarray) -> torch.Tensor:
        """One copy; none on the CPU."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def _forget_steps(self) -> None:
        """A fresh optimiser."""
        self._means.zero_()
        self._squares.zero_()
        self._steps = 0

    def _adam(
        self, learning_rate: float, betas: tuple[float, float] = (BETA_1, BETA_2), epsilon: float = EPSILON
    ) -> None:
        first, second = betas
        with torch.no_grad():
            self._steps += 1
            self._means.lerp_(self._gradients, 1.0 - first)
            self._squares.mul_(second).addcmul_(self._gradients, self._gradients, value=1.0 - second)
            root = self._squares.sqrt().div_((1.0 - second**self._steps) ** 0.5).add_(epsilon)
            self._weights.addcdiv_(self._means, root, value=-learning_rate / (1.0 - first**self._steps))

    def _rmsprop(self, learning_rate: float) -> None:
        """Gradients that are too long are shortened first."""
        with torch.no_grad():
            self._steps += 1
            length = float(torch.linalg.vector_norm(self._gradients))
            if length > LONGEST:
                self._gradients.mul_(LONGEST / length)
            self._squares.mul_(DECAY).addcmul_(self._gradients, self._gradients, value=1.0 - DECAY)
            self._weights.addcdiv_(self._gradients, self._squares.sqrt().add_(FLOOR), value=-learning_rate)

    def weights(self) -> np.ndarray:
        """All parameters as one array: a snapshot of the network."""
        return self._weights.cpu().numpy().copy()

    def set_weights(self, weights: np.ndarray) -> None:
        self._weights.copy_(torch.from_numpy(np.asarray(weights, np.float32)))

    def state(self, name: str) -> dict[str, Any]:
        """Weights and optimiser as arrays, for checkpoints."""
        moments = torch.stack([self._means, self._squares]).cpu().numpy().copy()
        return {f"{name}.weights": self.weights(), f"{name}.moments": moments, f"{name}.steps": self._steps}

    def require_state(self, name: str, state: Mapping[str, Any]) -> None:
        """ValueError unless `set_state` can go on from it: a network of the same shape."""
        require_state(state, self.state(name))

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        """Goes on from `state(name)` of a network of the same shape; ValueError for another shape."""
        self.require_state(name, state)
        self.set_weights(state[f"{name}.weights"])
        self._means.copy_(torch.from_numpy(np.asarray(state[f"{name}.moments"][0], np.float32)))
        self._squares.copy_(torch.from_numpy(np.asarray(state[f"{name}.moments"][1], np.float32)))
        self._steps = int(state[f"{name}.steps"])
