"""Compiled sweeps over the arrays of a sequence form: the inner loops of CFR, best response and evaluation.

A batch holds information sets with the same number of actions that do not lie below one another. Its sequences are
stored action by action (all first actions, all second actions, ...), so that every loop below runs over neighbouring
numbers and the processor works on several information sets at once. Batches come parents first.

A run holds neighbouring sequences with equally many payoff entries, stored entry by entry for the same reason.

Python hands over the arrays of a form and the tables of a solver as plain tuples, and the functions it calls give them
their names: numba takes three times as long to recognise a named tuple, and an iteration of a small game is no longer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from cardtable.compiled import compiled
from cardtable.memory_hints import borrowed

# Information sets worked on at a time; the intermediate results stay in the first-level cache.
CHUNK = 512

# Columns of the tables `batches` and `runs`.
BATCH_ACTIONS, BATCH_SETS, BATCH_SEQUENCE, BATCH_SET = range(4)
RUN_SEQUENCE, RUN_SEQUENCES, RUN_LENGTH, RUN_ENTRY = range(4)


class Arrays(NamedTuple):
    """What the compiled sweeps read; S sequences, N information sets, E payoff entries, P players."""

    batches: np.ndarray  # int64 (batches, 4): actions, information sets, first sequence, first information set
    batch_runs: np.ndarray  # int64 (batches + 1): first run of each batch
    runs: np.ndarray  # int64 (runs, 4): first sequence, sequences, entries of each, first entry
    weight: np.ndarray  # float64 (E): chance probability / probability unit * utility to the owner of the row
    others: np.ndarray  # uint32 (P-1, E): the other players' sequences, in seat order
    parent: np.ndarray  # uint32 (N): parent sequence of each information set
    block_start: np.ndarray  # int64 (blocks + 1): first batch of each block
    player_block: np.ndarray  # int64 (P + 1): first block of each player
    empty_runs: np.ndarray  # int64 (P, 4): the runs of the empty sequences


class Tables(NamedTuple):
    """What a CFR solver keeps, one number per sequence each."""

    plan: np.ndarray
    regret: np.ndarray
    banked: np.ndarray  # empty unless the variant is predictive
    average: np.ndarray
    values: np.ndarray  # zero between sweeps


# Divisions by zero are discarded after the fact instead of checked, so that loops stay free of branches. Products are
# not fused with sums: that would turn exact ties between actions into rounding errors.
FAST: dict[str, Any] = {"fastmath": {"nsz"}, "error_model": "numpy"}


@compiled(**FAST)
def add_rows(first_run, last_run, runs, weight, others, plan, values):
    """values[s] += sum over the payoff entries of s of weight * product of the other players' plans."""
    for run in range(first_run, last_run):
        size = runs[run, RUN_SEQUENCES]
        value = values[runs[run, RUN_SEQUENCE] : runs[run, RUN_SEQUENCE] + size]
        entry = runs[run, RUN_ENTRY]
        for _ in range(runs[run, RUN_LENGTH]):
            factor = weight[entry : entry + size]
            other = others[0, entry : entry + size]
            if others.shape[0] == 1:
                for i in range(size):
                    value[i] += factor[i] * plan[other[i]]
            else:
                for i in range(size):
                    product = factor[i] * plan[other[i]]
                    for player in range(1, others.shape[0]):
                        product *= plan[others[player, entry + i]]
                    value[i] += product
            entry += size


@compiled(**FAST)
def _regrets_of_pairs(first_regret, second_regret, first_value, second_value, expected, keep_positive, keep_negative):
    """The update of `regret_sweep` for information sets with two actions, which most are, in one pass."""
    for i in range(len(expected)):
        a = first_regret[i]
        b = second_regret[i]
        total = max(a, 0.0) + max(b, 0.0)
        p = max(a, 0.0) / total if total > 0.0 else 0.5
        q = max(b, 0.0) / total if total > 0.0 else 0.5
        value = p * first_value[i] + q * second_value[i]
        first_regret[i] = (keep_positive if a > 0.0 else keep_negative) * a + (first_value[i] - value)
        second_regret[i] = (keep_positive if b > 0.0 else keep_negative) * b + (second_value[i] - value)
        first_value[i] = 0.0
        second_value[i] = 0.0
        expected[i] = value


@compiled(**FAST)
def regret_sweep(first_batch, last_batch, form, tables, keep_positive, keep_negative, predictive, scratch):
    """From the leaves: counterfactual values of the current strategy, then the regrets of the next.

    The current strategy is regret matching on `regret`. With value(I) = sum of strategy * value(I, a):
        regret <- regret * (keep_positive if it is positive, else keep_negative) + value(I, a) - value(I)
    or, if `predictive`,
        banked <- max(banked + value(I, a) - value(I), 0);    regret <- banked + value(I, a) - value(I).
    `values` is zero before and after.
    """
    batches, batch_runs, runs, parent = form.batches, form.batch_runs, form.runs, form.parent
    plan, regret, banked, values = tables.plan, tables.regret, tables.banked, tables.values
    num_players = form.others.shape[0] + 1
    for batch in range(last_batch - 1, first_batch - 1, -1):
        actions = batches[batch, BATCH_ACTIONS]
        size = batches[batch, BATCH_SETS]
        first_sequence = batches[batch, BATCH_SEQUENCE]
        first_set = batches[batch, BATCH_SET]
        has_parents = parent[first_set] >= num_players
        uniform = 1.0 / actions
        add_rows(batch_runs[batch], batch_runs[batch + 1], runs, form.weight, form.others, plan, values)
        for start in range(0, size, CHUNK):
            count = min(CHUNK, size - start)
            total = scratch[0, :count]
            expected = scratch[1, :count]
            if actions == 2 and not predictive:
                at = first_sequence + start
                _regrets_of_pairs(
                    regret[at : at + count],
                    regret[at + size : at + size + count],
                    values[at : at + count],
                    values[at + size : at + size + count],
                    expected,
                    keep_positive,
                    keep_negative,
                )
                if has_parents:
                    above = parent[first_set + start : first_set + start + count]
                    for i in range(count):
                        values[above[i]] += expected[i]
                continue
            for i in range(count):
                total[i] = 0.0
                expected[i] = 0.0
            for action in range(actions):
                at = first_sequence + action * size + start
                r = regret[at : at + count]
                for i in range(count):
                    total[i] += max(r[i], 0.0)
            # One division for each action, not each information set: a pure strategy gets exactly 1, and its regret
            # exactly 0. Rounding errors in their place would break ties that other implementations see.
            for action in range(actions):
                at = first_sequence + action * size + start
                r = regret[at : at + count]
                value = values[at : at + count]
                for i in range(count):
                    probability = max(r[i], 0.0) / total[i] if total[i] > 0.0 else uniform
                    expected[i] += probability * value[i]
            for action in range(actions):
                at = first_sequence + action * size + start
                r = regret[at : at + count]
                value = values[at : at + count]
                if predictive:
                    bank = banked[at : at + count]
                    for i in range(count):
                        gain = value[i] - expected[i]
                        bank[i] = max(bank[i] + gain, 0.0)
                        r[i] = bank[i] + gain
                        value[i] = 0.0
                else:
                    for i in range(count):
                        keep = keep_positive if r[i] > 0.0 else keep_negative
                        r[i] = keep * r[i] + (value[i] - expected[i])
                        value[i] = 0.0
            if has_parents:
                above = parent[first_set + start : first_set + start + count]
                for i in range(count):
                    values[above[i]] += expected[i]


@compiled(**FAST)
def plan_sweep(first_batch, last_batch, form, tables, average_weight, scratch):
    """From the root: adds the plan just used to the average, then makes the plan of regret matching on `regret`."""
    batches, parent = form.batches, form.parent
    plan, regret, average = tables.plan, tables.regret, tables.average
    for batch in range(first_batch, last_batch):
        actions = batches[batch, BATCH_ACTIONS]
        size = batches[batch, BATCH_SETS]
        first_sequence = batches[batch, BATCH_SEQUENCE]
        first_set = batches[batch, BATCH_SET]
        uniform = 1.0 / actions
        for start in range(0, size, CHUNK):
            count = min(CHUNK, size - start)
            total = scratch[0, :count]
            reach = scratch[1, :count]
            above = parent[first_set + start : first_set + start + count]
            for i in range(count):
                reach[i] = plan[above[i]]
                total[i] = 0.0
            for action in range(actions):
                at = first_sequence + action * size + start
                r = regret[at : at + count]
                for i in range(count):
                    total[i] += max(r[i], 0.0)
            for action in range(actions):
                at = first_sequence + action * size + start
                r = regret[at : at + count]
                own = plan[at : at + count]
                mean = average[at : at + count]
                for i in range(count):
                    mean[i] += average_weight * own[i]
                    own[i] = reach[i] * (max(r[i], 0.0) / total[i] if total[i] > 0.0 else uniform)


@compiled(**FAST)
def best_response_sweep(first_batch, last_batch, batches, parent, values, choice, scratch):
    """From the leaves: the value of each information set is that of its best action, which goes into `choice`.

    `values` holds the sums of `add_rows` on entry and zeros afterwards, except for the empty sequences.
    """
    for batch in range(last_batch - 1, first_batch - 1, -1):
        actions = batches[batch, BATCH_ACTIONS]
        size = batches[batch, BATCH_SETS]
        first_sequence = batches[batch, BATCH_SEQUENCE]
        first_set = batches[batch, BATCH_SET]
        for start in range(0, size, CHUNK):
            count = min(CHUNK, size - start)
            best = scratch[0, :count]
            chosen = choice[first_set + start : first_set + start + count]
            for i in range(count):
                best[i] = -np.inf
                chosen[i] = 0
            for action in range(actions):
                at = first_sequence + action * size + start
                value = values[at : at + count]
                for i in range(count):
                    if value[i] > best[i]:
                        best[i] = value[i]
                        chosen[i] = action
                    value[i] = 0.0
            above = parent[first_set + start : first_set + start + count]
            for i in range(count):
                values[above[i]] += best[i]


@compiled(**FAST)
def evaluate_plans(arrays, plan, scale, values, choice, scratch, best_values, plan_values):
    """Per player: the value of a best response to the others' plans, and the value of the plans themselves.

    `plan` may be any positive multiple of proper plans; `scale` is one over that multiple.
    """
    form = Arrays(*arrays)
    batches, batch_runs, runs, weight, others = form.batches, form.batch_runs, form.runs, form.weight, form.others
    num_players = others.shape[0] + 1
    for player in range(num_players):
        first_batch = form.block_start[form.player_block[player]]
        last_batch = form.block_start[form.player_block[player + 1]]
        add_rows(player, player + 1, form.empty_runs, weight, others, plan, values)
        add_rows(batch_runs[first_batch], batch_runs[last_batch], runs, weight, others, plan, values)
        expected = values[player] / scale
        if first_batch < last_batch:
            last = last_batch - 1
            end = batches[last, BATCH_SEQUENCE] + batches[last, BATCH_ACTIONS] * batches[last, BATCH_SETS]
            for sequence in range(batches[first_batch, BATCH_SEQUENCE], end):
                expected += values[sequence] * plan[sequence]
        best_response_sweep(first_batch, last_batch, batches, form.parent, values, choice, scratch)
        others_scale = scale ** (num_players - 1)
        best_values[player] = values[player] * others_scale
        plan_values[player] = expected * others_scale * scale
        values[player] = 0.0


@compiled(**FAST)
def normalise(batches, weights, probabilities):
    """Probabilities proportional to the weights of the actions of each information set; uniform where all are zero."""
    for batch in range(len(batches)):
        actions = batches[batch, BATCH_ACTIONS]
        size = batches[batch, BATCH_SETS]
        first = batches[batch, BATCH_SEQUENCE]
        for i in range(first, first + size):
            total = 0.0
            for action in range(actions):
                total += max(weights[i + action * size], 0.0)
            for action in range(actions):
                at = i + action * size
                probabilities[at] = max(weights[at], 0.0) / total if total > 0.0 else 1.0 / actions


@compiled
def plans_of(batches, parent, probabilities, plan):
    """Sequence probabilities of behaviour probabilities; the plans of the empty sequences must be there."""
    for batch in range(len(batches)):
        size = batches[batch, BATCH_SETS]
        first_set = batches[batch, BATCH_SET]
        for action in range(batches[batch, BATCH_ACTIONS]):
            at = batches[batch, BATCH_SEQUENCE] + action * size
            for i in range(size):
                plan[at + i] = plan[parent[first_set + i]] * probabilities[at + i]


@compiled(**FAST)
def update_block(block, settings, alternating, predictive, form, tables, scratch):
    first_batch = form.block_start[block]
    last_batch = form.block_start[block + 1]
    regret_sweep(first_batch, last_batch, form, tables, settings[0], settings[1], predictive, scratch)
    if alternating:
        plan_sweep(first_batch, last_batch, form, tables, settings[2], scratch)


@compiled(**FAST)
def iterate(first, last, schedule, alternating, predictive, arrays, tables, scratch):
    """The CFR iterations of rows first .. last-1 of `schedule`: (keep_positive, keep_negative, weight)."""
    form, tables = Arrays(*borrowed(arrays)), Tables(*borrowed(tables))
    for t in range(first, last):
        for player in range(len(form.player_block) - 1):
            first_block = form.player_block[player]
            for block in range(first_block, form.player_block[player + 1]):
                update_block(block, schedule[t], alternating, predictive, form, tables, scratch[block])
        if not alternating:
            plan_sweep(0, len(form.batches), form, tables, schedule[t, 2], scratch[0])


@compiled(parallel=True, **FAST)
def iterate_in_parallel(first, last, schedule, alternating, predictive, arrays, tables, scratch):
    """The same with the blocks of a player spread over threads; they never touch the same numbers."""
    form, tables = Arrays(*borrowed(arrays)), Tables(*borrowed(tables))
    for t in range(first, last):
        for player in range(len(form.player_block) - 1):
            first_block = form.player_block[player]
            for i in numba.prange(form.player_block[player + 1] - first_block):
                block = first_block + i
                update_block(block, schedule[t], alternating, predictive, form, tables, scratch[block])
        if not alternating:
            plan_sweep(0, len(form.batches), form, tables, schedule[t, 2], scratch[0])
