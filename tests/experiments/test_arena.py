"""The arena: duplicate deals, rotation of the dealer, estimates, Coinche metrics, all kinds of players, bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import coinche_spiel  # noqa: F401 registers the game
from cardtable import deck
from cardtable.parameters import UserError
from cardtable.rules import CHANCE, TERMINAL
from cardtable.spiel import load_game
from coinche_spiel import state as slots
from coinche_spiel.metrics import deal_facts, team_metrics
from experiments.running.duplicate_matches import (
    Arena,
    dealt_around,
    estimate,
    figures,
    find_player,
    require_sequential,
    rewards,
    sides_of,
)
from solvers.cfr import CFRSolver
from solvers.policies import save_policy
from tests.coinche_spiel.helpers import dealt, load, move

ROOT = Path(__file__).parents[2]


def arena_of(game_name: str, first: str, second: str, seed: int = 1) -> Arena:
    game = pyspiel.load_game(game_name)
    return Arena(game, find_player(first, game), find_player(second, game), seed)


# Estimates.


def test_estimate_of_a_plain_mean() -> None:
    values = np.random.default_rng(1).normal(size=(500, 1))
    found = estimate(values, np.ones_like(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / 500**0.5)
    assert found.weight == 500


def test_estimate_treats_the_games_of_a_deal_as_one() -> None:
    """A deal repeated is no new information; a deal whose two games cancel has no uncertainty at all."""
    values = np.random.default_rng(2).normal(size=(300, 1))
    once = estimate(values, np.ones_like(values))
    twice = estimate(np.hstack([values, values]), np.ones((300, 2)))
    assert twice.error == pytest.approx(once.error)
    assert estimate(np.hstack([values, -values]), np.ones((300, 2))).error == pytest.approx(0, abs=1e-12)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """A share among a random number of attempts per deal: about 95% of the intervals contain it."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        attempts = rng.integers(0, 3, size=(200, 2))
        found = estimate(rng.binomial(attempts, 0.3).astype(float), attempts.astype(float))
        covered += found.low <= 0.3 <= found.high
    assert 0.93 < covered / 2000 < 0.97


def test_estimate_of_nothing() -> None:
    assert np.isnan(estimate(np.zeros((5, 2)), np.zeros((5, 2))).mean)


# Seatings and deals.


def test_every_deal_is_played_twice_and_the_dealer_goes_round() -> None:
    arena = arena_of("python_coinche", "strong", "random")
    assert arena.in_batches
    first, second = arena.play(101)
    hands = slice(deck.DEALT, deck.DEALT + 4)
    assert (first.states[:, hands] == second.states[:, hands]).all()
    assert len(np.unique(first.states[:, deck.DEALT])) > 95
    assert (first.states[:, slots.DEALER] == np.arange(101) % 4).all()
    assert (second.states[:, slots.DEALER] == np.arange(101) % 4).all()
    assert (first.states[:, slots.PHASE] == slots.OVER).all()


def test_the_same_seed_gives_the_same_games() -> None:
    one, _ = arena_of("python_coinche", "strong", "random", seed=5).play(50)
    same, _ = arena_of("python_coinche", "strong", "random", seed=5).play(50)
    other, _ = arena_of("python_coinche", "strong", "random", seed=6).play(50)
    assert (one.states == same.states).all()
    assert (one.states != other.states).any()


def test_a_player_against_itself_breaks_even_exactly() -> None:
    for name in ("simple", "strong"):
        arena = arena_of("python_coinche", name, name)
        mine = rewards(arena.play(200), arena.sides, 0)
        assert (mine.sum(axis=1) == 0).all()


def test_sides_change_with_the_seating() -> None:
    """Strong gains on either side, so it must be on the other one in the second seating."""
    arena = arena_of("python_coinche", "strong", "random")
    games = arena.play(400)
    assert games[0].returns[:, 0].mean() > 150
    assert games[1].returns[:, 1].mean() > 150
    mine = rewards(games, arena.sides, 0)
    assert (mine[:, 0] == games[0].returns[:, 0]).all()
    assert (mine[:, 1] == games[1].returns[:, 1]).all()
    assert (rewards(games, arena.sides, 1) == -mine).all()


def test_a_dealer_that_was_asked_for_stays() -> None:
    assert len(dealt_around(load())) == 4
    assert len(dealt_around(load(dealer=2))) == 1
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


@pytest.mark.parametrize("in_batches", [True, False])
def test_both_ways_to_play_are_right(in_batches: bool) -> None:
    """Players without chance, so the deal decides everything: played again step by step, each game ends the same."""
    arena = arena_of("python_coinche", "strong", "simple")
    played = arena._play_batches(40) if in_batches else arena._play_one_by_one(40, False)
    expected = np.empty(4)
    for seating in range(2):
        seats = [player.compiled for player in arena._seated(bool(seating))]
        for row, final in enumerate(played[seating].states):
            rules = arena.tables[row % 4].rules
            state = rules.new_state()
            while rules.kernel.current_player(state) == CHANCE:
                rules.kernel.apply_action(state, int(deck.pile_of(final, state[deck.NEXT_CARD])))
            while rules.kernel.current_player(state) != TERMINAL:
                rules.kernel.apply_action(state, seats[rules.kernel.current_player(state)](state, None))
            assert (state == final).all()
            rules.kernel.returns(state, expected)
            assert (played[seating].returns[row] == expected).all()
    hands = slice(deck.DEALT, deck.DEALT + 4)
    assert (played[0].states[:, hands] == played[1].states[:, hands]).all()
    assert len(np.unique(played[0].states[:, deck.DEALT])) > 35


# Coinche metrics.


HANDS = ["AH JS", "7H 8H", "10H 9S", "9H KH"]  # North and South take 11 + 10 + 4, 20 + 14, and der 10 with spades: 69


def finished(*calls: str, **parameters) -> pyspiel.State:
    state = move(dealt(load(hand_size=2, min_bid=60, max_bid=90, **parameters), HANDS), *calls)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[-1])
    return state


def test_deal_facts() -> None:
    states = [
        finished("60♠", "pass", "pass", "pass"),
        finished("70♠", "coinche", "pass", "pass", "pass"),
        finished("pass", "60♠", "pass", "capot♠", "coinche", "surcoinche"),
        finished("pass", "pass", "pass", "pass"),
    ]
    facts = deal_facts(np.array([state.array for state in states]))
    assert facts.attack.tolist() == [0, 0, 1, -1]
    assert facts.value.tolist() == [60, 70, 250, 0]
    assert facts.is_capot.tolist() == [0, 0, 1, 0]
    assert facts.level.tolist() == [0, 1, 2, 0]
    assert facts.points.tolist() == [69, 69, 0, 0]
    assert facts.made.tolist() == [1, 0, 0, 0]
    assert facts.coincher.tolist() == [-1, 1, 0, -1]
    assert facts.bids_0.tolist() == [1, 1, 0, 0]
    assert facts.bids_1.tolist() == [0, 0, 1, 0]
    assert facts.calls.tolist() == [4, 5, 6, 4]
    assert facts.cards.tolist() == [8, 8, 8, 0]


def test_team_metrics() -> None:
    """North and South: 60 made with 69 points (+60), 70 coinched and failed (-320), a capot against them failed."""
    states = [
        finished("60♠", "pass", "pass", "pass"),
        finished("70♠", "coinche", "pass", "pass", "pass"),
        finished("pass", "60♠", "pass", "capot♠", "coinche", "pass", "pass", "pass"),
        finished("pass", "pass", "pass", "pass"),
    ]
    arrays = np.array([state.array for state in states])
    returns = np.array([state.returns() for state in states])
    ratios = {
        seat: {
            name: float(x.sum() / n.sum()) for name, (x, n) in team_metrics(arrays, returns, seat).items() if n.sum()
        }
        for seat in (0, 1)
    }
    assert ratios[0] == pytest.approx(
        {
            "mean return": (60 - 320 + 500) / 4,
            "reward attacking": (60 - 320) / 2,
            "reward defending": 500,
            "attack rate": 2 / 4,
            "success attacking": 1 / 2,
            "success defending": 1,
            "contract": 65,
            "precision": 9,  # of the deal that was not coinched
            "precision without capot": 9,
            "capot rate": 0,
            "coinche rate": 1,
            "void rate": 1 / 4,
            "table turns": (12 + 13 + 16 + 4) / 4 / 4,
        }
    )
    assert ratios[1]["capot rate"] == 1
    assert ratios[1]["coinche rate"] == 1 / 2
    assert ratios[1]["success attacking"] == 0
    assert "precision" not in ratios[1]


def test_known_figures_of_the_players() -> None:
    """Figures of the literature for 20,000 deals, here within four standard errors of our own few thousand."""
    game = pyspiel.load_game("python_coinche")
    arena = arena_of("python_coinche", "strong", "random")
    games = arena.play(4000)
    strong, random = figures(game, games, 0), figures(game, games, 1)
    for found, expected in (
        (strong["mean return"], 229),
        (strong["attack rate"], 0.013),
        (strong["success attacking"], 0.809),
        (random["success attacking"], 0.008),
        (random["contract"], 231.5),
        (strong["table turns"], 9.94),
    ):
        assert abs(found.mean - expected) < 4 * found.error + 0.004 * expected


# Kinds of players.


def test_a_policy_file_plays(tmp_path: Path) -> None:
    game = pyspiel.load_game("python_toepen(suits=2,ranks=3,hand_size=2,betting=False)")
    solver = CFRSolver(game, variant="cfr_plus")
    solver.run(50)
    path = tmp_path / "solved.npz"
    save_policy(path, solver.average_policy())
    arena = Arena(game, find_player(str(path), game), find_player("random", game))
    assert not arena.in_batches
    found = figures(game, arena.play(300), 0)
    assert found["mean return"].mean > 0.02
    assert "attack rate" not in found


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
    game = pyspiel.load_game("python_coinche")
    passive = find_player("tests.experiments.test_arena:Passive", game)
    arena = Arena(game, passive, passive)
    games = arena.play(5)
    assert (games[0].returns == 0).all()
    assert figures(game, games, 0)["void rate"].mean == 1


def test_gongzhu_players_play() -> None:
    """Mr. Greed is about 78 points better than Mr. If, with a standard error of about 150 points per deal."""
    arena = arena_of("python_gongzhu", "greed", "if")
    assert arena.in_batches
    found = figures(arena.tables[0], arena.play(400), 0)["mean return"]
    assert abs(found.mean - 78) < 10 + 4 * found.error


def test_the_monte_carlo_player_plays() -> None:
    arena = arena_of("python_gongzhu", "monte_carlo(rollout=if,worlds=5)", "random")
    assert not arena.in_batches
    found = figures(arena.tables[0], arena.play(20), 0)["mean return"]
    assert found.mean > 3 * found.error > 0
    one, same = (arena_of("python_cego", "monte_carlo(worlds=2)", "random").play(2) for _ in range(2))
    assert (one[0].returns == same[0].returns).all()
    game = pyspiel.load_game("python_toepen")
    assert find_player("monte_carlo", game).name == "monte_carlo"


@pytest.mark.parametrize(
    ("game", "player", "complaint"),
    [
        ("leduc_poker", "monte_carlo", "monte_carlo plays the games of this project only, not leduc_poker"),
        ("python_gongzhu", "monte_carlo(worlds=0)", "worlds is 0 .* allowed: a whole number from 1"),
        ("python_gongzhu", "monte_carlo(worlds=x)", "worlds is x"),
        ("python_gongzhu", "monte_carlo(rollout=fi)", "rollout is fi .* allowed: random, if, greed, team"),
        ("python_gongzhu(ranks=5)", "monte_carlo(rollout=if)", "rollout is if .* allowed: random$"),
        ("python_gongzhu", "monte_carlo(worlds)", "cannot be read; allowed: monte_carlo\\(worlds=100"),
        ("python_gongzhu", "monte_carlo(world=3)", "cannot be read"),
        ("python_gongzhu", "monte_carlo(worlds=3", "cannot be read"),
        ("python_gongzhu(ranks=5)", "greed", "there is no player 'greed' .* known: random, monte_carlo, a policy file"),
        ("python_cego", "greed", "there is no player 'greed' for python_cego; known: random, monte_carlo"),
    ],
)
def test_players_a_game_does_not_have(game: str, player: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        find_player(player, pyspiel.load_game(game))


@pytest.mark.parametrize("name", ["leduc_poker", "kuhn_poker(players=3)", "python_kuhn_collab"])
def test_other_games(name: str) -> None:
    game = pyspiel.load_game(name)
    arena = Arena(game, find_player("random", game), find_player("uniform_random", game))
    found = figures(game, arena.play(60), 0)
    assert abs(found["mean return"].mean) < 5 * found["mean return"].error
    assert found["mean return"].weight == 120


def test_chance_repeats_itself_in_games_of_openspiel() -> None:
    """The same cards both times: between players that always pass, both games of a deal end alike."""
    game = pyspiel.load_game("kuhn_poker")
    passive = find_player("fixed_action_preference", game)
    games = Arena(game, passive, passive).play(50)
    assert (games[0].returns == games[1].returns).all()
    assert len(np.unique(games[0].returns[:, 0])) == 2


def test_bad_players() -> None:
    game = pyspiel.load_game("python_coinche")
    with pytest.raises(
        UserError, match="there is no player 'storng' for python_coinche; known: random, simple, strong"
    ):
        find_player("storng", game)
    with pytest.raises(UserError, match="cannot be imported"):
        find_player("nothing.here:Bot", game)
    with pytest.raises(UserError, match="cannot be imported"):
        find_player("tests.experiments.test_arena:Missing", game)
    with pytest.raises(UserError, match=re.escape(Path(__file__).name)):
        find_player(__file__, game)


# The runner.


def run_arena(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "experiments.arena", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_runner(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--game=python_toepen", "--north_south=random", "--east_west=random", "--quick", "--seed=3"]
    result = run_arena(*arguments, f"--out={out}")
    assert result.returncode == 0, result.stderr
    assert "random (1)" in result.stdout
    assert json.loads((out / "config.json").read_text())["config"]["deals"] == 200
    rows = (out / "results.csv").read_text().splitlines()
    assert rows[0] == "player,figure,mean,low,high,standard_error,weight"
    assert len(rows) == 1 + 2 * 5
    assert (out / "arena.png").stat().st_size > 10_000
    report = (out / "report.md").read_text()
    assert "--seed=3" in report
    assert "| mean return |" in report


def test_bad_games() -> None:
    with pytest.raises(UserError, match="--game=python_topen cannot be loaded"):
        load_game("python_topen")
    with pytest.raises(UserError, match="reward is 'mirrors'; allowed: classic, mirror"):
        load_game("python_coinche(reward=mirrors)")
    with pytest.raises(UserError, match="matrix_mp is not a sequential game"):
        require_sequential(load_game("matrix_mp"))
    with pytest.raises(UserError, match="has one player only"):
        require_sequential(load_game("catch"))


def test_runner_with_a_typo() -> None:
    """A message and a failing exit code, no traceback."""
    result = run_arena("--game=python_toepen", "--north_south=strnog")
    assert result.returncode == 1
    assert "experiments.arena: there is no player 'strnog'" in result.stderr
    assert "Traceback" not in result.stderr
