"""Random deals with their double dummy points under every trump, solved in pieces that are filed as they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cardtable.executors import Executor
from cardtable.files import read_arrays, write_arrays
from cardtable.parameters import UserError
from coinche_spiel.cards import NUM_SUITS
from coinche_spiel.double_dummy import solve_batch
from coinche_spiel.fast_play import random_deals

PIECE = 250  # deals of one piece
SEATS = 4


class Deals(NamedTuple):
    """Deals in which seat 0 speaks first and leads."""

    hands: np.ndarray  # (deals, 4) card sets
    points: np.ndarray  # (deals, 4) of North and South by trump; 252 where they take all tricks

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
    return Deals(hands, np.concatenate(found))


def _file(file: Path, hands: np.ndarray, found: list[np.ndarray]) -> None:
    points = np.concatenate(found).astype(np.int64)
    write_arrays(file, {"hands": hands[: len(points)], "points": points})


def _filed(file: Path, hands: np.ndarray) -> np.ndarray:
    """The points that are there, as many as fit the deals."""
    if not file.exists():
        return np.empty((0, NUM_SUITS), np.int64)
    found = read_arrays(file, "solved deals; delete it to solve them again")
    known = min(len(found.get("points", ())), len(hands))
    whole = {"hands", "points"} == set(found) and found["points"].shape[1:] == (NUM_SUITS,)
    if not whole or len(found["hands"]) < known or (found["hands"][:known] != hands[:known]).any():
        raise UserError(f"{file} holds other deals; delete it to solve these")
    return found["points"][:known].astype(np.int64)
