"""A flat Monte Carlo player for any game of the project.

The player to move deals what she cannot see again, `worlds` times (the rules' `resample`). In each of these worlds she
tries every legal action and lets a *rollout policy* play all seats to the end of the game; the action with the best
mean return is chosen, the lowest of equal ones. The worlds are the same for all actions, so what one action is worth
more than another is a mean of paired differences. (Ginsberg, "GIB: imperfect information in a computationally
challenging game", 2001, does this with an exact solver in the place of rollouts.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.parameters import bad_value, require
from cardtable.player import Explanation, Player, compiled_players
from cardtable.randomness import below, sample_index
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    INTEGER,
    INTEGERS,
    STATES,
    STREAMS,
    TERMINAL,
    kernel_at,
    player_addresses,
    player_at,
)
from cardtable.spiel import CardGame

RANDOM = "random"
MOST_WORLDS = 1_000_000
BATCH = 32  # games played side by side: each of their moves is slow


def monte_carlo(game: CardGame, worlds: int = 100, rollout: str = RANDOM) -> Player:
    """The flat Monte Carlo player; `rollout` is `random` or a compiled player of the game."""
    require(1 <= worlds <= MOST_WORLDS, "worlds", worlds, f"1 to {MOST_WORLDS:,}")
    policies = compiled_players(game)
    if rollout not in policies:
        raise bad_value("rollout", rollout, ", ".join(policies))
    search = FlatSearch(game, worlds, None if rollout == RANDOM else policies[rollout].compiled)
    return Player(
        "monte_carlo", game, choose_rows=search.choose_rows, explain_rows=search.explain_rows, batch_size=BATCH
    )


class FlatSearch:
    """Chooses and explains by flat Monte Carlo; `rollout` is a compiled player, or None for random rollouts."""

    def __init__(self, game: CardGame, worlds: int, rollout: Callable | None = None) -> None:
        rules = game.rules
        self.rules = rules
        self.worlds = worlds
        self._addresses = rules.compiled_kernel(resample=True).addresses()
        self._rollout = player_addresses((rollout or _nobody,))
        self._sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes, rules.num_players], np.int64)
        self._random = rollout is None

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """The best action in each of these rows of `states`."""
        chosen = np.empty(len(rows), np.int64)
        search = (self._addresses, self._rollout, self._random, self.worlds, self._sizes)
        _choose_rows(*search, states, rows, streams, chosen)
        return chosen

    def values_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """(rows, num_distinct_actions): the mean return of every legal action, NaN for the others."""
        values = np.full((len(rows), self.rules.num_distinct_actions), np.nan)
        search = (self._addresses, self._rollout, self._random, self.worlds, self._sizes)
        _value_rows(*search, states, rows, streams, values)
        return values

    def explain_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        """The mean return of each legal action, with the standard error of its difference to the best one."""
        found = []
        for row, stream in zip(rows, streams, strict=True):
            if self.rules.kernel.current_player(states[row]) < 0:
                raise ValueError("the state has no player to move")
            actions = np.empty(self._sizes[0], np.int64)
            results = np.zeros((self.worlds, self._sizes[0]))
            search = (self._addresses, self._rollout, self._random, self.worlds, self._sizes)
            n = _evaluate_row(*search, states[row], stream, actions, results)
            returns = results[:, :n]
            best = int(np.argmax(returns.mean(axis=0)))
            differences = returns - returns[:, [best]]
            errors = differences.std(axis=0, ddof=1) / np.sqrt(self.worlds) if self.worlds > 1 else np.full(n, np.nan)
            found.append(Explanation(actions[:n].copy(), values=returns.mean(axis=0), errors=errors))
        return found


@compiled
def _nobody(state, generator):
    return -1


SEARCH_TYPES = (ADDRESSES, ADDRESSES, types.boolean, INTEGER, INTEGERS)


@entry_point(*SEARCH_TYPES, STATES, INTEGERS, STREAMS, INTEGERS, nogil=True)
def _choose_rows(addresses, rollout, rollout_is_random, worlds, sizes, states, rows, streams, chosen):
    kernel = kernel_at(addresses)
    actions = np.empty(sizes[0], np.int64)
    values = np.empty(sizes[0])
    results = np.empty((1, sizes[0]))  # not kept
    for index in range(len(rows)):
        state = states[rows[index]]
        n = kernel.legal_actions(state, actions)
        if n > 1:
            _evaluate(
                kernel,
                player_at(rollout, 0),
                rollout_is_random,
                worlds,
                sizes,
                state,
                streams[index],
                actions[:n],
                results,
            )
            for action in range(n):
                values[action] = results[0, action]
            chosen[index] = actions[np.argmax(values[:n])]
        else:
            chosen[index] = actions[0]


@entry_point(*SEARCH_TYPES, STATES, INTEGERS, STREAMS, types.Array(types.float64, 2, "C"), nogil=True)
def _value_rows(addresses, rollout, rollout_is_random, worlds, sizes, states, rows, streams, values):
    kernel = kernel_at(addresses)
    choose = player_at(rollout, 0)
    actions = np.empty(sizes[0], np.int64)
    sums = np.empty((1, sizes[0]))
    for index in range(len(rows)):
        state = states[rows[index]]
        n = kernel.legal_actions(state, actions)
        _evaluate(kernel, choose, rollout_is_random, worlds, sizes, state, streams[index], actions[:n], sums)
        for place in range(n):
            values[index, actions[place]] = sums[0, place] / worlds


@entry_point(
    *SEARCH_TYPES,
    types.Array(types.int64, 1, "C"),
    types.Array(types.uint64, 1, "C"),
    INTEGERS,
    types.Array(types.float64, 2, "C"),
)
def _evaluate_row(addresses, rollout, rollout_is_random, worlds, sizes, state, stream, actions, results):
    kernel = kernel_at(addresses)
    n = kernel.legal_actions(state, actions)
    _evaluate(kernel, player_at(rollout, 0), rollout_is_random, worlds, sizes, state, stream, actions[:n], results)
    return n


@compiled
def _evaluate(kernel, rollout, rollout_is_random, worlds, sizes, state, generator, actions, results):
    """The return of each action in each world, a row of `results` for each; with a single row, their sums."""
    player = kernel.current_player(state)
    world = np.empty_like(state)
    trial = np.empty_like(state)
    choices = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    returns = np.empty(sizes[2])
    results[:, : len(actions)] = 0.0
    for number in range(worlds):
        world[:] = state
        kernel.resample(world, player, generator)
        sums = results[number % len(results)]
        for index in range(len(actions)):
            trial[:] = world
            kernel.apply_action(trial, actions[index])
            while True:
                seat = kernel.current_player(trial)
                if seat == TERMINAL:
                    break
                if seat == CHANCE:
                    m = kernel.chance_outcomes(trial, choices, probabilities)
                    kernel.apply_action(trial, choices[sample_index(generator, probabilities, m)])
                elif rollout_is_random:
                    kernel.apply_action(trial, choices[below(generator, kernel.legal_actions(trial, choices))])
                else:
                    kernel.apply_action(trial, rollout(trial, generator))
            kernel.returns(trial, returns)
            sums[index] += returns[player]
