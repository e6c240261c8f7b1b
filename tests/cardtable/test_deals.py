"""All deals of unseen cards, against every way to write piles behind cards."""

from itertools import product

import numpy as np
import pytest

from cardtable.deals import list_deals
from cardtable.redeal import count_deals


@pytest.mark.parametrize(
    ("unseen", "needs", "forbidden"),
    [
        (0b1011011, (2, 1, 2), (0, 0, 0)),
        (0b1011011, (2, 1, 2), (0b11, 0b1000000, 0)),
        (0b111111, (2, 2, 2), (0b111, 0b1000, 0b100000)),
        (0b1111, (0, 4, 0), (0, 0, 0b1111)),
        (0b1111, (2, 2, 0), (0b1110, 0, 0)),
        (0, (0, 0, 0), (0, 0, 0)),
    ],
)
def test_every_deal_once(unseen: int, needs: tuple[int, ...], forbidden: tuple[int, ...]) -> None:
    cards = [card for card in range(7) if unseen >> card & 1]
    want = set()
    for owners in product(range(3), repeat=len(cards)):
        piles = [
            sum(1 << card for card, owner in zip(cards, owners, strict=True) if owner == pile) for pile in range(3)
        ]
        if all(piles[p].bit_count() == needs[p] and not piles[p] & forbidden[p] for p in range(3)):
            want.add(tuple(piles))
    out = np.zeros((200, 5), np.int64)
    arrays = (np.array([*needs, 0, 0]), np.array([*forbidden, 0, 0]))
    n = list_deals(unseen, *arrays, 3, out)
    assert n == len(want) == count_deals(unseen, *arrays, 3)
    assert {tuple(row[:3]) for row in out[:n].tolist()} == want
    if n > 1:
        assert list_deals(unseen, *arrays, 3, out[: n - 1]) == -1
