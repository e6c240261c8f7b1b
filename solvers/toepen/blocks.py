"""Tables over views of Toepen (`solvers.toepen.views`): for each view a block of numbers over betting histories.

A block of behaviour probabilities is, with the histories of `solvers.toepen.histories`,

    own turn        [bet: histories in which she may bet] [label 0: histories after the bet] [label 1: ...] ...
    other's turn    [call: histories in which he may bet]

where labels are missing if there is only one, and on the last turn. Views are found by open addressing in `slots`:
places, context, where the block starts, number of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cardtable.compiled import compiled
from solvers.toepen.histories import Histories
from solvers.toepen.views import NO_MEMORY, ORDER_BITS, SEAT_SHIFT, TURN_BITS, Abstraction

PLACES, CONTEXT, START, LABELS = range(4)  # columns of slots
SLOT_WORDS = 4
FREE = -1  # in START


@compiled
def slot_of(slots, places, context):
    """Where the view stands, or the free slot where it belongs. (Everything stays below 2**63.)"""
    mask = len(slots) - 1
    low = (places & 0xFFFFFFFF) * 0x2C1B3C6D + (places >> 32) * 0x165667B1
    low = (low ^ low >> 29) & 0xFFFFFFFF
    high = (context & 0xFFFFFFFF) * 0x1B873593 + (context >> 32) * 0x05EBCA6B
    high = (high ^ high >> 27) & 0x7FFFFFFF
    mixed = (low + high) * 0x19D699A5
    slot = (mixed ^ mixed >> 31) & mask
    while slots[slot, START] != FREE and (slots[slot, PLACES] != places or slots[slot, CONTEXT] != context):
        slot = (slot + 1) & mask
    return slot


@compiled
def enter_all(old, new):
    """Enters the views of one table of slots into a larger one."""
    for row in range(len(old)):
        if old[row, START] != FREE:
            slot = slot_of(new, old[row, PLACES], old[row, CONTEXT])
            for word in range(SLOT_WORDS):
                new[slot, word] = old[row, word]


@compiled
def seat_of(context):
    return context >> SEAT_SHIFT & 1


@compiled
def turn_of(context):
    return context >> ORDER_BITS & (1 << TURN_BITS) - 1


@compiled
def order_of(context):
    return context & (1 << ORDER_BITS) - 1


def require_views(entries: np.ndarray, histories: Histories) -> None:
    """ValueError unless entries that come from a file are of turns and orders that there are, with a label at least."""
    turn, order = turn_of(entries[:, CONTEXT]), order_of(entries[:, CONTEXT])
    if (turn >= histories.turns).any() or (order >= 1 << turn // 2).any() or (entries[:, LABELS] < 1).any():
        raise ValueError("it has views that cannot be")


def block_lengths(entries: np.ndarray, histories: Histories, bets: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How many numbers each view has, if a turn has so many."""
    turn, order, seat = turn_of(entries[:, CONTEXT]), order_of(entries[:, CONTEXT]), seat_of(entries[:, CONTEXT])
    plays = (histories.mover[turn, order] == seat) & (entries[:, LABELS] > 1) & (turn < histories.turns - 1)
    return bets[turn, order] + np.where(plays, entries[:, LABELS] * after[turn, order], 0)


def free_slots(count: int) -> np.ndarray:
    """Slots for so many views, half of them free."""
    slots = np.zeros((1 << max(4, (2 * count).bit_length()), SLOT_WORDS), np.int64)
    slots[:, START] = FREE
    return slots


@dataclass(frozen=True, eq=False)
class Blocks:
    """A policy of both players: behaviour probabilities by view. Views that are missing choose uniformly.

    `arithmetic`: the last bet is not made and called by the blocks, but by `solvers.toepen.last_bet`.
    """

    slots: np.ndarray
    numbers: np.ndarray
    abstraction: Abstraction = NO_MEMORY
    arithmetic: bool = False

    @property
    def num_views(self) -> int:
        return int((self.slots[:, START] != FREE).sum())

    @classmethod
    def nothing(cls) -> Blocks:
        """Uniform play."""
        return cls(free_slots(0), np.zeros(0, np.float32))
