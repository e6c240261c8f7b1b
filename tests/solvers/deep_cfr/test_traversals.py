"""Sampled regrets against exact ones: external and corrected sampling are unbiased, the paper's Algorithm 3 is not."""

import numpy as np
import pyspiel
import pytest
import torch

import cardspiel  # noqa: F401 registers the games
from cardtable.randomness import generator
from solvers.arrays.tree import representative_states
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.levels import LevelTraverser, NodeBudgetError
from solvers.deep_cfr.players import NetworkPolicy, networks_of
from solvers.deep_cfr.reservoir import unpack
from solvers.deep_cfr.sampling import regret_matching, traversal_number
from solvers.deep_cfr.tabulated import TabulatedGame
from tests.solvers.deep_cfr import oracle

SMALL = "python_toepen(suits=2,ranks=2,hand_size=2)"
CHUNKS, CHUNK = 120, 2000


def largest_z(found: np.ndarray, visited: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance of a mean over chunks from the truth, in standard errors.

    Only where a third of the chunks came by: rarer sums are not nearly normal.
    """
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    distance = np.abs(found.mean(axis=0) - exact)
    distance[distance < 1e-9] = 0.0
    judged = (visited.sum(axis=0) > len(visited) / 3) & (distance > 0.0)
    assert judged.sum() > 5
    return float((distance[judged] / np.maximum(error[judged], 1e-12)).max())


@pytest.mark.parametrize(
    ("advantages", "strategy"),
    [
        ([3.0, -1.0, 1.0], [0.75, 0.0, 0.25]),
        ([-3.0, -1.0, -2.0], [0.0, 1.0, 0.0]),  # none positive: the highest
        ([0.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]),
        ([-1.0, 0.0, 0.0], [0.0, 0.5, 0.5]),
    ],
)
def test_regret_matching(advantages: list[float], strategy: list[float]) -> None:
    found = np.array([*advantages, 7.0])  # what lies behind `count` is left alone
    regret_matching(found, 3)
    np.testing.assert_allclose(found, [*strategy, 7.0])


@pytest.mark.parametrize(
    ("game_name", "traversal", "tries", "unbiased"),
    [
        ("kuhn_poker", "external", 1, True),
        pytest.param("leduc_poker", "external", 1, True, marks=pytest.mark.slow),
        pytest.param("leduc_poker", "corrected", 1, True, marks=pytest.mark.slow),
        pytest.param("leduc_poker", "corrected", 2, True, marks=pytest.mark.slow),
        pytest.param("leduc_poker", "algorithm3_biased", 2, False, marks=pytest.mark.slow),
        pytest.param(SMALL, "corrected", 1, True, marks=pytest.mark.slow),
        (SMALL, "corrected", 2, True),
        (SMALL, "algorithm3_biased", 1, False),
    ],
)
def test_regrets_on_a_table(game_name: str, traversal: str, tries: int, unbiased: bool) -> None:
    game = pyspiel.load_game(game_name)
    tabulated = TabulatedGame(game)
    strategy_of = oracle.random_strategy(1)
    strategy = np.empty(tabulated.table_size)
    places = {}
    for number, state in representative_states(game, tabulated.tree):
        first = tabulated.tree.action_offset[number]
        for i, probability in enumerate(strategy_of(state).values()):
            strategy[first + i] = probability
        places[state.current_player(), state.information_state_string()] = first
    for player in range(2):
        exact = np.zeros(tabulated.table_size)
        for text, regrets in oracle.exact_regrets(game, player, strategy_of).items():
            for i, regret in enumerate(regrets.values()):
                exact[places[player, text] + i] = regret
        random_numbers = generator(player)
        found = np.zeros((CHUNKS, tabulated.table_size))
        visits = np.zeros((CHUNKS, tabulated.table_size))
        for row, weights in zip(found, visits, strict=True):
            sums = (row, weights, np.zeros(tabulated.table_size))
            number = traversal_number(traversal)
            tabulated.traverse(player, CHUNK, strategy, random_numbers, sums, number, tries, 0.6)
        visited = visits[:, tabulated.first_action[tabulated.set_of_action]] > 0.0
        assert (largest_z(found / CHUNK, visited, exact) < 6.0) == unbiased


def wide_awake(game: pyspiel.Game, seed: int = 1, **changes: object) -> LargeDeepCFR:
    """A trainer whose networks say something before any training."""
    trainer = LargeDeepCFR(game, large_settings(hidden_sizes=(16, 16), **changes), seed)
    random = np.random.default_rng(seed)
    for learner in trainer.learners:
        learner.set_weights(learner.weights() + 0.3 * random.standard_normal(len(learner.weights())))
    return trainer


@pytest.mark.parametrize(
    ("traversal", "tries", "unbiased"),
    [
        ("external", 1, True),
        pytest.param("corrected", 1, True, marks=pytest.mark.slow),
        pytest.param("corrected", 2, True, marks=pytest.mark.slow),
        ("rollouts", 1, True),
        ("algorithm3_biased", 1, False),
    ],
)
def test_regrets_level_by_level(traversal: str, tries: int, unbiased: bool) -> None:
    game = pyspiel.load_game(SMALL)
    trainer = wide_awake(game, traversal=traversal, tries=tries, networks="seat", width=16)
    policy = NetworkPolicy(game, networks_of(trainer, "current"))
    player = 1
    own_uniform = traversal != "algorithm3_biased"
    exact_by_text = oracle.exact_regrets(game, player, policy.action_probabilities, own_uniform)
    rows, exact = feature_rows(game, player, exact_by_text)
    found = np.zeros((CHUNKS, *exact.shape))
    visited = np.zeros((CHUNKS, *exact.shape), np.bool_)
    random_numbers = generator(7)
    inputs = trainer.rules.information_size
    for chunk, seen in zip(found, visited, strict=True):
        collected = trainer.traverser.traverse(player, 40, random_numbers)
        for number, part in collected.regrets:
            assert number == trainer.network_of_seat[player]
            features = unpack(part.features, inputs) if trainer.traverser.binary else part.features
            for feature, target, weight in zip(features, part.targets, part.weights, strict=True):
                chunk[rows[feature.tobytes()]] += weight * np.nan_to_num(target) / 40
                seen[rows[feature.tobytes()]] = True
    assert (largest_z(found, visited, exact) < 6.0) == unbiased


def feature_rows(game: pyspiel.Game, player: int, regrets: dict) -> tuple[dict[bytes, int], np.ndarray]:
    """Where the features of each information state are counted, and the exact regrets in that order."""
    rows: dict[bytes, int] = {}
    exact: list[np.ndarray] = []

    def walk(state: pyspiel.State) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node() and state.current_player() == player and len(state.legal_actions()) > 1:
            key = np.array(state.information_state_tensor(), np.float32).tobytes()
            if key not in rows:
                rows[key] = len(exact)
                line = np.zeros(game.num_distinct_actions())
                for action, regret in regrets[state.information_state_string()].items():
                    line[action] = regret
                exact.append(line)
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.new_initial_state())
    return rows, np.array(exact)


def test_the_strategies_of_the_others_are_collected() -> None:
    """At every decision that is sampled for the others, with the probabilities that the network gives it."""
    game = pyspiel.load_game(SMALL)
    trainer = wide_awake(game, traversal="external", networks="seat")
    collected = trainer.traverser.traverse(0, 30, generator(1))
    assert {number for number, _ in collected.strategies} == {1}
    for _, rows in collected.strategies:
        legal = ~np.isnan(rows.targets)
        np.testing.assert_allclose(np.where(legal, rows.targets, 0.0).sum(axis=1), 1.0, rtol=1e-6)
        assert (legal.sum(axis=1) > 1).all()


def test_a_game_too_deep_for_the_node_budget() -> None:
    trainer = wide_awake(pyspiel.load_game("python_toepen"), traversal="external", node_budget=500)
    with pytest.raises(NodeBudgetError, match="node_budget = 500"):
        trainer.traverser.traverse(0, 4, generator(1))


def test_features_go_to_the_device() -> None:
    """On the meta device outputs cannot come back; everything before that must have been moved."""
    game = pyspiel.load_game(SMALL)
    trainer = wide_awake(game)
    there = [learner.copy() for learner in trainer.learners]
    for learner in there:
        learner.network.to("meta")
        learner.device = torch.device("meta")
    engine = LevelTraverser(trainer.rules, there, trainer.network_of_seat)
    with pytest.raises(NotImplementedError, match="meta"):
        engine.traverse(0, 2, generator(1))
