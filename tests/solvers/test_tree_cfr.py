import numpy as np
import pytest

from solvers.arrays.tree import GameTree
from solvers.best_response import probabilities_of
from solvers.cfr import VARIANTS, CFRSolver
from solvers.tree_cfr import TreeCFRSolver
from tests.solvers.games import ForgetfulGame, Load


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["leduc_poker", "python_toepen(suits=2,ranks=2,hand_size=2)"])
def test_with_perfect_recall_it_is_cfr(load: Load, name: str, variant: str, alternating: bool) -> None:
    game = load(name)
    form, tree = CFRSolver(game, variant, alternating), TreeCFRSolver(game, variant, alternating)
    form.run(20)
    tree.run(20)
    difference = form.average_policy().probabilities - probabilities_of(form.form, tree.average_policy())
    assert np.abs(difference).max() < 1e-9


def test_a_forgetful_player_learns_to_be_consistent() -> None:
    solver = TreeCFRSolver(ForgetfulGame(), "cfr_plus", initial="random", seed=0)
    solver.run(500)
    state = solver.game.new_initial_state()
    assert solver.average_policy().action_probabilities(state)[1] > 0.95  # both switches at 1 pay most
    state.apply_action(1)
    state.apply_action(1)
    assert solver.average_policy().action_probabilities(state)[1] > 0.95


def test_interrupted_and_uninterrupted_runs_are_equal(load: Load) -> None:
    whole, first, second = (TreeCFRSolver(load("kuhn_poker"), "pcfr_plus") for _ in range(3))
    whole.run(30)
    first.run(12)
    second.set_state(first.get_state())
    second.run(18)
    for name, table in whole.get_state().items():
        assert (second.get_state()[name] == table).all(), name


def test_too_large_trees_are_refused(load: Load) -> None:
    tree = GameTree.from_game(load("leduc_poker"))
    with pytest.raises(MemoryError, match="tree CFR on leduc_poker"):
        TreeCFRSolver(load("leduc_poker"), tree=tree, max_memory_bytes=200_000)
