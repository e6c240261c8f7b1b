"""Many deals of Coinche with open cards, in pieces that anybody can solve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coinche_spiel.double_dummy import can_make_batch, solve_batch

BATCH = 50  # deals of one piece


class Part(NamedTuple):
    """Deals with one trump."""

    hands: np.ndarray  # (deals, 4)
    trump: int
    leader: int


class Contracts(NamedTuple):
    """Deals with a contract each."""

    values: np.ndarray
    hands: np.ndarray
    trumps: np.ndarray


def solve_part(shared: None, part: Part) -> np.ndarray:
    """The points of North and South; 252 where they take all tricks."""
    return solve_batch(part.hands, part.trump, part.leader, sweep_bonus=True, threads=1)


def are_made(shared: None, contracts: Contracts) -> np.ndarray:
    """Which contracts of North and South are made when everybody plays perfectly."""
    return can_make_batch(*contracts, threads=1)
