"""One deal of Toepen for chance-sampled CFR: everything both players can do in it, walked in compiled code.

Zinkevich et al., "Regret minimization in games with incomplete information" (2007), with the deal sampled; regrets do
not fall below a floor, and averages are weighted by the iteration (CFR+: Tammelin, "Solving large imperfect information
games using CFR+", 2014). With r_i(h) player i's own probability of betting history h at a node of the cards played,
u(h) what the rest is worth, and w the weight of the iteration,

    R_i(a, h) = max(R_i(a, h) + r_other(h) * (u_a(h) - u(h)), floor)
    average_i(a, h) += w * r_i(h) * strategy_i(a | h)

Everything is a vector over betting histories (`solvers.toepen.histories`): one view is looked up for all of them.

A block of regrets, and one of averages, is

    own turn        [check] [bet: histories in which she may bet] [label 0: histories after the bet] [label 1] ...
    other's turn    [fold] [call: histories in which he may bet]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.elementwise import add_times, copy, elementwise, fill, larger, positive, share
from cardtable.memory_hints import borrowed
from solvers.toepen.blocks import CONTEXT, FREE, LABELS, PLACES, START, slot_of
from solvers.toepen.histories import AFTER, BEFORE, CALLED, CHECKED, FIRST_BET, MOVER, NUM_BETS
from solvers.toepen.views import (
    cards_played,
    context_word,
    label_cards,
    look,
    places_word,
    remember,
)
from toepen_spiel.rules import beats, deal, legal_cards, play_card
from toepen_spiel.state import HAND, LED_CARD, RANKS, SUITS, TURN

# Columns of `nodes`.
ORDER, NUM_CHILDREN, NEXT_CHILD, NUM_LABELS, STARTS = range(5)  # STARTS + player: where the player's block starts
NODE_WORDS = 6
# Vectors of a level. REACH + player, AFTER_BET + player: own probabilities before and after the bet.
REACH, AFTER_BET, BETS, CALLS, VALUE, VALUE_AFTER = 0, 2, 4, 5, 6, 7
NUM_VECTORS = 8
# Columns of `children`.
CARD, LABEL, SHARE = range(3)
USED_NUMBERS, USED_VIEWS = range(2)  # of `size`


class Tables(NamedTuple):
    """What is learned."""

    slots: np.ndarray
    regrets: np.ndarray
    averages: np.ndarray
    size: np.ndarray


class DealWork(NamedTuple):
    """Everything else a walk writes, and what it looks at."""

    root: np.ndarray
    generator: np.ndarray
    states: np.ndarray
    memories: np.ndarray
    nodes: np.ndarray
    children: np.ndarray
    vectors: np.ndarray  # [level, which, history], flat like the next three
    strategies: np.ndarray  # [level, label, history]
    child_values: np.ndarray  # [level, child, history]
    stakes: np.ndarray  # [turn, order, history]
    turns: np.ndarray  # [turn, order, column of Histories]
    seen: np.ndarray
    own_numbers: np.ndarray
    cards: np.ndarray
    suit_numbers: np.ndarray
    classes: np.ndarray
    one: np.ndarray  # 0, 1, 1/2, ... in 32 bits
    room: np.ndarray  # what one deal may need: numbers, views


# Inner loops over histories.


@elementwise("target")
def _scale(target, source, *, factor):
    return factor * source


@elementwise("target")
def _times(target, source, chances, *, factor):
    return source * chances * factor


@elementwise("target")
def _add_product(target, source, chances):
    return target + source * chances


@elementwise("chances")
def _match_two(chances, first, second, *, half):
    """Regret matching between two actions: the probability of the second."""
    high = positive(second)
    return share(high, positive(first) + high, half)


@elementwise("total")
def _add_positive(total, regrets):
    return total + positive(regrets)


@elementwise("chances")
def _match(chances, regrets, total, *, even):
    """Regret matching among labels."""
    return share(positive(regrets), total, even)


@elementwise("stays", "goes")
def _bet_or_check(stays, goes, reach, chances):
    bet = reach * chances
    return reach - bet, bet


@elementwise("target")
def _product(target, source, chances):
    return source * chances


@elementwise("first", "second")
def _average_two(first, second, reach, chances, *, weight):
    mass = weight * reach
    part = mass * chances
    return first + (mass - part), second + part


@elementwise("averages")
def _average(averages, reach, chances, *, weight):
    return averages + weight * reach * chances


@elementwise("regrets")
def _regret(regrets, reach, better, value, *, sign, floor):
    return larger(regrets + sign * reach * (better - value), floor)


@elementwise("value", "checks", "bets", "folds", "calls")
def _settle_bets(
    value, checks, bets, folds, calls, check, call, bet_chances, call_chances, stakes, reach, answer, *,
    sign, floor,
):  # fmt: skip
    """Values before the bet where there may be one, and regrets (checks, bets, folds, calls)."""
    won = sign * stakes
    bet = won + call_chances * (call - won)
    mean = check + bet_chances * (bet - check)
    mine = sign * answer
    theirs = sign * reach * bet_chances
    return (
        mean,
        larger(checks + mine * (check - mean), floor),
        larger(bets + mine * (bet - mean), floor),
        larger(folds - theirs * (won - bet), floor),
        larger(calls - theirs * (call - bet), floor),
    )


@compiled
def _block(slots, size, places, context, length, num_labels):
    """Where a view's block starts; a new one if there is none."""
    slot = slot_of(slots, places, context)
    if slots[slot, START] == FREE:
        slots[slot, PLACES], slots[slot, CONTEXT] = places, context
        slots[slot, START], slots[slot, LABELS] = size[USED_NUMBERS], num_labels
        size[USED_NUMBERS] += length
        size[USED_VIEWS] += 1
    return slots[slot, START]


# The three steps are parts of one function: handing over all these arrays would take longer than the steps.


@compiled(inline="always")
def _enter(tables, work, memory, level, weight, width):
    """Looks up both players' blocks, makes their strategies, and adds these to the averages."""
    node, state, vectors = work.nodes[level], work.states[level], work.vectors
    order = node[ORDER]
    turn = work.turns[level, order]
    mover, before, bets, first = turn[MOVER], turn[BEFORE], turn[NUM_BETS], turn[FIRST_BET]
    after, called, checked = turn[AFTER], turn[CALLED], turn[CHECKED]
    other = 1 - mover
    at = level * NUM_VECTORS * width
    last = level == work.turns.shape[0] - 2
    suits, ranks = state[SUITS], state[RANKS]
    played = cards_played(state)
    num_labels, count = 1, 0
    regrets, averages, half = tables.regrets, tables.averages, work.one[2]
    for player in (other, mover):
        look(state, player, played, work.seen)
        places = places_word(work.suit_numbers, work.seen, state[HAND + player], suits, ranks, work.own_numbers)
        length = 2 * bets
        if player == mover and not last:
            cards, labels, shares = work.cards[0], work.cards[1], work.cards[2]
            legal = legal_cards(state, state[HAND + player])
            count, num_labels = label_cards(work.own_numbers, legal, suits, ranks, cards, labels, shares)
            for index in range(count):
                work.children[level, index, CARD], work.children[level, index, LABEL] = cards[index], labels[index]
                work.children[level, index, SHARE] = shares[index]
            length += num_labels * after if num_labels > 1 else 0
        context = context_word(work.memories[level, player], player, level, order)
        node[STARTS + player] = _block(tables.slots, tables.size, places, context, length, num_labels)
    node[NUM_LABELS], node[NEXT_CHILD], node[NUM_CHILDREN] = num_labels, 0, count
    own, theirs = node[STARTS + mover], node[STARTS + other]
    reach, answer = at + (REACH + mover) * width, at + (REACH + other) * width
    reach_after, answer_after = at + (AFTER_BET + mover) * width, at + (AFTER_BET + other) * width
    copy(vectors, reach_after + checked, vectors, reach, before)
    copy(vectors, answer_after + checked, vectors, answer, before)
    if bets:
        chances, calls = at + BETS * width, at + CALLS * width
        _match_two(vectors, chances, regrets, own, regrets, own + bets, half, bets)
        _match_two(vectors, calls, regrets, theirs, regrets, theirs + bets, half, bets)
        _average_two(averages, own, averages, own + bets, vectors, reach + first, vectors, chances, weight, bets)
        _average_two(averages, theirs, averages, theirs + bets, vectors, answer + first, vectors, calls, weight, bets)
        _bet_or_check(
            vectors, reach_after + checked + first, vectors, reach_after + called,
            vectors, reach + first, vectors, chances, bets,
        )  # fmt: skip
        _product(vectors, answer_after + called, vectors, answer + first, vectors, calls, bets)
    if num_labels > 1:
        start = own + 2 * bets
        strategies, row = work.strategies, level * work.children.shape[1] * width
        total = at + VALUE * width  # which is not yet known
        fill(vectors, total, work.one[0], after)
        for label in range(num_labels):
            _add_positive(vectors, total, regrets, start + label * after, after)
        for index in range(count):
            label = work.children[level, index, LABEL]
            even = work.one[1] * work.children[level, index, SHARE] / np.float32(count)
            _match(strategies, row + label * width, regrets, start + label * after, vectors, total, even, after)
        for label in range(num_labels):
            where = start + label * after
            _average(averages, where, vectors, reach_after, strategies, row + label * width, weight, after)
    if last:
        first_wins = beats(state, bits.lowest(state[HAND + mover]), state[LED_CARD]) == (mover == 0)
        sign = work.one[1] if first_wins else -work.one[1]
        stakes = ((level + 1) * work.turns.shape[1] + order) * width
        _scale(vectors, at + VALUE_AFTER * width, work.stakes, stakes, sign, after)


@compiled(inline="always")
def _descend(work, memory, level, width):
    """To the next child."""
    node, vectors = work.nodes[level], work.vectors
    index = node[NEXT_CHILD]
    card, label, share_of = (
        work.children[level, index, CARD],
        work.children[level, index, LABEL],
        work.children[level, index, SHARE],
    )
    node[NEXT_CHILD] += 1
    order = node[ORDER]
    mover, after = work.turns[level, order, MOVER], work.turns[level, order, AFTER]
    state = work.states[level + 1]
    for word in range(len(state)):
        state[word] = work.states[level, word]
    memories = work.memories[level + 1]
    memories[0], memories[1] = work.memories[level, 0], work.memories[level, 1]
    remember(memories, memory, work.classes, state, card, mover)
    play_card(state, card)
    work.nodes[level + 1, ORDER] = order << 1 | state[TURN] if level % 2 == 1 else order
    at = level * NUM_VECTORS * width
    below = at + NUM_VECTORS * width
    mine, theirs = mover * width, (1 - mover) * width
    copy(vectors, below + REACH * width + theirs, vectors, at + AFTER_BET * width + theirs, after)
    goes, comes = below + REACH * width + mine, at + AFTER_BET * width + mine
    if node[NUM_LABELS] == 1:
        _scale(vectors, goes, vectors, comes, work.one[share_of], after)
    else:
        row = (level * work.children.shape[1] + label) * width
        _times(vectors, goes, vectors, comes, work.strategies, row, work.one[share_of], after)


@compiled(inline="always")
def _leave(tables, work, level, floor, width):
    """Values of a node and regrets, from the values of its children."""
    node, vectors = work.nodes[level], work.vectors
    order = node[ORDER]
    turn = work.turns[level, order]
    mover, before, bets, first = turn[MOVER], turn[BEFORE], turn[NUM_BETS], turn[FIRST_BET]
    after, called, checked = turn[AFTER], turn[CALLED], turn[CHECKED]
    at = level * NUM_VECTORS * width
    sign = work.one[1] if mover == 0 else -work.one[1]
    value, value_after = at + VALUE * width, at + VALUE_AFTER * width
    own, theirs = node[STARTS + mover], node[STARTS + 1 - mover]
    count, num_labels = node[NUM_CHILDREN], node[NUM_LABELS]
    values, most = work.child_values, work.children.shape[1]
    children = level * most * width
    regrets = tables.regrets
    if count:
        fill(vectors, value_after, work.one[0], after)
    if num_labels == 1:
        for index in range(count):
            add_times(vectors, value_after, values, children + index * width, work.one[count], after)
    else:
        means = children + most * width  # of labels; those of the level below are settled
        for label in range(num_labels):
            fill(values, means + label * width, work.one[0], after)
        for index in range(count):
            label, factor = work.children[level, index, LABEL], work.one[work.children[level, index, SHARE]]
            add_times(values, means + label * width, values, children + index * width, factor, after)
        strategies, row = work.strategies, level * most * width
        for label in range(num_labels):
            here = label * width
            _add_product(vectors, value_after, values, means + here, strategies, row + here, after)
        theirs_after = at + (AFTER_BET + 1 - mover) * width
        for label in range(num_labels):
            _regret(
                regrets, own + 2 * bets + label * after, vectors, theirs_after, values, means + label * width,
                vectors, value_after, sign, floor, after,
            )  # fmt: skip
    copy(vectors, value, vectors, value_after + checked, before)
    if bets:
        _settle_bets(
            vectors, value + first, regrets, own, regrets, own + bets, regrets, theirs, regrets, theirs + bets,
            vectors, value_after + checked + first, vectors, value_after + called,
            vectors, at + BETS * width, vectors, at + CALLS * width,
            work.stakes, (level * work.turns.shape[1] + order) * width + first,
            vectors, at + (REACH + mover) * width + first, vectors, at + (REACH + 1 - mover) * width + first,
            sign, floor, bets,
        )  # fmt: skip


@compiled(nogil=True)
def run_deals(tables, work, memory, weights, floor):
    """So many deals as there are weights; stops earlier when a deal may not find room. Returns how many were done."""
    tables, work = borrowed(tables), borrowed(work)
    size, room = tables.size, work.room
    width = len(work.stakes) // (work.turns.shape[0] * work.turns.shape[1])
    most = work.children.shape[1]
    for number in range(len(weights)):
        enough = size[USED_NUMBERS] + room[USED_NUMBERS] <= len(tables.regrets)
        if not enough or 2 * (size[USED_VIEWS] + room[USED_VIEWS]) > len(tables.slots):
            return number
        work.states[0, :] = work.root
        deal(work.states[0], work.generator)
        work.memories[0, :] = 0
        work.nodes[0, :] = 0
        work.vectors[REACH * width] = work.one[1]
        work.vectors[(REACH + 1) * width] = work.one[1]
        level = 0
        entering = True
        while True:
            if entering:
                _enter(tables, work, memory, level, weights[number], width)
            if work.nodes[level, NEXT_CHILD] < work.nodes[level, NUM_CHILDREN]:
                _descend(work, memory, level, width)
                level += 1
                entering = True
                continue
            _leave(tables, work, level, floor, width)
            if level == 0:
                break
            child = (level - 1) * most + work.nodes[level - 1, NEXT_CHILD] - 1
            before = work.turns[level, work.nodes[level, ORDER], BEFORE]
            value = (level * NUM_VECTORS + VALUE) * width
            copy(work.child_values, child * width, work.vectors, value, before)
            level -= 1
            entering = False
    return len(weights)
