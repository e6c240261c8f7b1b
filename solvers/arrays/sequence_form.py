"""The sequence form: a perfect-recall game as a few flat arrays.

Koller, Megiddo and von Stengel, "Fast algorithms for finding randomized strategies in game trees" (1994). A *sequence*
of a player is an information set and an action in it, or the empty sequence. A player's plan gives every sequence the
probability with which the player alone would play it: plan(empty) = 1 and, at each information set,

    sum over actions a of plan(I, a) = plan(parent sequence of I),        plan(I, a) = plan(parent) * strategy(a | I).

Terminals matter only through the sequences on their paths. With weight = chance probability * utility, the value of a
profile to player i is the sum over terminals of weight_i * product over players of plan(sequence of that player), and
the counterfactual value of a sequence s of player i is

    value(s) = sum over terminals with sequence s of weight_i * product of the others' plans
             + sum over information sets I below s of value(I).

Information sets with one legal action are left out: their sequence is their parent's. Terminals of equal sequences are
merged; those of weight zero vanish. Weights are stored in units of `probability_unit`, so that they are exact.
Sequences 0 .. players-1 are the empty ones. How the rest is stored is told in `layout` and `sweeps`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel

from cardtable.rules import Rules
from solvers.arrays.layout import ImperfectRecallError, lay_out
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.arrays.sweeps import BATCH_ACTIONS, BATCH_SEQUENCE, BATCH_SETS, CHUNK, Arrays
from solvers.arrays.tree import GameTree, estimate_size, refuse_unsuitable, representative_states, tree_bytes
from solvers.sampling.keys import KeyIndex


class NoSequenceFormError(ValueError):
    """The game has imperfect recall."""


class SequenceForm:
    """A game as arrays; make it with `SequenceForm.from_game(game)`. It never changes afterwards.

    Information set I of `owner[I]` has sequences `first_sequence[I] + a * stride[I]` for a < `num_actions[I]`, whose
    action ids stand in `actions`. Tables over sequences (plans, probabilities, regrets) are float64 arrays of length
    `num_sequences`.
    """

    def __init__(self, game: pyspiel.Game, tree: GameTree) -> None:
        self.game = game
        self.tree = tree
        self.num_players = tree.num_players
        try:
            self.arrays, self.probability_unit, label, new_sequence = lay_out(tree)
        except ImperfectRecallError as error:
            raise NoSequenceFormError(_imperfect_recall_message(game, tree, error.information_set)) from error
        self.owner = tree.owner[label]
        self.parent = self.arrays.parent
        self.num_actions, self.first_sequence, self.stride = _places(self.arrays)
        self.actions = np.empty(len(new_sequence), np.int32)
        self.actions[: self.num_players] = -1
        self.actions[new_sequence[self.num_players :]] = tree.actions
        self.keys = None if tree.keys is None else tree.keys[label]
        self.strings = None if tree.strings is None else [tree.strings[number] for number in label]
        self._number = np.empty(len(label), np.int64)
        self._number[label] = np.arange(len(label))
        self._find: Callable[[pyspiel.State, int], int] | None = None

    @staticmethod
    def from_game(game: pyspiel.Game, max_memory_bytes: int | None = None) -> SequenceForm:
        """Builds the arrays of any sequential perfect-recall game with explicit chance.

        Raises GameTooLargeError (a MemoryError) if they need more than `max_memory_bytes` (default: most of what is
        free), and ValueError for games that have no sequence form.
        """
        refuse_unsuitable(game)
        what = f"the sequence form of {game}"
        players = game.num_players()
        allowed = allowed_bytes(max_memory_bytes)
        size = estimate_size(game)
        needed = tree_bytes(size.nodes, size.terminals, players) + _layout_bytes(size.terminals, players, 0, 0)
        require_memory(needed, allowed, what, "about")
        tree = GameTree.from_game(game, max_memory_bytes)
        needed = tree_bytes(tree.num_nodes, tree.num_terminals, players) + _layout_bytes(
            tree.num_terminals, players, len(tree.actions), tree.num_information_sets
        )
        require_memory(needed, allowed, what, "about")
        return SequenceForm(game, tree)

    @property
    def num_information_sets(self) -> int:
        """Information sets with at least two actions."""
        return len(self.owner)

    @property
    def num_sequences(self) -> int:
        """Sequences of all players, the empty ones included."""
        return len(self.actions)

    @property
    def num_terminals(self) -> int:
        """Terminals of the game's tree, before merging."""
        return self.tree.num_terminals

    @property
    def num_entries(self) -> int:
        """Payoff entries of all players."""
        return len(self.arrays.weight)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that solvers read in each iteration."""
        return sum(part.nbytes for part in self.arrays)

    def sequences(self, information_set: int) -> slice:
        """The sequences of an information set, as a slice of any table over sequences."""
        first, stride = int(self.first_sequence[information_set]), int(self.stride[information_set])
        return slice(first, first + (int(self.num_actions[information_set]) - 1) * stride + 1, stride)

    def legal_actions(self, information_set: int) -> np.ndarray:
        return self.actions[self.sequences(information_set)]

    def name(self, information_set: int) -> str:
        """The information state as error messages show it."""
        return _name(self.keys, self.strings, information_set)

    def find(self, state: pyspiel.State, player: int) -> int:
        """The information set of `player` in `state`, or -1 if it is none with two or more actions."""
        if self._find is None:
            self._find = finder(self.game, self.owner, self.keys, self.strings)
        return self._find(state, player)

    def representative_states(self) -> Iterator[tuple[int, pyspiel.State]]:
        """(information set, a state in it) for every information set, through the pyspiel game."""
        for label, state in representative_states(self.game, self.tree):
            yield int(self._number[label]), state

    def sequences_in_tree_order(self) -> np.ndarray:
        """The sequence of every action as they are listed in the tree."""
        counts = np.diff(self.tree.action_offset)
        number = np.repeat(self._number, counts)
        place = np.arange(len(number)) - np.repeat(self.tree.action_offset[:-1], counts)
        return self.first_sequence[number] + place * self.stride[number]

    def empty_plan(self) -> np.ndarray:
        """A table over sequences with ones for the empty sequences and zeros elsewhere."""
        plan = np.zeros(self.num_sequences)
        plan[: self.num_players] = 1.0
        return plan

    def owner_of_sequence(self) -> np.ndarray:
        """The player of each sequence."""
        owner = np.empty(self.num_sequences, np.int8)
        owner[: self.num_players] = np.arange(self.num_players)
        for actions, size, first, number in self.arrays.batches.tolist():
            owner[first : first + actions * size] = self.owner[number]
        return owner

    def row_of_entry(self) -> np.ndarray:
        """The sequence whose value each payoff entry belongs to."""
        row = np.empty(self.num_entries, np.int64)
        for first, size, length, entry in np.concatenate([self.arrays.empty_runs, self.arrays.runs]).tolist():
            row[entry : entry + size * length] = np.tile(np.arange(first, first + size), length)
        return row

    def scratch(self) -> np.ndarray:
        """Working memory for the sweeps, a part for each block."""
        return np.empty((max(1, len(self.arrays.block_start) - 1), 2, CHUNK))


def finder(
    game: pyspiel.Game, owner: np.ndarray, keys: np.ndarray | None, strings: list[str] | None
) -> Callable[[pyspiel.State, int], int]:
    """A lookup from (state, player) to the position of the information state among `keys` or `strings`, or -1."""
    if keys is None:
        return _find_by_string(owner, strings or [])
    rules = getattr(game, "rules", None)
    if not isinstance(rules, Rules):
        raise ValueError(f"{game} has no rules kernel, so its states have no keys; use information-state strings")
    return _find_by_key(rules, keys)


def _find_by_string(owner: np.ndarray, strings: list[str]) -> Callable[[pyspiel.State, int], int]:
    numbers = {(int(player), text): i for i, (player, text) in enumerate(zip(owner, strings, strict=True))}
    return lambda state, player: numbers.get((player, state.information_state_string(player)), -1)


def _find_by_key(rules: Rules, keys: np.ndarray) -> Callable[[pyspiel.State, int], int]:
    index = KeyIndex(keys)
    information_key = rules.compiled_kernel().information_key
    row = np.empty(keys.shape[1], np.int64)

    def find(state: pyspiel.State, player: int) -> int:
        row[0] = player
        information_key(state.array, player, row[1:])
        return index.find(row)

    return find


_CACHE: OrderedDict[tuple[type, str], SequenceForm] = OrderedDict()
_CACHE_SIZE = 4


def sequence_form(game: pyspiel.Game | SequenceForm) -> SequenceForm:
    """The sequence form of a game, remembered for the few games used last; a SequenceForm is returned as it is."""
    if isinstance(game, SequenceForm):
        return game
    key = (type(game), str(game))
    if key not in _CACHE:
        _CACHE[key] = SequenceForm.from_game(game)
        if len(_CACHE) > _CACHE_SIZE:
            _CACHE.popitem(last=False)
    _CACHE.move_to_end(key)
    return _CACHE[key]


def _places(arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of actions, first sequence and distance between sequences of each information set."""
    sizes = arrays.batches[:, BATCH_SETS]
    lane = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    num_actions = np.repeat(arrays.batches[:, BATCH_ACTIONS], sizes).astype(np.int32)
    first_sequence = (np.repeat(arrays.batches[:, BATCH_SEQUENCE], sizes) + lane).astype(np.int32)
    return num_actions, first_sequence, np.repeat(sizes, sizes).astype(np.int32)


def _layout_bytes(terminals: float, num_players: int, num_sequences: int, num_sets: int) -> float:
    """Peak while building: per terminal its sequences, order, weights and list of rows, and the final entries."""
    per_terminal = 4 * num_players + 8 + 8 + 16 * num_players + num_players * (4 + 8 + 4 * (num_players - 1))
    return per_terminal * terminals + 60 * num_sequences + 100 * num_sets


def _imperfect_recall_message(game: pyspiel.Game, tree: GameTree, label: int) -> str:
    name = _name(tree.keys, tree.strings, label)
    return (
        f"{game} has imperfect recall: player {tree.owner[label]} reaches information set {name} by different actions "
        "of her own, so there is no sequence form; use tree CFR (solvers.tree_cfr) or sampling (solvers.mccfr)"
    )


def _name(keys: np.ndarray | None, strings: list[str] | None, number: int) -> str:
    if strings is not None:
        return repr(strings[number])
    return f"with key {keys[number, 1:].tolist()}" if keys is not None else str(number)
