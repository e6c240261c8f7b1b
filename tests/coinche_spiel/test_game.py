"""Coinche as an OpenSpiel game: parameters, errors, names, declarations."""

from __future__ import annotations

from typing import Any

import pyspiel
import pytest

from coinche_spiel.cards import cards_text, parse_card, parse_cards
from tests.coinche_spiel.helpers import dealt, load, move


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"players": 3}, "players is 3; allowed: 2, 4"),
        ({"suits": 0}, "suits is 0; allowed: 1 to 4"),
        ({"suits": 5}, "suits is 5; allowed: 1 to 4"),
        ({"ranks": ""}, "ranks is ''; allowed: some of the letters 789JQKTA"),
        ({"ranks": "9JJA"}, "ranks is '9JJA'"),
        ({"ranks": "9J10A"}, "ranks is '9J10A'"),
        ({"hand_size": 0}, "hand_size is 0; allowed: 1 to 8"),
        ({"hand_size": 9}, "hand_size is 9; allowed: 1 to 8"),
        ({"suits": 2, "ranks": "9JTA"}, "hand_size is 8; allowed: 1 to 2"),
        ({"suits": 1, "ranks": "JA"}, r"suits \* ranks is 2; allowed: a deck of at least 4 cards"),
        ({"min_bid": 0}, "min_bid is 0; allowed: 1 or more"),
        ({"max_bid": 70}, "max_bid is 70"),
        ({"max_bid": 165}, "max_bid is 165"),
        ({"max_bid": 170}, "max_bid is 170; .* from 80 to 160"),
        ({"capot_value": 160}, "capot_value is 160; allowed: 0 .* more than max_bid, 160"),
        ({"capot_value": -1}, "capot_value is -1"),
        ({"surcoinche_factor": 1}, "surcoinche_factor is 1; allowed: 2 or more"),
        ({"fall_points": -1}, "fall_points is -1; allowed: 0 or more"),
        ({"coinched_fall": "double"}, "coinched_fall is 'double'; allowed: fixed, value"),
        ({"der": -10}, "der is -10; allowed: 0 or more"),
        ({"belote": True, "ranks": "9JTA", "hand_size": 4}, "belote is True; allowed: False, as the ranks lack K or Q"),
        ({"pisser": "never"}, "pisser is 'never'; allowed: free, forced"),
        ({"under_partner": "yes"}, "under_partner is 'yes'; allowed: free, no_under"),
        ({"reward": "mirrors"}, "reward is 'mirrors'; allowed: classic, mirror, no_defense, good"),
        ({"trick_reward": -0.1}, "trick_reward is -0.1; allowed: 0 or more"),
        ({"trick_reward": float("nan")}, "trick_reward is nan"),
        ({"trick_reward": float("inf")}, "trick_reward is inf"),
        ({"dealer": 4}, "dealer is 4; allowed: -1 to 3, a seat, or -1 for the last one"),
        ({"players": 2, "dealer": 2}, "dealer is 2; allowed: -1 to 1"),
        ({"dealer": -2}, "dealer is -2"),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"python_coinche: {message}"):
        load(**parameters)


def test_unknown_parameters_are_refused_by_openspiel() -> None:
    with pytest.raises(pyspiel.SpielError, match="cards"):
        load(cards=32)


def test_sizes() -> None:
    game = load()
    assert game.num_distinct_actions() == 75
    assert game.num_players() == 4
    assert game.max_game_length() == 69
    assert game.max_chance_outcomes() == 4
    assert game.information_state_tensor_size() == 532
    assert game.observation_tensor_size() == 414
    assert (game.min_utility(), game.max_utility()) == (-1000, 1000)


@pytest.mark.parametrize(
    "parameters", [{}, {"players": 2}, {"suits": 2, "ranks": "JA", "hand_size": 1}, {"hand_size": 3}], ids=str
)
def test_variants_keep_the_shape_of_the_full_game(parameters: dict[str, Any]) -> None:
    game = load(**parameters)
    assert game.num_distinct_actions() == 75
    assert game.information_state_tensor_size() == 532
    assert game.observation_tensor_size() == 414


@pytest.mark.parametrize(
    ("reward", "utility", "total", "low", "high"),
    [
        ("mirror", pyspiel.GameType.Utility.ZERO_SUM, 0, -1000, 1000),
        ("classic", pyspiel.GameType.Utility.GENERAL_SUM, None, 0, 1000),
        ("no_defense", pyspiel.GameType.Utility.GENERAL_SUM, None, -1000, 1000),
        ("good", pyspiel.GameType.Utility.GENERAL_SUM, None, -1000, 1000),
    ],
)
def test_the_utility_type_is_that_of_the_scheme(
    reward: str, utility: pyspiel.GameType.Utility, total: float | None, low: float, high: float
) -> None:
    game = load(reward=reward)
    assert game.get_type().utility == utility
    assert game.utility_sum() == total
    assert (game.min_utility(), game.max_utility()) == (low, high)
    reloaded = pyspiel.load_game(str(game))
    assert reloaded.get_type().utility == utility
    pyspiel.random_sim_test(game, num_sims=3, serialize=True, verbose=False)


def test_cards_of_a_short_deck_keep_their_ids() -> None:
    game = load(suits=2, ranks="JA", hand_size=1)
    state = dealt(game, ["JS", "AS", "JH", "AH"])
    move(state, "80♥", "pass", "pass", "pass")
    assert state.legal_actions() == [parse_card("JS")] == [3]
    assert state.full_history()[0].action == 0
    assert [state.table.action_name(-1, 0) for state in [game.new_initial_state()]] == ["J♠ to P0"]


def test_teams_and_interchangeable_suits() -> None:
    rules = load().rules
    assert rules.teams == ((0, 2), (1, 3))
    assert rules.interchangeable_suits == tuple(tuple(range(8 * suit, 8 * suit + 8)) for suit in range(4))
    small = load(players=2, suits=2, ranks="9JA", hand_size=2).rules
    assert small.teams == ()
    assert small.interchangeable_suits == ((2, 3, 7), (10, 11, 15))


def test_strings() -> None:
    state = dealt(load(hand_size=2), ["AH 7H", "KH QH", "JS 7C", "8H 9H"])
    assert state.information_state_string(2) == "P2 J♠ 7♣"
    move(state, "pass", "100♠", "coinche", "surcoinche", "AH", "KH")
    assert state.information_state_string(2) == (
        "P2 J♠ 7♣ | P0 pass, P1 100♠, P2 coinche, P3 surcoinche | P0 A♥, P1 K♥"
    )
    assert state.observation_string(2) == (
        "P2 J♠ 7♣ | dealer P3 | P0 pass, P1 100♠, P2 coinche, P3 surcoinche | 100♠ by P1 surcoinche"
        " | P0 played A♥ | P1 played K♥ | trick P0 A♥, P1 K♥ | points 0 to 0"
    )
    move(state, "JS", "8H", "7C", "9H", "7H", "QH")
    assert state.is_terminal()
    assert state.observation_string(0).endswith("| points 48 to 0 | over")


def test_action_names() -> None:
    state = dealt(load(hand_size=2), ["AH 7H", "KH QH", "JS 7C", "8H 9H"])
    names = [state.action_to_string(0, action) for action in (0, 31, 32, 33, 36, 37, 68, 69, 72, 73, 74)]
    assert names == ["7♠", "A♦", "pass", "80♠", "80♦", "90♠", "160♦", "capot♠", "capot♦", "coinche", "surcoinche"]


def test_card_names() -> None:
    assert [parse_card(text) for text in ("7S", "10H", "t♥", "AD", " q♣ ")] == [0, 14, 14, 31, 20]
    assert cards_text(parse_cards("AD, 7s JH")) == "7♠ J♥ A♦"
    for wrong in ("1H", "10", "XH", "AHH", ""):
        with pytest.raises(ValueError, match="is not a card"):
            parse_card(wrong)
    with pytest.raises(ValueError, match="A♥ is named twice"):
        parse_cards("AH KH A♥")
