"""What every game must pass: OpenSpiel's own checks, OpenSpiel's solvers, and the kernel against its pyspiel face."""

import copy
import math
import os
import pickle
import subprocess
import sys
import unittest
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import pytest
from absl import flags
from open_spiel.integration_tests import api_test
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import cfr, exploitability, generate_playthrough, ismcts, mcts
from open_spiel.python.algorithms import external_sampling_mccfr as external_mccfr
from open_spiel.python.algorithms.get_all_states import get_all_states
from open_spiel.python.observation import make_observation
from open_spiel.python.policy import TabularPolicy, UniformRandomPolicy
from open_spiel.python.tests import games_sim_test

import cardspiel
from cardtable.batch import Batch
from cardtable.rules import CHANCE, TERMINAL
from tests.toepen_spiel import oracle as toepen_oracle
from tests.variants import ALL, COINCHE_D0, COINCHE_M0, GONGZHU_SMALL, QUICK

PLAYTHROUGHS = Path(__file__).parent / "playthroughs"


def random_states(game: pyspiel.Game, games: int, seed: int) -> Iterator[pyspiel.State]:
    """Every state on the way through random games."""
    rng = np.random.default_rng(seed)
    for _ in range(games):
        state = game.new_initial_state()
        yield state
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            yield state


def test_every_registered_game_is_tested() -> None:
    tested = {name.split("(")[0] for name in QUICK}
    assert tested == {*cardspiel.GAMES, *cardspiel.TRANSFORMS}
    assert tested <= set(pyspiel.registered_names())


# How many games are played where more of them find more: a few in the quick tests, all in the long ones.
SHARE = [0.2, pytest.param(1.0, marks=pytest.mark.slow)]


@pytest.mark.parametrize("share", SHARE)
@pytest.mark.parametrize("name", ALL)
def test_kernel_and_pyspiel_face_are_the_same_game(name: str, share: float) -> None:
    """A batch of games dealt and stepped by the kernel, and the same moves through pyspiel, compared at every step."""
    game = pyspiel.load_game(name)
    rules = game.rules
    games = int(share * (1000 if rules.max_game_length <= 30 else 150))  # thousands over the variants of each game
    batch = Batch(rules, games, seed=1)
    states = [game.new_initial_state() for _ in range(games)]
    rng = np.random.default_rng(2)
    for state, array in zip(states, batch.states, strict=True):
        state.follow_chance(array, rng.random)

    string_of_key: dict = {}
    steps = 0
    while True:
        players, masks = batch.current_players(), batch.legal_mask()
        keys, information = batch.information_keys(), batch.information_tensors()
        observations, returns = batch.observation_tensors(), batch.returns()
        actions = np.zeros(games, np.int64)
        for row, state in enumerate(states):
            assert state.current_player() == players[row]
            legal = state.legal_actions()
            assert legal == np.flatnonzero(masks[row]).tolist()
            assert state.returns() == returns[row].tolist()
            if state.is_terminal():
                assert (
                    np.isclose(sum(state.returns()), 0) or game.get_type().utility != pyspiel.GameType.Utility.ZERO_SUM
                )
                assert all(game.min_utility() <= value <= game.max_utility() for value in state.returns())
                continue
            player = int(players[row])
            key = tuple(keys[row].tolist())
            assert state.information_key() == key
            string = state.information_state_string()
            assert string_of_key.setdefault((player, key), string) == string
            assert state.information_state_tensor() == information[row].tolist()
            assert state.observation_tensor() == observations[row].tolist()
            actions[row] = legal[int(rng.random() * len(legal))]
            state.apply_action(actions[row])
        if (players == TERMINAL).all():
            break
        batch.step(actions)
        for state, array in zip(states, batch.states, strict=True):
            state.follow_chance(array, rng.random)
        steps += 1
    assert len(set(string_of_key.values())) == len(string_of_key), "two keys share one information-state string"
    assert steps <= game.max_game_length()


@pytest.mark.parametrize("name", ALL)
def test_random_simulation(name: str) -> None:
    pyspiel.random_sim_test(pyspiel.load_game(name), num_sims=10, serialize=True, verbose=False)


@pytest.mark.slow
def test_openspiel_games_sim_test(tmp_path: Path) -> None:
    """OpenSpiel's simulation tests, told of our games by loading cardspiel as a pytest plugin."""
    options = ["-q", "-rA", "-p", "cardspiel", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", os.devnull]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", games_sim_test.__file__, "-k", " or ".join(cardspiel.GAMES), *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    passed = [line for line in result.stdout.splitlines() if line.startswith("PASSED")]
    assert not [name for name in cardspiel.GAMES if not any(name in line for line in passed)], result.stdout


def run_api_test(base: type, name: str, game: pyspiel.Game, leave_out: tuple[str, ...] = ()) -> None:
    case = type("Case", (base,), {"game": game, "game_name": name})
    names = [test for test in unittest.defaultTestLoader.getTestCaseNames(case) if test not in leave_out]
    result = unittest.TestResult()
    unittest.TestSuite(case(test) for test in names).run(result)
    problems = result.failures + result.errors
    assert result.testsRun > 3
    assert not problems, problems[0][1]


def chance_nodes_of_a_deal(piles: tuple[int, ...]) -> int:
    """Ways to have dealt the first cards of the deck such that at least two piles have room: one chance node each."""

    def count(filled: tuple[int, ...]) -> int:
        open_piles = [pile for pile, size in enumerate(piles) if filled[pile] < size]
        if len(open_piles) < 2:
            return 0
        return 1 + sum(count(tuple(f + (p == pile) for p, f in enumerate(filled))) for pile in open_piles)

    return count((0,) * len(piles))


class TreeCounts(NamedTuple):
    """Sizes known without the game itself."""

    piles: tuple[int, ...]
    player_nodes: int
    terminals: int
    information_sets: int  # forced ones included


def toepen_counts(suits: int, ranks: int, hand_size: int, betting: bool) -> TreeCounts:
    size = toepen_oracle.size(suits, ranks, hand_size, betting, follow_suit=True)
    piles = (hand_size, hand_size, suits * ranks - 2 * hand_size)
    return TreeCounts(piles, size.nodes, size.terminals, size.all_information_sets)


FULL_TREES = {
    COINCHE_M0: TreeCounts((1, 1, 1, 1), 7200, 1368, 3888),
    COINCHE_D0: TreeCounts((2, 2, 2), 10116, 3078, 5262),
    "python_toepen(suits=1,ranks=2,hand_size=1)": toepen_counts(1, 2, 1, True),
    "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)": toepen_counts(2, 3, 2, False),
    "python_toepen(suits=2,ranks=2,hand_size=2)": toepen_counts(2, 2, 2, True),
    GONGZHU_SMALL: TreeCounts((2, 2, 2, 2), 85032, 14976, 47692),
}
SLOW_TREES = (GONGZHU_SMALL, COINCHE_D0)
TREES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW_TREES else name for name in FULL_TREES]


@pytest.mark.parametrize("name", TREES)
def test_openspiel_api_test_on_the_full_tree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = FULL_TREES[name]
    nodes = (chance_nodes_of_a_deal(counts.piles), counts.player_nodes, counts.terminals)
    monkeypatch.setitem(api_test.TOTAL_NUM_STATES, name, nodes)
    # OpenSpiel's recall test also demands that all histories of an information state have the same number of chance
    # nodes. Cards that can only go to one pile need none, so ours differ; the next test checks recall itself.
    run_api_test(
        api_test.EnforceAPIOnFullTreeBase, name, pyspiel.load_game(name), leave_out=("test_game_is_perfect_recall",)
    )


@pytest.mark.parametrize("name", TREES)
def test_perfect_recall(name: str) -> None:
    """A player who knows her information state knows all her earlier information states and actions, in order."""
    own_past: dict[tuple[int, str], tuple] = {}

    def walk(state: pyspiel.State, pasts: dict[int, tuple]) -> None:
        player = state.current_player()
        if player >= 0:
            name_of_set = state.information_state_string()
            assert own_past.setdefault((player, name_of_set), pasts[player]) == pasts[player]
        for action in state.legal_actions():
            past = {**pasts, player: (*pasts[player], (name_of_set, action))} if player >= 0 else pasts
            walk(state.child(action), past)

    game = pyspiel.load_game(name)
    walk(game.new_initial_state(), dict.fromkeys(range(game.num_players()), ()))
    assert len(own_past) == FULL_TREES[name].information_sets


@pytest.mark.parametrize("name", ALL)
def test_openspiel_api_test_on_some_states(name: str) -> None:
    run_api_test(api_test.EnforceAPIOnPartialTreeBase, name, pyspiel.load_game(name))


@pytest.mark.parametrize("path", sorted(PLAYTHROUGHS.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_playthrough(path: Path) -> None:
    flags.FLAGS.mark_as_parsed()  # OpenSpiel's generator reads command-line flags
    expected, actual = generate_playthrough.replay(str(path))
    assert actual.splitlines() == expected.splitlines()


def test_every_game_has_a_golden_playthrough() -> None:
    played = {path.stem.split("(")[0] for path in PLAYTHROUGHS.glob("*.txt")}
    assert played == {*cardspiel.GAMES, *cardspiel.TRANSFORMS}


@pytest.mark.parametrize("name", ALL)
def test_copies(name: str) -> None:
    """Games print and reload; states pickle, deep-copy, clone, and serialise, and the copy lives its own life."""
    game = pyspiel.load_game(name)
    assert str(pyspiel.load_game(str(game))) == str(game)
    assert str(pickle.loads(pickle.dumps(game))) == str(game)
    for number, state in enumerate(random_states(game, 2, seed=3)):
        copies = [state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
        copies.append(pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1])
        for other in copies:
            assert other.history() == state.history()
            assert str(other) == str(state)
            assert other.legal_actions() == state.legal_actions()
        if not state.is_terminal():
            before = state.array.copy()
            copies[number % 2].apply_action(state.legal_actions()[0])
            assert (state.array == before).all()


@pytest.mark.parametrize("name", ALL)
def test_illegal_actions_raise_and_change_nothing(name: str) -> None:
    game = pyspiel.load_game(name)
    for state in random_states(game, 3, seed=4):
        legal, array, history = state.legal_actions(), state.array.copy(), state.history()
        for action in {-5, game.num_distinct_actions(), 10**9, *range(game.num_distinct_actions())} - set(legal):
            with pytest.raises(ValueError, match=f"action {action} is not legal"):
                state.apply_action(action)
            assert (state.array == array).all()
            assert state.history() == history
            assert state.legal_actions() == legal


@pytest.mark.parametrize("name", ALL)
def test_observation_types(name: str) -> None:
    """Public pieces are the same for everybody, private ones agree with the single-player view."""
    game = pyspiel.load_game(name)
    kinds = pyspiel.PrivateInfoType
    for perfect_recall in (False, True):

        def observer(public: bool, private: kinds, recall: bool = perfect_recall) -> Any:  # type: ignore[valid-type]
            return make_observation(
                game, pyspiel.IIGObservationType(perfect_recall=recall, public_info=public, private_info=private)
            )

        public, everything = observer(True, kinds.NONE), observer(True, kinds.SINGLE_PLAYER)
        private, all_private = observer(False, kinds.SINGLE_PLAYER), observer(False, kinds.ALL_PLAYERS)
        for state in random_states(game, 3, seed=5):
            views = set()
            for player in range(game.num_players()):
                public.set_from(state, player)
                private.set_from(state, player)
                everything.set_from(state, player)
                all_private.set_from(state, player)
                views.add((public.string_from(state, player), public.tensor.tobytes()))
                assert public.dict.keys() | private.dict.keys() == everything.dict.keys()
                for piece, values in everything.dict.items():
                    assert (values == (public.dict if piece in public.dict else private.dict)[piece]).all()
                for piece, values in all_private.dict.items():
                    assert (values[player] == private.dict[piece]).all()
                assert private.string_from(state, player) in all_private.string_from(state, player)
            assert len(views) == 1


# Small games in which the dealt cards do not give everything away.
RESAMPLED = (
    "python_toepen(suits=3,ranks=2,hand_size=2,betting=False)",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in (
            "python_toepen(suits=3,ranks=2,hand_size=2,betting=False,follow_suit=False)",
            "python_toepen(suits=2,ranks=3,hand_size=2)",
            GONGZHU_SMALL,
        )
    ),
)


def states_by_information(game: pyspiel.Game) -> dict[tuple, set[str]]:
    """For each player and information state, the histories it cannot tell apart."""
    groups: dict[tuple, set[str]] = defaultdict(set)
    for state in get_all_states(game, include_terminals=False).values():
        for player in range(game.num_players()):
            groups[player, state.information_key(player)].add(str(state.history()))
    return groups


@pytest.mark.parametrize("name", RESAMPLED)
def test_resampling_is_uniform_over_what_the_player_cannot_tell_apart(name: str) -> None:
    game = pyspiel.load_game(name)
    groups = states_by_information(game)
    rng = np.random.default_rng(6)
    checked = 0
    for state in random_states(game, 12, seed=7):
        if state.is_chance_node() or state.is_terminal():
            continue
        for player in range(game.num_players()):
            group = groups[player, state.information_key(player)]
            draws = 60 * len(group)
            counts = Counter(str(state.resample_from_infostate(player, rng.random).history()) for _ in range(draws))
            assert set(counts) <= group
            chi_square = sum((counts[history] - 60) ** 2 / 60 for history in group)
            freedom = len(group) - 1
            # Wilson and Hilferty's approximation of the 1 - 1e-6 quantile: there are hundreds of these tests.
            limit = freedom * (1 - 2 / (9 * freedom) + 4.75 * math.sqrt(2 / (9 * freedom))) ** 3 if freedom else 0
            assert chi_square <= limit
            checked += freedom > 0
    assert checked > 5


@pytest.mark.parametrize("share", SHARE)
@pytest.mark.parametrize("name", ALL)
def test_resampled_states_look_the_same(name: str, share: float) -> None:
    game = pyspiel.load_game(name)
    rng = np.random.default_rng(8)
    for state in random_states(game, int(share * 10), seed=9):
        if state.current_player() in (CHANCE, TERMINAL):
            continue
        for player in range(game.num_players()):
            other = state.resample_from_infostate(player, rng.random)
            assert other.information_state_string(player) == state.information_state_string(player)
            assert other.current_player() == state.current_player()
            # Under a card isomorphism each player has her own names for actions, so only her own moves look the same.
            own_names = game.rules.origin is not None
            moves = [
                [
                    (move.player, move.action)
                    for move in one.full_history()
                    if (move.player == player if own_names else move.player != CHANCE)
                ]
                for one in (state, other)
            ]
            assert moves[0] == moves[1]


@pytest.mark.slow  # here and below: on tiny games all of OpenSpiel's algorithms run in the quick tests (tests/clients)
@pytest.mark.parametrize("name", cardspiel.GAMES)
def test_ismcts_bot_plays(name: str) -> None:
    game = pyspiel.load_game(name)
    rng = np.random.RandomState(10)
    bots = [
        ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), uct_c=2.0, max_simulations=20, random_state=rng)
        for _ in range(game.num_players())
    ]
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        else:
            state.apply_action(bots[state.current_player()].step(state))
    assert state.is_terminal()


@pytest.mark.parametrize("name", ALL)
def test_rl_environment(name: str) -> None:
    environment = rl_environment.Environment(pyspiel.load_game(name))
    environment.seed(11)
    rng = np.random.default_rng(12)
    for _ in range(5):
        step = environment.reset()
        while not step.last():
            player = step.observations["current_player"]
            step = environment.step([rng.choice(step.observations["legal_actions"][player])])
        assert len(step.rewards) == environment.num_players


SOLVED_BY_OPENSPIEL = "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)"
VALUE = 17 / 45  # the game's value for the first player (exact LP)


@pytest.mark.slow
@pytest.mark.parametrize("make", [cfr.CFRSolver, cfr.CFRPlusSolver, pyspiel.CFRSolver, pyspiel.CFRPlusSolver])
def test_openspiel_cfr_solves(make: type) -> None:
    game = pyspiel.load_game(SOLVED_BY_OPENSPIEL)
    solver = make(game)
    for _ in range(60):
        solver.evaluate_and_update_policy()
    average = solver.average_policy() if make.__module__ != "pyspiel" else solver.tabular_average_policy()
    in_python = isinstance(average, TabularPolicy)
    distance = exploitability.nash_conv(game, average) if in_python else pyspiel.nash_conv(game, average)
    assert distance < 0.01


@pytest.mark.slow
def test_openspiel_external_sampling_solves() -> None:
    game = pyspiel.load_game(SOLVED_BY_OPENSPIEL)
    np.random.seed(13)
    python_solver = external_mccfr.ExternalSamplingSolver(game)
    for _ in range(300):
        python_solver.iteration()
    assert exploitability.nash_conv(game, python_solver.average_policy()) < 0.12
    cpp_solver = pyspiel.ExternalSamplingMCCFRSolver(game, 14)
    for _ in range(2000):
        cpp_solver.run_iteration()
    average = cpp_solver.average_policy()
    assert pyspiel.nash_conv(game, average, use_state_get_policy=True) < 0.06


def test_openspiel_cpp_and_python_nash_conv_agree() -> None:
    game = pyspiel.load_game(SOLVED_BY_OPENSPIEL)
    assert exploitability.nash_conv(game, UniformRandomPolicy(game)) == pytest.approx(14 / 45)
    assert pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game)) == pytest.approx(14 / 45)
