"""Deep CFR for games of ours that are too large to enumerate, with partners and fixed opponents.

As in `trainer`, with level-by-level traversals (`levels`), reservoirs of rows and minibatches. The seats that learn
take turns as the traverser; a traverser is always one seat, its partner is sampled like everybody else. Networks
belong to seats or teams, or are shared by all. Heuristic players may hold some seats for good; then this learns to
play against them, which is a best response and no equilibrium. A pool of players mixes the two: an equal share of the
traversals is self-play, and one is against each of the pool, who sits where the traverser's opponents do; without
self-play all seats learn a best response to the pool. For two teams of two players Deep CFR has no convergence
guarantee at all.

The Single Deep CFR average keeps `snapshots` networks. Each place of that list holds the network of iteration t with
probability proportional to t: at iteration t it is replaced with probability t / (1 + 2 + ... + t).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
import torch

from cardtable.executors import Executor, Serial
from cardtable.player import Player
from cardtable.randomness import uniform
from cardtable.rules import Rules
from solvers.arrays.memory import require_room
from solvers.deep_cfr.chunks import Chunk, Traversals, make_learner, make_traverser, traverse
from solvers.deep_cfr.levels import PARTS, Collected, chunk_generator
from solvers.deep_cfr.players import network_player, networks_of
from solvers.deep_cfr.reservoir import Reservoir, Rows
from solvers.deep_cfr.settings import Settings, find_device
from solvers.deep_cfr.trainer import networks_of_seats, strategy_seed
from solvers.learning.networks import Learner, regression_gradient, require_torch_generator, strategy_gradient
from solvers.learning.states import require_numbers, require_state
from solvers.learning.trainer import game_identity, rehearse, require_iterations

CHUNK_NODES = 250_000  # of a chunk whose size is not settled; its rows are kept until it is finished
FEWEST_CHUNKS = 2  # so that a second thread has something to do
PROBE = 4  # traversals of a seat's first chunk

# What suits large games: rows instead of sums, minibatches, and few traversals. One-sided losses need exact means.
LARGE_DEFAULTS: dict[str, Any] = {
    "traversal": "rollouts",
    "traversals": 256,
    "tries": 2,
    "hidden_sizes": (64, 64),
    "loss": "squared",
    "training_steps": 100,
    "batch_size": 1024,
    "learning_rate": 1e-3,
    "memory_rows": 500_000,
    "strategy_hidden_sizes": (64, 64),
    "strategy_training_steps": 500,
    "strategy_batch_size": 1024,
    "strategy_learning_rate": 1e-3,
    "strategy_memory_rows": 500_000,
    "networks": "shared",
}


def large_settings(**changes: Any) -> Settings:
    return Settings(**{**LARGE_DEFAULTS, **changes})


class Snapshots:
    """Networks of past iterations, each place of the list drawn with probability proportional to the weight t."""

    def __init__(self, places: int, size: int, random_numbers: np.ndarray) -> None:
        require_room(4.0 * places * size, f"{places:,} snapshots of a network with {size:,} weights")
        self.weights = np.zeros((places, size), np.float32)
        self.iteration = np.zeros(places, np.int64)
        self._total = 0.0
        self._generator = random_numbers

    def offer(self, weights: np.ndarray, iteration: int, weight: float) -> None:
        self._total += weight
        for place in range(len(self.iteration)):
            if uniform(self._generator) * self._total < weight:
                self.weights[place] = weights
                self.iteration[place] = iteration

    def state(self, name: str) -> dict[str, Any]:
        distinct, which = np.unique(self.iteration, return_inverse=True)
        first = [int(np.flatnonzero(self.iteration == iteration)[0]) for iteration in distinct]
        return {
            f"{name}.networks": self.weights[first],
            f"{name}.which": which.astype(np.int64),
            f"{name}.iteration": self.iteration.copy(),
            f"{name}.total": self._total,
            f"{name}.generator": self._generator.copy(),
        }

    def require_state(self, name: str, state: Mapping[str, Any]) -> None:
        """ValueError unless `set_state` can go on from it."""
        like = {
            f"{name}.networks": self.weights,
            f"{name}.which": self.iteration,
            f"{name}.iteration": self.iteration,
            f"{name}.total": self._total,
            f"{name}.generator": self._generator,
        }
        require_state(state, like, {f"{name}.networks": len(self.weights)})
        require_numbers(f"{name}.which", state[f"{name}.which"], 0, len(state[f"{name}.networks"]) - 1)

    def set_state(self, name: str, state: Mapping[str, Any]) -> None:
        networks = state[f"{name}.networks"]
        self.weights[:] = networks[state[f"{name}.which"]]
        self.iteration[:] = state[f"{name}.iteration"]
        self._total = float(state[f"{name}.total"])
        self._generator[:] = state[f"{name}.generator"]


class LargeDeepCFR:
    """Deep CFR on the rules kernel of a game of ours; see `TabulatedDeepCFR` for the common part of the interface.

    `opponents` has one entry per seat: None for a seat that learns, or a player who exists in compiled code. Traversals
    are done by the `executor`, in chunks that do not depend on it; the networks are trained here. The players of the
    `pool` exist in compiled code too; without `self_play` all traversals are against them.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        settings: Settings | None = None,
        seed: int = 0,
        opponents: Sequence[Player | None] | None = None,
        executor: Executor | None = None,
        pool: Sequence[Player] = (),
        self_play: bool = True,
    ) -> None:
        rules = getattr(game, "rules", None)
        if not isinstance(rules, Rules):
            raise ValueError(
                f"{game} has no compiled rules; use TabulatedDeepCFR, which takes any game it can enumerate"
            )
        self.game = game
        self.rules = rules
        self.settings = chosen = settings or large_settings()
        for name in ("memory_rows", "strategy_memory_rows", "batch_size", "strategy_batch_size"):
            if not getattr(chosen, name):
                raise ValueError(f"{name} is {getattr(chosen, name)}; allowed: 1 or more for games not enumerated")
        if chosen.alpha is not None or chosen.prediction:
            raise ValueError("alpha and prediction change sums of regrets; allowed for games not enumerated: neither")
        if chosen.loss != "squared":
            raise ValueError(f"loss is {chosen.loss!r}; allowed: 'squared', as rows are samples and not means")
        self.device = find_device(chosen.device)
        self.seed = seed
        self.iterations = 0
        self.nodes = 0
        self.decisions = 0
        self.loss = float("nan")  # mean advantage loss of the last iteration, in units of the targets' mean square
        self.values = np.full(rules.num_players, np.nan)  # what the last iteration's traversals were worth to each seat
        self.network_of_seat = networks_of_seats(chosen.networks, rules.num_players, rules.teams)
        self.opponents = tuple(opponents) if opponents is not None else (None,) * rules.num_players
        self.executor = executor or Serial()
        if len(self.opponents) == rules.num_players and all(seat is not None for seat in self.opponents):
            raise ValueError("opponents hold every seat; allowed: at least one None, a seat that learns")
        self.pool = tuple(pool)
        if any(player.compiled is None for player in self.pool):
            raise ValueError("a player of the pool does not exist in compiled code; allowed: those that do")
        if not self_play and not self.pool:
            raise ValueError("there is nobody to play: self_play is False and the pool is empty; allowed: one of them")
        self._companies = range(0 if self_play else 1, 1 + len(self.pool))  # 0: itself
        if chosen.traversals < len(self._companies):
            least = len(self._companies)
            raise ValueError(f"traversals is {chosen.traversals}; allowed: {least} or more, one for each player met")
        self._torch_generator = torch.Generator().manual_seed(seed)
        count = max(self.network_of_seat) + 1
        self.learners = [self._learner(chosen.hidden_sizes, chosen.learning_rate) for _ in range(count)]
        self.traverser = make_traverser(rules, chosen, self.learners, self.opponents, self.pool)
        self.learning_seats = [seat for seat in range(rules.num_players) if not self.traverser.is_fixed[seat]]
        self.used_networks = sorted({self.network_of_seat[seat] for seat in self.learning_seats})
        self._regrets = [self._reservoir(chosen.memory_rows, 1, number) for number in range(count)]
        self.strategy_learners: list[Learner] = []
        self._strategies: list[Reservoir] = []
        if chosen.strategy_network:
            rate = chosen.strategy_learning_rate
            self.strategy_learners = [self._learner(chosen.strategy_hidden_sizes, rate) for _ in range(count)]
            self._strategies = [self._reservoir(chosen.strategy_memory_rows, 2, number) for number in range(count)]
        self.snapshots = [
            Snapshots(chosen.snapshots, self.learners[0].size, chunk_generator(seed, 3, number))
            for number in range(count)
        ]
        self.seconds = dict.fromkeys((*PARTS, "reservoirs", "training"), 0.0)  # CPU seconds by part
        self.seconds_elsewhere = 0.0  # those of them that other processes spent
        self._scales = np.zeros(count)
        self._nodes_per_traversal = np.zeros(rules.num_players)

    def _learner(self, hidden: Sequence[int], rate: float) -> Learner:
        return make_learner(self.rules, self.settings, hidden, rate, self._torch_generator)

    def _reservoir(self, rows: int | None, purpose: int, number: int) -> Reservoir:
        stream = chunk_generator(self.seed, purpose, number)
        rules = self.rules
        return Reservoir(rows or 1, rules.information_size, rules.num_distinct_actions, self.traverser.binary, stream)

    # ------------------------------------------------------------------------------------------ training

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        if iterations == 0:
            seconds, elsewhere = dict(self.seconds), self.seconds_elsewhere
            rehearse(self, self.settings.replace(traversals=1, training_steps=1, strategy_training_steps=1))
            self.seconds, self.seconds_elsewhere = seconds, elsewhere
        for _ in range(iterations):
            self._iterate()

    def _iterate(self) -> None:
        """Every learning seat traverses once; every network is trained once."""
        self.iterations += 1
        weight = self.settings.average_weight(self.iterations)
        losses = []
        for number in self.used_networks:
            self._traverse([seat for seat in self.learning_seats if self.network_of_seat[seat] == number])
            clock = time.process_time()
            losses.append(self._train(number))
            self.seconds["training"] += time.process_time() - clock
            self.snapshots[number].offer(self.learners[number].weights(), self.iterations, weight)
        self.loss = float(np.mean(losses))

    def _traverse(self, seats: Sequence[int]) -> None:
        """Traverses for all seats of one network at once; what was found is filed in order, whoever found it."""
        shared = Traversals(self.game, self.settings, self.opponents, self.pool, self.seed, self.traverser)
        probes = [seat for seat in seats if self._nodes_per_traversal[seat] == 0.0]
        first: dict[int, Collected] = {}
        if self.settings.chunk_traversals is None:  # a few at first, to know how many nodes to expect
            company, share = self._shares()[0]
            chunks = [self._chunk(seat, min(PROBE, share), 0, company) for seat in probes]
            first = dict(zip(probes, self.executor.map(traverse, chunks, shared), strict=True))
            for chunk in chunks:
                self._nodes_per_traversal[chunk.seat] = first[chunk.seat].nodes / chunk.traversals
        chunks = [
            self._chunk(seat, size, number, company)
            for seat in seats
            for number, (company, size) in enumerate(self._sizes(seat, seat in first), start=int(seat in first))
        ]
        answers = zip(chunks, self.executor.map(traverse, chunks, shared), strict=True)
        found = {seat: [first[seat]] if seat in first else [] for seat in seats}
        for seat, pairs in itertools.groupby(answers, key=lambda pair: pair[0].seat):
            found[seat] += (collected for _, collected in pairs)
            self._file(seat, found.pop(seat))
        for seat in found:  # those for whom a probe was enough
            self._file(seat, found[seat])

    def _chunk(self, seat: int, traversals: int, number: int, company: int) -> Chunk:
        return Chunk(seat, traversals, (4, self.iterations, seat, number), company)

    def _file(self, seat: int, found: Sequence[Collected]) -> None:
        """Puts what the traversals of a seat have found into the memories."""
        self._choose_scale(self.network_of_seat[seat], [rows for part in found for _, rows in part.regrets])
        regret_weight = self.settings.regret_weight(self.iterations)
        average_weight = self.settings.average_weight(self.iterations)
        value = nodes = 0.0
        clock = time.thread_time()
        for collected in found:
            value += collected.value
            nodes += collected.nodes
            self.decisions += collected.decisions
            for number, rows in collected.regrets:
                self._regrets[number].add(rows, regret_weight, self._scales[number] or 1.0)
            if self._strategies:
                for number, rows in collected.strategies:
                    self._strategies[number].add(rows, average_weight)
            for part, seconds in collected.seconds.items():
                self.seconds[part] += seconds
                self.seconds_elsewhere += seconds if collected.is_elsewhere else 0.0
        self.seconds["reservoirs"] += time.thread_time() - clock
        self.nodes += int(nodes)
        self.values[seat] = value / self.settings.traversals
        self._nodes_per_traversal[seat] = max(self._nodes_per_traversal[seat], nodes / self.settings.traversals)

    def _sizes(self, seat: int, was_probed: bool) -> list[tuple[int, int]]:
        """Company and traversals of each chunk: as many as should visit CHUNK_NODES, unless that is settled, whoever
        does them."""
        sizes = []
        for company, left in self._shares():
            size = self.settings.chunk_traversals
            if size is None:
                left -= min(PROBE, left) if was_probed and company == self._companies[0] else 0
                size = int(min(CHUNK_NODES, self.settings.node_budget / 4) / self._nodes_per_traversal[seat])
                size = max(1, min(size, -(-left // FEWEST_CHUNKS)))
            whole, part = divmod(left, size)
            sizes += [(company, size)] * whole + ([(company, part)] if part else [])
        return sizes

    def _shares(self) -> list[tuple[int, int]]:
        """How many of a seat's traversals are in each company; the first has what does not divide evenly."""
        each, rest = divmod(self.settings.traversals, len(self._companies))
        return [(company, each + (rest if place == 0 else 0)) for place, company in enumerate(self._companies)]

    def _choose_scale(self, number: int, found: Sequence[Rows]) -> None:
        """Regrets are kept in units of the root mean square of the first ones; regret matching does not notice."""
        if self._scales[number] == 0.0:
            squares = sum(float(np.nansum(np.square(rows.targets, dtype=np.float64))) for rows in found)
            count = sum(int(np.count_nonzero(~np.isnan(rows.targets))) for rows in found)
            self._scales[number] = np.sqrt(squares / count) if squares > 0.0 else 0.0

    def _train(self, number: int) -> float:
        """Minibatch training of an advantage network; returns the mean loss per legal action."""
        chosen, learner, memory = self.settings, self.learners[number], self._regrets[number]
        if len(memory) == 0:
            return float("nan")
        if not chosen.warm_start:
            learner.restart()
        total = torch.zeros((), device=self.device)
        for features, targets in memory.batches(chosen.batch_size, chosen.training_steps):
            there = learner.to_device(np.concatenate([features, targets], axis=1))  # one copy
            inputs, aims = there[:, : self.rules.information_size], there[:, self.rules.information_size :]
            legal = ~aims.isnan()
            weights = legal / legal.sum()
            gradient = regression_gradient(aims.nan_to_num(0.0), weights, one_sided=False)

            def watched(outputs: torch.Tensor, gradient: Any = gradient, weights: Any = weights) -> torch.Tensor:
                found = gradient(outputs)
                total.add_((found * found / weights.clamp_min(1e-12)).sum() / 4.0)
                return found

            learner.fit(inputs, watched)
        return float(total) / chosen.training_steps

    def train_strategy_networks(self) -> None:
        """Fits new strategy networks to the strategies met so far, with a falling learning rate.

        What comes out depends only on the memory, the seed and the iteration; the rest of the training is not affected.
        """
        chosen = self.settings
        weights_from = torch.Generator().manual_seed(strategy_seed(self.seed, self.iterations))
        rows_from = chunk_generator(self.seed, 5, self.iterations)
        if not self.strategy_learners:
            raise ValueError("strategy_network is False in the settings, so there is none to train")
        for number in self.used_networks:
            learner, memory = self.strategy_learners[number], self._strategies[number]
            learner.restart(weights_from)
            if len(memory) == 0:
                continue
            batches = memory.batches(chosen.strategy_batch_size, chosen.strategy_training_steps, rows_from)
            for step, (features, targets) in enumerate(batches):
                there = learner.to_device(np.concatenate([features, targets], axis=1))
                inputs, aims = there[:, : self.rules.information_size], there[:, self.rules.information_size :]
                weights = torch.full((len(there),), 1.0 / len(there), device=self.device)
                gradient = strategy_gradient(aims.nan_to_num(0.0), ~aims.isnan(), weights)
                learner.fit(
                    inputs, gradient, chosen.strategy_learning_rate * (1.0 - step / chosen.strategy_training_steps)
                )

    def player(self, average: str = "single") -> Player:
        """The player that its networks make; see `solvers.deep_cfr.players`."""
        return network_player("deep_cfr", self.game, networks_of(self, average))

    def metrics(self) -> dict[str, float]:
        """Nodes visited so far, and the mean loss of the last iteration; how well it plays takes games to say."""
        return {"nodes": self.nodes, "advantage loss": self.loss}

    # ------------------------------------------------------------------------------------------ checkpoints

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with."""
        names = [None if seat is None or seat.compiled is None else seat.compiled.__name__ for seat in self.opponents]
        return {
            **game_identity(self.game),
            "solver": "large deep cfr",
            "network": self.learners[0].shape,
            "networks": len(self.learners),
            "chunk_traversals": self.settings.chunk_traversals,
            "opponents": names,
            "seed": self.seed,
            **({"pool": [player.name for player in self.pool]} if self.pool else {}),
            **({} if self._companies[0] == 0 else {"self_play": False}),
        }

    def _parts(self) -> list[tuple[str, Any]]:
        named: list[tuple[str, Sequence[Any]]] = [
            ("advantage", self.learners),
            ("regrets", self._regrets),
            ("snapshots", self.snapshots),
        ]
        named += [("strategy_network", self.strategy_learners), ("strategies", self._strategies)]
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
            "decisions": self.decisions,
            "loss": self.loss,
            "scales": self._scales.copy(),
            "nodes_per_traversal": self._nodes_per_traversal.copy(),
            "torch_generator": self._torch_generator.get_state().numpy().copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from `get_state()` of a trainer of the same game, seed and shape; ValueError otherwise."""
        if state.get("identity") != self.identity():
            raise ValueError(f"the checkpoint is of {state.get('identity')}, this trainer is of {self.identity()}")
        own = {name: value for name, value in self._own_state().items() if name != "identity"}
        require_state(state, own, gaps=("loss",))
        for name, part in self._parts():
            part.require_state(name, state)
        require_torch_generator(state["torch_generator"])
        for name, part in self._parts():
            part.set_state(name, state)
        self.iterations, self.nodes = int(state["iterations"]), int(state["nodes"])
        self.decisions, self.loss = int(state["decisions"]), float(state["loss"])
        self._scales[:] = state["scales"]
        self._nodes_per_traversal[:] = state["nodes_per_traversal"]
        self._torch_generator.set_state(torch.from_numpy(np.asarray(state["torch_generator"], np.uint8)))
