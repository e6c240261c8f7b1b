"""What the network of `solvers.alpha_zero.network` learns by: losses, their derivatives, Adam, an average of weights.

    loss = mean over rows of  KL(policy || softmax(logits)) + value_weight * mean over seats of |value - target|

or of the squares of the differences. Derivatives are written out, as there are few layers: autograd takes longer over
small batches than the arithmetic itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from solvers.alpha_zero.network import alike
from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.learning.optimiser import FlatWeights

BETAS, EPSILON = (0.3, 0.999), 1e-7  # of Adam, as in the authors' program
OUT = -1e9  # the logit of an action that is left out


class Rows(NamedTuple):
    """Positions and their targets."""

    inputs: torch.Tensor
    legal: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor

    def at(self, places: torch.Tensor) -> Rows:
        return Rows(*(part[places] for part in self))


class OpenHandLearner(FlatWeights):
    """The network with its optimiser; what plays is a running average of its weights (Polyak and Juditsky 1992)."""

    def __init__(self, tensors: Mapping[str, np.ndarray], settings: AlphaZeroSettings) -> None:
        super().__init__(sum(tensor.size for tensor in tensors.values()), torch.device("cpu"))
        self.settings = settings
        self._shapes = {name: tensor.shape for name, tensor in tensors.items()}
        self._parts, self._slopes = self._views(self._weights), self._views(self._gradients)
        for name, tensor in tensors.items():
            self._parts[name].copy_(torch.from_numpy(tensor))
        self._average = self._weights.clone()

    def _views(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        sizes = [math.prod(shape) for shape in self._shapes.values()]
        return {
            name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), flat.split(sizes), strict=True)
        }

    def playing_tensors(self) -> dict[str, np.ndarray]:
        """The running average, as it changes."""
        return {name: part.numpy() for name, part in self._views(self._average).items()}

    def fit(self, rows: Rows, rate: float) -> tuple[float, float]:
        """One step of Adam; returns both losses."""
        with torch.no_grad():
            losses = self._differentiate(rows)
            self._gradients.add_(self._weights, alpha=self.settings.weight_decay)
            self._adam(rate, BETAS, EPSILON)
            # No longer than the run so far, so that the random start is soon forgotten.
            decay = min(self.settings.averaging, self._steps / (self._steps + 10.0))
            self._average.lerp_(self._weights, 1.0 - decay)
        return losses

    def _layer(self, name: str, inputs: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self._parts[f"{name}.bias"], inputs, self._parts[f"{name}.weight"])

    def _down(self, name: str, inputs: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Files the derivatives of a layer's weights; returns that of its inputs."""
        self._file(name, inputs, slope)
        return slope @ self._parts[f"{name}.weight"].t()

    def _file(self, name: str, inputs: torch.Tensor, slope: torch.Tensor) -> None:
        torch.mm(inputs.t(), slope, out=self._slopes[f"{name}.weight"])
        torch.sum(slope, 0, out=self._slopes[f"{name}.bias"])

    def _differentiate(self, rows: Rows) -> tuple[float, float]:
        shared, told = self._read_alike(rows.inputs)
        hidden = [torch.relu_(self._layer("first", told))]
        inside = []
        for number in range(self.settings.blocks):
            one = torch.relu_(self._layer(f"block_{number}_0", hidden[-1]))
            two = torch.relu_(self._layer(f"block_{number}_1", one))
            inside.append((one, two))
            hidden.append(hidden[-1] + two)
        policy_loss, logit_slope = self._policy_loss(rows, self._layer("policy", hidden[-1]))
        value_loss, value_slope = self._value_loss(rows, self._layer("value", hidden[-1]))
        slope = self._down("policy", hidden[-1], logit_slope) + self._down("value", hidden[-1], value_slope)
        for number in reversed(range(self.settings.blocks)):
            one, two = inside[number]
            through = self._down(f"block_{number}_1", one, slope * (two > 0))
            slope = slope + self._down(f"block_{number}_0", hidden[number], through * (one > 0))
        slope = slope * (hidden[0] > 0)
        self._file("first", told, slope)
        if shared:
            self._differentiate_shared(shared, slope)
        return policy_loss, value_loss

    def _read_alike(self, inputs: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Like blocks and what both layers make of them, if there are any; the input of the first common layer."""
        if "shared_0.weight" not in self._parts:
            return [], inputs
        count, block = alike(self._parts, inputs.shape[1])
        found = [inputs[:, : count * block].reshape(-1, block)]
        for name in ("shared_0", "shared_1"):
            found.append(torch.relu_(self._layer(name, found[-1])))
        return found, torch.cat([found[-1].view(len(inputs), -1), inputs[:, count * block :]], dim=1)

    def _differentiate_shared(self, shared: list[torch.Tensor], slope: torch.Tensor) -> None:
        """`slope`: the derivatives of the first common layer."""
        blocks, one, two = shared
        read = two.numel() // len(slope)
        back = (slope @ self._parts["first.weight"][:read].t()).view_as(two)
        back = self._down("shared_1", one, back * (two > 0))
        self._file("shared_0", blocks, back * (one > 0))

    def _policy_loss(self, rows: Rows, logits: torch.Tensor) -> tuple[float, torch.Tensor]:
        outside = 0.0 if self.settings.mask == "zero" else OUT
        logs = torch.log_softmax(logits.masked_fill_(~rows.legal, outside), dim=1)
        loss = (rows.policy * (torch.log(rows.policy.clamp_min(1e-9)) - logs)).sum(dim=1).mean()
        return float(loss), (logs.exp_() - rows.policy).masked_fill_(~rows.legal, 0.0) / len(logits)

    def _value_loss(self, rows: Rows, values: torch.Tensor) -> tuple[float, torch.Tensor]:
        missed = values - rows.value
        if self.settings.value_loss == "absolute":
            loss, slope = missed.abs().mean(), torch.sign(missed)
        else:
            loss, slope = (missed * missed).mean(), 2.0 * missed
        return float(loss), slope * (self.settings.value_weight / missed.numel())

    def state(self, name: str) -> dict[str, Any]:
        return {**super().state(name), f"{name}.average": self._average.numpy().copy()}

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        super().set_state(name, state)
        self._average.copy_(torch.from_numpy(np.asarray(state[f"{name}.average"], np.float32)))
