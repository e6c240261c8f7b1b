"""A game played again from the deal: the way that led to a state, read off the state itself.

The dealing block remembers all piles, and `Rules.moves` lists what the players did since. So every decision on the way
to a state can be looked at again, also in a world in which the hidden cards were dealt differently (`resample` changes
the piles, and nothing that was done). Behaviour models ask it: how likely was this card, had he held that hand?
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numba import types

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.parameters import refusal
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    INTEGER,
    INTEGERS,
    STATE,
    STATES,
    WORDS,
    Kernel,
    Rules,
    compile_for,
    kernel_at,
)

MOVES_SIGNATURE = INTEGER(STATE, WORDS)
ROOT = types.Array(types.int64, 1, "C", readonly=True)  # `Rules.root`, which nobody may change


def moves_of(rules: Rules, state: np.ndarray) -> np.ndarray:
    """All actions of the players since the deal, in order."""
    if rules.moves is None:
        raise refusal("this game does not list its moves", "games, not transforms that rename or add moves")
    actions = np.empty(rules.max_game_length, np.int64)
    return actions[: _compiled_moves(rules.moves)(state, actions)]


# Signatures take numba long to compare, and models ask for the past at every decision.
_addresses = functools.cache(Kernel.addresses)


@functools.cache
def _compiled_moves(moves: Callable) -> Callable:
    return compile_for(moves, MOVES_SIGNATURE)


def past(rules: Rules, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every decision on the way to a state, the first one first: the positions, one a row, and what was done there.

    One row more than there are decisions: the last one is the state again.
    """
    actions = moves_of(rules, state)
    positions = np.empty((len(actions) + 1, len(state)), np.int64)
    _replay(_addresses(rules.compiled_kernel()), rules.root, state, actions, positions)
    return positions, actions


@compiled
def deal_again(kernel, root, state, out):
    """Makes `out` the position after the deal that led to `state`; `root` is the state before any deal."""
    out[:] = root
    while kernel.current_player(out) == CHANCE:
        kernel.apply_action(out, deck.pile_of(state, out[deck.NEXT_CARD]))


@entry_point(ADDRESSES, ROOT, STATE, INTEGERS, STATES)
def _replay(addresses, root, state, actions, positions):
    kernel = kernel_at(addresses)
    deal_again(kernel, root, state, positions[0])
    for index in range(len(actions)):
        positions[index + 1] = positions[index]
        kernel.apply_action(positions[index + 1], actions[index])
