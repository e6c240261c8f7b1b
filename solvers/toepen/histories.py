"""Betting histories of Toepen, numbered so that a turn's betting moves whole runs of them.

What may be bet depends on who plays when, not on cards: who bet last may not bet again. So everything that is known
about a position apart from its bets (a node of the cards played, a player's view of it) has a short vector over betting
histories. They stand in three groups,

    [ player 0 bet last | nobody has bet | player 1 bet last ],

so those in which a player may bet are one run: for player 0 all but the first group, for player 1 all but the last. A
bet that is called makes the bettor the last one: the run is copied, in order, to the front (player 0) or to the end
(player 1). Nothing else moves, and inner loops over histories run along memory.

A turn is one card. `order` is who has led so far, one bit a trick; the first trick is led by player 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable.compiled import compiled
from toepen_spiel.state import BETTING, CARDS_PLAYED, HAND_SIZE, history_entry

NOBODY = 0  # who bet last: 0 nobody, 1 + player
MOVER, BEFORE, FIRST_BET, NUM_BETS, AFTER, CHECKED, CALLED = range(7)  # columns of `Histories.packed`


class Histories(NamedTuple):
    """The betting of every turn; arrays over [turn, order]. Turn 2 * hand_size is the end of the hand."""

    mover: np.ndarray  # who plays the card
    before: np.ndarray  # histories before the bet of this turn
    first: np.ndarray  # the first of them in which the mover may bet
    bets: np.ndarray  # in how many she may
    after: np.ndarray  # histories after the bet
    checked: np.ndarray  # history h is h + checked if there is no bet
    called: np.ndarray  # history first + k is called + k after a bet and a call
    calls: np.ndarray  # [turn, order, history] before the bet: how many bets were called so far; the stake is one more
    bettor: np.ndarray  # [turn, order, history] before the bet: who bet last

    @property
    def turns(self) -> int:
        return len(self.mover) - 1

    @property
    def width(self) -> int:
        """The most histories there are."""
        return int(self.before.max())

    def packed(self) -> np.ndarray:
        """[turn, order, column]: one array for compiled code."""
        return np.stack(self[: CALLED + 1], axis=-1)

    def kinds(self) -> np.ndarray:
        """[turn, order, history] before the bet: with as many calls and the same last bettor they are of a kind."""
        return 3 * self.calls + self.bettor

    def most_before(self, turn: int) -> int:
        return int(self.before[turn].max())


def betting_histories(hand_size: int, betting: bool) -> Histories:
    turns, orders = 2 * hand_size, 1 << hand_size - 1
    calls: dict[tuple[int, int], np.ndarray] = {(0, 0): np.zeros(1, np.int64)}
    bettor: dict[tuple[int, int], np.ndarray] = {(0, 0): np.zeros(1, np.int64)}
    table = np.zeros((7, turns + 1, orders), np.int64)
    mover, before, first, bets, after, checked, called = table
    for turn in range(turns + 1):
        for order in range(1 << min(turn // 2, hand_size - 1)):
            leader = order & 1
            player = leader if turn % 2 == 0 else 1 - leader
            own_calls, own_bettor = calls[turn, order], bettor[turn, order]
            eligible = np.flatnonzero(own_bettor != 1 + player) if betting and turn < turns else np.empty(0, np.int64)
            start = int(eligible[0]) if len(eligible) else 0
            run = slice(start, start + len(eligible))
            mover[turn, order], before[turn, order], first[turn, order] = player, len(own_calls), start
            bets[turn, order], after[turn, order] = len(eligible), len(own_calls) + len(eligible)
            checked[turn, order], called[turn, order] = (len(eligible), 0) if player == 0 else (0, len(own_calls))
            raised = own_calls[run] + 1, np.full(len(eligible), 1 + player)
            parts = [(raised[0], own_calls), (raised[1], own_bettor)]
            if player == 1:
                parts = [pair[::-1] for pair in parts]
            if turn == turns:
                continue
            followers = [order] if turn % 2 == 0 or turn == turns - 1 else [2 * order, 2 * order + 1]
            for follower in followers:
                calls[turn + 1, follower], bettor[turn + 1, follower] = (np.concatenate(pair) for pair in parts)
    width = int(before.max())
    padded = np.zeros((2, turns + 1, orders, width), np.int64)
    for (turn, order), numbers in calls.items():
        padded[0, turn, order, : len(numbers)] = numbers
        padded[1, turn, order, : len(numbers)] = bettor[turn, order]
    return Histories(*table, *padded)


@compiled
def place_in_histories(state):
    """(order of leaders, number of the betting history before the bet of the present turn) of a state of the game."""
    order = 0
    place = 0
    size = 1
    last_of_first = 0  # how many histories have player 0 as the last to bet
    for index in range(state[CARDS_PLAYED]):
        _, called, player = history_entry(state, index)
        if index % 2 == 0:
            order = order << 1 | player
        if state[BETTING] == 0:
            continue
        if player == 0:
            run = size - last_of_first
            place = place - last_of_first if called else place + run
            last_of_first += run
        else:
            run = last_of_first + 1
            place = size + place if called else place
        size += run
    return order, place


@compiled
def order_now(state, order, mover):
    """The order with the leader of the present trick, if this turn leads it."""
    turn = state[CARDS_PLAYED]
    if turn % 2 == 0 and turn < 2 * state[HAND_SIZE]:
        return order << 1 | mover
    return order
