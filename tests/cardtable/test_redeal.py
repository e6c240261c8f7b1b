"""`redeal` against enumeration: every deal that is allowed, and no other, equally often."""

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from scipy import stats

from cardtable import bits
from cardtable.compiled import entry_point
from cardtable.randomness import generator
from cardtable.redeal import count_deals, draw, redeal
from cardtable.rules import GENERATOR, INTEGER, WORDS


@entry_point(INTEGER, WORDS, WORDS, WORDS, GENERATOR, INTEGER)
def _tally(unseen, needs, forbidden, counts, generator, samples):
    """How often each deal comes up; deals are numbered by the pile of each card, in base num_piles."""
    out = np.zeros(len(needs), np.int64)
    for _ in range(samples):
        if not redeal(unseen, needs, forbidden, len(needs), out, generator):
            return False
        number = 0
        cards = unseen
        while cards:
            card = cards & -cards
            cards ^= card
            pile = 0
            while out[pile] & card == 0:
                pile += 1
            number = number * len(needs) + pile
        counts[number] += 1
    return True


def card_set(cards: Iterable[int]) -> int:
    return sum(1 << card for card in cards)


def all_deals(unseen: int, needs: Sequence[int], forbidden: Sequence[int]) -> list[int]:
    """Numbers of the allowed deals, by trying every assignment."""
    cards = [card for card in range(unseen.bit_length()) if unseen >> card & 1]
    piles = range(len(needs))
    numbers = []
    for assignment in itertools.product(piles, repeat=len(cards)):
        sizes_fit = all(assignment.count(pile) == needs[pile] for pile in piles)
        if sizes_fit and not any(forbidden[pile] >> card & 1 for card, pile in zip(cards, assignment, strict=True)):
            number = 0
            for pile in assignment:
                number = number * len(needs) + pile
            numbers.append(number)
    return numbers


CASES: dict[str, tuple[list[int], list[int], list[list[int]]]] = {
    "nothing forbidden": ([3, 9, 10, 30, 44, 50], [2, 3, 1], [[], [], []]),
    "forbidden but already full": ([3, 9, 10, 30], [2, 0, 2], [[], [3, 9, 10, 30], []]),
    "one pile restricted": ([0, 1, 2, 3, 4, 5, 6], [3, 2, 2], [[], [0, 1, 2], []]),
    "one of two piles restricted": ([0, 1, 2, 3, 4, 5, 6], [3, 4], [[0, 5], []]),
    "two restricted, one free": ([0, 1, 2, 3, 4, 5, 6, 7], [3, 2, 3], [[0, 1], [1, 2, 7], []]),
    "two restricted, two free": ([0, 1, 2, 3, 4, 5, 6, 7], [2, 2, 2, 2], [[], [0, 1, 2], [2, 3], []]),
    "three restricted": ([0, 1, 2, 3, 4, 5, 6, 7, 8], [3, 3, 3], [[0, 1], [2, 3, 4], [5, 6]]),
    "three restricted, forced cards": ([0, 1, 2, 3, 4, 5, 6], [3, 2, 2], [[0, 1], [0, 3, 4], [1, 6]]),
    "three restricted, one free": ([0, 1, 2, 3, 4, 5, 6, 7], [2, 2, 2, 2], [[0, 1, 2], [], [2, 3, 7], [4, 5, 0]]),
    "four restricted": ([0, 1, 2, 3, 4, 5, 6, 7], [2, 1, 3, 2], [[0, 1], [2, 3, 4], [5, 6], [0, 6, 7]]),
    "four restricted, one free": (
        [0, 1, 2, 3, 4, 5, 6, 7],
        [2, 1, 2, 2, 1],
        [[0, 1, 2], [3, 4, 5, 6, 7], [2, 3, 7], [4, 5], []],
    ),
    "five restricted": (
        [10, 11, 12, 13, 14, 15, 16],
        [1, 2, 1, 2, 1],
        [[10], [11, 12], [13, 14], [15, 16], [10, 16]],
    ),
    "two piles only, both restricted": ([0, 1, 2, 3, 4, 5], [3, 3], [[0], [4, 5]]),
}


@pytest.mark.parametrize("name", CASES)
def test_uniform_over_all_allowed_deals(name: str) -> None:
    cards, needs, piles = CASES[name]
    unseen, forbidden = card_set(cards), [card_set(pile) for pile in piles]
    deals = all_deals(unseen, needs, forbidden)
    counts = np.zeros(len(needs) ** len(cards), np.int64)
    arrays = np.array(needs), np.array(forbidden)
    samples = max(20_000, 30 * len(deals))

    assert count_deals(unseen, *arrays, len(needs)) == len(deals)
    assert _tally(unseen, *arrays, counts, generator(1), samples)
    assert set(np.flatnonzero(counts)) == set(deals)
    assert len(deals) == 1 or stats.chisquare(counts[deals]).pvalue > 1e-4


def test_random_endings_are_counted_as_by_enumeration() -> None:
    chance = np.random.default_rng(3)
    for _ in range(60):
        num_piles = int(chance.integers(2, 6))
        needs = chance.integers(0, 3 if num_piles > 3 else 4, num_piles)
        num_cards = int(needs.sum())
        forbidden = np.array([card_set(np.flatnonzero(chance.random(num_cards) < 0.35)) for _ in range(num_piles)])
        deals = all_deals((1 << num_cards) - 1, needs.tolist(), forbidden.tolist())
        assert count_deals((1 << num_cards) - 1, needs, forbidden, num_piles) == len(deals)
        counts = np.zeros(num_piles**num_cards, np.int64)
        possible = _tally((1 << num_cards) - 1, needs, forbidden, counts, generator(4), 50)
        assert possible == (len(deals) > 0)
        assert set(np.flatnonzero(counts)) <= set(deals)


def test_counts_of_a_whole_deck() -> None:
    piles = np.array([13, 13, 13])
    nothing = np.zeros(3, np.int64)
    exact = math.factorial(39) // math.factorial(13) ** 3
    assert count_deals((1 << 39) - 1, piles, nothing, 3) == pytest.approx(exact, rel=1e-14)
    # One pile void in the first thirteen cards: it takes 13 of the other 26, the rest is free.
    void = np.array([(1 << 13) - 1, 0, 0])
    exact = math.comb(26, 13) ** 2
    assert count_deals((1 << 39) - 1, piles, void, 3) == pytest.approx(exact, rel=1e-14)


def test_no_deal() -> None:
    out = np.zeros(3, np.int64)
    needs = np.array([2, 1, 1])
    for forbidden in ([7, 0, 0], [7, 7, 0], [1, 1, 1], [3, 9, 9], [14, 14, 0]):
        assert not redeal(15, needs, np.array(forbidden), 3, out, generator(1))
        assert count_deals(15, needs, np.array(forbidden), 3) == 0


def test_piles_partition_the_unseen_cards() -> None:
    chance = np.random.default_rng(7)
    out = np.zeros(4, np.int64)
    source = generator(9)
    for _ in range(300):
        unseen = card_set(chance.choice(54, 40, replace=False))
        piles = np.array([12, 3, 15, 10])
        forbidden = np.array([0xFF, 0xFF00, 0, 0xFF << int(chance.integers(0, 40))])
        assert redeal(unseen, piles, forbidden, 4, out, source)
        assert [bits.count(cards) for cards in out] == piles.tolist()
        assert out[0] | out[1] | out[2] | out[3] == unseen
        assert not np.any(out & forbidden)


@pytest.mark.parametrize(("cards", "size"), [([1, 5, 9, 20, 61], 2), (range(3, 17), 2), (range(3, 17), 12), ([4], 1)])
def test_draw_is_uniform_over_subsets(cards: Sequence[int], size: int) -> None:
    subsets = {card_set(subset): 0 for subset in itertools.combinations(cards, size)}
    source = generator(11)
    for _ in range(100 * len(subsets)):
        subsets[draw(card_set(cards), size, source)] += 1
    assert len(subsets) == 1 or stats.chisquare(list(subsets.values())).pvalue > 1e-4
