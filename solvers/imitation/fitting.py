"""Fits a small network to examples: inputs -> hidden layers with ReLU -> one number for each action.

* `values`: the numbers are what actions are worth more than the mean of the legal ones. Loss: the mean square over the
  legal actions of (output - its mean over the legal ones) - (target - its mean).
* `choices`: the numbers are logits. Loss: cross entropy of the softmax over the legal actions.

Inputs are what the rules' `Features` say of a position, or else its information tensor; packed as bits where they are
all zero or one. Adam, learning rate falling to a tenth along a cosine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from cardtable.player import legal_mask
from cardtable.search.networks import context_rows, context_size
from cardtable.spiel import CardGame
from solvers.arrays.memory import require_room
from solvers.imitation.examples import Examples
from solvers.learning.settings import check_fields, setting

CHUNK = 4096
HELD_OUT = 0.05


@dataclass(frozen=True)
class FitSettings:
    hidden_sizes: tuple[int, ...] = setting((32, 32), "numbers in each hidden layer")
    epochs: int = setting(12, "times that all examples are gone through", lowest=1, seconds_each=1e-5)
    batch_size: int = setting(512, "rows of a minibatch", lowest=1)
    learning_rate: float = setting(0.003, "of Adam, at the beginning", lowest=0)
    scale: float = setting(100.0, "values are divided by it")

    def __post_init__(self) -> None:
        check_fields(self)


WEIGHT_BYTES = 16  # a weight, its derivative, and two means of Adam


class SmallNetwork(nn.Module):
    def __init__(self, inputs: int, hidden_sizes: tuple[int, ...], outputs: int) -> None:
        super().__init__()
        sizes = (inputs, *hidden_sizes, outputs)
        self.linear = [nn.Linear(before, after) for before, after in itertools.pairwise(sizes)]
        self.layers = nn.ModuleList(self.linear)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        for layer in self.linear[:-1]:
            inputs = torch.relu(layer(inputs))
        return self.linear[-1](inputs)

    def tensors(self) -> dict[str, np.ndarray]:
        """Weights (inputs by outputs) and biases under the names of `cardtable.search.networks`."""
        found = {}
        for number, layer in enumerate(self.linear):
            found[f"weight_{number}"] = layer.weight.detach().t().contiguous().numpy().copy()
            found[f"bias_{number}"] = layer.bias.detach().numpy().copy()
        return found

    def set_tensors(self, tensors: dict[str, np.ndarray]) -> None:
        with torch.no_grad():
            for number, layer in enumerate(self.linear):
                layer.weight.copy_(torch.from_numpy(tensors[f"weight_{number}"].T.copy()))
                layer.bias.copy_(torch.from_numpy(tensors[f"bias_{number}"]))


class Inputs:
    """The inputs of all examples; bits where they can be."""

    def __init__(self, game: CardGame, states: np.ndarray) -> None:
        self.size = context_size(game.rules)
        parts = []
        self.binary = True
        for start in range(0, len(states), CHUNK):
            rows = context_rows(game.rules, states, np.arange(start, min(start + CHUNK, len(states))))
            self.binary = self.binary and bool(((rows == 0) | (rows == 1)).all())
            parts.append(np.packbits(rows > 0, axis=1) if self.binary else rows)
        if not self.binary and any(part.dtype == np.uint8 for part in parts):
            raise ValueError("inputs that are sometimes bits and sometimes not: raise CHUNK")
        self._rows = np.concatenate(parts)

    def __getitem__(self, rows: np.ndarray) -> torch.Tensor:
        chosen = self._rows[rows]
        dense = np.unpackbits(chosen, axis=1, count=self.size) if self.binary else chosen
        return torch.from_numpy(dense.astype(np.float32))


def require_room_to_fit(game: CardGame, settings: FitSettings) -> None:
    """UserError if a network of this size cannot be trained here; to be asked before examples are made for it."""
    sizes = (context_size(game.rules), *settings.hidden_sizes, game.num_distinct_actions())
    weights = sum((1.0 + before) * after for before, after in itertools.pairwise(sizes))
    words = ", ".join(f"{size:,}" for size in settings.hidden_sizes)
    require_room(WEIGHT_BYTES * weights, f"a network with hidden layers of {words}")


def fit(
    game: CardGame,
    examples: Examples,
    kind: Literal["values", "choices"],
    settings: FitSettings,
    seed: int = 1,
    start: dict[str, np.ndarray] | None = None,
    on_epoch: Callable[[int, float, float], None] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The fitted network's tensors, and what is known of it: losses on examples learned and held out, accuracy."""
    torch.manual_seed(seed)
    network = SmallNetwork(context_size(game.rules), settings.hidden_sizes, game.num_distinct_actions())
    if start is not None:
        network.set_tensors(start)
    inputs = Inputs(game, examples.states)
    legal = legal_mask(game.rules, examples.states, np.arange(len(examples.states)))
    targets = examples.targets
    if kind == "values":
        targets = np.where(legal, targets, 0.0) / settings.scale
        targets = np.where(legal, targets - targets.sum(1, keepdims=True) / legal.sum(1, keepdims=True), 0.0)
        targets = targets.astype(np.float32)
    order = np.random.default_rng(seed).permutation(len(examples.states))
    held, learned = order[: int(HELD_OUT * len(order))], order[int(HELD_OUT * len(order)) :]

    def loss_of(rows: np.ndarray) -> tuple[torch.Tensor, float]:
        outputs, mask = network(inputs[rows]), torch.from_numpy(legal[rows])
        wanted = torch.from_numpy(targets[rows])
        if kind == "choices":
            logits = outputs.masked_fill(~mask, -1e9)
            right = float((logits.argmax(1) == wanted).float().mean())
            return nn.functional.cross_entropy(logits, wanted), right
        counts = mask.sum(1, keepdim=True)
        centred = outputs - (outputs * mask).sum(1, keepdim=True) / counts
        right = float(
            (outputs.masked_fill(~mask, -1e9).argmax(1) == wanted.masked_fill(~mask, -1e9).argmax(1)).float().mean()
        )
        return (((centred - wanted) ** 2 * mask).sum(1) / counts[:, 0]).mean(), right

    optimiser = torch.optim.Adam(network.parameters(), settings.learning_rate)
    steps = settings.epochs * math.ceil(len(learned) / settings.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: 0.1 + 0.45 * (1 + math.cos(math.pi * min(step, steps) / steps))
    )
    shuffler = np.random.default_rng(seed + 1)
    known: dict[str, float] = {}
    for epoch in range(settings.epochs):
        shuffler.shuffle(learned)
        total = 0.0
        for first in range(0, len(learned), settings.batch_size):
            rows = learned[first : first + settings.batch_size]
            loss, _ = loss_of(rows)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach()) * len(rows)
        with torch.no_grad():
            outside, right = loss_of(held)
        known = {"loss": total / len(learned), "held_out_loss": float(outside), "held_out_accuracy": right}
        if on_epoch is not None:
            on_epoch(epoch, known["loss"], known["held_out_loss"])
    return network.tensors(), known
