"""What an auction is worth once it is over, if somebody knows what the play would bring: points and the noise of play.

Players who search take what is foretold, more or less: with `p` points for the attack, a contract of value V is made
with probability 1 / (1 + exp(-(p + shift + 1/2 - V) / spread)). Shift and spread were fitted on contracts of the fast
bidder in which all four hands were played by search over imagined worlds (`experiments.coinche_foresight`): one line
for points of open cards (double dummy), one for a mean of these and of what a network takes that sees one hand, which
foretells a little better. Where the points are those of cards that really fell, there is no noise.

A capot is another matter: open cards promise it, and it is found half of the time, whatever the promise of this deal
alone; where nearly all worlds promise it, nearly always. How that rises was chosen by eye: few such deals were seen.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.calls import expected_score
from coinche_spiel.bidding.payoffs import FALL, FALL_SLOPE, MADE, MADE_SLOPE, write_payoff
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.scoring import belote_points
from coinche_spiel.state import CAPOT, NONE, VALUE, attacking_team, contract_value, level

# How play differs from the points that are foretold: shift and spread, and how often a capot is made that open cards
# promise or deny, in deals in which one might be called.
PLAY_SHIFT, PLAY_SPREAD, CAPOT_FOUND, CAPOT_GIVEN = range(4)
SEARCHED = np.array([-1.6, 12.0, 0.58, 0.02])  # points of open cards, cards found by search
OPEN_SHARE = 0.66  # of open cards, the rest being what the network takes; cards found by search
FORETOLD = np.array([0.0, 10.0])
CAPOT_FOUND_UNSURE, SURE = 0.5, 20  # of promised capots; how steeply that rises to one where all worlds promise it
AS_PLAYED = np.array([0.0, 0.02, 1.0, 0.0])  # points that were really taken


@compiled
def contract_worth(state, north_south, play, pays):
    """What North and South can expect of the contract of a state whose auction is over; void deals are worth nothing.

    `north_south` are their points with the contract's trump, more than 162 if they take all tricks; `play` is SEARCHED
    or AS_PLAYED, `pays` is room for the two lines of `payoffs`.
    """
    if state[VALUE] == NONE:
        return 0.0
    swept = north_south > TOTAL_POINTS if attacking_team(state) == 0 else north_south <= 0
    return expected_worth(state, north_south, play[CAPOT_FOUND] if swept else play[CAPOT_GIVEN], play, pays)


@compiled
def capot_chance(promised):
    """How likely a capot is made that open cards promise in this share of the worlds; never, if nobody asked (NONE)."""
    if promised <= 0.0:
        return 0.0
    return CAPOT_FOUND_UNSURE * promised + (1.0 - CAPOT_FOUND_UNSURE) * promised**SURE


@compiled
def expected_worth(state, north_south, capot_chance, play, pays):
    """The same of a contract that there is, if a capot would be made with this chance."""
    attack = attacking_team(state)
    write_payoff(state, state[VALUE], level(state), attack, pays, 0)
    points = min(north_south, TOTAL_POINTS)
    if attack == 1:
        points = TOTAL_POINTS - points
    if state[VALUE] == CAPOT:
        made = pays[MADE] + TOTAL_POINTS * pays[MADE_SLOPE]
        worth = capot_chance * made + (1.0 - capot_chance) * (pays[FALL] + points * pays[FALL_SLOPE])
    else:
        reached = points + play[PLAY_SHIFT] + belote_points(state, attack)
        worth = expected_score(reached, contract_value(state), play[PLAY_SPREAD], 1.0, pays, 0)
    return worth if attack == 0 else -worth
