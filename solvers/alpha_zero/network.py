"""A network with a policy and a value head: inputs -> width, residual blocks x + relu(L(relu(L(x)))), two heads.

The value head says what every seat will get from now on, from the player to move on, in units of `SCALE` points.
`forward` is the same with numpy, for searches and players, which need no torch.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cardtable.parameters import UserError

SCALE = 100.0


def shapes(inputs: int, width: int, blocks: int, actions: int, seats: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all tensors, weights as inputs by outputs."""
    layers = {"first": (inputs, width)}
    layers |= {f"block_{number}_{half}": (width, width) for number in range(blocks) for half in range(2)}
    layers |= {"policy": (width, actions), "value": (width, seats)}
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in layers.items():
        found[f"{name}.weight"], found[f"{name}.bias"] = shape, shape[1:]
    return found


def new_tensors(wanted: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    """He initialisation; the heads start near zero."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in wanted.items():
        small = 0.1 if name.startswith(("policy", "value")) else 1.0
        spread = small * np.sqrt(2.0 / shape[0]) if name.endswith("weight") else 0.0
        found[name] = (spread * rng.normal(size=shape)).astype(np.float32)
    return found


def require_tensors(tensors: Mapping[str, np.ndarray], wanted: Mapping[str, tuple[int, ...]], where: str) -> None:
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if found != dict(wanted):
        raise UserError(f"{where} does not hold the network that its head describes")


def parameters(tensors: Mapping[str, np.ndarray]) -> int:
    return sum(tensor.size for tensor in tensors.values())


def forward(tensors: Mapping[str, np.ndarray], inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(logits of all actions, values of all seats from the player to move on, in points)."""
    hidden = np.maximum(inputs @ tensors["first.weight"] + tensors["first.bias"], 0.0)
    number = 0
    while f"block_{number}_0.weight" in tensors:
        inside = hidden
        for half in range(2):
            name = f"block_{number}_{half}"
            inside = np.maximum(inside @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"], 0.0)
        hidden = hidden + inside
        number += 1
    logits = hidden @ tensors["policy.weight"] + tensors["policy.bias"]
    values = hidden @ tensors["value.weight"] + tensors["value.bias"]
    return logits, SCALE * values
