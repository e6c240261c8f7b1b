"""What learners on the batched actor share: game and seatings, chunks of games, counts, checkpoints, saved players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import torch

from cardtable.executors import Executor, Serial
from cardtable.player import Player
from cardtable.rules import Rules
from cardtable.search.action_values import shape_for
from cardtable.search.saved_values import Saved, write_values
from solvers.deep_cfr.settings import find_device
from solvers.learning.action_learner import ActionLearner
from solvers.learning.actor import Chunk, require_seatings
from solvers.learning.company import Seating
from solvers.learning.players import value_player
from solvers.learning.states import require_state, with_positions, with_ways
from solvers.learning.trainer import game_identity, require_iterations

NO_SCALE = 1e-6  # of targets that are all alike
COUNTED = ("iterations", "games", "decisions")


class GameLearner:
    """A trainer of a game of ours whose games are played by the actor.

    `seatings` say who sits where, None for seats that learn; chunks of games take them in turn. By default everybody
    learns. Games are played by the `executor`, in chunks that do not depend on it; networks are trained here.
    """

    kind = ""  # of the learner, for files
    parts: tuple[str, ...] = ()  # what CPU seconds are counted for

    def __init__(
        self,
        game: pyspiel.Game,
        settings: Any,
        seed: int,
        seatings: Sequence[Seating] | None,
        executor: Executor | None,
    ) -> None:
        rules = getattr(game, "rules", None)
        if not isinstance(rules, Rules):
            raise ValueError(f"{game} has no compiled rules; allowed: games of this project")
        self.game, self.rules, self.settings, self.seed = game, rules, settings, seed
        self.seatings = tuple(seatings) if seatings is not None else ((None,) * rules.num_players,)
        require_seatings(game, self.seatings)
        self.executor = executor or Serial()
        self.device = find_device(settings.device)
        context = settings.context_sizes if settings.network != "joint" else ()
        head = settings.head_sizes if settings.network != "plain" else ()
        self.shape = shape_for(rules, context, head, settings.negative_slope, settings.tells)
        self._start = torch.Generator().manual_seed(int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]))
        self.iterations = self.games = self.decisions = 0
        self.scale = 0.0  # of values, from the first iteration
        self.loss = float("nan")  # of the last iteration, in units of the mean square of the first targets
        self.seconds = dict.fromkeys(self.parts, 0.0)  # CPU seconds by part

    def _learner(self, learning_rate: float) -> ActionLearner:
        chosen = self.settings
        return ActionLearner(
            self.shape, learning_rate, self._start, self.device, chosen.averaging, getattr(chosen, "optimiser", "adam")
        )

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        if iterations == 0:
            seconds = dict(self.seconds)
            self._rehearse()
            self.seconds = seconds
        for _ in range(iterations):
            self._iterate()

    def _rehearse(self) -> None:
        raise NotImplementedError

    def _iterate(self) -> None:
        raise NotImplementedError

    def _chunks(self) -> list[Chunk]:
        """The games of the next iteration. Each begins with another seating, so that few chunks meet all in time."""
        whole, rest = divmod(self.settings.games, self.settings.chunk_games)
        sizes = [self.settings.chunk_games] * whole + ([rest] if rest else [])
        return [
            Chunk(size, (self.iterations * len(sizes) + number) % len(self.seatings), (self.iterations, number))
            for number, size in enumerate(sizes)
        ]

    def _settle_scale(self, values: np.ndarray) -> None:
        """Values are learnt in units of the root mean square of the first ones."""
        if self.scale == 0.0:
            self.scale = max(float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))), NO_SCALE)

    # ------------------------------------------------------------------------------------------ what it has become

    def saved(self) -> Saved:
        raise NotImplementedError

    def player(self) -> Player:
        return value_player(self.kind, self.game, self.saved())

    def save_player(self, folder: Path, made_by: Mapping[str, Any]) -> None:
        write_values(folder, self.game, self.saved(), made_by)

    def metrics(self) -> dict[str, float]:
        """How much was played and learnt, and how well the last values were fitted."""
        return {"games": self.games, "decisions": self.decisions, "loss": self.loss}

    # ------------------------------------------------------------------------------------------ checkpoints

    def identity(self) -> dict[str, Any]:
        names = [[None if player is None else player.name for player in seating] for seating in self.seatings]
        return {
            **game_identity(self.game),
            "solver": self.kind,
            "network": self.shape.as_json(),
            "tells": self.settings.tells,
            "seatings": names,
            "seed": self.seed,
        }

    def _state_parts(self) -> list[tuple[str, Any]]:
        """Networks and memories by name, each with state, require_state and set_state."""
        raise NotImplementedError

    def _positions(self) -> dict[str, int]:
        """Which parts of the state are positions, and how many there may be."""
        return {}

    def _own_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*COUNTED, "scale", "loss")}

    def get_state(self) -> dict[str, Any]:
        """Everything a run needs to go on. Games are functions of the seed, the iteration and the weights."""
        state = {"identity": self.identity(), **self._own_state()}
        for name, part in self._state_parts():
            state |= part.state(name)
        return with_ways(state, self.rules, self._positions())

    def _require(self, state: Mapping[str, Any]) -> None:
        """ValueError unless it is a state of this trainer."""
        require_state(state, self._own_state(), gaps=("loss",))
        for name, part in self._state_parts():
            part.require_state(name, state)

    def set_state(self, state: Mapping[str, Any]) -> None:
        if state.get("identity") != self.identity():
            raise ValueError(f"the checkpoint is of {state.get('identity')}, this trainer is of {self.identity()}")
        state = with_positions(state, self.rules, self._positions())
        self._require(state)
        for name, part in self._state_parts():
            part.set_state(name, state)
        for name in COUNTED:
            setattr(self, name, int(state[name]))
        self.scale, self.loss = float(state["scale"]), float(state["loss"])
