"""Random deals with the points that are taken under every trump: double dummy, or as the cards of `strong` take them.

Double dummy is solved in pieces that are filed as they come.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import deck
from cardtable.compiled import entry_point
from cardtable.executors import Executor
from cardtable.files import read_arrays, write_arrays
from cardtable.parameters import UserError
from cardtable.replay import ROOT
from coinche_spiel.cards import NUM_SUITS, TOTAL_POINTS
from coinche_spiel.double_dummy import solve_batch
from coinche_spiel.double_dummy.search import SWEEP_BONUS
from coinche_spiel.fast_play import random_deals
from coinche_spiel.play import play_card, start_play
from coinche_spiel.players import strong_card
from coinche_spiel.rules import coinche_rules
from coinche_spiel.state import (
    DECLARER,
    HAND,
    HAND_SIZE,
    NUM_TEAMS,
    PHASE,
    PLAYING,
    POINTS,
    TRICKS,
    TRUMP,
    VALUE,
)

PIECE = 250  # deals of one piece
SEATS = 4


class Deals(NamedTuple):
    """Deals in which seat 0 speaks first and leads."""

    hands: np.ndarray  # (deals, 4) card sets
    points: np.ndarray  # (deals, 2, 4) of North and South by attacking team and trump; 252 where they take all tricks

    def part(self, first: int, last: int) -> Deals:
        return Deals(self.hands[first:last], self.points[first:last])


def solve_piece(shared: None, hands: np.ndarray) -> np.ndarray:
    """(deals, 4): the points of North and South under every trump."""
    return np.stack([solve_batch(hands, suit, 0, sweep_bonus=True) for suit in range(NUM_SUITS)], axis=1)


def solved_deals(
    count: int, seed: int, executor: Executor, folder: Path, on_progress: Callable[[int], None] = lambda deals: None
) -> Deals:
    """So many deals; those whose points are filed in the folder are not solved again."""
    hands = random_deals(count, seed=seed).hands
    file = folder / f"deals_{seed}.npz"
    points = _filed(file, hands)
    on_progress(len(points))
    pieces = [hands[first : first + PIECE] for first in range(len(points), count, PIECE)]
    found = [points]
    try:
        for number, piece in enumerate(executor.map(solve_piece, pieces, None)):
            found.append(piece)
            on_progress(len(piece))
            if number % 8 == 7:
                _file(file, hands, found)
    finally:  # also where somebody asked to stop
        _file(file, hands, found)
    points = np.concatenate(found)
    return Deals(hands, np.ascontiguousarray(np.repeat(points[:, None, :], NUM_TEAMS, axis=1)))


def deals_played(count: int, seed: int) -> Deals:
    """So many deals with the points that the cards of `strong` take."""
    hands = random_deals(count, seed=seed).hands
    points = np.empty((count, NUM_TEAMS, NUM_SUITS), np.int64)
    _play_out(coinche_rules().root, hands, points)
    return Deals(hands, points)


@entry_point(ROOT, types.Array(types.int64, 2, "C"), types.Array(types.int64, 3, "C"), nogil=True)
def _play_out(root, hands, points):
    """`strong` in all seats plays every contract of every team; its cards depend on nothing else of the auction."""
    state = np.empty_like(root)
    for row in range(len(hands)):
        for attack in range(NUM_TEAMS):
            for trump in range(NUM_SUITS):
                state[:] = root
                for seat in range(SEATS):
                    state[HAND + seat] = hands[row, seat]
                    state[deck.DEALT + seat] = hands[row, seat]
                state[VALUE] = 0
                state[DECLARER] = attack
                state[TRUMP] = trump
                start_play(state)
                while state[PHASE] == PLAYING:
                    play_card(state, strong_card(state))
                taken = state[POINTS]
                if state[TRICKS] == state[HAND_SIZE]:
                    taken += SWEEP_BONUS
                points[row, attack, trump] = taken


def _file(file: Path, hands: np.ndarray, found: list[np.ndarray]) -> None:
    points = np.concatenate(found).astype(np.int64)
    write_arrays(file, {"hands": hands[: len(points)], "points": points})


def _filed(file: Path, hands: np.ndarray) -> np.ndarray:
    """The points that are there, as many as fit the deals."""
    if not file.exists():
        return np.empty((0, NUM_SUITS), np.int64)
    found = read_arrays(file, "solved deals; delete it to solve them again")
    points, solved = (found.get(name, np.empty(0)) for name in ("points", "hands"))
    whole = points.ndim == 2 and points.shape[1] == NUM_SUITS and solved.shape == (len(points), *hands.shape[1:])
    known = min(len(points), len(hands)) if whole else 0
    if not whole or {points.dtype, solved.dtype} != {np.dtype(np.int64)} or (solved[:known] != hands[:known]).any():
        raise UserError(f"{file} holds other deals; delete it to solve these")
    if ((points < 0) | (points > TOTAL_POINTS + SWEEP_BONUS)).any():
        raise UserError(f"{file} has points that nobody can take; delete it to solve these deals again")
    return np.ascontiguousarray(points[:known])
