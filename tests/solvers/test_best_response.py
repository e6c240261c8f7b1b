import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import best_response as openspiel_best_response
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import best_response, evaluate, exploitability, nash_conv
from solvers.cfr import CFRSolver
from tests.solvers.games import Load

OPENSPIEL_GAMES = ["kuhn_poker", "leduc_poker", "kuhn_poker(players=3)", "kuhn_poker(players=4)"]


def random_policy(game: pyspiel.Game, seed: int) -> openspiel_policy.TabularPolicy:
    policy = openspiel_policy.TabularPolicy(game)
    noise = np.random.default_rng(seed).exponential(size=policy.action_probability_array.shape)
    weights = noise * policy.legal_actions_mask
    policy.action_probability_array = weights / weights.sum(axis=1, keepdims=True)
    return policy


@pytest.mark.parametrize("name", OPENSPIEL_GAMES)
def test_nash_conv_of_random_policies_is_that_of_openspiel(load: Load, name: str) -> None:
    game = load(name)
    for seed in range(2):
        policy = random_policy(game, seed)
        in_cpp = openspiel_policy.python_policy_to_pyspiel_policy(policy)
        expected = pyspiel.nash_conv(game, in_cpp, use_state_get_policy=True)
        assert nash_conv(game, policy) == pytest.approx(expected, abs=1e-9)
        assert nash_conv(game, in_cpp) == pytest.approx(expected, abs=1e-9)
        assert exploitability(game, policy) == pytest.approx(expected / game.num_players(), abs=1e-9)


@pytest.mark.parametrize("name", OPENSPIEL_GAMES)
def test_nash_conv_of_averages_is_that_of_openspiel(load: Load, name: str) -> None:
    game = load(name)
    solver = CFRSolver(game, threads=1)
    solver.run(20)
    policy = solver.average_policy()
    expected = pyspiel.nash_conv(game, policy.to_pyspiel(), use_state_get_policy=True)
    assert solver.nash_conv() == pytest.approx(expected, abs=1e-9)
    assert nash_conv(game, policy) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_nash_conv_in_liars_dice(load: Load) -> None:
    game = load("liars_dice")
    solver = CFRSolver(game)
    solver.run(10)
    expected = pyspiel.nash_conv(game, solver.average_policy().to_pyspiel(), use_state_get_policy=True)
    assert solver.nash_conv() == pytest.approx(expected, abs=1e-9)


def test_nash_conv_of_a_general_sum_game_is_that_of_openspiel(load: Load) -> None:
    game = pyspiel.convert_to_turn_based(load("matrix_pd"))
    policy = random_policy(game, 3)
    assert nash_conv(game, policy) == pytest.approx(openspiel_exploitability.nash_conv(game, policy), abs=1e-9)


@pytest.mark.parametrize(
    "name", ["python_toepen(suits=2,ranks=2,hand_size=2)", pytest.param("python_kuhn_collab", marks=pytest.mark.slow)]
)
def test_our_games_agree_with_openspiels_python_walk(load: Load, name: str) -> None:
    game = load(name)
    solver = CFRSolver(game, initial="random", seed=1)
    solver.run(3)
    policy = solver.average_policy()
    assert solver.nash_conv() == pytest.approx(openspiel_exploitability.nash_conv(game, policy), abs=1e-9)


UNIFORM_TOEPEN = {  # value, best response of each player, NashConv of the uniform policy
    "suits=2,ranks=2,hand_size=2,betting=False": (1 / 3, 2 / 3, -1 / 3, 1 / 3),
    "suits=2,ranks=3,hand_size=2,betting=False": (0.2, 0.444444444, -0.133333333, 0.311111111),
    "suits=3,ranks=2,hand_size=2,betting=False": (0.466666667, 0.466666667, -0.4, 0.066666667),
    "suits=3,ranks=3,hand_size=2,betting=False": (0.392857143, 0.432539683, -0.321428571, 0.111111111),
    "suits=2,ranks=3,hand_size=2": (0.188085937, 1.585069444, 0.920833333, 2.505902778),
    "suits=3,ranks=2,hand_size=2": (0.392447917, 1.591666667, 0.666666667, 2.258333333),
}


@pytest.mark.parametrize("parameters", UNIFORM_TOEPEN)
def test_uniform_policy_in_toepen(load: Load, parameters: str) -> None:
    game = load(f"python_toepen({parameters})")
    result = evaluate(game, openspiel_policy.UniformRandomPolicy(game))
    value, first, second, total = UNIFORM_TOEPEN[parameters]
    assert result.values == pytest.approx([value, -value], abs=1e-9)
    assert result.best_response_values == pytest.approx([first, second], abs=1e-9)
    assert result.nash_conv == pytest.approx(total, abs=1e-9)


def test_uniform_policy_in_collaborative_kuhn(load: Load) -> None:
    game = load("python_kuhn_collab")
    uniform = openspiel_policy.UniformRandomPolicy(game)
    result = evaluate(game, uniform)
    assert result.values == pytest.approx([1 / 3456, -569 / 6912, 31 / 864, 319 / 6912], abs=1e-12)
    assert result.gains == pytest.approx([0.386574, 0.427324, 0.383552, 0.362831], abs=1e-6)
    total, gains = nash_conv(game, uniform, return_per_player=True)
    assert total == pytest.approx(1.560282, abs=1e-6)
    assert gains.sum() == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("name", ["leduc_poker", "kuhn_poker(players=3)"])
def test_best_response_policy_earns_its_value(load: Load, name: str) -> None:
    game = load(name)
    policy = random_policy(game, 5)
    for player in range(game.num_players()):
        response = best_response(game, policy, player)
        theirs = openspiel_best_response.BestResponsePolicy(game, player, policy)
        assert response.value == pytest.approx(theirs.value(game.new_initial_state()), abs=1e-9)
        assert evaluate(game, response.policy).values[player] == pytest.approx(response.value, abs=1e-9)


def test_a_sequence_form_may_stand_for_its_game(load: Load) -> None:
    form = SequenceForm.from_game(load("kuhn_poker"))
    uniform = openspiel_policy.UniformRandomPolicy(load("kuhn_poker"))
    assert nash_conv(form, uniform) == pytest.approx(11 / 12)


def test_bad_policies_and_players_are_refused(load: Load) -> None:
    game = load("kuhn_poker")
    policy = random_policy(game, 0)
    policy.action_probability_array[0] *= 2
    with pytest.raises(ValueError, match="sum to one"):
        nash_conv(game, policy)
    with pytest.raises(ValueError, match="player is 2; allowed: 0 to 1"):
        best_response(game, random_policy(game, 0), 2)
