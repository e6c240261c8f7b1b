"""The score of a deal: was the contract made, and what does each team get (RULES.md, "The score")."""

from __future__ import annotations

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from coinche_spiel.cards import KING, NUM_RANKS, QUEEN
from coinche_spiel.state import (
    BELOTE,
    CAPOT,
    CARD_POINTS_TOO,
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
SWEEP_POINTS = 90  # under `points`, what all tricks are worth beside their cards: the last one counts 100 instead of 10


@compiled
def attack_points(state):
    """What counts towards the contract: the card points of the attack, with the last trick and belote."""
    team = attacking_team(state)
    return state[POINTS + team] + belote_points(state, team)


@compiled
def belote_points(state, team):
    """20 if belote is played and one hand of the team was dealt king and queen of trumps, else 0."""
    if state[BELOTE]:
        pair = BELOTE_PAIR << NUM_RANKS * state[TRUMP]
        for seat in range(team, state[PLAYERS], 2):
            if state[deck.DEALT + seat] & pair == pair:
                return BELOTE_POINTS
    return 0


@compiled
def is_made(state):
    """Whether the attack has kept its word; asked at the end of the play. A capot counts tricks, not points."""
    if state[VALUE] == CAPOT:
        return state[TRICKS + attacking_team(state)] == state[HAND_SIZE]
    return attack_points(state) >= contract_value(state)


@compiled
def factor_at(state, at_level):
    """By how much a score is multiplied when it is not coinched (0), coinched (1), surcoinched (2)."""
    if at_level == 0:
        return 1
    return 2 if at_level == 1 else state[SURCOINCHE_FACTOR]


@compiled
def contract_scores(state, value, is_capot, at_level, made, scheme):
    """(attack, defence) for a contract of this value at this level under a scheme that asks for nothing else."""
    factor = factor_at(state, at_level)
    pays_value = is_capot or (state[COINCHED_FALL_IS_VALUE] and at_level > 0)
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
def points_difference(value, at_level, factor, made, points, total, swept, belote, their_belote):
    """What the attack is ahead under `points`, in which card points and belote are scored beside the contract."""
    if made and at_level == 0:
        sweep = SWEEP_POINTS if swept else 0
        return value + points + sweep + belote - (total - points) - their_belote
    stake = total + factor * value + belote + their_belote  # all of it goes to the side that is right
    if not made:
        return -stake
    return stake + (SWEEP_POINTS if swept else 0)


@compiled
def team_scores(state, made, scheme):
    """(attack, defence) under a reward scheme, if the contract of this state is made or not."""
    at_level = level(state)
    value = contract_value(state)
    if scheme == CARD_POINTS_TOO:
        team = attacking_team(state)
        ahead = points_difference(
            value,
            at_level,
            factor_at(state, at_level),
            made,
            state[POINTS + team],
            state[POINTS] + state[POINTS + 1],
            state[TRICKS + team] == state[HAND_SIZE],
            belote_points(state, team),
            belote_points(state, 1 - team),
        )
        return ahead, -ahead
    return contract_scores(state, value, state[VALUE] == CAPOT, at_level, made, scheme)


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
