"""Sizes and exact numbers of Collaborative Kuhn Poker under the uniform policy."""

from fractions import Fraction

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

import cardspiel  # noqa: F401
from solvers.arrays.tree import GameTree
from solvers.best_response import evaluate


def test_tree() -> None:
    tree = GameTree.from_game(pyspiel.load_game("python_kuhn_collab"))
    assert int((tree.player >= 0).sum()) == 18_720
    assert tree.num_terminals == 23_400
    assert np.bincount(tree.owner).tolist() == [78] * 4


def test_uniform_policy() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    uniform = evaluate(game, UniformRandomPolicy(game))
    values = [Fraction(1, 3456), Fraction(-569, 6912), Fraction(31, 864), Fraction(319, 6912)]
    assert uniform.values == pytest.approx([float(value) for value in values], abs=1e-12)
    assert uniform.gains == pytest.approx([0.386574, 0.427324, 0.383552, 0.362831], abs=5e-7)
    assert uniform.nash_conv == pytest.approx(1.560282, abs=5e-7)


def test_uniform_policy_with_tied_rewards() -> None:
    game = pyspiel.load_game("python_tied_rewards(game=python_kuhn_collab())")
    uniform = evaluate(game, UniformRandomPolicy(game))
    assert uniform.gains == pytest.approx([0.850598, 0.971740, 1.019772, 1.001640], abs=5e-7)
    assert uniform.nash_conv == pytest.approx(3.843750, abs=5e-7)
