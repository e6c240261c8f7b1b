"""Small Coinche for two, solved: exploitability below a thousandth of the payoff range."""

import pyspiel
import pytest

import coinche_spiel  # noqa: F401
from solvers.cfr import CFRSolver
from tests.variants import COINCHE_D0

COINCHE_D1 = (
    "python_coinche(players=2,suits=2,ranks=9JTA,hand_size=3,min_bid=50,max_bid=50,fall_points=80,capot_value=0)"
)


@pytest.mark.parametrize(("name", "iterations"), [(COINCHE_D0, 100), (COINCHE_D1, 200)], ids=["D0", "D1"])
def test_two_player_variants_are_solved(name: str, iterations: int) -> None:
    game = pyspiel.load_game(name)
    solver = CFRSolver(game, variant="dcfr")
    start = solver.exploitability()
    solver.run(iterations)
    payoff_range = game.max_utility() - game.min_utility()
    assert solver.exploitability() < 1e-3 * payoff_range < start
