"""Double DQN, and NFSP on top of it, on the batched actor.

Double DQN (van Hasselt, Guez and Silver 2016): minibatches of transitions from a memory,

    loss = mean of (Q(s, a) - (r + gamma Q'(s', argmax_a' Q(s', a'))))^2,

with Q' a copy of the network that is renewed from time to time; s' is the next decision of the same player.

NFSP (Heinrich and Silver 2016) adds a network for the average policy, a softmax over the legal actions, fitted to what
the player did while it played its best response:

    loss = - mean of log P(s, a) over a reservoir of decisions of the best response.

In each game each seat plays the best response (Q with exploration) with probability `anticipatory`, else the average
policy, which is what NFSP is judged by.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyspiel
import torch

from cardtable.executors import Executor
from cardtable.search.saved_values import Saved
from solvers.learning.action_learner import ActionLearner, Batch, Gradient, squared_gradient
from solvers.learning.actor import Acting, Mind, Seating
from solvers.learning.game_learner import GameLearner
from solvers.learning.rows import all_actions, chosen_actions
from solvers.learning.states import require_choices
from solvers.learning.trainer import rehearse
from solvers.q_learning.lessons import Lessons, Transitions, collect
from solvers.q_learning.memory import Ring
from solvers.q_learning.settings import Settings

BEST_RESPONSE, AVERAGE = range(2)  # the minds of NFSP


class QLearning(GameLearner):
    """Double DQN or NFSP; a `Trainer`. See `GameLearner` for the other arguments."""

    parts = ("acting", "potential", "learning")

    def __init__(
        self,
        game: pyspiel.Game,
        kind: Literal["dqn", "nfsp"],
        settings: Settings | None = None,
        seed: int = 0,
        seatings: Sequence[Seating] | None = None,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(game, settings or Settings(), seed, seatings, executor)
        self.kind = kind
        chosen = self.settings
        self.learner = self._learner(chosen.learning_rate)
        self._target = self._learner(chosen.learning_rate)
        self._target.set_weights(self.learner.weights())
        self.policy = self._learner(chosen.policy_learning_rate) if kind == "nfsp" else None
        state, number = (np.int64, (self.rules.state_size,)), (np.int64, ())
        decision = {"state": state, "place": number, "count": number}
        others = {"reward": (np.float32, ()), "next": state, "next_count": number}
        self._memory = Ring(chosen.memory_rows, {**decision, **others})
        self._decisions = Ring(chosen.memory_rows if self.policy else 1, decision, reservoir=True)
        self._steps = 0

    def _rehearse(self) -> None:
        rehearse(self, self.settings.replace(games=2, chunk_games=2, training_steps=1, batch_size=4))

    def epsilon(self) -> float:
        """Falls evenly from the first to the last value."""
        chosen = self.settings
        done = min(self.decisions / chosen.epsilon_decisions, 1.0)
        return chosen.first_epsilon + done * (chosen.epsilon - chosen.first_epsilon)

    def _minds(self) -> list[Mind]:
        tells, share = self.settings.tells, self.settings.anticipatory if self.policy else 1.0
        weights = self.learner.playing_weights()
        minds = [Mind(self.shape, weights, tells, self.epsilon(), share=share)]
        if self.policy is not None:
            minds.append(Mind(self.shape, self.policy.playing_weights(), tells, softmax=True, share=1.0 - share))
        return minds

    def _iterate(self) -> None:
        chosen = self.settings
        shared = Lessons(Acting(self.game, self._minds(), self.seatings, self.seed), chosen.shaping_playouts)
        found = list(self.executor.map(collect, self._chunks(), shared))
        self.iterations += 1
        random = np.random.default_rng([self.seed, self.iterations])
        for part in found:
            self._file(part, random)
        if len(self._memory) == 0:
            return
        clock = time.process_time()
        values = shared.acting.values[0]
        total = 0.0
        for _ in range(chosen.training_steps):
            total += self._step(values, random)
            if self.policy is not None and len(self._decisions):
                self._policy_step(self.policy, values, random)
            self._steps += 1
            if self._steps % chosen.target_every == 0:
                self._target.set_weights(self.learner.weights())
        self.loss = total / chosen.training_steps
        self.seconds["learning"] += time.process_time() - clock

    def _file(self, part: Transitions, random: np.random.Generator) -> None:
        self.games += part.games
        self.decisions += len(part.state)
        for name, seconds in zip(self.parts, part.seconds.tolist(), strict=False):
            self.seconds[name] += seconds
        if len(part.state) == 0:
            return
        self._settle_scale(part.reward)
        rows = part._asdict()
        self._memory.add({name: rows[name] for name in self._memory.arrays}, random)
        if self.policy is not None:
            own = part.mind == BEST_RESPONSE
            if own.any():
                self._decisions.add({name: rows[name][own] for name in self._decisions.arrays}, random)

    def _step(self, values: Any, random: np.random.Generator) -> float:
        """One minibatch of Double DQN; returns its loss."""
        rows = self._memory.draw(self.settings.batch_size, random)
        targets = rows["reward"] / np.float32(self.scale)
        going = np.flatnonzero(rows["next_count"] > 0)
        if len(going):
            counts = rows["next_count"][going]
            batch = all_actions(values, rows["next"][going], counts, self.device)
            online, later = (net.forward(batch).cpu().numpy() for net in (self.learner, self._target))
            starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
            listed = np.arange(counts.max()) < counts[:, None]
            padded = np.full(listed.shape, -np.inf, np.float32)
            padded[listed] = online
            targets[going] += np.float32(self.settings.gamma) * later[starts + padded.argmax(axis=1)]
        wanted = self.learner.to_device(targets)
        loss = torch.zeros((), device=self.device)
        gradient = squared_gradient(wanted, torch.full_like(wanted, 1.0 / len(targets)))

        def watched(found: torch.Tensor) -> torch.Tensor:
            loss.copy_((found - wanted).square().mean())
            return gradient(found)

        self.learner.fit(chosen_actions(values, rows["state"], rows["place"], self.device), watched)
        return float(loss)

    def _policy_step(self, policy: ActionLearner, values: Any, random: np.random.Generator) -> None:
        rows = self._decisions.draw(self.settings.batch_size, random)
        batch = all_actions(values, rows["state"], rows["count"], self.device)
        policy.fit(batch, likelihood_gradient(batch, rows["count"], rows["place"]))

    # ------------------------------------------------------------------------------------------ what it has become

    def saved(self) -> Saved:
        network = self.policy or self.learner
        weights = network.playing_weights()[None]
        return Saved(self.kind, self.shape, weights, self.settings.tells, self.scale, softmax=self.policy is not None)

    def _own_state(self) -> dict[str, Any]:
        return {**super()._own_state(), "steps": self._steps}

    def _memories(self) -> dict[str, Ring]:
        return {"memory": self._memory, **({"own": self._decisions} if self.policy else {})}

    def _positions(self) -> dict[str, int]:
        held = {"memory.state": self._memory, "memory.next": self._memory, "own.state": self._decisions}
        return {name: memory.rows for name, memory in held.items() if name.partition(".")[0] in self._memories()}

    def _require(self, state: Mapping[str, Any]) -> None:
        super()._require(state)
        for name in self._memories():
            counts, places = state[f"{name}.count"], state[f"{name}.place"]
            require_choices(f"{name}.count", self.rules, state[f"{name}.state"], counts)
            if ((places < 0) | (places >= counts)).any():
                raise ValueError(f"{name}.place of the solver state has numbers that are no places of legal actions")
        goes_on = np.flatnonzero(state["memory.next_count"])
        counts = state["memory.next_count"][goes_on]
        require_choices("memory.next_count", self.rules, state["memory.next"][goes_on], counts)

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._steps = int(state["steps"])

    def _state_parts(self) -> list[tuple[str, Any]]:
        networks = {"network": self.learner, "target": self._target, **({"policy": self.policy} if self.policy else {})}
        return [*networks.items(), *self._memories().items()]


def likelihood_gradient(batch: Batch, counts: np.ndarray, places: np.ndarray) -> Gradient:
    """Derivative of the mean of -log softmax(values)[place] over rows, each with so many legal actions."""
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    device = batch.contexts.device
    column = torch.from_numpy(np.arange(int(counts.sum())) - np.repeat(starts, counts)).to(device)
    chosen = torch.from_numpy(starts + places).to(device)

    def gradient(values: torch.Tensor) -> torch.Tensor:
        padded = torch.full((len(counts), int(counts.max())), -torch.inf, device=device)
        padded[batch.row_of, column] = values
        found = torch.softmax(padded, dim=1)[batch.row_of, column]
        found[chosen] -= 1.0
        return found / len(counts)

    return gradient
