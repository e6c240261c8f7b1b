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
from cardtable.parameters import UserError, require, require_whole
from cardtable.rows import seats_of_rows
from cardtable.rules import ADDRESSES, INTEGER, INTEGERS, STATES, Rules, kernel_at
from cardtable.search.tree import Solver
from cardtable.spiel import CardGame
from gongzhu_spiel.endings import MOST_CARDS, solve_positions
from gongzhu_spiel.features import (
    OPEN_HAND_FEATURES,
    SUIT_BLOCK,
    SUIT_FEATURES,
    open_hand_features,
    suit_features,
)
from gongzhu_spiel.rules import team_result
from gongzhu_spiel.state import CARDS_PLAYED, FULL_DECK, MAX_SUITS, TURN
from solvers.alpha_zero.network import Layout

TENSORS = types.Array(types.float32, 2, "C")
MATRIX = types.Array(types.float64, 2, "C")
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])  # of the teams' seats


class OpenView(Protocol):
    layout: Layout

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray: ...

    def won(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray: ...

    def movers(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray: ...

    def solver(self, endings: int) -> Solver | None:
        """Solves the last `endings` tricks; None for none."""


def view_of(game: CardGame, inputs: str) -> OpenView:
    """The view of a game that an AlphaZero-like learner has; `inputs` as in its settings, or in a file."""
    require(inputs in ("paper", "suits"), "inputs", inputs, "paper, suits")
    if game.get_type().short_name == "python_gongzhu" and game.num_distinct_actions() == FULL_DECK:
        return GongzhuSuitView() if inputs == "suits" else GongzhuView()
    if inputs == "suits":
        raise UserError("inputs=suits are for Gongzhu with the full deck")
    return AllInformation(game.rules)


class GongzhuView:
    """ScrofaZero's input, and the points that the teams have scored so far."""

    layout = Layout(OPEN_HAND_FEATURES)

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(rows), OPEN_HAND_FEATURES), np.float32)
        _gongzhu_inputs(states, rows, found)
        return found

    def inputs_of_shares(self, position: np.ndarray, mover: int, shares: np.ndarray) -> np.ndarray:
        """For one position and several guesses of who has which share of each card left: (guesses, seats, cards)."""
        base = np.zeros(OPEN_HAND_FEATURES, np.float32)
        open_hand_features(position, mover, base)
        found = np.repeat(base[None, :], len(shares), axis=0)
        found[:, : 4 * FULL_DECK] = shares.reshape(len(shares), -1)
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


class GongzhuSuitView(GongzhuView):
    """The same behind what is known of each suit and seat."""

    layout = Layout(SUIT_FEATURES + OPEN_HAND_FEATURES, MAX_SUITS, SUIT_BLOCK)

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        plain = super().inputs(states, rows)
        found = np.zeros((len(rows), SUIT_FEATURES), np.float32)
        shares = plain[:, : 4 * FULL_DECK].reshape(len(rows), 4, FULL_DECK)
        _gongzhu_suits(states, rows, states[rows, TURN], np.ascontiguousarray(shares), found)
        return np.concatenate([found, plain], axis=1)

    def inputs_of_shares(self, position: np.ndarray, mover: int, shares: np.ndarray) -> np.ndarray:
        plain = super().inputs_of_shares(position, mover, shares)
        found = np.zeros((len(shares), SUIT_FEATURES), np.float32)
        rows = np.zeros(len(shares), np.int64)
        _gongzhu_suits(position[None, :], rows, np.full(len(shares), mover), shares, found)
        return np.concatenate([found, plain], axis=1)


class AllInformation:
    """The information tensors of all seats, from the one to move on; nothing is won before the end."""

    def __init__(self, rules: Rules) -> None:
        self.layout = Layout(rules.num_players * rules.information_size)
        self._rules = rules
        self._addresses = rules.compiled_kernel().addresses()

    def inputs(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(rows) * self._rules.num_players, self._rules.information_size), np.float32)
        _all_information(self._addresses, states, rows, self._rules.num_players, found)
        return found.reshape(len(rows), -1)

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


@entry_point(STATES, INTEGERS, INTEGERS, types.Array(types.float32, 3, "C"), TENSORS, nogil=True)
def _gongzhu_suits(states, rows, movers, shares, out):
    for index in range(len(rows)):
        suit_features(states[rows[index]], movers[index], shares[index], out[index])


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
