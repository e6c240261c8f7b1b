"""Chance-sampled CFR on Toepen of any size: `DealSolver`.

    solver = DealSolver(pyspiel.load_game("python_toepen"), Abstraction("other", "00000011"))
    solver.run(100_000)
    blocks = solver.blocks()      # the average policy; `solvers.toepen_response` says how good it is

Each iteration deals once and does everything both players can do with these cards, all betting histories at a time
(`solvers.toepen.deal_walk`). Information is abstracted: where the own cards stand among those of their suits that are
still out, who led, the bets in order, and a memory of the cards played (`solvers.toepen.views`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cardtable.compiled import compiled
from cardtable.player import Player
from cardtable.randomness import generator
from cardtable.spiel import CardGame
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.learning.states import MOST, require_state
from solvers.learning.trainer import game_identity, require_iterations
from solvers.toepen import deal_walk as walk
from solvers.toepen.block_player import block_player
from solvers.toepen.blocks import (
    CONTEXT,
    FREE,
    LABELS,
    PLACES,
    START,
    Blocks,
    block_lengths,
    enter_all,
    free_slots,
    order_of,
    require_views,
    seat_of,
    turn_of,
)
from solvers.toepen.histories import betting_histories
from solvers.toepen.places_table import positions_of
from solvers.toepen.views import NO_MEMORY, NUM_SEEN, Abstraction, suit_numbers
from toepen_spiel import rules as toepen
from toepen_spiel import state as slots

FIRST_VIEWS = 1 << 16
CHUNK = 1 << 14  # deals between two looks at weights and memory
FIRST_NUMBERS = 1 << 22
WEIGHT = 1e-3  # of an iteration in the average, times its number: sums of millions stay small


class DealSolver:
    """CFR with sampled deals and averages weighted by the iteration; `plus` keeps regrets from becoming negative.

    On 4-8-3 that was better than regrets weighted by the iteration (linear CFR), with and without `plus`.
    """

    def __init__(
        self,
        game: CardGame,
        abstraction: Abstraction = NO_MEMORY,
        seed: int = 1,
        plus: bool = True,
        max_memory_bytes: int | None = None,
    ) -> None:
        root = game.rules.root
        suits, ranks, hand_size = (int(root[slot]) for slot in (slots.SUITS, slots.RANKS, slots.HAND_SIZE))
        betting, self._follow_suit = bool(root[slots.BETTING]), bool(root[slots.FOLLOW_SUIT])
        self.game, self.abstraction, self.seed, self.plus = game, abstraction, seed, plus
        self.iterations = 0
        self._max_memory_bytes = max_memory_bytes
        self._histories = betting_histories(hand_size, betting)
        self._memory, classes = abstraction.arrays()
        self._slots = free_slots(FIRST_VIEWS)
        self._regrets, self._averages = np.zeros(FIRST_NUMBERS, np.float32), np.zeros(FIRST_NUMBERS, np.float32)
        self._size = np.zeros(2, np.int64)
        # The walk plays the cards; bets are vectors. So its states are of the game without betting.
        cards_only = toepen.toepen_rules(suits, ranks, hand_size, False, self._follow_suit)
        self._work = _work(cards_only.new_state(), self._histories, classes, seed)

    @property
    def num_views(self) -> int:
        return int(self._size[walk.USED_VIEWS])

    @property
    def memory_bytes(self) -> int:
        return self._slots.nbytes + 2 * self._regrets.nbytes

    def _tables(self) -> walk.Tables:
        return walk.Tables(self._slots, self._regrets, self._averages, self._size)

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        floor = np.float32(0.0 if self.plus else -np.inf)
        if iterations == 0:  # compiles
            walk.run_deals(self._tables(), self._work, self._memory, np.empty(0, np.float32), floor)
        while iterations > 0:
            count = min(iterations, CHUNK)
            weights = ((self.iterations + 1 + np.arange(count)) * WEIGHT).astype(np.float32)
            done = walk.run_deals(self._tables(), self._work, self._memory, weights, floor)
            self.iterations += done
            iterations -= done
            if done < count:
                self._grow()

    def metrics(self) -> dict[str, float]:
        """What it knows of itself; how good it is, `solvers.toepen_response` tells."""
        return {"views": self.num_views, "numbers": int(self._size[walk.USED_NUMBERS])}

    def player(self) -> Player:
        return block_player("views", self.game, self.blocks())

    def _grow(self) -> None:
        numbers, views = self._size + self._work.room
        if 2 * views > len(self._slots):
            larger = free_slots(len(self._slots))
            enter_all(self._slots, larger)
            self._slots = larger
        if numbers > len(self._regrets):
            length = max(int(numbers), 3 * len(self._regrets) // 2)
            added = 4 * (2 * length - len(self._regrets))  # one of the two is copied at a time
            require_memory(
                added, allowed_bytes(self._max_memory_bytes), f"a table of {self.num_views} views", "another"
            )
            for name in ("_regrets", "_averages"):
                larger = np.zeros(length, np.float32)
                larger[: self._size[0]] = getattr(self, name)[: self._size[0]]
                setattr(self, name, larger)

    def _views(self) -> np.ndarray:
        """The entries of all views, in the order of their blocks: that of the slots is another after `set_state`."""
        entries = self._slots[self._slots[:, START] != FREE]
        order = (entries[:, PLACES], entries[:, CONTEXT], self._lengths(entries), entries[:, START])
        return np.ascontiguousarray(entries[np.lexsort(order)])

    def _lengths(self, entries: np.ndarray) -> np.ndarray:
        """How many regrets each view has; none, if it is the other's turn in a game without bets."""
        return block_lengths(entries, self._histories, 2 * self._histories.bets, self._histories.after)

    def blocks(self, most_views: int | None = None) -> Blocks:
        """The average policy; it goes by the stake and who bet last, not by the order of the bets.

        With `most_views` only so many views are kept, those where the player's own choices lead most often: whoever
        hardly ever gets somewhere loses little by playing at random there.
        """
        entries = self._views()
        if most_views is not None and len(entries) > most_views:
            weights = _weights(entries, self._averages, self._histories)
            entries = entries[np.sort(np.argsort(-weights, kind="stable")[:most_views])]
        compact = free_slots(len(entries))
        numbers = np.zeros(int(self._size[0]), np.float32)
        histories = self._histories
        used = _normalise(entries, self._averages, histories, histories.kinds(), self._follow_suit, numbers)
        enter_all(entries, compact)
        return Blocks(compact, numbers[:used].copy(), self.abstraction)

    def identity(self) -> dict[str, Any]:
        return game_identity(self.game) | {
            "solver": "CFR by deals, linear averages",
            "abstraction": list(self.abstraction),
            "seed": self.seed,
            "plus": self.plus,
        }

    def get_state(self) -> dict[str, Any]:
        """Everything a solver like this one needs to go on, bit for bit; copies."""
        used = int(self._size[0])
        return {
            "identity": self.identity(),
            "iterations": self.iterations,
            "views": self._views(),
            "regrets": self._regrets[:used].copy(),
            "averages": self._averages[:used].copy(),
            "generator": self._work.generator.copy(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state of `get_state`; ValueError, and nothing changed, if it is one of another solver."""
        if state.get("identity") != self.identity():
            raise ValueError(f"the solver state is one of {state.get('identity')}, not of {self.identity()}")
        like = {"iterations": 0, "views": self._slots, "regrets": self._regrets, "averages": self._averages}
        require_state(state, {**like, "generator": self._work.generator}, dict.fromkeys(list(like)[1:], MOST))
        views, used = state["views"], len(state["regrets"])
        self._require_views(views, used)
        if len(state["averages"]) != used:
            raise ValueError("the solver state has not as many averages as regrets")
        self._slots = free_slots(max(len(views), FIRST_VIEWS))
        enter_all(views, self._slots)
        length = max(FIRST_NUMBERS, used + int(self._work.room[0]))
        self._regrets, self._averages = np.zeros(length, np.float32), np.zeros(length, np.float32)
        self._regrets[:used], self._averages[:used] = state["regrets"], state["averages"]
        self._size[[walk.USED_NUMBERS, walk.USED_VIEWS]] = used, len(views)
        self._work.generator[:] = state["generator"]
        self.iterations = int(state["iterations"])

    def _require_views(self, views: np.ndarray, used: int) -> None:
        """ValueError unless these are views of the game, whose blocks lie one behind the other in so many numbers."""
        histories = self._histories
        require_views(views, histories)
        lengths = self._lengths(views)
        follows_on = np.array_equal(views[:, START], np.cumsum(lengths) - lengths) and lengths.sum() == used
        if not follows_on or not _labels_fit(views, histories, self._follow_suit):
            raise ValueError("the views of the solver state are not a table of its numbers")


@compiled
def _labels_fit(views, histories, follow_suit):
    """Whether all views have as many labels as their places tell."""
    labels, shares = np.zeros(64, np.int64), np.zeros(64, np.int64)
    last = len(histories.mover) - 2
    for row in range(len(views)):
        context = views[row, CONTEXT]
        turn, order = turn_of(context), order_of(context)
        expected = 1
        if histories.mover[turn, order] == seat_of(context) and turn != last:
            expected = positions_of(views[row, PLACES], turn % 2 == 0, follow_suit, labels, shares)[1]
        if views[row, LABELS] != expected:
            return False
    return True


@compiled
def _weights(entries, averages, histories):
    """Of each view: the sum of its averages."""
    weights = np.zeros(len(entries))
    last = len(histories.mover) - 2
    for row in range(len(entries)):
        context = entries[row, CONTEXT]
        turn, order, start = turn_of(context), order_of(context), entries[row, START]
        length = 2 * histories.bets[turn, order]
        if histories.mover[turn, order] == seat_of(context) and turn < last and entries[row, LABELS] > 1:
            start += length  # every history has a choice of a card, not every one a bet
            length = entries[row, LABELS] * histories.after[turn, order]
        for place in range(start, start + length):
            weights[row] += averages[place]
    return weights


@compiled
def _normalise(entries, averages, histories, kinds, follow_suit, numbers):
    """Turns averages into probabilities, block by block, one behind the other; returns how many numbers they are.

    Averages of histories of a kind are added up first: on 4-8-3 that changed NashConv by 0.001, and a table of kinds is
    much smaller than one of histories.
    """
    used = 0
    labels, shares = np.zeros(64, np.int64), np.zeros(64, np.int64)
    sums = np.zeros((kinds.max() + 1, 64))
    last = len(histories.mover) - 2
    for row in range(len(entries)):
        context = entries[row, CONTEXT]
        seat, turn, order = seat_of(context), turn_of(context), order_of(context)
        bets, after, num_labels = histories.bets[turn, order], histories.after[turn, order], entries[row, LABELS]
        start = entries[row, START]
        entries[row, START] = used
        own_kinds = kinds[turn, order, histories.first[turn, order] :]
        sums[:, :2] = 0.0
        for place in range(bets):
            sums[own_kinds[place], 0] += averages[start + place]
            sums[own_kinds[place], 1] += averages[start + bets + place]
        for place in range(bets):
            no, yes = sums[own_kinds[place], 0], sums[own_kinds[place], 1]
            numbers[used + place] = yes / (no + yes) if no + yes > 0.0 else 0.5
        used += bets
        if histories.mover[turn, order] != seat or turn == last or num_labels == 1:
            continue
        count, _ = positions_of(entries[row, PLACES], turn % 2 == 0, follow_suit, labels, shares)
        own_kinds = kinds[turn + 1, order if turn % 2 == 0 else 2 * order]
        sums[:, :num_labels] = 0.0
        for label in range(num_labels):
            for history in range(after):
                sums[own_kinds[history], label] += averages[start + 2 * bets + label * after + history]
        for history in range(after):
            weights = sums[own_kinds[history], :num_labels]
            total = weights.sum()
            for card in range(count):
                label = labels[card]
                chance = weights[label] / total if total > 0.0 else shares[card] / count
                numbers[used + label * after + history] = chance
        used += num_labels * after
    return used


def _work(root: np.ndarray, histories: Any, classes: np.ndarray, seed: int) -> walk.DealWork:
    hand_size, num_cards = int(root[slots.HAND_SIZE]), int(root[slots.SUITS] * root[slots.RANKS])
    turns, width = histories.turns, histories.width
    nodes, level = 0, 1
    for turn in range(turns):
        nodes += level
        level *= hand_size - turn // 2
    views = 2 * nodes
    return walk.DealWork(
        root=root,
        generator=generator(seed),
        states=np.zeros((turns + 1, len(root)), np.int64),
        memories=np.zeros((turns + 1, 2), np.int64),
        nodes=np.zeros((turns + 1, walk.NODE_WORDS), np.int64),
        children=np.zeros((turns + 1, hand_size, 3), np.int64),
        vectors=np.zeros((turns + 1) * walk.NUM_VECTORS * width, np.float32),
        strategies=np.zeros((turns + 1) * hand_size * width, np.float32),
        child_values=np.zeros((turns + 2) * hand_size * width, np.float32),
        stakes=(1 + histories.calls).astype(np.float32).reshape(-1),
        turns=histories.packed(),
        seen=np.zeros((slots.MAX_SUITS, NUM_SEEN), np.int64),
        own_numbers=np.zeros(slots.MAX_SUITS, np.int64),
        cards=np.zeros((3, num_cards), np.int64),
        suit_numbers=suit_numbers(),
        classes=classes,
        one=np.array([0.0, *(1.0 / n for n in range(1, math.comb(hand_size, 1) + slots.MAX_SUITS))], np.float32),
        room=np.array([views * (2 + hand_size) * width, views], np.int64),
    )
