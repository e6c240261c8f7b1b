"""Counterfactual regret minimisation on the game tree, for games of imperfect recall.

Zinkevich et al. 2007, with the variants of `solvers.cfr`. Information sets are just labels on the nodes of the tree:
histories with one label may differ in their player's own past, as in abstractions that forget. At every node h of
player i, with pi_i the probability that i alone contributes to reaching h and pi_-i that of chance and the others,

    R(I, a) += pi_-i(h) * (value(h a) - value(h)),        average(I, a) += weight * pi_i(h) * strategy(a | I).

Without perfect recall there is no guarantee of convergence (Lanctot, Gibson, Burch, Zinkevich and Bowling, "No-regret
learning in extensive-form games with imperfect recall", 2012), and the exploitability *inside* such a game means
little: lift the policy to the unabstracted game and evaluate it there. With perfect recall the results are those of
`solvers.cfr`, which is much faster.
"""

from __future__ import annotations

import zlib
from typing import Literal, NamedTuple

import numpy as np
import pyspiel

from cardtable.compiled import compiled
from cardtable.memory_hints import borrowed
from cardtable.rules import CHANCE, TERMINAL
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.arrays.tree import GameTree, TreeArrays
from solvers.cfr import TabularSolver
from solvers.policies import TablePolicy


class _CellTables(NamedTuple):
    """One number for each action of each information set."""

    regret: np.ndarray
    banked: np.ndarray  # empty unless the variant is predictive
    average: np.ndarray
    strategy: np.ndarray
    gain: np.ndarray  # the regret of the running iteration; zero in between


class _NodeTables(NamedTuple):
    """One number for each node."""

    own_reach: np.ndarray
    other_reach: np.ndarray
    value: np.ndarray


class TreeCFRSolver(TabularSolver):
    """CFR and its variants for any sequential game with explicit chance, perfect recall or not."""

    def __init__(
        self,
        game: pyspiel.Game,
        variant: str = "cfr_plus",
        alternating: bool = True,
        initial: Literal["uniform", "random"] = "uniform",
        seed: int | np.random.SeedSequence | None = None,
        *,
        tree: GameTree | None = None,
        max_memory_bytes: int | None = None,
        **parameters: float,
    ) -> None:
        self.tree = tree or GameTree.from_game(game, max_memory_bytes)
        num_cells = len(self.tree.actions)
        require_memory(
            24 * self.tree.num_nodes + 48 * num_cells,
            allowed_bytes(max_memory_bytes),
            f"tree CFR on {game}",
            "another",
        )
        super().__init__(game, num_cells, variant, alternating, initial, seed, parameters)
        self._nodes = _NodeTables(*(np.empty(self.tree.num_nodes) for _ in _NodeTables._fields))
        self._cells = _CellTables(
            self._regret, self._banked, self._average, strategy=np.empty(num_cells), gain=np.zeros(num_cells)
        )
        self._policy_template: TablePolicy | None = None

    def _iterate(self, first: int, last: int, schedule: np.ndarray) -> None:
        tables = (self.tree.arrays, tuple(self._cells), tuple(self._nodes))
        _iterate(first, last, schedule, self.alternating, self._predictive, *tables)

    def _policy(self, weights: np.ndarray) -> TablePolicy:
        tree = self.tree
        probabilities = np.empty(len(weights))
        _match(tree.action_offset, weights, probabilities)
        find = None if self._policy_template is None else self._policy_template.find
        policy = TablePolicy(
            self.game,
            tree.owner,
            (np.diff(tree.action_offset), tree.action_offset[:-1], np.ones(len(tree.owner), np.int64)),
            tree.actions,
            probabilities,
            keys=tree.keys,
            strings=tree.strings,
            find=find,
        )
        self._policy_template = self._policy_template or policy
        return policy

    def metrics(self) -> dict[str, float]:
        """Only its size: exploitability is a matter of the game that was abstracted from."""
        return {"information_sets": self.tree.num_information_sets}

    def _fingerprint(self) -> int:
        checksum = zlib.crc32(str(self.game).encode())
        for part in (self.tree.actions, self.tree.action_offset, self.tree.label):
            checksum = zlib.crc32(part.tobytes(), checksum)
        return checksum


@compiled
def _match(action_offset, weights, probabilities):
    """Regret matching at every information set."""
    for number in range(len(action_offset) - 1):
        start = action_offset[number]
        end = action_offset[number + 1]
        total = 0.0
        for cell in range(start, end):
            total += max(weights[cell], 0.0)
        for cell in range(start, end):
            probabilities[cell] = max(weights[cell], 0.0) / total if total > 0.0 else 1.0 / (end - start)


@compiled
def _add_regrets(who, average_weight, tree, cells, nodes):
    """One pass down for reach probabilities and one up for values, both for player `who`."""
    player, label, first_child, returns = tree.player, tree.label, tree.first_child, tree.returns
    chance_offset, chance_probability, action_offset = tree.chance_offset, tree.chance_probability, tree.action_offset
    average, strategy, gain = cells.average, cells.strategy, cells.gain
    own_reach, other_reach, value = nodes.own_reach, nodes.other_reach, nodes.value
    own_reach[0] = 1.0
    other_reach[0] = 1.0
    for node in range(len(player)):
        actor = player[node]
        if actor == TERMINAL:
            continue
        number = label[node]
        child = first_child[node]
        offset = chance_offset if actor == CHANCE else action_offset
        probability = chance_probability if actor == CHANCE else strategy
        for i in range(offset[number], offset[number + 1]):
            own_reach[child] = own_reach[node]
            other_reach[child] = other_reach[node]
            if actor == who:
                own_reach[child] *= probability[i]
                average[i] += average_weight * own_reach[child]
            else:
                other_reach[child] *= probability[i]
            child += 1
    for node in range(len(player) - 1, -1, -1):
        actor = player[node]
        number = label[node]
        if actor == TERMINAL:
            value[node] = returns[number, who]
            continue
        offset = chance_offset if actor == CHANCE else action_offset
        probability = chance_probability if actor == CHANCE else strategy
        start = offset[number]
        end = offset[number + 1]
        child = first_child[node]
        expected = 0.0
        for i in range(start, end):
            expected += probability[i] * value[child + i - start]
        value[node] = expected
        if actor == who:
            for i in range(start, end):
                gain[i] += other_reach[node] * (value[child + i - start] - expected)


@compiled
def _apply_regrets(who, settings, predictive, tree, cells):
    """The update rule of `solvers.arrays.sweeps.regret_sweep` at all information sets of player `who`."""
    owner, action_offset = tree.owner, tree.action_offset
    regret, banked, gain = cells.regret, cells.banked, cells.gain
    for number in range(len(owner)):
        if owner[number] != who:
            continue
        for i in range(action_offset[number], action_offset[number + 1]):
            if predictive:
                banked[i] = max(banked[i] + gain[i], 0.0)
                regret[i] = banked[i] + gain[i]
            else:
                regret[i] = (settings[0] if regret[i] > 0.0 else settings[1]) * regret[i] + gain[i]
            gain[i] = 0.0


@compiled
def _iterate(first, last, schedule, alternating, predictive, tree_arrays, cell_tables, node_tables):
    tree = TreeArrays(*borrowed(tree_arrays))
    cells = _CellTables(*borrowed(cell_tables))
    nodes = _NodeTables(*borrowed(node_tables))
    num_players = tree.returns.shape[1]
    for t in range(first, last):
        for who in range(num_players):
            if alternating or who == 0:
                _match(tree.action_offset, cells.regret, cells.strategy)
            _add_regrets(who, schedule[t, 2], tree, cells, nodes)
            if alternating:
                _apply_regrets(who, schedule[t], predictive, tree, cells)
        if not alternating:
            for who in range(num_players):
                _apply_regrets(who, schedule[t], predictive, tree, cells)
