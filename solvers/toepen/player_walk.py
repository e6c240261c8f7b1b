"""The walk of `solvers.toepen.asking_walk` against any player that has probabilities: a network, above all.

Networks like to be asked for thousands of positions at once, and a walk meets them one by one. So there are two walks.
The first plays against nobody in particular and writes down the positions that will be asked about, in order; whenever
there are many, it stops, and goes on when they have been answered. The second reads the answers, in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.memory_hints import borrowed
from solvers.toepen.asking_walk import BET_OR_CALL, WHICH_CARD, end, entering, say
from solvers.toepen.response_walk import NUM_VECTORS, go_on
from solvers.toepen.views import NOTHING
from toepen_spiel.rules import legal_cards
from toepen_spiel.state import ANSWERING, BET, CALL, HAND, PHASE, PLAYING, TURN

# Words of `Questions.place`: the walk's level, whether it is new there, how many positions are written down, how many
# answers are read, and whether this is the walk that reads them.
LEVEL, NEW, ASKED, READ, ANSWERED = range(5)
PLACE_WORDS = 5


class Questions(NamedTuple):
    """What the player is asked, and what it answers."""

    said_counts: np.ndarray
    said_classes: np.ndarray
    said_words: np.ndarray
    states: np.ndarray  # positions, one a row
    answers: np.ndarray  # of a bet or a call one number; of cards one each
    place: np.ndarray


@compiled
def _write_down(questions, view):
    row = questions.place[ASKED]
    questions.place[ASKED] = row + 1
    for word in range(len(view)):
        questions.states[row, word] = view[word]


@compiled
def _ask_bets(source, scratch, state, player, at, bets, start):
    level, order, phase = at
    if bets == 0:
        return
    num_classes = source.said_counts[level, order, BET_OR_CALL]
    if source.place[ANSWERED]:
        first = source.place[READ]
        classes = source.said_classes[level, order, BET_OR_CALL]
        for place in range(bets):
            scratch.numbers[start + place] = source.answers[first + classes[place]]
        source.place[READ] = first + num_classes
        return
    scratch.shown[PHASE] = phase
    for number in range(num_classes):
        say(scratch.shown, state, source.said_words[level, order, BET_OR_CALL, number])
        _write_down(source, scratch.shown)
    scratch.numbers[start : start + bets] = 0.0


@compiled
def _ask_cards(source, scratch, state, player, at, legal, after, start, width):
    level, order, _ = at
    count = bits.list_cards(legal, 0, scratch.cards)
    num_classes = source.said_counts[level, order, WHICH_CARD]
    if source.place[ANSWERED]:
        first = source.place[READ]
        classes = source.said_classes[level, order, WHICH_CARD]
        for index in range(count):
            for place in range(after):
                scratch.numbers[start + index * width + place] = source.answers[first + classes[place] * count + index]
        source.place[READ] = first + num_classes * count
        return count
    scratch.shown[PHASE] = PLAYING
    for number in range(num_classes):
        say(scratch.shown, state, source.said_words[level, order, WHICH_CARD, number])
        _write_down(source, scratch.shown)
    scratch.numbers[start : start + count * width] = 0.0
    return count


_enter = entering(_ask_bets, _ask_cards)


@compiled(nogil=True)
def walk(questions, work, scratch, seat, units, most):
    """Goes on with the walk that `questions.place` tells of; before a node that may ask for more than `most`, it stops.

    Over, at level -1, the root's values are in its vectors.
    """
    questions, work, scratch = borrowed(questions), borrowed(work), borrowed(scratch)
    width = len(work.stakes) // (work.turns.shape[0] * work.turns.shape[1])
    last = work.turns.shape[0] - 1
    place = questions.place
    level, new = place[LEVEL], place[NEW] == 1
    while level >= 0 and place[ASKED] + most <= len(questions.states):
        at = level * NUM_VECTORS * width
        if level == last:
            end(work, level, seat, at, width)
        elif new:
            _enter(questions, work, scratch, level, seat, units, at, width)
        level, new = go_on(work, scratch.numbers, work.cursors, level, seat, units, NOTHING, width)
    place[LEVEL], place[NEW] = level, 1 if new else 0


@compiled
def take_answers(states, chances, answers):
    """What the walk needs of the probabilities of all actions; returns how many numbers those are."""
    count = 0
    cards = np.empty(chances.shape[1], np.int64)
    for row in range(len(chances)):
        state = states[row]
        if state[PHASE] == PLAYING:
            for index in range(bits.list_cards(legal_cards(state, state[HAND + state[TURN]]), 0, cards)):
                answers[count] = chances[row, cards[index]]
                count += 1
        else:
            answers[count] = chances[row, state[deck.DECK_SIZE] + (CALL if state[PHASE] == ANSWERING else BET)]
            count += 1
    return count
