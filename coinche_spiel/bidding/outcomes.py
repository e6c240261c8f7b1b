"""What an auction is worth once it is over, if everybody's cards are known: double dummy points and the noise of
play.

Real players take what double dummy says, more or less: with `dd` points for the attack, a contract of value V is made
with probability 1 / (1 + exp(-(dd + SHIFT + 1/2 - V) / SPREAD)). Shift and spread were fitted on deals in which all
four hands were played by search over imagined worlds; a capot that double dummy promises is usually, not always,
found.
"""

from __future__ import annotations

from cardtable.compiled import compiled
from coinche_spiel.bidding.calls import expected_score
from coinche_spiel.bidding.payoffs import FALL, FALL_SLOPE, MADE, MADE_SLOPE, write_payoff
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.scoring import belote_points
from coinche_spiel.state import CAPOT, NONE, VALUE, attacking_team, contract_value, level

SHIFT = -1.6
SPREAD = 12.0
CAPOT_FOUND = 0.85  # of those that double dummy promises
CAPOT_GIVEN = 0.03  # of those that it denies


@compiled
def contract_worth(state, north_south, pays):
    """What North and South can expect of the contract of a state whose auction is over; void deals are worth nothing.

    `north_south` are their double dummy points with the contract's trump, more than 162 if they take all tricks; `pays`
    is room for the two lines of `payoffs`.
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
        chance = CAPOT_FOUND if swept else CAPOT_GIVEN
        made = pays[MADE] + TOTAL_POINTS * pays[MADE_SLOPE]
        worth = chance * made + (1.0 - chance) * (pays[FALL] + points * pays[FALL_SLOPE])
    else:
        reached = points + SHIFT + belote_points(state, attack)
        worth = expected_score(reached, contract_value(state), SPREAD, 1.0, pays, 0)
    return worth if attack == 0 else -worth
