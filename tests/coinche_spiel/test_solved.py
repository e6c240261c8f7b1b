"""Small Coinche for two, solved: exploitability below a thousandth of the payoff range."""

import pyspiel
import pytest

import coinche_spiel  # noqa: F401
from coinche_spiel.small import SMALL_VARIANTS
from solvers.cfr import CFRSolver


@pytest.mark.parametrize(("name", "iterations"), [("D0", 100), ("D1", 200)])
def test_two_player_variants_are_solved(name: str, iterations: int) -> None:
    game = pyspiel.load_game(SMALL_VARIANTS[name])
    solver = CFRSolver(game, variant="dcfr")
    start = solver.exploitability()
    solver.run(iterations)
    payoff_range = game.max_utility() - game.min_utility()
    assert solver.exploitability() < 1e-3 * payoff_range < start
