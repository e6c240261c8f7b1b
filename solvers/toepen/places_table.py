"""Tables of `python_bucketing(hand=places,history=stakes)`, as sampling makes them, as blocks over views.

Of the bets `stakes` keeps how many were called and who bet last, so a row of the table serves many betting histories.
The table tells suits with equal numbers apart by their names; here their positions are averaged, which makes the policy
one that treats suits alike.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from solvers.sampling.hash_table import InformationTable
from solvers.toepen.blocks import CONTEXT as CONTEXT_COLUMN
from solvers.toepen.blocks import FREE, LABELS, PLACES, START, Blocks, enter_all, free_slots, slot_of
from solvers.toepen.histories import Histories
from solvers.toepen.views import context_word
from toepen_spiel.abstraction import LED_SHIFT, OUT_SHIFT, PLACES_BITS
from toepen_spiel.state import DECIDING, MAX_SUITS, PLAYING

AVERAGES = 1  # the second group of numbers of a sampling solver's table
# Where the transform keeps them in a key, behind the player and the number of actions.
PLACES_WORD, STAKES_WORD = 2, 3


def blocks_of_table(table: InformationTable, histories: Histories, follow_suit: bool) -> Blocks:
    """The averages of a sampling solver."""
    contents = table.contents(AVERAGES)
    slots = free_slots(1024)
    numbers = np.empty(0, np.float32)
    size = np.zeros(2, np.int64)  # numbers, views
    first = 0
    while first < len(contents.keys):
        first = _enter(
            contents.keys, contents.offsets, contents.weights, first, histories, follow_suit, slots, numbers, size
        )
        if first < len(contents.keys):
            if 2 * (size[1] + histories.mover.shape[1]) > len(slots):
                larger = free_slots(len(slots))
                enter_all(slots, larger)
                slots = larger
            else:
                more = max(1 << 16, len(numbers) // 2)
                numbers = np.concatenate([numbers, np.full(more, -1.0, np.float32)])
    return Blocks(slots, numbers[: size[0]].copy())


@compiled
def positions_of(places, leads, follow_suit, labels, shares):
    """The legal cards that a view's first word tells of, in the order of `sort_actions`: (cards, labels)."""
    must = 0
    if follow_suit and not leads:
        for suit in range(MAX_SUITS):
            number = places >> PLACES_BITS * suit & (1 << PLACES_BITS) - 1
            if number >> LED_SHIFT & (1 << OUT_SHIFT - LED_SHIFT) - 1:
                must = number
    count = 0
    num_labels = 0
    suit = MAX_SUITS - 1
    while suit >= 0:
        number = places >> PLACES_BITS * suit & (1 << PLACES_BITS) - 1
        members = 0
        while suit >= 0 and places >> PLACES_BITS * suit & (1 << PLACES_BITS) - 1 == number:
            members += 1
            suit -= 1
        if number == 0 or (must and number != must):
            continue
        pattern = number & (1 << LED_SHIFT) - 1
        held = bits.count(pattern) - 1
        for _ in range(members):
            for card in range(held):
                labels[count] = num_labels + card
                shares[count] = members
                count += 1
        num_labels += held
    return count, num_labels


@compiled
def _enter(keys, offsets, weights, first, histories, follow_suit, slots, numbers, size):
    """Enters rows from `first` on; returns where it stopped for lack of room, or the number of rows."""
    turns = len(histories.mover) - 1
    labels, shares = np.zeros(64, np.int64), np.zeros(64, np.int64)
    chances = np.zeros(64)
    for row in range(first, len(keys)):
        seat, places, said = keys[row, 0], keys[row, PLACES_WORD], keys[row, STAKES_WORD]
        turn, calls, phase = said & 255, said >> 8 & 255, said >> 16 & 255
        own_turn, bettor = said >> 24 & 1, said >> 25 & 3
        start, end = offsets[row], offsets[row + 1]
        count, num_labels = 1, 1
        if own_turn and turn < turns - 1:
            count, num_labels = positions_of(places, turn % 2 == 0, follow_suit, labels, shares)
        total = 0.0
        for place in range(start, end):
            total += weights[place]
        for label in range(num_labels):
            chances[label] = 0.0
        for place in range(start, end):
            chance = weights[place] / total if total > 0.0 else 1.0 / (end - start)
            if phase == PLAYING:
                chances[labels[place - start]] += chance
            elif place == start:  # bet, or call
                chances[0] = chance
        if bettor > 0:  # 1 she herself, 2 the other: as in histories, 1 + player
            bettor = 1 + (seat if bettor == 1 else 1 - seat)
        for order in range(1 << turn // 2):
            if (histories.mover[turn, order] == seat) != (own_turn == 1):
                continue
            bets, after = histories.bets[turn, order], histories.after[turn, order]
            context = context_word(0, seat, turn, order)
            slot = slot_of(slots, places, context)
            if slots[slot, START] == FREE:
                length = bets + (num_labels * after if num_labels > 1 else 0)
                if size[0] + length > len(numbers) or 2 * (size[1] + 1) > len(slots):
                    return row
                slots[slot, PLACES], slots[slot, CONTEXT_COLUMN] = places, context
                slots[slot, START], slots[slot, LABELS] = size[0], num_labels
                numbers[size[0] : size[0] + bets] = 0.5
                if num_labels > 1:
                    for card in range(count):
                        at = size[0] + bets + labels[card] * after
                        numbers[at : at + after] = shares[card] / count
                size[0] += length
                size[1] += 1
            base = slots[slot, START]
            if phase == PLAYING:
                if num_labels == 1:
                    continue
                below = order if turn % 2 == 0 else 2 * order
                for history in range(after):
                    same = histories.calls[turn + 1, below, history] == calls
                    if same and histories.bettor[turn + 1, below, history] == bettor:
                        for label in range(num_labels):
                            numbers[base + bets + label * after + history] = chances[label]
                continue
            start_bets = histories.first[turn, order]
            for place in range(bets):
                # Who answers a bet has forgotten who bet before.
                same = histories.calls[turn, order, start_bets + place] == calls
                if same and (phase != DECIDING or histories.bettor[turn, order, start_bets + place] == bettor):
                    numbers[base + place] = chances[0]
    return len(keys)
