"""The batched actor: legal games, the same whoever plays them, decisions that can be played again."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Serial, Threads
from cardtable.executors.processes import Processes
from cardtable.match import Estimate, play_games
from cardtable.parameters import UserError
from cardtable.player import Player, find_player
from cardtable.search.action_values import Shape, shape_for
from cardtable.spiel import CardGame
from solvers.learning.actor import Acting, Chunk, Mind, Played, Seating, play

GAMES = 40


def mind(game: CardGame, seed: int = 0, **options: object) -> Mind:
    shape: Shape = shape_for(game.rules, (16,), (8,), 0.0)
    weights = 0.3 * np.random.default_rng(seed).standard_normal(shape.num_weights)
    return Mind(shape, weights.astype(np.float32), **options)  # type: ignore[arg-type]


def check(game: CardGame, played: Played, seating: Seating) -> None:
    """Plays every decision on: the chosen action leads to the next decision of that game."""
    kernel, actions = game.rules.kernel, np.empty(game.num_distinct_actions(), np.int64)
    assert (np.diff(played.game_of) >= 0).all()
    assert set(played.seat_of) <= {seat for seat, player in enumerate(seating) if player is None}
    for row, state in enumerate(played.states):
        assert kernel.current_player(state) == played.seat_of[row]
        assert kernel.legal_actions(state, actions) == played.count[row] > 1
        assert 0 <= played.place[row] < played.count[row]
        last = row + 1 == len(played.states) or played.game_of[row + 1] != played.game_of[row]
        if last or any(player is not None for player in seating):
            continue
        after = state.copy()
        kernel.apply_action(after, actions[played.place[row]])
        while kernel.legal_actions(after, actions) == 1:
            kernel.apply_action(after, actions[0])
        assert (after == played.states[row + 1]).all()


@pytest.mark.parametrize("name", ["python_cego", "python_kuhn_collab"])
def test_self_play(name: str) -> None:
    game = pyspiel.load_game(name)
    seating: Seating = (None,) * game.num_players()
    acting = Acting(game, [mind(game, epsilon=0.2)], [seating], seed=1)
    played = play(acting, Chunk(GAMES, 0, (3, 4)))
    check(game, played, seating)
    assert len(np.unique(played.game_of)) == GAMES
    again = play(acting, Chunk(GAMES, 0, (3, 4)))
    assert (again.states == played.states).all()
    other = play(acting, Chunk(GAMES, 0, (3, 5)))
    assert other.states.shape != played.states.shape or (other.states != played.states).any()


def test_fixed_players_sit_in_their_seats() -> None:
    game = pyspiel.load_game("python_cego(subgame=bettel)")
    random, search = find_player("random", game), find_player("monte_carlo(worlds=1)", game)
    seatings: list[Seating] = [(None, random, random, random), (random, None, search, random)]
    acting = Acting(game, [mind(game)], seatings, seed=1)
    for number, seating in enumerate(seatings):
        check(game, play(acting, Chunk(8, number, (number,))), seating)


def test_executors_change_nothing() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    acting = Acting(game, [mind(game, epsilon=0.5)], [(None, find_player("random", game), None, None)], seed=2)
    chunks = [Chunk(30, 0, (number,)) for number in range(4)]
    wanted = list(Serial().map(play, chunks, acting))
    with Threads(2) as threads, Processes(1) as processes:
        for executor in (threads, processes):
            for one, other in zip(wanted, executor.map(play, chunks, acting), strict=True):
                assert (one.states == other.states).all()
                assert (one.place == other.place).all()
                assert (one.returns == other.returns).all()


def test_minds_are_drawn_for_seats_and_kept() -> None:
    game = pyspiel.load_game("python_cego")
    minds = [mind(game, share=0.25), mind(game, 1, share=0.75, softmax=True)]
    played = play(Acting(game, minds, [(None,) * 4], seed=1), Chunk(400, 0, (0,)))
    pairs: dict[tuple[int, int], set[int]] = defaultdict(set)
    for game_of, seat, number in zip(played.game_of, played.seat_of, played.mind_of, strict=True):
        pairs[game_of, seat].add(number)
    assert all(len(numbers) == 1 for numbers in pairs.values())
    share = np.mean([0 in numbers for numbers in pairs.values()])
    assert share == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / len(pairs)))


def test_random_exploration_plays_as_random_players_do() -> None:
    game = pyspiel.load_game("python_cego")
    played = play(Acting(game, [mind(game, epsilon=1.0)], [(None,) * 4], seed=1), Chunk(2000, 0, (0,)))
    mine = Estimate.of(played.returns[:, 0])
    random = Estimate.of(play_games(game, [find_player("random", game)] * 4, 20_000, 5).returns[:, 0])
    assert abs(mine.mean - random.mean) < 4 * np.hypot(mine.standard_error, random.standard_error)


def test_impossible_seatings_are_refused() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    random = find_player("random", game)
    for seatings in ([], [(None,)], [(random,) * 4]):
        with pytest.raises(UserError):
            Acting(game, [mind(game)], seatings, seed=1)
    bot = Player("bot", game, make_bot=lambda g, seat, seed: None)
    with pytest.raises(UserError, match="bot only"):
        Acting(game, [mind(game)], [(None, bot, random, random)], seed=1)
