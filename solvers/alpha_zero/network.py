"""A network with a policy and a value head: inputs -> width, residual blocks x + relu(L(relu(L(x)))), two heads.

A view may begin with several blocks of numbers that mean the same, such as the suits of a deck. Then two layers read
each of them with the same weights, and what they find takes the blocks' place in the input.

The value head says what every seat will get from now on, from the player to move on, in units of `SCALE` points.
`forward` is the same with numpy, for searches and players, which need no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cardtable.parameters import UserError

SCALE = 100.0
SHARED = (96, 48)  # numbers of the two layers that read one of several like blocks


class Layout(NamedTuple):
    """The numbers of a view: `alike` blocks of `block` numbers each, then the others."""

    size: int
    alike: int = 0
    block: int = 0


def shapes(layout: Layout, width: int, blocks: int, actions: int, seats: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all tensors, weights as inputs by outputs."""
    layers = {}
    inputs = layout.size
    if layout.alike:
        layers = {"shared_0": (layout.block, SHARED[0]), "shared_1": SHARED}
        inputs += layout.alike * (SHARED[1] - layout.block)
    layers |= {"first": (inputs, width)}
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


def alike(tensors: Mapping[str, Any], size: int) -> tuple[int, int]:
    """How many like blocks inputs of this size begin with, and how long they are."""
    block, found = tensors["shared_0.weight"].shape[0], tensors["shared_1.weight"].shape[1]
    return (size - tensors["first.weight"].shape[0]) // (block - found), block


def _layer(tensors: Mapping[str, np.ndarray], name: str, inputs: np.ndarray) -> np.ndarray:
    return np.maximum(inputs @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"], 0.0)


def _read_alike(tensors: Mapping[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    count, block = alike(tensors, inputs.shape[1])
    found = inputs[:, : count * block].reshape(-1, block)
    for name in ("shared_0", "shared_1"):
        found = _layer(tensors, name, found)
    return np.concatenate([found.reshape(len(inputs), -1), inputs[:, count * block :]], axis=1)


def forward(tensors: Mapping[str, np.ndarray], inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(logits of all actions, values of all seats from the player to move on, in points)."""
    hidden = _layer(tensors, "first", _read_alike(tensors, inputs) if "shared_0.weight" in tensors else inputs)
    number = 0
    while f"block_{number}_0.weight" in tensors:
        inside = hidden
        for half in range(2):
            inside = _layer(tensors, f"block_{number}_{half}", inside)
        hidden = hidden + inside
        number += 1
    logits = hidden @ tensors["policy.weight"] + tensors["policy.bias"]
    values = hidden @ tensors["value.weight"] + tensors["value.bias"]
    return logits, SCALE * values
