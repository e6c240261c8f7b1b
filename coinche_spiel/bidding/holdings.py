"""What a hand is worth with each suit as trump: a sum of learnt points, read from tables.

The estimate is linear in features of the holding in trumps, of the holding in each side suit, and of both together. A
holding is one of 256 sets of ranks, so the sums over its features are added up once for each of them, and what a hand
is worth with one suit as trump is five look-ups: `hand_points`. A *situation* is what the auction has said about the
suit (`contexts`); each has weights, and so tables, of its own: a jack that the partner has shown already is not shown
twice.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from coinche_spiel.cards import ACE, JACK, KING, NINE, NUM_RANKS, NUM_SUITS, ONE_SUIT, QUEEN, TEN

HOLDINGS = 1 << NUM_RANKS
MOST_TRUMPS = 8
MOST_SHORT = 3  # side suits
JOINTS = (MOST_TRUMPS + 1) * (MOST_SHORT + 1) * (MOST_SHORT + 1)  # trumps, voids, singletons
# Of one situation: points of every holding in trumps, of every holding in a side suit, of shapes.
TRUMP_AT, PLAIN_AT, JOINT_AT = 0, HOLDINGS, 2 * HOLDINGS
TABLE_SIZE = 2 * HOLDINGS + JOINTS

TRUMP_FEATURES = (
    "jack",
    "nine",
    "ace",
    "ten",
    "king",
    "queen",
    "each_trump",
    "third_trump",
    "fourth_trump",
    "fifth_trump",
    "guarded_nine",
    "jack_and_nine",
    "jack_and_third_trump",
    "jack_nine_ace",
    "nine_and_ace_without_jack",
)
PLAIN_FEATURES = (
    "side_ace",
    "side_ten",
    "side_king",
    "side_queen",
    "guarded_side_ten",
    "side_ace_and_ten",
    "side_ace_ten_king",
    "bare_side_ace",
    "long_side_ace",
    "side_singleton",
    "side_doubleton",
    "side_four",
)
JOINT_FEATURES = ("void", "void_and_three_trumps", "void_and_four_trumps", "singleton_and_three_trumps")
FEATURES = (*TRUMP_FEATURES, *PLAIN_FEATURES, *JOINT_FEATURES)


def trump_features(ranks: int) -> list[int]:
    """The features of a holding in trumps, in the order of TRUMP_FEATURES."""
    has = [ranks >> rank & 1 for rank in range(NUM_RANKS)]
    length = sum(has)
    return [
        has[JACK],
        has[NINE],
        has[ACE],
        has[TEN],
        has[KING],
        has[QUEEN],
        length,
        length >= 3,
        length >= 4,
        length >= 5,
        has[NINE] and length >= 2,
        has[JACK] and has[NINE],
        has[JACK] and length >= 3,
        has[JACK] and has[NINE] and has[ACE],
        has[NINE] and has[ACE] and not has[JACK],
    ]


def plain_features(ranks: int) -> list[int]:
    """The features of a holding in a side suit, in the order of PLAIN_FEATURES."""
    has = [ranks >> rank & 1 for rank in range(NUM_RANKS)]
    length = sum(has)
    return [
        has[ACE],
        has[TEN],
        has[KING],
        has[QUEEN],
        has[TEN] and not has[ACE] and length >= 2,
        has[ACE] and has[TEN],
        has[ACE] and has[TEN] and has[KING],
        has[ACE] and length == 1,
        has[ACE] and length >= 4,
        length == 1,
        length == 2,
        length >= 4,
    ]


def joint_features(trumps: int, voids: int, singletons: int) -> list[int]:
    """The features of a shape, in the order of JOINT_FEATURES."""
    return [
        voids if trumps else 0,
        voids if trumps >= 3 else 0,
        voids if trumps >= 4 else 0,
        singletons if trumps >= 3 else 0,
    ]


def tables_of(weights: Mapping[str, float]) -> np.ndarray:
    """The tables of one situation, from a weight for each of FEATURES."""
    tables = np.empty(TABLE_SIZE)
    of_trumps, of_plain, of_joint = (
        np.array([weights[name] for name in names]) for names in (TRUMP_FEATURES, PLAIN_FEATURES, JOINT_FEATURES)
    )
    for ranks in range(HOLDINGS):
        tables[TRUMP_AT + ranks] = of_trumps @ np.array(trump_features(ranks), float)
        tables[PLAIN_AT + ranks] = of_plain @ np.array(plain_features(ranks), float)
    for joint in range(JOINTS):
        rest, singletons = divmod(joint, MOST_SHORT + 1)
        shape = joint_features(rest // (MOST_SHORT + 1), rest % (MOST_SHORT + 1), singletons)
        tables[JOINT_AT + joint] = of_joint @ np.array(shape, float)
    return tables


@compiled
def hand_points(tables, start, hand, suit):
    """Points of a hand with this suit as trump; the tables of the situation begin at `start`."""
    trumps = hand >> NUM_RANKS * suit & ONE_SUIT
    points = tables[start + TRUMP_AT + trumps]
    voids = 0
    singletons = 0
    for other in range(NUM_SUITS):
        if other != suit:
            ranks = hand >> NUM_RANKS * other & ONE_SUIT
            points += tables[start + PLAIN_AT + ranks]
            if ranks == 0:
                voids += 1
            elif ranks & (ranks - 1) == 0:
                singletons += 1
    shape = (bits.count(trumps) * (MOST_SHORT + 1) + voids) * (MOST_SHORT + 1) + singletons
    return points + tables[start + JOINT_AT + shape]
