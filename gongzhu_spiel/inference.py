"""How likely what the others did is, had they held these hands: the network of `gongzhu_spiel.network` as a model.

    p(card) = noise / (number of legal cards) + (1 - noise) * softmax(values / temperature)(card)

With the values of the expert's own network this models players who want what she wants; with the logits of a clone, a
player in particular. All worlds a player thinks of share the public history, so that part of the network's first layer
is added up once for each past decision, and only the hand differs from world to world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import bits, deck
from cardtable.compiled import compiled, entry_point
from cardtable.parameters import require_number
from cardtable.replay import past
from cardtable.rules import INTEGER, INTEGERS, STATES, Rules
from cardtable.tricks import NUM_SEATS, following
from cardtable.vectors import add_rows, dense_layer
from gongzhu_spiel.knowledge import OWN_HAND, cards_left, list_lengths, list_public, list_seen
from gongzhu_spiel.network import FIRST_BIAS, FIRST_ROW, SECOND, SECOND_ROW, WEIGHTS, new_mind, value_of
from gongzhu_spiel.state import HAND, LED_SUIT, MAX_RANKS, TURN

MATRIX = types.Array(types.float64, 2, "C")
PUBLIC_ROW = 0  # of a mind that follows nobody


class CardModel(NamedTuple):
    """A behaviour model (`cardtable.search.models`) from the matrix of a network."""

    weights: np.ndarray
    temperature: float = 1.0
    noise: float = 0.1
    prior: float = 1.0

    def log_likelihoods(self, rules: Rules, worlds: np.ndarray, seat: int) -> np.ndarray:
        require_number("temperature", self.temperature, 1e-6)
        positions, actions = past(rules, worlds[0])
        found = np.zeros((len(worlds), NUM_SEATS))
        _weigh(self.weights, self.temperature, self.noise, positions, actions, worlds, seat, found)
        return found


@compiled
def _log_chance(card, legal, temperature, noise, values, weights, mind):
    """log p of a card among the legal ones, after the second layer."""
    count = 0
    highest = -np.inf
    chosen = 0.0
    rest = legal
    while rest:
        other = bits.lowest(rest)
        rest &= rest - 1
        values[count] = value_of(other, weights, mind) / temperature
        if other == card:
            chosen = values[count]
        highest = max(highest, values[count])
        count += 1
    total = 0.0
    for index in range(count):
        total += np.exp(values[index] - highest)
    return np.log(noise / count + (1.0 - noise) * np.exp(chosen - highest) / total)


@entry_point(WEIGHTS, types.float64, types.float64, STATES, INTEGERS, STATES, INTEGER, MATRIX, nogil=True)
def _weigh(weights, temperature, noise, positions, actions, worlds, seat, out):
    mind = new_mind()
    values = np.empty(MAX_RANKS)
    for index in range(len(actions)):
        position = positions[index]
        mover = position[TURN]
        if mover == seat:
            continue
        mind.sums[PUBLIC_ROW] = weights[FIRST_BIAS]
        add_rows(mind.sums, PUBLIC_ROW, weights, mind.inputs, list_seen(position, mover, 0, mind.inputs))
        add_rows(mind.sums, PUBLIC_ROW, weights, mind.inputs, list_public(position, mover, mind.inputs))
        left = cards_left(position)
        led = position[LED_SUIT]
        played = position[deck.DEALT + mover] ^ position[HAND + mover]
        for number in range(len(worlds)):
            hand = worlds[number, deck.DEALT + mover] ^ played
            legal = following(hand, led)
            if legal & (legal - 1) == 0:
                continue
            count = bits.list_cards(hand, OWN_HAND, mind.inputs)
            count = list_lengths(left, hand, count, mind.inputs)
            mind.sums[FIRST_ROW] = mind.sums[PUBLIC_ROW]
            add_rows(mind.sums, FIRST_ROW, weights, mind.inputs, count)
            dense_layer(mind.sums, SECOND_ROW, FIRST_ROW, weights, SECOND)
            out[number, mover] += _log_chance(actions[index], legal, temperature, noise, values, weights, mind)
