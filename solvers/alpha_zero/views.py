"""What a network on open hands is told, and what is already won: a view of a game.

For Gongzhu the 434 numbers of ScrofaZero; for other games the information tensors of all seats, the player to move
first. Values are those *to come*: the final result less `won`, what a game would give if it ended now (zero where
points are not counted on the way).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.parameters import UserError, require_whole
from cardtable.rows import seats_of_rows
from cardtable.rules import ADDRESSES, INTEGER, INTEGERS, STATES, Rules, kernel_at
from cardtable.search.tree import Solver
from cardtable.spiel import CardGame
from gongzhu_spiel.endings import MOST_CARDS, solve_positions
from gongzhu_spiel.features import OPEN_HAND_FEATURES, open_hand_features
from gongzhu_spiel.rules import team_result
from gongzhu_spiel.state import CARDS_PLAYED, FULL_DECK, TURN

TENSORS = types.Array(types.float32, 2, "C")
MATRIX = types.Array(types.float64, 2, "C")
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])  # of the teams' seats


class OpenView(Protocol):
    size: int

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray: ...

    def won(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray: ...

    def movers(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray: ...

    def solver(self, endings: int) -> Solver | None:
        """Solves the last `endings` tricks; None for none."""


def view_of(game: CardGame) -> OpenView:
    """The view of a game that an AlphaZero-like learner has."""
    is_gongzhu = game.get_type().short_name == "python_gongzhu" and game.num_distinct_actions() == FULL_DECK
    return GongzhuView() if is_gongzhu else AllInformation(game.rules)


class GongzhuView:
    """ScrofaZero's input, and the points that the teams have scored so far."""

    size = OPEN_HAND_FEATURES

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(rows), self.size), np.float32)
        _gongzhu_inputs(states, rows, found)
        return found

    def won(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.empty((len(rows), 4))
        _gongzhu_won(states, rows, found)
        return found

    def movers(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return states[rows, TURN]

    def solver(self, endings: int) -> Solver | None:
        require_whole("endings", endings, 0, MOST_CARDS // 4)
        return (lambda states: _gongzhu_endings(states, 4 * endings)) if endings else None


class AllInformation:
    """The information tensors of all seats, from the one to move on; nothing is won before the end."""

    def __init__(self, rules: Rules) -> None:
        self.size = rules.num_players * rules.information_size
        self._rules = rules
        self._addresses = rules.compiled_kernel().addresses()

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(rows) * self._rules.num_players, self._rules.information_size), np.float32)
        _all_information(self._addresses, states, rows, self._rules.num_players, found)
        return found.reshape(len(rows), self.size)

    def won(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.zeros((len(rows), self._rules.num_players))

    def movers(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        seats = np.empty(len(rows), np.int64)
        seats_of_rows(self._addresses, states, rows, seats)
        return seats

    def solver(self, endings: int) -> Solver | None:
        if endings:
            raise UserError("endings are solved in Gongzhu with the full deck only")
        return None


def _gongzhu_endings(states: np.ndarray, cards: int) -> tuple[np.ndarray, np.ndarray]:
    """Which positions have at most so many cards left in the four hands, and their exact results for all seats."""
    few = FULL_DECK - states[:, CARDS_PLAYED] <= cards
    results, values = np.empty(int(few.sum())), np.zeros((len(states), 4))
    solve_positions(states, np.flatnonzero(few), results)
    values[few] = results[:, None] * SIGNS
    return few, values


@entry_point(STATES, INTEGERS, TENSORS, nogil=True)
def _gongzhu_inputs(states, rows, out):
    for index in range(len(rows)):
        open_hand_features(states[rows[index]], states[rows[index], TURN], out[index])


@entry_point(STATES, INTEGERS, MATRIX, nogil=True)
def _gongzhu_won(states, rows, out):
    for index in range(len(rows)):
        result = team_result(states[rows[index]])
        for seat in range(4):
            out[index, seat] = result if seat % 2 == 0 else -result


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGER, TENSORS, nogil=True)
def _all_information(addresses, states, rows, seats, out):
    kernel = kernel_at(addresses)
    for index in range(len(rows)):
        state = states[rows[index]]
        mover = kernel.current_player(state)
        for step in range(seats):
            kernel.information_tensor(state, (mover + step) % seats, out[index * seats + step])
