"""Players with probabilities as OpenSpiel policies; apart, because importing OpenSpiel's policies takes its time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from cardtable.player import legal_mask
from cardtable.spiel import CardState


class RowPolicy(openspiel_policy.Policy):
    """`probabilities_rows` of a player as an OpenSpiel policy."""

    def __init__(self, game: pyspiel.Game, probabilities_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._probabilities_rows = probabilities_rows

    def action_probabilities(self, state: CardState, player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        if len(legal) <= 1:
            return dict.fromkeys(legal, 1.0)
        chances = self._probabilities_rows(state.array[None, :].copy(), np.zeros(1, np.int64))[0]
        return {action: float(chances[action]) for action in legal}

    def probabilities_at(self, arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For states, one a row: the number of legal actions and their probabilities, in ascending order."""
        rows = np.arange(len(arrays))
        states = np.ascontiguousarray(arrays)
        chances = self._probabilities_rows(states, rows)
        mask = legal_mask(self.game.rules, states, rows)
        order = np.argsort(~mask, axis=1, kind="stable")  # legal actions first
        return mask.sum(axis=1), np.take_along_axis(np.where(mask, chances, 0.0), order, axis=1)
