"""The walk of `solvers.toepen.response_walk` for policies that are asked position by position.

A table over views has one block of numbers for all betting histories. Here his hand and the cards played are shown as a
state of a game, once for each class of betting histories that the policy can tell apart, and two functions answer:

    ask_bets(source, scratch, state, player, at, bets, start)
    ask_cards(source, scratch, state, player, at, legal, after, start, width)

The first writes the probabilities of betting, or of calling, over histories to `scratch.numbers` from `start` on; the
second those of each of two or more legal cards, a row a card, and lists the cards in `scratch.cards`; it returns how
many there are. `at` is the level, the order of leaders and the phase; `source` is whatever they need.

The last trick is walked like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from solvers.toepen.histories import AFTER, MOVER, NUM_BETS, Histories
from solvers.toepen.response_walk import (
    ALONE,
    BEST_AFTER,
    BETS,
    BUFFER,
    CARD,
    CARDS,
    CHILD_HIGH,
    CHILD_LOW,
    FIRST_PAIR,
    FOLDS,
    HANDS,
    HIGH,
    LABEL,
    LENGTH,
    LOW,
    NEXT_CHILD,
    NUM_CHILDREN,
    ORDER,
    OWN_AFTER,
    OWN_BETS,
    OWN_CARDS,
    OWN_STRIDE,
    ROWS,
    SHARE,
    STRIDE,
    TWINS,
    find_twins,
    her_bets,
    list_children,
    row_start,
    spread,
)
from toepen_spiel.rules import legal_cards
from toepen_spiel.state import (
    ANSWERING,
    ANTE,
    CALLED,
    CALLED_SHIFT,
    DECIDING,
    ENTRIES_PER_WORD,
    ENTRY_BITS,
    HAND,
    HISTORY,
    LAST_BETTOR,
    PHASE,
    RANKS,
    SUITS,
    TURN,
    WINNER,
)

# What is asked, an index: bet or call, before the bet; which card, after it.
BET_OR_CALL, WHICH_CARD = range(2)
# Columns of `Said.words`: who bet last, how many bets were called, whether this turn's was; then words of the history.
SAID_BETTOR, SAID_CALLS, SAID_NOW, SAID_HISTORY = range(4)


class Said(NamedTuple):
    """What was said in the betting histories, class by class; arrays over [turn, order, what is asked]."""

    counts: np.ndarray  # how many classes there are
    classes: np.ndarray  # [..., place]: the class of a history
    words: np.ndarray  # [..., class, column]: what to write into a state


class Scratch(NamedTuple):
    """What such a walk writes beside `response_walk.Work`."""

    numbers: np.ndarray  # her own of all levels, one behind the other; then his of the present node
    shown: np.ndarray  # a state of the game that the policy knows
    cards: np.ndarray
    named: np.ndarray  # one card set: the cards of all suits that the policy knows by name, which have no twins


def said_in(histories: Histories, keeps: str, history_words: int) -> Said:
    """The classes of histories for players who keep `exact`, `ante`, `stakes` or `none` of the bets."""
    turns, orders, width = histories.calls.shape
    called = np.zeros((turns, orders, width), np.int64)  # a bit for each turn whose bet was called
    found = Said(
        np.zeros((turns, orders, 2), np.int64),
        np.zeros((turns, orders, 2, width), np.int64),
        np.zeros((turns, orders, 2, width, SAID_HISTORY + history_words), np.int64),
    )
    for turn in range(turns - 1):
        for order in range(1 << turn // 2):
            before, first, bets = (
                int(part[turn, order]) for part in (histories.before, histories.first, histories.bets)
            )
            after = np.zeros(int(histories.after[turn, order]), np.int64)
            own = called[turn, order, :before]
            after[histories.checked[turn, order] :][:before] = own
            after[histories.called[turn, order] :][:bets] = own[first : first + bets] | 1 << turn
            followers = [order] if turn % 2 == 0 or turn == turns - 2 else [2 * order, 2 * order + 1]
            for follower in followers:
                called[turn + 1, follower, : len(after)] = after
            for what, at, runs in (
                (BET_OR_CALL, (turn, order), range(first, first + bets)),
                (WHICH_CARD, (turn + 1, followers[0]), range(len(after))),
            ):
                classes: dict[Any, int] = {}
                for place, history in enumerate(runs):
                    calls, bettor, said = (
                        int(part[(*at, history)]) for part in (histories.calls, histories.bettor, called)
                    )
                    kept = {"exact": said, "ante": calls, "stakes": (calls, bettor), "none": 0}[keeps]
                    number = classes.setdefault(kept, len(classes))
                    found.classes[turn, order, what, place] = number
                    words = found.words[turn, order, what, number]
                    words[:SAID_HISTORY] = bettor - 1, calls, said >> turn & 1
                    words[SAID_HISTORY:] = 0
                    for played in range(turn):
                        shift = ENTRY_BITS * (played % ENTRIES_PER_WORD) + CALLED_SHIFT
                        words[SAID_HISTORY + played // ENTRIES_PER_WORD] |= (said >> played & 1) << shift
                found.counts[turn, order, what] = len(classes)
    return found


# Showing.


@compiled
def show(view, state, seat, hand):
    """Writes the cards of a node into a state of the policy's game.

    He, of whose hand the node knows nothing, has `hand`; in his slot of the node's state are the cards he has played.
    """
    other = 1 - seat
    for word in range(PHASE, HISTORY):
        view[word] = state[word]
    view[deck.DEALT + seat] = state[deck.DEALT + seat]
    view[deck.DEALT + other] = hand | state[HAND + other]
    view[deck.DEALT + 2] = view[deck.DECK_CARDS] & ~(view[deck.DEALT] | view[deck.DEALT + 1])
    view[HAND + other] = hand


@compiled
def say(view, state, said):
    view[LAST_BETTOR], view[ANTE], view[CALLED] = said[SAID_BETTOR], 1 + said[SAID_CALLS], said[SAID_NOW]
    if view[PHASE] == ANSWERING:  # the bet that waits for an answer is the last one
        view[LAST_BETTOR] = view[TURN]
    for word in range(len(said) - SAID_HISTORY):
        view[HISTORY + word] = state[HISTORY + word] | said[SAID_HISTORY + word]


# The walk.


def entering(ask_bets: Callable, ask_cards: Callable) -> Any:
    """`enter(source, work, scratch, level, seat, units, at, width)`, a node, with the answers of these functions."""

    @compiled
    def ask_her(source, work, scratch, level, seat, width):
        """Her own choices at a node, and the cards she may play as its children."""
        node, state, children, twins = work.nodes[level], work.states[level], work.children[level], work.twins
        order = node[ORDER]
        turn = work.turns[level, order]
        hers = turn[MOVER] == seat
        start = level * (1 + len(scratch.cards)) * width
        node[OWN_BETS] = start
        at = level, order, DECIDING if hers else ANSWERING
        any_hand = work.hands[work.buffers[node[BUFFER], HANDS] + node[LOW]]  # of those that he may have
        show(scratch.shown, state, seat, any_hand)
        ask_bets(source, scratch, state, seat, at, turn[NUM_BETS], start)
        if not hers:
            return
        node[OWN_CARDS], node[OWN_STRIDE] = start + width, width
        legal = legal_cards(state, state[HAND + seat])
        if legal & legal - 1:
            count = ask_cards(source, scratch, state, seat, at, legal, turn[AFTER], start + width, width)
        else:
            count = bits.list_cards(legal, 0, scratch.cards)
            scratch.numbers[start + width : start + 2 * width] = 1.0
        walked = 0
        for index in range(count):
            same = twins[scratch.cards[index] // state[RANKS]]
            if same:
                children[walked, CARD], children[walked, LABEL] = scratch.cards[index], index
                children[walked, SHARE], children[walked, TWINS] = 1, same
                children[walked, CHILD_LOW], children[walked, CHILD_HIGH] = node[LOW], node[HIGH]
                walked += 1
        node[NUM_CHILDREN] = walked

    @compiled
    def ask_him(source, work, scratch, level, seat, width, hands):
        """His choices with each hand of a node."""
        node, state, found, pairs, twins = work.nodes[level], work.states[level], work.found, work.pairs, work.twins
        order = node[ORDER]
        turn = work.turns[level, order]
        other = 1 - seat
        hers = turn[MOVER] == seat
        at = level, order, ANSWERING if hers else DECIDING
        room = (1 + len(scratch.cards)) * width
        start = (len(work.nodes) + 1) * room
        num_pairs = 0
        for index in range(len(hands)):
            show(scratch.shown, state, seat, hands[index])
            ask_bets(source, scratch, state, other, at, turn[NUM_BETS], start)
            found[index, BETS] = start
            if not hers:
                found[index, FIRST_PAIR], found[index, CARDS], found[index, STRIDE] = num_pairs, start + width, width
                legal = legal_cards(state, hands[index])
                several = legal & legal - 1 != 0
                if several:
                    count = ask_cards(source, scratch, state, other, at, legal, turn[AFTER], start + width, width)
                else:
                    count = bits.list_cards(legal, 0, scratch.cards)
                for place in range(count):
                    card = scratch.cards[place]
                    if twins[card // state[RANKS]]:
                        pairs[num_pairs, 0], pairs[num_pairs, 1] = card, place
                        pairs[num_pairs, 2] = 1 if several else ALONE
                        num_pairs += 1
            start += room
        if not hers:
            found[len(hands), FIRST_PAIR] = num_pairs

    @compiled
    def enter(source, work, scratch, level, seat, units, at, width):
        """A node: both players' choices, his rows, its children."""
        node, state = work.nodes[level], work.states[level]
        turn = work.turns[level, node[ORDER]]
        played = state[deck.DEALT + seat] & ~state[HAND + seat] | state[HAND + 1 - seat]
        find_twins(state[HAND + seat], played | scratch.named[0], state[SUITS], state[RANKS], work.twins)
        here = work.buffers[node[BUFFER]]
        first = here[HANDS] + node[LOW]
        hands = work.hands[first : first + node[HIGH] - node[LOW]]
        folds = at + FOLDS * width
        ask_her(source, work, scratch, level, seat, width)
        ask_him(source, work, scratch, level, seat, width, hands)
        if turn[MOVER] == seat:
            her_bets(work.rows, scratch.numbers, work.found, work.vectors, folds, node, here, turn, seat, units[0])
        else:
            node[NUM_CHILDREN] = list_children(
                work.found, work.pairs, work.children[level], work.cursors, work.twins, state[RANKS], len(hands)
            )
            spread(
                work.rows, work.row, work.hands, scratch.numbers, work.found, work.pairs, work.cursors, units,
                work.vectors, folds, node, here, work.buffers[node[BUFFER] + 1], turn, seat,
            )  # fmt: skip
        for which in (BEST_AFTER, OWN_AFTER):
            work.vectors[at + which * width : at + which * width + turn[AFTER]] = units[0]
        node[NEXT_CHILD] = 0

    return enter


@compiled
def end(work, level, seat, at, width):
    """All cards are played: he has shown his, so there is one row, and nothing to bet."""
    node, order = work.nodes[level], work.nodes[level - 1, ORDER]
    node[ORDER], node[NUM_CHILDREN], node[NEXT_CHILD], node[OWN_BETS] = order, 0, 0, 0
    buffer, count = work.buffers[node[BUFFER]], work.turns[level, order, AFTER]
    row = buffer[ROWS] + node[LOW] * buffer[LENGTH] + row_start(seat, buffer[LENGTH], count)
    stakes = (level * work.turns.shape[1] + order) * width
    wins = work.states[level, WINNER] == seat
    for history in range(count):
        value = work.stakes[stakes + history] * work.rows[row + history]
        work.vectors[at + BEST_AFTER * width + history] = value if wins else -value
        work.vectors[at + OWN_AFTER * width + history] = value if wins else -value
