"""The expert: options, what it says of cards, and that its parts make it stronger."""

import numpy as np
import pyspiel
import pytest

import gongzhu_spiel  # noqa: F401
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import Explanation, find_player, player_streams
from gongzhu_spiel import state as slots
from gongzhu_spiel.endings import solve_worlds
from gongzhu_spiel.expert import ExpertSearch, SearchSettings, Tried
from gongzhu_spiel.rules import legal_cards
from tests.gongzhu_spiel.test_endings import ending

GAME = pyspiel.load_game("python_gongzhu")


def choice() -> np.ndarray:
    """A position in the middle of a game with several legal cards."""
    states = (ending(seed, 30, scored_late=False) for seed in range(100))
    return next(state for state in states if int(legal_cards(state)).bit_count() > 2)


def explained(name: str, state: np.ndarray) -> Explanation:
    streams = player_streams(3, 0, range(1))
    found = find_player(name, GAME).explain(state[None, :], np.zeros(1, np.int64), streams)
    assert found is not None
    return found[0]


def test_the_last_card_but_one_is_chosen_as_the_average_over_solved_worlds_says() -> None:
    for seed in range(6):
        state = ending(seed, 8, scored_late=True)
        seat = int(state[slots.TURN])
        search = ExpertSearch(GAME, SearchSettings(worlds=40, models="none"))
        tried = search.search(state, player_streams(1, seat, range(1))[0])
        worlds, counts = search._worlds.draw_counted(state, seat, player_streams(1, seat, range(1))[0])
        expected = np.empty((len(worlds), len(tried.cards)))
        solve_worlds(worlds, seat, sum(1 << int(card) for card in tried.cards), expected)
        assert tried.values() == pytest.approx(counts @ expected / counts.sum())


def test_values_and_errors_are_weighted_means() -> None:
    """Two worlds count twice and once; the second card was dropped after the first world."""
    results = np.array([[10.0, 4.0, 0.0], [40.0, np.nan, 0.0]])
    tried = Tried(np.arange(3), results, np.array([2, 1]), np.array([True, False, True]))
    assert tried.values() == pytest.approx([20.0, 4.0, 0.0])
    assert tried.best() == 0
    spread = np.sqrt((2 / 3) ** 2 * (10 - 20) ** 2 + (1 / 3) ** 2 * (40 - 20) ** 2)
    assert tried.errors() == pytest.approx([0.0, 0.0, spread])


@pytest.mark.parametrize("name", ["expert(worlds=8)", "expert(worlds=8,models=own)", "expert(level=medium,worlds=24)"])
def test_it_explains_itself(name: str) -> None:
    found = explained(name, choice())
    assert len(found.actions) > 1
    assert found.errors is not None
    assert found.values is not None
    assert found.errors[int(np.argmax(found.values))] == 0


def test_milliseconds_are_a_budget() -> None:
    player = find_player("expert(milliseconds=5)", GAME)
    assert not player.reproducible
    state = choice()
    assert player.choose_rows is not None
    card = int(player.choose_rows(state[None, :], np.zeros(1, np.int64), player_streams(1, 0, range(1)))[0])
    assert int(state[slots.HAND + state[slots.TURN]]) >> card & 1


def test_easy_is_the_network() -> None:
    states = np.stack([ending(seed, 28, scored_late=False) for seed in range(5)])
    streams = player_streams(1, 0, range(5))
    answers = [
        find_player(name, GAME).choose_rows(states, np.arange(5), streams.copy()).tolist()  # type: ignore[misc]
        for name in ("expert(level=easy)", "network")
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("expert(level=hard)", "level is 'hard'; allowed: easy, medium, full"),
        ("expert(models=team)", "models is 'team'; allowed: none, own, greed"),
        ("expert(worlds=0)", "worlds is 0"),
    ],
)
def test_bad_options(name: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        find_player(name, GAME)


@pytest.mark.slow
def test_the_expert_beats_flat_monte_carlos_rollout_policy() -> None:
    score = play_match(GAME, find_player("expert(worlds=30)", GAME), find_player("if", GAME), 96, seed=8).score
    assert score.mean > 3 * score.standard_error


@pytest.mark.slow
def test_the_bar_over_mr_greed() -> None:
    """Must: 100 points, 82 without any model of Mr. Greed; here with 256 deals each."""
    greed = find_player("greed", GAME)
    for name, points in (("expert", 100), ("expert(models=own)", 82)):
        score = play_match(GAME, find_player(name, GAME), greed, 256, seed=11).score
        assert score.mean > points - 2 * score.standard_error
