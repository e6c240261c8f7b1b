"""Many games at once, on arrays: stepping them together, and playing them out.

`Batch` holds games side by side, one row each, for learners that act on all of them at once. `play_out` plays whole
games in compiled code, by uniformly random players or by compiled players, and is what measures a game's speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    PLAYER_SIGNATURE,
    PLAYER_TYPE,
    TERMINAL,
    Rules,
    compile_for,
)

MAX_SEATS = 4
CHUNK = 4096  # games that share a generator: results do not depend on the number of threads

STATES = types.Array(types.int64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
FLOATS = types.Array(types.float64, 2, "C")
TENSORS = types.Array(types.float32, 2, "C")
MASKS = types.Array(types.boolean, 2, "C")


class Playouts(NamedTuple):
    returns: np.ndarray  # (games, players)
    steps: int  # player moves in all games together


def play_out(
    rules: Rules,
    games: int,
    seed: int | np.random.SeedSequence | None = None,
    players: Sequence[Callable | None] | None = None,
    threads: int = 1,
) -> Playouts:
    """Deals and plays whole games. `players` has one compiled player per seat; None chooses uniformly at random."""
    kernel = rules.compiled_kernel()
    choosers, is_random = _choosers(rules, players)
    returns = np.empty((games, rules.num_players))
    starts = range(0, games, CHUNK)
    streams = generators(seed, len(starts))

    def play(index: int) -> int:
        chunk = returns[starts[index] : starts[index] + CHUNK]
        actions = np.empty(max(rules.num_distinct_actions, rules.max_chance_outcomes), np.int64)
        probabilities = np.empty(rules.max_chance_outcomes)
        return _play_games(
            kernel.current_player,
            kernel.legal_actions,
            kernel.apply_action,
            kernel.chance_outcomes,
            kernel.deal,
            kernel.returns,
            *choosers,
            is_random,
            rules.root,
            streams[index],
            chunk,
            actions,
            probabilities,
        )

    if threads == 1:
        return Playouts(returns, sum(map(play, range(len(starts)))))
    with ThreadPoolExecutor(threads) as pool:
        return Playouts(returns, sum(pool.map(play, range(len(starts)))))


def play_on(
    rules: Rules,
    states: np.ndarray,
    seed: int | np.random.SeedSequence | None = None,
    players: Sequence[Callable | None] | None = None,
) -> None:
    """Plays games that have been dealt, one per row of `states`, to their end, in place; `players` as in `play_out`."""
    kernel = rules.compiled_kernel()
    choosers, is_random = _choosers(rules, players)
    starts = range(0, len(states), CHUNK)
    actions = np.empty(max(rules.num_distinct_actions, rules.max_chance_outcomes), np.int64)
    probabilities = np.empty(rules.max_chance_outcomes)
    for start, stream in zip(starts, generators(seed, len(starts)), strict=True):
        _finish_games(
            kernel.current_player,
            kernel.legal_actions,
            kernel.apply_action,
            kernel.chance_outcomes,
            *choosers,
            is_random,
            states[start : start + CHUNK],
            stream,
            actions,
            probabilities,
        )


def _choosers(rules: Rules, players: Sequence[Callable | None] | None) -> tuple[list[Callable], np.ndarray]:
    """MAX_SEATS compiled players, and which seats choose at random instead."""
    seats = list(players) if players is not None else [None] * rules.num_players
    if len(seats) != rules.num_players:
        raise ValueError(f"{rules.num_players} players are needed, one per seat, not {len(seats)}")
    if rules.num_players > MAX_SEATS:
        raise ValueError(f"games of at most {MAX_SEATS} players can be played out, not {rules.num_players}")
    # Seats without a player of their own never call the function that fills their place in the argument list.
    choosers = [compile_for(player or _no_player, PLAYER_SIGNATURE) for player in seats]
    choosers += [compile_for(_no_player, PLAYER_SIGNATURE)] * (MAX_SEATS - len(seats))
    return choosers, np.array([player is None for player in seats])


@compiled
def _no_player(state, generator):
    return -1


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
    FUNCTION_TYPES["deal"],
    FUNCTION_TYPES["returns"],
    PLAYER_TYPE,
    PLAYER_TYPE,
    PLAYER_TYPE,
    PLAYER_TYPE,
    types.Array(types.boolean, 1, "C"),
    types.Array(types.int64, 1, "C", readonly=True),
    GENERATOR,
    FLOATS,
    INTEGERS,
    types.Array(types.float64, 1, "C"),
    nogil=True,
)
def _play_games(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    deal,
    returns,
    player_0,
    player_1,
    player_2,
    player_3,
    is_random,
    root,
    generator,
    all_returns,
    actions,
    probabilities,
):
    """Plays one game per row of `all_returns`; returns the number of player moves."""
    state = np.empty_like(root)
    steps = 0
    for game in range(len(all_returns)):
        state[:] = root
        deal(state, generator)
        steps += _finish(
            state,
            current_player,
            legal_actions,
            apply_action,
            chance_outcomes,
            player_0,
            player_1,
            player_2,
            player_3,
            is_random,
            generator,
            actions,
            probabilities,
        )
        returns(state, all_returns[game])
    return steps


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
    PLAYER_TYPE,
    PLAYER_TYPE,
    PLAYER_TYPE,
    PLAYER_TYPE,
    types.Array(types.boolean, 1, "C"),
    STATES,
    GENERATOR,
    INTEGERS,
    types.Array(types.float64, 1, "C"),
    nogil=True,
)
def _finish_games(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    player_0,
    player_1,
    player_2,
    player_3,
    is_random,
    states,
    generator,
    actions,
    probabilities,
):
    """Plays the game in each row to its end."""
    for game in range(len(states)):
        _finish(
            states[game],
            current_player,
            legal_actions,
            apply_action,
            chance_outcomes,
            player_0,
            player_1,
            player_2,
            player_3,
            is_random,
            generator,
            actions,
            probabilities,
        )


@compiled
def _finish(
    state,
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    player_0,
    player_1,
    player_2,
    player_3,
    is_random,
    generator,
    actions,
    probabilities,
):
    """Plays one game to its end; returns the number of player moves."""
    steps = 0
    seat = current_player(state)
    while seat != TERMINAL:
        if seat == CHANCE:
            n = chance_outcomes(state, actions, probabilities)
            apply_action(state, actions[sample_index(generator, probabilities, n)])
            seat = current_player(state)
            continue
        if is_random[seat]:
            action = actions[below(generator, legal_actions(state, actions))]
        elif seat == 0:
            action = player_0(state, generator)
        elif seat == 1:
            action = player_1(state, generator)
        elif seat == 2:
            action = player_2(state, generator)
        else:
            action = player_3(state, generator)
        apply_action(state, action)
        steps += 1
        seat = current_player(state)
    return steps


class Batch:
    """Games of one kind side by side; row i of every array belongs to game i.

    Games that are over stay as they are until `deal` starts new ones; their row of `step` is ignored, they have no
    legal actions, and their current player is TERMINAL.
    """

    def __init__(self, rules: Rules, size: int, seed: int | np.random.SeedSequence | None = None) -> None:
        self.rules = rules
        self._kernel = rules.compiled_kernel()
        self._generators = generators(seed, size)
        self.states = np.empty((size, rules.state_size), np.int64)
        self._actions = np.empty(max(rules.num_distinct_actions, rules.max_chance_outcomes), np.int64)
        self._probabilities = np.empty(rules.max_chance_outcomes)
        self.deal()

    def __len__(self) -> int:
        return len(self.states)

    def deal(self, where: np.ndarray | None = None) -> None:
        """Starts a new game in every row, or in those where the boolean array `where` is true."""
        chosen = np.ones(len(self), np.bool_) if where is None else np.ascontiguousarray(where, np.bool_)
        _deal_rows(self._kernel.deal, self.rules.root, self.states, self._generators, chosen)

    def current_players(self) -> np.ndarray:
        players = np.empty(len(self), np.int64)
        _players_of_rows(self._kernel.current_player, self.states, players)
        return players

    def legal_mask(self) -> np.ndarray:
        """(games, num_distinct_actions) booleans."""
        mask = np.zeros((len(self), self.rules.num_distinct_actions), np.bool_)
        _mask_rows(self._kernel.current_player, self._kernel.legal_actions, self.states, mask, self._actions)
        return mask

    def step(self, actions: np.ndarray) -> None:
        """Applies one action per running game. An illegal one raises ValueError, and no game is changed."""
        actions = np.ascontiguousarray(actions, np.int64)
        if actions.shape != (len(self),):
            raise ValueError(f"one action per game is needed, shape ({len(self)},), not {actions.shape}")
        kernel = self._kernel
        bad_row = _first_illegal_row(kernel.current_player, kernel.legal_actions, self.states, actions, self._actions)
        if bad_row >= 0:
            legal = np.flatnonzero(self.legal_mask()[bad_row]).tolist()
            raise ValueError(f"action {actions[bad_row]} is not legal in game {bad_row}; legal: {legal}")
        _step_rows(
            kernel.current_player,
            kernel.apply_action,
            kernel.chance_outcomes,
            self.states,
            actions,
            self._generators,
            self._actions,
            self._probabilities,
        )

    def returns(self) -> np.ndarray:
        """(games, players); zeros where a game is still running, unless it pays on the way."""
        out = np.empty((len(self), self.rules.num_players))
        _returns_of_rows(self._kernel.returns, self.states, out)
        return out

    def information_keys(self) -> np.ndarray:
        """(games, key_words): the exact information state of the player to move; zeros where a game is over."""
        keys = np.zeros((len(self), self.rules.key_words), np.int64)
        _keys_of_rows(self._kernel.current_player, self._kernel.information_key, self.states, keys)
        return keys

    def information_tensors(self) -> np.ndarray:
        """(games, information_size): the information state of the player to move; zeros where a game is over."""
        return self._encode(self._kernel.information_tensor, self.rules.information_size)

    def observation_tensors(self) -> np.ndarray:
        """(games, observation_size): what the player to move sees now; zeros where a game is over."""
        return self._encode(self._kernel.observation_tensor, self.rules.observation_size)

    def _encode(self, encode: Callable, size: int) -> np.ndarray:
        tensors = np.zeros((len(self), size), np.float32)
        _encode_rows(self._kernel.current_player, encode, self.states, tensors)
        return tensors


@entry_point(
    FUNCTION_TYPES["deal"],
    types.Array(types.int64, 1, "C", readonly=True),
    STATES,
    types.Array(types.uint64, 2, "C"),
    types.Array(types.boolean, 1, "C"),
)
def _deal_rows(deal, root, states, generators, chosen):
    for row in range(len(states)):
        if chosen[row]:
            states[row] = root
            deal(states[row], generators[row])


@entry_point(FUNCTION_TYPES["current_player"], STATES, INTEGERS)
def _players_of_rows(current_player, states, players):
    for row in range(len(states)):
        players[row] = current_player(states[row])


@entry_point(FUNCTION_TYPES["current_player"], FUNCTION_TYPES["legal_actions"], STATES, MASKS, INTEGERS)
def _mask_rows(current_player, legal_actions, states, mask, actions):
    for row in range(len(states)):
        if current_player(states[row]) >= 0:
            for index in range(legal_actions(states[row], actions)):
                mask[row, actions[index]] = True


@entry_point(FUNCTION_TYPES["current_player"], FUNCTION_TYPES["legal_actions"], STATES, INTEGERS, INTEGERS)
def _first_illegal_row(current_player, legal_actions, states, chosen, actions):
    for row in range(len(states)):
        if current_player(states[row]) >= 0:
            legal = False
            for index in range(legal_actions(states[row], actions)):
                legal |= actions[index] == chosen[row]
            if not legal:
                return row
    return -1


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
    STATES,
    INTEGERS,
    types.Array(types.uint64, 2, "C"),
    INTEGERS,
    types.Array(types.float64, 1, "C"),
)
def _step_rows(current_player, apply_action, chance_outcomes, states, chosen, generators, outcomes, probabilities):
    for row in range(len(states)):
        state = states[row]
        if current_player(state) < 0:
            continue
        apply_action(state, chosen[row])
        while current_player(state) == CHANCE:
            n = chance_outcomes(state, outcomes, probabilities)
            apply_action(state, outcomes[sample_index(generators[row], probabilities, n)])


@entry_point(FUNCTION_TYPES["returns"], STATES, FLOATS)
def _returns_of_rows(returns, states, out):
    for row in range(len(states)):
        returns(states[row], out[row])


@entry_point(FUNCTION_TYPES["current_player"], FUNCTION_TYPES["information_key"], STATES, STATES)
def _keys_of_rows(current_player, information_key, states, keys):
    for row in range(len(states)):
        player = current_player(states[row])
        if player >= 0:
            information_key(states[row], player, keys[row])


@entry_point(FUNCTION_TYPES["current_player"], FUNCTION_TYPES["information_tensor"], STATES, TENSORS)
def _encode_rows(current_player, encode, states, tensors):
    for row in range(len(states)):
        player = current_player(states[row])
        if player >= 0:
            encode(states[row], player, tensors[row])
