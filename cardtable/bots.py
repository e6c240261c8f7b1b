"""Compiled players as OpenSpiel bots: `step(state)` answers with the action of the player's choice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyspiel

from cardtable.montecarlo import MonteCarlo
from cardtable.randomness import generator
from cardtable.rules import PLAYER_SIGNATURE, compile_for
from cardtable.spiel import CardGame, CardState


class _SeatBot(pyspiel.Bot):
    """A bot for one seat of a card game."""

    def __init__(self, game: CardGame, player_id: int) -> None:
        super().__init__()
        if not 0 <= player_id < game.num_players():
            raise ValueError(f"player_id is {player_id}; allowed: from 0 to {game.num_players() - 1}")
        self._player_id = player_id

    def _choose(self, array: np.ndarray) -> int:
        raise NotImplementedError

    def player_id(self) -> int:
        return self._player_id

    def provides_policy(self) -> bool:
        return False

    def restart_at(self, state: CardState) -> None:
        """The state says everything; there is nothing to remember."""

    def step(self, state: CardState) -> int:
        if state.current_player() != self._player_id:
            raise ValueError(f"it is not the turn of player {self._player_id}, but of {state.current_player()}")
        return self._choose(state.array)


class KernelBot(_SeatBot):
    """Plays a compiled player, choose(state, generator) -> action; without one, uniformly at random."""

    def __init__(self, game: CardGame, player_id: int, choose: Callable | None = None, seed: int | None = None) -> None:
        super().__init__(game, player_id)
        self._kernel = game.rules.compiled_kernel()
        self._actions = np.empty(game.num_distinct_actions(), np.int64)
        self._player = compile_for(choose, PLAYER_SIGNATURE) if choose is not None else None
        self._generator = generator(seed)
        self._random = np.random.default_rng(seed)

    def _choose(self, array: np.ndarray) -> int:
        if self._player is not None:
            return int(self._player(array, self._generator))
        return int(self._random.choice(self._actions[: self._kernel.legal_actions(array, self._actions)]))


class MonteCarloBot(_SeatBot):
    """Plays the flat Monte Carlo player of `cardtable.montecarlo`."""

    def __init__(
        self, game: CardGame, player_id: int, worlds: int, rollout: Callable | None = None, seed: int | None = None
    ) -> None:
        super().__init__(game, player_id)
        self._search = MonteCarlo(game.rules, worlds, rollout, seed)

    def _choose(self, array: np.ndarray) -> int:
        return self._search.choose(array)
