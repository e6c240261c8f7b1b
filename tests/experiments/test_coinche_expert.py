"""The cross table of Coinche: files, figures, costs, the command, and colver's players at our table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.executors import Serial
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player
from experiments.coinche.colver_players import import_colver
from experiments.coinche.expert_table import COLVER, COLVER_CARDS, FIGURES, cost_of, load, play, pooled, save, style_of
from tests.commands import run


def test_a_filed_match_comes_back_with_figures(tmp_path: Path) -> None:
    game = pyspiel.load_game("python_coinche")
    pair = (find_player("strong", game), find_player("simple", game))
    filed = play(game, pair, 40, 3, Serial())
    assert (filed.result.per_deal == play_match(game, *pair, 40, 3).per_deal()).all()
    save(tmp_path / "match.npz", filed)
    again = load(tmp_path / "match.npz", 40)
    assert (again.figures == filed.figures).all()
    styles = [style_of(player, {(0, 1): again}) for player in range(2)]
    attacks = [style["attack rate"].mean for style in styles]
    assert sum(attacks) + styles[0]["void rate"].mean == pytest.approx(1)
    with pytest.raises(UserError, match="is not a match of 41 deals"):
        load(tmp_path / "match.npz", 41)
    (tmp_path / "match.npz").write_bytes(b"nonsense")
    with pytest.raises(UserError, match="delete it to play the match again"):
        load(tmp_path / "match.npz", 40)


def test_figures_are_pooled_by_weight() -> None:
    both = pooled([np.array([0.2, 0.03, 100.0]), np.array([0.5, 0.04, 300.0]), np.array([np.nan, np.nan, 0.0])])
    assert both.mean == pytest.approx(0.425)
    assert both.standard_error == pytest.approx(np.hypot(0.25 * 0.03, 0.75 * 0.04))
    assert np.isnan(pooled([]).mean)


def test_searched_cards_cost_more_than_calls_by_rule() -> None:
    game = pyspiel.load_game("python_coinche")
    pair = (find_player("cards(worlds=2)", game), find_player("strong", game))
    cost, other = cost_of(game, pair, 2, 1)
    assert cost.card > cost.call > 0
    assert cost.game > 4 * cost.card  # there are more cards to choose than four
    assert other.game < cost.game


def test_the_command_writes_tables_and_goes_on(tmp_path: Path) -> None:
    arguments = ["--quick", f"--out={tmp_path / 'run'}"]
    assert "written to" in run("experiments.coinche_expert", *arguments).stdout
    first = (tmp_path / "run" / "results.csv").read_text()
    header = (tmp_path / "run" / "style.csv").read_text().splitlines()[0]
    assert all(name in header for name in FIGURES)
    assert "How they bid" in (tmp_path / "run" / "report.md").read_text()
    (tmp_path / "run" / "match simple v strong.npz").unlink()
    run("experiments.coinche_expert", *arguments, "--resume")
    assert [line.split(",")[:4] for line in (tmp_path / "run" / "results.csv").read_text().splitlines()] == [
        line.split(",")[:4] for line in first.splitlines()
    ]


def test_matches_that_are_told_more_of_are_longer_and_players_can_be_added(tmp_path: Path) -> None:
    """The cross table takes the first deals of the longer match, whoever of the two is named first."""
    arguments = ["--colver=false", "--deals=20", f"--out={tmp_path / 'run'}"]
    run("experiments.coinche_expert", "--players=strong,bidder", *arguments)
    told = (tmp_path / "run" / "longer.csv").read_text().splitlines()
    assert len(told) == 2
    assert told[1].startswith("bidder,strong,")
    assert ",4000," in told[1]
    game = pyspiel.load_game("python_coinche")
    first = play_match(game, find_player("strong", game), find_player("bidder", game), 20, 1).score
    row = (tmp_path / "run" / "results.csv").read_text().splitlines()[1].split(",")
    assert row[:2] == ["strong", "bidder"]
    assert float(row[2]) == pytest.approx(first.mean)
    run("experiments.coinche_expert", "--players=strong,bidder,simple", "--resume", *arguments)
    rows = (tmp_path / "run" / "results.csv").read_text().splitlines()
    assert len(rows) == 4
    assert rows[1].split(",")[:3] == row[:3]


@pytest.mark.skipif(import_colver() is None, reason="colver is not installed")
def test_colver_plays_the_same_cards_again() -> None:
    """Its worlds are counted, so a busy machine does not weaken it."""
    game = pyspiel.load_game("python_coinche")
    colver, strong = (find_player(name, game) for name in (COLVER_CARDS, "strong"))
    games = [play_match(game, colver, strong, 2, 5).games[0].states for _ in range(2)]
    assert games[0] is not None
    assert np.array_equal(games[0], games[1])  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(import_colver() is None, reason="colver is not installed")
@pytest.mark.parametrize(("ours", "theirs"), [("cards", COLVER_CARDS), ("expert", COLVER)])
def test_colver_has_at_least_our_time(ours: str, theirs: str) -> None:
    """The expert thinks about calls too. A fifth is left for other work on the machine."""
    game = pyspiel.load_game("python_coinche")
    our_cost, their_cost = cost_of(game, (find_player(ours, game), find_player(theirs, game)), 8, 80)
    assert their_cost.game > 0.8 * our_cost.game


@pytest.mark.skipif(import_colver() is None, reason="colver is not installed")
@pytest.mark.parametrize("player", ["isdd", "isdd_cards", "heuristic", "smart_ismcts"])
def test_colver_sits_at_our_table(player: str) -> None:
    game = pyspiel.load_game("python_coinche")
    colver = find_player(f"experiments.coinche.colver_players:{player}", game)
    match = play_match(game, colver, find_player("random", game), 2, 5)
    assert match.score.mean > 0
