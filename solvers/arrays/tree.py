"""A game's whole tree as flat arrays.

Nodes are numbered so that the children of a node are neighbours and every child has a larger number than its parent:
a loop upwards through the numbers visits parents first, a loop downwards children first, without any stack. Nodes
without a choice (one legal action, one chance outcome) are passed over; they are no nodes of the tree.

The tree of a game of ours is filled by compiled code straight from its rules, that of any other game through pyspiel.
Its size is estimated first, by Knuth's random probing ("Estimating the efficiency of backtrack programs", 1975): walk
down at random; the product of the numbers of children on the way is an unbiased estimate of the width of each level.
"""

from __future__ import annotations

import random
import time
from array import array
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numba import types

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.progress import LateProgress
from cardtable.randomness import below, generator
from cardtable.rules import ADDRESSES, CHANCE, GENERATOR, PROBABILITIES, STATE, TERMINAL, Rules, kernel_at
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.sampling.keys import EMPTY, build_table, find_slot

NODE_BYTES = 9
MAX_NODES = 2**31 - 2  # node numbers are 32 bits
PROBES = 4000
PROBE_SECONDS = 0.2


class TreeArrays(NamedTuple):
    """What compiled code needs to walk a tree; the fields of `GameTree` by the same names.

    Pass `tree.arrays`, a plain tuple, and begin with `tree = TreeArrays(*arrays)`.
    """

    player: np.ndarray
    label: np.ndarray
    first_child: np.ndarray
    returns: np.ndarray
    chance_offset: np.ndarray
    chance_probability: np.ndarray
    owner: np.ndarray
    action_offset: np.ndarray


TREE_TYPE = types.Tuple(
    (
        types.Array(types.int8, 1, "C"),
        types.Array(types.int32, 1, "C"),
        types.Array(types.int32, 1, "C"),
        types.Array(types.float64, 2, "C"),
        types.Array(types.int64, 1, "C"),
        types.Array(types.float64, 1, "C"),
        types.Array(types.int8, 1, "C"),
        types.Array(types.int64, 1, "C"),
    )
)


@dataclass(frozen=True, eq=False)
class GameTree:
    """A game's tree. `information set` always means one with at least two actions."""

    num_players: int
    player: np.ndarray  # int8 per node: a seat, CHANCE or TERMINAL
    label: np.ndarray  # int32 per node: its information set; the number of the chance node; a terminal's row of returns
    first_child: np.ndarray  # int32 per node; -1 for terminals
    returns: np.ndarray  # float64 (terminals, players)
    chance_offset: np.ndarray  # int64 per chance node and one more: where its outcomes start in the next array
    chance_probability: np.ndarray  # float64
    owner: np.ndarray  # int8 per information set: its player
    action_offset: np.ndarray  # int64 per information set and one more: where its actions start in the next array
    actions: np.ndarray  # int32: legal actions, ascending; child i of a decision node follows action i
    keys: np.ndarray | None  # games of ours: int64 (information sets, 1 + key words), see solvers.sampling.keys
    strings: list[str] | None  # other games: information_state_string of each information set
    deals: np.ndarray | None = None  # if the root is a choice among whole deals (Rules.weighted_deals): their states

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """For compiled code, see `TreeArrays`."""
        return tuple(getattr(self, name) for name in TreeArrays._fields)

    @property
    def num_nodes(self) -> int:
        return len(self.player)

    @property
    def num_terminals(self) -> int:
        return len(self.returns)

    @property
    def num_information_sets(self) -> int:
        return len(self.owner)

    @staticmethod
    def from_game(game: pyspiel.Game, max_memory_bytes: int | None = None) -> GameTree:
        """The tree of a sequential game with explicit chance; GameTooLargeError if it would not fit."""
        refuse_unsuitable(game)
        allowed = allowed_bytes(max_memory_bytes)
        rules = getattr(game, "rules", None)
        if isinstance(rules, Rules):
            return _tree_of_rules(rules, str(game), allowed)
        return _tree_of_pyspiel_game(game, allowed)


def refuse_unsuitable(game: pyspiel.Game) -> None:
    """ValueError for games that have no tree of single moves with known chance."""
    kind = game.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(
            f"{game} has simultaneous moves or mean-field dynamics, tabular solvers need sequential moves; "
            "use pyspiel.convert_to_turn_based(game)"
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(f"{game} samples its chance outcomes, tabular solvers need explicit chance; use sampling")
    if not kind.provides_information_state_string:
        raise ValueError(f"{game} does not provide information_state_string, which tells its information sets apart")


@dataclass(frozen=True)
class TreeSize:
    """Expected numbers of nodes, estimated by random probing."""

    nodes: float
    terminals: float
    decisions: float


def estimate_size(game: pyspiel.Game) -> TreeSize:
    """An estimate from a fixed seed, in a fraction of a second."""
    rules = getattr(game, "rules", None)
    return _probe_rules(rules) if isinstance(rules, Rules) else _probe_pyspiel_game(game)


def tree_bytes(nodes: float, terminals: float, num_players: int) -> float:
    return NODE_BYTES * nodes + 8 * num_players * terminals


# ---------------------------------------------------------------------------------------------- games of ours


def _probe_rules(rules: Rules) -> TreeSize:
    nodes, terminals, decisions = _probe(
        rules.compiled_kernel().addresses(),
        0.0 if rules.weighted_deals is None else float(rules.weighted_deals.number),
        rules.new_state(),
        _most_children(rules),
        PROBES,
        generator(0),
    )
    return TreeSize(nodes, terminals, decisions)


def _most_children(rules: Rules) -> int:
    return max(rules.num_distinct_actions, rules.max_chance_outcomes)


@entry_point(ADDRESSES, types.float64, STATE, *(types.int64,) * 2, GENERATOR)
def _probe(addresses, num_deals, root, most_children, probes, random_numbers):
    """`num_deals`: how many deals are the children of the root, or 0 if cards are dealt one by one."""
    kernel = kernel_at(addresses)
    actions = np.empty(most_children, np.int64)
    probabilities = np.empty(most_children, np.float64)
    nodes = 0.0
    terminals = 0.0
    decisions = 0.0
    for _ in range(probes):
        state = root.copy()
        width = 1.0
        if num_deals > 0.0:
            kernel.deal(state, random_numbers)
            width = num_deals
        while True:
            who = kernel.current_player(state)
            if who == TERMINAL:
                nodes += width
                terminals += width
                break
            if who == CHANCE:
                count = kernel.chance_outcomes(state, actions, probabilities)
            else:
                count = kernel.legal_actions(state, actions)
            if count > 1:
                nodes += width
                if who != CHANCE:
                    decisions += width
                width *= count
            kernel.apply_action(state, actions[below(random_numbers, count)])
    return nodes / probes, terminals / probes, decisions / probes


def _tree_of_rules(rules: Rules, name: str, allowed: int) -> GameTree:
    size = _probe_rules(rules)
    require_memory(tree_bytes(size.nodes, size.terminals, rules.num_players), allowed, f"the tree of {name}", "about")
    deals, probabilities = np.empty((0, rules.state_size), np.int64), np.empty(0)
    if rules.weighted_deals is not None:
        deals, probabilities = rules.weighted_deals.make()
    status, sizes, *arrays = _walk_rules(
        rules.compiled_kernel().addresses(),
        rules.new_state(),
        deals,
        probabilities,
        rules.num_players,
        rules.key_words,
        _most_children(rules),
        rules.max_game_length + rules.max_chance_nodes + 2,
        int(1.05 * size.nodes) + 1000,
        min(MAX_NODES, allowed // NODE_BYTES),
    )
    if status == _TOO_MANY_NODES:
        require_memory(allowed + 1, allowed, f"the tree of {name}", "more than")
    if status == _DIFFERENT_ACTIONS:
        raise ValueError(f"{name}: an information set has different legal actions in different histories")
    player, label, first_child, returns, chance_offset, chance_probability, owner, action_offset, actions, keys = arrays
    nodes, terminals, chance_nodes, sets = sizes
    return GameTree(  # copies, to give back the room that was not needed
        num_players=rules.num_players,
        player=player[:nodes].copy(),
        label=label[:nodes].copy(),
        first_child=first_child[:nodes].copy(),
        returns=returns[: terminals * rules.num_players].reshape(-1, rules.num_players).copy(),
        chance_offset=chance_offset[: chance_nodes + 1].copy(),
        chance_probability=chance_probability[: chance_offset[chance_nodes]].copy(),
        owner=owner[:sets].copy(),
        action_offset=action_offset[: sets + 1].copy(),
        actions=actions[: action_offset[sets]].copy(),
        keys=keys[:sets].copy(),
        strings=None,
        deals=None if rules.weighted_deals is None else deals,
    )


_COMPLETE = 0
_TOO_MANY_NODES = 1
_DIFFERENT_ACTIONS = 2


@compiled
def _longer(values, length):
    """`values`, or a copy with more room if it has not got `length`."""
    if length <= len(values):
        return values
    longer = np.empty(max(length, 2 * len(values)), values.dtype)
    for i in range(len(values)):
        longer[i] = values[i]
    return longer


@compiled
def _more_rows(rows):
    more = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            more[i, j] = rows[i, j]
    return more


@entry_point(ADDRESSES, STATE, types.Array(types.int64, 2, "C"), PROBABILITIES, *(types.int64,) * 6)
def _walk_rules(
    addresses,
    root,
    deals,
    deal_probabilities,
    num_players,
    key_words,
    most_children,
    max_depth,
    node_capacity,
    max_nodes,
):
    """Depth first with one state per depth; a child copies its parent's state and moves on in place.

    If there are `deals`, the root is a chance node with these states as children.
    """
    kernel = kernel_at(addresses)
    node_capacity = max(node_capacity, 1 + len(deals))
    player = np.empty(node_capacity, np.int8)
    label = np.empty(node_capacity, np.int32)
    first_child = np.empty(node_capacity, np.int32)
    num_nodes = 1
    returns = np.empty((node_capacity // 3 + 1) * num_players, np.float64)
    num_terminals = 0
    chance_offset = np.zeros(1024, np.int64)
    chance_probability = np.empty(1024, np.float64)
    num_chance = 0
    owner = np.empty(1024, np.int8)
    action_offset = np.zeros(1025, np.int64)
    actions = np.empty(4096, np.int32)
    keys = np.empty((1024, 1 + key_words), np.int64)
    table = np.full(4096, EMPTY, np.int32)
    num_sets = 0

    states = np.empty((max_depth + 1, len(root)), np.int64)
    moves = np.empty((max_depth + 1, most_children), np.int64)
    next_move = np.zeros(max_depth + 1, np.int64)
    num_moves = np.zeros(max_depth + 1, np.int64)
    first = np.zeros(max_depth + 1, np.int64)
    probabilities = np.empty(most_children, np.float64)
    outcome = np.empty(num_players, np.float64)
    row = np.empty(1 + key_words, np.int64)
    status = _COMPLETE

    # Depth 0 is a frame above the root whose only move leads to node 0, or that of the deals.
    num_moves[0] = 1
    depth = 0
    if len(deals) > 0:
        player[0] = CHANCE
        label[0] = 0
        first_child[0] = 1
        chance_offset[1] = len(deals)
        chance_probability = deal_probabilities.copy()
        num_chance = 1
        num_nodes = 1 + len(deals)
        num_moves[0] = len(deals)
        first[0] = 1
    while depth >= 0:
        if next_move[depth] == num_moves[depth]:
            depth -= 1
            continue
        node = first[depth] + next_move[depth]
        state = states[depth + 1]
        if depth > 0:
            for i in range(len(root)):
                state[i] = states[depth, i]
            kernel.apply_action(state, moves[depth, next_move[depth]])
        elif len(deals) > 0:
            state[:] = deals[next_move[depth]]
        else:
            state[:] = root
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

        player[node] = who
        if who == TERMINAL:
            kernel.returns(state, outcome)
            returns = _longer(returns, (num_terminals + 1) * num_players)
            for i in range(num_players):
                returns[num_terminals * num_players + i] = outcome[i]
            label[node] = num_terminals
            first_child[node] = -1
            num_terminals += 1
            continue

        if who == CHANCE:
            chance_offset = _longer(chance_offset, num_chance + 2)
            start = chance_offset[num_chance]
            chance_probability = _longer(chance_probability, start + count)
            for i in range(count):
                chance_probability[start + i] = probabilities[i]
            label[node] = num_chance
            num_chance += 1
            chance_offset[num_chance] = start + count
        else:
            row[0] = who
            kernel.information_key(state, who, row[1:])
            slot = find_slot(table, keys, row)
            found = np.int64(table[slot])
            if found == EMPTY:
                found = np.int64(num_sets)
                if num_sets == keys.shape[0]:
                    keys = _more_rows(keys)
                owner = _longer(owner, num_sets + 1)
                action_offset = _longer(action_offset, num_sets + 2)
                start = action_offset[num_sets]
                actions = _longer(actions, start + count)
                for i in range(1 + key_words):
                    keys[num_sets, i] = row[i]
                owner[num_sets] = who
                for i in range(count):
                    actions[start + i] = legal[i]
                num_sets += 1
                action_offset[num_sets] = start + count
                if 2 * num_sets > len(table):
                    table = np.empty(2 * len(table), np.int32)
                    build_table(keys, num_sets, table)
                else:
                    table[slot] = found
            elif action_offset[found + 1] - action_offset[found] != count:
                status = _DIFFERENT_ACTIONS
                break
            label[node] = found

        first_child[node] = num_nodes
        depth += 1
        first[depth] = num_nodes
        next_move[depth] = 0
        num_moves[depth] = count
        num_nodes += count
        if num_nodes > max_nodes:
            status = _TOO_MANY_NODES
            break
        player = _longer(player, num_nodes)
        label = _longer(label, num_nodes)
        first_child = _longer(first_child, num_nodes)

    sizes = (num_nodes, num_terminals, num_chance, num_sets)
    return (
        status,
        sizes,
        player,
        label,
        first_child,
        returns,
        chance_offset,
        chance_probability,
        owner,
        action_offset,
        actions,
        keys,
    )


# ---------------------------------------------------------------------------------------------- any pyspiel game


def choices(state: pyspiel.State) -> list[int]:
    """Actions or chance outcomes of a state that is not terminal."""
    if state.is_chance_node():
        return [action for action, _ in state.chance_outcomes()]
    return state.legal_actions()


def skip_forced(state: pyspiel.State) -> list[int]:
    """Moves `state` on, in place, to its first real choice or the end of the game; returns the choices."""
    while not state.is_terminal():
        moves = choices(state)
        if len(moves) != 1:
            return moves
        state.apply_action(moves[0])
    return []


def _probe_pyspiel_game(game: pyspiel.Game) -> TreeSize:
    random_numbers = random.Random(0)
    nodes = terminals = decisions = 0.0
    probes = 0
    start = time.monotonic()
    while probes < PROBES and (probes < 10 or time.monotonic() - start < PROBE_SECONDS):
        state = game.new_initial_state()
        width = 1.0
        while moves := skip_forced(state):
            nodes += width
            if not state.is_chance_node():
                decisions += width
            width *= len(moves)
            state.apply_action(random_numbers.choice(moves))
        nodes += width
        terminals += width
        probes += 1
    return TreeSize(nodes / probes, terminals / probes, decisions / probes)


class _InformationSets:
    """Information sets of a pyspiel game in the order they are met."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, str], int] = {}
        self.strings: list[str] = []
        self.owner = array("b")
        self.action_offset = array("q", [0])
        self.actions = array("i")
        self.text_length = 0

    def number(self, state: pyspiel.State, player: int, legal: list[int]) -> int:
        text = state.information_state_string(player)
        number = self.numbers.get((player, text))
        if number is None:
            number = len(self.strings)
            self.numbers[player, text] = number
            self.strings.append(text)
            self.text_length += len(text)
            self.owner.append(player)
            self.actions.extend(legal)
            self.action_offset.append(len(self.actions))
        elif self.actions[self.action_offset[number] : self.action_offset[number + 1]] != array("i", legal):
            raise ValueError(f"information set {text!r} has different legal actions in different histories")
        return number

    def bytes(self) -> int:
        return self.text_length + 300 * len(self.strings)  # Python's overhead for a string, a tuple and a dict entry


def _tree_of_pyspiel_game(game: pyspiel.Game, allowed: int) -> GameTree:
    name = f"the tree of {game}"
    size = _probe_pyspiel_game(game)
    require_memory(tree_bytes(size.nodes, size.terminals, game.num_players()), allowed, name, "about")
    player, label, first_child = array("b", [0]), array("i", [0]), array("i", [-1])
    returns = array("d")
    chance_offset, chance_probability = array("q", [0]), array("d")
    sets = _InformationSets()
    num_terminals = 0
    done = 0
    stack: list[tuple[pyspiel.State, int]] = [(game.new_initial_state(), 0)]
    with LateProgress(f"walking {game}", size.nodes) as progress:
        while stack:
            state, node = stack.pop()
            moves = skip_forced(state)
            if not moves:
                player[node] = TERMINAL
                label[node] = num_terminals
                returns.extend(state.returns())
                num_terminals += 1
            else:
                if state.is_chance_node():
                    player[node] = CHANCE
                    label[node] = len(chance_offset) - 1
                    chance_probability.extend(probability for _, probability in state.chance_outcomes())
                    chance_offset.append(len(chance_probability))
                else:
                    who = state.current_player()
                    player[node] = who
                    label[node] = sets.number(state, who, moves)
                first = len(player)
                first_child[node] = first
                player.extend([0] * len(moves))
                label.extend([0] * len(moves))
                first_child.extend([-1] * len(moves))
                for i in reversed(range(len(moves))):
                    stack.append((state.child(moves[i]), first + i))
            done += 1
            if done % 1000 == 0:
                needed = tree_bytes(len(player), num_terminals, game.num_players()) + sets.bytes()
                require_memory(needed, min(allowed, MAX_NODES * NODE_BYTES), name, "more than")
                progress.update(done)
    return GameTree(
        num_players=game.num_players(),
        player=np.array(player, np.int8),
        label=np.array(label, np.int32),
        first_child=np.array(first_child, np.int32),
        returns=np.array(returns, np.float64).reshape(-1, game.num_players()),
        chance_offset=np.array(chance_offset, np.int64),
        chance_probability=np.array(chance_probability, np.float64),
        owner=np.array(sets.owner, np.int8),
        action_offset=np.array(sets.action_offset, np.int64),
        actions=np.array(sets.actions, np.int32),
        keys=None,
        strings=sets.strings,
    )


def representative_states(game: pyspiel.Game, tree: GameTree) -> Any:
    """Yields (information set, a pyspiel state in it), each information set once.

    Walks the tree and pyspiel states side by side, only where an information set is met for the first time below.
    """
    needed = np.zeros(tree.num_nodes, np.bool_)
    seen = np.zeros(tree.num_information_sets, np.bool_)
    _mark_first_visits(tree.player, tree.label, tree.first_child, tree.chance_offset, tree.action_offset, needed, seen)
    reported = np.zeros(tree.num_information_sets, np.bool_)
    stack: list[tuple[pyspiel.State, int]] = [(game.new_initial_state(), 0)]
    if tree.deals is not None:
        stack = [(_dealt_state(game, deal), 1 + i) for i, deal in enumerate(tree.deals) if needed[1 + i]]
    while stack:
        state, node = stack.pop()
        moves = skip_forced(state)
        if not needed[node]:
            continue
        if tree.player[node] >= 0 and not reported[tree.label[node]]:
            reported[tree.label[node]] = True
            yield int(tree.label[node]), state
        first = tree.first_child[node]
        for i in reversed(range(len(moves))):
            if needed[first + i]:
                stack.append((state.child(moves[i]), first + i))


def _dealt_state(game: pyspiel.Game, deal: np.ndarray) -> pyspiel.State:
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(int(deck.pile_of(deal, state.array[deck.NEXT_CARD])))
    return state


@compiled
def _mark_first_visits(player, label, first_child, chance_offset, action_offset, needed, seen):
    """Marks the lowest-numbered node of every information set, and all nodes above those."""
    for node in range(len(player)):
        if player[node] >= 0 and not seen[label[node]]:
            seen[label[node]] = True
            needed[node] = True
    for node in range(len(player) - 1, -1, -1):
        if player[node] == TERMINAL or needed[node]:
            continue
        offset = chance_offset if player[node] == CHANCE else action_offset
        count = offset[label[node] + 1] - offset[label[node]]
        for child in range(first_child[node], first_child[node] + count):
            if needed[child]:
                needed[node] = True
                break
