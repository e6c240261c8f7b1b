"""Players as OpenSpiel bots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyspiel

from cardtable.randomness import sample_index
from cardtable.spiel import CardState

Streams = Callable[[range], np.ndarray]  # deal numbers -> generators, one a row


class SeatBot(pyspiel.Bot):
    """A bot for one seat. Each game it plays is a deal with a number, and has random numbers of its own."""

    def __init__(self, seat: int, streams: Streams) -> None:
        super().__init__()
        self._seat = seat
        self._streams = streams
        self._deal = -1
        self._stream = self._streams(range(1))

    def player_id(self) -> int:
        return self._seat

    def provides_policy(self) -> bool:
        return False

    def restart(self) -> None:
        self.start(self._deal + 1)

    def restart_at(self, state: pyspiel.State) -> None:
        self.restart()

    def start(self, deal: int) -> None:
        """The next game is the deal of this number."""
        self._deal = deal
        self._stream = self._streams(range(deal, deal + 1))

    def step(self, state: pyspiel.State) -> int:
        if state.current_player() != self._seat:
            raise ValueError(f"it is not the turn of player {self._seat}, but of {state.current_player()}")
        legal = state.legal_actions()
        return legal[0] if len(legal) == 1 else self._choose(state)  # forced moves cost no random numbers

    def _choose(self, state: pyspiel.State) -> int:
        raise NotImplementedError


class RowBot(SeatBot):
    """Answers with `choose_rows` of a player: a batch of one."""

    def __init__(
        self,
        choose_rows: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        game: pyspiel.Game,
        seat: int,
        streams: Streams,
    ) -> None:
        super().__init__(seat, streams)
        self._choose_rows = choose_rows
        self._game = game

    def _choose(self, state: CardState) -> int:
        if not isinstance(state, CardState) or len(state.array) != self._game.rules.state_size:
            raise ValueError(f"the state is one of {state.get_game()}; this bot plays {self._game}")
        return int(self._choose_rows(state.array[None, :].copy(), np.zeros(1, np.int64), self._stream)[0])


class DrawingBot(SeatBot):
    """Draws its actions with the probabilities that `chances(state, seat)` gives."""

    def __init__(self, chances: Callable[[pyspiel.State, int], dict[int, float]], seat: int, streams: Streams) -> None:
        super().__init__(seat, streams)
        self._chances = chances

    def _choose(self, state: pyspiel.State) -> int:
        chances = dict(sorted(self._chances(state, self._seat).items()))
        weights = np.array(list(chances.values()), np.float64)
        if not (weights >= 0.0).all() or not 0.0 < weights.sum() < np.inf:
            raise ValueError(f"the policy gives the probabilities {chances}; allowed: none negative, with a sum")
        weights /= weights.sum()
        return list(chances)[sample_index(self._stream[0], weights, len(weights))]
