"""What the points of the attack are worth to a team, as the rules of the deal at hand say.

The play under open cards is about points, and every score is a function of the points that the attack takes from the
current trick on (and of who was dealt belote, and of whether one side takes every trick). It is written down once for
a decision by asking the rules themselves about the end of the deal, so every reward scheme is served.

A number of points may stand for all tricks: SWEEP_BONUS more than there are is a sweep of the attack, less than none,
by as much, one of the defence.
"""

from __future__ import annotations

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from coinche_spiel.cards import KING, NUM_RANKS
from coinche_spiel.double_dummy.search import SWEEP_BONUS
from coinche_spiel.scoring import BELOTE_PAIR, returns
from coinche_spiel.state import (
    BELOTE,
    CAPOT,
    CARD_POINTS_TOO,
    HAND_SIZE,
    MAX_PLAYERS,
    OVER,
    PHASE,
    POINTS,
    REWARD,
    TRICKS,
    TRUMP,
    VALUE,
    attacking_team,
)

# Who was dealt king and queen of trumps: nobody both, a seat of the attack, a seat of the defence.
NOBODY, ATTACK, DEFENCE = range(3)
MOST_POINTS = 256  # 152 in the cards, and the last trick
PAYOFF_COLUMNS = MOST_POINTS + 2 * SWEEP_BONUS + 1
# What a point is worth beside the contract, as a share of what hangs on the contract: decides among equals.
POINT_SHARE = 0.0005


@compiled
def sweeps_count(state):
    """Whether taking every trick is worth something in itself."""
    return state[VALUE] == CAPOT or state[REWARD] == CARD_POINTS_TOO


@compiled
def write_payoffs(state, seat, left, table):
    """table[belote, a + SWEEP_BONUS]: what the seat's team gets if the attack takes `a` of the `left` points.

    `state` is changed and must be a copy. Returns the range of points, and whether the score is decided already.
    """
    attack = attacking_team(state)
    own = 1 if seat & 1 == attack else -1
    before_attack, before_defence = state[POINTS + attack], state[POINTS + 1 - attack]
    out = np.empty(MAX_PLAYERS)
    state[PHASE] = OVER
    pair = BELOTE_PAIR << NUM_RANKS * state[TRUMP]
    highest = left + SWEEP_BONUS if sweeps_count(state) else left
    lowest = -SWEEP_BONUS if sweeps_count(state) else 0
    for belote in range(DEFENCE + 1 if state[BELOTE] else NOBODY + 1):
        _deal_pair(state, pair, attack, belote)
        for points in range(lowest, highest + 1):
            taken = min(max(points, 0), left)
            state[POINTS + attack] = before_attack + taken
            state[POINTS + 1 - attack] = before_defence + left - taken
            swept = state[HAND_SIZE] if points > left else (0 if points < 0 else 1)
            state[TRICKS + attack] = swept
            state[TRICKS + 1 - attack] = state[HAND_SIZE] - swept
            returns(state, out)
            table[belote, points + SWEEP_BONUS] = out[seat]
    # What hangs on the contract, shared out to the points.
    at_stake = abs(table[NOBODY, highest + SWEEP_BONUS] - table[NOBODY, lowest + SWEEP_BONUS])
    share = POINT_SHARE * at_stake if at_stake > 0.0 else 1.0
    for belote in range(DEFENCE + 1 if state[BELOTE] else NOBODY + 1):
        for points in range(lowest, highest + 1):
            table[belote, points + SWEEP_BONUS] += own * share * points
    return lowest, highest, at_stake == 0.0 and not state[BELOTE]


@compiled
def _deal_pair(state, pair, attack, belote):
    """Gives king and queen of trumps to one seat, or to two."""
    king = 1 << NUM_RANKS * state[TRUMP] + KING
    for seat in range(MAX_PLAYERS):
        state[deck.DEALT + seat] &= ~pair
    if belote == NOBODY:
        state[deck.DEALT + attack] |= king
        state[deck.DEALT + 1 - attack] |= pair ^ king
    elif belote == ATTACK:
        state[deck.DEALT + attack] |= pair
    else:
        state[deck.DEALT + 1 - attack] |= pair


@compiled
def belote_of(dealt, pair, attack):
    """Who was dealt belote, in a world."""
    for seat in range(MAX_PLAYERS):
        if dealt[seat] & pair == pair:
            return ATTACK if seat & 1 == attack else DEFENCE
    return NOBODY
