"""A best response in Toepen for one hand and seat: everything that can happen, walked in compiled code.

She, the responder, holds one hand; he plays a fixed policy. Depth first over the cards that are played. A node has all
hands he may still hold (at the root every hand of the other cards) and for each of them a *row*: the probability of the
deal times his own probabilities, over betting histories (`solvers.toepen.histories`). With m(h) the sum over his hands
of the rows and v(h) what the rest is worth to her, both before the turn's bet,

    his turn    v(check h) + max(v(called h), -stake(h) * m(h bet))      call or fold; his cards: sum over children
    her turn    max(v(check h), v(called h) + stake(h) * m(h folded))    check or bet; her cards: max over children
    the end     sum over his hands of +-stake(h) * row(h)

What she wins with a policy of her own is found on the way, with sums in the place of maxima. (Not if he makes the last
bet by arithmetic, `solvers.toepen.last_bet`: her own would take all hands that she might have.)

His rows are written when he plays a card; her bets only extend them, at one end, so all her cards share them. In the
last trick each has one card, so it is one node, where most of the time goes.

Suits in which nothing was played and in which her cards are the same are *twins*: exchanging them changes nothing, as
policies over views treat suits alike. Of cards that are twins one is walked, and counts for all.

Functions get the arrays they need and not whole workspaces: numba hands every array of a tuple over at every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.elementwise import add, add_times, copy, elementwise, fill, larger, positive
from cardtable.memory_hints import borrowed
from solvers.toepen.blocks import FREE
from solvers.toepen.histories import AFTER, BEFORE, CALLED, CHECKED, FIRST_BET, MOVER, NUM_BETS
from solvers.toepen.last_bet import bet_by_arithmetic, call_row
from solvers.toepen.parts import FIRST, MASK, part_of, place_of
from solvers.toepen.views import (
    NOTHING,
    context_word,
    label_cards,
    look,
    one_card_number,
    one_suit_word,
    places_word,
    remember,
)
from toepen_spiel.rules import legal_cards, play_card
from toepen_spiel.state import HAND, RANKS, SUITS, TURN, VOID

# Columns of `nodes`.
ORDER, BUFFER, LOW, HIGH, NUM_CHILDREN, NEXT_CHILD, OWN_BETS, OWN_CARDS, OWN_STRIDE = range(9)
NODE_WORDS = 9
# Columns of `children`.
CARD, CHILD_LOW, CHILD_HIGH, LABEL, SHARE, TWINS = range(6)
CHILD_WORDS = 6
# Vectors of a level: what is folded; values after and before the bet; and in the last trick what bets add to checks.
FOLDS, BEST_AFTER, OWN_AFTER, BEST, OWN, BEST_BETS, OWN_BETS_ADD = range(7)
NUM_VECTORS = 7
# Columns of `found`: where his block for a hand stands among the numbers; of `pairs`: a card he may play.
BETS, CARDS, STRIDE, FIRST_PAIR = range(4)
FOUND_WORDS = 4
PAIR_WORDS = 3  # card, label, and how many cards have the label: ALONE if it is his only card
ALONE = 0
# Columns of `buffers`: where the hands and rows of his n-th card start, and how long a row is.
HANDS, ROWS, LENGTH = range(3)
# Columns of `suit_of`: where the suit of a card begins, and its size as a card set.
SUIT_SHIFT, SUIT_MASK = range(2)


class Policy(NamedTuple):
    """What the walk looks up: parts, and numbers. In front of all blocks stand uniform ones."""

    contexts: np.ndarray
    keys: np.ndarray
    starts: np.ndarray
    numbers: np.ndarray
    uniform: np.ndarray  # where the choice among cards starts that is uniform, by composition of labels
    suit_numbers: np.ndarray
    classes: np.ndarray  # of ranks, in memories
    last_calls: np.ndarray  # where the rows of `last_bet.call_rows` start; empty if the last bet goes by the blocks


class Work(NamedTuple):
    """Everything a walk writes, and the betting."""

    states: np.ndarray
    memories: np.ndarray
    nodes: np.ndarray
    children: np.ndarray
    vectors: np.ndarray  # [level, which, history], flat
    hands: np.ndarray
    rows: np.ndarray
    buffers: np.ndarray
    found: np.ndarray
    pairs: np.ndarray
    seen: np.ndarray
    own_numbers: np.ndarray
    twins: np.ndarray  # by suit: how many suits it stands for, 0 if another one stands for it
    cursors: np.ndarray
    cards: np.ndarray  # three lists: cards, labels, shares
    row: np.ndarray
    suit_of: np.ndarray
    turns: np.ndarray  # [turn, order, column of Histories]
    stakes: np.ndarray  # [turn, order, history] before the bet, flat


# Inner loops over histories.


@elementwise("target")
def _larger(target, source):
    return larger(target, source)


@elementwise("target")
def _times(target, source, chances, *, share):
    return source * chances * share


@elementwise("target")
def _add_product(target, source, chances, *, share):
    return target + chances * share * source


@elementwise("goes", "folds")
def _answer(goes, folds, reach, calls):
    """Her bet: what he calls, and the sum of what he folds."""
    called = reach * calls
    return called, folds + (reach - called)


@elementwise("stays", "goes", "folds")
def _bet_or_check(stays, goes, folds, reach, chances):
    """His bet: what he checks, what he bets, and the sum of that."""
    bet = reach * chances
    return reach - bet, bet, folds + bet


@elementwise("stays", "goes", "folds")
def _last_bet(stays, goes, folds, reach, chances, *, sign):
    """His bet before the last card: the result is added at once."""
    bet = reach * chances
    return stays + sign * (reach - bet), goes + sign * bet, folds + bet


@elementwise("best", "own")
def _bet_on_a_win(best, own, reach, calls, bets):
    """What betting adds to checking if she wins: a call pays one more."""
    more = reach * calls
    return best + more, own + bets * more


@elementwise("best", "own")
def _bet_on_a_loss(best, own, reach, calls, bets, stakes, *, one):
    """The same if she loses: he may fold, or win one more."""
    double = stakes + stakes
    more = reach * (double - calls * (double + one))
    return best + positive(more), own + bets * more


@elementwise("best", "own")
def _settle(best, own, stakes):
    value = best * stakes
    return value, value


@elementwise("best", "own")
def _her_choice(best, own, folds, stakes, chances, on_best, on_own):
    """Check or bet."""
    folded = folds * stakes
    return larger(best, on_best + folded), own + chances * (on_own + folded - own)


@elementwise("best", "own")
def _her_answer(best, own, folds, stakes, chances, on_best, on_own):
    """Call or fold, beside what happens if he checks."""
    folded = folds * stakes
    return best + larger(on_best, -folded), own + (chances * (on_own + folded) - folded)


# Looking up.


@compiled
def _composition(count, labels, shares):
    """In binary: a one for each label, then a zero for each further card that has it."""
    composition = 0
    next_label = 0
    for index in range(count):
        if labels[index] == next_label:
            composition = (composition << 1 | 1) << shares[index] - 1
            next_label += 1
    return composition


@compiled
def _block(contexts, keys, starts, context, places):
    """Where the numbers of a view start; 0, which is uniform, if there are none."""
    part = part_of(contexts, context)
    start = starts[place_of(keys, starts, contexts[part, FIRST], contexts[part, MASK], places)]
    return 0 if start == FREE else start


@compiled
def find_twins(hand, played, suits, ranks, twins):
    suit_size = (1 << ranks) - 1
    for suit in range(suits):
        twins[suit] = 1
        if played >> suit * ranks & suit_size:
            continue
        for before in range(suit):
            same = (hand >> suit * ranks ^ hand >> before * ranks) & suit_size == 0
            if twins[before] and same and played >> before * ranks & suit_size == 0:
                twins[before] += 1
                twins[suit] = 0
                break


@compiled
def _her_cards(node, children, uniform, turn, start, own_numbers, legal, sizes, lists, twins, width):
    """The cards she may play as children of the node, and where her own choice among them stands."""
    cards, labels, shares = lists[0], lists[1], lists[2]
    suits, ranks = sizes
    count, num_labels = label_cards(own_numbers, legal, suits, ranks, cards, labels, shares)
    walked = 0
    for index in range(count):
        same = twins[cards[index] // ranks]
        if same == 0:
            continue
        children[walked, CARD], children[walked, LABEL] = cards[index], labels[index]
        children[walked, SHARE], children[walked, TWINS] = shares[index], same
        children[walked, CHILD_LOW], children[walked, CHILD_HIGH] = node[LOW], node[HIGH]
        walked += 1
    node[NUM_CHILDREN] = walked
    if num_labels > 1 and start:
        node[OWN_CARDS], node[OWN_STRIDE] = start + turn[NUM_BETS], turn[AFTER]
    else:
        node[OWN_CARDS] = uniform[_composition(count, labels, shares)] if num_labels > 1 else uniform[1]
        node[OWN_STRIDE] = width


@compiled
def _find_bets(keys, starts, table, part, state, seen, own_numbers, hands, found):
    """His blocks for all hands of a node."""
    first, mask = part
    suits, ranks = state[SUITS], state[RANKS]
    for index in range(len(hands)):
        places = places_word(table, seen, hands[index], suits, ranks, own_numbers)
        start = starts[place_of(keys, starts, first, mask, places)]
        found[index, BETS] = 0 if start == FREE else start


@compiled
def _find_bets_and_cards(
    keys, starts, table, part, state, seen, own_numbers, hands, found, uniform, turn, lists, twins, pairs, width
):
    """The same where he plays: also the cards he may play with each hand, of twins one."""
    first, mask = part
    suits, ranks = state[SUITS], state[RANKS]
    cards, labels, shares = lists[0], lists[1], lists[2]
    num_pairs = 0
    for index in range(len(hands)):
        hand = hands[index]
        places = places_word(table, seen, hand, suits, ranks, own_numbers)
        start = starts[place_of(keys, starts, first, mask, places)]
        found[index, BETS] = 0 if start == FREE else start
        found[index, FIRST_PAIR] = num_pairs
        legal = legal_cards(state, hand)
        if legal & legal - 1 == 0:
            card = bits.lowest(legal)
            if twins[card // ranks]:
                pairs[num_pairs, 0], pairs[num_pairs, 2] = card, ALONE
                num_pairs += 1
            continue
        count, num_labels = label_cards(own_numbers, legal, suits, ranks, cards, labels, shares)
        for place in range(count):
            card = cards[place]
            if twins[card // ranks]:
                pairs[num_pairs, 0], pairs[num_pairs, 1], pairs[num_pairs, 2] = card, labels[place], shares[place]
                num_pairs += 1
        if num_labels == 1:
            found[index, CARDS], found[index, STRIDE] = uniform[1], width
        elif start == FREE:
            found[index, CARDS], found[index, STRIDE] = uniform[_composition(count, labels, shares)], width
        else:
            found[index, CARDS], found[index, STRIDE] = start + turn[NUM_BETS], turn[AFTER]
    found[len(hands), FIRST_PAIR] = num_pairs


# Turns before the last trick.


@compiled
def row_start(seat, length, size):
    """Her bets extend rows at the front if she is player 0, else at the end."""
    return length - size if seat == 0 else 0


@compiled
def her_bets(rows, numbers, found, vectors, folds, node, buffer, turn, seat, zero):
    """Extends his rows by the bets he calls; sums up what he folds."""
    bets, before = turn[NUM_BETS], turn[BEFORE]
    fill(vectors, folds, zero, bets)
    length = buffer[LENGTH]
    base = buffer[ROWS] + node[LOW] * length
    start = base + row_start(seat, length, before) + turn[FIRST_BET]
    end = base + row_start(seat, length, before + bets) + turn[CALLED]
    for index in range(node[HIGH] - node[LOW]):
        _answer(rows, end, vectors, folds, rows, start, numbers, found[index, BETS], bets)
        start += length
        end += length


@compiled
def _his_row(rows, base, row, numbers, chances_at, vectors, folds, turn):
    """His row after the bet of his turn, in `row`; sums up what he bets."""
    before, bets, first, called, checked = turn[BEFORE], turn[NUM_BETS], turn[FIRST_BET], turn[CALLED], turn[CHECKED]
    low, high = (bets, before) if first == 0 else (0, first)  # where he may not bet
    copy(row, checked + low, rows, base + low, high - low)
    _bet_or_check(row, checked + first, row, called, vectors, folds, rows, base + first, numbers, chances_at, bets)


@compiled
def list_children(found, pairs, children, cursors, twins, ranks, size):
    """His cards as children, with the hands that remain in a run for each; returns how many."""
    cursors[:] = 0
    for pair in range(found[size, FIRST_PAIR]):
        cursors[pairs[pair, 0]] += 1
    count = 0
    place = 0
    for card in range(len(cursors)):
        members = cursors[card]
        if members:
            children[count, CARD], children[count, CHILD_LOW] = card, place
            children[count, CHILD_HIGH], children[count, TWINS] = place + members, twins[card // ranks]
            count += 1
        cursors[card] = place
        place += members
    return count


@compiled
def spread(rows, row, hands, numbers, found, pairs, cursors, units, vectors, folds, node, here, there, turn, seat):
    """His turn: his rows go to the children, card by card."""
    after = turn[AFTER]
    fill(vectors, folds, units[0], turn[NUM_BETS])
    low = node[LOW]
    length = there[LENGTH]
    start = there[ROWS] + row_start(seat, length, after)
    base = here[ROWS] + low * here[LENGTH] + row_start(seat, here[LENGTH], turn[BEFORE])
    old, new = here[HANDS] + low, there[HANDS]
    for index in range(node[HIGH] - low):
        _his_row(rows, base, row, numbers, found[index, BETS], vectors, folds, turn)
        base += here[LENGTH]
        hand = hands[old + index]
        for pair in range(found[index, FIRST_PAIR], found[index + 1, FIRST_PAIR]):
            card = pairs[pair, 0]
            to = cursors[card]
            cursors[card] += 1
            hands[new + to] = hand ^ 1 << card
            if pairs[pair, 2] == ALONE:
                copy(rows, start + to * length, row, 0, after)
            else:
                at = found[index, CARDS] + pairs[pair, 1] * found[index, STRIDE]
                _times(rows, start + to * length, row, 0, numbers, at, units[pairs[pair, 2]], after)


@compiled
def leave(vectors, at, width, numbers, own_bets, stakes, stakes_at, turn, hers):
    """Values before the bet, from those after it; the vectors of the level start at `at`."""
    before, bets, first, called, checked = turn[BEFORE], turn[NUM_BETS], turn[FIRST_BET], turn[CALLED], turn[CHECKED]
    best, own, folds = at + BEST * width, at + OWN * width, at + FOLDS * width
    best_after, own_after = at + BEST_AFTER * width, at + OWN_AFTER * width
    copy(vectors, best, vectors, best_after + checked, before)
    copy(vectors, own, vectors, own_after + checked, before)
    best += first
    own += first
    best_after += called
    own_after += called
    stakes_at += first
    if hers:
        _her_choice(
            vectors, best, vectors, own, vectors, folds, stakes, stakes_at, numbers, own_bets,
            vectors, best_after, vectors, own_after, bets,
        )  # fmt: skip
    else:
        _her_answer(
            vectors, best, vectors, own, vectors, folds, stakes, stakes_at, numbers, own_bets,
            vectors, best_after, vectors, own_after, bets,
        )  # fmt: skip


@compiled
def take(vectors, at, width, numbers, units, node, child, after, hers):
    """What a child is worth goes into the level above it, whose vectors start at `at`."""
    below = at + NUM_VECTORS * width
    best, own = at + BEST_AFTER * width, at + OWN_AFTER * width
    below_best, below_own = below + BEST * width, below + OWN * width
    times = units[1] * child[TWINS]
    if not hers:
        add_times(vectors, best, vectors, below_best, times, after)
        add_times(vectors, own, vectors, below_own, times, after)
        return
    if node[NEXT_CHILD] == 1:
        copy(vectors, best, vectors, below_best, after)
    else:
        _larger(vectors, best, vectors, below_best, after)
    chances = node[OWN_CARDS] + child[LABEL] * node[OWN_STRIDE]
    _add_product(vectors, own, vectors, below_own, numbers, chances, times * units[child[SHARE]], after)


# The last trick.


@compiled
def _one_card(there, out, suit_of, card, own, led):
    """The first word of a view of one suit: that of the card. `there` and `out` are card sets."""
    shift = suit_of[card, SUIT_SHIFT]
    mask = suit_of[card, SUIT_MASK]
    return one_suit_word(
        one_card_number(
            there >> shift & mask, 1 if out >> shift & mask else 0, own >> shift & mask, led >> shift & mask
        )
    )


@compiled
def _last_cards(state, seat, other):
    """Card sets before the last trick: what is not played; suits that he is, and that she is, known to be out of."""
    played = state[deck.DEALT + seat] & ~state[HAND + seat] | state[HAND + other]
    return ~played, state[VOID + other], state[VOID + seat]


@compiled(inline="always")
def _he_leads_last(policy, work, level, seat, units, memory, at, width):
    """With each card that he may lead everything is known: values after his bet."""
    node, order, state = work.nodes[level], work.nodes[level, ORDER], work.states[level]
    other = 1 - seat
    turn, next_turn = work.turns[level, order], work.turns[level + 1, order]
    after = turn[AFTER]
    best, own, folds = at + BEST_AFTER * width, at + OWN_AFTER * width, at + FOLDS * width
    best_bets, own_bets = at + BEST_BETS * width, at + OWN_BETS_ADD * width
    first, bets = next_turn[FIRST_BET], next_turn[NUM_BETS]
    vectors, rows, row, stakes = work.vectors, work.rows, work.row, work.stakes
    stakes_at = ((level + 1) * work.turns.shape[1] + order) * width
    contexts, keys, starts, numbers = (
        policy.contexts,
        policy.keys,
        policy.starts,
        policy.numbers,
    )
    zero, one = units[0], units[1]
    fill(vectors, folds, zero, turn[NUM_BETS])
    fill(vectors, best, zero, after)
    fill(vectors, best_bets, zero, bets)
    fill(vectors, own_bets, zero, bets)
    there, out_for_her, out_for_him = _last_cards(state, seat, other)
    her_hand, suit_of = state[HAND + seat], work.suit_of
    her_card = bits.lowest(her_hand)
    unled = _one_card(there, out_for_her, suit_of, her_card, her_hand, 0)
    by_arithmetic, orders, deck_cards = len(policy.last_calls) > 0, work.turns.shape[1], (1 << len(suit_of)) - 1
    memories = work.memories[level + 1]
    memories[:] = work.memories[level]
    part = part_of(contexts, context_word(memories[other], other, level, order))
    bets_first, bets_mask = contexts[part, FIRST], contexts[part, MASK]
    part = part_of(contexts, context_word(memories[other], other, level + 1, order))
    calls_first, calls_mask = contexts[part, FIRST], contexts[part, MASK]
    part = part_of(contexts, context_word(memories[seat], seat, level + 1, order))
    hers_first, hers_mask = contexts[part, FIRST], contexts[part, MASK]
    buffer, low = work.buffers[node[BUFFER]], node[LOW]
    length = buffer[LENGTH]
    base = buffer[ROWS] + low * length + row_start(seat, length, turn[BEFORE])
    hands, hands_at = work.hands, buffer[HANDS] + low
    for index in range(node[HIGH] - low):
        led = hands[hands_at + index]
        card = bits.lowest(led)
        if memory != NOTHING:
            memories[:] = work.memories[level]
            remember(memories, memory, policy.classes, state, card, other)
            part = part_of(contexts, context_word(memories[other], other, level + 1, order))
            calls_first, calls_mask = contexts[part, FIRST], contexts[part, MASK]
            part = part_of(contexts, context_word(memories[seat], seat, level + 1, order))
            hers_first, hers_mask = contexts[part, FIRST], contexts[part, MASK]
        places = _one_card(there, out_for_him, suit_of, card, led, 0)
        start = starts[place_of(keys, starts, bets_first, bets_mask, places)]
        _his_row(rows, base, row, numbers, 0 if start == FREE else start, vectors, folds, turn)
        base += length
        if by_arithmetic:
            possible = deck_cards & there & ~led & ~out_for_him
            suit = suit_of[card, SUIT_MASK] << suit_of[card, SUIT_SHIFT]
            calls = policy.last_calls[call_row(order, orders, possible, possible & suit & -2 * led)]
        else:
            places = _one_card(there, out_for_him, suit_of, card, 0, led)
            start = starts[place_of(keys, starts, calls_first, calls_mask, places)]
            calls = 0 if start == FREE else start
        same_suit = suit_of[card, SUIT_SHIFT] == suit_of[her_card, SUIT_SHIFT]
        places = _one_card(there, out_for_her, suit_of, card, her_hand, led) if same_suit else unled
        start = starts[place_of(keys, starts, hers_first, hers_mask, places)]
        own_start = 0 if start == FREE else start
        if same_suit and her_card > card:
            add(vectors, best, row, 0, after)
            _bet_on_a_win(vectors, best_bets, vectors, own_bets, row, first, numbers, calls, numbers, own_start, bets)
        else:
            add_times(vectors, best, row, 0, -one, after)
            _bet_on_a_loss(
                vectors, best_bets, vectors, own_bets, row, first, numbers, calls, numbers, own_start,
                stakes, stakes_at + first, one, bets,
            )  # fmt: skip
    _settle(vectors, best, vectors, own, stakes, stakes_at, after)
    add(vectors, best + first, vectors, best_bets, bets)
    add(vectors, own + first, vectors, own_bets, bets)
    own_context = context_word(work.memories[level, seat], seat, level, order)
    node[OWN_BETS] = _block(contexts, keys, starts, own_context, unled)


@compiled(inline="always")
def _she_leads_last(policy, work, level, seat, units, memory, at, width):
    """She has one card to lead; then he may bet, and the result is known to him: values after her bet."""
    node, order, state = work.nodes[level], work.nodes[level, ORDER], work.states[level]
    other = 1 - seat
    turn, next_turn = work.turns[level, order], work.turns[level + 1, order]
    below = at + NUM_VECTORS * width
    folds, last_folds, ends = at + FOLDS * width, below + FOLDS * width, below + BEST_AFTER * width
    vectors, rows, stakes = work.vectors, work.rows, work.stakes
    contexts, keys, starts, numbers = (
        policy.contexts,
        policy.keys,
        policy.starts,
        policy.numbers,
    )
    bets, after = turn[NUM_BETS], turn[AFTER]
    last_bets, last_first, last_after = next_turn[NUM_BETS], next_turn[FIRST_BET], next_turn[AFTER]
    checked, called = ends + next_turn[CHECKED], ends + next_turn[CALLED]
    rest, rest_end = (last_bets, after) if last_first == 0 else (0, last_first)  # where he may not bet
    zero, one = units[0], units[1]
    fill(vectors, folds, zero, bets)
    fill(vectors, last_folds, zero, last_bets)
    fill(vectors, ends, zero, last_after)
    by_arithmetic = len(policy.last_calls) > 0
    winners, losers = below + BEST_BETS * width, below + OWN_BETS_ADD * width  # his weights, free until the next node
    fill(vectors, winners, zero, after)
    fill(vectors, losers, zero, after)
    there, out_for_her, out_for_him = _last_cards(state, seat, other)
    her_hand, suit_of = state[HAND + seat], work.suit_of
    her_card = bits.lowest(her_hand)
    memories = work.memories[level + 1]
    memories[:] = work.memories[level]
    remember(memories, memory, policy.classes, state, her_card, seat)
    part = part_of(contexts, context_word(work.memories[level, other], other, level, order))
    calls_first, calls_mask = contexts[part, FIRST], contexts[part, MASK]
    part = part_of(contexts, context_word(memories[other], other, level + 1, order))
    bets_first, bets_mask = contexts[part, FIRST], contexts[part, MASK]
    buffer, low = work.buffers[node[BUFFER]], node[LOW]
    length = buffer[LENGTH]
    base = buffer[ROWS] + low * length
    start = base + row_start(seat, length, turn[BEFORE]) + turn[FIRST_BET]
    end = base + row_start(seat, length, after) + turn[CALLED]
    whole = base + row_start(seat, length, after)
    hands, hands_at = work.hands, buffer[HANDS] + low
    for index in range(node[HIGH] - low):
        held = hands[hands_at + index]
        card = bits.lowest(held)
        places = _one_card(there, out_for_him, suit_of, card, held, 0)
        block = starts[place_of(keys, starts, calls_first, calls_mask, places)]
        _answer(rows, end, vectors, folds, rows, start, numbers, 0 if block == FREE else block, bets)
        same_suit = suit_of[card, SUIT_SHIFT] == suit_of[her_card, SUIT_SHIFT]
        if by_arithmetic:
            add(vectors, winners if same_suit and card > her_card else losers, rows, whole, after)
        else:
            if same_suit:
                places = _one_card(there, out_for_him, suit_of, card, held, her_hand)
            block = starts[place_of(keys, starts, bets_first, bets_mask, places)]
            sign = -one if same_suit and card > her_card else one
            add_times(vectors, checked + rest, rows, whole + rest, sign, rest_end - rest)
            _last_bet(
                vectors, checked + last_first, vectors, called, vectors, last_folds, rows, whole + last_first,
                numbers, 0 if block == FREE else block, sign, last_bets,
            )  # fmt: skip
        start += length
        end += length
        whole += length
    if by_arithmetic:
        copy(vectors, checked + rest, vectors, losers + rest, rest_end - rest)
        add_times(vectors, checked + rest, vectors, winners + rest, -one, rest_end - rest)
        stakes_at = ((level + 1) * work.turns.shape[1] + order) * width
        bet_by_arithmetic(
            vectors, checked + last_first, vectors, called, vectors, last_folds, vectors, winners + last_first,
            vectors, losers + last_first, stakes, stakes_at + last_first, one, last_bets,
        )  # fmt: skip
    stakes_at = ((level + 2) * work.turns.shape[1] + order) * width
    _settle(vectors, ends, vectors, below + OWN_AFTER * width, stakes, stakes_at, last_after)
    places = _one_card(there, out_for_her, suit_of, her_card, 0, her_hand)
    own = _block(contexts, keys, starts, context_word(memories[seat], seat, level + 1, order), places)
    stakes_at = ((level + 1) * work.turns.shape[1] + order) * width
    leave(vectors, below, width, numbers, own, stakes, stakes_at, next_turn, False)
    copy(vectors, at + BEST_AFTER * width, vectors, below + BEST * width, after)
    copy(vectors, at + OWN_AFTER * width, vectors, below + OWN * width, after)
    unled = _one_card(there, out_for_her, suit_of, her_card, her_hand, 0)
    own_context = context_word(work.memories[level, seat], seat, level, order)
    node[OWN_BETS] = _block(contexts, keys, starts, own_context, unled)


# The walk.


@compiled
def _enter(policy, work, level, seat, units, at, width):
    """A node before the last trick: its blocks, his rows, its children."""
    node, order, state = work.nodes[level], work.nodes[level, ORDER], work.states[level]
    turn = work.turns[level, order]
    other = 1 - seat
    hers = turn[MOVER] == seat
    played = state[deck.DEALT + seat] & ~state[HAND + seat] | state[HAND + other]
    seen, own_numbers, twins = work.seen, work.own_numbers, work.twins
    find_twins(state[HAND + seat], played, state[SUITS], state[RANKS], twins)
    contexts, keys, starts, table = policy.contexts, policy.keys, policy.starts, policy.suit_numbers
    look(state, seat, played, seen)
    places = places_word(table, seen, state[HAND + seat], state[SUITS], state[RANKS], own_numbers)
    context = context_word(work.memories[level, seat], seat, level, order)
    start = _block(contexts, keys, starts, context, places)
    node[OWN_BETS] = start
    if hers:
        legal = legal_cards(state, state[HAND + seat])
        sizes = state[SUITS], state[RANKS]
        children = work.children[level]
        _her_cards(node, children, policy.uniform, turn, start, own_numbers, legal, sizes, work.cards, twins, width)
    look(state, other, played, seen)
    row = part_of(contexts, context_word(work.memories[level, other], other, level, order))
    part = contexts[row, FIRST], contexts[row, MASK]
    here = work.buffers[node[BUFFER]]
    first = here[HANDS] + node[LOW]
    hands, found = work.hands[first : first + node[HIGH] - node[LOW]], work.found
    folds = at + FOLDS * width
    if hers:
        _find_bets(keys, starts, table, part, state, seen, own_numbers, hands, found)
        her_bets(work.rows, policy.numbers, found, work.vectors, folds, node, here, turn, seat, units[0])
    else:
        _find_bets_and_cards(
            keys, starts, table, part, state, seen, own_numbers, hands, found,
            policy.uniform, turn, work.cards, twins, work.pairs, width,
        )  # fmt: skip
        children = work.children[level]
        node[NUM_CHILDREN] = list_children(found, work.pairs, children, work.cursors, twins, state[RANKS], len(hands))
        spread(
            work.rows, work.row, work.hands, policy.numbers, found, work.pairs, work.cursors, units, work.vectors,
            folds, node, here, work.buffers[node[BUFFER] + 1], turn, seat,
        )  # fmt: skip
    fill(work.vectors, at + BEST_AFTER * width, units[0], turn[AFTER])
    fill(work.vectors, at + OWN_AFTER * width, units[0], turn[AFTER])
    node[NEXT_CHILD] = 0


@compiled
def descend(states, memories, node, below, child, memory, classes, level, sides):
    """To a child of the present node."""
    mover, seat = sides
    node[NEXT_CHILD] += 1
    state = states[level + 1]
    for word in range(len(state)):
        state[word] = states[level, word]
    memories[level + 1, 0], memories[level + 1, 1] = memories[level, 0], memories[level, 1]
    if memory != NOTHING:
        remember(memories[level + 1], memory, classes, state, child[CARD], mover)
    play_card(state, child[CARD])
    below[LOW], below[HIGH] = child[CHILD_LOW], child[CHILD_HIGH]
    below[BUFFER] = node[BUFFER] if mover == seat else node[BUFFER] + 1
    below[ORDER] = node[ORDER] << 1 | state[TURN] if level % 2 == 1 else node[ORDER]


@compiled(inline="always")
def go_on(work, numbers, classes, level, seat, units, memory, width):
    """From a node that was entered, or came back to: to its next child, or up; the level, and whether it is new there.

    Above the root, at level -1, the walk is over.
    """
    nodes, turns, vectors, orders = work.nodes, work.turns, work.vectors, work.turns.shape[1]
    node = nodes[level]
    order = node[ORDER]
    turn = turns[level, order]
    if node[NEXT_CHILD] < node[NUM_CHILDREN]:
        child = work.children[level, node[NEXT_CHILD]]
        sides = turn[MOVER], seat
        descend(work.states, work.memories, node, nodes[level + 1], child, memory, classes, level, sides)
        return level + 1, True
    at = level * NUM_VECTORS * width
    hers = turn[MOVER] == seat
    leave(vectors, at, width, numbers, node[OWN_BETS], work.stakes, (level * orders + order) * width, turn, hers)
    if level > 0:
        above = nodes[level - 1]
        turn = turns[level - 1, above[ORDER]]
        child = work.children[level - 1, above[NEXT_CHILD] - 1]
        at -= NUM_VECTORS * width
        take(vectors, at, width, numbers, units, above, child, turn[AFTER], turn[MOVER] == seat)
    return level - 1, False


@compiled(nogil=True)
def walk(policy, work, seat, units, memory):
    """Walks everything; the root's values stay in its vectors."""
    policy, work = borrowed(policy), borrowed(work)
    width = len(work.stakes) // (work.turns.shape[0] * work.turns.shape[1])
    last_trick = work.turns.shape[0] - 3
    level, new = 0, True
    while level >= 0:
        node = work.nodes[level]
        at = level * NUM_VECTORS * width
        if new and level < last_trick:
            _enter(policy, work, level, seat, units, at, width)
        elif new:
            node[NUM_CHILDREN], node[NEXT_CHILD] = 0, 0
            if work.turns[level, node[ORDER], MOVER] == seat:
                _she_leads_last(policy, work, level, seat, units, memory, at, width)
            else:
                _he_leads_last(policy, work, level, seat, units, memory, at, width)
        level, new = go_on(work, policy.numbers, policy.classes, level, seat, units, memory, width)
