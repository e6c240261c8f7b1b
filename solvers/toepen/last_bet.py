"""The last bet of a hand of Toepen by arithmetic.

Before the very last card its player knows whether she wins, and the other, whose cards are all on the table, knows
nothing else. With W and L the weights of the cards with which she wins and loses, as her own play up to here leaves
them, and stake a, it is a game of two choices each whose equilibrium can be written down:

    winners bet; losers bet as often as makes one bet in 2 (a + 1) a bluff:   L * bluffs = min(L, W / (2 a + 1));
    a bet is called with 2 a / (2 a + 1), so that bluffing is as good as giving up.

(If L is too small for that many bluffs the other had better fold; he does not know W and L of a stranger, and calls
all the same.) A call is sure if no card that she may have wins, a fold if every one does.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from cardtable.elementwise import elementwise, positive, share
from solvers.toepen.histories import Histories

SURE_CALL, SURE_FOLD = range(2)  # rows of `call_rows` behind those of the orders of leaders


def call_rows(histories: Histories) -> np.ndarray:
    """Probabilities of calling the last bet: by order of leaders and history in which a bet may be made."""
    turn, orders = histories.turns - 1, histories.calls.shape[1]
    rows = np.zeros((orders + 2, histories.width))
    for order in range(orders):
        first, bets = int(histories.first[turn, order]), int(histories.bets[turn, order])
        double = 2.0 * (1 + histories.calls[turn, order, first : first + bets])
        rows[order, :bets] = double / (double + 1)
    rows[orders + SURE_CALL] = 1.0
    return rows


@compiled
def call_row(order, orders, possible, winners):
    """The row for a card led; `possible` are the cards that the bettor may have, `winners` those of them that win."""
    if winners == 0:
        return orders + SURE_CALL
    return orders + SURE_FOLD if winners == possible else order


@compiled
def bluffs(winners, losers, stake):
    """How often losers bet, from the weights of both."""
    return min(1.0, winners / ((2 * stake + 1) * losers)) if losers > 0.0 else 0.0


@elementwise("stays", "goes", "folds")
def bet_by_arithmetic(stays, goes, folds, winners, losers, stakes, *, one):
    """The same for all histories: what is won without the bet, what with it if it is called, and how much is bet."""
    bluffing = losers - positive(losers - share(winners, one + stakes + stakes, losers))
    return losers - bluffing, bluffing - winners, winners + bluffing
