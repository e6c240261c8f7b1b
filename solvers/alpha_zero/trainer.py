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
from typing import Any

import numpy as np
import torch

from cardtable.player import Player, legal_mask
from cardtable.randomness import streams
from cardtable.rows import deal_rows, settle_rows, step_rows
from cardtable.rules import TERMINAL
from cardtable.search.tree import TreeSearch
from cardtable.spiel import CardGame
from solvers.alpha_zero.network import SCALE, forward, new_tensors, parameters, shapes
from solvers.alpha_zero.players import network_evaluator, open_player
from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.alpha_zero.views import view_of
from solvers.learning.states import require_numbers, require_state, with_positions, with_ways
from solvers.learning.trainer import game_identity, require_iterations

POSITIONS = "memory.states"
BETAS, EPSILON = (0.3, 0.999), 1e-7  # of Adam, as in the authors' program


class AlphaZeroTrainer:
    def __init__(self, game: CardGame, settings: AlphaZeroSettings, seed: int = 1) -> None:
        self.game, self.settings, self.seed = game, settings, seed
        self.iterations = 0
        self._view = view_of(game)
        rules = game.rules
        wanted = shapes(self._view.size, settings.width, settings.blocks, rules.num_distinct_actions, rules.num_players)
        self.tensors = new_tensors(wanted, seed)
        self._means = {name: np.zeros_like(tensor) for name, tensor in self.tensors.items()}
        self._squares = {name: np.zeros_like(tensor) for name, tensor in self.tensors.items()}
        self._steps = 0
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
        """Positions of these games with their targets; forced moves are played, and learned from, without a search."""
        rules, settings = self.game.rules, self.settings
        addresses = rules.compiled_kernel(resample=True).addresses()
        search = TreeSearch(rules, network_evaluator(self._view, self.tensors), settings.c, settings.formula)
        cards = streams(self.seed, (11,), games)
        states = np.empty((len(games), rules.state_size), np.int64)
        deal_rows(addresses, rules.root, states, np.arange(len(games)), cards)
        turn = np.empty(len(games), np.int64)
        sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes], np.int64)
        parts = []
        while True:
            settle_rows(addresses, states, cards, sizes, turn)
            rows = np.flatnonzero(turn != TERMINAL)
            if len(rows) == 0:
                break
            positions = states[rows]
            legal = legal_mask(rules, positions, np.arange(len(rows)))
            found = search.search(positions, settings.searches * legal.sum(axis=1))
            parts.append(self._targets(positions, legal, found.values, found.outcomes, turn[rows]))
            chosen = np.nanargmax(np.where(found.visits > 0, found.values, np.nan), axis=1)
            for place in np.flatnonzero(rng.random(len(rows)) < settings.exploration):
                chosen[place] = rng.choice(np.flatnonzero(legal[place]))
            bad = step_rows(addresses, states, rows, chosen, sizes)
            assert bad < 0, "a search chose an illegal action"
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _targets(
        self, positions: np.ndarray, legal: np.ndarray, values: np.ndarray, outcomes: np.ndarray, movers: np.ndarray
    ) -> dict[str, np.ndarray]:
        rows = np.arange(len(positions))
        known = np.where(np.isfinite(values), values, -np.inf)
        best = known.argmax(axis=1)
        policy = np.exp((known - known.max(axis=1, keepdims=True)) / self.settings.temperature)
        to_come = outcomes[rows, best] - self._view.won(positions, rows)
        seats = (movers[:, None] + np.arange(self.game.num_players())) % self.game.num_players()
        return {
            "states": positions,
            "legal": legal,
            "policy": (policy / policy.sum(axis=1, keepdims=True)).astype(np.float32),
            "value": (np.take_along_axis(to_come, seats, axis=1) / SCALE).astype(np.float32),
        }

    # ------------------------------------------------------------------------------------------ learning

    def _learn(self, rng: np.random.Generator) -> None:
        memory = {name: np.concatenate([part[name] for part in self._memory]) for name in self._memory[0]}
        inputs = torch.from_numpy(self._view.inputs(memory["states"], np.arange(len(memory["states"]))))
        legal, policy, value = (torch.from_numpy(memory[name]) for name in ("legal", "policy", "value"))
        weights = {name: torch.from_numpy(tensor).requires_grad_() for name, tensor in self.tensors.items()}
        sums = np.zeros(2)
        count = 0
        for _ in range(self.settings.passes):
            order = rng.permutation(len(inputs))
            for first in range(0, len(order), self.settings.batch_size):
                rows = torch.from_numpy(order[first : first + self.settings.batch_size])
                losses = self._losses_of(weights, inputs[rows], legal[rows], policy[rows], value[rows])
                total = losses[0] + self.settings.value_weight * losses[1]
                gradients = torch.autograd.grad(total, list(weights.values()))
                self._adam({name: gradient.numpy() for name, gradient in zip(weights, gradients, strict=True)})
                sums += [float(loss.detach()) for loss in losses]
                count += 1
        self._losses = {"policy_loss": sums[0] / count, "value_loss": sums[1] / count}

    def _losses_of(
        self,
        weights: Mapping[str, torch.Tensor],
        inputs: torch.Tensor,
        legal: torch.Tensor,
        policy: torch.Tensor,
        value: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.relu(inputs @ weights["first.weight"] + weights["first.bias"])
        for number in range(self.settings.blocks):
            inside = hidden
            for half in range(2):
                name = f"block_{number}_{half}"
                inside = torch.relu(inside @ weights[f"{name}.weight"] + weights[f"{name}.bias"])
            hidden = hidden + inside
        logits = hidden @ weights["policy.weight"] + weights["policy.bias"]
        outside = 0.0 if self.settings.mask == "zero" else -1e9
        chances = torch.log_softmax(logits.masked_fill(~legal, outside), dim=1)
        divergence = (policy * (torch.log(policy.clamp_min(1e-9)) - chances)).sum(dim=1).mean()
        values = hidden @ weights["value.weight"] + weights["value.bias"]
        return divergence, (values - value).abs().mean()

    def _adam(self, gradients: Mapping[str, np.ndarray]) -> None:
        """In place, so that torch's tensors and the search's arrays stay the same memory."""
        self._steps += 1
        corrections = [1.0 - beta**self._steps for beta in BETAS]
        for name, gradient in gradients.items():
            tensor, mean, square = self.tensors[name], self._means[name], self._squares[name]
            gradient = gradient + self.settings.weight_decay * tensor
            mean += (1.0 - BETAS[0]) * (gradient - mean)
            square += (1.0 - BETAS[1]) * (gradient * gradient - square)
            root = np.sqrt(square / corrections[1]) + EPSILON
            tensor -= self.settings.learning_rate / corrections[0] * mean / root

    # ------------------------------------------------------------------------------------------ what it has become

    def metrics(self) -> dict[str, float]:
        return {**self._losses, "parameters": parameters(self.tensors)}

    def player(self) -> Player:
        return open_player(self.game, self._view, {name: tensor.copy() for name, tensor in self.tensors.items()})

    def values_of(self, states: np.ndarray) -> np.ndarray:
        """What the network expects every seat to get, the player to move first."""
        return forward(self.tensors, self._view.inputs(states, np.arange(len(states))))[1]

    def identity(self) -> dict[str, Any]:
        return {**game_identity(self.game), "settings": vars(self.settings), "seed": self.seed}

    def get_state(self) -> dict[str, Any]:
        return with_ways(self._state(), self.game.rules, [POSITIONS])

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"iterations": self.iterations, "steps": self._steps, **self._losses_as_state()}
        for kind, arrays in (("weight", self.tensors), ("mean", self._means), ("square", self._squares)):
            state |= {f"{kind}.{name}": array.copy() for name, array in arrays.items()}
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
        self.iterations, self._steps = int(state["iterations"]), int(state["steps"])
        self._losses = {name: float(state[name]) for name in self._losses}
        for kind, arrays in (("weight", self.tensors), ("mean", self._means), ("square", self._squares)):
            for name, array in arrays.items():
                array[:] = state[f"{kind}.{name}"]
        borders = np.cumsum(state["memory.counts"])[:-1]
        parts = {name: np.split(state[f"memory.{name}"], borders) for name in self._empty()}
        count = len(state["memory.counts"])
        self._memory = [{name: part[number] for name, part in parts.items()} for number in range(count)]

    def _losses_as_state(self) -> dict[str, float]:
        return dict(self._losses)

    def _empty(self) -> dict[str, np.ndarray]:
        rules = self.game.rules
        return {
            "states": np.empty((0, rules.state_size), np.int64),
            "legal": np.empty((0, rules.num_distinct_actions), np.bool_),
            "policy": np.empty((0, rules.num_distinct_actions), np.float32),
            "value": np.empty((0, rules.num_players), np.float32),
        }
