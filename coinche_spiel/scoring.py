"""The score of a deal: was the contract made, and what does each team get (RULES.md, "The score")."""

from __future__ import annotations

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from coinche_spiel.cards import KING, NUM_RANKS, QUEEN
from coinche_spiel.state import (
    BELOTE,
    CAPOT,
    CLASSIC,
    COINCHED_FALL_IS_VALUE,
    FALL_POINTS,
    HAND_SIZE,
    MIRROR,
    NO_DEFENSE,
    NONE,
    OVER,
    PHASE,
    PLAYERS,
    POINTS,
    REWARD,
    SURCOINCHE_FACTOR,
    TRICK_REWARD,
    TRICKS,
    TRUMP,
    VALUE,
    attacking_team,
    contract_value,
    level,
)

BELOTE_POINTS = 20
BELOTE_PAIR = 1 << KING | 1 << QUEEN


@compiled
def attack_points(state):
    """What counts towards the contract: the card points of the attack, with the last trick and belote."""
    team = attacking_team(state)
    points = state[POINTS + team]
    if state[BELOTE]:
        pair = BELOTE_PAIR << NUM_RANKS * state[TRUMP]
        for seat in range(team, state[PLAYERS], 2):
            if state[deck.DEALT + seat] & pair == pair:
                points += BELOTE_POINTS
    return points


@compiled
def is_made(state):
    """Whether the attack has kept its word; asked at the end of the play. A capot counts tricks, not points."""
    if state[VALUE] == CAPOT:
        return state[TRICKS + attacking_team(state)] == state[HAND_SIZE]
    return attack_points(state) >= contract_value(state)


@compiled
def team_scores(state, made, scheme):
    """(attack, defence) under a reward scheme, if the contract of this state is made or not."""
    at_level = level(state)
    factor = 1
    if at_level == 1:
        factor = 2
    elif at_level == 2:
        factor = state[SURCOINCHE_FACTOR]
    value = contract_value(state)
    pays_value = state[VALUE] == CAPOT or (state[COINCHED_FALL_IS_VALUE] and at_level > 0)
    fall = value if pays_value else state[FALL_POINTS]
    if made:
        return factor * value, 0 if scheme == CLASSIC else -factor * value
    if scheme == CLASSIC:
        return 0, factor * fall
    if scheme == MIRROR:
        return -factor * fall, factor * fall
    if scheme == NO_DEFENSE:
        return -factor * fall, 0
    return -factor * value, factor * fall  # good


@compiled
def returns(state, out):
    """Every seat gets its team's number, plus what the tricks paid; 0 until the deal is over, and if it is void."""
    north_south = 0.0
    east_west = 0.0
    if state[PHASE] == OVER and state[VALUE] != NONE:
        attack, defence = team_scores(state, is_made(state), state[REWARD])
        tricks = np.int64(state[TRICK_REWARD]).view(np.float64) * (state[POINTS] - state[POINTS + 1])
        if attacking_team(state) == 0:
            north_south, east_west = attack + tricks, defence - tricks
        else:
            north_south, east_west = defence + tricks, attack - tricks
    for seat in range(state[PLAYERS]):
        out[seat] = north_south if seat & 1 == 0 else east_west
