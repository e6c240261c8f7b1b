import pytest

from solvers.best_response import nash_conv
from solvers.cfr import CFRSolver
from solvers.linear_program import solve
from tests.solvers.games import Load

VALUES = {
    "kuhn_poker": -1 / 18,
    "python_toepen(suits=2,ranks=2,hand_size=2,betting=False)": 2 / 3,
    "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)": 17 / 45,
    "python_toepen(suits=3,ranks=2,hand_size=2,betting=False)": 13 / 30,
    "python_toepen(suits=3,ranks=3,hand_size=2,betting=False)": 95 / 252,
    "python_toepen(suits=2,ranks=3,hand_size=2)": 0.478252503022,
    "python_toepen(suits=3,ranks=2,hand_size=2)": 0.534463019250,
}


@pytest.mark.parametrize("name", VALUES)
def test_values(load: Load, name: str) -> None:
    solution = solve(load(name))
    assert solution.value == pytest.approx(VALUES[name], abs=1e-9)
    assert solution.nash_conv == pytest.approx(0.0, abs=1e-8)
    assert nash_conv(load(name), solution.policy) == solution.nash_conv


def test_leduc_agrees_with_cfr(load: Load) -> None:
    solution = solve(load("leduc_poker"))
    assert solution.value == pytest.approx(-0.0856064, abs=1e-7)
    assert solution.nash_conv == pytest.approx(0.0, abs=1e-8)
    solver = CFRSolver(load("leduc_poker"))
    solver.run(3000)
    assert solver.values()[0] == pytest.approx(solution.value, abs=solver.nash_conv())


def test_other_games_are_refused(load: Load) -> None:
    with pytest.raises(ValueError, match=r"3 players.*two-player zero-sum"):
        solve(load("kuhn_poker(players=3)"))
