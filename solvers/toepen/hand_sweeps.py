"""The inner loops of CFR on a card tree of Toepen: some views of one player at one turn, at a time.

With w the probability of a node by chance, q the other player's plan after the bet (his own probabilities over betting
histories), and stake what a history is worth,

    fold:  U(bet)  += w * stake * (q(check) - q(called))         U(fold) -= w * stake * q(called)
    end:   U(after the last bet) += +-w * stake * q(after the last bet)

are the only sums over nodes; the rest happens view by view. Values live only while a hand is worked on: `values` has
those of the views of one turn, `values_above` collects them for the turn before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable.compiled import compiled
from cardtable.elementwise import add, add_times, copy, elementwise, fill, larger, positive, share, where_positive
from cardtable.memory_hints import prefetch

REGRETS, BEST_RESPONSE = range(2)
NODES_AHEAD = 4  # whose plans are fetched early
FLOATS_IN_A_LINE = 16


class Turn(NamedTuple):
    """The betting of one turn by order of leaders: columns of `solvers.toepen.histories.Histories`, and stakes."""

    mover: np.ndarray
    before: np.ndarray
    first: np.ndarray
    bets: np.ndarray
    after: np.ndarray
    checked: np.ndarray
    called: np.ndarray
    stakes: np.ndarray  # [order, history before the bet], float32
    final_stakes: np.ndarray  # [order, history after the bet]


class Scratch(NamedTuple):
    """Vectors over histories of one thread."""

    met: np.ndarray
    ends: np.ndarray
    folds: np.ndarray
    before: np.ndarray
    totals: np.ndarray


# Inner loops over histories.


@elementwise("target")
def _larger(target, first, second):
    return larger(first, second)


@elementwise("lost", "won")
def _settle(lost, won, stakes):
    """From the plans that lose and those that win: all of them, and what they are worth at the end."""
    return lost + won, (won - lost) * stakes


@elementwise("folds")
def _bet_values(folds, stakes, stays, goes, on):
    """What a bet is worth to her: the other folds as often as he does not call."""
    return stakes * (stays - goes) + on


@elementwise("folds")
def _fold_values(folds, stakes, goes):
    return -stakes * goes


@elementwise("values", "first_regrets", "second_regrets")
def _two_ways(values, first_regrets, second_regrets, first_values, second_values, *, kept, negative_kept, half):
    """Values of a choice between two actions by regret matching, and new regrets."""
    first = positive(first_regrets)
    value = second_values + share(first, first + positive(second_regrets), half) * (first_values - second_values)
    return (
        value,
        where_positive(first_regrets, kept, negative_kept) * first_regrets + (first_values - value),
        where_positive(second_regrets, kept, negative_kept) * second_regrets + (second_values - value),
    )


@elementwise("totals", "expected", "mean")
def _weigh(totals, expected, mean, regrets, values):
    weight = positive(regrets)
    return totals + weight, expected + weight * values, mean + values


@elementwise("expected")
def _expect(expected, totals, mean, *, even):
    return share(expected, totals, mean * even)


@elementwise("regrets")
def _regret(regrets, values, expected, *, kept, negative_kept):
    return where_positive(regrets, kept, negative_kept) * regrets + (values - expected)


@elementwise("total")
def _add_positive(total, regrets):
    return total + positive(regrets)


@elementwise("plan")
def _play(plan, above, regrets, *, even):
    """`plan` has the sum of positive regrets."""
    return above * share(positive(regrets), plan, even)


@elementwise("stays", "goes")
def _bet_or_check(stays, goes, check_regrets, bet_regrets, *, half, one):
    check = positive(check_regrets)
    part = share(check, check + positive(bet_regrets), half)
    return stays * part, stays * (one - part)


@elementwise("goes")
def _call(goes, stays, call_regrets, fold_regrets, *, half):
    call = positive(call_regrets)
    return stays * share(call, call + positive(fold_regrets), half)


@compiled
def _sum_plans(nodes, others, weights, plan, other_after, met, size):
    """The other's plans weighted by chance, over some nodes."""
    first, end = nodes
    fill(met, 0, np.float32(0.0), size)
    for node in range(first, end):
        _fetch(plan, other_after[others[min(node + NODES_AHEAD, len(others) - 1)]], size)
        add_times(met, 0, plan, other_after[others[node]], weights[node], size)


@compiled
def _sum_last_plans(nodes, others, weights, wins, plan, other_after, lost, won, size):
    """The same on the last turn: those that she loses against, and those that she wins against."""
    first, end = nodes
    fill(lost, 0, np.float32(0.0), size)
    fill(won, 0, np.float32(0.0), size)
    for node in range(first, end):
        _fetch(plan, other_after[others[min(node + NODES_AHEAD, len(others) - 1)]], size)
        if wins[node] == 1:
            add_times(won, 0, plan, other_after[others[node]], weights[node], size)
        else:
            add_times(lost, 0, plan, other_after[others[node]], weights[node], size)


@compiled
def _fetch(plan, start, size):
    for place in range(0, size, FLOATS_IN_A_LINE):
        prefetch(plan, start + place)


@compiled
def _decide(values, place, regrets, start, count, size, best_response, totals, expected, mean, discounts):
    """Values of a choice of a card, into its first row; with regret matching also new regrets."""
    if best_response:
        for action in range(1, count):
            _larger(values, place, values, place, values, place + action * size, size)
        return
    nothing = np.float32(0.0)
    fill(totals, 0, nothing, size)
    fill(expected, 0, nothing, size)
    fill(mean, 0, nothing, size)
    for action in range(count):
        _weigh(totals, 0, expected, 0, mean, 0, regrets, start + action * size, values, place + action * size, size)
    _expect(expected, 0, totals, 0, mean, 0, np.float32(1.0) / np.float32(count), size)
    kept, negative_kept = discounts
    for action in range(count):
        _regret(regrets, start + action * size, values, place + action * size, expected, 0, kept, negative_kept, size)
    copy(values, place, expected, 0, size)


@compiled(nogil=True, error_model="numpy")
def back_up(player, turn, layer, views, other, values, above, values_above, regrets, scratch, mode, discounts):
    """Values of some views of a turn, from those after it, handed to the turn before; and new regrets.

    `values` starts with the rows of the first of these views: for each of them its choices of a card, or one row.
    """
    first_view, end_view = views
    plan, other_after = other
    best_response = mode == BEST_RESPONSE
    last = len(layer.wins) > 0
    # Functions get the arrays they need: a whole layer would be copied at every call.
    first_node, others, weights, wins = layer.first_node, layer.other, layer.weight, layer.wins
    parents, labels = layer.parent, layer.label
    kept, negative_kept = discounts
    half = np.float32(0.5)
    met, ends, folds, before, totals = scratch.met, scratch.ends, scratch.folds, scratch.before, scratch.totals
    place = 0
    for view in range(first_view, end_view):
        order = layer.order[view]
        own_turn = turn.mover[order] == player
        size, bets, after = turn.before[order], turn.bets[order], turn.after[order]
        first, checked, called = turn.first[order], turn.checked[order], turn.called[order]
        start = layer.regrets[view]
        count = max(1, layer.num_labels[view])
        nodes = first_node[view], first_node[view + 1]
        if last:
            _sum_last_plans(nodes, others, weights, wins, plan, other_after, met, ends, after)
        elif bets:
            _sum_plans(nodes, others, weights, plan, other_after, met, after)
        if last:
            _settle(met, 0, ends, 0, turn.final_stakes[order], 0, after)
            rows, row = ends, 0
        else:
            rows, row = values, place
            place += count * after
            if count > 1:
                _decide(
                    values, row, regrets, start + 2 * bets, count, after, best_response, totals, ends, before, discounts
                )
        copy(before, 0, rows, row + checked, size)
        if bets:
            stakes = turn.stakes[order]
            on = row + called
            # Her own turn: check, or bet and be called or not. The other's: call or fold, next to a check.
            if own_turn:
                _bet_values(folds, 0, stakes, first, met, checked + first, met, called, rows, on, bets)
                on = row + checked + first
            else:
                _fold_values(folds, 0, stakes, first, met, called, bets)
            if best_response:
                _larger(met, 0, rows, on, folds, 0, bets)
            else:
                _two_ways(
                    met, 0, regrets, start, regrets, start + bets, rows, on, folds, 0, kept, negative_kept, half, bets
                )
            if own_turn:
                copy(before, first, met, 0, bets)
            else:
                add(before, first, met, 0, bets)
        _hand_up(parents[view], labels[view], above, view, before, size, values_above)


@compiled
def _hand_up(parent, label, above, view, before, size, values_above):
    """To one of the cards of the view above, or into the sum over cards of the other player."""
    offsets, first, num_labels = above
    if parent < 0:
        at = view * size - first
    else:
        at = offsets[parent] - first
        if label >= 0 and num_labels[parent] > 1:
            at += label * size
    add(values_above, at, before, 0, size)


@compiled(nogil=True, error_model="numpy")
def forward(player, turn, layer, views, above, above_plan, above_regrets, regrets, plan, bets_above):
    """Plans of some views of a turn by regret matching, from those of the turn before."""
    nothing, one, half = np.float32(0.0), np.float32(1.0), np.float32(0.5)
    for view in range(views[0], views[1]):
        order = layer.order[view]
        size, bets = turn.before[order], turn.bets[order]
        first, checked, called = turn.first[order], turn.checked[order], turn.called[order]
        start, parent = layer.after[view], layer.parent[view]
        if parent < 0:
            fill(plan, start + checked, one, size)
        else:
            source = above.after[parent]
            count = above.num_labels[parent]
            if layer.label[view] < 0 or count <= 1:
                copy(plan, start + checked, above_plan, source, size)
            else:
                cards = above.regrets[parent] + 2 * bets_above[above.order[parent]]
                own = cards + layer.label[view] * size
                fill(plan, start + checked, nothing, size)
                for action in range(count):
                    _add_positive(plan, start + checked, above_regrets, cards + action * size, size)
                even = one / np.float32(count)
                _play(plan, start + checked, above_plan, source, above_regrets, own, even, size)
        at, stays = layer.regrets[view], start + checked + first
        if turn.mover[order] == player:
            _bet_or_check(plan, stays, plan, start + called, regrets, at, regrets, at + bets, half, one, bets)
        else:
            _call(plan, start + called, plan, stays, regrets, at, regrets, at + bets, half, bets)


@compiled(nogil=True)
def add_plan(average, plan, weight, start, end):
    add_times(average, start, plan, start, weight, end - start)
