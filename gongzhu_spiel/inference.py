"""How likely what the others did is, had they held these hands: the network of `gongzhu_spiel.network` as a model.

    p(card) = noise / (number of legal cards) + (1 - noise) * softmax(values / temperature)(card)

With the values of the expert's own network this models players who want what she wants; with the logits of a clone, a
player in particular. All worlds a player thinks of share the public history, so that part of the network's first layer
is added up once for each past decision, together with what lengths of suits there may be add to it. What a hand adds
is kept from decision to decision, and a card played takes a row away. Late in the game few hands are possible, and each
is judged once, however many worlds it occurs in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import bits, deck
from cardtable.compiled import compiled, entry_point
from cardtable.parameters import require_number
from cardtable.replay import past
from cardtable.rules import INTEGER, INTEGERS, PROBABILITIES, STATES, Rules
from cardtable.search.models import EVERY_MOVE
from cardtable.tricks import NUM_SEATS, following
from cardtable.vectors import WIDTH, add_row, add_rows, copy_row, dense_layer, subtract_row
from gongzhu_spiel.knowledge import LENGTHS, OWN_HAND, OWN_LENGTH, UNSEEN, cards_left, list_public, list_seen
from gongzhu_spiel.network import FIRST_BIAS, FIRST_ROW, SECOND, SECOND_ROW, WEIGHTS, new_mind, value_of
from gongzhu_spiel.state import HAND, LED_SUIT, MAX_RANKS, MAX_SUITS, TURN

PUBLIC_ROW = 0  # of a mind that follows nobody
FEW_CARDS = 5  # in the hand: from here on many worlds give a seat the same hand


class CardModel(NamedTuple):
    """A behaviour model (`cardtable.search.models`) from the matrix of a network."""

    weights: np.ndarray
    temperature: float = 1.0
    noise: float = 0.1
    prior: float = 1.0
    first: int = 0  # all moves are cards, and it judges all
    end: int = EVERY_MOVE

    def log_likelihoods(self, rules: Rules, worlds: np.ndarray, seat: int) -> np.ndarray:
        require_number("temperature", self.temperature, 1e-6)
        positions, actions = past(rules, worlds[0])
        found = np.zeros((len(worlds), NUM_SEATS))
        few = int(worlds[0, HAND + seat]).bit_count() <= FEW_CARDS
        for mover in range(NUM_SEATS):
            if mover == seat:
                continue
            hands = np.ascontiguousarray(worlds[:, deck.DEALT + mover])
            hands, places = np.unique(hands, return_inverse=True) if few else (hands, slice(None))
            judged = np.zeros(len(hands))
            _weigh(self.weights, self.temperature, self.noise, positions, actions, mover, hands, judged)
            found[:, mover] = judged[places]
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


@compiled
def _list_lengths(position, weights, out):
    """What a suit of each possible length adds to the first layer, in a row of `out` for each suit and length."""
    left = cards_left(position)
    for suit in range(MAX_SUITS):
        most = bits.count(left & bits.suit_cards(suit, MAX_RANKS))
        for length in range(most + 1):
            row = suit * LENGTHS + length
            copy_row(out, row, weights, OWN_LENGTH + row)
            add_row(out, row, weights, UNSEEN + suit * LENGTHS + most - length)


@entry_point(WEIGHTS, types.float64, types.float64, STATES, INTEGERS, INTEGER, INTEGERS, PROBABILITIES, nogil=True)
def _weigh(weights, temperature, noise, positions, actions, mover, hands, out):
    """Adds to `out` the log of how likely all that the mover did is, for each of the hands that she was dealt."""
    mind = new_mind()
    values = np.empty(MAX_RANKS)
    lengths = np.empty((MAX_SUITS * LENGTHS, WIDTH), np.float32)
    kept = np.zeros((len(hands), WIDTH), np.float32)
    for number in range(len(hands)):
        add_rows(kept, number, weights, mind.inputs, bits.list_cards(hands[number], OWN_HAND, mind.inputs))
    for index in range(len(actions)):
        position = positions[index]
        if position[TURN] != mover:
            continue
        copy_row(mind.sums, PUBLIC_ROW, weights, FIRST_BIAS)
        add_rows(mind.sums, PUBLIC_ROW, weights, mind.inputs, list_seen(position, mover, 0, mind.inputs))
        add_rows(mind.sums, PUBLIC_ROW, weights, mind.inputs, list_public(position, mover, mind.inputs))
        _list_lengths(position, weights, lengths)
        led = position[LED_SUIT]
        played = position[deck.DEALT + mover] ^ position[HAND + mover]
        for number in range(len(hands)):
            hand = hands[number] ^ played
            legal = following(hand, led)
            if legal & (legal - 1):
                copy_row(mind.sums, FIRST_ROW, kept, number)
                add_row(mind.sums, FIRST_ROW, mind.sums, PUBLIC_ROW)
                for suit in range(MAX_SUITS):
                    length = bits.count(hand & bits.suit_cards(suit, MAX_RANKS))
                    add_row(mind.sums, FIRST_ROW, lengths, suit * LENGTHS + length)
                dense_layer(mind.sums, SECOND_ROW, FIRST_ROW, weights, SECOND)
                out[number] += _log_chance(actions[index], legal, temperature, noise, values, weights, mind)
            subtract_row(kept, number, weights, OWN_HAND + actions[index])
