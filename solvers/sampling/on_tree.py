"""Sampled traversals of a game's tree: no rules, no keys, only arrays (`solvers.arrays.tree` makes them).

A node is four numbers side by side, one cache line fetched for each node visited:

    player | first child | number of children | place

`place` is, for a decision, where the numbers of its information set start (regrets of all actions, then their
cumulative strategy); for a chance node, where its probabilities start; for a terminal, where its returns start.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.memory_hints import borrowed
from cardtable.randomness import uniform
from cardtable.rules import CHANCE, GENERATOR, PROBABILITIES, TERMINAL
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.arrays.sequence_form import finder
from solvers.arrays.tree import GameTree
from solvers.sampling.hash_table import TableContents, inlined
from solvers.sampling.on_rules import (
    FRAME_BASE,
    FRAME_CHOSEN,
    FRAME_COUNT,
    FRAME_WORDS,
    add_to_average,
    draw,
    explore,
    match_regrets,
    update_episode,
)

PLAYER = 0
FIRST_CHILD = 1
COUNT = 2
PLACE = 3
NODE_NUMBERS = 4

FRAME_NODE = FRAME_WORDS  # external sampling also remembers where a decision's children are
TREE_FRAME_WORDS = FRAME_WORDS + 1

_NODES = types.Array(types.int32, 2, "C")
_INTEGERS = types.Array(types.int64, 2, "C")
_NUMBERS = types.Array(types.float64, 2, "C")


class TreeSampler:
    """The arrays of sampled traversals on a tree. All information sets exist from the start."""

    def __init__(self, game: pyspiel.Game, max_memory_bytes: int | None = None) -> None:
        tree = GameTree.from_game(game, max_memory_bytes)
        records = 4 * NODE_NUMBERS * tree.num_nodes
        require_memory(records, allowed_bytes(max_memory_bytes), f"sampling on the tree of {game}", "another")
        self.num_players = tree.num_players
        self.owner = tree.owner
        self.keys = tree.keys
        self.strings = tree.strings
        self._actions = tree.actions
        self._action_offset = tree.action_offset
        self._nodes = _node_records(
            tree.player, tree.label, tree.first_child, tree.chance_offset, tree.action_offset, tree.num_players
        )
        self._chance_probability = tree.chance_probability
        self._returns = tree.returns.reshape(-1)
        self.numbers = np.zeros(2 * len(tree.actions))
        self._find = finder(game, tree.owner, tree.keys, tree.strings)
        most_actions = int(np.diff(tree.action_offset).max(initial=1))
        depth = _most_decisions(self._nodes, tree.num_players) + 1
        self._frames = np.empty((depth, TREE_FRAME_WORDS), np.int64)
        self._strategies = np.empty((depth, most_actions))
        self._values = np.empty((depth, most_actions))
        self._sampled = np.empty(depth + 1)
        self._reaches = np.empty(tree.num_players)
        self._node_reaches: np.ndarray | None = None

    @property
    def num_information_sets(self) -> int:
        return len(self._action_offset) - 1

    @property
    def memory_bytes(self) -> int:
        arrays = (self._nodes, self._chance_probability, self._returns, self.numbers, self._actions)
        full = 0 if self._node_reaches is None else self._node_reaches.nbytes
        return sum(array.nbytes for array in arrays) + self._action_offset.nbytes + full

    def external(self, first_player: int, traversals: int, averaging: bool, generator: np.ndarray) -> None:
        """External-sampling traversals for `first_player`, the next player, and so on in turn."""
        _external_sampling(
            self._nodes,
            self._chance_probability,
            self._returns,
            self.numbers,
            self._frames,
            self._strategies,
            self._values,
            generator,
            self.num_players,
            first_player,
            traversals,
            averaging,
        )

    def outcome(self, first_player: int, traversals: int, epsilon: float, generator: np.ndarray) -> None:
        """Outcome-sampling episodes for `first_player`, the next player, and so on in turn."""
        _outcome_sampling(
            self._nodes,
            self._chance_probability,
            self._returns,
            self.numbers,
            self._frames,
            self._strategies,
            self._sampled,
            self._reaches,
            generator,
            first_player,
            traversals,
            epsilon,
        )

    def add_to_full_average(self) -> None:
        """Adds every player's present strategy at all nodes, weighted by the player's own reach."""
        if self._node_reaches is None:
            self._node_reaches = np.empty((len(self._nodes), self.num_players))
        _add_to_full_average(self._nodes, self.numbers, self._node_reaches, self._strategies[0])

    def contents(self, group: int) -> TableContents:
        """The cumulative regrets or strategies of all information sets; without keys for games that have none."""
        counts = np.diff(self._action_offset)
        # Set i's numbers start at 2 * offset[i], the second group `counts[i]` further on.
        shifts = np.repeat(self._action_offset[:-1] + group * counts, counts)
        keys = np.empty((len(counts), 0), np.int64) if self.keys is None else self.keys
        weights = self.numbers[shifts + np.arange(len(self._actions))]
        return TableContents(keys, self._action_offset, self._actions, weights)

    def numbers_of(self, state: pyspiel.State, player: int) -> tuple[list[int], np.ndarray, np.ndarray]:
        """(actions, cumulative regrets, cumulative strategy) of the player to move, who has a choice."""
        number = self._find(state, player)
        if number < 0:
            legal = state.legal_actions(player)
            return legal, np.zeros(len(legal)), np.zeros(len(legal))
        start, end = self._action_offset[number : number + 2].tolist()
        numbers = self.numbers[2 * start : 2 * end].copy()
        return self._actions[start:end].tolist(), numbers[: end - start], numbers[end - start :]


@compiled
def _node_records(player, label, first_child, chance_offset, action_offset, num_players):
    nodes = np.empty((len(player), NODE_NUMBERS), np.int32)
    for node in range(len(player)):
        number = label[node]
        nodes[node, PLAYER] = player[node]
        nodes[node, FIRST_CHILD] = first_child[node]
        if player[node] == TERMINAL:
            nodes[node, COUNT] = 0
            nodes[node, PLACE] = number * num_players
        elif player[node] == CHANCE:
            nodes[node, COUNT] = chance_offset[number + 1] - chance_offset[number]
            nodes[node, PLACE] = chance_offset[number]
        else:
            nodes[node, COUNT] = action_offset[number + 1] - action_offset[number]
            nodes[node, PLACE] = 2 * action_offset[number]
    return nodes


@compiled
def _most_decisions(nodes, num_players):
    """The largest number of decisions that one player has on one path; children have larger numbers than parents."""
    most = np.int64(0)
    for player in range(num_players):
        below = np.zeros(len(nodes), np.int16)
        for node in range(len(nodes) - 1, -1, -1):
            deepest = np.int64(0)
            for child in range(nodes[node, FIRST_CHILD], nodes[node, FIRST_CHILD] + nodes[node, COUNT]):
                deepest = max(deepest, np.int64(below[child]))
            below[node] = deepest + (1 if nodes[node, PLAYER] == player else 0)
        most = max(most, np.int64(below[0]))
    return most


@inlined
def _draw_outcome(probabilities, place, count, generator):
    left = uniform(generator)
    for outcome in range(count - 1):
        left -= probabilities[place + outcome]
        if left < 0.0:
            return outcome
    return count - 1


@entry_point(
    _NODES,
    PROBABILITIES,
    PROBABILITIES,
    PROBABILITIES,
    _INTEGERS,
    _NUMBERS,
    _NUMBERS,
    GENERATOR,
    types.int64,
    types.int64,
    types.int64,
    types.boolean,
)
def _external_sampling(
    nodes,
    chance_probability,
    returns,
    numbers,
    frames,
    strategies,
    values,
    generator,
    num_players,
    traverser,
    traversals,
    averaging,
):
    nodes = borrowed(nodes)
    chance_probability = borrowed(chance_probability)
    returns = borrowed(returns)
    numbers = borrowed(numbers)
    frames = borrowed(frames)
    strategies = borrowed(strategies)
    values = borrowed(values)
    generator = borrowed(generator)
    for _ in range(traversals):
        averaged_player = (traverser + 1) % num_players if averaging else -1
        node = np.int64(0)
        depth = 0
        while True:
            # Down to the end of the game, trying the first action of the traverser's decisions.
            player = nodes[node, PLAYER]
            while player != TERMINAL:
                first = np.int64(nodes[node, FIRST_CHILD])
                count = np.int64(nodes[node, COUNT])
                place = np.int64(nodes[node, PLACE])
                if player == CHANCE:
                    node = first + _draw_outcome(chance_probability, place, count, generator)
                else:
                    strategy = strategies[depth]
                    match_regrets(numbers, place, count, strategy)
                    if player == traverser:
                        frames[depth, FRAME_BASE] = place
                        frames[depth, FRAME_COUNT] = count
                        frames[depth, FRAME_CHOSEN] = 0
                        frames[depth, FRAME_NODE] = first
                        depth += 1
                        node = first
                    else:
                        if player == averaged_player:
                            for action in range(count):
                                numbers[place + count + action] += strategy[action]
                        node = first + draw(strategy, count, generator)
                player = nodes[node, PLAYER]
            value = returns[nodes[node, PLACE] + traverser]

            # Up again, to the first decision with an action that has not been tried.
            while depth > 0:
                level = depth - 1
                chosen = frames[level, FRAME_CHOSEN]
                count = frames[level, FRAME_COUNT]
                values[level, chosen] = value
                chosen += 1
                if chosen < count:
                    frames[level, FRAME_CHOSEN] = chosen
                    node = frames[level, FRAME_NODE] + chosen
                    break
                value = 0.0
                for action in range(count):
                    value += strategies[level, action] * values[level, action]
                base = frames[level, FRAME_BASE]
                for action in range(count):
                    numbers[base + action] += values[level, action] - value
                depth = level
            if depth == 0:
                break
        traverser = (traverser + 1) % num_players


@entry_point(
    _NODES,
    PROBABILITIES,
    PROBABILITIES,
    PROBABILITIES,
    _INTEGERS,
    _NUMBERS,
    PROBABILITIES,
    PROBABILITIES,
    GENERATOR,
    types.int64,
    types.int64,
    types.float64,
)
def _outcome_sampling(
    nodes,
    chance_probability,
    returns,
    numbers,
    frames,
    strategies,
    sampled,
    reaches,
    generator,
    traverser,
    episodes,
    epsilon,
):
    nodes = borrowed(nodes)
    chance_probability = borrowed(chance_probability)
    numbers = borrowed(numbers)
    frames = borrowed(frames)
    strategies = borrowed(strategies)
    sampled = borrowed(sampled)
    reaches = borrowed(reaches)
    generator = borrowed(generator)
    for _ in range(episodes):
        reaches[:] = 1.0
        sampled[0] = 1.0
        depth = 0
        node = 0
        player = np.int64(nodes[node, PLAYER])
        while player != TERMINAL:
            first = np.int64(nodes[node, FIRST_CHILD])
            count = np.int64(nodes[node, COUNT])
            place = np.int64(nodes[node, PLACE])
            if player == CHANCE:
                chosen = _draw_outcome(chance_probability, place, count, generator)
            else:
                strategy = strategies[depth]
                match_regrets(numbers, place, count, strategy)
                if player == traverser:
                    chosen = explore(strategy, count, epsilon, generator)
                    frames[depth, FRAME_BASE] = place
                    frames[depth, FRAME_COUNT] = count
                    frames[depth, FRAME_CHOSEN] = chosen
                    sampled[depth + 1] = sampled[depth] * (epsilon / count + (1.0 - epsilon) * strategy[chosen])
                    depth += 1
                else:
                    add_to_average(numbers, place, count, strategy, sampled[depth], reaches, player)
                    chosen = draw(strategy, count, generator)
                    reaches[player] *= strategy[chosen]
            node = first + chosen
            player = np.int64(nodes[node, PLAYER])
        value = returns[nodes[node, PLACE] + traverser]
        update_episode(numbers, frames, strategies, sampled, depth, value)
        traverser = (traverser + 1) % len(reaches)


@compiled
def _add_to_full_average(nodes, numbers, reaches, strategy):
    reaches[0, :] = 1.0
    for node in range(len(nodes)):
        player = nodes[node, PLAYER]
        if player == TERMINAL:
            continue
        first = np.int64(nodes[node, FIRST_CHILD])
        count = np.int64(nodes[node, COUNT])
        if player == CHANCE:
            for child in range(first, first + count):
                for other in range(reaches.shape[1]):
                    reaches[child, other] = reaches[node, other]
            continue
        place = np.int64(nodes[node, PLACE])
        match_regrets(numbers, place, count, strategy)
        for action in range(count):
            probability = reaches[node, player] * strategy[action]
            numbers[place + count + action] += probability
            for other in range(reaches.shape[1]):
                reaches[first + action, other] = reaches[node, other]
            reaches[first + action, player] = probability
