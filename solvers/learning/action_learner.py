"""Training of the networks in `action_values`, with torch: forward and backward over the legal actions of many rows.

Rows of a batch have different numbers of actions, which lie one after the other; `row_of` says whose an action is. The
backward pass is written out, as in `networks`: for sizes like these it is faster than recording operations, and the
gradients land where the optimiser wants them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch.nn.functional import leaky_relu_

from cardtable.search.action_values import Shape
from solvers.arrays.memory import require_room
from solvers.learning.optimiser import FlatWeights

ARRAYS, FLOAT_BYTES = 6, 4  # weights, averages, gradients, two moments, and room for a step
Gradient = Callable[[torch.Tensor], torch.Tensor]
Optimiser = Literal["adam", "rmsprop"]


class Batch(NamedTuple):
    """Rows to learn from, on the device: contexts, the actions of all of them, and whose each action is."""

    contexts: torch.Tensor  # (rows, context_size)
    details: torch.Tensor  # (actions, action_size)
    row_of: torch.Tensor  # (actions,)


class ActionLearner(FlatWeights):
    """A network of a `Shape`, with its optimiser and a running average of its weights, which is what plays.

    The average (Polyak and Juditsky 1992) does for a run of unknown length what a falling learning rate does otherwise.
    Its decay after n steps is at most n / (n + 10), so that the random start is soon forgotten.
    """

    def __init__(
        self,
        shape: Shape,
        learning_rate: float,
        generator: torch.Generator,
        device: torch.device,
        averaging: float,
        optimiser: Optimiser = "adam",
    ) -> None:
        require_room(ARRAYS * FLOAT_BYTES * shape.num_weights, f"a network with {shape.num_weights:,} weights")
        super().__init__(shape.num_weights, device)
        self.shape = shape
        self.learning_rate = learning_rate
        self._averaging = averaging
        self._step = self._adam if optimiser == "adam" else self._rmsprop
        self._average = torch.zeros_like(self._weights)
        self._parts = self._views(self._weights)
        self._slopes = self._views(self._gradients)
        self.restart(generator)

    def _views(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        found, place = {}, 0
        for name, shape in self.shape.blocks():
            size = math.prod(shape)
            found[name] = flat[place : place + size].view(shape)
            place += size
        return found

    def restart(self, generator: torch.Generator) -> None:
        """New random weights (uniform, by the number of inputs), drawn on the CPU; the last layer starts at zero."""
        inputs = 1
        last = max(self._parts) if not self.shape.head_sizes else f"head.{len(self.shape.head_sizes)}.weight"
        with torch.no_grad():
            for name, part in self._parts.items():
                inputs = part.shape[0] if part.ndim == 2 else inputs
                # A hidden unit should vary about as much as its inputs, of which few are not zero.
                bound = 0.0 if name == last or part.ndim == 1 else math.sqrt(6.0 / inputs)
                part.copy_((2.0 * torch.rand(part.shape, generator=generator) - 1.0) * bound)
        self._average.copy_(self._weights)
        self._forget_steps()

    def forward(self, batch: Batch) -> torch.Tensor:
        """The value of every action."""
        with torch.no_grad():
            return self._forward(batch)[-1]

    def _forward(self, batch: Batch) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
        """Outputs of the context layers (the context first), of the head's layers, and the values."""
        part, slope = self._parts, self.shape.negative_slope
        contexts = [batch.contexts]
        for number in range(len(self.shape.context_sizes)):
            weight, bias = part[f"context.{number}.weight"], part[f"context.{number}.bias"]
            contexts.append(leaky_relu_(torch.addmm(bias, contexts[-1], weight), slope))
        if not self.shape.head_sizes:
            chosen = batch.details @ part["actions.weight"]
            values = (chosen * contexts[-1][batch.row_of]).sum(dim=1) + batch.details @ part["actions.bias"]
            return contexts, [chosen], values
        first = torch.addmm(part["head.bias"], contexts[-1], part["head.context"])
        head = [leaky_relu_(torch.addmm(first[batch.row_of], batch.details, part["head.actions"]), slope)]
        for number in range(1, len(self.shape.head_sizes)):
            weight, bias = part[f"head.{number}.weight"], part[f"head.{number}.bias"]
            head.append(leaky_relu_(torch.addmm(bias, head[-1], weight), slope))
        number = len(self.shape.head_sizes)
        values = torch.addmm(part[f"head.{number}.bias"], head[-1], part[f"head.{number}.weight"]).squeeze(1)
        return contexts, head, values

    def fit(self, batch: Batch, gradient: Gradient, learning_rate: float | None = None) -> None:
        """One step of the optimiser; `gradient` gives the derivative of the loss by the values of the actions."""
        with torch.no_grad():
            contexts, head, values = self._forward(batch)
            self._backward(batch, contexts, head, gradient(values))
        self._step(self.learning_rate if learning_rate is None else learning_rate)
        self._average.lerp_(self._weights, 1.0 - min(self._averaging, self._steps / (self._steps + 10.0)))

    def _backward(
        self, batch: Batch, contexts: list[torch.Tensor], head: list[torch.Tensor], flowing: torch.Tensor
    ) -> None:
        part, slopes, slope = self._parts, self._slopes, self.shape.negative_slope
        into = torch.zeros(len(batch.contexts), contexts[-1].shape[1], device=self.device)
        if not self.shape.head_sizes:
            torch.mm(batch.details.t(), flowing[:, None] * contexts[-1][batch.row_of], out=slopes["actions.weight"])
            torch.mv(batch.details.t(), flowing, out=slopes["actions.bias"])
            into.index_add_(0, batch.row_of, flowing[:, None] * head[0])
        else:
            down = flowing[:, None]
            for number in range(len(self.shape.head_sizes), 0, -1):
                torch.mm(head[number - 1].t(), down, out=slopes[f"head.{number}.weight"])
                torch.sum(down, 0, out=slopes[f"head.{number}.bias"])
                down = down @ part[f"head.{number}.weight"].t()
                down = torch.ops.aten.leaky_relu_backward(down, head[number - 1], slope, True)
            torch.mm(batch.details.t(), down, out=slopes["head.actions"])
            torch.sum(down, 0, out=slopes["head.bias"])
            sums = torch.zeros(len(batch.contexts), down.shape[1], device=self.device)
            sums.index_add_(0, batch.row_of, down)
            torch.mm(contexts[-1].t(), sums, out=slopes["head.context"])
            if self.shape.context_sizes:
                torch.mm(sums, part["head.context"].t(), out=into)
        for number in range(len(self.shape.context_sizes) - 1, -1, -1):
            into = torch.ops.aten.leaky_relu_backward(into, contexts[number + 1], slope, True)
            torch.mm(contexts[number].t(), into, out=slopes[f"context.{number}.weight"])
            torch.sum(into, 0, out=slopes[f"context.{number}.bias"])
            if number > 0:
                into = into @ part[f"context.{number}.weight"].t()

    def start_from(self, weights: np.ndarray) -> None:
        """Goes on from the weights of another network of the same shape, with a fresh optimiser."""
        self.set_weights(weights)
        self._average.copy_(self._weights)
        self._forget_steps()

    def playing_weights(self) -> np.ndarray:
        """The running average, as one array."""
        return self._average.cpu().numpy().copy()

    def state(self, name: str) -> dict[str, Any]:
        return {**super().state(name), f"{name}.average": self.playing_weights()}

    def set_state(self, name: str, state: Any) -> None:
        super().set_state(name, state)
        self._average.copy_(torch.from_numpy(np.asarray(state[f"{name}.average"], np.float32)))


def squared_gradient(targets: torch.Tensor, weights: torch.Tensor) -> Gradient:
    """Derivative of the sum of weighted squares of (value - target)."""
    factor = 2.0 * weights
    return lambda values: factor * (values - targets)
