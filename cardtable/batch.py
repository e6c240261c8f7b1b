"""Many games at once, on arrays: stepping them together, and playing them out.

`Batch` holds games side by side, one row each, for learners that act on all of them at once. `play_out` plays whole
games in compiled code, by uniformly random players or by compiled players, and is what measures a game's speed.
Games between players that can be compared deal by deal are `cardtable.match`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.parameters import require_whole
from cardtable.player import choose_at_random, legal_mask
from cardtable.randomness import below, generators, sample_index
from cardtable.rows import FLOATS, deal_rows, encode_rows, keys_of_rows, returns_of_rows, seats_of_rows
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    FUNCTION_TYPES,
    GENERATOR,
    INTEGERS,
    STATES,
    TERMINAL,
    Rules,
    kernel_at,
    player_addresses,
    player_at,
)

CHUNK = 4096  # games that share a generator: results do not depend on the number of threads


class Playouts(NamedTuple):
    returns: np.ndarray  # (games, players)
    steps: int  # player moves in all games together


def play_out(
    rules: Rules,
    games: int,
    seed: int | np.random.SeedSequence | None = None,
    players: Sequence[Callable] | None = None,
    threads: int = 1,
) -> Playouts:
    """Deals and plays whole games, as fast as possible. `players` has one compiled player per seat; without any,
    everybody plays at random. (`cardtable.match` is for games whose deals have numbers.)"""
    at_random = choose_at_random(rules)
    require_whole("games", games, 0)
    seats = list(players) if players is not None else [at_random] * rules.num_players
    if len(seats) != rules.num_players:
        raise ValueError(f"{rules.num_players} players are needed, one per seat, not {len(seats)}")
    addresses = rules.compiled_kernel().addresses()
    is_random = np.array([player is at_random for player in seats])  # those are played without a call
    choosers = player_addresses(tuple(seats))
    returns = np.empty((games, rules.num_players))
    starts = range(0, games, CHUNK)
    streams = generators(seed, len(starts))

    def play(index: int) -> int:
        chunk = returns[starts[index] : starts[index] + CHUNK]
        actions = np.empty(max(rules.num_distinct_actions, rules.max_chance_outcomes), np.int64)
        probabilities = np.empty(rules.max_chance_outcomes)
        return _play_games(addresses, choosers, is_random, rules.root, streams[index], chunk, actions, probabilities)

    if threads == 1:
        return Playouts(returns, sum(map(play, range(len(starts)))))
    with ThreadPoolExecutor(threads) as pool:
        return Playouts(returns, sum(pool.map(play, range(len(starts)))))


@entry_point(
    ADDRESSES,
    ADDRESSES,
    types.Array(types.boolean, 1, "C"),
    types.Array(types.int64, 1, "C", readonly=True),
    GENERATOR,
    FLOATS,
    INTEGERS,
    types.Array(types.float64, 1, "C"),
    nogil=True,
)
def _play_games(addresses, players, is_random, root, generator, all_returns, actions, probabilities):
    """Plays one game per row of `all_returns`; returns the number of player moves."""
    kernel = kernel_at(addresses)
    state = np.empty_like(root)
    steps = 0
    for game in range(len(all_returns)):
        state[:] = root
        kernel.deal(state, generator)
        seat = kernel.current_player(state)
        while seat != TERMINAL:
            if seat == CHANCE:
                n = kernel.chance_outcomes(state, actions, probabilities)
                kernel.apply_action(state, actions[sample_index(generator, probabilities, n)])
                seat = kernel.current_player(state)
                continue
            if is_random[seat]:
                action = actions[below(generator, kernel.legal_actions(state, actions))]
            else:
                action = player_at(players, seat)(state, generator)
            kernel.apply_action(state, action)
            steps += 1
            seat = kernel.current_player(state)
        kernel.returns(state, all_returns[game])
    return steps


class Batch:
    """Games of one kind side by side; row i of every array belongs to game i.

    Games that are over stay as they are until `deal` starts new ones; their row of `step` is ignored, they have no
    legal actions, and their current player is TERMINAL.
    """

    def __init__(self, rules: Rules, size: int, seed: int | np.random.SeedSequence | None = None) -> None:
        require_whole("size", size, 0)
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
        rows = np.arange(len(self)) if where is None else np.flatnonzero(where)
        deal_rows(self._kernel.addresses(), self.rules.root, self.states, rows, self._generators)

    def current_players(self) -> np.ndarray:
        players = np.empty(len(self), np.int64)
        seats_of_rows(self._kernel.addresses(), self.states, np.arange(len(self)), players)
        return players

    def legal_mask(self) -> np.ndarray:
        """(games, num_distinct_actions) booleans."""
        return legal_mask(self.rules, self.states, np.arange(len(self)))

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
        returns_of_rows(self._kernel.addresses(), self.states, out)
        return out

    def information_keys(self) -> np.ndarray:
        """(games, key_words): the exact information state of the player to move; zeros where a game is over."""
        keys = np.zeros((len(self), self.rules.key_words), np.int64)
        keys_of_rows(self._kernel.addresses(), self.states, np.arange(len(self)), keys)
        return keys

    def information_tensors(self) -> np.ndarray:
        """(games, information_size): the information state of the player to move; zeros where a game is over."""
        return self._encode(True, self.rules.information_size)

    def observation_tensors(self) -> np.ndarray:
        """(games, observation_size): what the player to move sees now; zeros where a game is over."""
        return self._encode(False, self.rules.observation_size)

    def _encode(self, everything: bool, size: int) -> np.ndarray:
        tensors = np.zeros((len(self), size), np.float32)
        encode_rows(self._kernel.addresses(), self.states, np.arange(len(self)), everything, tensors)
        return tensors


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
