"""Finding players: names, options, files, bots, transforms, and what is said when there is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable import player as registry
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import Player, compiled_players, find_player, players_of, register_player, rules_version
from cardtable.randomness import lot, streams
from solvers.cfr import CFRSolver
from solvers.mccfr import ExternalSamplingSolver
from solvers.policies import save_policy
from transforms.lifting import lift

TOEPEN = "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)"


def test_names() -> None:
    assert players_of(pyspiel.load_game("python_toepen")) == ["random", "expert", "monte_carlo"]
    assert players_of(pyspiel.load_game("python_toepen(suits=3)")) == ["random", "monte_carlo"]
    heuristics = ["simple", "strong", "simple_reraising", "strong_reraising"]
    coinche = ["random", *heuristics, "bidder", "caller", "cards", "expert"]
    for name in ("python_coinche", "python_tied_rewards(game=python_coinche())"):
        assert players_of(pyspiel.load_game(name)) == [*coinche, "deep_cfr", "deep_monte_carlo", "monte_carlo"]
    assert players_of(pyspiel.load_game("python_coinche_match")) == [*coinche, "monte_carlo"]
    assert players_of(pyspiel.load_game("leduc_poker")) == ["random"]
    assert list(compiled_players(pyspiel.load_game("python_gongzhu"))) == ["random", "if", "greed", "team"]


@pytest.mark.parametrize(
    ("game", "player", "complaint"),
    [
        ("leduc_poker", "monte_carlo", "monte_carlo plays the games of this project only, not leduc_poker"),
        ("python_gongzhu", "monte_carlo(worlds=0)", "worlds is 0; allowed: 1 to"),
        ("python_gongzhu", "monte_carlo(worlds=x)", "worlds is x .* allowed: a whole number, such as 100"),
        ("python_gongzhu", "monte_carlo(worlds=1.5)", r"worlds is 1\.5 .* allowed: a whole number"),
        ("python_gongzhu", "monte_carlo(rollout=fi)", "rollout is 'fi'; allowed: random, if, greed, team"),
        ("python_gongzhu(ranks=5)", "monte_carlo(rollout=if)", "rollout is 'if'; allowed: random$"),
        ("python_gongzhu", "monte_carlo(worlds)", r"cannot be read; allowed: name\(option=value"),
        ("python_gongzhu", "monte_carlo(worlds=1,worlds=2)", "cannot be read"),
        ("python_gongzhu", "monte_carlo(world=3)", "no option 'world'; allowed: worlds=100, rollout=random"),
        ("python_gongzhu", "monte_carlo(worlds=3", "no player 'monte_carlo.* did you mean monte_carlo"),
        ("python_gongzhu", "greed(worlds=3)", "no option 'worlds'; allowed: no options"),
        ("python_gongzhu(ranks=5)", "greed", "there is no player 'greed' .* known: random, monte_carlo, a saved"),
        ("python_cego", "", "there is no player '' for python_cego; known: random, expert, monte_carlo"),
        ("python_cego", "greed", "there is no player 'greed' for python_cego; known: random, expert, monte_carlo"),
        ("python_coinche", "storng", "there is no player 'storng' for python_coinche; did you mean strong"),
        ("python_coinche", "nothing.here:Bot", "cannot be imported"),
        ("python_coinche", "tests.cardtable.test_player:Missing", "cannot be imported"),
        ("python_coinche", __file__, "test_player.py is damaged or not a policy file"),
        ("python_coinche", "tests", "tests is no saved player: it has no player.json"),
    ],
)
def test_players_that_are_not_there(game: str, player: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        find_player(player, pyspiel.load_game(game))


def no_bot(game: pyspiel.Game, player_id: int) -> int:
    return 7


def test_a_function_that_makes_no_bot() -> None:
    game = pyspiel.load_game("python_toepen")
    with pytest.raises(UserError, match=r"made int; allowed: functions that make a pyspiel\.Bot"):
        find_player("tests.cardtable.test_player:no_bot", game).bot(game, 0, 1)


def test_one_can_register_a_player_with_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {name: dict(found) for name, found in registry._REGISTERED.items()})

    def make(game: pyspiel.Game, depth: int = 3, share: float = 0.5, bold: bool = False, style: str = "a") -> Player:
        return Player("mine", game, make_bot=lambda *_: (depth, share, bold, style))

    register_player("python_toepen", "mine", make)
    game = pyspiel.load_game("python_toepen")
    assert "mine" in players_of(game)
    found = find_player("mine(share=0.25,bold=true,style=b(x=1,y=2))", game)
    assert found.bot(game, 0) == (3, 0.25, True, "b(x=1,y=2)")
    for text, complaint in (
        ("mine(share=nan)", "share is nan .* a number"),
        ("mine(bold=1)", "true or false"),
        ("mine(depth=)", "depth is  "),
    ):
        with pytest.raises(UserError, match=complaint):
            find_player(text, game)
    with pytest.raises(ValueError, match="a player's name is 'My player'"):
        register_player("python_toepen", "My player", make)


def test_a_policy_file_plays_in_batches_and_through_openspiel(tmp_path: Path) -> None:
    game = pyspiel.load_game(TOEPEN)
    solver = CFRSolver(game, variant="cfr_plus")
    solver.run(50)
    save_policy(tmp_path / "solved.npz", solver.average_policy())
    player = find_player(str(tmp_path / "solved.npz"), game)
    assert player.label == "solved"
    assert player.choose_rows is not None
    score = play_match(game, player, find_player("random", game), 600).score
    assert score.mean > 0.02 > 0
    policy, table = player.policy(game), solver.average_policy()
    states = np.stack([state.array for state in _decisions(game)])
    assert player.probabilities_rows is not None
    chances = player.probabilities_rows(states, np.arange(len(states)))
    for state, row in zip(_decisions(game), chances, strict=True):
        expected = table.action_probabilities(state)
        assert policy.action_probabilities(state) == pytest.approx(expected)
        assert {action: row[action] for action in expected} == pytest.approx(expected)
        assert row.sum() == pytest.approx(1)


def _decisions(game: pyspiel.Game) -> list[pyspiel.State]:
    """Every decision on the way through some random games."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(40):
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                found.append(state.clone())
            state.apply_action(rng.choice(state.legal_actions()))
    return found


def test_a_policy_of_an_abstraction_plays_the_original_game(tmp_path: Path) -> None:
    """By rows as by `lift`, which replays the history through pyspiel; and a foreign game is refused."""
    base = pyspiel.load_game("python_toepen(suits=2,ranks=3,hand_size=2)")
    game = pyspiel.load_game(f"python_bucketing(game=python_card_isomorphism(game={base}),hand=bucket,history=ante)")
    solver = ExternalSamplingSolver(game, seed=1, where="rules")
    solver.run(500)
    table = solver.average_table()
    save_policy(tmp_path / "coarse.npz", table)
    player = find_player(str(tmp_path / "coarse.npz"), base)
    lifted = lift(table, game, base)
    for state in _decisions(base):
        found = player.policy(base).action_probabilities(state)
        assert found == pytest.approx(lifted.action_probabilities(state))
    with pytest.raises(UserError, match="allowed: games inside"):
        find_player(str(tmp_path / "coarse.npz"), pyspiel.load_game("python_toepen"))


def test_saved_players_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    game = pyspiel.load_game(TOEPEN)
    solver = CFRSolver(game, variant="cfr_plus")
    solver.run(5)
    save_policy(tmp_path / "policy.npz", solver.average_policy())
    registry.write_player_file(tmp_path, "policy", game, {}, {"command": "a test"})
    assert find_player(str(tmp_path), game).probabilities_rows is not None
    good = json.loads((tmp_path / "player.json").read_text())
    assert good["rules_version"] == rules_version(game) > 0
    for change, complaint in (
        ({"rules_version": 99}, "version 99 of the rules of python_toepen; this is version"),
        ({"kind": "pickle"}, "kind is 'pickle'; allowed: policy, action_values, alpha_zero, clone, deep_cfr, ppo"),
        ({"format_version": 7}, "not a saved player of this version"),
        ({"settings": None}, "settings is missing"),
        ({"game": 3}, "game is missing"),
    ):
        (tmp_path / "player.json").write_text(json.dumps({**good, **change}))
        with pytest.raises(UserError, match=complaint):
            find_player(str(tmp_path), game)
    (tmp_path / "player.json").write_text("{")
    with pytest.raises(UserError, match="is damaged or not the head of a saved player"):
        find_player(str(tmp_path), game)


def test_streams_are_those_of_their_number() -> None:
    many, one = streams(5, (1, 2), range(1000)), streams(5, (1, 2), range(700, 701))
    assert (many[700] == one[0]).all()
    assert len(np.unique(many)) == 2000
    assert (streams(5, (1, 3), range(1000)) != many).all()
    assert (streams(6, (1, 2), range(1000)) != many).all()
    drawn = lot(many, 10)
    assert np.abs(np.bincount(drawn, minlength=10) - 100).max() < 50
