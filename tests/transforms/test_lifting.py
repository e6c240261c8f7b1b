"""The orbit quotient loses nothing, the thesis's mapping does; and bad input."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability
from open_spiel.python.policy import TabularPolicy, UniformRandomPolicy

import cardspiel  # noqa: F401
from solvers import linear_program
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import evaluate_probabilities, nash_conv, probabilities_of
from solvers.lifted import LiftingTable
from solvers.mccfr import ExternalSamplingSolver
from solvers.policies import TablePolicy
from transforms.lifting import lift

HAND_SIZE_TWO = [
    (suits, ranks, betting, follow_suit)
    for suits, ranks in [(2, 2), (2, 3), (3, 2), (3, 3)]
    for betting, follow_suit in [(False, True), (True, True), (True, False)]
]


def toepen(suits: int, ranks: int, betting: bool, follow_suit: bool) -> str:
    return f"python_toepen(suits={suits},ranks={ranks},hand_size=2,betting={betting},follow_suit={follow_suit})"


def isomorphism(base: str, method: str) -> pyspiel.Game:
    return pyspiel.load_game(f"python_card_isomorphism(game={base},method={method})")


def lifted_equilibrium(setting: tuple, method: str) -> tuple[float, float, float]:
    """Value and NashConv of an exact solution of the quotient, and the NashConv it has in the base game."""
    base = SequenceForm.from_game(pyspiel.load_game(toepen(*setting)))
    quotient = isomorphism(toepen(*setting), method)
    form = SequenceForm.from_game(quotient)
    solution = linear_program.solve(form)
    table = LiftingTable(base, quotient)
    lifted = table.lift(table.of_form(form, solution.policy.probabilities))
    return solution.value, solution.nash_conv, evaluate_probabilities(base, lifted).nash_conv


@pytest.mark.parametrize("setting", HAND_SIZE_TWO)
def test_exact_solutions_of_the_orbit_quotient_are_exact_in_the_game(setting: tuple) -> None:
    value, inside, lifted = lifted_equilibrium(setting, "orbit")
    assert abs(inside) <= 1e-9
    assert abs(lifted) <= 1e-9
    known = {
        (2, 2, False, True): 2 / 3,
        (2, 3, False, True): 17 / 45,
        (3, 2, False, True): 13 / 30,
        (3, 3, False, True): 95 / 252,
        (2, 3, True, True): 0.478252503022,
        (3, 2, True, True): 0.534463019250,
    }
    if setting in known:
        assert value == pytest.approx(known[setting], abs=1e-9)


@pytest.mark.parametrize("setting", [(3, 3, False, True), (2, 3, True, True), (3, 2, True, True)])
def test_exact_solutions_of_the_mapping_of_the_thesis_are_not(setting: tuple) -> None:
    """How much is lost depends on which of many equilibria is found."""
    _, inside, lifted = lifted_equilibrium(setting, "thesis")
    assert abs(inside) <= 1e-9
    assert lifted > 0.002


def random_policy(game: pyspiel.Game, seed: int) -> TabularPolicy:
    policy = TabularPolicy(game)
    weights = np.random.default_rng(seed).exponential(size=policy.action_probability_array.shape)
    weights *= policy.legal_actions_mask
    policy.action_probability_array[:] = weights / weights.sum(axis=1, keepdims=True)
    return policy


@pytest.mark.parametrize("method", ["orbit", "thesis"])
def test_three_ways_to_nash_conv(method: str) -> None:
    """Inside the quotient, lifted state by state and judged by OpenSpiel, and lifted as a table."""
    base = pyspiel.load_game(toepen(3, 2, False, True))
    quotient = isomorphism(toepen(3, 2, False, True), method)
    policy = random_policy(quotient, 1)
    lifted = lift(policy, quotient, base)
    slowly = exploitability.nash_conv(base, lifted)
    form, inner = SequenceForm.from_game(base), SequenceForm.from_game(quotient)
    table = LiftingTable(form, quotient)
    probabilities = table.lift(table.of_form(inner, probabilities_of(inner, policy)))
    assert evaluate_probabilities(form, probabilities).nash_conv == pytest.approx(slowly, abs=1e-12)
    inside = exploitability.nash_conv(quotient, policy)
    if method == "orbit":
        assert inside == pytest.approx(slowly, abs=1e-12)
    else:
        assert inside <= slowly + 1e-12  # the best response has fewer information sets there


@pytest.mark.parametrize("setting", [(2, 3, True, True), (3, 3, True, False)])
def test_nash_conv_of_the_orbit_quotient_is_that_of_the_lifted_policy(setting: tuple) -> None:
    form = SequenceForm.from_game(pyspiel.load_game(toepen(*setting)))
    quotient = isomorphism(toepen(*setting), "orbit")
    inner = SequenceForm.from_game(quotient)
    table = LiftingTable(form, quotient)
    rng = np.random.default_rng(2)
    for _ in range(3):
        probabilities = np.ones(inner.num_sequences)
        for number in range(inner.num_information_sets):
            weights = rng.exponential(size=int(inner.num_actions[number])) ** 3
            probabilities[inner.sequences(number)] = weights / weights.sum()
        inside = evaluate_probabilities(inner, probabilities)
        outside = evaluate_probabilities(form, table.lift(table.of_form(inner, probabilities)))
        np.testing.assert_allclose(outside.values, inside.values, atol=1e-12)
        np.testing.assert_allclose(outside.best_response_values, inside.best_response_values, atol=1e-12)


@pytest.mark.parametrize("method", ["orbit", "thesis"])
def test_sampled_abstractions_lift(method: str) -> None:
    """A sampling solver's table on a game of imperfect recall: read as a whole and asked state by state."""
    base = pyspiel.load_game(toepen(2, 2, True, True))
    inner = f"python_card_isomorphism(game={toepen(2, 2, True, True)},method={method})"
    game = pyspiel.load_game(f"python_bucketing(game={inner},hand=bucket,history=ante)")
    solver = ExternalSamplingSolver(game, seed=3)
    solver.run(500)
    form = SequenceForm.from_game(base)
    table = LiftingTable(form, game)
    as_table = evaluate_probabilities(form, table.lift(table.of_policy(solver.average_table()))).nash_conv
    asked = nash_conv(form, lift(solver.average_policy(), game, base))
    assert as_table == pytest.approx(asked, abs=1e-12)
    assert as_table > 0.01


def test_lifting_onto_the_quotient_is_lifting_onto_the_game() -> None:
    """For an abstraction over orbits it does not matter where its exploitability is measured."""
    base_name = toepen(3, 2, True, True)
    quotient = isomorphism(base_name, "orbit")
    game = pyspiel.load_game(f"python_bucketing(game={quotient},hand=bucket,history=ante)")
    solver = ExternalSamplingSolver(game, seed=4)
    solver.run(2000)
    results = []
    for inside in (pyspiel.load_game(base_name), quotient):
        form = SequenceForm.from_game(inside)
        table = LiftingTable(form, game)
        lifted = table.lift(table.of_policy(solver.average_table()))
        results.append(evaluate_probabilities(form, lifted))
    np.testing.assert_allclose(results[0].best_response_values, results[1].best_response_values, atol=1e-12)
    np.testing.assert_allclose(results[0].values, results[1].values, atol=1e-12)


def test_uniform_stays_uniform() -> None:
    base = pyspiel.load_game(toepen(3, 2, False, True))
    quotient = isomorphism(toepen(3, 2, False, True), "orbit")
    lifted = lift(UniformRandomPolicy(quotient), quotient, base)
    assert exploitability.nash_conv(base, lifted) == pytest.approx(0.066666667)


def test_bad_input() -> None:
    base, other = pyspiel.load_game(toepen(2, 2, True, True)), pyspiel.load_game(toepen(2, 3, True, True))
    quotient = isomorphism(toepen(2, 2, True, True), "orbit")
    thesis = isomorphism(toepen(2, 2, True, True), "thesis")
    with pytest.raises(ValueError, match=r"base_game is .*ranks=3.*; allowed: games inside"):
        lift(UniformRandomPolicy(quotient), quotient, other)
    with pytest.raises(ValueError, match=r"the policy is one of .*thesis.*, not of the transform"):
        lift(UniformRandomPolicy(thesis), quotient, base)
    with pytest.raises(ValueError, match="none, as it is no transform"):
        lift(UniformRandomPolicy(base), base, base)
    tied = pyspiel.load_game("python_tied_rewards(game=python_kuhn_collab())")
    with pytest.raises(ValueError, match="nothing to lift"):
        lift(UniformRandomPolicy(tied), tied, tied.base)
    form = SequenceForm.from_game(base)
    with pytest.raises(ValueError, match="allowed: games inside"):
        LiftingTable(form, isomorphism(toepen(2, 3, True, True), "orbit"))
    table = LiftingTable(form, quotient)
    with pytest.raises(ValueError, match="3 probabilities were given"):
        table.of_tree(SequenceForm.from_game(quotient).tree, np.ones(3))
    assert isinstance(linear_program.solve(form).policy, TablePolicy)
