import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cardtable import bits

card_sets = st.sets(st.integers(0, 61))


def as_bits(cards: set[int]) -> int:
    return sum(1 << card for card in cards)


@given(card_sets)
def test_count_and_list(cards: set[int]) -> None:
    out = np.zeros(64, np.int64)
    assert bits.count(as_bits(cards)) == len(cards)
    n = bits.list_cards(as_bits(cards), 100, out)
    assert out[:n].tolist() == [100 + card for card in sorted(cards)]


@given(card_sets.filter(bool))
def test_lowest_highest_nth(cards: set[int]) -> None:
    ordered = sorted(cards)
    assert bits.lowest(as_bits(cards)) == ordered[0]
    assert bits.highest(as_bits(cards)) == ordered[-1]
    assert [bits.nth(as_bits(cards), n) for n in range(len(cards))] == ordered


@given(card_sets, st.integers(0, 61))
def test_contains(cards: set[int], card: int) -> None:
    assert bits.contains(as_bits(cards), card) == (card in cards)


def test_suits_partition_the_deck() -> None:
    suits = [bits.suit_cards(suit, 8) for suit in range(4)]
    assert suits[1] == as_bits(set(range(8, 16)))
    assert sum(suits) == (1 << 32) - 1
