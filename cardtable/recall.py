"""What a game of dealt hands remembers of its deal, so that other hands can be imagined without playing it again.

In many games all that a seat knows and the others do not is the hand it was dealt; everything since is public. Such a
game can say so (`Rules.recall`), with five compiled functions on its states:

    hand(state, seat) -> int                           the cards the seat was dealt
    hold(state, seat, hand)                            makes it a state in which the seat was dealt these cards; the
                                                       others' are left, so only this seat may be asked about it
    rewind(state)                                      back to the moment after the deal
    unseen(state, player, needs, forbidden) -> int     the cards whose place the player does not know; how many of them
                                                       each pile has, and which it cannot have, for `cardtable.redeal`
    moves(state, out) -> int                           what the players did since the deal, in order; returns how many

A decision of the past is then a position that was public but for one hand, and how likely a move was with another hand
is asked by swapping just that: `cardtable.search.beliefs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import types

from cardtable.compiled import JIT_DISABLED
from cardtable.rules import INTEGER, STATE, WORDS, addresses_of, functions_at


class Recall(NamedTuple):
    """The five functions above, compiled, in the order of `RECALL_SIGNATURES`."""

    hand: Callable
    hold: Callable
    rewind: Callable
    unseen: Callable
    moves: Callable

    def addresses(self) -> Any:
        """All functions as one argument for compiled code, which begins with `recall_at`."""
        return self if JIT_DISABLED else addresses_of(tuple(self), RECALL_SIGNATURES)


RECALL_SIGNATURES = (
    INTEGER(STATE, INTEGER),
    types.void(STATE, INTEGER, INTEGER),
    types.void(STATE),
    INTEGER(STATE, INTEGER, WORDS, WORDS),
    INTEGER(STATE, WORDS),
)

recall_at = functions_at(Recall, RECALL_SIGNATURES)
