"""The match engine: duplicate deals, seatings, dealers, and three ways to play that play the same games."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable import deck
from cardtable.executors import Threads
from cardtable.match import Estimate, Games, Match, dealt_around, finish_games, play_games, play_match, sides_of
from cardtable.parameters import UserError
from cardtable.player import Player, find_player
from cardtable.rules import CHANCE, TERMINAL
from coinche_spiel import state as slots

HANDS = slice(deck.DEALT, deck.DEALT + 4)


def match_of(game_name: str, first: str, second: str, deals: int, seed: int = 1) -> Match:
    game = pyspiel.load_game(game_name)
    return play_match(game, find_player(first, game), find_player(second, game), deals, seed)


def states_of(games: Games) -> np.ndarray:
    assert games.states is not None
    return games.states


def in_rows(player: Player) -> Player:
    """The same player without its compiled code."""
    return dataclasses.replace(player, compiled=None)


def as_bot(player: Player, seed: int) -> Player:
    """The same player through pyspiel alone."""
    return dataclasses.replace(
        player, compiled=None, choose_rows=None, make_bot=lambda game, seat, _: player.bot(game, seat, seed)
    )


def test_an_estimate_divides_by_n_minus_one() -> None:
    values = np.random.default_rng(1).normal(size=50)
    found = Estimate.of(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 49 / 50))
    assert found.low < found.mean < found.high


def test_every_deal_is_played_twice_and_the_dealer_goes_round() -> None:
    first, second = match_of("python_coinche", "strong", "random", 101).games
    assert (states_of(first)[:, HANDS] == states_of(second)[:, HANDS]).all()
    assert len(np.unique(states_of(first)[:, deck.DEALT])) > 95
    assert (states_of(first)[:, slots.DEALER] == np.arange(101) % 4).all()
    assert (states_of(second)[:, slots.DEALER] == np.arange(101) % 4).all()
    assert (states_of(first)[:, slots.PHASE] == slots.OVER).all()


def test_the_same_seed_gives_the_same_games() -> None:
    one, same, other = (match_of("python_coinche", "strong", "random", 50, seed).games[0] for seed in (5, 5, 6))
    assert (states_of(one) == states_of(same)).all()
    assert (states_of(one) != states_of(other)).any()


def test_a_deal_is_what_it_is_whatever_was_played_before() -> None:
    """More deals, or fewer, or other parts: deal 30 has the same cards and the same draws."""
    few, many = (match_of("python_coinche", "random", "random", deals).games[1] for deals in (31, 1100))
    assert (states_of(few) == states_of(many)[:31]).all()


def test_deals_are_dealt_evenly() -> None:
    """Every card is in every hand a quarter of the time (512 deals, four standard deviations), and deals differ."""
    states = states_of(match_of("python_gongzhu", "random", "random", 512).games[0])
    for seat in range(4):
        held = (states[:, [deck.DEALT + seat]] >> np.arange(52)) & 1
        assert np.abs(held.mean(axis=0) - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 512)
    assert len(np.unique(states[:, HANDS], axis=0)) == 512


def test_random_players_draw_evenly_and_independently_of_the_cards() -> None:
    """North's first call among the 42 of Coinche; and the two seatings of a deal are not the same game."""
    games = match_of("python_coinche", "random", "random", 4000).games
    assert (states_of(games[0]) != states_of(games[1])).any(axis=1).mean() > 0.99


def test_a_player_against_itself_breaks_even_exactly() -> None:
    for name in ("simple", "strong"):
        assert (match_of("python_coinche", name, name, 200).per_deal() == 0).all()


def test_sides_change_with_the_seating() -> None:
    """Strong gains on either side, so it must be on the other one in the second seating."""
    match = match_of("python_coinche", "strong", "random", 400)
    assert match.games[0].returns[:, 0].mean() > 150
    assert match.games[1].returns[:, 1].mean() > 150
    mine = match.rewards(0)
    assert (mine[:, 0] == match.games[0].returns[:, 0]).all()
    assert (mine[:, 1] == match.games[1].returns[:, 1]).all()
    assert (match.rewards(1) == -mine).all()
    assert match.per_deal() == pytest.approx(mine.mean(axis=1))


def test_one_against_three() -> None:
    """In Cego a player has the single seat, then the three others; its points over the other are halved differences."""
    game = pyspiel.load_game("python_cego")
    match = match_of("python_cego", "monte_carlo(worlds=3)", "random", 40)
    one, three = match.games[0].returns, match.games[1].returns
    assert match.rewards(0)[:, 0] == pytest.approx(one[:, 0])
    assert match.rewards(0)[:, 1] == pytest.approx(three[:, 1:].mean(axis=1))
    ahead = (one[:, 0] - one[:, 1:].mean(axis=1) + three[:, 1:].mean(axis=1) - three[:, 0]) / 4
    assert match.per_deal() == pytest.approx(ahead)
    assert match.score.mean > 2 * match.score.standard_error
    assert match.decisions(0) == match.games[0].decisions[0] + match.games[1].decisions[1:].sum()
    assert game.num_players() == 4


def test_a_dealer_that_was_asked_for_stays() -> None:
    assert len(dealt_around(pyspiel.load_game("python_coinche"))) == 4
    assert len(dealt_around(pyspiel.load_game("python_coinche(dealer=2)"))) == 1
    assert len(dealt_around(pyspiel.load_game("python_toepen"))) == 1


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("python_coinche", ((0, 2), (1, 3))),
        ("python_kuhn_collab", ((0, 2), (1, 3))),
        ("python_gongzhu", ((0, 2), (1, 3))),
        ("python_cego", ((0,), (1, 2, 3))),
        ("python_cego(subgame=raeuber)", ((0, 2), (1, 3))),
        ("python_toepen", ((0,), (1,))),
        ("kuhn_poker(players=3)", ((0, 2), (1,))),
    ],
)
def test_sides(name: str, sides: tuple) -> None:
    assert sides_of(pyspiel.load_game(name)) == sides


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("python_coinche", "strong", "random"),
        ("python_coinche_match(target=200)", "simple", "random"),
        ("python_gongzhu", "team", "random"),
        ("python_card_isomorphism(game=python_toepen())", "random", "random"),
        ("python_partner_oracle(game=python_kuhn_collab(),accuracy=0.8,step=0.2)", "random", "random"),
    ],
)
def test_compiled_rows_and_bots_play_the_same_games(name: str, first: str, second: str) -> None:
    """Three engines, one result: every final position, and who had how many choices."""
    game = pyspiel.load_game(name)
    players = [find_player(text, game) for text in (first, second)]
    seats = [players[seat % 2] for seat in range(game.num_players())]
    compiled = play_games(game, seats, 13, seed=3)
    rows = play_games(game, [in_rows(player) for player in seats], 13, seed=3)
    bots = play_games(game, [as_bot(player, 3) for player in seats], 13, seed=3)
    for other in (rows, bots):
        assert (states_of(other) == states_of(compiled)).all()
        assert (other.returns == compiled.returns).all()
        assert (other.decisions == compiled.decisions).all()
    assert np.isnan(compiled.seconds).all()
    assert (rows.seconds > 0).all()


@pytest.mark.parametrize("through_rows", [True, False])
def test_games_are_played_by_the_rules(through_rows: bool) -> None:
    """Players without chance, so the deal decides everything: played again step by step, each game ends the same."""
    game = pyspiel.load_game("python_coinche")
    strong, simple = find_player("strong", game), find_player("simple", game)
    seats = [strong, simple, strong, simple]
    played = play_games(game, [in_rows(player) for player in seats] if through_rows else seats, 40)
    expected = np.empty(4)
    tables = dealt_around(game)
    for row, final in enumerate(states_of(played)):
        rules = tables[row % 4].rules
        state = rules.new_state()
        while rules.kernel.current_player(state) == CHANCE:
            rules.kernel.apply_action(state, int(deck.pile_of(final, state[deck.NEXT_CARD])))
        while rules.kernel.current_player(state) != TERMINAL:
            seat = rules.kernel.current_player(state)
            rules.kernel.apply_action(state, seats[seat].compiled(state, np.zeros(1, np.uint64)))
        assert (state == final).all()
        rules.kernel.returns(state, expected)
        assert (played.returns[row] == expected).all()


def test_threads_change_nothing() -> None:
    game = pyspiel.load_game("python_gongzhu")
    players = (find_player("monte_carlo(worlds=3,rollout=if)", game), find_player("random", game))
    counted: list[int] = []
    one = play_match(game, *players, 70, seed=2)
    two = play_match(game, *players, 70, seed=2, executor=Threads(2), on_progress=counted.append)
    assert (states_of(one.games[1]) == states_of(two.games[1])).all()
    assert sum(counted) == 140
    assert one.decisions(0) == two.decisions(0) > 0
    assert one.milliseconds(0) > one.milliseconds(1) > 0


def test_dealt_games_are_finished() -> None:
    game = pyspiel.load_game("python_coinche")
    strong = find_player("strong", game)
    whole = play_games(pyspiel.load_game("python_coinche(dealer=3)"), [strong] * 4, 20, seed=4)
    dealt = np.repeat(game.rules.root[None, :], 20, axis=0)
    for state, final in zip(dealt, states_of(whole), strict=True):
        while game.rules.kernel.current_player(state) == CHANCE:
            game.rules.kernel.apply_action(state, int(deck.pile_of(final, state[deck.NEXT_CARD])))
    finish_games(game, dealt, [strong] * 4)
    assert (dealt == states_of(whole)).all()


def test_an_illegal_action_is_not_played() -> None:
    game = pyspiel.load_game("python_toepen")
    cheat = Player("cheat", game, choose_rows=lambda states, rows, streams: np.full(len(rows), 10**6))
    with pytest.raises(ValueError, match="the player 'cheat' chose action 1000000, which is not legal"):
        play_games(game, [cheat, find_player("random", game)], 3)


class Passive(pyspiel.Bot):
    """Always the first legal action."""

    def __init__(self, game: pyspiel.Game, player_id: int) -> None:
        super().__init__()
        self.informed = 0

    def restart(self) -> None:
        self.informed = 0

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        assert player_id == state.current_player()
        self.informed += 1

    def step(self, state: pyspiel.State) -> int:
        return state.legal_actions()[0]


def test_a_bot_from_a_module_plays() -> None:
    passive = "tests.cardtable.test_match:Passive"
    match = match_of("python_coinche", passive, passive, 5)
    assert (match.games[0].returns == 0).all()


def test_a_bot_meets_a_compiled_player_on_the_same_deals() -> None:
    """Through pyspiel or not, deal i has the same cards."""
    bots = match_of("python_coinche", "tests.cardtable.test_match:Passive", "strong", 20).games[0]
    others = match_of("python_coinche", "simple", "strong", 20).games[0]
    assert (states_of(bots)[:, HANDS] == states_of(others)[:, HANDS]).all()


def test_chance_repeats_itself_in_games_of_openspiel() -> None:
    """The same cards both times: between players that always pass, both games of a deal end alike."""
    games = match_of("kuhn_poker", "fixed_action_preference", "fixed_action_preference", 50).games
    assert (games[0].returns == games[1].returns).all()
    assert len(np.unique(games[0].returns[:, 0])) == 2


def test_found_players_go_to_other_processes_and_others_say_why_not() -> None:
    game = pyspiel.load_game("python_gongzhu")
    player = find_player("monte_carlo(worlds=2,rollout=if)", game)
    again = pickle.loads(pickle.dumps(player))
    assert again.name == player.name
    states = np.repeat(game.rules.root[None, :], 1, axis=0)
    assert again.choose_rows is not None
    assert states.shape == (1, game.rules.state_size)
    with pytest.raises(UserError, match="was not made by find_player"):
        pickle.dumps(in_rows(Player("mine", game)))


@pytest.mark.parametrize("deals", [0, -1, 10**12, 1.5, "7", True])
def test_impossible_numbers_of_deals(deals: Any) -> None:
    with pytest.raises(UserError, match=r"deals is .* allowed: 1 to"):
        match_of("python_toepen", "random", "random", deals)
