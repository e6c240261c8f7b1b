"""The fast bidder: every call of a hand valued by what it can be expected to score.

With mu points expected for the own team in a suit (`holdings`, `contexts`), a contract of value V is made with
probability

    P = 1 / (1 + exp(-(mu + shift + 1/2 - V) / b)),

b being the spread of what is not known and of play. A contract is worth P * made + (1 - P) * kappa * fall: kappa
above one stands for the coinches that falls attract. Passing is worth what the present contract is worth, or a number
of its own while there is none; a coinche twice what the opponents lose. What else the future of the auction holds is
in a few margins, all tuned by playing (`experiments.coinche_bidder`).

`call_values` values the calls that can be best; `best_call` takes the best, `chance_of_call` is the softmax of the
values, which says how likely somebody of this kind makes a call with a hand.
"""

from __future__ import annotations

import math

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.bidding.contexts import (
    CALL,
    HAS_BELOTE,
    HAS_CAPOT,
    HIGHEST,
    JUDGEMENT_AT,
    LEVEL,
    LOWEST,
    MAY_COINCHE,
    NEXT_PAYS,
    NOBODY,
    NOW_PAYS,
    OFFSET_OF,
    OURS,
    PAYOFF_OF,
    SIDE,
    SILENT,
    SITUATION_OF,
    SITUATION_SIZE,
    SITUATIONS,
    SUIT,
    TAKES_OVER,
    VALUES,
)
from coinche_spiel.bidding.holdings import hand_points
from coinche_spiel.bidding.payoffs import FALL, FALL_SLOPE, MADE, MADE_SLOPE, PAYOFF_SIZE
from coinche_spiel.cards import NUM_RANKS, NUM_SUITS, TOTAL_POINTS
from coinche_spiel.scoring import BELOTE_PAIR, BELOTE_POINTS
from coinche_spiel.state import CAPOT, COINCHE, FIRST_BID, NONE, NUM_CALLS, PASS, SURCOINCHE

# The judgement: what is tuned, in points unless it says otherwise.
JUDGEMENT = (
    *(f"spread_{situation}" for situation in SITUATIONS),  # b
    "shift",
    "kappa",  # a factor
    "pass_first",  # nobody has called a contract, and three, two, one others are still to speak
    "pass_second",
    "pass_third",
    "let_them",  # added to passing over their contract while the partner may still speak
    "let_them_last",  # the same when a pass ends the auction
    "margin_raise",  # what a contract must gain over the partner's, in the same suit
    "margin_change",  # in another
    "margin_compete",  # over theirs
    "jump",  # for every ten above the lowest contract that is possible
    "margin_coinche",
    "margin_surcoinche",
    "capot_at",  # expected points at which a capot is as likely as not
    "capot_spread",
    "temperature",  # of the softmax
)
NUM_JUDGEMENT = len(JUDGEMENT)
NUMBERS_SIZE = JUDGEMENT_AT + NUM_JUDGEMENT
(
    SHIFT,
    KAPPA,
    PASS_FIRST,
    _,
    _,
    LET_THEM,
    LET_THEM_LAST,
    MARGIN_RAISE,
    MARGIN_CHANGE,
    MARGIN_COMPETE,
    JUMP,
    MARGIN_COINCHE,
    MARGIN_SURCOINCHE,
    CAPOT_AT,
    CAPOT_SPREAD,
    TEMPERATURE,
) = range(JUDGEMENT_AT + len(SITUATIONS), NUMBERS_SIZE)

NEVER = -1e9  # the value of a call that is not considered
OWN_POINTS = NUM_CALLS  # behind the values of the calls: expected points by suit
VALUES_SIZE = NUM_CALLS + NUM_SUITS
FIRST_CONTRACT = FIRST_BID - PASS  # index of 80♠ among the calls
DOUBLE = COINCHE - PASS
REDOUBLE = SURCOINCHE - PASS
STEEPEST = 500.0  # of the logistic: beyond this the exponential is no number
HOPELESS = 12.0  # temperatures below the best: no chance worth computing


@compiled
def expected_points(hand, context, numbers, suit):
    """What the caller's team can be expected to take with this suit as trump, belote in the hand included."""
    start = np.int64(context[SITUATION_OF + suit]) * SITUATION_SIZE
    points = context[OFFSET_OF + suit] + hand_points(numbers, start, hand, suit)
    if context[HAS_BELOTE] > 0.0:
        pair = BELOTE_PAIR << NUM_RANKS * suit
        if hand & pair == pair:
            points += BELOTE_POINTS
    return points


@compiled
def expected_score(points, value, spread, kappa, pays, at):
    """What a contract is worth to its attack, if `points` are expected; `pays[at:]` are the two lines of `payoffs`."""
    x = min(max((points + 0.5 - value) / spread, -STEEPEST), STEEPEST)
    chance = 1.0 / (1.0 + math.exp(-x))
    score = chance * pays[at + MADE] + (1.0 - chance) * kappa * pays[at + FALL]
    if pays[at + MADE_SLOPE] != 0.0 or pays[at + FALL_SLOPE] != 0.0:
        above = value * chance + spread * math.log1p(math.exp(x))  # points where it is made, of a logistic variable
        score += pays[at + MADE_SLOPE] * above + kappa * pays[at + FALL_SLOPE] * (points - above)
    return score


@compiled
def expected_capot(points, kappa, pays, at, numbers):
    """What a capot is worth to its attack, if `points` are expected."""
    chance = 1.0 / (1.0 + math.exp(-(points - numbers[CAPOT_AT]) / numbers[CAPOT_SPREAD]))
    score = chance * (pays[at + MADE] + TOTAL_POINTS * pays[at + MADE_SLOPE])
    return score + (1.0 - chance) * kappa * (pays[at + FALL] + points * pays[at + FALL_SLOPE])


@compiled
def _present(points, is_ours, context, numbers, at):
    """What the present contract is worth to its attack, at the level whose lines are at `at`.

    `points` are those of the caller's team, `is_ours` says whether that is the attack.
    """
    suit = np.int64(context[SUIT])
    shift = numbers[SHIFT]
    taken = points + shift if is_ours else TOTAL_POINTS - points + shift
    highest = np.int64(context[HIGHEST])
    if highest == CAPOT:
        return expected_capot(taken, 1.0, context, at, numbers)
    spread = numbers[JUDGEMENT_AT + np.int64(context[SITUATION_OF + suit])]
    return expected_score(taken, context[LOWEST] + 10 * highest, spread, 1.0, context, at)


@compiled
def call_values(hand, context, numbers, out):
    """Values of the calls of a hand into `out`, by call (the action minus PASS), NEVER for those that cannot be best.

    Behind them, from OWN_POINTS on, the expected points by suit.
    """
    out[:NUM_CALLS] = NEVER
    highest = np.int64(context[HIGHEST])
    side = context[SIDE]
    at_level = np.int64(context[LEVEL])
    present = np.int64(context[SUIT])
    for suit in range(NUM_SUITS):
        if at_level == 0 or suit == present:
            out[OWN_POINTS + suit] = expected_points(hand, context, numbers, suit)
    silent = np.int64(context[SILENT])
    if side == NOBODY:
        out[0] = numbers[PASS_FIRST + silent] if silent < 3 else 0.0
    else:
        points = out[OWN_POINTS + present]
        attack_now = (side == OURS) != (context[TAKES_OVER] > 0.0 and at_level > 0)
        attack_next = (side == OURS) != (context[TAKES_OVER] > 0.0)
        now = _present(points, attack_now, context, numbers, NOW_PAYS)
        out[0] = now if attack_now else -now
        if at_level == 0 and side != OURS:
            out[0] += numbers[LET_THEM_LAST] if silent == 2 else numbers[LET_THEM]
            if context[MAY_COINCHE] > 0.0:
                doubled = _present(points, attack_next, context, numbers, NEXT_PAYS)
                out[DOUBLE] = (doubled if attack_next else -doubled) - numbers[MARGIN_COINCHE]
        elif at_level == 1 and side == OURS:
            doubled = _present(points, attack_next, context, numbers, NEXT_PAYS)
            out[REDOUBLE] = (doubled if attack_next else -doubled) - numbers[MARGIN_SURCOINCHE]
    if at_level == 0 and highest != CAPOT:
        for suit in range(NUM_SUITS):
            margin = 0.0
            if side == OURS:
                margin = numbers[MARGIN_RAISE] if suit == present else numbers[MARGIN_CHANGE]
            elif side != NOBODY:
                margin = numbers[MARGIN_COMPETE]
            _contract_values(suit, margin, context, numbers, out)


@compiled
def _contract_values(suit, margin, context, numbers, out):
    """Values of the contracts in one suit, upwards until they get worse; and of the capot."""
    points = out[OWN_POINTS + suit] + numbers[SHIFT]
    spread = numbers[JUDGEMENT_AT + np.int64(context[SITUATION_OF + suit])]
    kappa = numbers[KAPPA]
    first = np.int64(context[HIGHEST]) + 1
    last = NEVER
    for index in range(first, np.int64(context[VALUES])):
        value = context[LOWEST] + 10 * index
        score = expected_score(points, value, spread, kappa, context, PAYOFF_OF + PAYOFF_SIZE * index) - margin
        score += numbers[JUMP] * (index - first)
        if score < last:
            break
        out[FIRST_CONTRACT + NUM_SUITS * index + suit] = score
        last = score
    if context[HAS_CAPOT] > 0.0:
        score = expected_capot(points, kappa, context, PAYOFF_OF + PAYOFF_SIZE * CAPOT, numbers) - margin
        out[FIRST_CONTRACT + NUM_SUITS * CAPOT + suit] = score


@compiled
def best_call(hand, context, numbers):
    """The call of a hand with the highest value, as an action; of equals the first."""
    values = np.empty(VALUES_SIZE)
    call_values(hand, context, numbers, values)
    best = 0
    for call in range(1, NUM_CALLS):
        if values[call] > values[best]:
            best = call
    return PASS + best


@compiled
def chance_of_call(values, call, temperature):
    """The chance of one call (by its place in `values`) in the softmax of the values."""
    best = values[0]
    for other in range(1, NUM_CALLS):
        if values[other] > best:
            best = values[other]
    if values[call] < best - HOPELESS * temperature:
        return 0.0
    total = 0.0
    for other in range(NUM_CALLS):
        if values[other] > best - HOPELESS * temperature:
            total += math.exp((values[other] - best) / temperature)
    return math.exp((values[call] - best) / temperature) / total


@compiled
def made_call_chance(hand, context, numbers, values):
    """The chance that a hand makes the call that a context has; `values` is room for VALUES_SIZE numbers."""
    if context[CALL] == NONE:
        return 1.0
    call_values(hand, context, numbers, values)
    return chance_of_call(values, np.int64(context[CALL]) - PASS, numbers[TEMPERATURE])
