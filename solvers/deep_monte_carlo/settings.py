"""What can be chosen in Deep Monte Carlo."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self

from cardtable.parameters import UserError, require
from solvers.learning.settings import check_fields, setting

SHARES = ("epsilon", "improved_share", "averaging")


@dataclass(frozen=True)
class Settings:
    """The defaults suit trick-taking games with features of their own."""

    network: Literal["shared", "plain", "joint"] = setting(
        "shared", "a head that all legal actions share; one output for each feature of an action (no head); no context"
    )
    context_sizes: tuple[int, ...] = setting((256,), "hidden layers for what all actions of a position share")
    head_sizes: tuple[int, ...] = setting((96, 48), "hidden layers for each legal action")
    negative_slope: float = setting(0.0, "slope of the leaky ReLU below zero")
    networks: Literal["shared", "seat"] = setting("shared", "one network for all seats, or one for each")
    tells: Literal["features", "information", "observation"] = setting(
        "features", "what the network is told: the game's features, or one of its tensors and actions by number"
    )
    games: int = setting(512, "games of an iteration", lowest=1, seconds_each=1e-5)
    chunk_games: int = setting(128, "games played in lock step, a piece of work for an executor", lowest=1)
    distil_iterations: int = setting(60, "iterations that learn from random playouts of all actions", lowest=0)
    playouts: int = setting(2, "random playouts for each action, from the true state", lowest=1, seconds_each=1e-5)
    improve_iterations: int = setting(0, "iterations, next, that learn from playouts with the network", lowest=0)
    improved_share: float = setting(0.15, "share of the decisions that are learnt from in these")
    improved_playouts: int = setting(1, "playouts with the network for each action", lowest=1, seconds_each=1e-5)
    improved_passes: int = setting(
        4, "how often each of these decisions is learnt from: they are dear", lowest=1, seconds_each=1e-5
    )
    baseline_playouts: int = setting(
        8, "random playouts whose mean is taken off a return; 0 for none", lowest=0, seconds_each=1e-5
    )
    epsilon: float = setting(0.1, "how often a learner plays at random")
    batch_size: int = setting(512, "decisions of a minibatch", lowest=1)
    optimiser: Literal["adam", "rmsprop"] = setting("adam", "Adam, or RMSprop as DouZero has it")
    learning_rate: float = setting(1e-3, "of the optimiser, while values are distilled", lowest=0)
    later_learning_rate: float = setting(2e-4, "of the optimiser, afterwards", lowest=0)
    averaging: float = setting(0.999, "decay of the running average of the weights, which is what plays")
    device: str = setting("cpu", "cpu, cuda, ...")

    def __post_init__(self) -> None:
        check_fields(self)
        for name in SHARES:
            require(0.0 <= getattr(self, name) <= 1.0, name, getattr(self, name), "0 to 1")
        for name in ("learning_rate", "later_learning_rate"):
            require(getattr(self, name) > 0.0, name, getattr(self, name), "more than 0")
        if self.networks == "seat" and self.improve_iterations:
            raise UserError("networks is 'seat', but improve_iterations needs a network that plays all seats")

    def replace(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)
