"""What can be chosen in Double DQN and NFSP."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self

from cardtable.parameters import require
from solvers.learning.settings import check_fields, setting

SHARES = ("gamma", "epsilon", "first_epsilon", "averaging", "anticipatory")


@dataclass(frozen=True)
class Settings:
    """Fields that Deep Monte Carlo has too mean the same there."""

    network: Literal["shared", "plain", "joint"] = setting(
        "shared", "a head that all legal actions share; one output for each feature of an action (no head); no context"
    )
    context_sizes: tuple[int, ...] = setting((256,), "hidden layers for what all actions of a position share")
    head_sizes: tuple[int, ...] = setting((96, 48), "hidden layers for each legal action")
    negative_slope: float = setting(0.0, "slope of the leaky ReLU below zero")
    tells: Literal["features", "information", "observation"] = setting(
        "features", "what the network is told: the game's features, or one of its tensors and actions by number"
    )
    games: int = setting(512, "games of an iteration", lowest=1, seconds_each=1e-5)
    chunk_games: int = setting(128, "games played in lock step, a piece of work for an executor", lowest=1)
    memory_rows: int = setting(100_000, "transitions kept to learn from, and NFSP's own decisions", lowest=1)
    training_steps: int = setting(32, "minibatches of an iteration", lowest=1, seconds_each=1e-5)
    target_every: int = setting(64, "minibatches between updates of the target network", lowest=1)
    gamma: float = setting(1.0, "discount from one decision of a player to her next")
    shaping_playouts: int = setting(
        8,
        "random playouts whose mean is the potential that rewards are made of; 0: paid at the end alone",
        lowest=0,
        seconds_each=1e-5,
    )
    epsilon: float = setting(0.1, "how often a learner plays at random")
    first_epsilon: float = setting(1.0, "the same in the beginning")
    epsilon_decisions: int = setting(100_000, "decisions until it has fallen from the first to the last", lowest=1)
    anticipatory: float = setting(0.5, "NFSP: how often a seat plays the best response and not the average")
    batch_size: int = setting(512, "decisions of a minibatch", lowest=1)
    learning_rate: float = setting(1e-3, "of Adam", lowest=0)
    policy_learning_rate: float = setting(1e-3, "of Adam, for NFSP's average policy", lowest=0)
    averaging: float = setting(0.999, "decay of the running average of the weights, which is what plays")
    device: str = setting("cpu", "cpu, cuda, ...")

    def __post_init__(self) -> None:
        check_fields(self)
        for name in SHARES:
            require(0.0 <= getattr(self, name) <= 1.0, name, getattr(self, name), "0 to 1")
        for name in ("learning_rate", "policy_learning_rate"):
            require(getattr(self, name) > 0.0, name, getattr(self, name), "more than 0")

    def replace(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)
