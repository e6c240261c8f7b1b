"""One setting of Toepen counted and solved: the rows of `experiments.toepen_counts`."""

from __future__ import annotations

import math
import time
from typing import Any

import pyspiel

import cardspiel  # noqa: F401
from experiments.toepen.training import toepen, under_isomorphism
from solvers import linear_program
from solvers.arrays.sequence_form import SequenceForm
from solvers.arrays.tree import GameTree
from solvers.best_response import evaluate_probabilities
from solvers.lifted import LiftingTable, keys_in

# suits, ranks, hand size, betting: hand configurations, upper bound, information sets; after isomorphism
THESIS = {
    (2, 2, 2, False): (6, 48, 10, 6),
    (2, 2, 2, True): (6, 1_536, 496, 330),
    (2, 3, 2, False): (15, 240, 39, 21),
    (2, 3, 2, True): (15, 7_680, 3_552, 2_130),
    (3, 2, 2, False): (15, 240, 51, 14),
    (3, 2, 2, True): (15, 7_680, 3_576, 954),
    (3, 3, 2, False): (36, 1_008, 180, 48),
    (3, 3, 2, True): (36, 32_256, 22_338, 5_586),
    (3, 3, 3, False): (84, 30_240, 4_584, 1_173),
    (3, 3, 3, True): (84, 3_870_720, 1_366_338, 376_958),
}

Item = tuple[tuple[int, int, int, bool], bool]  # setting, and whether suits are followed


def hand_configurations(suits: int, ranks: int, hand_size: int) -> int:
    return math.comb(suits * ranks, hand_size)


def upper_bound(suits: int, ranks: int, hand_size: int, betting: bool) -> int:
    """The thesis's bound: hands, times opponent's cards and own playable cards, times betting, for two players."""
    cards = suits * ranks
    rounds = math.prod((cards - hand_size - i + 1) * (i + 1) for i in range(1, hand_size))
    return 2 * math.comb(cards, hand_size) * rounds * (2 ** (2 * hand_size + 1) if betting else 1)


def count(shared: None, item: Item) -> dict[str, Any]:
    """One row: what is counted, and what the thesis printed."""
    setting, follow_suit = item
    start = time.perf_counter()
    suits, ranks, hand_size, betting = setting
    configurations, bound, printed, printed_after = THESIS[setting]
    name = toepen(suits, ranks, hand_size, betting, follow_suit)
    base = pyspiel.load_game(name)
    tree = GameTree.from_game(base)
    orbits = pyspiel.load_game(under_isomorphism(name, "orbit"))
    applies = follow_suit != betting  # the thesis's program lost the duty to follow suit with betting, and only then
    return {
        "setting": f"{suits}-{ranks}-{hand_size}",
        "betting": betting,
        "follow_suit": follow_suit,
        "hands": hand_configurations(suits, ranks, hand_size),
        "thesis_hands": configurations,
        "bound": upper_bound(suits, ranks, hand_size, betting),
        "thesis_bound": bound,
        "information_sets": tree.num_information_sets,
        "first_player": int((tree.owner == 0).sum()),
        "thesis_table_3_1": printed if applies else "",
        "thesis_isomorphism": len(keys_in(pyspiel.load_game(under_isomorphism(name, "thesis")), base, tree)),
        "thesis_table_3_2": printed_after if applies else "",
        "orbits": len(keys_in(orbits, base, tree)),
        "decisions_of_the_quotient": GameTree.from_game(orbits).num_information_sets,
        "seconds": round(time.perf_counter() - start, 2),
    }


def lifted_nash_conv(name: str, method: str) -> float:
    """What an exact solution of the quotient has in the game itself; 0 if the isomorphism loses nothing."""
    form = SequenceForm.from_game(pyspiel.load_game(name))
    quotient = pyspiel.load_game(under_isomorphism(name, method))
    inner = SequenceForm.from_game(quotient)
    table = LiftingTable(form, quotient)
    solution = linear_program.solve(inner)
    return evaluate_probabilities(form, table.lift(table.of_form(inner, solution.policy.probabilities))).nash_conv


def loss(shared: None, item: Item) -> dict[str, Any]:
    """One row: what each isomorphism loses."""
    setting, follow_suit = item
    suits, ranks, hand_size, betting = setting
    name = toepen(suits, ranks, hand_size, betting, follow_suit)
    return {
        "setting": f"{suits}-{ranks}-{hand_size}",
        "betting": betting,
        "follow_suit": follow_suit,
        "thesis_isomorphism": abs(lifted_nash_conv(name, "thesis")),
        "orbits": abs(lifted_nash_conv(name, "orbit")),
    }
