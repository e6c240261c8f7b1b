"""A best response in Toepen for one hand and seat: everything that can happen, walked in compiled code.

She, the responder, holds one hand; he plays a fixed policy. Depth first over the cards that are played. A node has all
hands he may still hold (at the root every hand of the other cards) and for each of them a *row*: the probability of the
deal times his own probabilities, over betting histories (`solvers.toepen.histories`). With m(h) the sum over his hands
of the rows and v(h) what the rest is worth to her, both before the turn's bet,

    his turn    v(check h) + max(v(called h), -stake(h) * m(h bet))      call or fold; his cards: sum over children
    her turn    max(v(check h), v(called h) + stake(h) * m(h folded))    check or bet; her cards: max over children
    the end     sum over his hands of +-stake(h) * row(h)

What she wins with a policy of her own is found on the way, with sums in the place of maxima.

His rows are written when he plays a card; her bets only extend them, at one end, so all her cards share them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from solvers.toepen.blocks import FREE, START, slot_of
from solvers.toepen.views import (
    MINE,
    context_word,
    label_cards,
    look,
    number_with_lead,
    one_suit_word,
    places_word,
    remember,
    suit_number,
)
from toepen_spiel.rules import beats, legal_cards, play_card
from toepen_spiel.state import HAND, LED_CARD, RANKS, SUITS, TURN

# Columns of `nodes`.
ORDER, BUFFER, LOW, HIGH, NUM_CHILDREN, NEXT_CHILD, OWN_BETS, OWN_CARDS, OWN_STRIDE = range(9)
NODE_WORDS = 9
# Columns of `children`.
CARD, CHILD_LOW, CHILD_HIGH, LABEL, SHARE = range(5)
CHILD_WORDS = 5
# Vectors of a level.
FOLDS, BEST_AFTER, OWN_AFTER, BEST, OWN, OWN_CHOICE = range(6)
NUM_VECTORS = 6
# Columns of `found`: where his block for a hand stands among the numbers; of `pairs`: a card he may play.
BETS, CARDS, STRIDE, FIRST_PAIR = range(4)
FOUND_WORDS = 4
PAIR_WORDS = 3
# Columns of `buffers`: where the hands and rows of his n-th card start, and how long a row is.
HANDS, ROWS, LENGTH = range(3)
# `cursor`
LEVEL, STAGE = range(2)
ENTER, LOOKED_UP, GO_ON, DONE = range(4)


class Policy(NamedTuple):
    """What the walk looks up. Blocks stand behind the uniform ones, at `base`."""

    slots: np.ndarray
    numbers: np.ndarray
    uniform: np.ndarray  # where the choice among cards starts that is uniform, by composition of labels
    base: int
    suit_numbers: np.ndarray
    memory: int
    classes: np.ndarray


class Work(NamedTuple):
    """Everything a walk writes."""

    states: np.ndarray
    memories: np.ndarray
    nodes: np.ndarray
    children: np.ndarray
    vectors: np.ndarray
    hands: np.ndarray
    rows: np.ndarray
    buffers: np.ndarray
    found: np.ndarray
    pairs: np.ndarray
    seen: np.ndarray
    seen_by_her: np.ndarray
    own_numbers: np.ndarray
    cursors: np.ndarray
    cards: np.ndarray  # three lists: cards, labels, shares
    row: np.ndarray
    stakes: np.ndarray  # like `calls` of the histories, plus one
    cursor: np.ndarray


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
def _her_block(policy, histories, work, seat, played):
    """Her own block, and the cards she may play as children of the node."""
    level = work.cursor[LEVEL]
    state, node = work.states[level], work.nodes[level]
    order = node[ORDER]
    cards, labels, shares = work.cards[0], work.cards[1], work.cards[2]
    look(state, seat, played, work.seen)
    hand = state[HAND + seat]
    places = places_word(policy.suit_numbers, work.seen, hand, state[SUITS], state[RANKS], work.own_numbers)
    context = context_word(work.memories[level, seat], seat, level, order)
    start = policy.slots[slot_of(policy.slots, places, context), START]
    node[OWN_BETS] = 0 if start == FREE else policy.base + start
    if histories.mover[level, order] != seat:
        return
    legal = legal_cards(state, hand)
    count, num_labels = label_cards(work.own_numbers, legal, state[SUITS], state[RANKS], cards, labels, shares)
    for index in range(count):
        child = work.children[level, index]
        child[CARD], child[LABEL], child[SHARE] = cards[index], labels[index], shares[index]
        child[CHILD_LOW], child[CHILD_HIGH] = node[LOW], node[HIGH]
    node[NUM_CHILDREN] = count
    if num_labels > 1 and start != FREE:
        node[OWN_CARDS] = policy.base + start + histories.bets[level, order]
        node[OWN_STRIDE] = histories.after[level, order]
    else:
        node[OWN_CARDS] = policy.uniform[_composition(count, labels, shares)] if num_labels > 1 else policy.uniform[1]
        node[OWN_STRIDE] = histories.calls.shape[2]


@compiled
def look_up(policy, histories, work, seat):
    """Finds his blocks for all hands of the node, the cards he may play with each, and her own block."""
    level = work.cursor[LEVEL]
    state, node = work.states[level], work.nodes[level]
    other = 1 - seat
    played = state[deck.DEALT + seat] & ~state[HAND + seat] | state[HAND + other]
    _her_block(policy, histories, work, seat, played)
    order = node[ORDER]
    seen, own_numbers, found = work.seen, work.own_numbers, work.found
    look(state, other, played, seen)
    context = context_word(work.memories[level, other], other, level, order)
    first = work.buffers[node[BUFFER], HANDS] + node[LOW]
    hands = work.hands[first : first + node[HIGH] - node[LOW]]
    plays = histories.mover[level, order] == other and level < len(histories.mover) - 2
    if not plays:
        _find_bets(policy.slots, policy.base, policy.suit_numbers, state, context, seen, own_numbers, hands, found)
        return
    cards, labels, shares = work.cards[0], work.cards[1], work.cards[2]
    slots, base, table, uniform = policy.slots, policy.base, policy.suit_numbers, policy.uniform
    bets, after, width = histories.bets[level, order], histories.after[level, order], histories.calls.shape[2]
    suits, ranks = state[SUITS], state[RANKS]
    pairs = work.pairs
    num_pairs = 0
    for index in range(len(hands)):
        hand = hands[index]
        places = places_word(table, seen, hand, suits, ranks, own_numbers)
        start = slots[slot_of(slots, places, context), START]
        found[index, BETS] = 0 if start == FREE else base + start
        found[index, FIRST_PAIR] = num_pairs
        legal = legal_cards(state, hand)
        if legal & legal - 1 == 0:
            pairs[num_pairs, 0], pairs[num_pairs, 1], pairs[num_pairs, 2] = bits.lowest(legal), 0, 1
            num_pairs += 1
            continue
        count, num_labels = label_cards(own_numbers, legal, suits, ranks, cards, labels, shares)
        for place in range(count):
            pairs[num_pairs, 0], pairs[num_pairs, 1], pairs[num_pairs, 2] = cards[place], labels[place], shares[place]
            num_pairs += 1
        if num_labels == 1:
            found[index, CARDS] = uniform[1]
        elif start == FREE:
            found[index, CARDS], found[index, STRIDE] = uniform[_composition(count, labels, shares)], width
        else:
            found[index, CARDS], found[index, STRIDE] = base + start + bets, after
    found[len(hands), FIRST_PAIR] = num_pairs


@compiled
def _find_bets(slots, base, table, state, context, seen, own_numbers, hands, found):
    suits, ranks = state[SUITS], state[RANKS]
    mine = False
    for suit in range(suits):
        mine |= seen[suit, MINE] == 1
    for index in range(len(hands)):
        hand = hands[index]
        if mine or hand & hand - 1:
            places = places_word(table, seen, hand, suits, ranks, own_numbers)
        else:  # the last card
            card = bits.lowest(hand)
            places = one_suit_word(suit_number(table, seen, card // ranks, 1 << card % ranks))
        start = slots[slot_of(slots, places, context), START]
        found[index, BETS] = 0 if start == FREE else base + start


# Inner loops. They slice for themselves: numba counts references to slices that are made where code branches.


@compiled
def _extend(rows, start, end, numbers, calls_at, folds, bets):
    """Her bets: what he calls goes to `end`; sums up what he folds."""
    reach, goes, calls = rows[start : start + bets], rows[end : end + bets], numbers[calls_at : calls_at + bets]
    for place in range(bets):
        called = reach[place] * calls[place]
        goes[place] = called
        folds[place] += reach[place] - called


@compiled
def _his_row(rows, base, row, numbers, chances_at, folds, turn):
    """His row after the bet of his turn, in `row`; sums up what he bets."""
    before, bets, first, called, checked = turn
    low, high = (bets, before) if first == 0 else (0, first)  # where he may not bet
    others, others_to = rows[base + low : base + high], row[checked + low : checked + high]
    for place in range(high - low):
        others_to[place] = others[place]
    reach, chances = rows[base + first : base + first + bets], numbers[chances_at : chances_at + bets]
    stays, goes = row[checked + first : checked + first + bets], row[called : called + bets]
    for place in range(bets):
        bet = reach[place] * chances[place]
        goes[place] = bet
        stays[place] = reach[place] - bet
        folds[place] += bet


@compiled
def _copy(values, out, out_at, size):
    target = out[out_at : out_at + size]
    for place in range(size):
        target[place] = values[place]


@compiled
def _times(values, numbers, chances_at, share, out, out_at, size):
    target, chances = out[out_at : out_at + size], numbers[chances_at : chances_at + size]
    for place in range(size):
        target[place] = values[place] * chances[place] * share


@compiled
def _add(values, start, size, sign, out):
    added = values[start : start + size]
    for place in range(size):
        out[place] += sign * added[place]


@compiled
def _certain(row, size, stakes, sign, best, own):
    """She knows who wins: what checking is worth."""
    for place in range(size):
        value = sign * stakes[place] * row[place]
        best[place] += value
        own[place] += value


@compiled
def _certain_bets(row, stakes, sign, numbers, places, best, own, one):
    """What betting is worth to her beyond checking, where she may."""
    first, size, calls_at, bets_at = places
    row, stakes, best, own = (
        row[first : first + size],
        stakes[first : first + size],
        best[first : first + size],
        own[first : first + size],
    )
    calls, bets = numbers[calls_at : calls_at + size], numbers[bets_at : bets_at + size]
    for place in range(size):
        stake = stakes[place]
        more = row[place] * (calls[place] * (sign * (stake + one) - stake) + stake - sign * stake)
        best[place] += max(more, one - one)
        own[place] += bets[place] * more


@compiled
def _row_start(seat, length, size):
    """Her bets extend rows at the front if she is player 0, else at the end."""
    return length - size if seat == 0 else 0


@compiled
def _her_bets(numbers, histories, work, seat, units):
    """Extends his rows by the bets he calls; sums up what he folds."""
    level = work.cursor[LEVEL]
    node, order = work.nodes[level], work.nodes[level, ORDER]
    before, bets = histories.before[level, order], histories.bets[level, order]
    buffer = work.buffers[node[BUFFER]]
    length = buffer[LENGTH]
    folds = work.vectors[level, FOLDS][:bets]
    folds[:] = units[0]
    if bets == 0:
        return
    low = node[LOW]
    start = buffer[ROWS] + low * length + _row_start(seat, length, before) + histories.first[level, order]
    end = buffer[ROWS] + low * length + _row_start(seat, length, before + bets) + histories.called[level, order]
    rows, found = work.rows, work.found
    for index in range(node[HIGH] - low):
        _extend(rows, start, end, numbers, found[index, BETS], folds, bets)
        start += length
        end += length


@compiled
def _turn_numbers(histories, level, order):
    return (
        histories.before[level, order],
        histories.bets[level, order],
        histories.first[level, order],
        histories.called[level, order],
        histories.checked[level, order],
    )


@compiled
def _spread(numbers, histories, work, seat, units):
    """His turn: his rows go to the children, card by card."""
    level = work.cursor[LEVEL]
    node, order = work.nodes[level], work.nodes[level, ORDER]
    after = histories.after[level, order]
    turn = _turn_numbers(histories, level, order)
    bets = turn[1]
    folds = work.vectors[level, FOLDS][:bets]
    folds[:] = units[0]
    here, there = work.buffers[node[BUFFER]], work.buffers[node[BUFFER] + 1]
    low = node[LOW]
    size = node[HIGH] - low
    found, pairs, children, cursors = work.found, work.pairs, work.children[level], work.cursors
    cursors[:] = 0
    for pair in range(found[size, FIRST_PAIR]):
        cursors[pairs[pair, 0]] += 1
    count = 0
    place = 0
    for card in range(len(cursors)):
        members = cursors[card]
        if members:
            children[count, CARD], children[count, CHILD_LOW] = card, place
            children[count, CHILD_HIGH] = place + members
            count += 1
        cursors[card] = place
        place += members
    node[NUM_CHILDREN] = count
    length = there[LENGTH]
    start = there[ROWS] + _row_start(seat, length, after)
    base = here[ROWS] + low * here[LENGTH] + _row_start(seat, here[LENGTH], turn[0])
    row, rows = work.row[:after], work.rows
    old_hands, new_hands = work.hands[here[HANDS] + low :], work.hands[there[HANDS] :]
    for index in range(size):
        _his_row(rows, base, row, numbers, found[index, BETS], folds, turn)
        base += here[LENGTH]
        hand = old_hands[index]
        first_pair, end_pair = found[index, FIRST_PAIR], found[index + 1, FIRST_PAIR]
        for pair in range(first_pair, end_pair):
            card = pairs[pair, 0]
            to = cursors[card]
            cursors[card] += 1
            new_hands[to] = hand ^ 1 << card
            if end_pair == first_pair + 1:
                _copy(row, rows, start + to * length, after)
            else:
                at = found[index, CARDS] + pairs[pair, 1] * found[index, STRIDE]
                _times(row, numbers, at, units[pairs[pair, 2]], rows, start + to * length, after)


@compiled
def _finish(numbers, histories, work, seat, units):
    """The last turn: its card is forced, so after the bet everybody's cards are known."""
    level = work.cursor[LEVEL]
    node, order, state = work.nodes[level], work.nodes[level, ORDER], work.states[level]
    after = histories.after[level, order]
    turn = _turn_numbers(histories, level, order)
    bets = turn[1]
    best, own = work.vectors[level, BEST_AFTER][:after], work.vectors[level, OWN_AFTER][:after]
    best[:] = units[0]
    hers = histories.mover[level, order] == seat
    led = state[LED_CARD]
    folds = work.vectors[level, FOLDS][:bets]
    if not hers:
        folds[:] = units[0]
    buffer, low, found, rows = work.buffers[node[BUFFER]], node[LOW], work.found, work.rows
    base = buffer[ROWS] + low * buffer[LENGTH] + _row_start(seat, buffer[LENGTH], after if hers else turn[0])
    row = work.row[:after]
    hands = work.hands[buffer[HANDS] + low :]
    for index in range(node[HIGH] - low):
        if hers:
            wins = beats(state, bits.lowest(state[HAND + seat]), led)
            _add(rows, base, after, units[1] if wins else -units[1], best)
        else:
            wins = not beats(state, bits.lowest(hands[index]), led)
            _his_row(rows, base, row, numbers, found[index, BETS], folds, turn)
            _add(row, 0, after, units[1] if wins else -units[1], best)
        base += buffer[LENGTH]
    stakes = work.stakes[level + 1, order]
    for history in range(after):
        best[history] = best[history] * stakes[history]
        own[history] = best[history]


@compiled
def _he_leads_last(policy, histories, work, seat, units):
    """The last trick if he leads it: with each card that he may lead everything is known, so no nodes are needed."""
    level = work.cursor[LEVEL]
    node, order, state = work.nodes[level], work.nodes[level, ORDER], work.states[level]
    other = 1 - seat
    after = histories.after[level, order]
    turn = _turn_numbers(histories, level, order)
    folds = work.vectors[level, FOLDS][: turn[1]]
    folds[:] = units[0]
    best, own = work.vectors[level, BEST_AFTER][:after], work.vectors[level, OWN_AFTER][:after]
    her_bets, her_first = histories.bets[level + 1, order], histories.first[level + 1, order]
    stakes = work.stakes[level + 1, order][:after]
    slots, numbers, table, base_of_blocks = policy.slots, policy.numbers, policy.suit_numbers, policy.base
    buffer, low, found = work.buffers[node[BUFFER]], node[LOW], work.found
    base = buffer[ROWS] + low * buffer[LENGTH] + _row_start(seat, buffer[LENGTH], turn[0])
    row, rows = work.row, work.rows
    hands = work.hands[buffer[HANDS] + low :]
    memories = work.memories[level + 1]
    ranks = state[RANKS]
    played = state[deck.DEALT + seat] & ~state[HAND + seat] | state[HAND + other]
    hers, his = work.seen_by_her, work.seen
    look(state, seat, played, hers)
    look(state, other, played, his)
    her_card = bits.lowest(state[HAND + seat])
    her_suit, her_bit = her_card // ranks, 1 << her_card % ranks
    unled = one_suit_word(suit_number(table, hers, her_suit, her_bit))
    for index in range(node[HIGH] - low):
        _his_row(rows, base, row, numbers, found[index, BETS], folds, turn)
        base += buffer[LENGTH]
        card = bits.lowest(hands[index])
        suit, led = card // ranks, 1 << card % ranks
        memories[:] = work.memories[level]
        remember(memories, policy.memory, policy.classes, state, card, other)
        places = one_suit_word(number_with_lead(table, his, suit, 0, led, 1))
        start = slots[slot_of(slots, places, context_word(memories[other], other, level + 1, order)), START]
        calls = 0 if start == FREE else base_of_blocks + start
        places = one_suit_word(number_with_lead(table, hers, suit, her_bit, led, 0)) if suit == her_suit else unled
        start = slots[slot_of(slots, places, context_word(memories[seat], seat, level + 1, order)), START]
        bets = 0 if start == FREE else base_of_blocks + start
        sign = units[1] if beats(state, her_card, card) else -units[1]
        _certain(row, after, stakes, sign, best, own)
        _certain_bets(row, stakes, sign, numbers, (her_first, her_bets, calls, bets), best, own, units[1])


@compiled
def _leave(numbers, histories, work, seat, units):
    """Values before the bet, from those after it."""
    level = work.cursor[LEVEL]
    order, vectors = work.nodes[level, ORDER], work.vectors[level]
    before, bets, first, called, checked = _turn_numbers(histories, level, order)
    _copy(vectors[BEST_AFTER, checked : checked + before], vectors[BEST], 0, before)
    _copy(vectors[OWN_AFTER, checked : checked + before], vectors[OWN], 0, before)
    start = work.nodes[level, OWN_BETS]
    if histories.mover[level, order] == seat:
        _her_choice(
            vectors[FOLDS, :bets],
            work.stakes[level, order, first : first + bets],
            numbers[start : start + bets],
            vectors[BEST_AFTER, called : called + bets],
            vectors[OWN_AFTER, called : called + bets],
            vectors[BEST, first : first + bets],
            vectors[OWN, first : first + bets],
        )
    else:
        _her_answer(
            vectors[FOLDS, :bets],
            work.stakes[level, order, first : first + bets],
            numbers[start : start + bets],
            vectors[BEST_AFTER, called : called + bets],
            vectors[OWN_AFTER, called : called + bets],
            vectors[BEST, first : first + bets],
            vectors[OWN, first : first + bets],
        )


@compiled
def _her_choice(folds, stakes, chances, on_best, on_own, best, own):
    """Check or bet."""
    for place in range(len(folds)):
        folded = folds[place] * stakes[place]
        best[place] = max(best[place], on_best[place] + folded)
        own[place] += chances[place] * (on_own[place] + folded - own[place])


@compiled
def _her_answer(folds, stakes, chances, on_best, on_own, best, own):
    """Call or fold, beside what happens if he checks."""
    for place in range(len(folds)):
        folded = folds[place] * stakes[place]
        best[place] += max(on_best[place], -folded)
        own[place] += chances[place] * (on_own[place] + folded) - folded


@compiled
def _take(numbers, histories, work, seat, units):
    """What a child is worth goes into the level above it, which is the present one."""
    level = work.cursor[LEVEL]
    node, vectors = work.nodes[level], work.vectors[level]
    after = histories.after[level, node[ORDER]]
    below_best, below_own = work.vectors[level + 1, BEST, :after], work.vectors[level + 1, OWN, :after]
    best, own = vectors[BEST_AFTER, :after], vectors[OWN_AFTER, :after]
    if histories.mover[level, node[ORDER]] != seat:
        _add(below_best, 0, after, units[1], best)
        _add(below_own, 0, after, units[1], own)
        return
    if node[NEXT_CHILD] == 1:
        _copy(below_best, best, 0, after)
    else:
        for history in range(after):
            best[history] = max(best[history], below_best[history])
    child = work.children[level, node[NEXT_CHILD] - 1]
    at = node[OWN_CARDS] + child[LABEL] * node[OWN_STRIDE]
    chances = numbers[at : at + after]
    share = units[child[SHARE]]
    for history in range(after):
        own[history] += chances[history] * share * below_own[history]


@compiled
def _descend(histories, work, policy, seat):
    """To the next child of the present node."""
    level = work.cursor[LEVEL]
    node = work.nodes[level]
    child = work.children[level, node[NEXT_CHILD]]
    node[NEXT_CHILD] += 1
    mover = histories.mover[level, node[ORDER]]
    state = work.states[level + 1]
    state[:] = work.states[level]
    memories = work.memories[level + 1]
    memories[:] = work.memories[level]
    remember(memories, policy.memory, policy.classes, state, child[CARD], mover)
    play_card(state, child[CARD])
    below = work.nodes[level + 1]
    below[LOW], below[HIGH] = child[CHILD_LOW], child[CHILD_HIGH]
    below[BUFFER] = node[BUFFER] if mover == seat else node[BUFFER] + 1
    below[ORDER] = node[ORDER] << 1 | state[TURN] if level % 2 == 1 else node[ORDER]
    work.cursor[LEVEL] = level + 1
    work.cursor[STAGE] = ENTER


@compiled(nogil=True)
def advance(policy, histories, work, seat, units, asks):
    """Walks on until everything is done, or, if it `asks`, until blocks are wanted: the caller finds them."""
    last = len(histories.mover) - 2
    while True:
        level = work.cursor[LEVEL]
        node = work.nodes[level]
        if work.cursor[STAGE] == ENTER:
            if asks:
                return
            look_up(policy, histories, work, seat)
            work.cursor[STAGE] = LOOKED_UP
        if work.cursor[STAGE] == LOOKED_UP:
            hers = histories.mover[level, node[ORDER]] == seat
            node[NEXT_CHILD] = 0
            if hers:
                _her_bets(policy.numbers, histories, work, seat, units)
            if level == last:
                _finish(policy.numbers, histories, work, seat, units)
                node[NUM_CHILDREN] = 0
            else:
                after = histories.after[level, node[ORDER]]
                work.vectors[level, BEST_AFTER, :after] = units[0]
                work.vectors[level, OWN_AFTER, :after] = units[0]
                if not hers and level == last - 1 and not asks:
                    _he_leads_last(policy, histories, work, seat, units)
                    node[NUM_CHILDREN] = 0
                elif not hers:
                    _spread(policy.numbers, histories, work, seat, units)
            work.cursor[STAGE] = GO_ON
        if node[NEXT_CHILD] < node[NUM_CHILDREN]:
            _descend(histories, work, policy, seat)
            continue
        _leave(policy.numbers, histories, work, seat, units)
        if level == 0:
            work.cursor[STAGE] = DONE
            return
        work.cursor[LEVEL] = level - 1
        _take(policy.numbers, histories, work, seat, units)
