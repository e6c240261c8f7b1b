"""Discounted CFR on the card tree of Toepen (`solvers.toepen.card_tree`), without storing betting histories.

One update of a player goes hand by hand (`solvers.toepen.hand_sweeps`): values of her views from the leaves, new
regrets, new plans. Hands do not touch each other's views, so threads share them, and the result does not depend on
their number. What is kept are regrets, averages and plans after each bet; values live only while a few hands are worked
on.

Brown and Sandholm, "Solving imperfect-information games via discounted regret minimization" (2019): alpha 3/2, beta 0,
gamma 2; alternating updates, 32-bit floats.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from cardtable.compiled import compiled
from cardtable.parameters import require_whole
from cardtable.player import Player
from cardtable.spiel import load_game
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.learning.states import require_state
from solvers.learning.trainer import require_iterations
from solvers.toepen import hand_sweeps
from solvers.toepen.card_tree import CardTree
from solvers.toepen.hand_sweeps import BEST_RESPONSE, REGRETS, Scratch, Turn
from solvers.toepen.tree_policy import arrays_of, tree_player
from toepen_spiel import rules as toepen_rules

ALPHA, GAMMA = 1.5, 2.0
LASTING = ("average", "regrets")
PIECES = 32  # into which the hands of a player are divided


class _Tables(NamedTuple):
    """One player's numbers at one turn."""

    plan: np.ndarray  # over histories after the bet
    average: np.ndarray
    regrets: np.ndarray


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
    """Discounted CFR on a card tree, in so many threads."""

    def __init__(self, tree: CardTree, max_memory_bytes: int | None = None, threads: int = 1) -> None:
        require_whole("threads", threads, 1)
        self.tree, self.threads = tree, threads
        layers = [*tree.layers[0], *tree.layers[1]]
        self.nbytes = sum(4 * (2 * int(layer.after[-1]) + int(layer.regrets[-1])) for layer in layers)
        require_memory(self.nbytes, allowed_bytes(max_memory_bytes), "CFR on this card tree", "about")
        self.iterations = 0
        self._turns = [_turn(tree, turn) for turn in range(tree.turns)]
        self._tables = [
            [
                _Tables(*(np.zeros(size, np.float32) for size in (layer.after[-1], layer.after[-1], layer.regrets[-1])))
                for layer in tree.layers[player]
            ]
            for player in (0, 1)
        ]
        # Where a view's values start among those of its turn: a row for each choice of a card, or one.
        self._offsets = [[_value_offsets(tree, player, turn) for turn in range(tree.turns)] for player in (0, 1)]
        self._pieces = [_pieces(tree, player) for player in (0, 1)]
        self._make_plans()

    def _make_plans(self) -> None:
        for player in (0, 1):
            self._each(functools.partial(self._forward, player), player)

    def _each(self, work: Callable[[tuple[int, int]], Any], player: int) -> list[Any]:
        """Does the work for all pieces of a player's hands; answers in their order."""
        if self.threads == 1:
            return [work(piece) for piece in self._pieces[player]]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, self._pieces[player]))

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        for _ in range(iterations):
            self.iterations += 1
            t = float(self.iterations)
            discounts = np.float32(t**ALPHA / (t**ALPHA + 1.0)), np.float32(0.5)
            for player in (0, 1):
                self._each(functools.partial(self._update, player, t**GAMMA, discounts), player)

    def _update(self, player: int, weight: float, discounts: tuple, piece: tuple[int, int]) -> None:
        self._values(player, piece, REGRETS, discounts)
        self._average(player, piece, weight)
        self._forward(player, piece)

    def evaluate(self) -> Bounds:
        """Exact best responses to the average plans."""
        return Bounds(*(float(self._best_response(player).sum(dtype=np.float64)) for player in (0, 1)))

    def _best_response(self, player: int) -> np.ndarray:
        """What a best response to the other's average wins with each hand, times the probability of the hand."""
        nothing = np.float32(0.0), np.float32(0.0)
        found = self._each(lambda piece: self._values(player, piece, BEST_RESPONSE, nothing), player)
        # At the start the other has one history, so the whole of its average is there, after his check or bet.
        return np.concatenate(found) / self._total(1 - player)

    def _total(self, player: int) -> float:
        """The sum of the weights of all averaged plans."""
        table, turn = self._tables[player][0], self._turns[0]
        return float(table.average[:2].sum()) if player == turn.mover[0] else float(table.average[turn.checked[0]])

    def metrics(self) -> dict[str, float]:
        """Exact, of the average plans."""
        found = self.evaluate()
        return {"exploitability": found.nash_conv / 2, "nash_conv": found.nash_conv, "value": found.value}

    def player(self) -> Player:
        """The average; the tree must have been built with its keys."""
        suits, ranks, hand_size = self.tree.size
        game = load_game(f"python_toepen(suits={suits},ranks={ranks},hand_size={hand_size})")
        return tree_player("card tree", game, arrays_of(self))

    def turn_of(self, turn: int) -> Turn:
        """The betting of a turn."""
        return self._turns[turn]

    def average(self, player: int, turn: int) -> np.ndarray:
        """The average of a player's plans after the bet of a turn, view by view; not normalised."""
        return self._tables[player][turn].average

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

    def lasting_tables(self) -> Iterator[tuple[str, np.ndarray]]:
        """What an iteration leaves for the next one, by name: no copies."""
        for player, turns in enumerate(self._tables):
            for turn, tables in enumerate(turns):
                for name in LASTING:
                    yield f"{name}.{player}.{turn}", getattr(tables, name)

    def get_state(self) -> dict[str, Any]:
        """Everything a solver of the same tree needs to go on, bit for bit; copies."""
        state: dict[str, Any] = {"identity": self.identity(), "iterations": self.iterations}
        return state | {name: table.copy() for name, table in self.lasting_tables()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state of `get_state`; ValueError if it is one of another tree."""
        if state.get("identity") != self.identity():
            raise ValueError(f"the solver state is one of {state.get('identity')}, not of {self.identity()}")
        own = dict(self.lasting_tables())
        require_state(state, {**own, "iterations": self.iterations})
        for name, table in own.items():
            table[:] = state[name]
        self.iterations = int(state["iterations"])
        self._make_plans()

    def _views(self, player: int, turn: int, piece: tuple[int, int]) -> tuple[int, int]:
        first_view = self.tree.layers[player][turn].first_view
        return int(first_view[piece[0]]), int(first_view[piece[1]])

    def _values(self, player: int, piece: tuple[int, int], mode: int, discounts: tuple) -> np.ndarray:
        """From the leaves, for some hands: values of their views; then regrets, or maxima. Returns those of hands."""
        tree, own, theirs = self.tree, self._tables[player], self._tables[1 - player]
        scratch = Scratch(*(np.zeros(tree.histories.width, np.float32) for _ in Scratch._fields))
        values = np.zeros(0, np.float32)
        for turn in range(tree.turns - 1, -1, -1):
            layer = tree.layers[player][turn]
            views = self._views(player, turn, piece)
            if turn > 0:
                offsets, low_high = self._offsets[player][turn - 1], self._views(player, turn - 1, piece)
                first = int(offsets[low_high[0]])
                above = offsets, first, tree.layers[player][turn - 1].num_labels
                values_above = np.zeros(int(offsets[low_high[1]]) - first, np.float32)
            else:
                above = self._offsets[player][0], views[0], layer.num_labels
                values_above = np.zeros(views[1] - views[0], np.float32)
            tables = theirs[turn]
            against = tables.average if mode == BEST_RESPONSE else tables.plan
            hand_sweeps.back_up(
                player,
                self._turns[turn],
                layer,
                views,
                (against, tree.layers[1 - player][turn].after),
                values,
                above,
                values_above,
                own[turn].regrets,
                scratch,
                mode,
                discounts,
            )
            values = values_above
        return values

    def _average(self, player: int, piece: tuple[int, int], weight: float) -> None:
        """The average takes the plan that was used in this iteration, before it changes."""
        for turn, layer in enumerate(self.tree.layers[player]):
            low, high = self._views(player, turn, piece)
            tables = self._tables[player][turn]
            hand_sweeps.add_plan(
                tables.average, tables.plan, np.float32(weight), int(layer.after[low]), int(layer.after[high])
            )

    def _forward(self, player: int, piece: tuple[int, int]) -> None:
        """From the root, for some hands: plans by regret matching."""
        own, layers = self._tables[player], self.tree.layers[player]
        for turn, layer in enumerate(layers):
            above = max(turn - 1, 0)
            hand_sweeps.forward(
                player,
                self._turns[turn],
                layer,
                self._views(player, turn, piece),
                layers[above],
                own[above].plan,
                own[above].regrets,
                own[turn].regrets,
                own[turn].plan,
                self._turns[above].bets,
            )

    def opening(self) -> list[Opening]:
        """What the first player's hands are worth, and how often she bets with them before the first card."""
        layer, average = self.tree.layers[0][0], self._tables[0][0].average
        probability = np.add.reduceat(layer.weight.astype(np.float64), layer.first_node[:-1])
        value = self._best_response(0) / probability
        called, checked = int(self._turns[0].called[0]), int(self._turns[0].checked[0])
        bets = average[called::2] / (average[called::2] + average[checked::2])
        return [
            Opening(int(hand), float(p), float(v), float(bet))
            for hand, p, v, bet in zip(self.tree.first_hands, probability, value, bets, strict=True)
        ]

    def last_bets(self) -> list[LastBet]:
        """How the averages bet before the very last card."""
        last = self.tree.turns - 1
        turn, layers = self._turns[last], [layers[last] for layers in self.tree.layers]
        sums = np.zeros((int(turn.stakes.max()) + 1, 2, 3))
        _add_last_bets(turn, *layers, self._tables[0][last].average, self._tables[1][last].average, sums)
        sums /= self._total(0) * self._total(1)
        return [
            LastBet(stake, wins == 1, float(reached), float(bet / reached), float(called / bet) if bet > 0 else 0.0)
            for stake in range(len(sums))
            for wins, (reached, bet, called) in enumerate(sums[stake])
            if reached > 0
        ]


def _turn(tree: CardTree, turn: int) -> Turn:
    histories = tree.histories
    columns = [getattr(histories, name)[turn].copy() for name in Turn._fields[:7]]
    stakes = (1 + histories.calls).astype(np.float32)
    return Turn(*columns, *(stakes[which].copy() for which in (turn, turn + 1)))


def _value_offsets(tree: CardTree, player: int, turn: int) -> np.ndarray:
    layer = tree.layers[player][turn]
    rows = np.maximum(layer.num_labels, 1).astype(np.int64)
    return np.concatenate([[0], np.cumsum(rows * tree.histories.after[turn][layer.order])])


def _pieces(tree: CardTree, player: int) -> list[tuple[int, int]]:
    """Ranges of hands with about equally many views on the last turn."""
    first_view = tree.layers[player][-1].first_view
    cuts = np.searchsorted(first_view, np.linspace(0, first_view[-1], PIECES + 1)).tolist()
    cuts[0], cuts[-1] = 0, len(first_view) - 1
    cuts = sorted(set(cuts))
    return list(itertools.pairwise(cuts))


@compiled
def _add_last_bets(turn, layer_0, layer_1, average_0, average_1, sums):
    """Per stake and whether the bettor wins: probability that a bet may be made, is made, and is made and called."""
    for view in range(len(layer_0.parent)):
        order = layer_0.order[view]
        bettor = turn.mover[order]
        bets, first, checked, called = turn.bets[order], turn.first[order], turn.checked[order], turn.called[order]
        for node in range(layer_0.first_node[view], layer_0.first_node[view + 1]):
            at_0, at_1 = layer_0.after[view], layer_1.after[layer_0.other[node]]
            wins = 1 if (layer_0.wins[node] == 1) == (bettor == 0) else 0
            weight = np.float64(layer_0.weight[node])
            for bet in range(bets):
                stays_0, goes_0 = average_0[at_0 + checked + first + bet], average_0[at_0 + called + bet]
                stays_1, goes_1 = average_1[at_1 + checked + first + bet], average_1[at_1 + called + bet]
                # Who does not bet has the same plan after a check as before; the bettor's is divided.
                reach_0 = stays_0 + goes_0 if bettor == 0 else stays_0
                reach_1 = stays_1 + goes_1 if bettor == 1 else stays_1
                made = goes_0 * reach_1 if bettor == 0 else reach_0 * goes_1
                entry = sums[np.int64(turn.stakes[order, first + bet]), wins]
                entry[0] += weight * reach_0 * reach_1
                entry[1] += weight * made
                entry[2] += weight * goes_0 * goes_1
