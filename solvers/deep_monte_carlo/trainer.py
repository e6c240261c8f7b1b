"""Deep Monte Carlo in self-play or against fixed players.

Zha et al., "DouZero: mastering DouDizhu with self-play deep reinforcement learning" (2021): a network is fitted to the
returns of the games it plays,

    loss = mean over decisions of (Q(information state, action) - (G - b))^2,

and plays the action of the highest value, or now and then a random one. Three things are different here. One network,
which sees seats from the chair of the player, learns for all seats. What a decision is worth is measured against a
baseline b of random playouts from the same true state. And it does not start from nothing: at first it is distilled
from random playouts of *all* legal actions, from the true state; the network sees the information state only, so that
the regression itself averages over what is hidden, and its limit is flat Monte Carlo with all worlds at the price of
one network call. `lessons` has the details.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import torch

from cardtable.executors import Executor, Serial
from cardtable.player import Player
from cardtable.rules import Rules
from solvers.deep_cfr.settings import find_device
from solvers.deep_monte_carlo.lessons import Lesson, Lessons, Phase, collect
from solvers.deep_monte_carlo.settings import Settings
from solvers.learning.action_learner import ActionLearner, squared_gradient
from solvers.learning.action_values import ActionValues, shape_for
from solvers.learning.actor import Acting, Chunk, Mind, Seating, require_seatings
from solvers.learning.players import Saved, value_player, write_values
from solvers.learning.rows import all_actions, chosen_actions
from solvers.learning.states import require_state
from solvers.learning.trainer import game_identity, rehearse, require_iterations

PARTS = ("acting", "valuing", "learning")
NO_SCALE = 1e-6  # of targets that are all alike
KIND = "deep_monte_carlo"


class DeepMonteCarlo:
    """Learns a game of ours; a `Trainer`.

    `seatings` say who sits where, None for seats that learn; chunks of games take them in turn. By default everybody
    learns. Games are played by the `executor`, in chunks that do not depend on it; the network is trained here.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        settings: Settings | None = None,
        seed: int = 0,
        seatings: Sequence[Seating] | None = None,
        executor: Executor | None = None,
    ) -> None:
        rules = getattr(game, "rules", None)
        if not isinstance(rules, Rules):
            raise ValueError(f"{game} has no compiled rules; allowed: games of this project")
        self.game, self.rules = game, rules
        self.settings = chosen = settings or Settings()
        self.seed = seed
        self.seatings = tuple(seatings) if seatings is not None else ((None,) * rules.num_players,)
        require_seatings(game, self.seatings)
        self.executor = executor or Serial()
        self.device = find_device(chosen.device)
        shape = shape_for(rules, chosen.context_sizes, chosen.head_sizes, chosen.negative_slope, chosen.tells)
        start = torch.Generator().manual_seed(int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]))
        self.learner = ActionLearner(shape, chosen.learning_rate, start, self.device, chosen.averaging)
        self.iterations = self.games = self.decisions = 0
        self.scale = 0.0  # of the targets, from the first iteration
        self.loss = float("nan")  # of the last iteration, in units of the mean square of the first targets
        self.seconds = dict.fromkeys(PARTS, 0.0)  # CPU seconds by part

    # ------------------------------------------------------------------------------------------ training

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        if iterations == 0:
            seconds = dict(self.seconds)
            chosen = self.settings.replace(games=2, chunk_games=2, distil_iterations=self.iterations + 1)
            rehearse(self, chosen)
            rehearse(self, chosen.replace(distil_iterations=0, improve_iterations=0))
            if self.settings.improve_iterations:
                rehearse(self, chosen.replace(distil_iterations=0, improve_iterations=self.iterations + 1))
            self.seconds = seconds
        for _ in range(iterations):
            self._iterate()

    @property
    def phase(self) -> Phase:
        """Of the next iteration."""
        if self.iterations < self.settings.distil_iterations:
            return "distilled"
        return "improved" if self.iterations < self.improved_until else "returns"

    @property
    def improved_until(self) -> int:
        return self.settings.distil_iterations + self.settings.improve_iterations

    def _lessons(self) -> Lessons:
        chosen, phase = self.settings, self.phase
        mind = Mind(self.learner.shape, self.learner.playing_weights(), chosen.tells, chosen.epsilon)
        acting = Acting(self.game, [mind], self.seatings, self.seed)
        if phase == "distilled":
            return Lessons(acting, phase, chosen.playouts)
        if phase == "improved":
            return Lessons(acting, phase, chosen.improved_playouts, chosen.improved_share)
        return Lessons(acting, phase, chosen.baseline_playouts)

    def _iterate(self) -> None:
        """Plays some games and learns from each of their decisions once."""
        chosen, shared = self.settings, self._lessons()
        whole, rest = divmod(chosen.games, chosen.chunk_games)
        sizes = [chosen.chunk_games] * whole + ([rest] if rest else [])
        # Each iteration begins with another seating, so that few chunks meet all of them in time.
        chunks = [
            Chunk(size, (self.iterations * len(sizes) + number) % len(self.seatings), (self.iterations, number))
            for number, size in enumerate(sizes)
        ]
        found = list(self.executor.map(collect, chunks, shared))
        self.iterations += 1
        for lesson in found:
            self.games += lesson.games
            self.decisions += lesson.decisions
            for part, seconds in zip(PARTS, lesson.seconds.tolist(), strict=False):
                self.seconds[part] += seconds
        self._learn(shared, found)

    def _learn(self, shared: Lessons, found: Sequence[Lesson]) -> None:
        states, count, place, targets = (np.concatenate(parts) for parts in zip(*(f[:4] for f in found), strict=True))
        if len(states) == 0:
            return
        clock = time.process_time()
        if self.scale == 0.0:
            self.scale = max(float(np.sqrt(np.mean(np.square(targets, dtype=np.float64)))), NO_SCALE)
        of_all = shared.phase != "returns"
        starts = np.concatenate([[0], np.cumsum(count)]) if of_all else np.arange(len(states) + 1)
        values = shared.acting.values[0]
        order = np.random.default_rng([self.seed, self.iterations]).permutation(len(states))
        rate = self.settings.learning_rate if shared.phase == "distilled" else self.settings.later_learning_rate
        total = torch.zeros((), device=self.device)
        for first in range(0, len(order), self.settings.batch_size):
            rows = order[first : first + self.settings.batch_size]
            if of_all:
                batch = all_actions(values, states[rows], count[rows], self.device)
                aims = np.concatenate([targets[starts[row] : starts[row + 1]] for row in rows])
            else:
                batch = chosen_actions(values, states[rows], place[rows], self.device)
                aims = targets[rows]
            wanted = self.learner.to_device(aims / np.float32(self.scale))
            even = torch.full_like(wanted, 1.0 / len(wanted))
            gradient = squared_gradient(wanted, even)

            def watched(found: torch.Tensor, wanted: Any = wanted, gradient: Any = gradient) -> torch.Tensor:
                total.add_((found - wanted).square().mean())
                return gradient(found)

            self.learner.fit(batch, watched, rate)
        self.loss = float(total) / -(-len(order) // self.settings.batch_size)
        self.seconds["learning"] += time.process_time() - clock

    # ------------------------------------------------------------------------------------------ what it has become

    def saved(self) -> Saved:
        return Saved(
            KIND, self.learner.shape, self.learner.playing_weights(), self.settings.tells, self.scale, softmax=False
        )

    def player(self) -> Player:
        """Plays the action of the highest value."""
        return value_player("deep_monte_carlo", self.game, self.saved())

    def save_player(self, folder: Path, made_by: Mapping[str, Any]) -> None:
        write_values(folder, self.game, self.saved(), made_by)

    def values(self) -> ActionValues:
        return ActionValues(self.rules, self.learner.shape, self.learner.playing_weights(), self.settings.tells)

    def metrics(self) -> dict[str, float]:
        """How much was played and learnt, and how well the last values were fitted."""
        return {"games": self.games, "decisions": self.decisions, "loss": self.loss}

    # ------------------------------------------------------------------------------------------ checkpoints

    def identity(self) -> dict[str, Any]:
        names = [[None if player is None else player.name for player in seating] for seating in self.seatings]
        return {
            **game_identity(self.game),
            "solver": KIND,
            "network": self.learner.shape.as_json(),
            "tells": self.settings.tells,
            "seatings": names,
            "seed": self.seed,
        }

    def _own_state(self) -> dict[str, Any]:
        counted = ("iterations", "games", "decisions", "scale", "loss")
        return {name: getattr(self, name) for name in counted}

    def get_state(self) -> dict[str, Any]:
        """Everything a run needs to go on. Games are functions of the seed, the iteration and the weights."""
        return {"identity": self.identity(), **self._own_state(), **self.learner.state("network")}

    def set_state(self, state: Mapping[str, Any]) -> None:
        if state.get("identity") != self.identity():
            raise ValueError(f"the checkpoint is of {state.get('identity')}, this trainer is of {self.identity()}")
        require_state(state, self._own_state(), gaps=("loss",))
        self.learner.set_state("network", state)
        for name in ("iterations", "games", "decisions"):
            setattr(self, name, int(state[name]))
        self.scale, self.loss = float(state["scale"]), float(state["loss"])
