"""Games played to their end by the network of `gongzhu_spiel.network`, from every card a player may choose now.

`flat_rows` values all legal cards in uniformly drawn worlds: what the network is improved with. `try_worlds` takes the
worlds as they come: what `gongzhu_spiel.expert` chooses by. One rollout for each world and card: the network plays
alike every time, and another world tells more than the same one again.
"""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable import bits, deck
from cardtable.compiled import compiled, entry_point
from cardtable.rules import INTEGER, INTEGERS, STATES, STREAMS
from cardtable.tricks import NUM_SEATS
from cardtable.vectors import copy_row
from gongzhu_spiel.network import WEIGHTS, best_card, look, new_mind, play
from gongzhu_spiel.rules import legal_cards, resample, team_result
from gongzhu_spiel.state import CARDS_PLAYED, MAX_RANKS, TURN, require_full_deck

MATRIX = types.Array(types.float64, 2, "C")


@compiled
def roll_out(state, weights, mind):
    """The network plays all four seats to the end of the game."""
    while state[CARDS_PLAYED] < state[deck.DECK_SIZE]:
        play(state, best_card(state, weights, mind), weights, mind)


@compiled
def result_for(state, seat):
    """The result of a finished game for the team of a seat."""
    result = team_result(state)
    return result if seat & 1 == 0 else -result


@compiled
def try_cards(world, seat, cards, weights, root_mind, mind, trial, results):
    """The result after each card of a set, in the order of their ids, into `results`."""
    look(world, weights, root_mind)
    index = 0
    while cards:
        trial[:] = world
        for row in range(NUM_SEATS):
            copy_row(mind.sums, row, root_mind.sums, row)
        play(trial, bits.lowest(cards), weights, mind)
        cards &= cards - 1
        roll_out(trial, weights, mind)
        results[index] = result_for(trial, seat)
        index += 1


@entry_point(WEIGHTS, INTEGER, STATES, INTEGERS, STREAMS, MATRIX, nogil=True)
def flat_rows(weights, worlds, states, rows, streams, values):
    """The mean result of every legal card over so many worlds; the other entries of `values` are left as they are."""
    root_mind, mind = new_mind(), new_mind()
    results = np.empty(MAX_RANKS)
    for index in range(len(rows)):
        state = states[rows[index]]
        require_full_deck(state)
        world, trial = state.copy(), state.copy()
        seat = state[TURN]
        legal = legal_cards(state)
        count = bits.count(legal)
        sums = np.zeros(count)
        for _ in range(worlds):
            world[:] = state
            resample(world, seat, streams[index])
            try_cards(world, seat, legal, weights, root_mind, mind, trial, results)
            for place in range(count):
                sums[place] += results[place]
        for place in range(count):
            values[index, bits.nth(legal, place)] = sums[place] / worlds


@entry_point(WEIGHTS, STATES, INTEGER, INTEGER, MATRIX, nogil=True)
def try_worlds(weights, worlds, seat, cards, results):
    """The result of each card of a set in each world, one row of `results` for each world."""
    root_mind, mind = new_mind(), new_mind()
    trial = np.empty(worlds.shape[1], np.int64)
    for number in range(len(worlds)):
        try_cards(worlds[number], seat, cards, weights, root_mind, mind, trial, results[number])
