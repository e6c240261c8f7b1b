"""Games whose information sets all fit in memory: one network call for all of them, then traversals over a table.

Networks do not change within an iteration. So the advantages of all information sets are computed in one batch, turned
into a table of strategies by regret matching, and thousands of traversals run over the tree and that table in compiled
code. Rows of equal information set, which share their inputs, are added up where they arise: the loss is the same, the
noise of drawing minibatches is gone.

Tables are flat: the actions of all information sets one after the other, in the order of `solvers.arrays.tree`.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.memory_hints import borrowed
from cardtable.randomness import sample_index
from cardtable.rules import ADDRESSES, CHANCE, GENERATOR, PROBABILITIES, STATE, TERMINAL, Rules, kernel_at
from solvers.arrays.tree import GameTree, representative_states
from solvers.deep_cfr.sampling import choose_tries, estimate, regret_matching

PLAYER = 0
FIRST_CHILD = 1
COUNT = 2
PLACE = (
    3  # of a decision: where its actions start in tables; of a chance node: its probabilities; of a terminal: returns
)
NODE_NUMBERS = 4

FRAME_FIRST = 0
FRAME_COUNT = 1
FRAME_PLACE = 2
FRAME_CHOSEN = 3
FRAME_WORDS = 4

_NODES = types.Array(types.int32, 2, "C")
_INTEGERS = types.Array(types.int64, 2, "C")
_NUMBERS = types.Array(types.float64, 2, "C")
_NO_PARENT = -1


class TabulatedGame:
    """A game's tree with the features of every information set."""

    def __init__(self, game: pyspiel.Game, max_memory_bytes: int | None = None) -> None:
        if not game.get_type().provides_information_state_tensor:
            raise ValueError(f"{game} does not provide information_state_tensor, which networks read")
        self.game = game
        self.tree = tree = GameTree.from_game(game, max_memory_bytes)
        self.num_players = tree.num_players
        self.num_sets = tree.num_information_sets
        self.table_size = len(tree.actions)
        self.first_action = tree.action_offset[:-1]
        self.set_of_action = np.repeat(np.arange(self.num_sets), np.diff(tree.action_offset))
        self.parent = _parents(
            tree.player, tree.label, tree.first_child, tree.chance_offset, tree.action_offset, tree.num_players
        )
        if len(self.parent) == 0:
            raise ValueError(f"{game} has imperfect recall; Deep CFR needs games in which players forget nothing")
        features = _features(game, tree)
        # Columns that never change (variants of a game share its full shape) tell a network nothing.
        self.columns = np.flatnonzero((features != features[:1]).any(axis=0))
        self.features = np.ascontiguousarray(features[:, self.columns])
        self.used_actions = np.unique(tree.actions)  # a network has one output for each of these
        self.output_of_action = np.searchsorted(self.used_actions, tree.actions)
        self.sets_of_player = [np.flatnonzero(tree.owner == player) for player in range(self.num_players)]
        self._nodes = _node_records(
            tree.player, tree.label, tree.first_child, tree.chance_offset, tree.action_offset, tree.num_players
        )
        self._returns = tree.returns.reshape(-1).copy()
        depth = tree.num_nodes if self.num_sets == 0 else _most_decisions(self._nodes, self.num_players) + 1
        most_actions = int(np.diff(tree.action_offset).max(initial=1))
        # The decisions of the traverser on a path: frames, values and factors of their actions, weights, regrets.
        self._path = (
            np.empty((depth, FRAME_WORDS), np.int64),
            np.empty((depth, most_actions)),
            np.empty((depth, most_actions)),
            np.empty(depth + 1),
            np.empty(most_actions),
        )

    def dense(self, player_sets: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The part of a table that belongs to some information sets as (sets, outputs), and which entries are legal."""
        rows = np.zeros((self.num_sets, len(self.used_actions)))
        mask = np.zeros(rows.shape, np.bool_)
        rows[self.set_of_action, self.output_of_action] = table
        mask[self.set_of_action, self.output_of_action] = True
        return rows[player_sets], mask[player_sets]

    def regret_matching(self, player_sets: np.ndarray, advantages: np.ndarray, strategy: np.ndarray) -> None:
        """Writes the strategy of dense advantages (rows of `player_sets`) into the flat table."""
        _match(player_sets, advantages, self.tree.action_offset, self.output_of_action, strategy)

    def traverse(
        self,
        player: int,
        count: int,
        strategy: np.ndarray,
        generator: np.ndarray,
        sums: tuple[np.ndarray, np.ndarray, np.ndarray],
        traversal: int,
        tries: int,
        epsilon: float,
    ) -> int:
        """Runs `count` traversals for `player`; returns how many nodes they visited.

        `sums` are flat tables to add to: regrets (weighted), the weights of visits to the player's decisions, and
        visits to decisions of the others; the last two use the place of a set's first action only.
        """
        tree = (self._nodes, self.tree.chance_probability, self._returns)
        return _traverse(tree, strategy, sums, self._path, generator, player, count, traversal, tries, epsilon)

    def plans(self, strategy: np.ndarray) -> np.ndarray:
        """How likely each action is to be played by its player alone: strategy times that of the actions before it."""
        plan = np.empty_like(strategy)
        _plans(self.parent, self.tree.action_offset, strategy, plan)
        return plan

    def behaviour(self, plan_sums: np.ndarray) -> np.ndarray:
        """The strategy of a sum of plans; uniform where the sum is zero."""
        totals = np.add.reduceat(plan_sums, self.first_action)[self.set_of_action]
        counts = np.diff(self.tree.action_offset)[self.set_of_action]
        return np.where(totals > 0.0, plan_sums / np.where(totals > 0.0, totals, 1.0), 1.0 / counts)


def _features(game: pyspiel.Game, tree: GameTree) -> np.ndarray:
    """The information-state tensor of every information set."""
    rules = getattr(game, "rules", None)
    if isinstance(rules, Rules):
        features = np.zeros((tree.num_information_sets, rules.information_size), np.float32)
        _encode_sets(
            rules.compiled_kernel().addresses(),
            rules.new_state(),
            max(rules.num_distinct_actions, rules.max_chance_outcomes),
            rules.max_game_length + rules.max_chance_nodes + 2,
            tree.label,
            tree.first_child,
            features,
        )
        return features
    features = np.zeros((tree.num_information_sets, game.information_state_tensor_size()), np.float32)
    for number, state in representative_states(game, tree):
        features[number] = state.information_state_tensor(int(tree.owner[number]))
    return features


@entry_point(
    ADDRESSES,
    STATE,
    *(types.int64,) * 2,
    types.Array(types.int32, 1, "C"),
    types.Array(types.int32, 1, "C"),
    types.Array(types.float32, 2, "C"),
)
def _encode_sets(addresses, root, most_children, max_depth, label, first_child, features):
    """Follows the tree with states, depth first, and encodes every information set where it is met first."""
    kernel = kernel_at(addresses)
    done = np.zeros(len(features), np.bool_)
    states = np.empty((max_depth + 1, len(root)), np.int64)
    moves = np.empty((max_depth + 1, most_children), np.int64)
    next_move = np.zeros(max_depth + 1, np.int64)
    num_moves = np.zeros(max_depth + 1, np.int64)
    first = np.zeros(max_depth + 1, np.int64)
    probabilities = np.empty(most_children, np.float64)
    states[0] = root
    num_moves[0] = 1
    depth = 0
    while depth >= 0:
        if next_move[depth] == num_moves[depth]:
            depth -= 1
            continue
        node = first[depth] + next_move[depth]
        state = states[depth + 1]
        state[:] = states[depth]
        if depth > 0:
            kernel.apply_action(state, moves[depth, next_move[depth]])
        next_move[depth] += 1
        legal = moves[depth + 1]
        who = kernel.current_player(state)
        count = 0
        while who != TERMINAL:
            count = (
                kernel.chance_outcomes(state, legal, probabilities)
                if who == CHANCE
                else kernel.legal_actions(state, legal)
            )
            if count > 1:
                break
            kernel.apply_action(state, legal[0])
            who = kernel.current_player(state)
        if who == TERMINAL:
            continue
        if who != CHANCE and not done[label[node]]:
            done[label[node]] = True
            kernel.information_tensor(state, who, features[label[node]])
        depth += 1
        first[depth] = first_child[node]
        next_move[depth] = 0
        num_moves[depth] = count


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
        else:
            offset = chance_offset if player[node] == CHANCE else action_offset
            nodes[node, COUNT] = offset[number + 1] - offset[number]
            nodes[node, PLACE] = offset[number]
    return nodes


@compiled
def _most_decisions(nodes, num_players):
    """The largest number of decisions of one player on one path; children have larger numbers than parents."""
    most = np.int64(0)
    for player in range(num_players):
        under = np.zeros(len(nodes), np.int16)
        for node in range(len(nodes) - 1, -1, -1):
            deepest = np.int64(0)
            for child in range(nodes[node, FIRST_CHILD], nodes[node, FIRST_CHILD] + nodes[node, COUNT]):
                deepest = max(deepest, np.int64(under[child]))
            under[node] = deepest + (1 if nodes[node, PLAYER] == player else 0)
        most = max(most, np.int64(under[0]))
    return most


@compiled
def _parents(player, label, first_child, chance_offset, action_offset, num_players):
    """The player's own last action before each information set, as a place in tables; -1 if there is none.

    Empty if two histories of one information set disagree: imperfect recall.
    """
    num_sets = len(action_offset) - 1
    parent = np.full(num_sets, -2, np.int64)
    last = np.full((len(player), num_players), _NO_PARENT, np.int64)
    for node in range(len(player)):
        who = player[node]
        if who == TERMINAL:
            continue
        number = label[node]
        if who >= 0:
            if parent[number] == -2:
                parent[number] = last[node, who]
            elif parent[number] != last[node, who]:
                return np.empty(0, np.int64)
        offset = chance_offset if who == CHANCE else action_offset
        for i in range(offset[number + 1] - offset[number]):
            child = first_child[node] + i
            last[child] = last[node]
            if who >= 0:
                last[child, who] = action_offset[number] + i
    return parent


@compiled
def _plans(parent, action_offset, strategy, plan):
    """Information sets are numbered as the tree meets them, so parents come first."""
    for number in range(len(parent)):
        reach = 1.0 if parent[number] == _NO_PARENT else plan[parent[number]]
        for place in range(action_offset[number], action_offset[number + 1]):
            plan[place] = reach * strategy[place]


@compiled
def _match(sets, advantages, action_offset, output_of_action, strategy):
    for row in range(len(sets)):
        start = action_offset[sets[row]]
        end = action_offset[sets[row] + 1]
        for place in range(start, end):
            strategy[place] = advantages[row, output_of_action[place]]
        regret_matching(strategy[start:], end - start)


@entry_point(
    types.Tuple((_NODES, PROBABILITIES, PROBABILITIES)),
    PROBABILITIES,
    types.UniTuple(PROBABILITIES, 3),
    types.Tuple((_INTEGERS, _NUMBERS, _NUMBERS, PROBABILITIES, PROBABILITIES)),
    GENERATOR,
    *(types.int64,) * 4,
    types.float64,
)
def _traverse(tree, strategy, sums, path, generator, traverser, traversals, traversal, tries, epsilon):
    nodes, chance_probability, returns = borrowed(tree)
    strategy = borrowed(strategy)
    regret_sums, own_visits, other_visits = borrowed(sums)
    frames, values, factors, weights, regrets = borrowed(path)
    generator = borrowed(generator)
    visited = 0
    for _ in range(traversals):
        node = np.int64(0)
        depth = 0
        weights[0] = 1.0
        while True:
            # Down to the end of the game, trying the first chosen action of the traverser's decisions.
            player = nodes[node, PLAYER]
            while player != TERMINAL:
                visited += 1
                first = np.int64(nodes[node, FIRST_CHILD])
                count = np.int64(nodes[node, COUNT])
                place = np.int64(nodes[node, PLACE])
                if player == CHANCE:
                    node = first + sample_index(generator, chance_probability[place:], count)
                elif player == traverser:
                    factor = factors[depth]
                    choose_tries(traversal, tries, epsilon, strategy[place:], count, generator, factor)
                    chosen = 0
                    while factor[chosen] == 0.0:
                        chosen += 1
                    frames[depth, FRAME_FIRST] = first
                    frames[depth, FRAME_COUNT] = count
                    frames[depth, FRAME_PLACE] = place
                    frames[depth, FRAME_CHOSEN] = chosen
                    weights[depth + 1] = weights[depth] * factor[chosen]
                    depth += 1
                    node = first + chosen
                else:
                    other_visits[place] += 1.0
                    node = first + sample_index(generator, strategy[place:], count)
                player = nodes[node, PLAYER]
            visited += 1
            value = returns[nodes[node, PLACE] + traverser]

            # Up again, to the first decision with a chosen action that has not been tried.
            while depth > 0:
                level = depth - 1
                count = frames[level, FRAME_COUNT]
                factor = factors[level]
                chosen = frames[level, FRAME_CHOSEN]
                values[level, chosen] = value
                chosen += 1
                while chosen < count and factor[chosen] == 0.0:
                    chosen += 1
                if chosen < count:
                    frames[level, FRAME_CHOSEN] = chosen
                    weights[depth] = weights[level] * factor[chosen]
                    node = frames[level, FRAME_FIRST] + chosen
                    break
                place = frames[level, FRAME_PLACE]
                value = estimate(traversal, tries, epsilon, strategy[place:], values[level], factor, count, regrets)
                weight = weights[level]
                own_visits[place] += weight
                for action in range(count):
                    regret_sums[place + action] += weight * regrets[action]
                depth = level
            if depth == 0:
                break
    return visited
