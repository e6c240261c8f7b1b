"""What an auction is worth once it is over, if somebody knows what the play would bring: points and the noise of play.

Players who search take what double dummy says, more or less: with `dd` points for the attack, a contract of value V
is made with probability 1 / (1 + exp(-(dd + shift + 1/2 - V) / spread)). Shift and spread were fitted on deals in
which all four hands were played by search over imagined worlds; a capot that double dummy promises is usually, not
always, found. Where the points are those of cards that really fell, there is no noise.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.calls import expected_score
from coinche_spiel.bidding.payoffs import FALL, FALL_SLOPE, MADE, MADE_SLOPE, write_payoff
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.scoring import belote_points
from coinche_spiel.state import CAPOT, NONE, VALUE, attacking_team, contract_value, level

# How play differs from the points that are known: shift and spread, and how often a capot is made that they promise or
# deny.
PLAY_SHIFT, PLAY_SPREAD, CAPOT_FOUND, CAPOT_GIVEN = range(4)
SEARCHED = np.array([-1.6, 12.0, 0.85, 0.03])  # double dummy points, cards found by search
AS_PLAYED = np.array([0.0, 0.02, 1.0, 0.0])  # points that were really taken


@compiled
def contract_worth(state, north_south, play, pays):
    """What North and South can expect of the contract of a state whose auction is over; void deals are worth nothing.

    `north_south` are their points with the contract's trump, more than 162 if they take all tricks; `play` is SEARCHED
    or AS_PLAYED, `pays` is room for the two lines of `payoffs`.
    """
    if state[VALUE] == NONE:
        return 0.0
    attack = attacking_team(state)
    write_payoff(state, state[VALUE], level(state), attack, pays, 0)
    points = min(north_south, TOTAL_POINTS)
    swept = north_south > TOTAL_POINTS
    if attack == 1:
        points = TOTAL_POINTS - points
        swept = north_south <= 0
    if state[VALUE] == CAPOT:
        chance = play[CAPOT_FOUND] if swept else play[CAPOT_GIVEN]
        made = pays[MADE] + TOTAL_POINTS * pays[MADE_SLOPE]
        worth = chance * made + (1.0 - chance) * (pays[FALL] + points * pays[FALL_SLOPE])
    else:
        reached = points + play[PLAY_SHIFT] + belote_points(state, attack)
        worth = expected_score(reached, contract_value(state), play[PLAY_SPREAD], 1.0, pays, 0)
    return worth if attack == 0 else -worth
