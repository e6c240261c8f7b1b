"""Networks from information states to one number per action, and how they are trained.

Brown, Lerer, Gross and Sandholm, "Deep counterfactual regret minimization" (2019). The advantage network is fitted to
the mean regrets of the actions, weighted by how often and how late they were sampled:

    loss = sum over rows of weight * sum over legal actions of (advantage - regret)^2.

Regret matching only looks at positive advantages: how negative a regret is does not matter. Where rows of equal
information state have been added up, so that their mean is the target itself and not one noisy sample of it,
`one_sided` therefore asks of an action with a negative mean only that its advantage be not positive:

    difference = advantage - regret if regret > 0,   max(advantage, 0) otherwise.

Regrets of actions in use shrink as play approaches an equilibrium while those of blunders stay large, and with the
squared loss the fit of the blunders soon drowns the differences that matter; this is why such runs get worse with
time. Targets are divided by their root mean square (one-sided: that of their positive parts), which regret matching
does not notice, so that a step of the optimiser means the same early and late.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from solvers.arrays.memory import require_room
from solvers.learning.optimiser import FlatWeights

SMALLEST_SCALE = 1e-12
ARRAYS, FLOAT_BYTES = 5, 4  # weights, new weights, gradients, and the two moments of the optimiser


class Perceptron(nn.Module):
    """Fully connected layers with leaky ReLU; optionally skip connections, and normalisation before the output.

    With a `negative_slope` of zero (ReLU) a unit that answers zero to everything never learns again.
    """

    def __init__(
        self,
        inputs: int,
        hidden_sizes: Sequence[int],
        outputs: int,
        skip_connections: bool = False,
        layer_norm: bool = False,
        negative_slope: float = 0.0,
    ) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        sizes = [inputs, *hidden_sizes]
        self.linear = [nn.Linear(before, after) for before, after in itertools.pairwise(sizes)]
        self.layers = nn.ModuleList(self.linear)
        self.output = nn.Linear(sizes[-1], outputs)
        self.normalisation = nn.LayerNorm(sizes[-1]) if layer_norm else nn.Identity()
        self.skips = [skip_connections and before == after for before, after in itertools.pairwise(sizes)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, skip in zip(self.layers, self.skips, strict=True):
            y = layer(x)
            x = nn.functional.leaky_relu(y + x if skip else y, self.negative_slope)
        return self.output(self.normalisation(x))


class Learner(FlatWeights):
    """One network on its device, with its optimiser.

    Networks without normalisation are differentiated here, which for small networks is several times faster than
    recording their operations.
    """

    def __init__(
        self,
        inputs: int,
        hidden_sizes: Sequence[int],
        outputs: int,
        learning_rate: float,
        generator: torch.Generator,
        device: torch.device,
        skip_connections: bool = False,
        layer_norm: bool = False,
        mixed_precision: bool = False,
        negative_slope: float = 0.0,
    ) -> None:
        sizes = [inputs, *hidden_sizes, outputs]
        weights = sum((before + 1) * after for before, after in itertools.pairwise(sizes))
        layers = ",".join(map(str, hidden_sizes))
        require_room(ARRAYS * FLOAT_BYTES * weights, f"a network with hidden layers {layers} ({weights:,} weights)")
        self.shape: dict[str, Any] = {
            "inputs": inputs,
            "hidden_sizes": list(hidden_sizes),
            "outputs": outputs,
            "skip_connections": skip_connections,
            "layer_norm": layer_norm,
            "negative_slope": negative_slope,
        }
        self.learning_rate = learning_rate
        self.record_operations = layer_norm or mixed_precision
        self._mixed_precision = mixed_precision
        self._generator = generator
        self.network = Perceptron(inputs, hidden_sizes, outputs, skip_connections, layer_norm, negative_slope).to(
            device
        )
        super().__init__(sum(parameter.numel() for parameter in self.network.parameters()), device)
        self._share_storage()
        self.restart()

    def _share_storage(self) -> None:
        place = 0
        for parameter in self.network.parameters():
            part = slice(place, place + parameter.numel())
            parameter.data = self._weights[part].view(parameter.shape)
            parameter.grad = self._gradients[part].view(parameter.shape)
            place = part.stop

    def restart(self, generator: torch.Generator | None = None) -> None:
        """New random weights and a fresh optimiser: training from scratch.

        Weights are drawn on the CPU, so that a seed means the same on every device. The output layer starts at zero: no
        advantages, which regret matching plays uniformly.
        """
        drawn = []
        for module in self.network.modules():
            if isinstance(module, nn.Linear):
                bound = 0.0 if module is self.network.output else module.in_features**-0.5
                numbers = module.weight.numel() + module.bias.numel()
                drawn.append((2.0 * torch.rand(numbers, generator=generator or self._generator) - 1.0) * bound)
            elif isinstance(module, nn.LayerNorm):
                drawn.append(torch.cat([torch.ones(module.weight.numel()), torch.zeros(module.bias.numel())]))
        self._weights.copy_(torch.cat(drawn))
        self._forget_steps()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        if not self._mixed_precision:
            return self.network(features)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            return self.network(features).float()

    def evaluate(self, features: torch.Tensor) -> np.ndarray:
        """Outputs for features that are on the device."""
        with torch.inference_mode():
            return self.forward(features).cpu().numpy()

    def fit(
        self,
        features: torch.Tensor,
        gradient: Callable[[torch.Tensor], torch.Tensor],
        learning_rate: float | None = None,
    ) -> None:
        """One step of Adam. `gradient` gives the derivative of the loss by the outputs."""
        if self.record_operations:
            self._gradients.zero_()
            outputs = self.forward(features)
            outputs.backward(gradient(outputs.detach()))
        else:
            with torch.no_grad():
                self._differentiate(features, gradient)
        self._adam(self.learning_rate if learning_rate is None else learning_rate)

    def _differentiate(self, features: torch.Tensor, gradient: Callable[[torch.Tensor], torch.Tensor]) -> None:
        network = self.network
        inputs = [features]
        for layer, skip in zip(network.linear, network.skips, strict=True):
            outputs = torch.addmm(layer.bias, inputs[-1], layer.weight.t())
            if skip:
                outputs += inputs[-1]
            inputs.append(nn.functional.leaky_relu_(outputs, network.negative_slope))
        output = network.output
        flowing = gradient(torch.addmm(output.bias, inputs[-1], output.weight.t()))
        torch.mm(flowing.t(), inputs[-1], out=output.weight.grad)
        torch.sum(flowing, 0, out=output.bias.grad)
        flowing = flowing @ output.weight
        for number in range(len(network.linear) - 1, -1, -1):
            layer = network.linear[number]
            flowing = torch.ops.aten.leaky_relu_backward(flowing, inputs[number + 1], network.negative_slope, True)
            torch.mm(flowing.t(), inputs[number], out=layer.weight.grad)
            torch.sum(flowing, 0, out=layer.bias.grad)
            if number > 0:
                skipped = flowing if network.skips[number] else None
                flowing = flowing @ layer.weight
                if skipped is not None:
                    flowing += skipped

    def copy(self) -> Learner:
        """A network of the same shape and weights, with an optimiser of its own."""
        shape = self.shape
        twin = Learner(
            shape["inputs"],
            shape["hidden_sizes"],
            shape["outputs"],
            self.learning_rate,
            torch.Generator().manual_seed(0),
            self.device,
            shape["skip_connections"],
            shape["layer_norm"],
            self._mixed_precision,
            shape["negative_slope"],
        )
        twin.set_weights(self.weights())
        return twin


def require_torch_generator(state: np.ndarray) -> None:
    """ValueError unless the bytes are the state of one of torch's generators."""
    try:
        torch.Generator().set_state(torch.from_numpy(state))
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"torch_generator of the solver state is none: {str(error).splitlines()[0]}") from None


def regression_gradient(
    targets: torch.Tensor, weights: torch.Tensor, one_sided: bool
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Derivative of the weighted squares; `weights` has one entry per action, zero where it is illegal."""
    factor = 2.0 * weights
    if not one_sided:
        return lambda outputs: factor * (outputs - targets)
    positive = targets > 0
    return lambda outputs: factor * torch.where(positive, outputs - targets, outputs.relu())


def strategy_gradient(
    targets: torch.Tensor, legal: torch.Tensor, weights: torch.Tensor
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Derivative of the weighted cross-entropy, - sum of targets * log softmax over the legal actions.

    Brown et al. take squares between both probabilities, which have the same minimum. But the derivative of a square
    by the outputs has the probability as a factor: where a network has become sure of the wrong action, it is nearly
    zero, and the network stays sure. The derivative of the cross-entropy is the error itself.
    """
    factor = weights[:, None]
    return lambda outputs: factor * (masked_softmax(outputs, legal) - targets)


def masked_softmax(outputs: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Probabilities of the legal actions; illegal ones get exactly zero."""
    return torch.softmax(outputs.masked_fill(~legal, -torch.inf), dim=1)


def normalised(targets: np.ndarray, weights: np.ndarray, one_sided: bool) -> np.ndarray:
    """Targets divided by their weighted root mean square; one-sided: that of their positive parts."""
    counted = np.maximum(targets, 0.0) if one_sided else targets
    scale = np.sqrt((weights * counted * counted).sum() / max(weights.sum(), SMALLEST_SCALE))
    return (targets / max(scale, SMALLEST_SCALE)).astype(np.float32)
