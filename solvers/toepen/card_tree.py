"""Toepen with betting as a *card tree* with vectors over betting histories, for sizes beyond the sequence form.

What may be bet depends on who plays when, not on cards, so hundreds of betting histories share one card tree: deals up
to renaming of suits, and cards played. A player's *view* is her information without the bets, before a card is played;
everything about it is a short vector over the betting histories so far (`solvers.toepen.histories`).

No rule is written here: the card tree is walked on the orbit quotient of the game without betting, some deals at a
time, so that only one part of the positions is in memory at once.

The views of a player are sorted by the hand she was dealt. What she learns with one hand touches the views of that hand
only, so hands are the pieces of work that threads share (`solvers.toepen_cfr`). Nodes are listed by view, once for
each player.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.progress import LateProgress
from cardtable.randomness import generator
from cardtable.rules import CHANCE, FUNCTION_TYPES, TERMINAL, Kernel, Rules
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.sampling.keys import EMPTY, find_slot
from solvers.toepen.histories import Histories, betting_histories
from toepen_spiel.rules import toepen_rules
from transforms.card_isomorphism import isomorphic_rules

MAX_ACTIONS = 64
DEALS_AT_A_TIME = 20_000
DEALS_TO_ESTIMATE_BY = 64


class Layer(NamedTuple):
    """One player's views at one turn, sorted by the hand she was dealt."""

    parent: np.ndarray  # int32: view at the turn before
    label: np.ndarray  # int8: which of her actions led here, -1 if the other played
    num_labels: np.ndarray  # int8: her choices of a card at this turn; 0 if it is not hers
    order: np.ndarray  # int16: order of leaders so far
    after: np.ndarray  # int64 per view and one more: where its vectors over histories after the bet start
    regrets: np.ndarray  # int64: where its regrets start: twice the histories to bet in, then (action, history after)
    first_node: np.ndarray  # int32 per view and one more: its nodes
    other: np.ndarray  # int32 per node: the other player's view
    weight: np.ndarray  # float32 per node: its probability by chance
    wins: np.ndarray  # int8 per node, on the last turn: whether she wins
    first_view: np.ndarray  # int64 per hand and one more: its views


@dataclass(frozen=True, eq=False)
class CardTree:
    layers: list[list[Layer]]  # [player][turn]
    histories: Histories
    first_hands: np.ndarray  # the hand of the first player in each of her views of the first turn, as a card set
    size: tuple[int, int, int]  # suits, ranks, hand size
    keys: list[list[np.ndarray]] | None = None  # [player][turn]: what views are called in the orbit quotient

    @property
    def turns(self) -> int:
        return self.histories.turns

    @property
    def num_nodes(self) -> int:
        return sum(len(layer.weight) for layer in self.layers[0])

    @property
    def num_views(self) -> int:
        return sum(len(layer.parent) for layers in self.layers for layer in layers)

    @property
    def num_information_sets(self) -> int:
        """Decisions with two or more actions, of both players."""
        total = 0
        for turn in range(self.turns):
            bets, after = self.histories.bets[turn], self.histories.after[turn]
            for layers in self.layers:
                layer = layers[turn]
                total += int(bets[layer.order].sum()) + int(after[layer.order[layer.num_labels > 1]].sum())
        return total

    @property
    def num_terminals(self) -> int:
        """Terminals of the whole tree, betting included."""
        total = 0
        for turn, layer in enumerate(self.layers[0]):
            nodes = np.diff(layer.first_node)
            total += int(np.dot(self.histories.bets[turn][layer.order], nodes))
        return total + int(np.dot(self.histories.after[self.turns - 1][layer.order], nodes))


def build_card_tree(
    suits: int, ranks: int, hand_size: int, max_memory_bytes: int | None = None, keep_keys: bool = False
) -> CardTree:
    """The card tree of one size; with the keys of its views its solution can be saved and played."""
    allowed = allowed_bytes(max_memory_bytes)
    cards, _ = isomorphic_rules(toepen_rules(suits, ranks, hand_size, betting=False, follow_suit=True), "orbit")
    assert cards.weighted_deals is not None, "all suits of Toepen are interchangeable"
    histories = betting_histories(hand_size, True)
    per_deal = cards.root.nbytes + _bytes_of_a_deal(cards, histories.turns, allowed)
    require_memory(cards.weighted_deals.number * per_deal, allowed, "the card tree", "about")
    deals, probabilities = cards.weighted_deals.make()
    walk = _Walk(cards, histories.turns, allowed)
    with LateProgress("walking deals", len(deals)) as progress:
        for start in range(0, len(deals), DEALS_AT_A_TIME):
            part = slice(start, start + DEALS_AT_A_TIME)
            walk.add(np.ascontiguousarray(deals[part]), probabilities[part])
            progress.update(start + DEALS_AT_A_TIME)
    del deals
    keys: list[list[np.ndarray]] = [[], []]
    layers = [_layers(walk, player, histories, keys[player] if keep_keys else None) for player in (0, 1)]
    first_hands = np.array(walk.first_hands, np.int64)[walk.by_hand[0][0]]
    size = suits, ranks, hand_size
    return CardTree(_numbered(layers, walk), histories, first_hands, size, keys if keep_keys else None)


def _bytes_of_a_deal(cards: Rules, turns: int, allowed: int) -> float:
    """What is kept of the nodes of a deal, from a few random ones."""
    walk = _Walk(cards, turns, allowed)
    states, random = np.repeat(cards.root[None, :], DEALS_TO_ESTIMATE_BY, axis=0), generator(1)
    for state in states:
        cards.kernel.deal(state, random)
    walk.add(states, np.ones(len(states)))
    return sum(part.nbytes for nodes in walk.nodes for parts in nodes for part in parts) / len(states)


class _Views:
    """The views of one player at one turn, in the order in which they are met."""

    def __init__(self, key_words: int) -> None:
        self.keys = np.empty((1024, key_words), np.int64)
        self.table = np.full(4096, EMPTY, np.int32)
        self.count = 0
        self.parts: list[tuple[np.ndarray, ...]] = []  # of new views: parent, label, num_labels, order

    def number(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of the view of each row, and the rows in which new views are met."""
        need = self.count + len(keys)
        if need > len(self.keys):
            self.keys = np.concatenate(
                [self.keys[: self.count], np.empty((need // 2 + need - self.count, keys.shape[1]), np.int64)]
            )
        if 2 * need > len(self.table):
            self.table = np.full(1 << (2 * need).bit_length(), EMPTY, np.int32)
            _reenter(self.table, self.keys, self.count)
        number, new = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        before = self.count
        self.count = int(_enumerate(self.table, self.keys, self.count, keys, number, new))
        return number, new[: self.count - before]


class _Walk:
    """Walks the card tree turn by turn: all nodes of a turn of some deals, then their children."""

    def __init__(self, rules: Rules, turns: int, allowed: int) -> None:
        self.rules, self.turns, self.allowed = rules, turns, allowed
        self.kernel: Kernel = rules.compiled_kernel()
        self.views = [[_Views(rules.key_words) for _ in range(turns)] for _ in (0, 1)]
        self.nodes: list[list[tuple[np.ndarray, ...]]] = [[] for _ in range(turns)]  # views of 0 and 1, weights, winner
        self.first_hands: list[int] = []
        self.by_hand: list[list[np.ndarray]] = []  # [player][turn]: views in the order of hands

    def add(self, states: np.ndarray, weights: np.ndarray) -> None:
        kernel, rules = self.kernel, self.rules
        views, parents = np.empty((2, 0), np.int32), np.empty(0, np.int64)
        order, labels = np.zeros(len(states), np.int16), np.full((len(states), 2), -1, np.int8)
        for turn in range(self.turns):
            keys = np.empty((2, len(states), rules.key_words), np.int64)
            num_labels, movers = np.zeros((2, len(states)), np.int8), np.empty(len(states), np.int64)
            _look(kernel.current_player, kernel.legal_actions, kernel.information_key, states, keys, num_labels, movers)
            if turn % 2 == 0:
                order = (order << 1 | movers).astype(np.int16)
            new_views = np.empty((2, len(states)), np.int32)
            for player in (0, 1):
                known = self.views[player][turn]
                new_views[player], new = known.number(keys[player])
                above = np.full(len(new), -1, np.int32) if turn == 0 else views[player][parents[new]]
                known.parts.append((above, labels[new, player], num_labels[player][new], order[new]))
                if turn == player == 0:
                    self.first_hands += states[new, deck.DEALT].tolist()
            views = new_views
            winners = np.empty(len(states) if turn == self.turns - 1 else 0, np.int8)
            if turn == self.turns - 1:
                _winners(
                    kernel.current_player, kernel.legal_actions, kernel.apply_action, kernel.returns, states, winners
                )
            self.nodes[turn].append((views[0], views[1], weights.astype(np.float32), winners))
            if turn == self.turns - 1:
                return
            count = _count_children(
                kernel.current_player, kernel.legal_actions, kernel.apply_action, kernel.chance_outcomes, states
            )
            row_bytes = 8 * (rules.state_size + 2 * rules.key_words) + 64
            require_memory(count * row_bytes + states.nbytes, self.allowed, "the card tree", "about")
            children, parents = np.empty((count, rules.state_size), np.int64), np.empty(count, np.int64)
            labels, new_weights = np.full((count, 2), -1, np.int8), np.empty(count)
            _children(
                kernel.current_player,
                kernel.legal_actions,
                kernel.apply_action,
                kernel.chance_outcomes,
                states,
                weights,
                children,
                parents,
                labels,
                new_weights,
            )
            states, weights, order = children, new_weights, order[parents]


def _layers(walk: _Walk, player: int, histories: Histories, keys: list[np.ndarray] | None) -> list[Layer]:
    """A player's views sorted by hand; their nodes come later."""
    layers: list[Layer] = []
    places: list[np.ndarray] = []
    hands = np.empty(0, np.int32)
    walk.by_hand.append([])
    for turn in range(histories.turns):
        known = walk.views[player][turn]
        parent, label, num_labels, order = (np.concatenate(part) for part in zip(*known.parts, strict=True))
        walk.views[player][turn] = _Views(1)  # its keys are no longer needed
        hands = np.arange(len(parent), dtype=np.int32) if turn == 0 else hands[parent]
        by_hand = np.argsort(hands, kind="stable")
        walk.by_hand[player].append(by_hand)
        if keys is not None:
            keys.append(known.keys[by_hand])
        place = np.empty(len(by_hand), np.int32)
        place[by_hand] = np.arange(len(by_hand), dtype=np.int32)
        places.append(place)
        if turn > 0:
            parent = places[turn - 1][parent]
        parent, label, num_labels, order = (array[by_hand] for array in (parent, label, num_labels, order))
        after, bets = histories.after[turn][order], histories.bets[turn][order]
        choices = np.where(num_labels > 1, num_labels, 0).astype(np.int64)
        first_view = np.searchsorted(hands[by_hand], np.arange(len(places[0]) + 1)).astype(np.int64)
        nothing = np.empty(0, np.int32)
        starts = _starts(after), _starts(2 * bets + choices * after)
        empty = nothing, nothing, np.empty(0, np.float32), np.empty(0, np.int8)
        layers.append(Layer(parent, label, num_labels, order, *starts, *empty, first_view))
    return layers


def _numbered(layers: list[list[Layer]], walk: _Walk) -> list[list[Layer]]:
    """The layers with their nodes, by the new numbers of views."""
    done: list[list[Layer]] = [[], []]
    for turn in range(walk.turns):
        own = [np.concatenate([part[player] for part in walk.nodes[turn]]) for player in (0, 1)]
        weight, winner = (np.concatenate([part[which] for part in walk.nodes[turn]]) for which in (2, 3))
        walk.nodes[turn] = []
        for player in (0, 1):
            place = np.empty(len(walk.by_hand[player][turn]), np.int32)
            place[walk.by_hand[player][turn]] = np.arange(len(place), dtype=np.int32)
            own[player] = place[own[player]]
        for player in (0, 1):
            by_view = np.argsort(own[player], kind="stable")
            first_node = np.searchsorted(own[player][by_view], np.arange(len(layers[player][turn].parent) + 1))
            wins = (winner[by_view] == player).astype(np.int8) if len(winner) else winner
            nodes = first_node.astype(np.int32), own[1 - player][by_view], weight[by_view], wins
            done[player].append(
                layers[player][turn]._replace(first_node=nodes[0], other=nodes[1], weight=nodes[2], wins=nodes[3])
            )
    return done


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@compiled
def _reenter(table, keys, count):
    for row in range(count):
        table[find_slot(table, keys, keys[row])] = row


@compiled
def _enumerate(table, known, count, keys, number, new):
    """Gives each row of `keys` the number of its view; new ones go behind those known. Returns how many there are."""
    first = count
    for row in range(len(keys)):
        slot = find_slot(table, known, keys[row])
        if table[slot] == EMPTY:
            table[slot] = count
            known[count] = keys[row]
            new[count - first] = row
            count += 1
        number[row] = table[slot]
    return count


_STATES = types.Array(types.int64, 2, "C")


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["information_key"],
    _STATES,
    types.Array(types.int64, 3, "C"),
    types.Array(types.int8, 2, "C"),
    types.Array(types.int64, 1, "C"),
)
def _look(current_player, legal_actions, information_key, states, keys, num_labels, movers):
    actions = np.empty(MAX_ACTIONS, np.int64)
    for row in range(len(states)):
        state = states[row]
        movers[row] = current_player(state)
        num_labels[movers[row], row] = legal_actions(state, actions)
        for player in range(2):
            information_key(state, player, keys[player, row])


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
    _STATES,
)
def _count_children(current_player, legal_actions, apply_action, chance_outcomes, states):
    actions = np.empty(MAX_ACTIONS, np.int64)
    outcomes = np.empty(MAX_ACTIONS, np.int64)
    probabilities = np.empty(MAX_ACTIONS)
    state = np.empty(states.shape[1], np.int64)
    count = 0
    for row in range(len(states)):
        for index in range(legal_actions(states[row], actions)):
            state[:] = states[row]
            apply_action(state, actions[index])
            count += chance_outcomes(state, outcomes, probabilities) if current_player(state) == CHANCE else 1
    return count


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
    _STATES,
    types.Array(types.float64, 1, "C"),
    _STATES,
    types.Array(types.int64, 1, "C"),
    types.Array(types.int8, 2, "C"),
    types.Array(types.float64, 1, "C"),
)
def _children(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    states,
    weights,
    children,
    parents,
    labels,
    new_weights,
):
    actions = np.empty(MAX_ACTIONS, np.int64)
    outcomes = np.empty(MAX_ACTIONS, np.int64)
    probabilities = np.empty(MAX_ACTIONS)
    count = 0
    for row in range(len(states)):
        mover = current_player(states[row])
        for index in range(legal_actions(states[row], actions)):
            child = children[count]
            child[:] = states[row]
            apply_action(child, actions[index])
            draws = 1
            probabilities[0] = 1.0
            drawing = current_player(child) == CHANCE
            if drawing:
                draws = chance_outcomes(child, outcomes, probabilities)
            for draw in range(draws):
                here = children[count]
                if draw > 0:
                    here[:] = states[row]
                    apply_action(here, actions[index])
                if drawing:
                    apply_action(here, outcomes[draw])
                parents[count] = row
                labels[count, mover] = index
                new_weights[count] = weights[row] * probabilities[draw]
                count += 1


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["returns"],
    _STATES,
    types.Array(types.int8, 1, "C"),
)
def _winners(current_player, legal_actions, apply_action, returns, states, winners):
    """Who wins the last trick; its last card is forced."""
    actions = np.empty(MAX_ACTIONS, np.int64)
    outcome = np.empty(2)
    for row in range(len(states)):
        state = states[row]
        while current_player(state) != TERMINAL:
            legal_actions(state, actions)
            apply_action(state, actions[0])
        returns(state, outcome)
        winners[row] = 0 if outcome[0] > 0 else 1
