"""AlphaZero-like learning on open hands, as ScrofaZero does it (Shi, Li and Sun, 2021), for any game of ours.

In an iteration `games` games are played, all seats by the same tree search on open hands (`cardtable.search.tree`) with
the network's value at the leaves, always taking the best action. Targets of a position are

    policy  softmax(Q / temperature) over the legal actions        value  max Q less what is already won

and the loss is KL(target || softmax(policy)) + value_weight * |value - target|, minimised by Adam over the positions of
the last iterations. Silver et al., "Mastering the game of Go without human knowledge" (2017), learn from visit counts
and final results instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from cardtable.player import Player, legal_mask
from cardtable.randomness import streams
from cardtable.rows import deal_rows, returns_of_rows, settle_rows, step_rows
from cardtable.rules import TERMINAL
from cardtable.search.tree import TreeSearch
from cardtable.spiel import CardGame
from solvers.alpha_zero.learner import OpenHandLearner, Rows
from solvers.alpha_zero.network import SCALE, forward, new_tensors, parameters, shapes
from solvers.alpha_zero.players import network_evaluator, open_player
from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.alpha_zero.views import view_of
from solvers.learning.states import require_numbers, require_state, with_positions, with_ways
from solvers.learning.trainer import game_identity, require_iterations

POSITIONS = "memory.states"
LEARNER = "network"  # in a state


class Turn(NamedTuple):
    """A move in some of the games: positions, and what was found out about them."""

    rows: np.ndarray  # which games
    positions: np.ndarray
    movers: np.ndarray
    legal: np.ndarray
    values: np.ndarray  # (positions, actions), of actions for the mover
    expected: np.ndarray  # (positions, seats), of the best action
    followed: np.ndarray  # whether that was played


class AlphaZeroTrainer:
    def __init__(self, game: CardGame, settings: AlphaZeroSettings, seed: int = 1) -> None:
        self.game, self.settings, self.seed = game, settings, seed
        self.iterations = 0
        self.view = view_of(game, settings.inputs)
        self._solver = self.view.solver(settings.endings)
        rules = game.rules
        wanted = shapes(
            self.view.layout, settings.width, settings.blocks, rules.num_distinct_actions, rules.num_players
        )
        self._learner = OpenHandLearner(new_tensors(wanted, seed), settings)
        self.tensors = self._learner.playing_tensors()
        self._memory: list[dict[str, np.ndarray]] = []  # the positions of the last iterations
        self._losses = {"policy_loss": float("nan"), "value_loss": float("nan")}

    # ------------------------------------------------------------------------------------------ iterations

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        if iterations == 0:
            self._play(range(1), np.random.default_rng(0))  # compiles
        for _ in range(iterations):
            rng = np.random.default_rng([self.seed, self.iterations])
            first = self.iterations * self.settings.games
            self._memory.append(self._play(range(first, first + self.settings.games), rng))
            self._memory = self._memory[-self.settings.kept :]
            self._learn(rng)
            self.iterations += 1

    def _play(self, games: range, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Decisions of these games with their targets; moves without a choice are played, and not learned from."""
        rules, settings = self.game.rules, self.settings
        addresses = rules.compiled_kernel(resample=True).addresses()
        evaluator = network_evaluator(self.view, self.tensors)
        search = TreeSearch(rules, evaluator, settings.c, settings.formula, self._solver)
        cards = streams(self.seed, (11,), games)
        states = np.empty((len(games), rules.state_size), np.int64)
        deal_rows(addresses, rules.root, states, np.arange(len(games)), cards)
        turn = np.empty(len(games), np.int64)
        sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes], np.int64)
        turns: list[Turn] = []
        while True:
            settle_rows(addresses, states, cards, sizes, turn)
            rows = np.flatnonzero(turn != TERMINAL)
            if len(rows) == 0:
                break
            positions = states[rows]
            legal = legal_mask(rules, positions, np.arange(len(rows)))
            found = search.search(positions, settings.searches * legal.sum(axis=1))
            best = np.nanargmax(np.where(found.visits > 0, found.values, np.nan), axis=1)
            chosen = best.copy()
            for place in np.flatnonzero(rng.random(len(rows)) < settings.exploration):
                chosen[place] = rng.choice(np.flatnonzero(legal[place]))
            expected = found.outcomes[np.arange(len(rows)), best]
            turns.append(Turn(rows, positions, turn[rows], legal, found.values, expected, chosen == best))
            bad = step_rows(addresses, states, rows, chosen, sizes)
            assert bad < 0, "a search chose an illegal action"
        results = np.empty((len(games), rules.num_players))
        returns_of_rows(addresses, states, results)
        return self._examples(turns, results)

    def _examples(self, turns: list[Turn], results: np.ndarray) -> dict[str, np.ndarray]:
        """What is learned from games with these results, turn by turn."""
        share = self.settings.result_share
        later = results.copy()  # for each game, what the turn behind the one looked at was found to be worth
        parts = []
        for one in reversed(turns):
            came = later[one.rows]
            worth = np.where(one.followed[:, None], (1.0 - share) * one.expected + share * came, one.expected)
            later[one.rows] = worth
            parts.append(self._targets(one, worth))
        return {name: np.concatenate([part[name] for part in reversed(parts)]) for name in parts[0]}

    def _targets(self, one: Turn, worth: np.ndarray) -> dict[str, np.ndarray]:
        known = np.where(np.isfinite(one.values), one.values, -np.inf)
        policy = np.exp((known - known.max(axis=1, keepdims=True)) / self.settings.temperature)
        to_come = worth - self.view.won(one.positions, np.arange(len(one.rows)))
        seats = (one.movers[:, None] + np.arange(self.game.num_players())) % self.game.num_players()
        return {
            "states": one.positions,
            "legal": one.legal,
            "policy": (policy / policy.sum(axis=1, keepdims=True)).astype(np.float32),
            "value": (np.take_along_axis(to_come, seats, axis=1) / SCALE).astype(np.float32),
        }

    # ------------------------------------------------------------------------------------------ learning

    def _learn(self, rng: np.random.Generator) -> None:
        memory = {name: np.concatenate([part[name] for part in self._memory]) for name in self._memory[0]}
        inputs = self.view.inputs(memory["states"], np.arange(len(memory["states"])))
        rows = Rows(*(torch.from_numpy(part) for part in (inputs, memory["legal"], memory["policy"], memory["value"])))
        rate = self.learning_rate()
        losses = [
            self._learner.fit(rows.at(places), rate)
            for _ in range(self.settings.passes)
            for places in torch.from_numpy(rng.permutation(len(inputs))).split(self.settings.batch_size)
        ]
        self._losses = dict(zip(self._losses, np.mean(losses, axis=0).tolist(), strict=True))

    def learning_rate(self) -> float:
        """Of the iteration to come."""
        halving = self.settings.halving
        return self.settings.learning_rate * (0.5 ** (self.iterations / halving) if halving else 1.0)

    # ------------------------------------------------------------------------------------------ what it has become

    def metrics(self) -> dict[str, float]:
        return {**self._losses, "parameters": parameters(self.tensors)}

    def player(self) -> Player:
        tensors = {name: tensor.copy() for name, tensor in self.tensors.items()}
        return open_player(self.game, self.view, tensors, endings=self.settings.endings)

    def values_of(self, states: np.ndarray) -> np.ndarray:
        """What the network expects every seat to get, the player to move first."""
        return forward(self.tensors, self.view.inputs(states, np.arange(len(states))))[1]

    def identity(self) -> dict[str, Any]:
        return {**game_identity(self.game), "settings": vars(self.settings), "seed": self.seed}

    def get_state(self) -> dict[str, Any]:
        return with_ways(self._state(), self.game.rules, [POSITIONS])

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"iterations": self.iterations, **self._losses, **self._learner.state(LEARNER)}
        state["memory.counts"] = np.array([len(part["states"]) for part in self._memory], np.int64)
        for name, empty in self._empty().items():
            state[f"memory.{name}"] = np.concatenate([empty, *(part[name] for part in self._memory)])
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        rules = self.game.rules
        most_rows = self.settings.kept * self.settings.games * rules.max_game_length
        most = {"memory.counts": self.settings.kept} | {f"memory.{name}": most_rows for name in self._empty()}
        state = with_positions(state, rules, {POSITIONS: most_rows})
        require_state(state, self._state(), most, ("policy_loss", "value_loss"))
        counts, positions = state["memory.counts"], state[POSITIONS]
        require_numbers("memory.counts", counts, 0, most_rows)
        if any(len(state[f"memory.{name}"]) != counts.sum() for name in self._empty()):
            raise ValueError("memory of the solver state has not as many rows as memory.counts says")
        legal = state["memory.legal"]
        if (legal != legal_mask(rules, positions, np.arange(len(positions)))).any() or not legal.any(axis=1).all():
            raise ValueError("memory.legal of the solver state is not what is legal")
        self.iterations = int(state["iterations"])
        self._losses = {name: float(state[name]) for name in self._losses}
        self._learner.set_state(LEARNER, state)
        borders = np.cumsum(state["memory.counts"])[:-1]
        parts = {name: np.split(state[f"memory.{name}"], borders) for name in self._empty()}
        count = len(state["memory.counts"])
        self._memory = [{name: part[number] for name, part in parts.items()} for number in range(count)]

    def _empty(self) -> dict[str, np.ndarray]:
        rules = self.game.rules
        return {
            "states": np.empty((0, rules.state_size), np.int64),
            "legal": np.empty((0, rules.num_distinct_actions), np.bool_),
            "policy": np.empty((0, rules.num_distinct_actions), np.float32),
            "value": np.empty((0, rules.num_players), np.float32),
        }
