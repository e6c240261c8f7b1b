"""Tables of a transformed game as tables over the sequences of the game inside it, in compiled code.

What `transforms.lifting.lift` says about one decision, for all decisions of a game at once. The information sets of the
base game are looked at once, as the transform shows them; after that, lifting a table of probabilities is one pass over
the sequences, so that exact NashConv can follow the training of an abstraction at many points.

A *cell* is an information set of the transformed game and an action in it. Cells are numbered information set by
information set, in the order of `keys`, actions ascending.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    LABEL_SIGNATURE,
    LABEL_TYPE,
    STATE,
    TERMINAL,
    Rules,
    compile_for,
    kernel_at,
)
from cardtable.spiel import CardGame
from solvers.arrays.sequence_form import SequenceForm
from solvers.arrays.tree import TREE_TYPE, GameTree, TreeArrays
from solvers.policies import TablePolicy
from solvers.sampling.keys import KeyIndex, find_slot
from transforms.lifting import require_inside

SURE = -1


class LiftingTable:
    """How the information sets of `form`, the sequence form of a game inside `transform`, look in `transform`."""

    def __init__(self, form: SequenceForm, transform: CardGame) -> None:
        require_inside(form.game, transform)
        self.form = form
        keys, names, shares = _look(form.game.rules, transform.rules, form.tree)
        self.keys, which = np.unique(keys, axis=0, return_inverse=True)
        which = which.reshape(-1)
        self.num_actions = np.zeros(len(self.keys), np.int64)
        np.maximum.at(self.num_actions, np.repeat(which, np.diff(form.tree.action_offset)), names + 1)
        self.offsets = np.concatenate([[0], np.cumsum(self.num_actions)])
        # From the order of the tree to that of the form.
        self._cell = np.zeros(form.num_sequences, np.int64)
        self._share = np.ones(form.num_sequences)
        in_form = form.sequences_in_tree_order()
        self._cell[in_form] = np.repeat(self.offsets[which], np.diff(form.tree.action_offset)) + names
        self._share[in_form] = shares

    @property
    def num_cells(self) -> int:
        return int(self.offsets[-1])

    def lift(self, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities over cells as behaviour probabilities over the sequences of the form."""
        lifted = probabilities[self._cell] * self._share
        lifted[: self.form.num_players] = 1.0
        return lifted

    def of_policy(self, policy: TablePolicy) -> np.ndarray:
        """A table of the transformed game, whoever made it; uniform where it has no entry, if it allows that."""
        if policy.keys is None:
            raise ValueError("the policy has no keys; lifting needs a table of a game with a rules kernel")
        found = KeyIndex(policy.keys).find_all(self.keys)
        count, first, stride = policy.places
        listed = found >= 0
        if policy.missing == "error" and (self.num_actions[~listed] > 1).any():
            raise ValueError(f"the policy has no entry for some information sets of {policy.game}")
        if (count[found[listed]] != self.num_actions[listed]).any():
            raise ValueError(f"the policy's legal actions are not those of {policy.game}")
        which, place = np.repeat(found, self.num_actions), np.arange(self.num_cells)
        place -= np.repeat(self.offsets[:-1], self.num_actions)
        probabilities = 1.0 / np.repeat(self.num_actions, self.num_actions)
        known = which >= 0
        probabilities[known] = policy.probabilities[first[which[known]] + place[known] * stride[which[known]]]
        return probabilities

    def of_tree(self, tree: GameTree, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of the actions of a tree of the transformed game, in its order, as probabilities over cells."""
        if len(probabilities) != len(tree.actions):
            raise ValueError(f"{len(probabilities)} probabilities were given; the tree has {len(tree.actions)} actions")
        return of_places(self.places_in(tree), probabilities)

    def places_in(self, tree: GameTree) -> np.ndarray:
        """Where each cell stands among the actions of a tree of the transformed game; SURE if it is the only choice.

        Who lifts many tables of one tree looks this up once, and goes on with `of_places`.
        """
        assert tree.keys is not None, "a transformed game has a rules kernel"
        index = KeyIndex(tree.keys)
        places = np.empty(self.num_cells, np.int64)
        _find_places(index.rows, index.table, tree.action_offset, self.keys, self.offsets, places)
        return places

    def of_form(self, form: SequenceForm, probabilities: np.ndarray) -> np.ndarray:
        """The same for a table over the sequences of the transformed game's sequence form."""
        return self.of_tree(form.tree, probabilities[form.sequences_in_tree_order()])


def of_places(places: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Probabilities over cells that stand at these places of a table."""
    return np.where(places == SURE, 1.0, probabilities[places])


def keys_in(transform: CardGame, base_game: CardGame, tree: GameTree) -> np.ndarray:
    """The different keys (player, words) that the information sets of the base game's tree have in the transform."""
    require_inside(base_game, transform)
    return np.unique(_look(base_game.rules, transform.rules, tree)[0], axis=0)


def _look(base: Rules, transform: Rules, tree: GameTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per information set of the tree its key in the transform; per action its place there, and its share of it."""
    assert transform.origin is not None, "checked by the caller"
    original = transform.origin.rules
    keys = np.empty((tree.num_information_sets, 1 + transform.key_words), np.int64)
    names = np.empty(len(tree.actions), np.int64)
    shares = np.empty(len(tree.actions))
    kernels = [rules.compiled_kernel().addresses() for rules in (base, original, transform)]
    base_label = base.origin.label if base.origin is not None else _same_action
    most = max(rules.num_distinct_actions for rules in (base, transform, original))
    _look_at_all(
        *kernels,
        compile_for(base_label, LABEL_SIGNATURE),
        compile_for(transform.origin.label, LABEL_SIGNATURE),
        base.new_state(),
        np.empty((0, base.state_size), np.int64) if tree.deals is None else tree.deals,
        transform.new_state(),
        original.state_size,
        np.empty((3, max(most, base.max_chance_outcomes)), np.int64),
        np.empty(base.max_chance_outcomes),
        base.max_game_length + base.max_chance_nodes + 2,
        tree.arrays,
        (keys, names, shares),
    )
    return keys, names, shares


@compiled
def _same_action(state, action):
    return action


@entry_point(
    *(ADDRESSES,) * 3,
    LABEL_TYPE,
    LABEL_TYPE,
    STATE,
    types.Array(types.int64, 2, "C"),
    STATE,
    types.int64,
    types.Array(types.int64, 2, "C"),
    types.Array(types.float64, 1, "C"),
    types.int64,
    TREE_TYPE,
    types.Tuple(
        (types.Array(types.int64, 2, "C"), types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C"))
    ),
)
def _look_at_all(
    base_addresses,
    original_addresses,
    view_addresses,
    base_label,
    view_label,
    root,
    deals,
    view,
    original_size,
    work,
    probabilities,
    max_depth,
    tree_arrays,
    found,
):
    """Walks the tree and the rules side by side, and looks at each information set where it is met first."""
    kernel = kernel_at(base_addresses)
    original_kernel = kernel_at(original_addresses)
    view_kernel = kernel_at(view_addresses)
    tree = TreeArrays(*tree_arrays)
    player, label, first_child = tree.player, tree.label, tree.first_child
    chance_offset, action_offset = tree.chance_offset, tree.action_offset
    keys, names, shares = found
    seen = np.zeros(len(keys), np.bool_)
    states = np.empty((max_depth + 1, len(root)), np.int64)
    next_child = np.zeros(max_depth + 1, np.int64)
    node_of = np.zeros(max_depth + 1, np.int64)
    moves = np.empty((max_depth + 1, work.shape[1]), np.int64)
    own, original, called = work[0], work[1], work[2]
    size = len(root)
    depth = 0
    states[0] = root
    entering = True
    while True:
        state = states[depth]
        node = node_of[depth]
        if entering:
            entering = False
            next_child[depth] = 0
            if depth > 0 or len(deals) == 0:
                who = kernel.current_player(state)
                while who != TERMINAL:  # forced moves are no nodes of the tree
                    count = (
                        kernel.chance_outcomes(state, moves[depth], probabilities)
                        if who == CHANCE
                        else kernel.legal_actions(state, moves[depth])
                    )
                    if count > 1:
                        break
                    kernel.apply_action(state, moves[depth, 0])
                    who = kernel.current_player(state)
            if player[node] >= 0 and not seen[label[node]]:
                number = label[node]
                seen[number] = True
                for word in range(size):
                    view[word] = state[word]
                keys[number, 0] = player[node]
                view_kernel.information_key(view, player[node], keys[number, 1:])
                start = action_offset[number]
                count = action_offset[number + 1] - start
                for action in range(count):
                    own[action] = moves[depth, action]
                    shares[start + action] = 0.0
                num_views = view_kernel.legal_actions(view, called)
                total = np.zeros(num_views, np.int64)
                for index in range(original_kernel.legal_actions(state[:original_size], original)):
                    name = view_label(view, original[index])
                    place = 0
                    while called[place] != name:
                        place += 1
                    total[place] += 1
                    name = base_label(state, original[index])
                    action = 0
                    while own[action] != name:
                        action += 1
                    names[start + action] = place
                    shares[start + action] += 1.0
                for action in range(count):
                    shares[start + action] /= total[names[start + action]]
        count = 0
        if player[node] == CHANCE:
            count = chance_offset[label[node] + 1] - chance_offset[label[node]]
        elif player[node] >= 0:
            count = action_offset[label[node] + 1] - action_offset[label[node]]
        child = next_child[depth]
        if child == count:
            if depth == 0:
                break
            depth -= 1
            continue
        next_child[depth] += 1
        if depth == 0 and len(deals) > 0:
            states[1] = deals[child]
        else:
            states[depth + 1] = state
            kernel.apply_action(states[depth + 1], moves[depth, child])
        node_of[depth + 1] = first_child[node] + child
        depth += 1
        entering = True


@compiled
def _find_places(rows, table, action_offset, keys, offsets, places):
    for index in range(len(keys)):
        count = offsets[index + 1] - offsets[index]
        if count == 1:  # a choice only between actions that are alike
            places[offsets[index]] = SURE
            continue
        start = action_offset[table[find_slot(table, rows, keys[index])]]
        for action in range(count):
            places[offsets[index] + action] = start + action
