"""The flat Monte Carlo player and duplicate matches, on games small enough to know the answers."""

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable import bits
from cardtable.bots import KernelBot, MonteCarloBot
from cardtable.compiled import compiled
from cardtable.montecarlo import Contender, MonteCarlo, duplicate_match
from cardtable.randomness import generator
from gongzhu_spiel import rules
from gongzhu_spiel import state as slots


@compiled
def lowest_card(state, generator):
    return bits.lowest(rules.legal_cards(state))


def dealt_state(game, seed):
    state = game.rules.new_state()
    game.rules.kernel.deal(state, generator(seed))
    return state


def exact_values(game, state, player):
    """Mean returns over all worlds with uniformly random play to the end, by walking everything."""
    kernel, size = game.rules.kernel, game.num_distinct_actions()

    def legal(array):
        actions = np.empty(size, np.int64)
        return actions[: kernel.legal_actions(array, actions)].tolist()

    def value(array):
        if kernel.current_player(array) < 0:
            out = np.empty(game.num_players())
            kernel.returns(array, out)
            return out[player]
        return np.mean([value(after(array, action)) for action in legal(array)])

    def after(array, action):
        copy = array.copy()
        kernel.apply_action(copy, action)
        return copy

    worlds = {}
    for seed in range(400):  # more than enough to meet each of the few worlds
        copy = state.copy()
        kernel.resample(copy, player, generator(seed))
        worlds[copy.tobytes()] = copy
    return {action: np.mean([value(after(world, action)) for world in worlds.values()]) for action in legal(state)}


def test_estimates_approach_the_exact_means():
    """Late in a small game of Gongzhu: the estimates of many worlds with random rollouts are the exact means."""
    game = pyspiel.load_game("python_gongzhu(suits=2,ranks=6)")
    checked = 0
    for seed in range(6):
        state = dealt_state(game, seed)
        for _ in range(5):
            actions = np.empty(12, np.int64)
            rules.apply_action(state, int(actions[: rules.legal_actions(state, actions)][-1]))
        exact = exact_values(game, state, int(state[slots.TURN]))
        search = MonteCarlo(game.rules, 20_000, seed=1)
        found = search.evaluate(state)
        assert set(found) == set(exact)
        if len(exact) > 1:
            checked += 1
            for action, mean in exact.items():
                assert found[action] == pytest.approx(mean, abs=8)
            assert exact[search.choose(state)] >= max(exact.values()) - 8
    assert checked >= 2


@pytest.mark.parametrize(
    "name",
    [
        "python_toepen",
        "python_kuhn_collab",
        "python_coinche",
        "python_cego(subgame=solo)",
        "python_cego",
        "python_gongzhu",
    ],
)
def test_plays_every_game(name):
    game = pyspiel.load_game(name)
    bots = [MonteCarloBot(game, 0, 4, seed=1)] + [
        KernelBot(game, seat, seed=seat) for seat in range(1, game.num_players())
    ]
    returns = pyspiel.evaluate_bots(game.new_initial_state(), bots, 3)
    assert all(game.min_utility() <= value <= game.max_utility() for value in returns)


def test_a_state_without_a_player_to_move_is_refused():
    game = pyspiel.load_game("python_gongzhu(ranks=2)")
    with pytest.raises(ValueError, match="no player to move"):
        MonteCarlo(game.rules, 10).evaluate(game.rules.new_state())


def test_duplicate_deals_cancel_equal_players():
    """Two players who always take the lowest card play the same game twice, with opposite results."""
    game = pyspiel.load_game("python_gongzhu")
    result = duplicate_match(game.rules, Contender(lowest_card), Contender(lowest_card), 50, seed=1)
    assert np.all(result.per_deal == 0)


def test_a_match_is_the_same_with_more_threads_and_reversed_with_players_exchanged():
    game = pyspiel.load_game("python_gongzhu")
    one = duplicate_match(game.rules, Contender(lowest_card), Contender(), 40, seed=2)
    two = duplicate_match(game.rules, Contender(lowest_card), Contender(), 40, seed=2, threads=2)
    assert np.array_equal(one.per_deal, two.per_deal)
    assert one.moves == two.moves
    counted = []
    duplicate_match(game.rules, Contender(), Contender(), 40, seed=2, on_progress=counted.append)
    assert sum(counted) == 40


@pytest.mark.parametrize(
    ("name", "first", "deals", "complaint"),
    [
        ("python_toepen", Contender(), 10, "two teams of equal size"),
        ("python_cego", Contender(), 10, "two teams of equal size"),
        ("python_gongzhu", Contender(), 1, "deals is 1"),
        ("python_gongzhu", Contender(None, -1), 10, "worlds is -1"),
    ],
)
def test_impossible_matches(name, first, deals, complaint):
    with pytest.raises(ValueError, match=complaint):
        duplicate_match(pyspiel.load_game(name).rules, first, Contender(), deals)
