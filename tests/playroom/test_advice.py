"""Hints: those of a policy are its probabilities, those of a search come again with the seed and do not peek."""

import json
import random
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_games
from cardtable.player import Explanation, find_player, players_of
from playroom import catalog
from playroom.advice import advise, bars, choose, cost, find_seat_player
from playroom.table import Table
from solvers.cfr import CFRSolver
from solvers.policies import save_policy
from tests.playroom.test_views import GAMES, positions

TOEPEN = "python_toepen(suits=2,ranks=2,hand_size=2)"
SEARCHED = ["python_kuhn_collab", "python_coinche", "python_gongzhu"]


@pytest.mark.slow
def test_the_hint_of_a_policy_is_the_policy(tmp_path: Path) -> None:
    game = pyspiel.load_game(TOEPEN)
    solver = CFRSolver(game, "cfr_plus")
    solver.run(20)
    save_policy(tmp_path / "policy.npz", solver.average_policy())
    player = find_player(str(tmp_path / "policy.npz"), game)
    for state in positions(game, 1, 12):
        if len(state.legal_actions()) > 1:
            found = advise(player, state, 1, 0, 0)
            assert found["kind"] == "probabilities"
            shown = {bar["action"]: bar["probability"] for bar in found["bars"]}
            assert shown == pytest.approx(solver.average_policy().action_probabilities(state))


def test_the_hint_of_random_is_even() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    state = positions(game, 1, 1)[0]
    found = advise(find_player("random", game), state, 1, 0, 0)
    assert [bar["probability"] for bar in found["bars"]] == pytest.approx([0.5, 0.5])
    assert sorted(bar["action"] for bar in found["bars"]) == state.legal_actions()


def check_hints_do_not_peek(name: str, number: int) -> None:
    game = pyspiel.load_game(name)
    player = find_player("monte_carlo(worlds=6)", game)
    rng = random.Random(4)
    for state in positions(game, 3, number):
        seat = state.current_player()
        other = state.resample_from_infostate(seat, rng.random)
        once = json.dumps(advise(player, state, 9, 2, 5))
        assert json.dumps(advise(player, other, 9, 2, 5)) == once
        assert json.dumps(advise(player, state, 9, 2, 5)) == once


@pytest.mark.parametrize("name", SEARCHED)
def test_hints_do_not_peek(name: str) -> None:
    check_hints_do_not_peek(name, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_hints_do_not_peek_at_length(name: str) -> None:
    check_hints_do_not_peek(name, 1000)


def test_search_in_a_foreign_game_sees_a_win_and_does_not_peek() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    state = game.new_initial_state()
    for action in (0, 3, 1, 4):  # x wins at 2
        state.apply_action(action)
    player = find_seat_player("rollouts(worlds=20)", game)
    assert choose(player, state, 1, 0, 4) == 2
    found = advise(player, state, 1, 0, 4)
    assert found["bars"][0]["action"] == 2
    assert found["bars"][0]["value"] == 1.0
    values = {bar["action"]: bar["value"] for bar in found["bars"]}
    assert cost(found, 5) == pytest.approx(1.0 - values[5])
    leduc = pyspiel.load_game("leduc_poker")
    adviser = find_seat_player("rollouts(worlds=30)", leduc)
    rng = random.Random(1)
    for position in positions(leduc, 5, 8):
        other = position.resample_from_infostate(position.current_player(), rng.random)
        assert advise(adviser, position, 1, 0, 0) == advise(adviser, other, 1, 0, 0)


def test_too_close_to_call() -> None:
    found = bars(Explanation(np.array([7, 8, 9]), np.array([3.0, 2.0, -4.0]), np.array([0.0, 0.6, 0.6])))
    assert [bar.get("close") for bar in found["bars"]] == [True, True, False]
    unsure = bars(Explanation(np.array([7, 8]), np.array([3.0, 2.0])))  # a network does not know how far off it is
    assert not any("error" in bar for bar in unsure["bars"])


def test_what_a_search_did_not_look_at_has_no_value() -> None:
    values, errors = np.array([1.0, 3.0, 1.0, 1.0]), np.array([0.5, 0.0, 0.5, 0.5])
    found = bars(Explanation(np.arange(4), values, errors, tried=np.array([False, True, True, False])))
    assert [bar["action"] for bar in found["bars"]] == [1, 2, 0, 3]
    assert [bar.get("value") for bar in found["bars"]] == [3.0, 1.0, None, None]
    assert [bar.get("untried", False) for bar in found["bars"]] == [False, False, True, True]
    assert cost(found, 2) == 2.0
    assert cost(found, 0) is None


@pytest.mark.parametrize("game", [variant for choice in catalog.MENU for _, variant in choice.variants])
def test_every_game_of_the_menu_has_its_strengths(game: str) -> None:
    """Each of them can be found, with its options: a player that cannot would keep the table from opening."""
    loaded = catalog.playable_game(game)
    for text in (*catalog.strengths(loaded).values(), catalog.stand_in(loaded), *catalog.default_advisers(loaded)):
        find_seat_player(text, loaded)
    if "expert" in players_of(loaded):
        assert catalog.strengths(loaded)["expert"] == "expert"


def test_the_deals_are_those_of_a_match() -> None:
    """Deal 5 of seed 3 is the fifth game of a match with that seed."""
    game = pyspiel.load_game("python_coinche")
    simple = find_player("simple", game)
    games = play_games(game, [simple] * 4, 6, seed=3)
    assert games.states is not None
    table = Table(game, seed=3, deal=5)
    piles = slice(8, 13)
    assert (table.state.array[piles] == games.states[5][piles]).all()


@pytest.mark.slow
def test_open_cards_know_every_legal_card_and_the_last_trick() -> None:
    """With one card each there is nothing to decide: the value is what the side to move then takes."""
    from playroom.open_cards import best_points

    game = pyspiel.load_game("python_coinche")
    rng = random.Random(1)
    for deal in range(4):
        table = Table(game, 1, deal)
        while 32 in table.state.legal_actions():  # one call, then everybody passes
            table.play(33 if 33 in table.state.legal_actions() else 32)
        while table.moves < 4 + 28 + 1:
            values = best_points(table.state)
            assert values is not None
            assert sorted(values) == table.state.legal_actions()
            table.play(rng.choice(table.state.legal_actions()))
        values, side = best_points(table.state), table.state.current_player() % 2
        before = [team["figures"]["points"] for team in table.view(0)["teams"]]
        while not table.is_over:
            table.play(table.state.legal_actions()[0])
        after = [team["figures"]["points"] for team in table.view(0)["teams"]]
        assert values is not None
        assert list(values.values()) == [after[side] - before[side]]
