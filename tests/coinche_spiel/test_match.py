"""A match: deals add up as the independent program scores them, the dealer goes round, the right team wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
import pytest

from cardtable import deck
from cardtable.batch import play_out
from coinche_spiel import state as slots
from coinche_spiel.match import DEALS_PLAYED, SCORE, match_rules
from coinche_spiel.players import simple_player, strong_player
from tests.coinche_spiel.oracle import RANKS, SUITS, Card, OracleDeal


def load(**parameters: Any) -> pyspiel.Game:
    return pyspiel.load_game("python_coinche_match", parameters)


def names_of(cards: int) -> list[Card]:
    return [(SUITS[card // 8], RANKS[card % 8]) for card in range(32) if int(cards) >> card & 1]


def finish_deal(state: pyspiel.State, rng: np.random.Generator) -> None:
    while not state.is_terminal() and state.is_chance_node():
        outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(outcomes, p=probabilities)))


@pytest.mark.parametrize(
    "parameters",
    [
        {"target": 400},
        {"target": 300, "dealer": 1, "belote": True, "pisser": "forced"},
        {"target": 500, "players": 2, "surcoinche_factor": 3, "coinched_fall": "value"},
        {
            "target": 200,
            "suits": 3,
            "hand_size": 3,
            "min_bid": 30,
            "max_bid": 60,
            "capot_value": 100,
            "fall_points": 50,
        },
    ],
    ids=str,
)
def test_deals_add_up(parameters: dict[str, Any]) -> None:
    """Random matches beside a chain of independent single deals with the classic score."""
    game = load(**parameters)
    players = game.num_players()
    deal_parameters = {name: value for name, value in parameters.items() if name != "target"} | {"reward": "classic"}
    rng = np.random.default_rng(1)
    lengths = []
    for _ in range(4):
        state = game.new_initial_state()
        score, deals = [0.0, 0.0], 0
        dealer = parameters.get("dealer", players - 1)
        while True:
            finish_deal(state, rng)
            assert state.array[slots.DEALER] == dealer
            hands = [names_of(state.array[deck.DEALT + seat]) for seat in range(players)]
            oracle = OracleDeal(hands, **deal_parameters | {"dealer": dealer})
            while not oracle.over():
                legal = oracle.legal()
                assert state.current_player() == oracle.turn()
                assert state.legal_actions() == sorted(legal)
                assert state.returns() == [0] * players
                # Half the time pass, so that some deals are void.
                action = 32 if 32 in legal and rng.random() < 0.6 else int(rng.choice(sorted(legal)))
                state.apply_action(action)
                oracle.apply(legal[action])
            result = oracle.returns()
            score = [score[0] + result[0], score[1] + result[1]]
            deals += 1
            dealer = (dealer + 1) % players
            assert state.array[SCORE : SCORE + 2].tolist() == score
            assert state.array[DEALS_PLAYED] == deals
            if max(score) >= parameters["target"]:
                break
            assert not state.is_terminal()
        assert state.is_terminal()
        sign = 1 if score[0] > score[1] else -1
        assert state.returns() == [sign, -sign] * (players // 2)
        lengths.append(deals)
    assert max(lengths) > 2


def test_a_drawn_match() -> None:
    """Nobody ever bids: after so many void deals it is a draw, and everybody has dealt in turn."""
    state = load(max_deals=6).new_initial_state()
    rng = np.random.default_rng(2)
    dealers = []
    while not state.is_terminal():
        finish_deal(state, rng)
        dealers.append(int(state.array[slots.DEALER]))
        for _ in range(4):
            state.apply_action(slots.PASS)
    assert dealers == [3, 0, 1, 2, 3, 0]
    assert state.returns() == [0, 0, 0, 0]


def test_the_default_match_ends_after_a_hundred_deals() -> None:
    game = load()
    assert game.max_game_length() == 100 * 69
    rules = game.rules
    state = rules.new_state()
    outcomes, probabilities = np.empty(5, np.int64), np.empty(5)
    deals = 0
    while rules.kernel.current_player(state) != -4:
        if rules.kernel.current_player(state) == -1:
            rules.kernel.chance_outcomes(state, outcomes, probabilities)
            rules.kernel.apply_action(state, outcomes[0])
            continue
        for _ in range(4):
            rules.kernel.apply_action(state, slots.PASS)
        deals += 1
    assert deals == 100


def test_matches_between_the_players() -> None:
    """A side that wins most deals wins nearly every match; equal sides win half each."""
    seats = [strong_player, simple_player] * 2
    assert play_out(match_rules(), 400, 1, seats).returns[:, 0].mean() > 0.95
    equal = play_out(match_rules(), 2000, 2, [simple_player] * 4).returns[:, 0]
    assert abs(equal.mean()) < 4 / len(equal) ** 0.5
    assert set(np.unique(equal)) <= {-1, 0, 1}


def test_a_match_can_be_stored_and_resumed() -> None:
    game = load(target=5000)
    rng = np.random.default_rng(3)
    state = game.new_initial_state()
    while state.array[DEALS_PLAYED] < 2:
        if state.is_chance_node():
            finish_deal(state, rng)
        else:
            state.apply_action(int(rng.choice(state.legal_actions()[:3])))
    finish_deal(state, rng)
    state.apply_action(state.legal_actions()[1])
    _, copy = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))
    assert (copy.array == state.array).all()
    assert copy.legal_actions() == state.legal_actions()
    for player in range(4):
        assert copy.information_state_string(player) == state.information_state_string(player)


def test_resampling_leaves_the_past_alone() -> None:
    game = load(target=5000, max_deals=6)
    rng = np.random.default_rng(4)
    state = game.new_initial_state()
    seen = 0
    while not state.is_terminal():
        if state.is_chance_node():
            finish_deal(state, rng)
            continue
        if rng.random() < 0.1:
            player = state.current_player()
            other = state.resample_from_infostate(player, rng.random)
            assert other.information_key(player) == state.information_key(player)
            assert other.information_state_string(player) == state.information_state_string(player)
            assert other.legal_actions() == state.legal_actions()
            seen += state.array[DEALS_PLAYED] > 0
        state.apply_action(int(rng.choice(state.legal_actions()[:4])))
    assert seen > 3


def test_what_a_player_sees() -> None:
    game = load(target=5000, max_deals=8)
    rng = np.random.default_rng(5)
    state = game.new_initial_state()
    while state.array[DEALS_PLAYED] < 3 and not state.is_terminal():
        if state.is_chance_node():
            finish_deal(state, rng)
        else:
            state.apply_action(int(rng.choice(state.legal_actions()[:3])))
    finish_deal(state, rng)
    mine, theirs = (int(score) for score in state.array[SCORE : SCORE + 2])
    assert mine + theirs > 0
    for player, scores in ((0, (mine, theirs)), (1, (theirs, mine))):
        tail = [scores[0] / 5000, scores[1] / 5000, 3 / 8]
        assert state.information_state_tensor(player)[-3:] == pytest.approx(tail)
        assert state.observation_tensor(player)[-3:] == pytest.approx(tail)
        assert f"deals played 3, score {mine} to {theirs}" in state.information_state_string(player)
    assert game.information_state_tensor_size() == 535
    assert game.observation_tensor_size() == 417
    other = state.clone()
    other.array[SCORE] += 80
    assert other.information_key(0) != state.information_key(0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target": 0}, "target is 0; allowed: 1 to 1000000"),
        ({"max_deals": 0}, "max_deals is 0; allowed: 1 to 1000"),
        ({"hand_size": 9}, "hand_size is 9"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(**parameters)


def test_openspiel_conformance() -> None:
    game = load(target=300, max_deals=3)
    pyspiel.random_sim_test(game, num_sims=5, serialize=True, verbose=False)
    assert str(pyspiel.load_game(str(game))) == str(game)
