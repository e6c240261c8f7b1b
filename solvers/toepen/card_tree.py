"""Toepen with betting as a *card tree* and a betting automaton, for sizes beyond the sequence form.

What may be bet depends on who plays when, not on cards, so hundreds of betting histories share one card tree: deals up
to renaming of suits, and cards played. A player's *view* is her information without the bets, before a card is played;
everything about it is a short vector over the betting histories so far ("before" the bet of this turn or "after" it).

No rule is written here. The card tree is walked on the orbit quotient of the game without betting, and the automaton is
read off the rules of the game with betting, along one line of play for each order of leaders.

`solvers.toepen_cfr` solves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.rules import CHANCE, FUNCTION_TYPES, TERMINAL, Rules
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.sampling.keys import EMPTY, find_slot
from toepen_spiel.rules import toepen_rules
from toepen_spiel.state import BET, CALL, CHECK, FOLD, history_entry
from transforms.card_isomorphism import isomorphic_rules

MAX_ACTIONS = 64


class Betting(NamedTuple):
    """The betting of one turn. Rows: orders of leaders so far, one bit a trick. Columns: betting histories so far."""

    turn_player: np.ndarray
    num_before: np.ndarray  # histories before the bet of this turn
    num_after: np.ndarray
    may_bet: np.ndarray  # bool
    num_bets: np.ndarray  # how many histories may be bet in
    bets: np.ndarray  # which they are
    checked: np.ndarray  # which history it is after a check, or if the player may not bet
    called: np.ndarray  # which it is after a bet and a call
    stake: np.ndarray  # what the bettor wins if the other folds
    final_stake: np.ndarray  # of histories after the last bet: what the winner of the last trick wins


class Layer(NamedTuple):
    """One player's views at one turn."""

    parent: np.ndarray  # int32: view at the turn before
    label: np.ndarray  # int16: which of her actions led here, -1 if the other played
    num_labels: np.ndarray  # int16: her choices of a card at this turn; 0 if it is not hers
    order: np.ndarray  # int16: order of leaders so far, see `automata`
    before: np.ndarray  # int64 per view and one more: where its vectors over histories before the bet start
    after: np.ndarray
    cards: np.ndarray  # where its vectors over (action, history after the bet) start


@dataclass(frozen=True, eq=False)
class CardTree:
    """The nodes of each turn, by the players' views, and the views."""

    nodes: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]  # views of 0 and 1, weights, winners (last turn)
    layers: list[list[Layer]]  # [player][turn]
    betting: list[Betting]  # [turn]
    first_hands: np.ndarray  # the hand of the first player in each of her views of the first turn, as a card set

    @property
    def num_nodes(self) -> int:
        return sum(len(weights) for _, _, weights, _ in self.nodes)

    @property
    def num_views(self) -> int:
        return sum(len(layer.parent) for layers in self.layers for layer in layers)

    @property
    def num_information_sets(self) -> int:
        """Decisions with two or more actions, of both players."""
        total = 0
        for turn, betting in enumerate(self.betting):
            for layers in self.layers:
                layer = layers[turn]
                total += int(betting.may_bet.sum(axis=1)[layer.order].sum())
                total += int(betting.num_after[layer.order[layer.num_labels > 1]].sum())
        return total

    @property
    def num_terminals(self) -> int:
        """Terminals of the whole tree, betting included."""
        total = 0
        for turn, ((views, _, _, _), betting) in enumerate(zip(self.nodes, self.betting, strict=True)):
            order = self.layers[0][turn].order[views]
            total += int(betting.may_bet.sum(axis=1)[order].sum())
        return total + int(betting.num_after[order].sum())


def build_card_tree(suits: int, ranks: int, hand_size: int, max_memory_bytes: int | None = None) -> CardTree:
    """The card tree of one size, and the betting automaton."""
    allowed = allowed_bytes(max_memory_bytes)
    cards, _ = isomorphic_rules(toepen_rules(suits, ranks, hand_size, betting=False, follow_suit=True), "orbit")
    betting = toepen_rules(suits, ranks, hand_size, betting=True, follow_suit=True)
    assert cards.weighted_deals is not None, "all suits of Toepen are interchangeable"
    deals, probabilities = cards.weighted_deals.make()
    turns = 2 * hand_size
    walked = _Walk(cards, deals, probabilities, turns, allowed)
    automaton = [_betting(betting, walked.examples, turn, hand_size) for turn in range(turns)]
    layers = [[_layer(walked.views[turn][player], automaton[turn]) for turn in range(turns)] for player in (0, 1)]
    return CardTree(walked.nodes, layers, automaton, walked.first_hands)


def _layer(views: tuple, betting: Betting) -> Layer:
    parent, label, num_labels, order = views

    def starts(sizes: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(sizes)])

    after = betting.num_after[order]
    choices = np.where(num_labels > 1, num_labels, 0).astype(np.int64)
    return Layer(
        parent, label, num_labels, order, starts(betting.num_before[order]), starts(after), starts(choices * after)
    )


def _betting(rules: Rules, examples: dict[int, np.ndarray], turn: int, hand_size: int) -> Betting:
    """Reads the betting of a turn off the rules, along one line of play for each order of leaders."""
    rows: dict[int, list] = {}
    later_tricks = hand_size - 1 - turn // 2
    for order, example in examples.items():
        lines = _lines(rules, example, turn)
        row = _turn(rules, lines, example, turn)
        if rows.setdefault(order >> later_tricks, row) != row:
            raise AssertionError("betting depends on more than the order of leaders")
    size = 1 << turn // 2
    width = max(max(len(row[1]), row[2]) for row in rows.values())
    betting = Betting(
        turn_player=np.zeros(size, np.int64),
        num_before=np.zeros(size, np.int64),
        num_after=np.zeros(size, np.int64),
        may_bet=np.zeros((size, width), np.bool_),
        num_bets=np.zeros(size, np.int64),
        bets=np.zeros((size, width), np.int64),
        checked=np.zeros((size, width), np.int64),
        called=np.zeros((size, width), np.int64),
        stake=np.zeros((size, width), np.float32),
        final_stake=np.zeros((size, width), np.float32),
    )
    for order, (player, histories, num_after, finals) in rows.items():
        betting.turn_player[order], betting.num_before[order], betting.num_after[order] = (
            player,
            len(histories),
            num_after,
        )
        for number, (may_bet, checked, called, stake) in enumerate(histories):
            betting.may_bet[order, number] = may_bet
            betting.checked[order, number] = checked
            betting.called[order, number] = called
            betting.stake[order, number] = stake
        betting.final_stake[order, : len(finals)] = finals
        bets = np.flatnonzero(betting.may_bet[order])
        betting.num_bets[order] = len(bets)
        betting.bets[order, : len(bets)] = bets
    return betting


def _lines(rules: Rules, example: np.ndarray, turn: int) -> list[np.ndarray]:
    """States of the game with betting before a turn of the example, one for each betting history."""
    state = rules.new_state()
    state[: deck.BLOCK_SIZE] = example[: deck.BLOCK_SIZE]
    rules.kernel.deal(state, np.zeros(1, np.uint64))  # everything is dealt: this starts the play
    lines = [state]
    for earlier in range(turn):
        card = int(history_entry(example, earlier)[0])
        lines = [_after(rules, line, card) for before in lines for line in _after_betting(rules, before)]
    return lines


def _after(rules: Rules, state: np.ndarray, *actions: int) -> np.ndarray:
    state = state.copy()
    for action in actions:
        rules.kernel.apply_action(state, action)
    return state


def _may_bet(rules: Rules, state: np.ndarray) -> bool:
    actions = np.empty(rules.num_distinct_actions, np.int64)
    count = rules.kernel.legal_actions(state, actions)
    return int(state[deck.DECK_SIZE]) + BET in actions[:count]


def _after_betting(rules: Rules, state: np.ndarray) -> list[np.ndarray]:
    """What may come of a turn's betting without a fold: nothing, or a check and a call."""
    cards = int(state[deck.DECK_SIZE])
    if not _may_bet(rules, state):
        return [state]
    return [_after(rules, state, cards + CHECK), _after(rules, state, cards + BET, cards + CALL)]


def _turn(rules: Rules, lines: list[np.ndarray], example: np.ndarray, turn: int) -> list:
    cards = int(example[deck.DECK_SIZE])
    player = int(rules.kernel.current_player(lines[0]))
    histories, finals, num_after = [], [], 0
    outcome = np.empty(2)
    for line in lines:
        stake = 0.0
        if _may_bet(rules, line):
            rules.kernel.returns(_after(rules, line, cards + BET, cards + FOLD), outcome)
            stake = float(outcome[player])
        after = _after_betting(rules, line)
        histories.append((len(after) == 2, num_after, num_after + len(after) - 1, stake))
        num_after += len(after)
        for end in after:
            rules.kernel.returns(_after(rules, end, int(history_entry(example, turn)[0])), outcome)
            finals.append(abs(float(outcome[0])))
    return [player, histories, num_after, finals]


class _Walk:
    """Walks the card tree turn by turn: all nodes of a turn, then their children."""

    def __init__(self, rules: Rules, deals: np.ndarray, weights: np.ndarray, turns: int, allowed: int) -> None:
        self.rules = rules
        self.nodes: list[tuple] = []
        self.views: list[list[tuple]] = []  # [turn][player]: parent, label, num_labels, order
        self.examples: dict[int, np.ndarray] = {}  # for each order of leaders, a hand that was played to the end
        states = np.ascontiguousarray(deals)
        views, parents = np.empty((2, 0), np.int32), np.empty(0, np.int64)
        order = np.zeros(len(deals), np.int16)
        labels = np.full((len(deals), 2), -1, np.int16)
        kernel = rules.compiled_kernel()
        for turn in range(turns):
            keys = np.empty((2, len(states), rules.key_words), np.int64)
            num_labels = np.zeros((2, len(states)), np.int16)
            movers = np.empty(len(states), np.int64)
            _look(kernel.current_player, kernel.legal_actions, kernel.information_key, states, keys, num_labels, movers)
            if turn % 2 == 0:
                order = (order << 1 | movers).astype(np.int16)
            own = []
            new_views = np.empty((2, len(states)), np.int32)
            for player in (0, 1):
                number, first = _number(keys[player])
                new_views[player] = number
                above = np.full(len(first), -1, np.int32) if turn == 0 else views[player][parents[first]]
                if turn == player == 0:
                    self.first_hands = states[first, deck.DEALT]
                own.append((above, labels[first, player], num_labels[player][first], order[first]))
            self.views.append(own)
            views = new_views
            if turn == turns - 1:
                winners = np.empty(len(states), np.int8)
                _winners(
                    kernel.current_player, kernel.legal_actions, kernel.apply_action, kernel.returns, states, winners
                )
                self.nodes.append((views[0], views[1], weights.astype(np.float32), winners))
                self.examples = {int(one): states[np.argmax(order == one)] for one in np.unique(order)}
                return
            self.nodes.append((views[0], views[1], weights.astype(np.float32), np.empty(0, np.int8)))
            count = _count_children(
                kernel.current_player, kernel.legal_actions, kernel.apply_action, kernel.chance_outcomes, states
            )
            row_bytes = 8 * (rules.state_size + 2 * rules.key_words) + 64
            require_memory(count * row_bytes + states.nbytes, allowed, f"turn {turn + 2} of the card tree", "about")
            children = np.empty((count, rules.state_size), np.int64)
            parents = np.empty(count, np.int64)
            labels = np.full((count, 2), -1, np.int16)
            new_weights = np.empty(count)
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


def _number(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number for each row, equal for equal rows, and the first row of each number."""
    number, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    return number, first[: _enumerate(keys, number, first)]


@compiled
def _enumerate(keys, number, first):
    size = 16
    while size < 2 * len(keys):
        size *= 2
    table = np.full(size, EMPTY, np.int32)
    count = 0
    for row in range(len(keys)):
        slot = find_slot(table, keys, keys[row])
        if table[slot] == EMPTY:
            table[slot] = row
            number[row] = count
            first[count] = row
            count += 1
        else:
            number[row] = number[table[slot]]
    return count


_STATES = types.Array(types.int64, 2, "C")


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["information_key"],
    _STATES,
    types.Array(types.int64, 3, "C"),
    types.Array(types.int16, 2, "C"),
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
    types.Array(types.int16, 2, "C"),
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
