"""A game played again from the deal: the way that led to a state, read off the state itself.

The dealing block remembers all piles, and `Rules.moves` lists what the players did since. So every decision on the way
to a state can be looked at again, also in a world in which the hidden cards were dealt differently (`resample` changes
the piles, and nothing that was done). Behaviour models ask it: how likely was this card, had he held that hand?
"""

from __future__ import annotations

import numpy as np

from cardtable import deck
from cardtable.compiled import entry_point
from cardtable.parameters import refusal
from cardtable.rules import ADDRESSES, CHANCE, INTEGER, INTEGERS, STATE, STATES, WORDS, Rules, compile_for, kernel_at

MOVES_SIGNATURE = INTEGER(STATE, WORDS)


def past(rules: Rules, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every decision on the way to a state, the first one first: the positions, one a row, and what was done there.

    One row more than there are decisions: the last one is the state again.
    """
    if rules.moves is None:
        raise refusal("this game does not list its moves", "games, not transforms that rename or add moves")
    actions = np.empty(rules.max_game_length, np.int64)
    count = compile_for(rules.moves, MOVES_SIGNATURE)(state, actions)
    positions = np.empty((count + 1, len(state)), np.int64)
    positions[0] = rules.root
    _replay(rules.compiled_kernel().addresses(), state, actions[:count], positions)
    return positions, actions[:count]


@entry_point(ADDRESSES, STATE, INTEGERS, STATES)
def _replay(addresses, state, actions, positions):
    kernel = kernel_at(addresses)
    while kernel.current_player(positions[0]) == CHANCE:
        kernel.apply_action(positions[0], deck.pile_of(state, positions[0, deck.NEXT_CARD]))
    for index in range(len(actions)):
        positions[index + 1] = positions[index]
        kernel.apply_action(positions[index + 1], actions[index])
