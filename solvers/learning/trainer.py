"""What every trainer has in common, so that one run loop (`experiments.running.loop`) can drive all of them.

A trainer knows how to go on and what it can say about itself. It does not know how long it runs, when it is looked at,
or where its files are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import pyspiel

from cardtable.parameters import UserError, require_whole
from cardtable.player import Player, rules_version


class CannotResumeError(UserError):
    """`get_state` and `set_state` of a trainer that cannot go on from a file say so, and why."""


@runtime_checkable
class Trainer(Protocol):
    """CFR, sampling, Deep CFR, OpenSpiel's solvers: whatever gets better by iterations."""

    @property
    def iterations(self) -> int:
        """How many are done, those before a checkpoint included. An iteration updates every player once."""

    def run(self, iterations: int) -> None:
        """Does so many more; `run(0)` changes nothing, but compiles all that they need, so that they can be timed."""

    def metrics(self) -> dict[str, float]:
        """What the trainer itself can say now: `nash_conv`, `exploitability`, `information_sets`, `nodes`, ..."""

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with, as JSON values: at least what `game_identity` says."""

    def get_state(self) -> dict[str, Any]:
        """Everything needed to go on, bit for bit: numpy arrays and JSON values."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state of `get_state`; ValueError if it belongs to something else."""

    def player(self) -> Player:
        """The player it has become so far."""


def game_identity(game: pyspiel.Game) -> dict[str, Any]:
    """Which game a state belongs to, and which version of its rules."""
    return {"game": str(game), "rules_version": rules_version(game)}


def rehearse(trainer: Any, small: Any) -> None:
    """One iteration of a learner with small settings, taken back bit by bit.

    Afterwards all that an iteration needs is compiled, and torch has done what it does only once: what comes next can
    be timed. For `run(0)`.
    """
    settings, state = trainer.settings, trainer.get_state()
    trainer.settings = small
    try:
        trainer.run(1)
        if getattr(small, "strategy_network", False):
            trainer.train_strategy_networks()
    finally:
        trainer.settings = settings
        trainer.set_state(state)


def require_iterations(iterations: int) -> None:
    """`run(-1)` is a mistake and not a wish for nothing."""
    require_whole("iterations", iterations, 0)
