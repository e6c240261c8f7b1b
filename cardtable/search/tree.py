"""UCT on open hands, many positions at once, with an evaluator in the place of rollouts.

An *evaluator* is `(states, rows) -> (prior, value)`: for each row the chances it would give all actions, and what it
expects every seat to get in the end. The search knows nothing of networks (as in DeepMind's mctx), and asks for all
positions at once. Kocsis and Szepesvari, "Bandit based Monte-Carlo planning" (2006): at each node take the action with
the highest

    uct:   mean value for the player to move + c * sqrt(2 ln N / n)
    puct:  mean value for the player to move + c * prior * sqrt(N) / (1 + n)     (Silver et al., 2017)

until a new node is reached; its value is that of the evaluator, or the returns of a finished game, and is added to all
nodes on the way. `uct` tries every action once before any twice, in order. Whoever is to move wants her own value.

A *solver* knows what some positions are worth, such as the last tricks: `states -> (which are solved, values of all
seats)`. A solved position is a leaf like the end of a game, as trying its worse actions would only blur what is known.

Nothing is hidden here: who does not know the hands searches in worlds (`cardtable.search.worlds`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.parameters import require, require_number
from cardtable.rules import ADDRESSES, INTEGER, INTEGERS, STATES, TERMINAL, Rules, kernel_at

Evaluator = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
Solver = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

CUBE = types.Array(types.int64, 3, "C")
FLOAT_CUBE = types.Array(types.float64, 3, "C")
MATRIX = types.Array(types.float64, 2, "C")
NONE = -1
ROOT = 0


class Tree(NamedTuple):
    """The trees of all positions: arrays (positions, nodes, ...)."""

    states: np.ndarray
    parents: np.ndarray  # (positions, nodes)
    visits: np.ndarray  # (positions, nodes)
    totals: np.ndarray  # (positions, nodes, seats)
    children: np.ndarray  # (positions, nodes, actions), or NONE
    priors: np.ndarray  # (positions, nodes, actions)
    solved: np.ndarray  # (positions, nodes): the search goes no further there
    used: np.ndarray  # nodes of each position


class Found(NamedTuple):
    """What a search found at the root of each position: NaN, and no visits, for actions that are not legal."""

    values: np.ndarray  # (positions, actions): the mean value of each action for the player to move
    outcomes: np.ndarray  # (positions, actions, seats): the same for all seats
    visits: np.ndarray  # (positions, actions)


class TreeSearch:
    """Searches positions without chance nodes; `c` is in the game's points."""

    def __init__(
        self,
        rules: Rules,
        evaluator: Evaluator,
        c: float,
        formula: Literal["uct", "puct"] = "uct",
        solver: Solver | None = None,
    ) -> None:
        require_number("c", c, 0.0)
        require(formula in ("uct", "puct"), "formula", formula, "uct, puct")
        self.rules, self.evaluator, self.c, self.formula, self.solver = rules, evaluator, c, formula, solver
        self._addresses = rules.compiled_kernel().addresses()

    def search(self, states: np.ndarray, iterations: np.ndarray) -> Found:
        """So many iterations for each position: `iterations` new nodes, or visits to the ends of games."""
        tree = self._planted(states, int(iterations.max(initial=0)) + 2)
        everybody = np.arange(len(states))
        self._evaluate(tree, everybody, np.zeros(len(states), np.int64))
        reached = np.empty(len(states), np.int64)
        for done in range(int(iterations.max(initial=0))):
            _descend(
                self._addresses,
                *tree,
                iterations,
                done,
                self.c if self.formula == "uct" else -self.c,
                reached,
            )
            rows = np.flatnonzero(reached != NONE)
            self._evaluate(tree, rows, reached[rows])
        return self._found(tree, states)

    def _planted(self, states: np.ndarray, nodes: int) -> Tree:
        count, actions = len(states), self.rules.num_distinct_actions
        tree = Tree(
            np.zeros((count, nodes, states.shape[1]), np.int64),
            np.full((count, nodes), NONE),
            np.zeros((count, nodes), np.int64),
            np.zeros((count, nodes, self.rules.num_players)),
            np.full((count, nodes, actions), NONE),
            np.zeros((count, nodes, actions)),
            np.zeros((count, nodes), np.bool_),
            np.ones(count, np.int64),
        )
        tree.states[:, 0] = states
        return tree

    def _evaluate(self, tree: Tree, rows: np.ndarray, nodes: np.ndarray) -> None:
        """Asks the evaluator about nodes that are neither solved nor the end of a game, and tells all nodes above."""
        values = np.empty((len(rows), self.rules.num_players))
        leaves = np.ascontiguousarray(tree.states[rows, nodes])
        over = _ends(self._addresses, leaves, values)
        if self.solver is not None:
            known = tree.solved[rows, nodes]  # reached before: what was found then is their mean
            values[known] = tree.totals[rows, nodes][known] / tree.visits[rows, nodes][known, None]
            over |= known
            open_ends = np.flatnonzero(~over & (nodes != ROOT))
            solved, results = self.solver(leaves[open_ends])
            over[open_ends] = solved
            values[open_ends] = results
            tree.solved[rows[open_ends], nodes[open_ends]] = solved
        asked = np.flatnonzero(~over)
        if len(asked):
            prior, value = self.evaluator(leaves, asked)
            values[asked] = value
            tree.priors[rows[asked], nodes[asked]] = prior
        _back_up(tree.parents, tree.visits, tree.totals, rows, nodes, values)

    def _found(self, tree: Tree, states: np.ndarray) -> Found:
        children = tree.children[:, 0]
        known = children != NONE
        rows = np.arange(len(states))[:, None]
        visits = np.where(known, tree.visits[rows, children], 0)
        outcomes = tree.totals[rows, children] / np.maximum(visits, 1)[:, :, None]
        outcomes[~known] = np.nan
        movers = np.array([self.rules.kernel.current_player(state) for state in states])
        return Found(outcomes[np.arange(len(states)), :, movers], outcomes, visits)


def _ends(addresses: np.ndarray, states: np.ndarray, values: np.ndarray) -> np.ndarray:
    over = np.zeros(len(states), np.bool_)
    _returns_at_ends(addresses, states, values, over)
    return over


@entry_point(ADDRESSES, STATES, MATRIX, types.Array(types.boolean, 1, "C"), nogil=True)
def _returns_at_ends(addresses, states, values, over):
    kernel = kernel_at(addresses)
    for row in range(len(states)):
        if kernel.current_player(states[row]) == TERMINAL:
            over[row] = True
            kernel.returns(states[row], values[row])


@compiled
def _score(mean, visits, above, prior, c):
    """How much an action wants to be tried; a negative c is that of puct."""
    if c < 0.0:
        return mean - c * prior * np.sqrt(above) / (1.0 + visits)
    return mean + c * np.sqrt(2.0 * np.log(above) / visits)


@entry_point(
    ADDRESSES, CUBE, STATES, STATES, FLOAT_CUBE, CUBE, FLOAT_CUBE, types.Array(types.boolean, 2, "C"), INTEGERS,
    INTEGERS, INTEGER, types.float64, INTEGERS, nogil=True,
)  # fmt: skip
def _descend(addresses, states, parents, visits, totals, children, priors, solved, used, iterations, done, c, reached):
    """From the root of each position to a node that is new, solved, or an end; NONE where the budget is used up."""
    kernel = kernel_at(addresses)
    actions = np.empty(children.shape[2], np.int64)
    for tree in range(len(states)):
        reached[tree] = NONE
        if done >= iterations[tree]:
            continue
        node = ROOT
        while True:
            mover = kernel.current_player(states[tree, node])
            if mover == TERMINAL or solved[tree, node]:
                reached[tree] = node
                break
            count = kernel.legal_actions(states[tree, node], actions)
            best = actions[0]
            highest = -np.inf
            for place in range(count):
                action = actions[place]
                child = children[tree, node, action]
                if child == NONE and c >= 0.0:
                    best = action
                    break
                mean = totals[tree, node, mover] / max(visits[tree, node], 1)
                tried = 0
                if child != NONE:
                    tried = visits[tree, child]
                    mean = totals[tree, child, mover] / tried
                score = _score(mean, tried, visits[tree, node], priors[tree, node, action], c)
                if score > highest:
                    highest = score
                    best = action
            child = children[tree, node, best]
            if child == NONE:
                child = used[tree]
                used[tree] += 1
                children[tree, node, best] = child
                parents[tree, child] = node
                states[tree, child] = states[tree, node]
                kernel.apply_action(states[tree, child], best)
                reached[tree] = child
                break
            node = child


@entry_point(STATES, STATES, FLOAT_CUBE, INTEGERS, INTEGERS, MATRIX, nogil=True)
def _back_up(parents, visits, totals, rows, nodes, values):
    for index in range(len(rows)):
        tree, node = rows[index], nodes[index]
        while node != NONE:
            visits[tree, node] += 1
            for seat in range(values.shape[1]):
                totals[tree, node, seat] += values[index, seat]
            node = parents[tree, node]
