"""Discounted CFR on the card tree of Toepen (`solvers.toepen.card_tree`), without storing betting histories.

With w the probability of a node of the card tree by chance, S a player's plan and U the other's counterfactual value,

    fold:   U(bet)  += w * stake * S(fold)          U(fold) -= w * stake * S(bet)
    end:    U(after the last bet) += +-w * stake * S(after the last bet)

are the only sums over nodes; the rest happens view by view, as in any sequence form (`solvers.arrays.sweeps`).

Brown and Sandholm, "Solving imperfect-information games via discounted regret minimization" (2019): alpha 3/2, beta 0,
gamma 2; alternating updates, 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cardtable.compiled import compiled
from cardtable.parameters import UserError
from cardtable.player import Player
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.learning.states import require_state
from solvers.learning.trainer import require_iterations
from solvers.toepen.card_tree import CardTree
from toepen_spiel import rules as toepen_rules

ALPHA, GAMMA = 1.5, 2.0
LASTING = ("plan_before", "plan_after", "average_before", "average_after", "bet_regrets", "card_regrets")


class _Tables(NamedTuple):
    """One player's numbers at one turn; `before` and `after` the bet, and `cards`: see Layer."""

    plan_before: np.ndarray
    plan_after: np.ndarray
    average_before: np.ndarray
    average_after: np.ndarray
    bet_regrets: np.ndarray  # two for each history before the bet: check and bet, or call and fold
    card_regrets: np.ndarray
    value_before: np.ndarray
    value_after: np.ndarray
    value_fold: np.ndarray  # per history before the bet: what folds are worth, the own or the other's
    value_cards: np.ndarray


class Bounds(NamedTuple):
    """What best responses to the average earn: the value of the game lies between -second and first."""

    first: float
    second: float

    @property
    def nash_conv(self) -> float:
        return self.first + self.second

    @property
    def value(self) -> float:
        """The middle, which is off by at most half of NashConv."""
        return (self.first - self.second) / 2


class Opening(NamedTuple):
    """A hand of the first player, up to renaming of suits."""

    hand: int  # a card set
    probability: float
    value: float  # what a best response to the other's average wins with it
    bets: float  # how often the average bets before the first card


class LastBet(NamedTuple):
    """The bet before the very last card, when its player knows whether it wins; all that is played at one stake."""

    stake: int  # before the bet
    wins: bool
    reached: float  # how often such a bet may be made
    bets: float  # how often it is made, of those
    called: float  # how often it is then called


class ToepenSolver:
    """Discounted CFR on a card tree."""

    def __init__(self, tree: CardTree, max_memory_bytes: int | None = None) -> None:
        self.tree = tree
        layers = [*tree.layers[0], *tree.layers[1]]
        sizes = [(int(layer.before[-1]), int(layer.after[-1]), int(layer.cards[-1])) for layer in layers]
        self.nbytes = sum(4 * (6 * before + 3 * after + 2 * cards) for before, after, cards in sizes)
        require_memory(self.nbytes, allowed_bytes(max_memory_bytes), "CFR on this card tree", "about")
        self.iterations = 0
        self._tables = [
            [
                _Tables(
                    *(
                        np.zeros(size, np.float32)
                        for size in (before, after, before, after, 2 * before, cards, before, after, before, cards)
                    )
                )
                for before, after, cards in sizes[player * len(tree.betting) : (player + 1) * len(tree.betting)]
            ]
            for player in (0, 1)
        ]
        for player in (0, 1):
            self._forward(player, 0.0)

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        for _ in range(iterations):
            self.iterations += 1
            t = float(self.iterations)
            positive, negative = t**ALPHA / (t**ALPHA + 1.0), 0.5
            for player in (0, 1):
                self._values(player, False, positive, negative)
                self._forward(player, t**GAMMA)

    def evaluate(self) -> Bounds:
        """Exact best responses to the average plans."""
        return Bounds(*(self._values(player, True, 0.0, 0.0) for player in (0, 1)))

    def metrics(self) -> dict[str, float]:
        """Exact, of the average plans."""
        found = self.evaluate()
        return {"exploitability": found.nash_conv / 2, "nash_conv": found.nash_conv, "value": found.value}

    def player(self) -> Player:
        """Refused: deals are merged up to suits here, and the way back from a hand to its place is not written."""
        raise UserError(
            "what ToepenSolver learned cannot be played yet; solve the game with experiments.solve to play it"
        )

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with: the sizes of the tree, which no two variants share."""
        return {
            "game": "card tree of python_toepen",
            "rules_version": getattr(toepen_rules, "VERSION", 1),
            "solver": "discounted CFR",
            "nodes": self.tree.num_nodes,
            "views": self.tree.num_views,
            "information_sets": self.tree.num_information_sets,
        }

    def _lasting_tables(self) -> Iterator[tuple[str, np.ndarray]]:
        """What an iteration leaves for the next one, by name."""
        for player, turns in enumerate(self._tables):
            for turn, tables in enumerate(turns):
                for name in LASTING:
                    yield f"{name}.{player}.{turn}", getattr(tables, name)

    def get_state(self) -> dict[str, Any]:
        """Everything a solver of the same tree needs to go on, bit for bit; copies."""
        state: dict[str, Any] = {"identity": self.identity(), "iterations": self.iterations}
        return state | {name: table.copy() for name, table in self._lasting_tables()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state of `get_state`; ValueError if it is one of another tree."""
        if state.get("identity") != self.identity():
            raise ValueError(f"the solver state is one of {state.get('identity')}, not of {self.identity()}")
        own = dict(self._lasting_tables())
        require_state(state, {**own, "iterations": self.iterations})
        for name, table in own.items():
            table[:] = state[name]
        self.iterations = int(state["iterations"])

    def _values(self, player: int, best_response: bool, positive: float, negative: float) -> float:
        """From the leaves: values of the player's views; then regrets, or maxima. Returns the sum over root views."""
        tree, other = self.tree, 1 - player
        own, theirs = self._tables[player], self._tables[other]
        last = len(tree.betting) - 1
        scale = 1.0
        if best_response:
            scale = 1.0 / float(theirs[0].average_before[0])
        for turn in range(last, -1, -1):
            mine, opponent = tree.layers[player][turn], tree.layers[other][turn]
            views = tree.nodes[turn]
            against = theirs[turn]
            _add_nodes(
                player,
                (views[player], views[other], views[2], views[3]),
                mine,
                opponent,
                tree.betting[turn],
                against.average_before if best_response else against.plan_before,
                against.average_after if best_response else against.plan_after,
                own[turn],
            )
            _back_up(
                player, mine, tree.betting[turn], own[turn], best_response, np.float32(positive), np.float32(negative)
            )
            if turn > 0:
                above = tree.layers[player][turn - 1]
                _hand_up(mine, above, own[turn].value_before, own[turn - 1].value_after, own[turn - 1].value_cards)
        if player == 0:
            self._first_values = own[0].value_before * scale
        total = float(own[0].value_before.sum(dtype=np.float64)) * scale
        for tables in own:
            for values in (tables.value_before, tables.value_after, tables.value_fold, tables.value_cards):
                values[:] = 0.0
        return total

    def _forward(self, player: int, weight: float) -> None:
        """From the root: plans by regret matching; adds them to the average."""
        own = self._tables[player]
        for turn, betting in enumerate(self.tree.betting):
            layer, tables = self.tree.layers[player][turn], own[turn]
            # The average takes the plan that was used in this iteration, before it changes.
            if weight:
                _add(tables.average_before, tables.plan_before, weight)
                _add(tables.average_after, tables.plan_after, weight)
            if turn == 0:
                tables.plan_before[:] = 1.0
            else:
                above = self.tree.layers[player][turn - 1]
                _plan_before(layer, above, own[turn - 1].plan_after, own[turn - 1].card_regrets, tables.plan_before)
            _plan_after(player, layer, betting, tables.bet_regrets, tables.plan_before, tables.plan_after)

    def opening(self) -> list[Opening]:
        """What the first player's hands are worth, and how often she bets with them before the first card."""
        tables, (views, _, weights, _) = self._tables[0][0], self.tree.nodes[0]
        probability = np.bincount(views, weights)
        self._values(0, True, 0.0, 0.0)
        value = self._first_values / probability
        bets = tables.average_after[1::2] / tables.average_before
        return [
            Opening(int(hand), float(p), float(v), float(bet))
            for hand, p, v, bet in zip(self.tree.first_hands, probability, value, bets, strict=True)
        ]

    def last_bets(self) -> list[LastBet]:
        """How the averages bet before the very last card."""
        last = len(self.tree.betting) - 1
        betting, nodes = self.tree.betting[last], self.tree.nodes[last]
        layers = [layers[last] for layers in self.tree.layers]
        tables = [tables[last] for tables in self._tables]
        sums = np.zeros((int(betting.stake.max()) + 1, 2, 3))
        _add_last_bets(nodes, betting, *layers, *tables, sums)
        sums /= float(self._tables[0][0].average_before[0]) * float(self._tables[1][0].average_before[0])
        return [
            LastBet(stake, wins == 1, float(reached), float(bet / reached), float(called / bet) if bet > 0 else 0.0)
            for stake in range(len(sums))
            for wins, (reached, bet, called) in enumerate(sums[stake])
            if reached > 0
        ]


@compiled
def _add_last_bets(nodes, betting, layer_0, layer_1, tables_0, tables_1, sums):
    """Per stake and whether the bettor wins: probability that a bet may be made, is made, and is made and called."""
    views_0, views_1, weights, winners = nodes
    before_0, after_0, before_1, after_1 = layer_0.before, layer_0.after, layer_1.before, layer_1.after
    average_before_0, average_after_0 = tables_0.average_before, tables_0.average_after
    average_before_1, average_after_1 = tables_1.average_before, tables_1.average_after
    for node in range(len(views_0)):
        order = layer_0.order[views_0[node]]
        bettor = betting.turn_player[order]
        wins = 1 if winners[node] == bettor else 0
        for history in range(betting.num_before[order]):
            if not betting.may_bet[order, history]:
                continue
            reach_0 = average_before_0[before_0[views_0[node]] + history]
            reach_1 = average_before_1[before_1[views_1[node]] + history]
            called = betting.called[order, history]
            on_0 = average_after_0[after_0[views_0[node]] + called]
            on_1 = average_after_1[after_1[views_1[node]] + called]
            bet = on_0 * reach_1 if bettor == 0 else reach_0 * on_1
            entry = sums[np.int64(betting.stake[order, history]), wins]
            weight = np.float64(weights[node])
            entry[0] += weight * reach_0 * reach_1
            entry[1] += weight * bet
            entry[2] += weight * on_0 * on_1


@compiled
def _add(total, values, weight):
    for place in range(len(total)):
        total[place] += weight * values[place]


@compiled
def _add_nodes(player, nodes, own_layer, other_layer, betting, plan_before, plan_after, tables):
    """What folds and, on the last turn, the ends of hands are worth to the player against the other's plan."""
    own_views, other_views, weights, winners = nodes
    orders, own_before, own_after = own_layer.order, own_layer.before, own_layer.after
    other_before, other_after = other_layer.before, other_layer.after
    value_fold, value_after = tables.value_fold, tables.value_after
    num_bets, bets, called, stake = betting.num_bets, betting.bets, betting.called, betting.stake
    num_after, turn_player, final_stake = betting.num_after, betting.turn_player, betting.final_stake
    for node in range(len(own_views)):
        mine = own_views[node]
        other = other_views[node]
        order = orders[mine]
        weight = weights[node]
        start = own_before[mine]
        other_start = other_before[other]
        other_end = other_after[other]
        own_turn = turn_player[order] == player
        for index in range(num_bets[order]):
            history = bets[order, index]
            amount = weight * stake[order, history]
            went_on = plan_after[other_end + called[order, history]]
            if own_turn:  # the other folds as often as she neither calls
                value_fold[start + history] += amount * (plan_before[other_start + history] - went_on)
            else:
                value_fold[start + history] -= amount * went_on
        if len(winners) > 0:
            end = own_after[mine]
            sign = weight if winners[node] == player else -weight
            for history in range(num_after[order]):
                value_after[end + history] += sign * final_stake[order, history] * plan_after[other_end + history]


@compiled
def _back_up(player, layer, betting, tables, best_response, positive, negative):
    """Values of the decisions of all views of a turn, from those after it; and new regrets."""
    value_before, value_after, value_fold = tables.value_before, tables.value_after, tables.value_fold
    value_cards, card_regrets, bet_regrets = tables.value_cards, tables.card_regrets, tables.bet_regrets
    may_bet, checked_to, called_to = betting.may_bet, betting.checked, betting.called
    nothing = np.float32(0.0)
    half = np.float32(0.5)
    for view in range(len(layer.parent)):
        order = layer.order[view]
        start = layer.before[view]
        end = layer.after[view]
        num_after = betting.num_after[order]
        count = layer.num_labels[view]
        if count > 1:
            cards = layer.cards[view]
            for history in range(num_after):
                value_after[end + history] = _decide(
                    value_cards, card_regrets, cards + history, count, num_after, best_response, positive, negative
                )
        own_turn = betting.turn_player[order] == player
        for history in range(betting.num_before[order]):
            checked = value_after[end + checked_to[order, history]]
            if not may_bet[order, history]:
                value_before[start + history] = checked
                continue
            called = value_after[end + called_to[order, history]]
            fold = value_fold[start + history]
            # Her own turn: check, or bet and be called or not. The other's: call or fold, next to what a check brings.
            first = checked if own_turn else called
            second = called + fold if own_turn else fold
            if best_response:
                value = max(first, second)
            else:
                place = 2 * (start + history)
                first_regret = bet_regrets[place]
                second_regret = bet_regrets[place + 1]
                first_share = max(first_regret, nothing)
                second_share = max(second_regret, nothing)
                total = first_share + second_share
                if total > nothing:
                    value = (first_share * first + second_share * second) / total
                else:
                    value = half * (first + second)
                keep = positive if first_regret > nothing else negative
                bet_regrets[place] = keep * first_regret + (first - value)
                keep = positive if second_regret > nothing else negative
                bet_regrets[place + 1] = keep * second_regret + (second - value)
            value_before[start + history] = value if own_turn else value + checked


@compiled
def _decide(values, regrets, place, count, stride, best_response, positive, negative):
    """The value of a decision; with regret matching also new regrets. Values and regrets are `stride` apart."""
    if best_response:
        best = values[place]
        for action in range(1, count):
            best = max(best, values[place + action * stride])
        return best
    total = np.float32(0.0)
    expected = np.float32(0.0)
    mean = np.float32(0.0)
    for action in range(count):
        at = place + action * stride
        if regrets[at] > 0.0:
            total += regrets[at]
            expected += regrets[at] * values[at]
        mean += values[at]
    expected = expected / total if total > 0.0 else mean / np.float32(count)
    for action in range(count):
        at = place + action * stride
        keep = positive if regrets[at] > 0.0 else negative
        regrets[at] = keep * regrets[at] + (values[at] - expected)
    return expected


@compiled
def _hand_up(layer, above, value_before, parent_after, parent_cards):
    """Values of views go to the view above: to one of its cards, or into the sum over cards of the other player."""
    for view in range(len(layer.parent)):
        parent = layer.parent[view]
        start = layer.before[view]
        size = layer.before[view + 1] - start
        if layer.label[view] >= 0 and above.num_labels[parent] > 1:
            place = above.cards[parent] + layer.label[view] * size
            for history in range(size):
                parent_cards[place + history] += value_before[start + history]
        else:
            place = above.after[parent]
            for history in range(size):
                parent_after[place + history] += value_before[start + history]


@compiled
def _plan_before(layer, above, parent_plan, card_regrets, plan):
    for view in range(len(layer.parent)):
        parent = layer.parent[view]
        start = layer.before[view]
        size = layer.before[view + 1] - start
        place = above.after[parent]
        count = above.num_labels[parent]
        if layer.label[view] < 0 or count == 1:
            for history in range(size):
                plan[start + history] = parent_plan[place + history]
            continue
        cards = above.cards[parent]
        for history in range(size):
            total = np.float32(0.0)
            for action in range(count):
                total += max(card_regrets[cards + action * size + history], np.float32(0.0))
            own = max(card_regrets[cards + layer.label[view] * size + history], np.float32(0.0))
            share = own / total if total > 0.0 else np.float32(1.0) / np.float32(count)
            plan[start + history] = parent_plan[place + history] * share


@compiled
def _plan_after(player, layer, betting, bet_regrets, plan_before, plan_after):
    for view in range(len(layer.parent)):
        order = layer.order[view]
        start = layer.before[view]
        end = layer.after[view]
        own_turn = betting.turn_player[order] == player
        for history in range(betting.num_before[order]):
            reach = plan_before[start + history]
            checked = end + betting.checked[order, history]
            if not betting.may_bet[order, history]:
                plan_after[checked] = reach
                continue
            first = max(bet_regrets[2 * (start + history)], np.float32(0.0))
            second = max(bet_regrets[2 * (start + history) + 1], np.float32(0.0))
            share = first / (first + second) if first + second > 0.0 else np.float32(0.5)
            called = end + betting.called[order, history]
            if own_turn:  # check or bet
                plan_after[checked] = reach * share
                plan_after[called] = reach * (np.float32(1.0) - share)
            else:  # call or fold
                plan_after[checked] = reach
                plan_after[called] = reach * share
