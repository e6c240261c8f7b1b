"""Calls judged by simulation: every sensible call tried in the same imagined worlds, each auction finished and
valued.

    value(call) = mean over worlds of  worth(contract in which the auction ends after this call)

Worlds are deals of the hidden cards drawn with the chances that the auction so far gives them (`likelihood`). In a
world everybody goes on as the fast bidder does, but for opponents whose past calls look like one of the literature's
players: each is of a kind drawn with its chances in that world. The points of the contract are foretold in each world
from both sides: with open cards (double dummy), and as the network of `tricks` takes them that sees one hand at a time.
With the noise of play (`outcomes`) that is an expected score, by which passes, raises, competition, coinche and
surcoinche are all judged; a capot by the share of the worlds in which open cards promise it.

The worlds of all calls are the same, so differences are more certain than values; still some tens of worlds leave
doubts, and who leaves the fast bidder's ways is misread by a partner who listens to them. The fast bidder's call is
therefore the one to beat: another is chosen if it is better by `CAUTION` standard errors. Played out, calls that are
better by fewer bring little (`experiments.coinche_foresight`). Rollouts of a base policy that is improved upon are as
old as Tesauro and Galperin (1996); bridge programs bid so since GIB (Ginsberg 2001).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cardtable import deck
from cardtable.compiled import compiled
from cardtable.randomness import uniform
from coinche_spiel import state as slots
from coinche_spiel.auction import apply_call
from coinche_spiel.bidding.calls import (
    DOUBLE,
    FIRST_CONTRACT,
    NEVER,
    OWN_POINTS,
    REDOUBLE,
    VALUES_SIZE,
    best_call,
    call_values,
)
from coinche_spiel.bidding.contexts import CONTEXT_SIZE, write_context
from coinche_spiel.bidding.likelihood import kind_likelihoods, new_auction, prepare, seat_likelihood
from coinche_spiel.bidding.outcomes import FORETOLD, OPEN_SHARE, capot_chance, expected_worth
from coinche_spiel.bidding.payoffs import PAYOFF_SIZE
from coinche_spiel.bidding.tricks import play_tricks
from coinche_spiel.cards import NUM_SUITS, TOTAL_POINTS
from coinche_spiel.double_dummy.positions import NO_CARD, place, root_value
from coinche_spiel.double_dummy.search import DER, MUST_OVERTRUMP_PARTNER, MUST_UNDERTRUMP
from coinche_spiel.players import simple_call, strong_call
from coinche_spiel.rules import resample
from coinche_spiel.state import (
    BIDDING,
    CAPOT,
    HAND,
    MAX_PLAYERS,
    NONE,
    NUM_CALLS,
    NUM_VALUES,
    PASS,
    PHASE,
    POINTS,
    TRUMP,
    TURN,
    VALUE,
    attacking_team,
    first_seat,
)

CAUTION = 2.5  # standard errors by which a call must be better than the fast bidder's
MOST_CALLS = 14  # that are tried
WORTH_A_TRY = 60.0  # points below the best call of the fast bidder: what is worse is not tried
CAPOT_IN_REACH = 150.0  # expected points from which a capot is tried
UNKNOWN = -1000
AS_BIDDER, AS_STRONG, AS_SIMPLE = range(3)
BOTH_SWEEP = 3  # all tricks count for either side


class Room(NamedTuple):
    """What a simulation writes to; one for each thread."""

    contexts: np.ndarray
    positions: np.ndarray
    context: np.ndarray
    values: np.ndarray
    worlds: np.ndarray  # (drawn, state): the state with other hands
    weights: np.ndarray
    results: np.ndarray  # (kept, MOST_CALLS)
    calls: np.ndarray  # the calls that are tried, as actions
    kept: np.ndarray  # which of the worlds, some of them twice
    state: np.ndarray  # scratch
    points: np.ndarray  # (kept, trumps): of North and South with open cards, or UNKNOWN
    capots: np.ndarray  # the share of worlds in which open cards promise a capot, by trump; NONE where nobody asked
    kinds: np.ndarray  # of the seats
    pays: np.ndarray


def new_room(state_size: int, drawn: int, kept: int) -> Room:
    return Room(
        *new_auction(state_size),
        np.empty(CONTEXT_SIZE),
        np.empty(VALUES_SIZE),
        np.empty((drawn, state_size), np.int64),
        np.empty(drawn),
        np.empty((kept, MOST_CALLS)),
        np.empty(MOST_CALLS, np.int64),
        np.empty(kept, np.int64),
        np.empty(state_size, np.int64),
        np.full((kept, NUM_SUITS), UNKNOWN),
        np.full(NUM_SUITS, NONE, float),
        np.empty(MAX_PLAYERS, np.int64),
        np.empty(PAYOFF_SIZE),
    )


@compiled
def list_sensible(values, num_values, out):
    """Writes calls worth trying, the fast bidder's first; returns how many. `values` are those of `call_values`.

    Pass, coinche and surcoinche where they are possible; in each suit the contract that the fast bidder likes best
    with its neighbours, and a capot that is not out of reach.
    """
    best = 0
    for call in range(1, NUM_CALLS):
        if values[call] > values[best]:
            best = call
    out[0] = PASS + best
    n = 1
    if best != 0:
        out[n] = PASS
        n += 1
    for call in (DOUBLE, REDOUBLE):
        if call != best and values[call] > NEVER and values[call] > values[best] - 2 * WORTH_A_TRY:
            out[n] = PASS + call
            n += 1
    for suit in range(NUM_SUITS):
        top = NONE
        for index in range(CAPOT):
            call = FIRST_CONTRACT + NUM_SUITS * index + suit
            if values[call] > NEVER and (top == NONE or values[call] > values[FIRST_CONTRACT + NUM_SUITS * top + suit]):
                top = index
        if top != NONE and values[FIRST_CONTRACT + NUM_SUITS * top + suit] > values[best] - WORTH_A_TRY:
            for index in range(max(top - 1, 0), min(top + 2, num_values)):
                n = _add(FIRST_CONTRACT + NUM_SUITS * index + suit, index <= top, values, best, out, n)
        capot = FIRST_CONTRACT + NUM_SUITS * CAPOT + suit
        if values[OWN_POINTS + suit] > CAPOT_IN_REACH:
            n = _add(capot, True, values, best, out, n)
    return n


@compiled
def _add(call, must_be_valued, values, best, out, n):
    """Adds a contract unless it is there already, not legal, or there is no room."""
    if call == best or n == MOST_CALLS or (must_be_valued and values[call] <= NEVER):
        return n
    out[n] = PASS + call
    return n + 1


@compiled
def draw_worlds(state, seat, calls, numbers, generator, room):
    """Draws deals of the hidden cards and weighs them by the auction; returns the sum of the weights."""
    total = 0.0
    for number in range(len(room.worlds)):
        world = room.worlds[number]
        world[:] = state
        resample(world, seat, generator)
        weight = 1.0
        if calls:
            for other in range(MAX_PLAYERS):
                if other != seat:
                    hand = world[HAND + other]
                    weight *= seat_likelihood(hand, other, calls, room.contexts, room.positions, numbers, room.values)
        room.weights[number] = weight
        total += weight
    return total


@compiled
def draw_kinds(state, seat, calls, numbers, generator, room):
    """Who sits where in a world: partners bid as we do, opponents are of a kind drawn with its chances."""
    for other in range(MAX_PLAYERS):
        room.kinds[other] = AS_BIDDER
        if (other ^ seat) & 1:
            bidder, strong, simple = kind_likelihoods(
                state[HAND + other], other, calls, room.contexts, room.positions, numbers, room.values
            )
            lot = uniform(generator) * (bidder + strong + simple)
            if lot < simple:
                room.kinds[other] = AS_SIMPLE
            elif lot < simple + strong:
                room.kinds[other] = AS_STRONG


@compiled
def finish_auction(state, kinds, numbers, context):
    """Everybody calls until the auction is over."""
    while state[PHASE] == BIDDING:
        kind = kinds[state[TURN]]
        if kind == AS_STRONG:
            call = strong_call(state, False)
        elif kind == AS_SIMPLE:
            call = simple_call(state, False)
        else:
            write_context(state, numbers, context)
            call = best_call(state[HAND + state[TURN]], context, numbers)
        apply_call(state, call)


@compiled
def keep_worlds(room, total, generator):
    """Systematic resampling: a world of weight w is kept w * kept / total times, give or take one."""
    step = total / len(room.kept)
    mark = step * uniform(generator)
    passed = room.weights[0]
    number = 0
    for row in range(len(room.kept)):
        while mark > passed and number < len(room.worlds) - 1:
            number += 1
            passed += room.weights[number]
        room.kept[row] = number
        mark += step


@compiled
def open_points(row, trump, work, room):
    """What North and South take in a world if nobody errs, more than 162 if they take all tricks."""
    if room.points[row, trump] == UNKNOWN:
        world = room.worlds[room.kept[row]]
        trick = np.full(MAX_PLAYERS - 1, NO_CARD, np.int64)
        place(work, world[deck.DEALT : deck.DEALT + MAX_PLAYERS], trump, first_seat(world), trick, BOTH_SWEEP)
        room.points[row, trump] = root_value(work)
    return room.points[row, trump]


@compiled
def judge_capots(state, seat, n, work, room):
    """Writes how many of the worlds promise the capots that are among the n calls, or have been called."""
    room.capots[:] = NONE
    if state[VALUE] == CAPOT:
        room.capots[state[TRUMP]] = _promised(state[TRUMP], attacking_team(state), work, room)
    for index in range(n):
        suit = room.calls[index] - (PASS + FIRST_CONTRACT + NUM_SUITS * CAPOT)
        if suit >= 0 and suit < NUM_SUITS:
            room.capots[suit] = _promised(suit, seat & 1, work, room)


@compiled
def _promised(trump, team, work, room):
    promised = 0
    for row in range(len(room.kept)):
        points = open_points(row, trump, work, room)
        promised += points > TOTAL_POINTS if team == 0 else points <= 0
    return promised / len(room.kept)


@compiled
def try_calls(row, seat, n, numbers, player, work, room):
    """What each of the n calls leads to in one world, for the caller's team."""
    state = room.state
    for index in range(n):
        state[:] = room.worlds[room.kept[row]]
        apply_call(state, room.calls[index])
        finish_auction(state, room.kinds, numbers, room.context)
        worth = 0.0
        if state[VALUE] != NONE:
            trump = state[TRUMP]
            opened = min(max(open_points(row, trump, work, room), 0), TOTAL_POINTS)
            play_tricks(state, player)
            points = OPEN_SHARE * opened + (1.0 - OPEN_SHARE) * state[POINTS]
            worth = expected_worth(state, points, capot_chance(room.capots[trump]), FORETOLD, room.pays)
        room.results[row, index] = worth if seat & 1 == 0 else -worth


@compiled
def simulate(state, numbers, player, work, generator, room):
    """Tries the sensible calls of the seat to move; returns how many there are. Results are in `room`.

    With one sensible call nothing is tried.
    """
    seat = state[TURN]
    write_context(state, numbers, room.context)
    call_values(state[HAND + seat], room.context, numbers, room.values)
    n = list_sensible(room.values, state[NUM_VALUES], room.calls)
    if n == 1:
        return n
    calls = prepare(state, numbers, room.contexts, room.positions)
    total = draw_worlds(state, seat, calls, numbers, generator, room)
    keep_worlds(room, total, generator)
    room.points[:] = UNKNOWN
    work.variant[MUST_UNDERTRUMP] = state[slots.MUST_UNDERTRUMP]
    work.variant[MUST_OVERTRUMP_PARTNER] = state[slots.MUST_OVERTRUMP_PARTNER]
    work.variant[DER] = state[slots.DER]
    judge_capots(state, seat, n, work, room)
    for row in range(len(room.kept)):
        number = room.kept[row]
        if row > 0 and number == room.kept[row - 1]:
            room.results[row, :n] = room.results[row - 1, :n]
        else:
            draw_kinds(room.worlds[number], seat, calls, numbers, generator, room)
            try_calls(row, seat, n, numbers, player, work, room)
    return n


@compiled
def difference(results, first, second):
    """Mean and standard error of the difference between two calls."""
    rows = len(results)
    mean = 0.0
    square = 0.0
    for row in range(rows):
        gap = results[row, first] - results[row, second]
        mean += gap
        square += gap * gap
    mean /= rows
    return mean, math.sqrt(max(square / rows - mean * mean, 0.0) / max(rows - 1, 1))


@compiled
def choose_among(n, room, caution):
    """The place of the call to make: the best one if it is surely better than the fast bidder's, which is the first."""
    best = 0
    most = 0.0
    for index in range(1, n):
        mean, error = difference(room.results, index, 0)
        if mean > most and mean > caution * error:
            best = index
            most = mean
    return best
