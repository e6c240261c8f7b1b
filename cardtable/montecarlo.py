"""A flat Monte Carlo player for any game of the project, and matches with it on duplicate deals.

The player to move deals what she cannot see again, `worlds` times (the rules' `resample`). In each of these worlds she
tries every legal action and lets a *rollout policy* play all seats to the end of the game; the action with the best
mean return is chosen. The worlds are the same for all actions. (Ginsberg, "GIB: imperfect information in a
computationally challenging game", 2001, does this with an exact solver in the place of rollouts.)

In a match on duplicate deals every deal is played twice, with the teams exchanged, so that lucky cards cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.randomness import below, generators, sample_index
from cardtable.rules import (
    CHANCE,
    FUNCTION_TYPES,
    GENERATOR,
    INTEGER,
    PLAYER_SIGNATURE,
    PLAYER_TYPE,
    STATE,
    TERMINAL,
    Rules,
    compile_for,
)

DEALS_PER_STREAM = 16  # deals that share a generator: results do not depend on the number of threads


class Contender(NamedTuple):
    """A player of a match.

    With `worlds` = 0 it plays `choose` (None: uniformly at random). Otherwise it is the flat Monte Carlo player with so
    many worlds, and `choose` is its rollout policy.
    """

    choose: Callable | None = None
    worlds: int = 0


class MatchResult(NamedTuple):
    """What the first contender won, per deal: the mean of the two games of the deal, for one of its seats."""

    per_deal: np.ndarray
    moves: int  # decisions of the first contender with more than one legal action

    @property
    def mean(self) -> float:
        return float(self.per_deal.mean())

    @property
    def standard_error(self) -> float:
        return float(self.per_deal.std(ddof=1) / math.sqrt(len(self.per_deal)))


def duplicate_match(
    rules: Rules,
    first: Contender,
    second: Contender,
    deals: int,
    seed: int | np.random.SeedSequence | None = None,
    threads: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> MatchResult:
    """Plays every deal twice between two contenders in a game of two equal teams; each has one team, then the other.

    `on_progress` is called with the number of deals just finished.
    """
    if len(rules.teams) != 2 or len(rules.teams[0]) != len(rules.teams[1]):
        raise ValueError(f"a duplicate match needs two teams of equal size, not {rules.teams}")
    if deals < 2:
        raise ValueError(f"deals is {deals}; allowed: at least 2")
    for contender in (first, second):
        if contender.worlds < 0:
            raise ValueError(f"worlds is {contender.worlds}; allowed: 0 for no search, or the number of worlds")
    kernel = rules.compiled_kernel(resample=True)
    functions = [kernel.current_player, kernel.legal_actions, kernel.apply_action, kernel.chance_outcomes]
    functions += [kernel.deal, kernel.resample, kernel.returns]
    players = [_chooser(contender.choose) for contender in (first, second)]
    is_random = [contender.choose is None for contender in (first, second)]
    seats = np.array(rules.teams, np.int64)
    team_of = np.array([int(seat in rules.teams[1]) for seat in range(rules.num_players)], np.int64)
    per_deal = np.empty(deals)
    starts = range(0, deals, DEALS_PER_STREAM)
    streams = generators(seed, len(starts))
    sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes, rules.num_players], np.int64)

    def play(index: int) -> int:
        part = per_deal[starts[index] : starts[index] + DEALS_PER_STREAM]
        moves = _play_deals(
            *functions,
            *players,
            *is_random,
            first.worlds,
            second.worlds,
            rules.root,
            team_of,
            seats[0, 0],
            seats[1, 0],
            sizes,
            streams[index],
            part,
        )
        if on_progress is not None:
            on_progress(len(part))
        return moves

    if threads == 1:
        return MatchResult(per_deal, sum(map(play, range(len(starts)))))
    with ThreadPoolExecutor(threads) as pool:
        return MatchResult(per_deal, sum(pool.map(play, range(len(starts)))))


class MonteCarlo:
    """The flat Monte Carlo player for Python: `choose(state_array)` and the estimates behind its choice."""

    def __init__(
        self,
        rules: Rules,
        worlds: int,
        rollout: Callable | None = None,
        seed: int | np.random.SeedSequence | None = None,
    ) -> None:
        if worlds < 1:
            raise ValueError(f"worlds is {worlds}; allowed: at least 1")
        self.rules = rules
        self.worlds = worlds
        kernel = rules.compiled_kernel(resample=True)
        self._functions = [kernel.current_player, kernel.legal_actions, kernel.apply_action, kernel.chance_outcomes]
        self._functions += [kernel.resample, kernel.returns]
        self._rollout = _chooser(rollout)
        self._rollout_is_random = rollout is None
        self._sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes, rules.num_players], np.int64)
        self._generator = generators(seed, 1)[0]

    def evaluate(self, state: np.ndarray) -> dict[int, float]:
        """The mean return of each legal action for the player to move."""
        if self.rules.kernel.current_player(state) < 0:
            raise ValueError("the state has no player to move")
        actions = np.empty(self.rules.num_distinct_actions, np.int64)
        values = np.empty(self.rules.num_distinct_actions)
        arguments = (self._rollout, self._rollout_is_random, state, self.worlds, self._sizes, self._generator)
        n = _evaluate_moves(*self._functions, *arguments, actions, values)
        return dict(zip(actions[:n].tolist(), values[:n].tolist(), strict=True))

    def choose(self, state: np.ndarray) -> int:
        """The action with the best mean return; the lowest of equal ones."""
        values = self.evaluate(state)
        return max(values, key=lambda action: (values[action], -action))


def _chooser(player: Callable | None) -> Callable:
    return compile_for(player or _no_player, PLAYER_SIGNATURE)


@compiled
def _no_player(state, generator):
    return -1


SEARCH_TYPES = (
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
)


@entry_point(
    *SEARCH_TYPES,
    FUNCTION_TYPES["resample"],
    FUNCTION_TYPES["returns"],
    PLAYER_TYPE,
    types.boolean,
    STATE,
    INTEGER,
    types.Array(types.int64, 1, "C"),
    GENERATOR,
    types.Array(types.int64, 1, "C"),
    types.Array(types.float64, 1, "C"),
)
def _evaluate_moves(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    resample,
    returns,
    rollout,
    rollout_is_random,
    state,
    worlds,
    sizes,
    generator,
    actions,
    values,
):
    return _evaluate(
        current_player,
        legal_actions,
        apply_action,
        chance_outcomes,
        resample,
        returns,
        rollout,
        rollout_is_random,
        state,
        worlds,
        sizes,
        generator,
        actions,
        values,
    )


@compiled
def _evaluate(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    resample,
    returns,
    rollout,
    rollout_is_random,
    state,
    worlds,
    sizes,
    generator,
    actions,
    values,
):
    """Writes the legal actions and their mean returns; returns how many. `sizes`: actions, chance outcomes, players."""
    player = current_player(state)
    n = legal_actions(state, actions)
    values[:n] = 0.0
    if n == 1:
        return n
    world = np.empty_like(state)
    trial = np.empty_like(state)
    choices = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    results = np.empty(sizes[2])
    for _ in range(worlds):
        world[:] = state
        resample(world, player, generator)
        for index in range(n):
            trial[:] = world
            apply_action(trial, actions[index])
            while True:
                seat = current_player(trial)
                if seat == TERMINAL:
                    break
                if seat == CHANCE:
                    m = chance_outcomes(trial, choices, probabilities)
                    apply_action(trial, choices[sample_index(generator, probabilities, m)])
                elif rollout_is_random:
                    apply_action(trial, choices[below(generator, legal_actions(trial, choices))])
                else:
                    apply_action(trial, rollout(trial, generator))
            returns(trial, results)
            values[index] += results[player]
    values[:n] /= worlds
    return n


@entry_point(
    *SEARCH_TYPES,
    FUNCTION_TYPES["deal"],
    FUNCTION_TYPES["resample"],
    FUNCTION_TYPES["returns"],
    PLAYER_TYPE,
    PLAYER_TYPE,
    types.boolean,
    types.boolean,
    INTEGER,
    INTEGER,
    types.Array(types.int64, 1, "C", readonly=True),
    types.Array(types.int64, 1, "C"),
    INTEGER,
    INTEGER,
    types.Array(types.int64, 1, "C"),
    GENERATOR,
    types.Array(types.float64, 1, "C"),
    nogil=True,
)
def _play_deals(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    deal,
    resample,
    returns,
    first,
    second,
    first_is_random,
    second_is_random,
    first_worlds,
    second_worlds,
    root,
    team_of,
    seat_of_team_0,
    seat_of_team_1,
    sizes,
    generator,
    per_deal,
):
    """Plays each deal twice; writes the first contender's mean return and returns its number of free choices."""
    dealt = np.empty_like(root)
    state = np.empty_like(root)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    values = np.empty(sizes[0])
    probabilities = np.empty(sizes[1])
    results = np.empty(sizes[2])
    moves = 0
    for number in range(len(per_deal)):
        dealt[:] = root
        deal(dealt, generator)
        per_deal[number] = 0.0
        for team_of_first in range(2):
            state[:] = dealt
            while True:
                seat = current_player(state)
                if seat == TERMINAL:
                    break
                if seat == CHANCE:
                    n = chance_outcomes(state, actions, probabilities)
                    apply_action(state, actions[sample_index(generator, probabilities, n)])
                    continue
                n = legal_actions(state, actions)
                if n == 1:
                    apply_action(state, actions[0])
                    continue
                is_first = team_of[seat] == team_of_first
                if is_first:
                    moves += 1
                worlds = first_worlds if is_first else second_worlds
                is_random = first_is_random if is_first else second_is_random
                if worlds > 0:
                    _evaluate(
                        current_player,
                        legal_actions,
                        apply_action,
                        chance_outcomes,
                        resample,
                        returns,
                        first if is_first else second,
                        is_random,
                        state,
                        worlds,
                        sizes,
                        generator,
                        actions,
                        values,
                    )
                    action = actions[np.argmax(values[:n])]
                elif is_random:
                    action = actions[below(generator, n)]
                elif is_first:
                    action = first(state, generator)
                else:
                    action = second(state, generator)
                apply_action(state, action)
            returns(state, results)
            per_deal[number] += results[seat_of_team_0 if team_of_first == 0 else seat_of_team_1] / 2
    return moves
