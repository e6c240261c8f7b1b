"""Deals unseen cards again, exactly uniformly, when some piles are known not to hold some cards.

Every pile must receive a given number of cards and none of those forbidden to it (suits its owner has shown to be void
in, say). All assignments that satisfy this are equally likely; this is what sampling hidden hands consistent with
hand sizes and shown voids needs.

Cards that may go to the same piles are interchangeable: they are of one *kind*, named by the bit mask of the piles. The
piles are filled one after the other. If pile p takes a_S of the n_S cards of each kind S that contains it, then

    number of deals = sum over all (a_S) with sum a_S = need of p  of  prod_S C(n_S, a_S) * (deals of the other piles)

and what is left of kind S joins kind S without p. With two piles left there is a single term. A composition (a_S) is
drawn with its share of that sum, then the cards are drawn among those of each kind. Weights are float64: whole numbers
below 2**53 are exact, larger ones have a relative error of about 1e-16.

Piles that may hold every unseen card are treated as one and their cards split at the end.
"""

from __future__ import annotations

import math

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.randomness import next_word, uniform

MAX_PILES = 5
MAX_CARDS = 62

# Working space of one call, as slots of one array. What concerns the moment when p piles are left is found at + p or
# + p * KINDS; these p piles are numbered from 0, and kind S of a card is the mask of those that may hold it.
KINDS = 1 << MAX_PILES
ORDER = 0  # the pile that is filled when p piles are left; ALL_FREE stands for all piles without prohibitions
ROOM = 8  # the cards it takes
SETS = 16  # SETS + S: the cards of kind S
COUNTS = SETS + KINDS  # the number of cards of each kind
TRIAL = COUNTS + 6 * KINDS  # how many cards of each kind the pile takes
LISTED = TRIAL + 6 * KINDS  # how many kinds with cards it shares with other piles, and which
CHOSEN = LISTED + 6 * KINDS  # what it takes in the end
MEMORY = CHOSEN + KINDS
ALL_FREE = -1

BINOMIAL = np.array([[float(math.comb(n, k)) for k in range(MAX_CARDS + 1)] for n in range(MAX_CARDS + 1)])


@compiled
def redeal(unseen, needs, forbidden, num_piles, out, generator):
    """Writes into out[p] the cards of pile p, uniformly over all deals of the set `unseen` that give pile p exactly
    needs[p] cards, none of them in the set forbidden[p]. The needs sum to the number of unseen cards.

    Returns False, with `out` unspecified, if there is no such deal.
    """
    restricted = 0
    for pile in range(num_piles):
        if needs[pile] > 0 and unseen & forbidden[pile] != 0:
            restricted += 1
    if restricted == 0:
        _split(unseen, needs, forbidden, unseen, num_piles, out, generator)
        return True
    if restricted == 1:
        return _redeal_one(unseen, needs, forbidden, num_piles, out, generator)
    return _redeal_many(unseen, needs, forbidden, num_piles, out, generator)


@compiled
def count_deals(unseen, needs, forbidden, num_piles):
    """The number of deals `redeal` chooses from, as a float."""
    memory = np.empty(MEMORY, np.int64)
    piles, free_need = _sort_piles_and_cards(unseen, needs, forbidden, num_piles, memory)
    ways = 1.0
    for pile in range(num_piles):  # the free piles count as one below; here its cards are split among them
        if needs[pile] > 0 and unseen & forbidden[pile] == 0:
            ways *= BINOMIAL[free_need, needs[pile]]
            free_need -= needs[pile]
    return ways * _weigh(memory, piles, np.zeros(1, np.uint64), False)


@compiled
def draw(cards, size, generator):
    """A uniformly random subset of the given size.

    Halves the problem with every random word: the cards it picks join the subset if there is room for all of them;
    otherwise the subset is completed from among them. No step tells one card from another, so all subsets of the size
    are equally likely.
    """
    drawn = 0
    left = bits.count(cards)
    while size > 0:
        if size == left:
            return drawn | cards
        picked = cards & np.int64(next_word(generator) >> np.uint64(1))
        n = bits.count(picked)
        if n <= size:
            drawn |= picked
            cards ^= picked
            size -= n
            left -= n
        else:
            cards = picked
            left = n
    return drawn


@compiled
def _split(cards, needs, forbidden, unseen, num_piles, out, generator):
    """Deals `cards` to the piles that may hold everything; they have room for exactly these."""
    last = -1
    for pile in range(num_piles):
        if needs[pile] == 0:
            out[pile] = 0
        elif unseen & forbidden[pile] == 0 and (last < 0 or needs[pile] > needs[last]):
            last = pile
    for pile in range(num_piles):
        if needs[pile] > 0 and pile != last and unseen & forbidden[pile] == 0:
            drawn = draw(cards, needs[pile], generator)
            out[pile] = drawn
            cards ^= drawn
    if last >= 0:
        out[last] = cards


@compiled
def _redeal_one(unseen, needs, forbidden, num_piles, out, generator):
    """A single pile with prohibitions takes its cards first; whatever it takes, the others share as many deals."""
    for pile in range(num_piles):
        if needs[pile] > 0 and unseen & forbidden[pile] != 0:
            allowed = unseen & ~forbidden[pile]
            if bits.count(allowed) < needs[pile]:
                return False
            drawn = draw(allowed, needs[pile], generator)
            out[pile] = drawn
            _split(unseen ^ drawn, needs, forbidden, unseen, num_piles, out, generator)
    return True


@compiled
def _redeal_many(unseen, needs, forbidden, num_piles, out, generator):
    memory = np.empty(MEMORY, np.int64)
    piles, free_need = _sort_piles_and_cards(unseen, needs, forbidden, num_piles, memory)
    while piles > 1:
        if _weigh(memory, piles, generator, True) == 0.0:
            return False
        drawn = 0
        for kind in range(1, 1 << piles, 2):
            cards = memory[SETS + kind]
            if cards:
                part = draw(cards, memory[CHOSEN + kind], generator)
                drawn |= part
                memory[SETS + kind] = cards ^ part
        out[memory[ORDER + piles]] = drawn
        piles -= 1
        for kind in range(1 << piles):
            cards = memory[SETS + 2 * kind] | memory[SETS + 2 * kind + 1]
            memory[SETS + kind] = cards
            memory[COUNTS + piles * KINDS + kind] = bits.count(cards)
    if memory[SETS]:
        return False
    if free_need > 0:
        _split(memory[SETS + 1], needs, forbidden, unseen, num_piles, out, generator)
    else:
        out[memory[ORDER + 1]] = memory[SETS + 1]
        for pile in range(num_piles):
            if needs[pile] == 0:
                out[pile] = 0
    return True


@compiled
def _sort_piles_and_cards(unseen, needs, forbidden, num_piles, memory):
    """Decides in which order piles are filled: those with prohibitions, smallest need first, then all free ones as one.

    Writes what the memory holds before the first is filled. Returns how many piles that makes, and what the free ones
    need together.
    """
    piles = 0
    free_need = 0
    for pile in range(num_piles):
        if needs[pile] > 0:
            if unseen & forbidden[pile] == 0:
                free_need += needs[pile]
            else:
                piles += 1
    if free_need > 0:
        piles += 1
    memory[SETS] = unseen
    sorted_in = 0
    for number in range(piles):
        chosen = ALL_FREE
        for pile in range(num_piles):
            restricted = needs[pile] > 0 and unseen & forbidden[pile] != 0
            if restricted and not bits.contains(sorted_in, pile) and (chosen < 0 or needs[pile] < needs[chosen]):
                chosen = pile
        no = 0
        need = free_need
        if chosen >= 0:
            sorted_in |= 1 << chosen
            no = forbidden[chosen]
            need = needs[chosen]
        memory[ORDER + piles - number] = chosen
        memory[ROOM + piles - number] = need
        for kind in range(1 << number):
            cards = memory[SETS + kind]
            memory[SETS + (kind | 1 << number)] = cards & ~no
            memory[SETS + kind] = cards & no
    for kind in range(1 << piles):
        memory[COUNTS + piles * KINDS + kind] = bits.count(memory[SETS + kind])
    return piles, free_need


@compiled
def _weigh(memory, piles, generator, keep):
    """The number of deals to so many piles. With `keep`, draws what the first one takes of each kind, into CHOSEN.

    One pass: the k-th composition replaces the one kept so far with probability weight / (weights so far).
    """
    counts = COUNTS + piles * KINDS
    if piles == 3:
        return _weigh_three(memory, generator, keep)
    if memory[counts] > 0:  # a card that nobody may hold
        return 0.0
    if piles == 2:
        free = memory[ROOM + 2] - memory[counts + 1]
        memory[CHOSEN + 1] = memory[counts + 1]
        memory[CHOSEN + 3] = free
        return _ways_of_two(memory[counts + 1], memory[counts + 3], memory[ROOM + 2])
    if piles < 2:
        return 1.0
    total = 0.0
    more = _first_composition(memory, piles)
    while more:
        weight = _take(memory, piles)
        weight *= _weigh_three(memory, generator, False) if piles == 4 else _weigh_four(memory, generator)
        total += weight
        if keep and uniform(generator) * total < weight:
            for kind in range(1, 1 << piles, 2):
                memory[CHOSEN + kind] = memory[TRIAL + piles * KINDS + kind]
        more = _next_composition(memory, piles)
    return total


@compiled
def _weigh_four(memory, generator):
    """The number of deals to four piles."""
    total = 0.0
    more = _first_composition(memory, 4)
    while more:
        total += _take(memory, 4) * _weigh_three(memory, generator, False)
        more = _next_composition(memory, 4)
    return total


@compiled
def _weigh_three(memory, generator, keep):
    """`_weigh` for three piles: the sum over what the first takes of the kinds {0, 1}, {0, 2} and {0, 1, 2}."""
    counts = COUNTS + 3 * KINDS
    if memory[counts] > 0:
        return 0.0
    n_1, n_2, n_3 = memory[counts + 1], memory[counts + 2], memory[counts + 3]
    n_5, n_6, n_7 = memory[counts + 5], memory[counts + 6], memory[counts + 7]
    free = memory[ROOM + 3] - n_1
    total = 0.0
    for from_3 in range(max(0, free - n_5 - n_7), min(n_3, free) + 1):
        for from_5 in range(max(0, free - from_3 - n_7), min(n_5, free - from_3) + 1):
            from_7 = free - from_3 - from_5
            weight = (
                BINOMIAL[n_3, from_3]
                * BINOMIAL[n_5, from_5]
                * BINOMIAL[n_7, from_7]
                * _ways_of_two(n_2 + n_3 - from_3, n_6 + n_7 - from_7, memory[ROOM + 2])
            )
            total += weight
            if keep and uniform(generator) * total < weight:
                memory[CHOSEN + 1] = n_1
                memory[CHOSEN + 3] = from_3
                memory[CHOSEN + 5] = from_5
                memory[CHOSEN + 7] = from_7
    return total


@compiled
def _ways_of_two(only_first, both, need):
    """The first of two piles takes what only it may hold, and the rest of its need from what both may hold."""
    free = need - only_first
    return BINOMIAL[both, free] if 0 <= free <= both else 0.0


@compiled
def _take(memory, piles):
    """The number of ways to take the trial composition; writes what it leaves for the other piles."""
    counts, trial, listed = COUNTS + piles * KINDS, TRIAL + piles * KINDS, LISTED + piles * KINDS
    rest = counts - KINDS
    for kind in range(1 << (piles - 1)):
        memory[rest + kind] = memory[counts + 2 * kind] + memory[counts + 2 * kind + 1] - memory[trial + 2 * kind + 1]
    weight = 1.0
    for index in range(1, memory[listed] + 1):
        kind = memory[listed + index]
        weight *= BINOMIAL[memory[counts + kind], memory[trial + kind]]
    return weight


@compiled
def _first_composition(memory, piles):
    """The pile takes what only it may hold, and the rest of its need from the first kinds that have cards."""
    counts, trial, listed = COUNTS + piles * KINDS, TRIAL + piles * KINDS, LISTED + piles * KINDS
    memory[trial + 1] = memory[counts + 1]
    num_kinds = 0
    for kind in range(3, 1 << piles, 2):
        memory[trial + kind] = 0
        if memory[counts + kind] > 0:
            num_kinds += 1
            memory[listed + num_kinds] = kind
    memory[listed] = num_kinds
    return _pour(memory, piles, memory[ROOM + piles] - memory[counts + 1], num_kinds)


@compiled
def _next_composition(memory, piles):
    """One card more of the first kind that can give one after some that are taken; those before it are poured again."""
    counts, trial, listed = COUNTS + piles * KINDS, TRIAL + piles * KINDS, LISTED + piles * KINDS
    loose = 0  # cards taken of the kinds passed so far
    for index in range(1, memory[listed] + 1):
        kind = memory[listed + index]
        if loose > 0 and memory[trial + kind] < memory[counts + kind]:
            memory[trial + kind] += 1
            return _pour(memory, piles, loose - 1, index - 1)
        loose += memory[trial + kind]
    return False


@compiled
def _pour(memory, piles, amount, num_kinds):
    """Takes `amount` cards of the first listed kinds, as early as possible; says whether they have that many."""
    counts, trial, listed = COUNTS + piles * KINDS, TRIAL + piles * KINDS, LISTED + piles * KINDS
    if amount < 0:
        return False
    for index in range(1, num_kinds + 1):
        kind = memory[listed + index]
        taken = min(amount, memory[counts + kind])
        memory[trial + kind] = taken
        amount -= taken
    return amount == 0
