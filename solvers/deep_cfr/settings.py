"""Everything a user may choose about Deep CFR, checked when it is chosen."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import torch

from cardtable.parameters import require
from solvers.learning.settings import check_fields, setting

DEVICES = ("cpu", "cuda", "mps", "meta")


@dataclass(frozen=True)
class Settings:
    """Defaults suit games whose information sets are enumerated; see docs/deep_cfr.md for what was tried."""

    # traversals
    traversal: Literal["external", "corrected", "rollouts", "algorithm3_biased"] = setting(
        "external", "which of the traverser's actions are tried"
    )
    traversals: int = setting(5000, "for each player and iteration", lowest=1, seconds_each=1e-6)
    tries: int = setting(
        4, "actions drawn at a decision of the traverser, unless the traversal is external", lowest=1, highest=1000
    )
    epsilon: float = setting(0.5, "share of uniform draws in the corrected traversal and in rollouts")
    chunk_traversals: int | None = setting(
        None, "traversals in one piece of work, in games that are not enumerated; none for a few pieces", lowest=1
    )
    # networks
    networks: Literal["seat", "team", "shared"] = setting("seat", "one network for each seat, each team, or all")
    hidden_sizes: tuple[int, ...] = setting((64, 64, 64), "sizes of the hidden layers")
    skip_connections: bool = setting(False, "add a layer's input to its output where the sizes allow it")
    layer_norm: bool = setting(False, "layer normalisation before the output layer")
    negative_slope: float = setting(0.05, "slope of the activation below zero; 0 is ReLU, whose units can die")
    # training
    loss: Literal["one_sided", "squared"] = setting("one_sided", "of the advantage networks")
    training_steps: int = setting(10, "for each network and iteration", lowest=1, seconds_each=1e-5)
    batch_size: int = setting(512, "rows of a minibatch; 0, or more than there are, is everything at once")
    learning_rate: float = setting(5e-3, "of the advantage networks", lowest=0)
    warm_start: bool = setting(True, "go on with the last iteration's weights; otherwise train from scratch")
    memory_rows: int | None = setting(
        None,
        "rows of each network's advantage memory; none for sums without limit, if the game is enumerated",
        lowest=1,
    )
    linear: bool = setting(True, "regrets of iteration t weigh t, unless they are discounted; otherwise all the same")
    alpha: float | None = setting(
        None, "discounted CFR: sums of regrets above zero times t^alpha / (t^alpha + 1) an iteration; enumerated games"
    )
    beta: float = setting(
        0.0, "the same for sums below zero, if alpha is given; -50 forgets them at once, as CFR+ does"
    )
    prediction: bool | None = setting(
        None,
        "count the last regrets twice, as a guess at the next ones (predictive CFR), in enumerated games; none: if "
        "traversals are external and memory_rows is none",
    )
    # averages
    gamma: float | None = setting(
        None, "averages weigh iteration t with t^gamma; none: 1, or 0 if not linear", lowest=0
    )
    strategy_network: bool = setting(True, "also train a strategy network")
    strategy_hidden_sizes: tuple[int, ...] = setting((128, 128, 128), "sizes of its hidden layers")
    strategy_training_steps: int = setting(
        1500, "of the strategy network, each time it is fitted", lowest=1, seconds_each=1e-5
    )
    strategy_batch_size: int = setting(1024, "rows of its minibatches; 0 is everything at once")
    strategy_learning_rate: float = setting(3e-3, "of the strategy network, at first; it falls to zero", lowest=0)
    strategy_memory_rows: int | None = setting(None, "rows of each strategy memory; as memory_rows", lowest=1)
    snapshots: int = setting(
        64, "networks kept for the Single Deep CFR average of games that are not enumerated", lowest=1
    )
    # machine
    device: str = setting("cpu", "cpu, cuda, cuda:<number> or mps; rules stay on the CPU")
    mixed_precision: bool = setting(False, "16-bit network evaluation")
    node_budget: int = setting(
        1_000_000, "nodes of one chunk of traversals, in games that are not enumerated", lowest=1
    )
    width: int = setting(16_384, "nodes of one level that are evaluated together", lowest=1)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("learning_rate", "strategy_learning_rate"):
            require(getattr(self, name) > 0.0, name, getattr(self, name), "above 0")
        require(0.0 <= self.negative_slope < 1.0, "negative_slope", self.negative_slope, "0 (ReLU) or more, below 1")
        require(0.0 < self.epsilon <= 1.0, "epsilon", self.epsilon, "above 0, so that every action is tried, up to 1")

    def replace(self, **changes: Any) -> Settings:
        return dataclasses.replace(self, **changes)

    def regret_weight(self, iteration: int) -> float:
        """What the regrets of iteration t count when they arise; t = 1, 2, 3, ... Discounts come later."""
        return float(iteration) if self.linear and self.alpha is None else 1.0

    def predicts(self) -> bool:
        """Whether the last regrets count twice in an enumerated game.

        Unless it is asked for, only where it was measured; beside a sample of rows, which has a part of their weight,
        they would count too much.
        """
        if self.prediction is None:
            return self.traversal == "external" and self.memory_rows is None
        return self.prediction

    def average_weight(self, iteration: int) -> float:
        """What the strategy of iteration t counts in averages."""
        power = (1.0 if self.linear else 0.0) if self.gamma is None else self.gamma
        return float(iteration) ** power

    def discounts(self, iterations: int) -> tuple[float, float] | None:
        """What sums of regrets above and below zero are multiplied with after `iterations`; None: they are kept.

        Brown and Sandholm, "Solving imperfect-information games via discounted regret minimization" (2019).
        """
        if self.alpha is None or iterations == 0:
            return None
        above, below = (float(iterations) ** power for power in (self.alpha, self.beta))
        return above / (above + 1.0), below / (below + 1.0)


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
