"""The walk of `solvers.toepen.asking_walk` against a table of any transform of Toepen, as sampling makes them.

A table of `python_bucketing` or of `python_card_isomorphism` has a row for each information set of that game; here such
rows are asked for, position by position, with the transform's own kernel: his hand and the cards played make a state of
the transform, its key finds the row, its labels say which card an action means. That is slow, so

* histories that the transform cannot tell apart are asked for once: a *class* of them;
* a large table of a large game knows few of the positions that a walk meets. A filter, a bit for each hash, tells of
  most of the others that the table has nothing about these cards, whatever the bets: there he chooses uniformly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cardtable import bits
from cardtable.compiled import JIT_DISABLED, compiled
from cardtable.memory_hints import borrowed
from cardtable.rules import LABEL_SIGNATURE, addresses_of, functions_at, kernel_at
from solvers.sampling.hash_table import MISSING, find_row, first_candidate, header_of
from solvers.sampling.keys import hash_row
from solvers.toepen.asking_walk import BET_OR_CALL, WHICH_CARD, end, entering, say
from solvers.toepen.response_walk import NUM_VECTORS, go_on
from solvers.toepen.views import NOTHING
from toepen_spiel.state import DECIDING, PHASE, PLAYING


class Label(NamedTuple):
    """What a transform calls an action of the original game."""

    label: Callable

    def addresses(self) -> Any:
        return self if JIT_DISABLED else addresses_of(tuple(self), (LABEL_SIGNATURE,))


label_at = functions_at(Label, (LABEL_SIGNATURE,))


class Asked(NamedTuple):
    """What the walk looks up: the table, its filter, and how to ask; and what it writes on the way."""

    words: np.ndarray
    numbers: np.ndarray
    slots: np.ndarray
    filter: np.ndarray
    cards_only: np.ndarray  # words of a key: a one for each bit that tells nothing of bets
    said_counts: np.ndarray
    said_classes: np.ndarray
    said_words: np.ndarray
    yes: np.ndarray  # where bet, and call, stand among the two actions
    key: np.ndarray
    names: np.ndarray
    chances: np.ndarray  # by class, or by card and class


def filter_of(keys: np.ndarray, cards_only: np.ndarray) -> np.ndarray:
    """A set of hashes of keys without their bets: a bit each, among 32 or more a key."""
    words = np.zeros(1 << max(4, (4 * len(keys) - 1).bit_length()), np.uint8)
    _enter_filter(keys, cards_only, words)
    return words


@compiled
def _hash_of_cards(key, cards_only):
    for word in range(len(key)):
        key[word] &= cards_only[word]
    return hash_row(key)


@compiled
def _enter_filter(keys, cards_only, words):
    key = np.empty(len(cards_only), np.int64)
    for row in range(len(keys)):
        for word in range(len(key)):
            key[word] = keys[row, 1 + word]  # the first column is the player
        place = _hash_of_cards(key, cards_only)
        words[place >> 3 & len(words) - 1] |= np.uint8(1 << (place & 7))


# Asking.


@compiled
def _may_know(kernel, asked, scratch, state, player, said):
    """Whether the table may have a row with these cards; `said` is any class."""
    say(scratch.shown, state, said)
    kernel.information_key(scratch.shown, player, asked.key)
    place = _hash_of_cards(asked.key, asked.cards_only)
    return asked.filter[place >> 3 & len(asked.filter) - 1] >> (place & 7) & 1 == 1


@compiled
def _row(kernel, asked, scratch, state, player, said, num_actions):
    """Where the averages of an information set start; MISSING if there are none."""
    say(scratch.shown, state, said)
    key = asked.key
    kernel.information_key(scratch.shown, player, key)
    key_hash = hash_row(key)
    header = header_of(player, num_actions)
    row = find_row(asked.words, asked.slots, first_candidate(asked.slots, key_hash), key_hash, header, key)
    if row == MISSING:
        return MISSING
    row += 1 + len(key) + num_actions
    total = 0.0
    for place in range(row, row + num_actions):
        total += asked.numbers[place]
    return row if total > 0.0 else MISSING


@compiled
def _ask_bets(source, scratch, state, player, at, bets, start):
    kernel, _, asked = source
    level, order, phase = at
    numbers, chances = scratch.numbers, asked.chances
    if bets == 0:
        return
    said = asked.said_words[level, order, BET_OR_CALL]
    scratch.shown[PHASE] = phase
    num_classes = asked.said_counts[level, order, BET_OR_CALL]
    if num_classes > 1 and not _may_know(kernel, asked, scratch, state, player, said[0]):
        for place in range(bets):
            numbers[start + place] = 0.5
        return
    yes = asked.yes[0 if phase == DECIDING else 1]
    for number in range(num_classes):
        row = _row(kernel, asked, scratch, state, player, said[number], 2)
        chances[number] = 0.5
        if row != MISSING:
            chances[number] = asked.numbers[row + yes] / (asked.numbers[row] + asked.numbers[row + 1])
    classes = asked.said_classes[level, order, BET_OR_CALL]
    for place in range(bets):
        numbers[start + place] = chances[classes[place]]


@compiled
def _ask_cards(source, scratch, state, player, at, legal, after, start, width):
    kernel, label, asked = source
    level, order, _ = at
    view, cards, numbers, names, chances = scratch.shown, scratch.cards, scratch.numbers, asked.names, asked.chances
    said = asked.said_words[level, order, WHICH_CARD]
    view[PHASE] = PLAYING
    say(view, state, said[0])
    count = bits.list_cards(legal, 0, cards)
    for index in range(count):
        names[index] = label(view, cards[index])
    num_names = 0
    for index in range(count):
        new = True
        for before in range(index):
            new &= names[before] != names[index]
        num_names += new
    known = num_names > 1 and _may_know(kernel, asked, scratch, state, player, said[0])
    num_classes = asked.said_counts[level, order, WHICH_CARD] if known else 1
    for number in range(num_classes):
        row = _row(kernel, asked, scratch, state, player, said[number], num_names) if known else MISSING
        total = 1.0
        if row != MISSING:
            total = 0.0
            for place in range(num_names):
                total += asked.numbers[row + place]
        for index in range(count):
            members = 0
            smaller = 0  # names that come before this one
            for other in range(count):
                members += names[other] == names[index]
                if names[other] < names[index]:
                    first = True
                    for before in range(other):
                        first &= names[before] != names[other]
                    smaller += first
            chance = 1.0 / num_names if row == MISSING else asked.numbers[row + smaller] / total
            chances[index * width + number] = chance / members
    classes = asked.said_classes[level, order, WHICH_CARD]
    for index in range(count):
        for place in range(after):
            numbers[start + index * width + place] = chances[index * width + (classes[place] if known else 0)]
    return count


# The walk.


_enter = entering(_ask_bets, _ask_cards)


@compiled(nogil=True)
def walk(addresses, label_addresses, asked, work, scratch, seat, units):
    """Walks everything; the root's values stay in its vectors."""
    asked, work, scratch = borrowed(asked), borrowed(work), borrowed(scratch)
    source = kernel_at(addresses), label_at(label_addresses).label, asked
    width = len(work.stakes) // (work.turns.shape[0] * work.turns.shape[1])
    last = work.turns.shape[0] - 1
    level, new = 0, True
    while level >= 0:
        at = level * NUM_VECTORS * width
        if level == last:
            end(work, level, seat, at, width)
        elif new:
            _enter(source, work, scratch, level, seat, units, at, width)
        level, new = go_on(work, scratch.numbers, work.cursors, level, seat, units, NOTHING, width)
