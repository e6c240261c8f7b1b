"""Deep Monte Carlo in self-play or against fixed players.

Zha et al., "DouZero: mastering DouDizhu with self-play deep reinforcement learning" (2021): a network is fitted to the
returns of the games it plays,

    loss = mean over decisions of (Q(information state, action) - (G - b))^2,

and plays the action of the highest value, or now and then a random one. Three things are different here. One network,
which sees seats from the chair of the player, learns for all seats (unless `networks=seat`). What a decision is worth
is measured against a baseline b of random playouts from the same true state. And it does not start from nothing: at
first it is distilled from random playouts of *all* legal actions, from the true state; the network sees the information
state only, so that the regression itself averages over what is hidden, and its limit is flat Monte Carlo with all
worlds at the price of one network call. `lessons` has the details.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import torch

from cardtable.executors import Executor
from cardtable.parameters import UserError
from cardtable.search.saved_values import Saved
from solvers.deep_monte_carlo.lessons import Lesson, Lessons, Phase, collect
from solvers.deep_monte_carlo.settings import Settings
from solvers.learning.action_learner import ActionLearner, Batch, squared_gradient
from solvers.learning.actor import Acting, Mind, Seating
from solvers.learning.game_learner import GameLearner
from solvers.learning.rows import all_actions, chosen_actions
from solvers.learning.trainer import rehearse


class DeepMonteCarlo(GameLearner):
    """Learns a game of ours; a `Trainer`. See `GameLearner` for its arguments."""

    kind = "deep_monte_carlo"
    parts = ("acting", "valuing", "learning")

    def __init__(
        self,
        game: pyspiel.Game,
        settings: Settings | None = None,
        seed: int = 0,
        seatings: Sequence[Seating] | None = None,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(game, settings or Settings(), seed, seatings, executor)
        count = self.rules.num_players if self.settings.networks == "seat" else 1
        self.learners = [self._learner(self.settings.learning_rate) for _ in range(count)]

    def _rehearse(self) -> None:
        small = self.settings.replace(games=2, chunk_games=2, distil_iterations=self.iterations + 1)
        rehearse(self, small)
        rehearse(self, small.replace(distil_iterations=0, improve_iterations=0))
        if self.settings.improve_iterations:
            rehearse(self, small.replace(distil_iterations=0, improve_iterations=self.iterations + 1))

    @property
    def phase(self) -> Phase:
        """Of the next iteration."""
        chosen = self.settings
        if self.iterations < chosen.distil_iterations:
            return "distilled"
        return "improved" if self.iterations < chosen.distil_iterations + chosen.improve_iterations else "returns"

    def _lessons(self) -> Lessons:
        chosen, phase = self.settings, self.phase
        by_seat = chosen.networks == "seat"
        minds = [
            Mind(self.shape, learner.playing_weights(), chosen.tells, chosen.epsilon, seat=number if by_seat else None)
            for number, learner in enumerate(self.learners)
        ]
        acting = Acting(self.game, minds, self.seatings, self.seed)
        if phase == "distilled":
            return Lessons(acting, phase, chosen.playouts)
        if phase == "improved":
            return Lessons(acting, phase, chosen.improved_playouts, chosen.improved_share)
        return Lessons(acting, phase, chosen.baseline_playouts)

    def _iterate(self) -> None:
        """Plays some games and learns from their decisions: once, or several times where their values took long."""
        shared = self._lessons()
        found = list(self.executor.map(collect, self._chunks(), shared))
        self.iterations += 1
        for lesson in found:
            self.games += lesson.games
            self.decisions += lesson.decisions
            for part, seconds in zip(self.parts, lesson.seconds.tolist(), strict=False):
                self.seconds[part] += seconds
        self._learn(shared, found)

    def _learn(self, shared: Lessons, found: Sequence[Lesson]) -> None:
        """Each network learns from its own decisions, in an order drawn anew for every pass."""
        states, count, place, mind, targets = (
            np.concatenate(parts) for parts in zip(*(lesson[:5] for lesson in found), strict=True)
        )
        if len(states) == 0:
            return
        clock = time.process_time()
        self._settle_scale(targets)
        of_all = shared.phase != "returns"
        starts = np.concatenate([[0], np.cumsum(count)]) if of_all else np.arange(len(states) + 1)
        values = shared.acting.values[0]  # for its features, which all networks share
        random = np.random.default_rng([self.seed, self.iterations])
        passes = self.settings.improved_passes if shared.phase == "improved" else 1
        rate = self.settings.learning_rate if shared.phase == "distilled" else self.settings.later_learning_rate
        losses = []
        for number, learner in enumerate(self.learners):
            own = np.flatnonzero(mind == number)
            order = np.concatenate([random.permutation(own) for _ in range(passes)])
            for first in range(0, len(order), self.settings.batch_size):
                rows = order[first : first + self.settings.batch_size]
                if of_all:
                    batch = all_actions(values, states[rows], count[rows], self.device)
                    aims = np.concatenate([targets[starts[row] : starts[row + 1]] for row in rows])
                else:
                    batch = chosen_actions(values, states[rows], place[rows], self.device)
                    aims = targets[rows]
                losses.append(self._fit(learner, batch, aims, rate))
        self.loss = float(torch.stack(losses).mean())
        self.seconds["learning"] += time.process_time() - clock

    def _fit(self, learner: ActionLearner, batch: Batch, aims: np.ndarray, rate: float) -> torch.Tensor:
        """One step; returns the mean of the squares."""
        wanted = learner.to_device(aims / np.float32(self.scale))
        gradient = squared_gradient(wanted, torch.full_like(wanted, 1.0 / len(wanted)))
        loss = torch.zeros((), device=self.device)

        def watched(found: torch.Tensor) -> torch.Tensor:
            loss.copy_((found - wanted).square().mean())
            return gradient(found)

        learner.fit(batch, watched, rate)
        return loss

    def start_from(self, saved: Saved) -> None:
        """Goes on from a trained network, in its units; UserError if it does not fit."""
        own = (self.shape, self.settings.tells, len(self.learners), False)
        if (saved.shape, saved.tells, len(saved.weights), saved.softmax) != own:
            raise UserError("the network to start from has another shape, is told something else, or is a policy")
        for learner, weights in zip(self.learners, saved.weights, strict=True):
            learner.start_from(weights)
        self.scale = saved.scale

    def saved(self) -> Saved:
        weights = np.stack([learner.playing_weights() for learner in self.learners])
        return Saved(self.kind, self.shape, weights, self.settings.tells, self.scale, softmax=False)

    def _state_parts(self) -> list[tuple[str, Any]]:
        if len(self.learners) == 1:
            return [("network", self.learners[0])]
        return [(f"network.{seat}", learner) for seat, learner in enumerate(self.learners)]
