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

REGRETS, BEST_RESPONSE = range(2)


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


@compiled
def _sum_nodes(layer, view, plan, other_after, met, ends, size, last):
    """The other's plans weighted by chance, and on the last turn with the sign of the result."""
    first, end = layer.first_node[view], layer.first_node[view + 1]
    for place in range(size):
        met[place] = np.float32(0.0)
        ends[place] = np.float32(0.0)
    for node in range(first, end):
        start = other_after[layer.other[node]]
        theirs = plan[start : start + size]
        weight = layer.weight[node]
        for place in range(size):
            met[place] += weight * theirs[place]
        if last:
            sign = weight if layer.wins[node] == 1 else -weight
            for place in range(size):
                ends[place] += sign * theirs[place]


@compiled
def _fold_values(met, folds, stakes, numbers, own_turn):
    bets, first, checked, called = numbers
    stake, called_on = stakes[first : first + bets], met[called : called + bets]
    if own_turn:  # the other folds as often as he does not call
        stays = met[checked + first : checked + first + bets]
        for place in range(bets):
            folds[place] = stake[place] * (stays[place] - called_on[place])
    else:
        for place in range(bets):
            folds[place] = -stake[place] * called_on[place]


@compiled
def _two_ways(first_values, second_values, first_regrets, second_regrets, values, size, discounts):
    """Values of a choice between two actions by regret matching, and new regrets."""
    positive, negative = discounts
    nothing, half = np.float32(0.0), np.float32(0.5)
    for place in range(size):
        first_regret, second_regret = first_regrets[place], second_regrets[place]
        first_share, second_share = max(first_regret, nothing), max(second_regret, nothing)
        total = first_share + second_share
        first_value, second_value = first_values[place], second_values[place]
        share = first_share / total if total > nothing else half
        value = second_value + share * (first_value - second_value)
        values[place] = value
        first_regrets[place] = (positive if first_regret > nothing else negative) * first_regret + (first_value - value)
        second_regrets[place] = (positive if second_regret > nothing else negative) * second_regret + (
            second_value - value
        )


@compiled
def _decide(values, regrets, start, count, size, best_response, discounts):
    """Values of a choice of a card, into its first row; with regret matching also new regrets."""
    positive, negative = discounts
    nothing = np.float32(0.0)
    for place in range(size):
        if best_response:
            best = values[place]
            for action in range(1, count):
                best = max(best, values[place + action * size])
            values[place] = best
            continue
        total, expected, mean = nothing, nothing, nothing
        for action in range(count):
            regret, value = regrets[start + action * size + place], values[place + action * size]
            if regret > nothing:
                total += regret
                expected += regret * value
            mean += value
        expected = expected / total if total > nothing else mean / np.float32(count)
        for action in range(count):
            at = start + action * size + place
            regret = regrets[at]
            regrets[at] = (positive if regret > nothing else negative) * regret + (
                values[place + action * size] - expected
            )
        values[place] = expected


@compiled(nogil=True, error_model="numpy")
def back_up(player, turn, layer, views, other, values, above, values_above, regrets, scratch, mode, discounts):
    """Values of some views of a turn, from those after it, handed to the turn before; and new regrets.

    `values` starts with the rows of the first of these views: for each of them its choices of a card, or one row.
    """
    first_view, end_view = views
    plan, other_after = other
    best_response = mode == BEST_RESPONSE
    last = len(layer.wins) > 0
    met, ends, folds, before = scratch.met, scratch.ends, scratch.folds, scratch.before
    place = 0
    for view in range(first_view, end_view):
        order = layer.order[view]
        own_turn = turn.mover[order] == player
        size, bets, after = turn.before[order], turn.bets[order], turn.after[order]
        first, checked, called = turn.first[order], turn.checked[order], turn.called[order]
        start = layer.regrets[view]
        count = max(1, layer.num_labels[view])
        if bets or last:
            _sum_nodes(layer, view, plan, other_after, met, ends, after, last)
        if last:
            count = 1
            stakes = turn.final_stakes[order]
            for history in range(after):
                ends[history] *= stakes[history]
            rows = ends[:after]
        else:
            rows = values[place : place + count * after]
            place += count * after
            if count > 1:
                _decide(rows, regrets, start + 2 * bets, count, after, best_response, discounts)
        for history in range(size):
            before[history] = rows[checked + history]
        if bets:
            _fold_values(met, folds, turn.stakes[order], (bets, first, checked, called), own_turn)
            on = rows[called : called + bets]
            # Her own turn: check, or bet and be called or not. The other's: call or fold, next to a check.
            if own_turn:
                ways = rows[checked + first : checked + first + bets]
                for bet in range(bets):
                    folds[bet] += on[bet]
            else:
                ways = on
            chosen = met[:bets]
            if best_response:
                for bet in range(bets):
                    chosen[bet] = max(ways[bet], folds[bet])
            else:
                first_regrets = regrets[start : start + bets]
                second_regrets = regrets[start + bets : start + 2 * bets]
                _two_ways(ways, folds, first_regrets, second_regrets, chosen, bets, discounts)
            for bet in range(bets):
                before[first + bet] = chosen[bet] if own_turn else before[first + bet] + chosen[bet]
        _hand_up(layer, above, view, before, size, values_above)


@compiled
def _hand_up(layer, above, view, before, size, values_above):
    """To one of the cards of the view above, or into the sum over cards of the other player."""
    offsets, first, num_labels = above
    parent = layer.parent[view]
    if parent < 0:
        at = view * size - first
    else:
        at = offsets[parent] - first
        if layer.label[view] >= 0 and num_labels[parent] > 1:
            at += layer.label[view] * size
    target = values_above[at : at + size]
    for history in range(size):
        target[history] += before[history]


@compiled(nogil=True, error_model="numpy")
def forward(player, turn, layer, views, above, above_plan, above_regrets, regrets, plan, bets_above):
    """Plans of some views of a turn by regret matching, from those of the turn before."""
    nothing, one, half = np.float32(0.0), np.float32(1.0), np.float32(0.5)
    for view in range(views[0], views[1]):
        order = layer.order[view]
        size, bets = turn.before[order], turn.bets[order]
        first, checked, called = turn.first[order], turn.checked[order], turn.called[order]
        start, parent = layer.after[view], layer.parent[view]
        stays = plan[start + checked : start + checked + size]
        if parent < 0:
            for history in range(size):
                stays[history] = one
        else:
            source = above_plan[above.after[parent] : above.after[parent] + size]
            count = above.num_labels[parent]
            if layer.label[view] < 0 or count <= 1:
                for history in range(size):
                    stays[history] = source[history]
            else:
                cards = above.regrets[parent] + 2 * bets_above[above.order[parent]]
                own = cards + layer.label[view] * size
                for history in range(size):
                    total = nothing
                    for action in range(count):
                        total += max(above_regrets[cards + action * size + history], nothing)
                    share = max(above_regrets[own + history], nothing) / total
                    stays[history] = source[history] * (share if total > nothing else one / np.float32(count))
        at = layer.regrets[view]
        goes = plan[start + called : start + called + bets]
        reach = plan[start + checked + first : start + checked + first + bets]
        own_turn = turn.mover[order] == player
        for bet in range(bets):
            first_share, second_share = max(regrets[at + bet], nothing), max(regrets[at + bets + bet], nothing)
            share = first_share / (first_share + second_share)
            share = share if first_share + second_share > nothing else half
            if own_turn:  # check or bet
                goes[bet] = reach[bet] * (one - share)
                reach[bet] = reach[bet] * share
            else:  # call or fold
                goes[bet] = reach[bet] * share


@compiled(nogil=True)
def add_plan(average, plan, weight, start, end):
    target, source = average[start:end], plan[start:end]
    for place in range(len(target)):
        target[place] += weight * source[place]
