"""Everything a user may choose about Deep CFR, checked when it is chosen."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import torch

from solvers.deep_cfr.sampling import TRAVERSALS

LOSSES = ("one_sided", "squared")
NETWORKS = ("seat", "team", "shared")
DEVICES = ("cpu", "cuda", "mps", "meta")


@dataclass(frozen=True)
class Settings:
    """Defaults suit games whose information sets are enumerated; see docs/deep_cfr.md for what was tried.

    `memory_rows` None keeps sums without limit, which only enumerated games can. A `batch` of 0, or of more than there
    is, trains on everything at once.
    """

    # traversals
    traversal: Literal["external", "corrected", "rollouts", "algorithm3_biased"] = "external"
    traversals: int = 5000  # for each player and iteration
    tries: int = 4  # actions drawn at a decision of the traverser, unless the traversal is external
    epsilon: float = 0.5  # share of uniform draws in the corrected traversal and in rollouts
    # networks
    networks: Literal["seat", "team", "shared"] = "seat"
    hidden: tuple[int, ...] = (64, 64, 64)
    skip: bool = False  # add a layer's input to its output where the sizes allow it
    normalise: bool = False  # layer normalisation before the output layer
    leak: float = 0.05  # slope of the activation below zero; 0 is ReLU, whose units can die
    # training
    loss: Literal["one_sided", "squared"] = "one_sided"
    steps: int = 10  # for each network and iteration
    batch: int = 512
    learning_rate: float = 5e-3
    warm_start: bool = True
    memory_rows: int | None = None  # for each network
    linear: bool = True  # iteration t weighs t; otherwise all weigh the same
    # averages
    strategy_network: bool = True
    strategy_hidden: tuple[int, ...] = (128, 128, 128)
    strategy_steps: int = 1500
    strategy_batch: int = 1024
    strategy_learning_rate: float = 3e-3
    strategy_memory_rows: int | None = None
    snapshots: int = 64  # networks kept for the Single Deep CFR average of games that are not enumerated
    # machine
    device: str = "cpu"
    mixed_precision: bool = False
    threads: int = 1
    node_budget: int = 1_000_000  # nodes of one chunk of traversals, in games that are not enumerated
    width: int = 16_384  # nodes of one level that are evaluated together

    def __post_init__(self) -> None:
        _require(self.traversal in TRAVERSALS, "traversal", self.traversal, ", ".join(TRAVERSALS))
        _require(self.networks in NETWORKS, "networks", self.networks, ", ".join(NETWORKS))
        _require(self.loss in LOSSES, "loss", self.loss, ", ".join(LOSSES))
        counts = ("traversals", "tries", "steps", "strategy_steps", "snapshots")
        for name in (*counts, "threads", "node_budget", "width"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "1 or more")
        for name in ("batch", "strategy_batch"):
            _require(getattr(self, name) >= 0, name, getattr(self, name), "0 (everything at once) or more")
        for name in ("memory_rows", "strategy_memory_rows"):
            value = getattr(self, name)
            _require(value is None or value >= 1, name, value, "1 or more, or None for no limit")
        for name in ("learning_rate", "strategy_learning_rate"):
            _require(getattr(self, name) > 0.0, name, getattr(self, name), "above 0")
        _require(0.0 <= self.leak < 1.0, "leak", self.leak, "0 (ReLU) or more, below 1")
        _require(0.0 < self.epsilon <= 1.0, "epsilon", self.epsilon, "above 0, so that every action is tried, up to 1")
        for name in ("hidden", "strategy_hidden"):
            sizes = tuple(getattr(self, name))
            object.__setattr__(self, name, sizes)
            _require(len(sizes) > 0 and min(sizes) >= 1, name, sizes, "sizes of at least one layer, each 1 or more")

    def replace(self, **changes: Any) -> Settings:
        return dataclasses.replace(self, **changes)

    def weight(self, iteration: int) -> float:
        """What iteration t counts in averages; t = 1, 2, 3, ..."""
        return float(iteration) if self.linear else 1.0


def find_device(name: str) -> torch.device:
    """The torch device of this name, if the machine has it; ValueError otherwise."""
    kind, _, index = name.partition(":")
    if kind not in DEVICES or (index and not index.isdigit()):
        raise ValueError(f"device is {name!r}; allowed: cpu, cuda, cuda:<number>, mps")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {name!r}, but torch finds no CUDA device here; allowed: cpu")
    if kind == "cuda" and index and int(index) >= torch.cuda.device_count():
        raise ValueError(f"device is {name!r}, but torch finds {torch.cuda.device_count()} CUDA devices")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ValueError(f"device is {name!r}, but torch finds no Apple GPU here; allowed: cpu")
    return torch.device(name)


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise ValueError(f"{name} is {value!r}; allowed: {allowed}")
