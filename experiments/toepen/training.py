"""What the Toepen studies share: their games, external sampling on a tree in two versions, and exact evaluation.

The textbook version (Lanctot et al. 2009) adds values less expectations as they are sampled, and averages at the nodes
of the player who does not traverse. The thesis's program differs in two ways: regrets are multiplied by the opponent's
reach, although being sampled accounts for it already, and averages accumulate at the traverser's nodes, weighted by
her own reach. `Training(..., thesis=True)` does as the program did.

The thesis approximates a best response by training one player alone against the fixed average of the other;
`approximate_response` does that. What it finds is some policy, so the measure is a lower bound of NashConv.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.randomness import generator, uniform
from cardtable.rules import CHANCE, GENERATOR, TERMINAL
from cardtable.spiel import CardGame
from solvers.arrays.sequence_form import SequenceForm
from solvers.arrays.sweeps import plans_of
from solvers.arrays.tree import GameTree
from solvers.best_response import Evaluation, Evaluator
from solvers.learning.trainer import require_iterations
from solvers.lifted import LiftingTable, of_places

ISOMORPHISMS = ("orbit", "thesis", "none")
NOBODY = -1

_FLOATS = types.Array(types.float64, 1, "C")
_INTEGERS = types.Array(types.int64, 1, "C")


def toepen(suits: int, ranks: int, hand_size: int, betting: bool, follow_suit: bool) -> str:
    """The name of a variant."""
    parameters = f"suits={suits},ranks={ranks},hand_size={hand_size},betting={betting},follow_suit={follow_suit}"
    return f"python_toepen({parameters})"


def under_isomorphism(base: str, isomorphism: str) -> str:
    return base if isomorphism == "none" else f"python_card_isomorphism(game={base},method={isomorphism})"


class Judge:
    """Exact values in a game inside the transform that a profile was made for."""

    def __init__(self, form: SequenceForm) -> None:
        self.form = form
        self._evaluator = Evaluator(form)

    def evaluate(self, probabilities: np.ndarray) -> Evaluation:
        """Values and NashConv of behaviour probabilities over the sequences of the form."""
        plan = self.form.empty_plan()
        plans_of(self.form.arrays.batches, self.form.parent, probabilities, plan)
        return self._evaluator(plan)

    def score(self, profile: np.ndarray, opponent: np.ndarray) -> float:
        """What the first profile wins against the second on average, when each has either seat half of the time."""
        owner = self.form.owner_of_sequence()
        as_first = self.evaluate(np.where(owner == 0, profile, opponent)).values[0]
        as_second = self.evaluate(np.where(owner == 1, profile, opponent)).values[1]
        return float(as_first + as_second) / 2


class Lift:
    """From the cells of a tree of `game` to the sequences of `form`, which is of the same game or of one inside it."""

    def __init__(self, game: CardGame, tree: GameTree, form: SequenceForm) -> None:
        self._form = form
        self._table = None if str(game) == str(form.game) else LiftingTable(form, game)
        self._places = form.sequences_in_tree_order() if self._table is None else self._table.places_in(tree)

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        if self._table is not None:
            return self._table.lift(of_places(self._places, probabilities))
        lifted = np.ones(self._form.num_sequences)
        lifted[self._places] = probabilities
        return lifted


class Sampler:
    """A tree laid out for sampled traversals; shared by many trainings."""

    def __init__(self, game: pyspiel.Game, tree: GameTree | None = None) -> None:
        self.tree = tree or GameTree.from_game(game)
        self.nodes = _records(
            self.tree.player, self.tree.label, self.tree.first_child, self.tree.chance_offset, self.tree.action_offset
        )
        self.cumulative = _cumulative(self.tree.chance_offset, self.tree.chance_probability)
        self.first_returns = np.ascontiguousarray(self.tree.returns[:, 0])


class Training:
    """External-sampling MCCFR of a two-player zero-sum game on its tree; an iteration updates both players."""

    def __init__(self, sampler: Sampler, seed: int | np.random.SeedSequence, thesis: bool = False) -> None:
        self._sampler = sampler
        self._thesis = thesis
        self._generator = generator(seed)
        cells = len(sampler.tree.actions)
        self.regrets = np.zeros(cells)
        self.strategy_sums = np.zeros(cells)
        self._met = np.zeros(sampler.tree.num_information_sets, np.bool_)

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        self._traverse(NOBODY, 2 * iterations, np.empty(0), own_average=self._thesis)

    def _traverse(self, only: int, traversals: int, fixed: np.ndarray, own_average: bool) -> None:
        sampler = self._sampler
        _external_sampling(
            sampler.nodes,
            sampler.cumulative,
            sampler.first_returns,
            sampler.tree.label,
            self.regrets,
            self.strategy_sums,
            self._met,
            fixed,
            self._generator,
            only,
            traversals,
            self._thesis,
            own_average,
        )

    @property
    def information_sets_met(self) -> int:
        return int(self._met.sum())

    def average(self) -> np.ndarray:
        """Average probabilities of the actions, in the order of the tree."""
        return normalised(self._sampler.tree.action_offset, self.strategy_sums)

    def approximate_response(self, player: int, average: np.ndarray, iterations: int) -> np.ndarray:
        """The thesis's evaluation: trains `player` anew, alone, while the other keeps to `average`."""
        response = Training(self._sampler, int(self._generator[0] >> np.uint64(1)), self._thesis)
        response._traverse(player, iterations, average, own_average=True)
        owner = np.repeat(self._sampler.tree.owner, np.diff(self._sampler.tree.action_offset))
        return np.where(owner == player, response.average(), average)


def normalised(offsets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of each information set divided by their sum; uniform where that is zero."""
    totals = np.add.reduceat(weights, offsets[:-1])
    counts = np.diff(offsets)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.repeat(totals > 0, counts), weights / np.repeat(totals, counts), 1.0 / np.repeat(counts, counts)
        )


@compiled
def _records(player, label, first_child, chance_offset, action_offset):
    """Per node: player, first child, number of children, and where its cells, chances or return are."""
    nodes = np.empty((len(player), 4), np.int32)
    for node in range(len(player)):
        number = label[node]
        nodes[node, 0] = player[node]
        nodes[node, 1] = first_child[node]
        if player[node] == TERMINAL:
            nodes[node, 2] = 0
            nodes[node, 3] = number
        else:
            offset = chance_offset if player[node] == CHANCE else action_offset
            nodes[node, 2] = offset[number + 1] - offset[number]
            nodes[node, 3] = offset[number]
    return nodes


@compiled
def _cumulative(offsets, probabilities):
    sums = np.empty(len(probabilities))
    for chance in range(len(offsets) - 1):
        total = 0.0
        for place in range(offsets[chance], offsets[chance + 1]):
            total += probabilities[place]
            sums[place] = total
    return sums


@compiled
def _draw_chance(cumulative, place, count, generator):
    """Bisection: the first outcome whose cumulative probability exceeds a random number."""
    target = uniform(generator) * cumulative[place + count - 1]
    low = 0
    high = count - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[place + middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _draw(strategy, count, generator):
    left = uniform(generator)
    last = 0
    for action in range(count):
        if strategy[action] > 0.0:
            last = action
            left -= strategy[action]
            if left < 0.0:
                break
    return last


MAX_ACTIONS = 64
MAX_DEPTH = 128


@entry_point(
    types.Array(types.int32, 2, "C"),
    _FLOATS,
    _FLOATS,
    types.Array(types.int32, 1, "C"),
    _FLOATS,
    _FLOATS,
    types.Array(types.boolean, 1, "C"),
    _FLOATS,
    GENERATOR,
    types.int64,
    types.int64,
    types.boolean,
    types.boolean,
)
def _external_sampling(
    nodes,
    cumulative,
    first_returns,
    label,
    regrets,
    strategy_sums,
    met,
    fixed,
    generator,
    only,
    traversals,
    weigh_by_reach,
    own_average,
):
    """Traversals for players 0 and 1 in turn, or all for `only`, whose opponent then plays by `fixed`."""
    strategies = np.empty((MAX_DEPTH, MAX_ACTIONS))
    values = np.empty((MAX_DEPTH, MAX_ACTIONS))
    places = np.empty((MAX_DEPTH, 4), np.int64)  # cells, actions, action under way, first child
    reaches = np.empty((MAX_DEPTH, 2))  # of the traverser and the opponent, before the decision
    drawn = np.empty(MAX_ACTIONS)
    for traversal in range(traversals):
        traverser = traversal % 2 if only < 0 else only
        sign = 1.0 if traverser == 0 else -1.0
        node = np.int64(0)
        depth = 0
        own_reach = 1.0
        other_reach = 1.0
        while True:
            player = nodes[node, 0]
            while player != TERMINAL:
                first = np.int64(nodes[node, 1])
                count = np.int64(nodes[node, 2])
                place = np.int64(nodes[node, 3])
                if player == CHANCE:
                    node = first + _draw_chance(cumulative, place, count, generator)
                    player = nodes[node, 0]
                    continue
                strategy = strategies[depth] if player == traverser else drawn
                if player != traverser and len(fixed) > 0:
                    for action in range(count):
                        strategy[action] = fixed[place + action]
                else:
                    total = 0.0
                    for action in range(count):
                        strategy[action] = max(regrets[place + action], 0.0)
                        total += strategy[action]
                    for action in range(count):
                        strategy[action] = strategy[action] / total if total > 0.0 else 1.0 / count
                met[label[node]] = True
                if player == traverser:
                    if own_average:
                        for action in range(count):
                            strategy_sums[place + action] += own_reach * strategy[action]
                    places[depth, 0] = place
                    places[depth, 1] = count
                    places[depth, 2] = 0
                    places[depth, 3] = first
                    reaches[depth, 0] = own_reach
                    reaches[depth, 1] = other_reach
                    own_reach *= strategy[0]
                    depth += 1
                    node = first
                else:
                    if not own_average:
                        for action in range(count):
                            strategy_sums[place + action] += strategy[action]
                    chosen = _draw(strategy, count, generator)
                    other_reach *= strategy[chosen]
                    node = first + chosen
                player = nodes[node, 0]
            value = sign * first_returns[nodes[node, 3]]
            while depth > 0:
                level = depth - 1
                count = places[level, 1]
                chosen = places[level, 2]
                values[level, chosen] = value
                chosen += 1
                if chosen < count:
                    places[level, 2] = chosen
                    node = places[level, 3] + chosen
                    own_reach = reaches[level, 0] * strategies[level, chosen]
                    other_reach = reaches[level, 1]
                    break
                value = 0.0
                for action in range(count):
                    value += strategies[level, action] * values[level, action]
                weight = reaches[level, 1] if weigh_by_reach else 1.0
                for action in range(count):
                    regrets[places[level, 0] + action] += weight * (values[level, action] - value)
                depth = level
            if depth == 0:
                break
