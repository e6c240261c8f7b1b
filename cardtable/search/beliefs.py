"""What the others probably hold, in compiled code: deals of the unseen cards, weighed by what each seat did.

The formula is that of `cardtable.search.worlds`. Here is the quick way for games that recall their deal
(`cardtable.recall`): the decisions of the past are played through once, and then only the mover's hand in them is
exchanged. A seat's moves depend on its own hand alone, so a hand is judged once however many deals it occurs in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.deals import list_deals
from cardtable.randomness import uniform
from cardtable.redeal import MAX_PILES, count_deals, redeal
from cardtable.rules import ADDRESSES, INTEGERS, PROBABILITIES, STATES, Rules, player_at

CACHE_SIZE = 1 << 12  # hands judged, of one decision; a power of two
MOST_MOVES = 256  # of one deal
FEW_CARDS = 15  # only so many unseen cards can have few deals
NUM_MOVES, STAMP = range(2)
HAND, WHOSE = range(2)  # of what a slot of the cache is about


class Models(NamedTuple):
    """How others may play; models that judge the same moves make up one mixture, and follow each other."""

    addresses: Any  # `player_addresses`
    noise: np.ndarray
    log_priors: np.ndarray  # normalised within each mixture
    first: np.ndarray  # a model judges the moves with action ids from first ...
    end: np.ndarray  # ... to end - 1
    mixture: np.ndarray  # 0, 0, 1, 1, ...


MODELS_TYPE = types.Tuple((ADDRESSES, PROBABILITIES, PROBABILITIES, INTEGERS, INTEGERS, INTEGERS))


class Past(NamedTuple):
    """Room for the decisions that led to a state, and for what has been found out about hands."""

    positions: np.ndarray
    actions: np.ndarray
    movers: np.ndarray
    counts: np.ndarray
    keys: np.ndarray
    judged: np.ndarray
    legal: np.ndarray
    logs: np.ndarray


PAST_TYPE = types.Tuple(
    (STATES, INTEGERS, INTEGERS, INTEGERS, STATES, PROBABILITIES, INTEGERS, PROBABILITIES),
)


def new_past(rules: Rules, num_models: int) -> Past:
    rows = min(rules.max_game_length, MOST_MOVES) + 1
    return Past(
        np.zeros((rows, rules.state_size), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(2, np.int64),
        np.zeros((CACHE_SIZE, 2), np.int64),
        np.zeros(CACHE_SIZE),
        np.zeros(rules.num_distinct_actions, np.int64),
        np.zeros(max(num_models, 1)),
    )


@compiled
def remember(kernel, recall, state, past):
    """Plays the deal through again: every decision since, the mover's and the others' hands as they are in `state`."""
    position = past.positions[0]
    position[:] = state
    recall.rewind(position)
    moves = recall.moves(state, past.actions)
    for index in range(moves):
        past.movers[index] = kernel.current_player(past.positions[index])
        past.positions[index + 1] = past.positions[index]
        kernel.apply_action(past.positions[index + 1], past.actions[index])
    past.counts[NUM_MOVES] = moves
    past.counts[STAMP] += 1


@compiled
def nothing_more(more, seat, hand):
    """For games that know no better."""
    return 0.0


@compiled
def is_judged(models, action):
    judged = False
    for model in range(len(models.noise)):
        judged |= models.first[model] <= action < models.end[model]
    return judged


@compiled
def log_of_mixtures(models, logs):
    """The log of the product over mixtures of the sum over their models of prior times likelihood."""
    total = 0.0
    first = 0
    while first < len(logs):
        end = first + 1
        while end < len(logs) and models.mixture[end] == models.mixture[first]:
            end += 1
        highest = -np.inf
        for model in range(first, end):
            highest = max(highest, logs[model] + models.log_priors[model])
        likely = 0.0
        for model in range(first, end):
            likely += np.exp(logs[model] + models.log_priors[model] - highest)
        total += highest + np.log(likely)
        first = end
    return total


@compiled
def movers(past):
    """The set of those who have moved."""
    seats = 0
    for index in range(past.counts[NUM_MOVES]):
        seats |= 1 << past.movers[index]
    return seats


@compiled
def choose_some(worlds, weights, n, kept, generator):
    """Systematic resampling of n worlds: moves those that were chosen to the front, with their new weights."""
    step = uniform(generator)
    reached = 0.0
    chosen = 0
    taken = 0
    for number in range(n):
        reached += weights[number] * kept
        times = 0
        while taken < kept and (step + taken < reached or number == n - 1):
            times += 1
            taken += 1
        if times > 0:
            worlds[chosen] = worlds[number]
            weights[chosen] = times / kept
            chosen += 1
    return chosen


@functools.cache
def judging_hands(judge_more: Callable) -> Callable:
    """judge_hand(kernel, recall, models, past, more, seat, hand), compiled.

    What judge_more(more, seat, hand) says is added: a game may know better than by models how likely some moves are.
    """

    @compiled
    def judge_hand(kernel, recall, models, past, more, seat, hand):
        """The log of how likely the seat's moves were, had it been dealt this hand."""
        whose = past.counts[STAMP] * MAX_PILES + seat
        slot = ((hand ^ hand >> 31) * 0x9E3779B1 + seat >> 20) & (CACHE_SIZE - 1)
        if past.keys[slot, HAND] == hand and past.keys[slot, WHOSE] == whose:
            return past.judged[slot]
        logs = past.logs
        logs[:] = 0.0
        generator = np.zeros(1, np.uint64)
        for index in range(past.counts[NUM_MOVES]):
            action = past.actions[index]
            if past.movers[index] != seat or not is_judged(models, action):
                continue
            position = past.positions[index]
            recall.hold(position, seat, hand)
            n = kernel.legal_actions(position, past.legal)
            if n > 1:
                for model in range(len(models.noise)):
                    if models.first[model] <= action < models.end[model]:
                        noise = models.noise[model]
                        likely = noise / n
                        if noise < 1.0 and player_at(models.addresses, model)(position, generator) == action:
                            likely += 1.0 - noise
                        logs[model] += np.log(likely)
        total = log_of_mixtures(models, logs) + judge_more(more, seat, hand)
        past.keys[slot, HAND] = hand
        past.keys[slot, WHOSE] = whose
        past.judged[slot] = total
        return total

    return judge_hand


@functools.cache
def believing(judge_more: Callable) -> Callable:
    """believe(...), compiled, with hands judged as `judging_hands(judge_more)` does."""
    judge_hand = judging_hands(judge_more)

    @compiled
    def believe(kernel, recall, models, past, more, power, state, player, generator, drawn, kept, worlds, weights):
        """Writes worlds to the rows of `worlds`, the cards that each pile now holds, and their weights, which sum to 1.

        All that are possible if those are at most `kept`; otherwise up to `kept`, chosen with their chances out of all
        (if they are at most `drawn`) or of `drawn` drawn ones, each once, however often it was chosen. Returns how
        many, and whether these are all. The player's own pile is left empty. With a power of 0 nothing is read from
        what others did.
        """
        needs = np.zeros(MAX_PILES, np.int64)
        forbidden = np.zeros(MAX_PILES, np.int64)
        known = np.zeros(MAX_PILES, np.int64)
        num_piles = state[deck.NUM_PILES]
        unseen = recall.unseen(state, player, needs, forbidden)
        n = -1
        if bits.count(unseen) <= FEW_CARDS and count_deals(unseen, needs, forbidden, num_piles) <= drawn:
            n = list_deals(unseen, needs, forbidden, num_piles, worlds[:drawn])
        every = n >= 0
        if not every:
            n = drawn
            for number in range(drawn):
                redeal(unseen, needs, forbidden, num_piles, worlds[number], generator)
        if power > 0.0 and n > 1:
            remember(kernel, recall, state, past)
            seats = movers(past) & ~(1 << player)
            for seat in range(num_piles):
                if seats >> seat & 1:
                    known[seat] = recall.hand(state, seat) & ~unseen
            highest = -np.inf
            for number in range(n):
                total = 0.0
                for seat in range(num_piles):
                    if seats >> seat & 1:
                        hand = known[seat] | worlds[number, seat]
                        total += judge_hand(kernel, recall, models, past, more, seat, hand)
                weights[number] = power * total
                highest = max(highest, weights[number])
            total = 0.0
            for number in range(n):
                weights[number] = np.exp(weights[number] - highest)
                total += weights[number]
            for number in range(n):
                weights[number] /= total
        else:
            weights[:n] = 1.0 / n
        if n <= kept:
            return n, every
        return choose_some(worlds, weights, n, kept, generator), False

    return believe
