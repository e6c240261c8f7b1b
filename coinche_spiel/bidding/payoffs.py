"""What a contract pays the attack, as two straight lines in its card points: one if it is made, one if it falls.

Teams play against each other, so what counts is half of own return minus theirs; in a zero-sum game that is the own
return. In a match it is what the deal does to the chance of winning the match (`match_score`), told in points: as
many as would change that chance as much at this score.

Nothing here knows the cards. Belote is added by those who see king and queen.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.match_score import score_in_points
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.scoring import SWEEP_POINTS, contract_scores, factor_at, points_difference
from coinche_spiel.state import (
    CAPOT,
    CAPOT_VALUE,
    CARD_POINTS_TOO,
    CLASSIC,
    MIN_BID,
    REWARD,
    STATE_SIZE,
    TRICK_REWARD,
)

MADE, MADE_SLOPE, FALL, FALL_SLOPE = range(4)
PAYOFF_SIZE = 4


@compiled
def value_of_index(state, index):
    """What the contract with this index is called; a capot has its own value."""
    return state[CAPOT_VALUE] if index == CAPOT else state[MIN_BID] + 10 * index


@compiled
def write_payoff(state, index, at_level, attackers, out, at):
    """Writes the lines of a contract of a team: MADE + MADE_SLOPE * points, and the same of FALL."""
    is_capot = index == CAPOT
    value = value_of_index(state, index)
    out[at + MADE_SLOPE] = 0.0
    out[at + FALL_SLOPE] = 0.0
    if len(state) > STATE_SIZE:  # a match
        won = contract_scores(state, value, is_capot, at_level, True, CLASSIC)
        lost = contract_scores(state, value, is_capot, at_level, False, CLASSIC)
        out[at + MADE] = score_in_points(state, attackers, won[0], won[1])
        out[at + FALL] = score_in_points(state, attackers, lost[0], lost[1])
        return
    if state[REWARD] == CARD_POINTS_TOO:
        factor = factor_at(state, at_level)
        out[at + MADE] = points_difference(value, at_level, factor, True, 0, TOTAL_POINTS, False, 0, 0)
        out[at + FALL] = points_difference(value, at_level, factor, False, 0, TOTAL_POINTS, False, 0, 0)
        if at_level == 0:
            out[at + MADE_SLOPE] = 2.0
        if is_capot:
            out[at + MADE] += SWEEP_POINTS
    else:
        won = contract_scores(state, value, is_capot, at_level, True, state[REWARD])
        lost = contract_scores(state, value, is_capot, at_level, False, state[REWARD])
        out[at + MADE] = 0.5 * (won[0] - won[1])
        out[at + FALL] = 0.5 * (lost[0] - lost[1])
    weight = np.int64(state[TRICK_REWARD]).view(np.float64)
    if weight > 0.0:
        for line in (MADE, FALL):
            out[at + line] -= weight * TOTAL_POINTS
            out[at + line + 1] += 2.0 * weight
