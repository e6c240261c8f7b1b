"""The walk of `solvers.toepen.response_walk` against a table of any transform of Toepen, as sampling makes them.

A table over views has one block of numbers for all betting histories. A table of `python_bucketing` or of
`python_card_isomorphism` has a row for each information set of that game; here such rows are asked for, position by
position, with the transform's own kernel: his hand and the cards played make a state of the transform, its key finds
the row, its labels say which card an action means. That is slow, so

* histories that the transform cannot tell apart are asked for once: a *class* of them;
* a large table of a large game knows few of the positions that a walk meets. A filter, a bit for each hash, tells of
  most of the others that the table has nothing about these cards, whatever the bets: there he chooses uniformly.

The last trick is walked like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import JIT_DISABLED, compiled
from cardtable.memory_hints import borrowed
from cardtable.rules import LABEL_SIGNATURE, addresses_of, functions_at, kernel_at
from solvers.sampling.hash_table import MISSING, find_row, first_candidate, header_of
from solvers.sampling.keys import hash_row
from solvers.toepen.histories import AFTER, MOVER, NUM_BETS, Histories
from solvers.toepen.response_walk import (
    ALONE,
    BEST,
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
    NUM_VECTORS,
    ORDER,
    OWN,
    OWN_AFTER,
    OWN_BETS,
    OWN_CARDS,
    OWN_STRIDE,
    ROWS,
    SHARE,
    STRIDE,
    TWINS,
    descend,
    find_twins,
    her_bets,
    leave,
    list_children,
    row_start,
    spread,
    take,
)
from solvers.toepen.views import NOTHING
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
    PLAYING,
    RANKS,
    SUITS,
    TURN,
    WINNER,
)

# What is asked, an index: bet or call, before the bet; which card, after it.
BET_OR_CALL, WHICH_CARD = range(2)
# Columns of `Said.words`: who bet last, how many bets were called, whether this turn's was; then words of the history.
SAID_BETTOR, SAID_CALLS, SAID_NOW, SAID_HISTORY = range(4)


class Label(NamedTuple):
    """What a transform calls an action of the original game."""

    label: Callable

    def addresses(self) -> Any:
        return self if JIT_DISABLED else addresses_of(tuple(self), (LABEL_SIGNATURE,))


label_at = functions_at(Label, (LABEL_SIGNATURE,))


class Said(NamedTuple):
    """What was said in the betting histories, class by class; arrays over [turn, order, what is asked]."""

    counts: np.ndarray  # how many classes there are
    classes: np.ndarray  # [..., place]: the class of a history
    words: np.ndarray  # [..., class, column]: what to write into a state


class Asked(NamedTuple):
    """What the walk looks up: the table, its filter, and how to ask."""

    words: np.ndarray
    numbers: np.ndarray
    slots: np.ndarray
    filter: np.ndarray
    cards_only: np.ndarray  # words of a key: a one for each bit that tells nothing of bets
    said_counts: np.ndarray
    said_classes: np.ndarray
    said_words: np.ndarray
    yes: np.ndarray  # where bet, and call, stand among the two actions


class Scratch(NamedTuple):
    """What the walk writes beside `response_walk.Work`."""

    numbers: np.ndarray  # her own of all levels, one behind the other; then his of the present node
    shown: np.ndarray  # a state of the transform
    key: np.ndarray
    cards: np.ndarray
    names: np.ndarray
    chances: np.ndarray  # by class, or by card and class


# Before the walk.


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
def _show(view, state, seat, hand):
    """Writes the cards of a node into a state of the transform; he, of whose hand the node knows nothing, has `hand`.

    In his slot of the node's state are the cards he has played.
    """
    other = 1 - seat
    for word in range(PHASE, HISTORY):
        view[word] = state[word]
    view[deck.DEALT + seat] = state[deck.DEALT + seat]
    view[deck.DEALT + other] = hand | state[HAND + other]
    view[HAND + other] = hand


@compiled
def _say(view, state, said):
    view[LAST_BETTOR], view[ANTE], view[CALLED] = said[SAID_BETTOR], 1 + said[SAID_CALLS], said[SAID_NOW]
    if view[PHASE] == ANSWERING:  # the bet that waits for an answer is the last one
        view[LAST_BETTOR] = view[TURN]
    for word in range(len(said) - SAID_HISTORY):
        view[HISTORY + word] = state[HISTORY + word] | said[SAID_HISTORY + word]


@compiled
def _may_know(kernel, asked, scratch, state, player, said):
    """Whether the table may have a row with these cards; `said` is any class."""
    _say(scratch.shown, state, said)
    kernel.information_key(scratch.shown, player, scratch.key)
    place = _hash_of_cards(scratch.key, asked.cards_only)
    return asked.filter[place >> 3 & len(asked.filter) - 1] >> (place & 7) & 1 == 1


@compiled
def _row(kernel, asked, scratch, state, player, said, num_actions):
    """Where the averages of an information set start; MISSING if there are none."""
    _say(scratch.shown, state, said)
    key = scratch.key
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
def _ask_bets(kernel, asked, scratch, state, player, at, bets, start):
    """Writes his probabilities of betting, or of calling, from `start` on; the cards are shown."""
    level, order, phase = at
    numbers, chances = scratch.numbers, scratch.chances
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
def _ask_cards(kernel, label, asked, scratch, state, player, at, legal, after, start, width):
    """Writes the probability of each legal card, of two or more, from `start` on, a row a card; returns how many."""
    level, order, _ = at
    view, cards, names, numbers, chances = scratch.shown, scratch.cards, scratch.names, scratch.numbers, scratch.chances
    said = asked.said_words[level, order, WHICH_CARD]
    view[PHASE] = PLAYING
    _say(view, state, said[0])
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


@compiled
def _ask_her(kernel, label, asked, work, scratch, level, seat, width):
    """Her own choices at a node, and the cards she may play as its children."""
    node, state, children, twins = work.nodes[level], work.states[level], work.children[level], work.twins
    order = node[ORDER]
    turn = work.turns[level, order]
    hers = turn[MOVER] == seat
    start = level * (1 + len(scratch.cards)) * width
    node[OWN_BETS] = start
    at = level, order, DECIDING if hers else ANSWERING
    _show(scratch.shown, state, seat, 0)
    _ask_bets(kernel, asked, scratch, state, seat, at, turn[NUM_BETS], start)
    if not hers:
        return
    node[OWN_CARDS], node[OWN_STRIDE] = start + width, width
    legal = legal_cards(state, state[HAND + seat])
    if legal & legal - 1:
        count = _ask_cards(kernel, label, asked, scratch, state, seat, at, legal, turn[AFTER], start + width, width)
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
def _ask_him(kernel, label, asked, work, scratch, level, seat, width, hands):
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
        _show(scratch.shown, state, seat, hands[index])
        _ask_bets(kernel, asked, scratch, state, other, at, turn[NUM_BETS], start)
        found[index, BETS] = start
        if not hers:
            found[index, FIRST_PAIR], found[index, CARDS], found[index, STRIDE] = num_pairs, start + width, width
            legal = legal_cards(state, hands[index])
            several = legal & legal - 1 != 0
            if several:
                count = _ask_cards(
                    kernel, label, asked, scratch, state, other, at, legal, turn[AFTER], start + width, width
                )
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
def _enter(kernel, label, asked, work, scratch, level, seat, units, at, width):
    """A node: both players' choices, his rows, its children."""
    node, state = work.nodes[level], work.states[level]
    turn = work.turns[level, node[ORDER]]
    played = state[deck.DEALT + seat] & ~state[HAND + seat] | state[HAND + 1 - seat]
    find_twins(state[HAND + seat], played, state[SUITS], state[RANKS], work.twins)
    here = work.buffers[node[BUFFER]]
    first = here[HANDS] + node[LOW]
    hands = work.hands[first : first + node[HIGH] - node[LOW]]
    folds = at + FOLDS * width
    _ask_her(kernel, label, asked, work, scratch, level, seat, width)
    _ask_him(kernel, label, asked, work, scratch, level, seat, width, hands)
    if turn[MOVER] == seat:
        her_bets(work.rows, scratch.numbers, work.found, work.vectors, folds, node, here, turn, seat, units[0])
    else:
        node[NUM_CHILDREN] = list_children(
            work.found, work.pairs, work.children[level], work.cursors, work.twins, state[RANKS], len(hands)
        )
        spread(
            work.rows, work.row, work.hands, scratch.numbers, work.found, work.pairs, work.cursors, units, work.vectors,
            folds, node, here, work.buffers[node[BUFFER] + 1], turn, seat,
        )  # fmt: skip
    for which in (BEST_AFTER, OWN_AFTER):
        work.vectors[at + which * width : at + which * width + turn[AFTER]] = units[0]
    node[NEXT_CHILD] = 0


@compiled
def _end(work, level, seat, at, width):
    """All cards are played: he has shown his, so there is one row."""
    node, order = work.nodes[level], work.nodes[level - 1, ORDER]
    buffer, count = work.buffers[node[BUFFER]], work.turns[level - 1, order, AFTER]
    row = buffer[ROWS] + node[LOW] * buffer[LENGTH] + row_start(seat, buffer[LENGTH], count)
    stakes = (level * work.turns.shape[1] + order) * width
    wins = work.states[level, WINNER] == seat
    for history in range(count):
        value = work.stakes[stakes + history] * work.rows[row + history]
        work.vectors[at + BEST * width + history] = value if wins else -value
        work.vectors[at + OWN * width + history] = value if wins else -value


@compiled(nogil=True)
def walk(addresses, label_addresses, asked, work, scratch, seat, units):
    """Walks everything; the root's values stay in its vectors."""
    kernel, label = kernel_at(addresses), label_at(label_addresses).label
    asked, work, scratch = borrowed(asked), borrowed(work), borrowed(scratch)
    nodes, turns, vectors = work.nodes, work.turns, work.vectors
    orders, end = turns.shape[1], turns.shape[0] - 1
    width = len(work.stakes) // (turns.shape[0] * orders)
    level = 0
    entering = True
    while True:
        node = nodes[level]
        at = level * NUM_VECTORS * width
        if level == end:
            _end(work, level, seat, at, width)
        else:
            turn = turns[level, node[ORDER]]
            if entering:
                _enter(kernel, label, asked, work, scratch, level, seat, units, at, width)
            if node[NEXT_CHILD] < node[NUM_CHILDREN]:
                child = work.children[level, node[NEXT_CHILD]]
                sides = turn[MOVER], seat
                descend(work.states, work.memories, node, nodes[level + 1], child, NOTHING, work.cursors, level, sides)
                level += 1
                entering = True
                continue
            stakes_at = (level * orders + node[ORDER]) * width
            hers = turn[MOVER] == seat
            leave(vectors, at, width, scratch.numbers, node[OWN_BETS], work.stakes, stakes_at, turn, hers)
        if level == 0:
            return
        level -= 1
        entering = False
        above = nodes[level]
        turn = turns[level, above[ORDER]]
        child = work.children[level, above[NEXT_CHILD] - 1]
        at -= NUM_VECTORS * width
        take(vectors, at, width, scratch.numbers, units, above, child, turn[AFTER], turn[MOVER] == seat)
