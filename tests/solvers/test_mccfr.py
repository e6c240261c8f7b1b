"""MCCFR: estimates against brute force over the whole game, convergence, reproducibility, both ways to traverse."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import Policy

from cardtable.compiled import compiled
from cardtable.randomness import generator
from solvers.arrays.memory import GameTooLargeError
from solvers.arrays.sequence_form import sequence_form
from solvers.best_response import nash_conv
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver, Where
from solvers.sampling.hash_table import PLAYER_BITS, row_length
from solvers.sampling.on_rules import CUMULATIVE_REGRETS, CUMULATIVE_STRATEGY, RulesSampler
from solvers.sampling.on_tree import TreeSampler
from tests.solvers.games import Load
from toepen_spiel import rules as toepen
from toepen_spiel import state as toepen_slots

TOEPEN_222 = "python_toepen(suits=2,ranks=2,hand_size=2)"
TOEPEN_232 = "python_toepen(suits=2,ranks=3,hand_size=2)"
INFORMATION_SETS_222 = 336  # with two or more legal actions
INFORMATION_SETS_232 = 2760

Solver = ExternalSamplingSolver | OutcomeSamplingSolver


class Exact:
    """Brute force: counterfactual regrets and reaches for a fixed policy."""

    def __init__(self, game: pyspiel.Game, policy: Any) -> None:
        self.regrets: dict[str, np.ndarray] = {}
        self.own_reach: dict[str, float] = {}
        self.chance_reach: dict[str, float] = defaultdict(float)
        self.strategy: dict[str, np.ndarray] = {}
        self.state: dict[str, pyspiel.State] = {}
        self._action_values: dict[str, np.ndarray] = {}
        self._policy = policy
        self._walk(game.new_initial_state(), np.ones(game.num_players()), 1.0)
        for name, values in self._action_values.items():
            self.regrets[name] = values - self.strategy[name] @ values

    def _walk(self, state: pyspiel.State, reach: np.ndarray, chance: float) -> np.ndarray:
        if state.is_terminal():
            return np.array(state.returns())
        if state.is_chance_node():
            return sum(p * self._walk(state.child(a), reach, chance * p) for a, p in state.chance_outcomes())
        player = state.current_player()
        strategy = self._policy.action_probabilities(state)
        values = []
        for action, probability in strategy.items():
            below = reach.copy()
            below[player] *= probability
            values.append(self._walk(state.child(action), below, chance))
        if len(strategy) > 1:
            name = state.information_state_string(player)
            others = chance * np.prod(np.delete(reach, player))
            mine = np.array([value[player] for value in values])
            self._action_values[name] = self._action_values.get(name, 0.0) + others * mine
            self.strategy[name] = np.array(list(strategy.values()))
            self.own_reach[name] = reach[player]
            self.chance_reach[name] += chance
            self.state[name] = state
        return np.array(list(strategy.values())) @ np.array(values)


def positions(solver: Solver, states: dict[str, pyspiel.State]) -> dict[str, slice]:
    """Where each information set's numbers are in the contents of the solver."""
    sampler = solver._sampler
    contents = sampler.contents(CUMULATIVE_REGRETS)
    if contents.keys.shape[1] == 0:
        assert isinstance(sampler, TreeSampler)
        assert sampler.strings is not None
        number: dict[Any, int] = {text: index for index, text in enumerate(sampler.strings)}
        place = {name: number[name] for name in states}
    else:
        number = {tuple(row): index for index, row in enumerate(contents.keys.tolist())}
        keys = {name: (state.current_player(), *state.information_key()) for name, state in states.items()}
        place = {name: number[key] for name, key in keys.items() if key in number}
    return {name: slice(*contents.offsets[index : index + 2]) for name, index in place.items()}


def sampled_increments(solver: Solver, player: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """(samples, actions) increments of regrets and of cumulative strategies of traversals that all start alike."""
    state = dict(solver.get_state())
    before = [solver._sampler.contents(group).weights for group in (CUMULATIVE_REGRETS, CUMULATIVE_STRATEGY)]
    increments = np.empty((2, samples, len(before[0])))
    stream = generator(2024)
    for sample in range(samples):
        solver.set_state({**state, "generator": stream})
        solver.update_player(player)
        stream = solver.get_state()["generator"]
        for group in (CUMULATIVE_REGRETS, CUMULATIVE_STRATEGY):
            after = solver._sampler.contents(group).weights[: len(before[group])]  # new information sets come last
            increments[group, sample] = after - before[group]
    return increments[0], increments[1]


def give_random_regrets(solver: Solver) -> None:
    """Makes every strategy a mixed one, known information sets staying known."""
    random = np.random.default_rng(0)
    if isinstance(solver._sampler, TreeSampler):
        solver._sampler.numbers[:] = random.exponential(size=len(solver._sampler.numbers))
        return
    table = solver._sampler.table
    start = 0
    while start < table.used_words:
        count = table.words[start] >> PLAYER_BITS
        first = start + 1 + table.key_words
        table.numbers[first : first + count] = random.exponential(size=count)
        start += row_length(table.key_words, count)


@pytest.mark.parametrize("player", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["external", "outcome"])
@pytest.mark.parametrize(("name", "where"), [("kuhn_poker", "tree"), (TOEPEN_222, "rules"), (TOEPEN_222, "tree")])
def test_estimates_are_unbiased(load: Load, name: str, where: Where, kind: str, player: int) -> None:
    game = load(name)
    solver_class = ExternalSamplingSolver if kind == "external" else OutcomeSamplingSolver
    solver = solver_class(game, seed=5, where=where)
    solver.run(3000)
    give_random_regrets(solver)
    exact = Exact(game, solver.current_policy())
    where_is = positions(solver, exact.state)
    assert len(where_is) == solver.num_information_sets > 0.9 * len(exact.state)

    regrets, averages = sampled_increments(solver, player, 4000)
    updated = np.zeros((2, regrets.shape[1]), np.bool_)
    expected = np.zeros((2, regrets.shape[1]))
    for name, place in where_is.items():
        own = exact.state[name].current_player() == player
        updated[CUMULATIVE_REGRETS, place] = own
        updated[CUMULATIVE_STRATEGY, place] = not own
        expected[CUMULATIVE_REGRETS, place] = exact.regrets[name]
        chance = exact.chance_reach[name]  # summed over the histories; the own reach is the same for all of them
        expected[CUMULATIVE_STRATEGY, place] = chance * exact.own_reach[name] * exact.strategy[name]

    for group, samples in ((CUMULATIVE_REGRETS, regrets), (CUMULATIVE_STRATEGY, averages)):
        assert not samples[:, ~updated[group]].any()
        well_known = updated[group] & ((samples != 0.0).sum(axis=0) >= 200)
        assert well_known.sum() >= 10
        error = samples[:, well_known].std(axis=0, ddof=1) / np.sqrt(len(samples))
        z = (samples[:, well_known].mean(axis=0) - expected[group, well_known]) / error
        assert np.abs(z).max() < 5.0
        # Numbers of different information sets are nearly independent, those of one are not.
        num_sets = sum(well_known[place].any() for place in where_is.values())
        assert (z**2).mean() < 1.0 + 4.0 * np.sqrt(2.0 / num_sets)
        # Sharp enough to notice a factor of two somewhere.
        assert (np.abs(expected[group, well_known]) / error).max() > 10.0


@pytest.mark.parametrize(
    ("name", "solver", "settings", "iterations", "threshold"),
    [
        ("kuhn_poker", ExternalSamplingSolver, {}, 50_000, 0.01),
        ("kuhn_poker", ExternalSamplingSolver, {"average": "full"}, 20_000, 0.015),
        ("kuhn_poker", OutcomeSamplingSolver, {}, 200_000, 0.02),
        ("kuhn_poker(players=3)", ExternalSamplingSolver, {}, 50_000, 0.05),
        ("leduc_poker", ExternalSamplingSolver, {}, 200_000, 0.12),
        (TOEPEN_222, ExternalSamplingSolver, {}, 50_000, 0.03),
        (TOEPEN_222, OutcomeSamplingSolver, {}, 500_000, 0.02),
        (TOEPEN_232, ExternalSamplingSolver, {"where": "rules"}, 100_000, 0.08),
        (TOEPEN_232, ExternalSamplingSolver, {"where": "tree"}, 100_000, 0.08),
    ],
)
def test_averages_converge(
    load: Load, name: str, solver: type, settings: dict, iterations: int, threshold: float
) -> None:
    form = sequence_form(load(name))
    learner = solver(load(name), seed=1, **settings)
    start = nash_conv(form, learner.average_table(form))
    learner.run(iterations)
    end = nash_conv(form, learner.average_table(form))
    assert end < threshold < 0.2 * start


def test_the_full_average_is_the_average_by_own_reach(load: Load) -> None:
    game = load("leduc_poker")
    solver = ExternalSamplingSolver(game, seed=3, average="full")
    sums: dict[str, Any] = defaultdict(float)
    for _ in range(4):
        solver.run(1)
        exact = Exact(game, solver.current_policy())
        for name, strategy in exact.strategy.items():
            sums[name] = sums[name] + exact.own_reach[name] * strategy
    reached = [name for name, weights in sums.items() if weights.sum() > 0.0]
    assert len(reached) > 200
    for name in reached:
        average = list(solver.average_policy().action_probabilities(exact.state[name]).values())
        assert average == pytest.approx(sums[name] / sums[name].sum(), abs=1e-12)


SOLVERS: list[tuple[str, type, dict[str, Any]]] = [
    ("kuhn_poker", ExternalSamplingSolver, {}),
    ("kuhn_poker", ExternalSamplingSolver, {"average": "full"}),
    ("kuhn_poker", OutcomeSamplingSolver, {}),
    (TOEPEN_222, ExternalSamplingSolver, {}),
    (TOEPEN_222, OutcomeSamplingSolver, {"epsilon": 0.3}),
    ("python_kuhn_collab", ExternalSamplingSolver, {}),
    ("python_kuhn_collab", OutcomeSamplingSolver, {}),
]


def same(first: dict, second: dict) -> bool:
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(("name", "solver", "settings"), SOLVERS)
def test_seeds_and_checkpoints_reproduce(load: Load, name: str, solver: type, settings: dict) -> None:
    whole, other, resumed, interrupted = (solver(load(name), seed=seed, **settings) for seed in (7, 8, 9, 7))
    whole.run(700)
    other.run(700)
    assert not same(whole.get_state(), other.get_state())
    for _ in range(3):
        interrupted.run(100)
    resumed.set_state(interrupted.get_state())
    resumed.run(399)
    resumed.run(1)
    assert same(whole.get_state(), resumed.get_state())
    assert resumed.iterations == 700


@pytest.mark.parametrize("solver", [ExternalSamplingSolver, OutcomeSamplingSolver])
def test_growing_in_the_middle_changes_nothing(load: Load, solver: type) -> None:
    small, large = (solver(load(TOEPEN_232), seed=4) for _ in range(2))
    large._sampler.table.grow(20_000)
    capacity = small._sampler.table.memory_bytes
    for learner in (small, large):
        learner.run(10_000)
    assert small._sampler.table.memory_bytes > 4 * capacity
    assert same(small.get_state(), large.get_state())


def test_only_real_choices_have_information_sets(load: Load) -> None:
    for name, expected in ((TOEPEN_222, INFORMATION_SETS_222), (TOEPEN_232, INFORMATION_SETS_232)):
        on_rules = ExternalSamplingSolver(load(name), seed=1)
        on_tree = ExternalSamplingSolver(load(name), seed=1, where="tree")
        assert (on_rules.num_information_sets, on_tree.num_information_sets) == (0, expected)
        on_rules.run(20_000)
        assert 0.9 * expected < on_rules.num_information_sets <= expected
        contents = on_rules._sampler.contents(CUMULATIVE_STRATEGY)
        assert np.diff(contents.offsets).min() == 2
        assert isinstance(on_tree._sampler, TreeSampler)
        assert on_tree._sampler.keys is not None
        known = {tuple(row) for row in on_tree._sampler.keys.tolist()}
        assert known >= {tuple(row) for row in contents.keys.tolist()}


def test_policies_are_distributions_over_legal_actions(load: Load) -> None:
    for name, solver, settings in SOLVERS:
        learner = solver(load(name), seed=2, **settings)
        learner.run(200)
        for policy in (learner.average_policy(), learner.current_policy()):
            random = np.random.default_rng(0)
            for _ in range(20):
                state = load(name).new_initial_state()
                while not state.is_terminal():
                    if not state.is_chance_node():
                        answer = policy.action_probabilities(state)
                        assert sorted(answer) == state.legal_actions()
                        assert sum(answer.values()) == pytest.approx(1.0, abs=1e-12)
                        assert min(answer.values()) >= 0.0
                    state.apply_action(random.choice(state.legal_actions()))


class AskedStateByState(Policy):
    """Hides everything of a policy but its answers."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy.game, policy.player_ids)
        self.action_probabilities = policy.action_probabilities


@pytest.mark.parametrize(("name", "solver", "settings"), SOLVERS)
def test_views_and_tables_agree(load: Load, name: str, solver: type, settings: dict) -> None:
    form = sequence_form(load(name))
    learner = solver(load(name), seed=2, **settings)
    learner.run(300)
    view = nash_conv(form, AskedStateByState(learner.average_policy()))
    assert nash_conv(form, learner.average_policy()) == pytest.approx(view, abs=1e-12)
    assert nash_conv(form, learner.average_table(form)) == pytest.approx(view, abs=1e-12)
    assert nash_conv(form, learner.average_table()) == pytest.approx(view, abs=1e-12)


@compiled
def hand_key(state, player, out):
    """An abstraction that forgets the history: hand, phase and player."""
    out[0] = state[toepen_slots.HAND + player] | state[toepen_slots.PHASE] << 32 | player << 42


@compiled
def descending_actions(state, out):
    count = toepen.legal_actions(state, out)
    for index in range(count // 2):
        out[index], out[count - 1 - index] = out[count - 1 - index], out[index]
    return count


def test_an_abstraction_brings_its_own_keys_and_order(load: Load) -> None:
    game = load(TOEPEN_232)
    solver = ExternalSamplingSolver(
        game, seed=1, information_key=hand_key, ordered_actions=descending_actions, key_words=1
    )
    plain = ExternalSamplingSolver(game, seed=1, ordered_actions=descending_actions)
    for learner in (solver, plain):
        learner.run(50_000)
    assert 20 < solver.num_information_sets < 200 < plain.num_information_sets
    # Lifted to the game it does worse than the whole game, and better than no strategy at all (2.506).
    assert nash_conv(game, plain.average_policy()) < 0.12
    assert 0.12 < nash_conv(game, solver.average_policy()) < 2.0
    with pytest.raises(ValueError, match="abstraction"):
        solver.average_table()


def test_memory_is_limited(load: Load) -> None:
    solver = ExternalSamplingSolver(load(TOEPEN_232), seed=1, max_memory_bytes=100_000)
    with pytest.raises(GameTooLargeError, match="information sets"):
        solver.run(1000)
    assert solver.num_information_sets > 0
    assert isinstance(solver._sampler, RulesSampler)
    assert solver._sampler.table.memory_bytes <= 100_000
    state = load(TOEPEN_232).new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    assert sum(solver.average_policy().action_probabilities(state).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("solver", "settings", "message"),
    [
        (ExternalSamplingSolver, {"average": "fast"}, "average is 'fast'"),
        (ExternalSamplingSolver, {"where": "moon"}, "where is 'moon'"),
        (ExternalSamplingSolver, {"where": "rules", "average": "full"}, "whole tree"),
        (ExternalSamplingSolver, {"where": "tree", "information_key": hand_key}, "where='rules'"),
        (OutcomeSamplingSolver, {"epsilon": 0.0}, "epsilon is 0.0"),
        (OutcomeSamplingSolver, {"epsilon": 1.5}, "epsilon is 1.5"),
    ],
)
def test_bad_settings_are_refused(load: Load, solver: type, settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solver(load(TOEPEN_222), **settings)


def test_unsuitable_games_and_arguments_are_refused(load: Load) -> None:
    with pytest.raises(ValueError, match="compiled rules"):
        ExternalSamplingSolver(load("kuhn_poker"), where="rules")
    with pytest.raises(ValueError, match="turn_based"):
        ExternalSamplingSolver(load("matrix_rps"))
    solver = ExternalSamplingSolver(load("kuhn_poker"), seed=1)
    with pytest.raises(ValueError, match="iterations is -1"):
        solver.run(-1)
    with pytest.raises(ValueError, match="player is 2"):
        solver.update_player(2)


def test_foreign_and_damaged_states_are_refused(load: Load) -> None:
    for name in ("kuhn_poker", TOEPEN_222):
        solver = ExternalSamplingSolver(load(name), seed=1)
        solver.run(50)
        state = solver.get_state()
        numbers = "numbers" if name == "kuhn_poker" else "rows"
        foreign = OutcomeSamplingSolver(load(name), seed=1).get_state()
        for bad in (foreign, {**state, numbers: state[numbers][:-1]}, {k: v for k, v in state.items() if k != numbers}):
            with pytest.raises(ValueError, match=r"solver state|rows"):
                solver.set_state(bad)
        assert same(solver.get_state(), state)


PLAIN_PYTHON = """
import numpy as np, pyspiel, cardspiel, sys
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver
arrays = {}
for name in ("kuhn_poker", "python_toepen(suits=2,ranks=2,hand_size=2)"):
    for kind in (ExternalSamplingSolver, OutcomeSamplingSolver):
        solver = kind(pyspiel.load_game(name), seed=3)
        solver.run(30)
        for key, value in solver.get_state().items():
            arrays[f"{name} {kind.__name__} {key}"] = value
np.savez(sys.argv[1], **arrays)
"""


@pytest.mark.slow
def test_plain_python_computes_the_same(tmp_path: Path) -> None:
    results = []
    for disable in ("0", "1"):
        path = tmp_path / f"{disable}.npz"
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        subprocess.run([sys.executable, "-c", PLAIN_PYTHON, str(path)], env=environment, check=True)
        results.append(dict(np.load(path)))
    assert same(*results)
