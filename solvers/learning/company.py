"""The company of somebody who learns: everybody else at the table, who plays on until the learner has a choice.

Compiled players move inside one compiled loop, together with chance and forced moves; players who answer in rows are
asked for all games at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.parameters import UserError
from cardtable.player import Player
from cardtable.rows import settle, step_rows
from cardtable.rules import (
    ADDRESSES,
    INTEGERS,
    STATES,
    STREAMS,
    TERMINAL,
    Rules,
    kernel_at,
    player_addresses,
    player_at,
)

LEARNS, COMPILED, IN_ROWS = range(3)  # how a seat is played
OWN_STREAMS = types.Array(types.uint64, 3, "C")

Seating = tuple[Player | None, ...]  # who sits where; None: a seat that learns


def require_seating(game: pyspiel.Game, seating: Seating) -> None:
    """UserError unless everybody has a place, somebody learns, and the others can play many games at once."""
    if len(seating) != game.num_players():
        raise UserError(f"a seating has {game.num_players()} places, one for each seat, not {len(seating)}")
    if all(player is not None for player in seating):
        raise UserError("in a seating everybody is a fixed player; allowed: at least one seat that learns")
    for player in seating:
        if player is not None and player.choose_rows is None:
            raise UserError(f"the player {player.name!r} exists as a bot only and cannot sit with learners")


class Company:
    """Plays all seats of a seating that do not learn."""

    def __init__(self, rules: Rules, seating: Seating) -> None:
        self._addresses = rules.compiled_kernel().addresses()
        self._sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes], np.int64)
        self._kinds = np.array([_kind_of(player) for player in seating], np.int64)
        self._choosers = player_addresses(tuple(_chooser(player) for player in seating))
        self._asked = [
            (player, [seat for seat, other in enumerate(seating) if other is player])
            for player in dict.fromkeys(seating)
            if player is not None and player.compiled is None
        ]

    def play_on(self, states: np.ndarray, cards: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Plays every row on until somebody who learns has a choice; returns who, TERMINAL where the game is over.

        `cards` has a generator for each row, `own` one for each row and seat; both move on.
        """
        turn = np.empty(len(states), np.int64)
        while True:
            _advance_rows(self._addresses, self._choosers, self._kinds, states, cards, own, self._sizes, turn)
            waiting = [(player, np.flatnonzero(np.isin(turn, held))) for player, held in self._asked]
            if all(len(rows) == 0 for _, rows in waiting):
                return turn
            for player, rows in waiting:
                if len(rows):
                    self._ask(player, states, rows, own, turn)

    def _ask(self, player: Player, states: np.ndarray, rows: np.ndarray, own: np.ndarray, turn: np.ndarray) -> None:
        asked = own[rows, turn[rows]]
        chosen = np.ascontiguousarray(player.choose_rows(states, rows, asked), np.int64)  # type: ignore[misc]
        own[rows, turn[rows]] = asked
        bad = step_rows(self._addresses, states, rows, chosen, self._sizes)
        if bad >= 0:
            raise ValueError(f"the player {player.name!r} chose action {chosen[bad]}, which is not legal")


def _kind_of(player: Player | None) -> int:
    if player is None:
        return LEARNS
    return COMPILED if player.compiled is not None else IN_ROWS


def _chooser(player: Player | None) -> Any:
    return _nobody if player is None or player.compiled is None else player.compiled


@compiled
def _nobody(state, generator):
    return -1


@entry_point(ADDRESSES, ADDRESSES, INTEGERS, STATES, STREAMS, OWN_STREAMS, INTEGERS, INTEGERS, nogil=True)
def _advance_rows(addresses, players, kinds, states, streams, own, sizes, turn):
    """Chance, forced moves and compiled players, until somebody else has a choice or the game is over."""
    kernel = kernel_at(addresses)
    actions = np.empty(max(sizes[0], sizes[1]), np.int64)
    probabilities = np.empty(sizes[1])
    for row in range(len(states)):
        state = states[row]
        seat = settle(kernel, state, streams[row], actions, probabilities)
        while seat != TERMINAL and kinds[seat] == COMPILED:
            kernel.apply_action(state, player_at(players, seat)(state, own[row, seat]))
            seat = settle(kernel, state, streams[row], actions, probabilities)
        turn[row] = seat
