"""Deep CFR for games whose information sets are enumerated (kuhn_poker, leduc_poker, small Toepen and Coinche).

Brown et al. 2019; Steinberger, "Single deep counterfactual regret minimization" (2019). In iteration t, for each
player in turn: traverse the game many times with everybody's present strategy, remember the regrets, fit the player's
advantage network to the mean regrets with linear weights, and make the network's regret matching the player's
strategy.

Two averages over the iterations, weighted by t:

* *Single Deep CFR* plays the strategy of one iteration, drawn with its weight, for a whole game. The behaviour of this
  mixture is known exactly here: plans (own reach times strategy) of all iterations are added up as they arise.
* *The strategy network* is fitted to the strategies that traversals met at the decisions of the players they sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
import torch

from cardtable.player import Player
from cardtable.randomness import generator
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import evaluate_probabilities
from solvers.deep_cfr.memory import MergedReservoir, Sums
from solvers.deep_cfr.sampling import traversal_number
from solvers.deep_cfr.settings import Settings, find_device
from solvers.deep_cfr.tabulated import TabulatedGame
from solvers.learning.networks import (
    Learner,
    masked_softmax,
    normalised,
    regression_gradient,
    require_torch_generator,
    strategy_gradient,
)
from solvers.learning.states import require_state
from solvers.learning.trainer import game_identity, rehearse, require_iterations
from solvers.policies import TablePolicy, table_player


def networks_of_seats(networks: str, num_players: int, teams: Sequence[Sequence[int]]) -> list[int]:
    """Which network each seat uses: its own, its team's, or the only one."""
    if networks == "seat":
        return list(range(num_players))
    if networks == "shared":
        return [0] * num_players
    if not teams:
        raise ValueError("networks is 'team', but nobody has a partner in this game; allowed: seat, shared")
    return [next(number for number, team in enumerate(teams) if seat in team) for seat in range(num_players)]


def strategy_seed(seed: int, iteration: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(5, iteration)).generate_state(1)[0])


class TabulatedDeepCFR:
    """Deep CFR on an enumerated game.

    `run(n)` trains; `average_policy()` is the Single Deep CFR average, `strategy_policy()` that of the
    strategy network, `current_policy()` the last iterate (which does not converge). `get_state`, `set_state` make
    checkpoints; a run that goes on from one does what it would have done anyway, bit by bit, on the CPU.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        settings: Settings | None = None,
        seed: int = 0,
        max_memory_bytes: int | None = None,
    ) -> None:
        self.game = game
        self.settings = settings or Settings()
        if self.settings.traversal == "rollouts":
            raise ValueError(
                "traversal is 'rollouts'; allowed for enumerated games: external, corrected, algorithm3_biased"
            )
        if self.settings.memory_rows is not None and self.settings.alpha is not None:
            raise ValueError(
                f"alpha is {self.settings.alpha}, but a sample of {self.settings.memory_rows:,} rows cannot be "
                "discounted; allowed: memory_rows=None"
            )
        self.device = find_device(self.settings.device)
        self.tabulated = TabulatedGame(game, max_memory_bytes)
        self._form: SequenceForm | None = None
        self.seed = seed
        self.iterations = 0
        self.nodes = 0  # visited by traversals so far
        tabulated, chosen = self.tabulated, self.settings
        rules = getattr(game, "rules", None)
        self._network_of = networks_of_seats(chosen.networks, tabulated.num_players, getattr(rules, "teams", ()))
        streams = np.random.SeedSequence(seed).spawn(4)
        self._generator = generator(streams[0])
        self._torch_generator = torch.Generator().manual_seed(int(streams[1].generate_state(1)[0]))
        count = max(self._network_of) + 1
        self._sets = [
            np.sort(np.concatenate([tabulated.sets_of_player[p] for p in self._seats(number)]))
            for number in range(count)
        ]
        self._features = [torch.from_numpy(tabulated.features[sets]).to(self.device) for sets in self._sets]
        self._legal_rows = [tabulated.dense(sets, np.zeros(tabulated.table_size))[1] for sets in self._sets]
        self._legal = [torch.from_numpy(legal).to(self.device) for legal in self._legal_rows]
        self.learners = [self._learner(chosen.hidden_sizes, chosen.learning_rate) for _ in range(count)]
        self._strategy_learners = (
            [self._learner(chosen.strategy_hidden_sizes, chosen.strategy_learning_rate) for _ in range(count)]
            if chosen.strategy_network
            else []
        )
        self._regrets = [self._memory(chosen.memory_rows, streams[2], number) for number in range(count)]
        self._strategies = [self._memory(chosen.strategy_memory_rows, streams[3], number) for number in range(count)]
        self.strategy = tabulated.behaviour(np.zeros(tabulated.table_size))
        self._plan_sums = np.zeros(tabulated.table_size)
        # Regrets of each network's last traversals, by the seats that made them, as a guess at the next ones.
        self._predictions = [Sums(tabulated.table_size) for _ in range(count if chosen.predicts() else 0)]

    def _seats(self, network: int) -> list[int]:
        return [seat for seat, number in enumerate(self._network_of) if number == network]

    def _learner(self, hidden: Sequence[int], learning_rate: float) -> Learner:
        return Learner(
            self.tabulated.features.shape[1],
            hidden,
            len(self.tabulated.used_actions),
            learning_rate,
            self._torch_generator,
            self.device,
            self.settings.skip_connections,
            self.settings.layer_norm,
            self.settings.mixed_precision,
            self.settings.negative_slope,
        )

    def _memory(self, rows: int | None, stream: np.random.SeedSequence, number: int) -> Sums:
        if rows is None:
            return Sums(self.tabulated.table_size)
        tabulated = self.tabulated
        most_actions = int(np.diff(tabulated.tree.action_offset).max())
        own_stream = np.random.SeedSequence(stream.entropy, spawn_key=(*stream.spawn_key, number))
        return MergedReservoir(tabulated.table_size, tabulated.num_sets, rows, most_actions, generator(own_stream))

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        if iterations == 0:
            rehearse(self, self.settings.replace(traversals=1, training_steps=1, strategy_training_steps=1))
        for _ in range(iterations):
            self._iterate()

    def _iterate(self) -> None:
        """Updates every player once."""
        self.iterations += 1
        discounts = self.settings.discounts(self.iterations - 1)
        if discounts is not None:
            for memory in self._regrets:
                memory.discount(*discounts)
        for player in range(self.tabulated.num_players):
            self._traverse(player)
            self._train(self._network_of[player])
        self._plan_sums += self.settings.average_weight(self.iterations) * self.tabulated.plans(self.strategy)

    def _traverse(self, player: int) -> None:
        chosen, tabulated = self.settings, self.tabulated
        weight = chosen.regret_weight(self.iterations)
        regrets, own, others = (np.zeros(tabulated.table_size) for _ in range(3))
        self.nodes += tabulated.traverse(
            player,
            chosen.traversals,
            self.strategy,
            self._generator,
            (regrets, own, others),
            traversal_number(chosen.traversal),
            chosen.tries,
            chosen.epsilon,
        )
        offset = tabulated.tree.action_offset
        number = self._network_of[player]
        sets = tabulated.sets_of_player[player]
        self._regrets[number].add(sets, offset, weight * regrets, weight * own)
        if self._predictions:
            self._predictions[number].replace(sets, offset, weight * regrets, weight * own)
        if not self._strategy_learners:
            return
        visits = chosen.average_weight(self.iterations) * others
        values = visits[tabulated.first_action][tabulated.set_of_action] * self.strategy
        for other in range(tabulated.num_players):
            if other != player:
                memory = self._strategies[self._network_of[other]]
                memory.add(tabulated.sets_of_player[other], offset, values, visits)

    def _train(self, number: int) -> None:
        """Fits an advantage network to the mean regrets, and makes its regret matching the strategy."""
        chosen, learner = self.settings, self.learners[number]
        one_sided = chosen.loss == "one_sided"
        means, shares = self._means(self._expected_regrets(number), number)
        weights = (shares[:, None] * self._legal_rows[number]).astype(np.float32)
        targets = learner.to_device(normalised(means, weights, one_sided))
        whole = regression_gradient(targets, learner.to_device(weights), one_sided)

        if not chosen.warm_start:
            learner.restart()
        for rows in self._batches(shares, chosen.batch_size, chosen.training_steps, self._torch_generator):
            if rows is None:
                learner.fit(self._features[number], whole)
            else:
                gradient = regression_gradient(targets[rows], self._legal[number][rows] / len(rows), one_sided)
                learner.fit(self._features[number][rows], gradient)
        advantages = learner.evaluate(self._features[number])
        self.tabulated.regret_matching(self._sets[number], advantages, self.strategy)

    def _expected_regrets(self, number: int) -> Sums:
        """The sums of regrets that the next strategy is matched to: with those that are expected next, or without."""
        regrets = self._regrets[number]
        return regrets.plus(self._predictions[number]) if self._predictions else regrets

    def _means(self, memory: Sums, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Dense mean values of a network's information sets, and the share of each in the total weight."""
        weights = memory.weights[self.tabulated.first_action][self._sets[number]]
        sums, _ = self.tabulated.dense(self._sets[number], memory.values)
        known = weights > 0.0
        means = sums / np.where(known, weights, 1.0)[:, None]
        shares = np.where(known, weights, 0.0)
        return means, shares / max(shares.sum(), 1e-300)

    def _batches(
        self, shares: np.ndarray, batch: int, steps: int, random_numbers: torch.Generator
    ) -> Iterator[torch.Tensor | None]:
        """The rows of each step: None for everything, or `batch` of them, drawn in proportion to their shares.

        Drawn systematically: evenly spaced points, moved together at random, in the row of shares. A row comes as often
        as its share asks for, give or take one.
        """
        cumulative = np.cumsum(shares)
        for _ in range(steps):
            if batch == 0 or batch >= len(shares) or cumulative[-1] == 0.0:
                yield None
            else:
                shift = float(torch.rand((), generator=random_numbers, dtype=torch.float64))
                points = (np.arange(batch) + shift) / batch * cumulative[-1]
                drawn = np.minimum(np.searchsorted(cumulative, points, side="right"), len(shares) - 1)
                yield torch.from_numpy(drawn).to(self.device)

    def train_strategy_networks(self) -> None:
        """Fits new strategy networks to all strategies met so far, with a falling learning rate.

        What comes out depends only on the memory, the seed and the iteration; the rest of the training is not affected.
        """
        chosen = self.settings
        random_numbers = torch.Generator().manual_seed(strategy_seed(self.seed, self.iterations))
        if not self._strategy_learners:
            raise ValueError("strategy_network is False in the settings, so there is none to train")
        for number, learner in enumerate(self._strategy_learners):
            learner.restart(random_numbers)
            means, row_weights = self._means(self._strategies[number], number)
            targets = learner.to_device(means.astype(np.float32))
            weights = learner.to_device(row_weights.astype(np.float32))
            legal, features = self._legal[number], self._features[number]
            whole = strategy_gradient(targets, legal, weights)
            batches = self._batches(
                row_weights, chosen.strategy_batch_size, chosen.strategy_training_steps, random_numbers
            )
            for step, rows in enumerate(batches):
                rate = chosen.strategy_learning_rate * (1.0 - step / chosen.strategy_training_steps)
                if rows is None:
                    learner.fit(features, whole, rate)
                else:
                    even = torch.full((len(rows),), 1.0 / len(rows), device=self.device)
                    learner.fit(features[rows], strategy_gradient(targets[rows], legal[rows], even), rate)

    # ------------------------------------------------------------------------------------------ policies

    def average_table(self) -> np.ndarray:
        """The Single Deep CFR average: the behaviour of drawing an iteration with weight t and playing its networks."""
        return self.tabulated.behaviour(self._plan_sums)

    def strategy_table(self) -> np.ndarray:
        """What the strategy networks say now; `train_strategy_networks` brings them up to date."""
        table = np.empty(self.tabulated.table_size)
        for number, learner in enumerate(self._strategy_learners):
            with torch.inference_mode():
                outputs = learner.forward(self._features[number])
                probabilities = masked_softmax(outputs, self._legal[number]).cpu().numpy()
            # Probabilities are positive, so that regret matching only renormalises them.
            self.tabulated.regret_matching(self._sets[number], probabilities, table)
        return table

    def average_policy(self) -> TablePolicy:
        return self._policy(self.average_table())

    def strategy_policy(self) -> TablePolicy:
        self.train_strategy_networks()
        return self._policy(self.strategy_table())

    def current_policy(self) -> TablePolicy:
        return self._policy(self.strategy)

    def player(self) -> Player:
        """Draws its actions from the Single Deep CFR average."""
        return table_player(self.average_policy(), "deep_cfr")

    def metrics(self) -> dict[str, float]:
        """Nodes visited so far, and how good the Single Deep CFR average is, exactly."""
        nash_conv = self.nash_conv(self.average_table())
        exploitability = nash_conv / self.tabulated.num_players
        return {"nodes": self.nodes, "nash_conv": nash_conv, "exploitability": exploitability}

    def nash_conv(self, table: np.ndarray) -> float:
        """Exact NashConv of one of the tables above."""
        return evaluate_probabilities(self.form, self._over_sequences(table)).nash_conv

    @property
    def form(self) -> SequenceForm:
        if self._form is None:
            self._form = SequenceForm(self.game, self.tabulated.tree)
        return self._form

    def _over_sequences(self, table: np.ndarray) -> np.ndarray:
        probabilities = np.ones(self.form.num_sequences)
        probabilities[self.form.sequences_in_tree_order()] = table
        return probabilities

    def _policy(self, table: np.ndarray) -> TablePolicy:
        form = self.form
        return TablePolicy.of_form(form, self._over_sequences(table))

    # ------------------------------------------------------------------------------------------ checkpoints

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with."""
        return {
            **game_identity(self.game),
            "solver": "tabulated deep cfr",
            "information_sets": self.tabulated.num_sets,
            "network": self.learners[0].shape,
            "networks": len(self.learners),
        }

    def _parts(self) -> list[tuple[str, Any]]:
        named: list[tuple[str, Sequence[Any]]] = [
            ("advantage", self.learners),
            ("regrets", self._regrets),
            ("strategies", self._strategies),
            ("predictions", self._predictions),
        ]
        named.append(("strategy_network", self._strategy_learners))
        return [(f"{name}.{i}", part) for name, parts in named for i, part in enumerate(parts)]

    def get_state(self) -> dict[str, Any]:
        """Everything a run needs to go on: numpy arrays and plain values."""
        state = self._own_state()
        for name, part in self._parts():
            state |= part.state(name)
        return state

    def _own_state(self) -> dict[str, Any]:
        """Without its parts."""
        return {
            "identity": self.identity(),
            "iterations": self.iterations,
            "nodes": self.nodes,
            "generator": self._generator.copy(),
            "torch_generator": self._torch_generator.get_state().numpy().copy(),
            "strategy": self.strategy.copy(),
            "plan_sums": self._plan_sums.copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from `get_state()` of a trainer of the same game and shape; ValueError otherwise."""
        if state.get("identity") != self.identity():
            raise ValueError(f"the checkpoint is of {state.get('identity')}, this trainer is of {self.identity()}")
        own = {name: value for name, value in self._own_state().items() if name != "identity"}
        require_state(state, own)
        for name, part in self._parts():
            part.require_state(name, state)
        require_torch_generator(state["torch_generator"])
        for name, part in self._parts():
            part.set_state(name, state)
        self.iterations = int(state["iterations"])
        self.nodes = int(state["nodes"])
        self._generator[:] = state["generator"]
        self._torch_generator.set_state(torch.from_numpy(np.asarray(state["torch_generator"], np.uint8)))
        self.strategy[:] = state["strategy"]
        self._plan_sums[:] = state["plan_sums"]
