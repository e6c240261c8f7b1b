"""The flat Monte Carlo player, on games small enough to know the answers."""

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.randomness import generator, streams
from cardtable.search.flat import FlatSearch
from gongzhu_spiel import rules
from gongzhu_spiel import state as slots


def dealt_state(game: pyspiel.Game, seed: int) -> np.ndarray:
    state = game.rules.new_state()
    game.rules.kernel.deal(state, generator(seed))
    return state


def exact_values(game: pyspiel.Game, state: np.ndarray, player: int) -> dict[int, float]:
    """Mean returns over all worlds with uniformly random play to the end, by walking everything."""
    kernel, size = game.rules.kernel, game.num_distinct_actions()

    def legal(array: np.ndarray) -> list[int]:
        actions = np.empty(size, np.int64)
        return actions[: kernel.legal_actions(array, actions)].tolist()

    def value(array: np.ndarray) -> float:
        if kernel.current_player(array) < 0:
            out = np.empty(game.num_players())
            kernel.returns(array, out)
            return out[player]
        return float(np.mean([value(after(array, action)) for action in legal(array)]))

    def after(array: np.ndarray, action: int) -> np.ndarray:
        copy = array.copy()
        kernel.apply_action(copy, action)
        return copy

    worlds = {}
    for seed in range(400):  # more than enough to meet each of the few worlds
        copy = state.copy()
        kernel.resample(copy, player, generator(seed))
        worlds[copy.tobytes()] = copy
    return {
        action: float(np.mean([value(after(world, action)) for world in worlds.values()])) for action in legal(state)
    }


def test_estimates_approach_the_exact_means() -> None:
    """Late in a small game of Gongzhu: the estimates of many worlds with random rollouts are the exact means."""
    game = pyspiel.load_game("python_gongzhu(suits=2,ranks=6)")
    checked = 0
    for seed in range(6):
        state = dealt_state(game, seed)
        for _ in range(5):
            actions = np.empty(12, np.int64)
            rules.apply_action(state, int(actions[: rules.legal_actions(state, actions)][-1]))
        exact = exact_values(game, state, int(state[slots.TURN]))
        search = FlatSearch(game, 20_000)
        row, states = np.zeros(1, np.int64), state[None, :].copy()
        explained = search.explain_rows(states, row, streams(1, (), range(1)))[0]
        assert explained.values is not None
        assert explained.errors is not None
        found = dict(zip(explained.actions.tolist(), explained.values.tolist(), strict=True))
        assert set(found) == set(exact)
        if len(exact) > 1:
            checked += 1
            for action, mean in exact.items():
                assert found[action] == pytest.approx(mean, abs=8)
            best = max(found, key=lambda action: (found[action], -action))
            assert search.choose_rows(states, row, streams(1, (), range(1)))[0] == best
            assert exact[best] >= max(exact.values()) - 8
            assert explained.errors[list(found).index(best)] == 0
    assert checked >= 2


def test_standard_errors_are_of_the_difference_to_the_best_action() -> None:
    """Two halves of the worlds: the means' differences differ by as much as their standard errors say."""
    game = pyspiel.load_game("python_gongzhu")
    search = FlatSearch(game, 200)
    misses = []
    for seed in range(60):
        states = dealt_state(game, seed)[None, :].copy()
        one, two = (
            search.explain_rows(states, np.zeros(1, np.int64), streams(seed, (half,), range(1)))[0] for half in (1, 2)
        )
        assert one.values is not None
        assert one.errors is not None
        assert two.values is not None
        best = int(np.argmax(one.values))
        for place in range(len(one.actions)):
            if place != best:
                gap = (one.values[place] - one.values[best]) - (two.values[place] - two.values[best])
                misses.append(gap / np.hypot(one.errors[place], one.errors[place]))
    assert 0.7 < np.std(misses) < 1.4


def test_a_state_without_a_player_to_move_is_refused() -> None:
    game = pyspiel.load_game("python_gongzhu(ranks=2)")
    with pytest.raises(ValueError, match="no player to move"):
        FlatSearch(game, 10).explain_rows(
            game.rules.new_state()[None, :], np.zeros(1, np.int64), streams(1, (), range(1))
        )
