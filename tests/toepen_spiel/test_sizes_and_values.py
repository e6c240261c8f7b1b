"""Sizes and values of small Toepen settings: the thesis's counts, and exact solutions by linear programming.

Information sets are those with two or more actions, as the thesis counts them. Its betting rows are for the game
without the duty to follow suit, which its program had lost.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

import toepen_spiel  # noqa: F401
from solvers import linear_program
from solvers.arrays.tree import GameTree
from solvers.best_response import evaluate
from tests.toepen_spiel import oracle


def load(setting: str, betting: bool, follow_suit: bool = True) -> pyspiel.Game:
    suits, ranks, hand_size = setting.split("-")
    return pyspiel.load_game(
        f"python_toepen(suits={suits},ranks={ranks},hand_size={hand_size},betting={betting},follow_suit={follow_suit})"
    )


# setting, betting, follow suit, information sets of player 0 and of player 1 (or only their sum)
COUNTS = [
    ("2-2-2", False, True, (6, 4)),
    ("2-2-2", True, True, (166, 170)),
    ("2-2-2", True, False, 496),
    ("2-3-2", False, True, (15, 24)),
    ("2-3-2", True, True, (1281, 1479)),
    ("2-3-2", True, False, 3552),
    ("3-2-2", False, True, (15, 36)),
    ("3-2-2", True, True, (1173, 1875)),
    ("3-2-2", True, False, 3576),
    ("3-3-2", False, True, (36, 144)),
    ("3-3-2", True, False, 22338),
    ("3-3-3", False, True, (1920, 2664)),
    ("3-3-3", True, True, (337014, 412428)),
    pytest.param("3-3-3", True, False, 1366338, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("setting", "betting", "follow_suit", "expected"), COUNTS)
def test_information_sets(setting: str, betting: bool, follow_suit: bool, expected: int | tuple[int, int]) -> None:
    owners = np.bincount(GameTree.from_game(load(setting, betting, follow_suit)).owner, minlength=2)
    assert (int(owners.sum()) if isinstance(expected, int) else tuple(owners.tolist())) == expected


@pytest.mark.parametrize(
    ("setting", "decisions", "terminals"),
    [("2-3-2", 5256, 5346), ("3-2-2", 6048, 6138), ("3-3-3", 1647762, 1660002)],
)
def test_nodes_with_betting(setting: str, decisions: int, terminals: int) -> None:
    tree = GameTree.from_game(load(setting, betting=True))
    assert (int((tree.player >= 0).sum()), tree.num_terminals) == (decisions, terminals)


@pytest.mark.parametrize(
    ("setting", "betting", "nodes"), [("2-3-2", False, 774), ("2-3-2", True, 10332), ("3-2-2", True, 11736)]
)
def test_player_nodes_with_forced_cards(setting: str, betting: bool, nodes: int) -> None:
    """Counted through pyspiel, and by the plain rules."""
    suits, ranks, hand_size = map(int, setting.split("-"))
    assert oracle.size(suits, ranks, hand_size, betting, follow_suit=True).nodes == nodes
    stack, found = [load(setting, betting).new_initial_state()], 0
    while stack:
        state = stack.pop()
        found += state.current_player() >= 0
        stack += [state.child(action) for action in state.legal_actions()]
    assert found == nodes


@pytest.mark.parametrize(("setting", "deals"), [("2-3-2", 90), ("3-2-2", 90), ("3-3-2", 756), ("3-3-3", 1680)])
def test_deals(setting: str, deals: int) -> None:
    stack, found = [load(setting, betting=True).new_initial_state()], 0
    while stack:
        state = stack.pop()
        if state.is_chance_node():
            stack += [state.child(action) for action in state.legal_actions()]
        else:
            found += 1
    assert found == deals


class Values(NamedTuple):
    value: float | Fraction  # of the game, for the first player
    uniform: float | Fraction  # when both play uniformly at random
    first_responds: float | Fraction  # best response of the first player to a uniform opponent
    second_responds: float | Fraction


VALUES = {
    ("2-2-2", False): Values(Fraction(2, 3), Fraction(1, 3), Fraction(2, 3), Fraction(-1, 3)),
    ("2-3-2", False): Values(Fraction(17, 45), 0.2, 0.444444444, -0.133333333),
    ("3-2-2", False): Values(Fraction(13, 30), 0.466666667, 0.466666667, -0.4),
    ("3-3-2", False): Values(Fraction(95, 252), 0.392857143, 0.432539683, -0.321428571),
    ("2-3-2", True): Values(0.478252503022, 0.188085937, 1.585069444, 0.920833333),
    ("3-2-2", True): Values(0.534463019250, 0.392447917, 1.591666667, 0.666666667),
}


@pytest.mark.parametrize("setting", VALUES)
def test_values(setting: tuple[str, bool]) -> None:
    game, expected = load(*setting), VALUES[setting]
    assert linear_program.solve(game).value == pytest.approx(float(expected.value), abs=1e-9)
    uniform = evaluate(game, UniformRandomPolicy(game))
    assert uniform.values == pytest.approx([float(expected.uniform), -float(expected.uniform)], abs=1e-9)
    responses = [float(expected.first_responds), float(expected.second_responds)]
    assert uniform.best_response_values == pytest.approx(responses, abs=1e-9)
    assert uniform.nash_conv == pytest.approx(sum(responses), abs=2e-9)
