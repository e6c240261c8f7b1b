"""The average strategy of a sampling solver as a player, read straight from the solver's table.

Tables of large games hold gigabytes: nothing is copied. Where the table has not been, the player chooses uniformly.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.player import Player, drawing_player
from cardtable.rules import ADDRESSES, INTEGERS, STATES, kernel_at
from cardtable.spiel import CardGame
from solvers.sampling.hash_table import MISSING, InformationTable, find_row, first_candidate, header_of
from solvers.sampling.keys import hash_row


def average_player(name: str, game: CardGame, table: InformationTable) -> Player:
    """A player of `game`, whose information states are the keys of `table`; an empty table plays uniformly."""
    rules = game.rules
    kernel = rules.compiled_kernel().addresses()

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        chances = np.zeros((len(rows), rules.num_distinct_actions))
        key = np.empty(rules.key_words, np.int64)
        _average_rows(kernel, table.words, table.numbers, table.slots, states, rows, key, chances)
        return chances

    return drawing_player(name, game, probabilities_rows, every_dealer=False)


@entry_point(
    ADDRESSES,
    INTEGERS,
    types.Array(types.float64, 1, "C"),
    INTEGERS,
    STATES,
    INTEGERS,
    INTEGERS,
    types.Array(types.float64, 2, "C"),
    nogil=True,
)
def _average_rows(addresses, words, numbers, slots, states, rows, key, chances):
    kernel = kernel_at(addresses)
    actions = np.empty(chances.shape[1], np.int64)
    for index in range(len(rows)):
        state = states[rows[index]]
        seat = kernel.current_player(state)
        count = kernel.legal_actions(state, actions)
        kernel.information_key(state, seat, key)
        key_hash = hash_row(key)
        row = find_row(words, slots, first_candidate(slots, key_hash), key_hash, header_of(seat, count), key)
        total = 0.0
        if row != MISSING:
            base = row + 1 + len(key) + count
            for place in range(count):
                chances[index, actions[place]] = numbers[base + place]
                total += numbers[base + place]
        for place in range(count):
            chances[index, actions[place]] = chances[index, actions[place]] / total if total > 0.0 else 1.0 / count
