import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import discounted_cfr as openspiel_dcfr
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

from solvers.arrays import layout
from solvers.arrays.sequence_form import SequenceForm, sequence_form
from solvers.best_response import probabilities_of
from solvers.cfr import VARIANTS, CFRSolver
from tests.solvers.games import Load


def largest_difference(solver: CFRSolver, policy: Any) -> float:
    """Between the solver's average and another policy, over all actions at which the player can arrive."""
    return float(np.abs(solver.average_policy().probabilities - probabilities_of(solver.form, policy)).max())


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
@pytest.mark.parametrize(("variant", "openspiel"), [("cfr", pyspiel.CFRSolver), ("cfr_plus", pyspiel.CFRPlusSolver)])
def test_averages_are_those_of_openspiels_cpp_solvers(load: Load, name: str, variant: str, openspiel: Callable) -> None:
    game = load(name)
    ours, theirs = CFRSolver(game, variant), openspiel(game)
    for iteration in range(1, 101):
        ours.evaluate_and_update_policy()
        theirs.evaluate_and_update_policy()
        if iteration in (20, 100):
            tolerance = 1e-9 if iteration == 20 else 1e-6
            assert largest_difference(ours, theirs.tabular_average_policy()) < tolerance


@pytest.mark.parametrize(
    ("variant", "alternating", "openspiel"),
    [
        ("cfr", True, lambda game: openspiel_cfr.CFRSolver(game)),
        ("cfr_plus", True, lambda game: openspiel_cfr.CFRPlusSolver(game)),
        ("cfr", False, lambda game: openspiel_cfr._CFRSolver(game, False, False, False)),
        ("cfr_plus", False, lambda game: openspiel_cfr._CFRSolver(game, False, True, True)),
        ("linear_cfr", True, lambda game: openspiel_dcfr.LCFRSolver(game)),
        ("dcfr", True, lambda game: openspiel_dcfr.DCFRSolver(game)),
    ],
)
@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_averages_are_those_of_openspiels_python_solvers(
    load: Load, name: str, variant: str, alternating: bool, openspiel: Callable
) -> None:
    game = load(name)
    ours, theirs = CFRSolver(game, variant, alternating), openspiel(game)
    for _ in range(20):
        ours.evaluate_and_update_policy()
        theirs.evaluate_and_update_policy()
    assert largest_difference(ours, theirs.average_policy()) < 1e-9
    current = np.abs(ours.current_policy().probabilities - probabilities_of(ours.form, theirs.current_policy()))
    assert current.max() < 1e-9


@pytest.mark.parametrize(("variant", "bound"), [*zip(VARIANTS, (0.1, 0.01, 0.05, 0.01, 0.01), strict=True)])
def test_variants_converge_in_leduc(load: Load, variant: str, bound: float) -> None:
    solver = CFRSolver(load("leduc_poker"), variant)
    solver.run(300)
    assert 0.0 < solver.nash_conv() < bound
    assert solver.values()[0] == pytest.approx(-0.0856064, abs=bound / 2)
    assert solver.exploitability() == pytest.approx(solver.nash_conv() / 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_solve_toepen_of_six_cards(load: Load, variant: str) -> None:
    solver = CFRSolver(load("python_toepen(suits=2,ranks=3,hand_size=2)"), variant)
    solver.run(500)
    assert solver.nash_conv() < 0.05
    assert solver.values()[0] == pytest.approx(0.478252503022, abs=0.01)


def test_openspiels_tools_accept_the_policies(load: Load) -> None:
    game = load("kuhn_poker")
    solver = CFRSolver(game)
    solver.run(50)
    expected = solver.nash_conv()
    average = solver.average_policy()
    assert openspiel_exploitability.nash_conv(game, average) == pytest.approx(expected, abs=1e-9)
    assert openspiel_exploitability.nash_conv(game, average.to_tabular()) == pytest.approx(expected, abs=1e-9)
    assert pyspiel.nash_conv(game, average.to_pyspiel()) == pytest.approx(expected, abs=1e-9)


def test_policies_are_snapshots(load: Load) -> None:
    solver = CFRSolver(load("kuhn_poker"))
    solver.run(3)
    before = solver.average_policy()
    values = before.probabilities.copy()
    solver.run(10)
    assert (before.probabilities == values).all()


def test_nothing_done_yet_is_uniform(load: Load) -> None:
    solver = CFRSolver(load("kuhn_poker"))
    assert solver.iterations == 0
    assert solver.nash_conv() == pytest.approx(11 / 12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_initial_strategies(load: Load, variant: str) -> None:
    game = load("leduc_poker")
    start = CFRSolver(game, variant, initial="random", seed=3).current_policy().probabilities
    assert (start == CFRSolver(game, variant, initial="random", seed=3).current_policy().probabilities).all()
    assert (start != CFRSolver(game, variant, initial="random", seed=4).current_policy().probabilities).any()
    # Dirichlet(1, 1): the first of two probabilities is uniform on [0, 1].
    form = sequence_form(game)
    first = start[form.first_sequence[form.num_actions == 2]]
    assert first.mean() == pytest.approx(1 / 2, abs=0.05)
    assert first.var() == pytest.approx(1 / 12, abs=0.02)
    solver = CFRSolver(game, variant, initial="random", seed=3)
    solver.run(1)
    assert solver.average_policy().probabilities == pytest.approx(start, abs=1e-12)
    solver.run(299)
    assert solver.nash_conv() < 0.15


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_interrupted_and_uninterrupted_runs_are_equal_to_the_last_bit(
    load: Load, variant: str, alternating: bool
) -> None:
    game = load("leduc_poker")
    whole = CFRSolver(game, variant, alternating)
    whole.run(25)
    first = CFRSolver(game, variant, alternating)
    first.run(10)
    second = CFRSolver(game, variant, alternating)
    second.set_state(first.get_state())
    for _ in range(15):
        second.evaluate_and_update_policy()
    for name, table in whole.get_state().items():
        assert (second.get_state()[name] == table).all(), name


def test_foreign_states_are_refused(load: Load) -> None:
    solver = CFRSolver(load("kuhn_poker"), "dcfr")
    state = solver.get_state()
    with pytest.raises(ValueError, match=r"dcfr.*not of cfr_plus"):
        CFRSolver(load("kuhn_poker")).set_state(state)
    with pytest.raises(ValueError, match=r"gamma=2.*not of.*gamma=3"):
        CFRSolver(load("kuhn_poker"), "dcfr", gamma=3.0).set_state(state)
    with pytest.raises(ValueError, match="another game"):
        CFRSolver(load("leduc_poker"), "dcfr").set_state(state)
    with pytest.raises(ValueError, match="lacks average"):
        solver.set_state({name: table for name, table in state.items() if name != "average"})


def test_bad_arguments_are_refused(load: Load) -> None:
    game = load("kuhn_poker")
    with pytest.raises(ValueError, match=r"variant is 'cfr\+'; allowed: cfr, cfr_plus"):
        CFRSolver(game, "cfr+")
    with pytest.raises(ValueError, match="no parameter alpha; allowed: none"):
        CFRSolver(game, alpha=2.0)
    with pytest.raises(ValueError, match="initial is 'zero'"):
        CFRSolver(game, initial="zero")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="threads is 0"):
        CFRSolver(game, threads=0)


@pytest.mark.parametrize("alternating", [True, False])
def test_results_do_not_depend_on_threads(load: Load, monkeypatch: pytest.MonkeyPatch, alternating: bool) -> None:
    monkeypatch.setattr(layout, "PARALLEL_INFORMATION_SETS", 10)
    form = SequenceForm.from_game(load("leduc_poker"))
    assert len(form.arrays.block_start) == 5  # two blocks a player
    solvers = [CFRSolver(form, "dcfr", alternating, threads=threads) for threads in (1, 2)]
    for solver in solvers:
        solver.run(30)
    one, two = (solver.average_policy().probabilities for solver in solvers)
    assert one == pytest.approx(two, abs=1e-12)
    unsplit = CFRSolver(load("leduc_poker"), "dcfr", alternating)
    unsplit.run(30)
    assert solvers[0].nash_conv() == pytest.approx(unsplit.nash_conv(), abs=1e-9)


def test_many_players_and_general_sums(load: Load) -> None:
    tied = load("python_tied_rewards(game=python_kuhn_collab())")
    for game in (load("kuhn_poker(players=4)"), load("python_kuhn_collab"), tied):
        solver = CFRSolver(game, "cfr")
        start = solver.nash_conv()
        solver.run(100)
        assert solver.nash_conv() < start / 10


@pytest.mark.slow
def test_liars_dice_is_the_same_as_in_openspiel(load: Load) -> None:
    game = load("liars_dice")
    ours, theirs = CFRSolver(game), pyspiel.CFRPlusSolver(game)
    for _ in range(5):
        ours.evaluate_and_update_policy()
        theirs.evaluate_and_update_policy()
    assert largest_difference(ours, theirs.tabular_average_policy()) < 1e-9


@pytest.mark.slow
def test_toepen_333_is_solved(load: Load) -> None:
    solver = CFRSolver(load("python_toepen(suits=3,ranks=3,hand_size=3)"), "dcfr", threads=1)
    solver.run(350)
    assert solver.nash_conv() <= 0.001


def test_memory_does_not_grow_with_the_iterations(load: Load) -> None:
    """The discounts of a hundred thousand iterations would be megabytes; in pages they are what one page is."""
    solver = CFRSolver(load("kuhn_poker"), "dcfr", threads=1)
    solver.run(2)
    tracemalloc.start()
    solver.run(100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("variant", VARIANTS)
def test_discounts_in_pages_are_those_of_one_long_table(load: Load, variant: str) -> None:
    """Cut anywhere, a run over several pages is what the formulas say, to the last bit."""
    whole, cut = (CFRSolver(load("kuhn_poker"), variant, threads=1) for _ in range(2))
    whole.run(9000)
    for piece in (1, 4094, 2, 0, 4000, 903):
        cut.run(piece)
    assert {name: array.tobytes() for name, array in whole.get_state().items()} == {
        name: array.tobytes() for name, array in cut.get_state().items()
    }
    t = np.arange(1, 9001, dtype=np.float64)
    weights = np.broadcast_to(VARIANTS[variant].discounts(t, **VARIANTS[variant].parameters)[2], t.shape)
    assert whole.get_state()["average"][0] == np.cumsum(weights)[-1]
