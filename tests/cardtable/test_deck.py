import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from cardtable import deck
from cardtable.randomness import generator

PILES = (2, 1, 2)
NUM_DEALS = math.factorial(5) // math.prod(map(math.factorial, PILES))


def dealt(state: np.ndarray) -> tuple[int, ...]:
    return tuple(state[deck.DEALT : deck.DEALT + state[deck.NUM_PILES]].tolist())


def walk(state: np.ndarray, probability: float = 1.0) -> Iterator[tuple[tuple[int, ...], float]]:
    """All ways through the chance nodes, with their probabilities."""
    if deck.is_dealt(state):
        yield dealt(state), probability
        return
    outcomes, probabilities = np.empty(5, np.int64), np.empty(5)
    n = deck.deal_outcomes(state, outcomes, probabilities)
    assert n >= 2, "a card with one pile to go to must not be a chance node"
    assert probabilities[:n].sum() == pytest.approx(1)
    for outcome, chance in zip(outcomes[:n], probabilities[:n], strict=True):
        child = state.copy()
        assert deck.deal_card(child, outcome) == deck.is_dealt(child)
        yield from walk(child, probability * chance)


def test_every_deal_once_and_equally_likely() -> None:
    deals = dict(walk(deck.new_state(deck.BLOCK_SIZE, PILES)))
    expected = {
        tuple(sum(1 << card for card, owner in enumerate(owners) if owner == pile) for pile in range(3))
        for owners in set(itertools.permutations([0, 0, 1, 2, 2]))
    }
    assert set(deals) == expected
    assert list(deals.values()) == pytest.approx([1 / NUM_DEALS] * NUM_DEALS)


def test_deal_at_random_is_uniform() -> None:
    stream, draws = generator(3), 30_000
    counts: Counter = Counter()
    for _ in range(draws):
        state = deck.new_state(deck.BLOCK_SIZE, PILES)
        deck.deal_at_random(state, stream)
        assert deck.is_dealt(state)
        counts[dealt(state)] += 1
    assert len(counts) == NUM_DEALS
    expected = draws / NUM_DEALS
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_square < 58.3  # 0.999 quantile with 29 degrees of freedom


def test_deal_at_random_completes_a_started_deal() -> None:
    state = deck.new_state(deck.BLOCK_SIZE, PILES)
    deck.deal_card(state, 1)
    deck.deal_at_random(state, generator(4))
    assert [int(cards).bit_count() for cards in dealt(state)] == list(PILES)
    assert dealt(state)[1] == 1
    assert deck.pile_of(state, 0) == 1


def test_random_subset_is_uniform() -> None:
    stream, draws = generator(5), 20_000
    cards = 0b1011011
    counts = Counter(int(deck.random_subset(cards, 2, stream)) for _ in range(draws))
    assert len(counts) == math.comb(5, 2)
    assert all(subset & ~cards == 0 and subset.bit_count() == 2 for subset in counts)
    chi_square = sum((count - draws / 10) ** 2 / (draws / 10) for count in counts.values())
    assert chi_square < 27.9  # 0.999 quantile with 9 degrees of freedom


def test_too_many_piles() -> None:
    with pytest.raises(ValueError, match="at most 5 piles, not 6"):
        deck.new_state(40, [1] * 6)
