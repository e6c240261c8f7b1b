"""A small network that values every card, compiled: 674 inputs -> 32 -> 32 -> 52, ReLU between.

All weights are one matrix with 32 columns, which is what a processor likes to add up:

    674 rows  of the first layer, one for each input of `gongzhu_spiel.knowledge`
    1         its bias
    32        of the second layer, one for each number that comes in
    1         its bias
    52        of the output, one for each card
    2         the biases of the cards, one after the other

The first layer is a sum of rows. What the cards in the hand, played and taken add to it is kept for each of the four
seats, in a *mind*, and a card played changes it by a row or two (`play`); the rest is added when a card is chosen. So
one mind follows a game along, and a rollout costs a third of what it would otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import bits
from cardtable.compiled import compiled, entry_point
from cardtable.files import read_tensors
from cardtable.parameters import UserError
from cardtable.rules import INTEGERS, STATES
from cardtable.tricks import NUM_SEATS
from cardtable.vectors import WIDTH, add_row, add_rows, copy_row, dense_layer, dot, subtract_row
from gongzhu_spiel.knowledge import (
    FULL_DECK,
    KNOWLEDGE,
    MOST_KEPT,
    NUM_SCORED,
    OWN_HAND,
    PLAYED_BY,
    SCORED_SET,
    TAKEN_BY,
    cards_left,
    list_kept,
    list_lengths,
    list_public,
    scored_place,
)
from gongzhu_spiel.rules import apply_action, legal_cards
from gongzhu_spiel.state import HAND, TABLE, TURN, require_full_deck

FIRST_BIAS = KNOWLEDGE
SECOND = FIRST_BIAS + 1
SECOND_BIAS = SECOND + WIDTH
OUTPUT = SECOND_BIAS + 1
OUTPUT_BIAS = OUTPUT + FULL_DECK
ROWS = OUTPUT_BIAS + 2

FIRST_ROW, SECOND_ROW = NUM_SEATS, NUM_SEATS + 1  # of `Mind.sums`, behind the seats

WEIGHTS = types.Array(types.float32, 2, "C", readonly=True)
VALUES = types.Array(types.float32, 2, "C")


class Mind(NamedTuple):
    """What is kept of the first layer for each seat, then two rows to work with; and a list of inputs."""

    sums: np.ndarray
    inputs: np.ndarray


@compiled
def new_mind():
    return Mind(np.empty((NUM_SEATS + 2, WIDTH), np.float32), np.empty(MOST_KEPT, np.int64))


def pack(tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """The matrix of a network with the tensors `weight_0`, `bias_0`, ... of `cardtable.search.networks`."""
    sizes = (KNOWLEDGE, WIDTH, WIDTH, FULL_DECK)
    shapes = {f"weight_{number}": sizes[number : number + 2] for number in range(3)}
    shapes |= {f"bias_{number}": sizes[number + 1 : number + 2] for number in range(3)}
    found = {name: np.asarray(tensor).shape for name, tensor in tensors.items()}
    if found != shapes:
        raise UserError(f"a network of Gongzhu has tensors of the shapes {shapes}, not {found}")
    weights = np.zeros((ROWS, WIDTH), np.float32)
    weights[:KNOWLEDGE] = tensors["weight_0"]
    weights[FIRST_BIAS] = tensors["bias_0"]
    weights[SECOND:SECOND_BIAS] = tensors["weight_1"]
    weights[SECOND_BIAS] = tensors["bias_1"]
    weights[OUTPUT:OUTPUT_BIAS] = np.asarray(tensors["weight_2"]).T
    weights[OUTPUT_BIAS:].reshape(-1)[:FULL_DECK] = tensors["bias_2"]
    weights.setflags(write=False)
    return weights


def load_network(path: Path) -> np.ndarray:
    """The matrix of a network that was written as safetensors."""
    return pack(read_tensors(path, "a network of Gongzhu"))


@compiled
def look(state, weights, mind):
    """Makes the mind fit a position."""
    for seat in range(NUM_SEATS):
        copy_row(mind.sums, seat, weights, FIRST_BIAS)
        add_rows(mind.sums, seat, weights, mind.inputs, list_kept(state, seat, mind.inputs))


@compiled
def play(state, card, weights, mind):
    """Plays a card by the rules, and keeps the mind up to date."""
    mover = state[TURN]
    trick = state[TABLE] | 1 << card
    apply_action(state, card)
    subtract_row(mind.sums, mover, weights, OWN_HAND + card)
    for seat in range(NUM_SEATS):
        add_row(mind.sums, seat, weights, PLAYED_BY + ((mover - seat) & 3) * FULL_DECK + card)
    scored = trick & SCORED_SET
    if scored and state[TABLE] == 0:  # the trick was full, and its winner leads now
        winner = state[TURN]
        while scored:
            place = scored_place(bits.lowest(scored))
            scored &= scored - 1
            for seat in range(NUM_SEATS):
                add_row(mind.sums, seat, weights, TAKEN_BY + ((winner - seat) & 3) * NUM_SCORED + place)


@compiled
def think(state, weights, mind):
    """Everything but the output, for the seat to move, of whose position the mind knows."""
    seat = state[TURN]
    count = list_public(state, seat, mind.inputs)
    count = list_lengths(cards_left(state), state[HAND + seat], count, mind.inputs)
    copy_row(mind.sums, FIRST_ROW, mind.sums, seat)
    add_rows(mind.sums, FIRST_ROW, weights, mind.inputs, count)
    dense_layer(mind.sums, SECOND_ROW, FIRST_ROW, weights, SECOND)


@compiled
def value_of(card, weights, mind):
    """What the network says of a card, after `think`."""
    return weights[OUTPUT_BIAS + card // WIDTH, card % WIDTH] + dot(mind.sums, SECOND_ROW, weights, OUTPUT + card)


@compiled
def best_card(state, weights, mind):
    """The card with the highest value, the lowest of equal ones."""
    legal = legal_cards(state)
    best = bits.lowest(legal)
    if legal & (legal - 1) == 0:
        return best
    think(state, weights, mind)
    highest = np.float32(-np.inf)
    while legal:
        card = bits.lowest(legal)
        legal &= legal - 1
        value = value_of(card, weights, mind)
        if value > highest:
            best = card
            highest = value
    return best


@entry_point(WEIGHTS, STATES, INTEGERS, VALUES, nogil=True)
def value_rows(weights, states, rows, values):
    """The values of the legal cards in these rows; others are left as they are."""
    mind = new_mind()
    for index in range(len(rows)):
        state = states[rows[index]]
        require_full_deck(state)
        look(state, weights, mind)
        think(state, weights, mind)
        legal = legal_cards(state)
        while legal:
            card = bits.lowest(legal)
            legal &= legal - 1
            values[index, card] = value_of(card, weights, mind)
