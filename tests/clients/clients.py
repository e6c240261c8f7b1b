"""What people run on OpenSpiel games, each as a function of a game that does a little of it and looks at the result."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import (
    best_response,
    cfr,
    expected_game_score,
    exploitability,
    external_sampling_mccfr,
    fictitious_play,
    gambit,
    get_all_states,
    ismcts,
    mcts,
    mmd_dilated,
    outcome_sampling_mccfr,
    random_agent,
)
from open_spiel.python.bots import uniform_random
from open_spiel.python.observation import make_observation

import cardspiel  # noqa: F401 registers our games

Game: TypeAlias = pyspiel.Game


def two_player_zero_sum(game: Game) -> bool:
    return game.num_players() == 2 and game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM


def two_players(game: Game) -> bool:
    return game.num_players() == 2


def anything(game: Game) -> bool:
    return True


@dataclass(frozen=True)
class Client:
    run: Callable[[Game], object]
    whole_tree: bool  # walks all of the game, so only for small ones
    fits: Callable[[Game], bool] = anything
    slow: bool = False


# ------------------------------------------------------------------------------------------------ tabular


def tabular_cfr(game: Game, make: type) -> None:
    """OpenSpiel's in Python and in C++, which name the average differently."""
    solver = make(game)
    for _ in range(2):
        solver.evaluate_and_update_policy()
    average = getattr(solver, "tabular_average_policy", solver.average_policy)()
    state = first_decision(game)
    assert_policy(average.action_probabilities(state), state)


def mccfr(game: Game, solver: Any) -> None:
    """OpenSpiel's in Python and in C++, which name an iteration differently."""
    np.random.seed(1)
    iterate = solver.run_iteration if hasattr(solver, "run_iteration") else solver.iteration
    for _ in range(3):
        iterate()
    state = first_decision(game)
    assert_policy(solver.average_policy().action_probabilities(state), state)


def python_best_response(game: Game) -> None:
    uniform = openspiel_policy.UniformRandomPolicy(game)
    answers = [best_response.BestResponsePolicy(game, player, uniform) for player in range(game.num_players())]
    values = [answer.value(game.new_initial_state()) for answer in answers]
    everybody = [uniform] * game.num_players()
    gain = sum(values) - expected_game_score.policy_value(game.new_initial_state(), everybody).sum()
    assert np.isclose(gain, exploitability.nash_conv(game, uniform))


def cpp_nash_conv(game: Game) -> None:
    assert pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game)) >= 0.0


def extensive_fictitious_play(game: Game) -> None:
    solver = fictitious_play.XFPSolver(game)
    solver.iteration()
    assert exploitability.nash_conv(game, solver.average_policy()) >= 0.0


def magnetic_mirror_descent(game: Game) -> None:
    solver = mmd_dilated.MMDDilatedEnt(game, 0.1)
    before = solver.get_gap()
    for _ in range(20):
        solver.update_sequences()
    assert solver.get_gap() < before


def linear_program(game: Game) -> None:
    from open_spiel.python.algorithms import sequence_form_lp  # needs cvxpy and ecos

    from solvers.linear_program import solve

    value = sequence_form_lp.solve_zero_sum_game(game)[0]
    assert np.isclose(value, solve(game).value, atol=1e-6)


def all_states(game: Game) -> None:
    assert len(get_all_states.get_all_states(game, include_terminals=True)) > 5


def gambit_file(game: Game) -> None:
    assert gambit.export_gambit(game).startswith("EFG 2 R")


# ------------------------------------------------------------------------------------------------ search


def search(game: Game, make: Callable[[Game, np.random.RandomState], Any]) -> None:
    """One bot against random ones, to the end."""
    random_state = np.random.RandomState(1)
    others = [uniform_random.UniformRandomBot(player, random_state) for player in range(1, game.num_players())]
    bots, state = [make(game, random_state), *others], game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(random_state.choice(state.legal_actions()))
        else:
            state.apply_action(bots[state.current_player()].step(state))
    assert len(state.returns()) == game.num_players()


def python_mcts(game: Game) -> None:
    evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(2))
    search(game, lambda g, r: mcts.MCTSBot(g, 2.0, 5, evaluator, random_state=r, solve=False))


def python_ismcts(game: Game) -> None:
    evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(2))
    search(game, lambda g, r: ismcts.ISMCTSBot(g, evaluator, uct_c=2.0, max_simulations=5, random_state=r))


# ------------------------------------------------------------------------------------------------ learning


def learn(game: Game, make: Callable[..., Any]) -> None:
    """A few episodes of rl_environment with one learner."""
    environment = rl_environment.Environment(game)
    environment.seed(1)
    size = environment.observation_spec()["info_state"][0]
    actions = environment.action_spec()["num_actions"]
    agents = [make(0, size, actions)]
    agents += [random_agent.RandomAgent(player, actions) for player in range(1, game.num_players())]
    for _ in range(8):
        step = environment.reset()
        while not step.last():
            step = environment.step([agents[step.observations["current_player"]].step(step).action])
        for agent in agents:
            agent.step(step)


def dqn(game: Game) -> None:
    from open_spiel.python.pytorch import dqn as torch_dqn

    options = {"hidden_layers_sizes": [8], "replay_buffer_capacity": 100, "batch_size": 4, "learn_every": 8}
    options["min_buffer_size_to_learn"] = 5
    learn(game, lambda player, size, actions: torch_dqn.DQN(player, size, actions, **options))


def nfsp(game: Game) -> None:
    from open_spiel.python.pytorch import nfsp as torch_nfsp

    def make(player: int, size: int, actions: int) -> Any:
        options = {"batch_size": 4, "learn_every": 2, "replay_buffer_capacity": 100, "min_buffer_size_to_learn": 5}
        return torch_nfsp.NFSP(player, size, actions, [8], 100, 0.1, **options)

    learn(game, make)


def policy_gradient(game: Game) -> None:
    from open_spiel.python.pytorch import policy_gradient as torch_policy_gradient

    def make(player: int, size: int, actions: int) -> Any:
        return torch_policy_gradient.PolicyGradient(player, size, actions, hidden_layers_sizes=[8], batch_size=2)

    learn(game, make)


# ------------------------------------------------------------------------------------------------ states


def observers(game: Game) -> None:
    state = first_decision(game)
    for private in (pyspiel.PrivateInfoType.SINGLE_PLAYER, pyspiel.PrivateInfoType.NONE):
        kind = pyspiel.IIGObservationType(perfect_recall=True, public_info=True, private_info=private)
        observation = make_observation(game, kind)
        observation.set_from(state, 0)
        assert np.isfinite(observation.tensor).all()
        assert isinstance(observation.string_from(state, 0), str)
    assert state.information_state_tensor(0) != state.information_state_tensor(1)


def copies(game: Game) -> None:
    """Serialised, pickled, copied and cloned: the copy goes on as the original would."""
    state = first_decision(game)
    text = pyspiel.serialize_game_and_state(game, state)
    copied = [pyspiel.deserialize_game_and_state(text)[1], pickle.loads(pickle.dumps(state))]
    for other in (*copied, copy.deepcopy(state), state.clone()):
        other.apply_action(other.legal_actions()[0])
        assert other.history()[:-1] == state.history()
    assert str(pickle.loads(pickle.dumps(game))) == str(game)


def random_game(name: str, seed: int) -> list[float]:
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    return state.returns()


def threads(game: Game) -> None:
    names = [str(game)] * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(random_game, names, range(4)))
    assert found == [random_game(str(game), seed) for seed in range(4)]


def _in_another_process(name: str, seed: int) -> list[float]:
    return random_game(name, seed)


def processes(game: Game, method: str = "spawn") -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads about
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.starmap(_in_another_process, [(str(game), 1)]) == [random_game(str(game), 1)]


# ------------------------------------------------------------------------------------------------ transforms


def transformed(game: Game, text: str) -> Game:
    other = pyspiel.load_game(text.format(game))
    state = other.new_initial_state()
    rng = np.random.default_rng(1)
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    assert len(state.returns()) == other.num_players()
    return other


def first_decision(game: Game) -> pyspiel.State:
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    return state


def assert_policy(answer: Any, state: pyspiel.State) -> None:
    chances = dict(answer)
    assert set(chances) <= set(state.legal_actions())
    assert np.isclose(sum(chances.values()), 1.0)


CLIENTS = {
    "CFR in Python": Client(lambda game: tabular_cfr(game, cfr.CFRSolver), True),
    "CFR+ in Python": Client(lambda game: tabular_cfr(game, cfr.CFRPlusSolver), True),
    "CFR in C++": Client(lambda game: tabular_cfr(game, pyspiel.CFRSolver), True),
    "CFR+ in C++": Client(lambda game: tabular_cfr(game, pyspiel.CFRPlusSolver), True),
    "external sampling in Python": Client(
        lambda game: mccfr(game, external_sampling_mccfr.ExternalSamplingSolver(game)), True
    ),
    "outcome sampling in Python": Client(
        lambda game: mccfr(game, outcome_sampling_mccfr.OutcomeSamplingSolver(game)), False
    ),
    "external sampling in C++": Client(
        lambda game: mccfr(game, pyspiel.ExternalSamplingMCCFRSolver(game, seed=1)), True
    ),
    "outcome sampling in C++": Client(
        lambda game: mccfr(game, pyspiel.OutcomeSamplingMCCFRSolver(game, seed=1)), False
    ),
    "best response in Python": Client(python_best_response, True),
    "NashConv in C++": Client(cpp_nash_conv, True),
    "fictitious play": Client(extensive_fictitious_play, True, two_player_zero_sum, slow=True),
    "magnetic mirror descent": Client(magnetic_mirror_descent, True, two_player_zero_sum, slow=True),
    "sequence-form LP": Client(linear_program, True, two_player_zero_sum),
    "all states": Client(all_states, True),
    "Gambit file": Client(gambit_file, True),
    "MCTS in Python": Client(python_mcts, False),
    "ISMCTS in Python": Client(python_ismcts, False),
    "DQN": Client(dqn, False),
    "NFSP": Client(nfsp, False),
    "policy gradient": Client(policy_gradient, False),
    "observers": Client(observers, False),
    "copies": Client(copies, False),
    "threads": Client(threads, False),
    "fork": Client(lambda game: processes(game, "fork"), False, slow=True),
    "spawn": Client(processes, False, slow=True),
    "cached_tree": Client(lambda game: transformed(game, "cached_tree(game={})"), False),
    "misere": Client(lambda game: transformed(game, "misere(game={})"), False),
    "add_noise": Client(lambda game: transformed(game, "add_noise(epsilon=1.,seed=1,game={})"), False, two_players),
    "zerosum": Client(lambda game: transformed(game, "zerosum(game={})"), False),
    "coop_to_1p": Client(lambda game: transformed(game, "coop_to_1p(game={})"), False),
    "start_at": Client(lambda game: transformed(game, "start_at(history=0;1,game={})"), False),
}
