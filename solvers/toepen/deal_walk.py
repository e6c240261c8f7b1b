"""One deal of Toepen for chance-sampled CFR: everything both players can do in it, walked in compiled code.

Zinkevich et al., "Regret minimization in games with incomplete information" (2007), with the deal sampled; regrets and
averages are weighted by the iteration (linear CFR: Brown and Sandholm, "Solving imperfect-information games via
discounted regret minimization", 2019). With r_i(h) player i's own probability of betting history h at a node of the
cards played, u(h) what the rest is worth, and w the weight of the iteration,

    R_i(a, h) += w * r_other(h) * (u_a(h) - u(h)),        average_i(a, h) += w * r_i(h) * strategy_i(a | h).

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
from solvers.toepen.blocks import CONTEXT, FREE, LABELS, PLACES, START, slot_of
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
# Vectors of a level. REACH + player, AFTER + player: own probabilities before and after the bet.
REACH, AFTER, BETS, CALLS, VALUE, VALUE_AFTER = 0, 2, 4, 5, 6, 7
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
    vectors: np.ndarray
    strategies: np.ndarray  # [level, label, history]
    child_values: np.ndarray  # [level, child, history]
    stakes: np.ndarray
    seen: np.ndarray
    own_numbers: np.ndarray
    cards: np.ndarray
    suit_numbers: np.ndarray
    classes: np.ndarray
    one: np.ndarray  # 0, 1, 1/2, ... in 32 bits
    room: np.ndarray  # what one deal may need: numbers, views


@compiled(error_model="numpy")  # division by zero is no error, so the loops run along vectors
def _two_actions(regrets, start, size, chances):
    """Regret matching between two actions: the probability of the second."""
    first, second = regrets[start : start + size], regrets[start + size : start + 2 * size]
    zero, half = np.float32(0.0), np.float32(0.5)
    for place in range(size):
        high = max(second[place], zero)
        total = max(first[place], zero) + high
        share = high / total
        chances[place] = share if total > zero else half


@compiled(error_model="numpy")  # division by zero is no error, so the loops run along vectors
def _choose_label(regrets, start, num_labels, size, strategies, uniform):
    """Regret matching among labels, history by history."""
    zero = np.float32(0.0)
    total = strategies[num_labels]
    for place in range(size):
        total[place] = zero
    for label in range(num_labels):
        row, out = regrets[start + label * size : start + label * size + size], strategies[label]
        for place in range(size):
            high = max(row[place], zero)
            out[place] = high
            total[place] += high
    for label in range(num_labels):
        out, even = strategies[label], uniform[label]
        for place in range(size):
            share = out[place] / total[place]
            out[place] = share if total[place] > zero else even


@compiled
def _bet(vectors, mover, turn):
    """Own probabilities after the bet."""
    before, bets, first, called, checked = turn
    other = 1 - mover
    _move(vectors[REACH + mover], vectors[AFTER + mover], checked, before)
    _move(vectors[REACH + other], vectors[AFTER + other], checked, before)
    reach, answer = vectors[REACH + mover][first : first + bets], vectors[REACH + other][first : first + bets]
    goes, answers = vectors[AFTER + mover][called : called + bets], vectors[AFTER + other][called : called + bets]
    stays = vectors[AFTER + mover][checked + first : checked + first + bets]
    chances, calls = vectors[BETS][:bets], vectors[CALLS][:bets]
    for place in range(bets):
        bet = reach[place] * chances[place]
        goes[place] = bet
        stays[place] = reach[place] - bet
        answers[place] = answer[place] * calls[place]


@compiled
def _move(values, out, start, size):
    target = out[start : start + size]
    for place in range(size):
        target[place] = values[place]


@compiled
def _average_two(averages, start, size, reach, reach_at, chances, weight):
    first, second = averages[start : start + size], averages[start + size : start + 2 * size]
    own = reach[reach_at : reach_at + size]
    for place in range(size):
        mass = weight * own[place]
        part = mass * chances[place]
        first[place] += mass - part
        second[place] += part


@compiled
def _average_label(averages, start, size, reach, chances, weight):
    row = averages[start : start + size]
    for place in range(size):
        row[place] += weight * reach[place] * chances[place]


@compiled
def _regret(regrets, start, size, reach, better, value, weight, floor):
    """Adds weight * reach * (better - value); regrets do not fall below the floor."""
    row = regrets[start : start + size]
    for place in range(size):
        row[place] = max(row[place] + weight * reach[place] * (better[place] - value[place]), floor)


@compiled
def _settle_bets(regrets, starts, vectors, mover, turn, stakes, sign, weight, floor):
    """Values before the bet where there may be one, and regrets of the bet and of its answer."""
    _, bets, first, called, checked = turn
    own, theirs = starts
    value, after = vectors[VALUE][first : first + bets], vectors[VALUE_AFTER]
    check, call = after[checked + first : checked + first + bets], after[called : called + bets]
    chances, calls = vectors[BETS][:bets], vectors[CALLS][:bets]
    reach, answer = vectors[REACH + mover][first : first + bets], vectors[REACH + 1 - mover][first : first + bets]
    check_regret, bet_regret = regrets[own : own + bets], regrets[own + bets : own + 2 * bets]
    fold_regret, call_regret = regrets[theirs : theirs + bets], regrets[theirs + bets : theirs + 2 * bets]
    stake = stakes[first : first + bets]
    for place in range(bets):
        won = sign * stake[place]
        bet = won + calls[place] * (call[place] - won)
        mean = check[place] + chances[place] * (bet - check[place])
        value[place] = mean
        scale = sign * weight * answer[place]
        check_regret[place] = max(check_regret[place] + scale * (check[place] - mean), floor)
        bet_regret[place] = max(bet_regret[place] + scale * (bet - mean), floor)
        scale = sign * weight * reach[place] * chances[place]
        fold_regret[place] = max(fold_regret[place] - scale * (won - bet), floor)
        call_regret[place] = max(call_regret[place] - scale * (call[place] - bet), floor)


@compiled
def _block(tables, places, context, length, num_labels):
    """Where a view's block starts; a new one if there is none."""
    slots = tables.slots
    slot = slot_of(slots, places, context)
    if slots[slot, START] == FREE:
        slots[slot, PLACES], slots[slot, CONTEXT] = places, context
        slots[slot, START], slots[slot, LABELS] = tables.size[USED_NUMBERS], num_labels
        tables.size[USED_NUMBERS] += length
        tables.size[USED_VIEWS] += 1
    return slots[slot, START]


@compiled
def _enter(tables, histories, work, memory, level, weight):
    """Looks up both players' blocks, makes their strategies, and adds these to the averages."""
    node, state, vectors = work.nodes[level], work.states[level], work.vectors[level]
    order = node[ORDER]
    mover = histories.mover[level, order]
    turn = (
        histories.before[level, order],
        histories.bets[level, order],
        histories.first[level, order],
        histories.called[level, order],
        histories.checked[level, order],
    )
    bets, first, after = histories.bets[level, order], histories.first[level, order], histories.after[level, order]
    last = level == len(histories.mover) - 2
    suits, ranks = state[SUITS], state[RANKS]
    played = cards_played(state)
    num_labels = 1
    for player in (1 - mover, mover):
        look(state, player, played, work.seen)
        places = places_word(work.suit_numbers, work.seen, state[HAND + player], suits, ranks, work.own_numbers)
        length = 2 * bets
        if player == mover and not last:
            cards, labels, shares = work.cards[0], work.cards[1], work.cards[2]
            legal = legal_cards(state, state[HAND + player])
            count, num_labels = label_cards(work.own_numbers, legal, suits, ranks, cards, labels, shares)
            for index in range(count):
                child = work.children[level, index]
                child[CARD], child[LABEL], child[SHARE] = cards[index], labels[index], shares[index]
            node[NUM_CHILDREN] = count
            length += num_labels * after if num_labels > 1 else 0
        context = context_word(work.memories[level, player], player, level, order)
        node[STARTS + player] = _block(tables, places, context, length, num_labels)
    node[NUM_LABELS], node[NEXT_CHILD] = num_labels, 0
    own, theirs = node[STARTS + mover], node[STARTS + 1 - mover]
    if bets:
        _two_actions(tables.regrets, own, bets, vectors[BETS])
        _two_actions(tables.regrets, theirs, bets, vectors[CALLS])
        _average_two(tables.averages, own, bets, vectors[REACH + mover], first, vectors[BETS], weight)
        _average_two(tables.averages, theirs, bets, vectors[REACH + 1 - mover], first, vectors[CALLS], weight)
    _bet(vectors, mover, turn)
    if num_labels > 1:
        start = own + 2 * bets
        strategies, uniform = work.strategies[level], work.strategies[level, -1]
        for index in range(node[NUM_CHILDREN]):
            child = work.children[level, index]
            uniform[child[LABEL]] = work.one[1] * child[SHARE] / np.float32(node[NUM_CHILDREN])
        _choose_label(tables.regrets, start, num_labels, after, strategies, uniform)
        for label in range(num_labels):
            _average_label(
                tables.averages, start + label * after, after, vectors[AFTER + mover], strategies[label], weight
            )
    if last:
        node[NUM_CHILDREN] = 0
        first_wins = beats(state, bits.lowest(state[HAND + mover]), state[LED_CARD]) == (mover == 0)
        sign = work.one[1] if first_wins else -work.one[1]
        _scaled(work.stakes[level + 1, order], sign, vectors[VALUE_AFTER], after)


@compiled
def _scaled(values, sign, out, size):
    for place in range(size):
        out[place] = sign * values[place]


@compiled
def _descend(histories, work, memory, level):
    """To the next child."""
    node, vectors, below = work.nodes[level], work.vectors[level], work.vectors[level + 1]
    child = work.children[level, node[NEXT_CHILD]]
    node[NEXT_CHILD] += 1
    order = node[ORDER]
    mover, after = histories.mover[level, order], histories.after[level, order]
    state = work.states[level + 1]
    state[:] = work.states[level]
    memories = work.memories[level + 1]
    memories[:] = work.memories[level]
    remember(memories, memory, work.classes, state, child[CARD], mover)
    play_card(state, child[CARD])
    work.nodes[level + 1, ORDER] = order << 1 | state[TURN] if level % 2 == 1 else order
    _move(vectors[AFTER + 1 - mover], below[REACH + 1 - mover], 0, after)
    if node[NUM_LABELS] == 1:
        _scaled(vectors[AFTER + mover], work.one[child[SHARE]], below[REACH + mover], after)
    else:
        _product(
            vectors[AFTER + mover],
            work.strategies[level, child[LABEL]],
            work.one[child[SHARE]],
            below[REACH + mover],
            after,
        )


@compiled
def _product(values, chances, share, out, size):
    for place in range(size):
        out[place] = values[place] * chances[place] * share


@compiled
def _weighted(values, chances, share, out, size):
    for place in range(size):
        out[place] += values[place] * chances[place] * share


@compiled
def _plus(values, share, out, size):
    for place in range(size):
        out[place] += values[place] * share


@compiled
def _leave(tables, histories, work, level, weight, floor):
    """Values of a node and regrets, from the values of its children."""
    node, vectors = work.nodes[level], work.vectors[level]
    order = node[ORDER]
    mover, after = histories.mover[level, order], histories.after[level, order]
    turn = (
        histories.before[level, order],
        histories.bets[level, order],
        histories.first[level, order],
        histories.called[level, order],
        histories.checked[level, order],
    )
    before, bets, _, _, checked = turn
    sign = work.one[1] if mover == 0 else -work.one[1]
    values, value_after = work.child_values[level], vectors[VALUE_AFTER]
    own, theirs = node[STARTS + mover], node[STARTS + 1 - mover]
    count, num_labels = node[NUM_CHILDREN], node[NUM_LABELS]
    if count:
        _scaled(value_after, work.one[0], value_after, after)
    if num_labels == 1:
        for index in range(count):
            _plus(values[index], work.one[count], value_after, after)
    else:
        means = work.child_values[level + 1]  # of labels; those of the level below are settled
        for label in range(num_labels):
            _scaled(means[label], work.one[0], means[label], after)
        for index in range(count):
            child = work.children[level, index]
            _plus(values[index], work.one[child[SHARE]], means[child[LABEL]], after)
        for label in range(num_labels):
            _weighted(means[label], work.strategies[level, label], work.one[1], value_after, after)
        for label in range(num_labels):
            _regret(
                tables.regrets,
                own + 2 * bets + label * after,
                after,
                vectors[AFTER + 1 - mover],
                means[label],
                value_after,
                sign * weight,
                floor,
            )
    _copy_from(value_after, checked, vectors[VALUE], before)
    if bets:
        stakes = work.stakes[level, order]
        _settle_bets(tables.regrets, (own, theirs), vectors, mover, turn, stakes, sign, weight, floor)


@compiled
def _copy_from(values, start, out, size):
    source = values[start : start + size]
    for place in range(size):
        out[place] = source[place]


@compiled(nogil=True)
def run_deals(tables, histories, work, memory, weights, average_weights, floor):
    """So many deals as there are weights; stops earlier when a deal may not find room. Returns how many were done."""
    for number in range(len(weights)):
        if tables.size[USED_NUMBERS] + work.room[USED_NUMBERS] > len(tables.regrets) or 2 * (
            tables.size[USED_VIEWS] + work.room[USED_VIEWS]
        ) > len(tables.slots):
            return number
        weight, average_weight = weights[number], average_weights[number]
        work.states[0, :] = work.root
        deal(work.states[0], work.generator)
        work.memories[0, :] = 0
        work.nodes[0, :] = 0
        work.vectors[0, REACH, 0] = work.one[1]
        work.vectors[0, REACH + 1, 0] = work.one[1]
        level = 0
        entering = True
        while True:
            if entering:
                _enter(tables, histories, work, memory, level, average_weight)
            node = work.nodes[level]
            if node[NEXT_CHILD] < node[NUM_CHILDREN]:
                _descend(histories, work, memory, level)
                level += 1
                entering = True
                continue
            _leave(tables, histories, work, level, weight, floor)
            if level == 0:
                break
            above = work.nodes[level - 1]
            _move(
                work.vectors[level, VALUE],
                work.child_values[level - 1, above[NEXT_CHILD] - 1],
                0,
                histories.before[level, node[ORDER]],
            )
            level -= 1
            entering = False
    return len(weights)
