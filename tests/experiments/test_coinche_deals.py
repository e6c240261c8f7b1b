"""Deals told in words: what decided, hands, auctions, tricks, and who would have decided otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.match import dealt_around, play_match
from cardtable.player import find_player
from coinche_spiel import state as slots
from experiments.coinche.told_deals import auction_and_tricks, contract_of, decisions_told, tell, telling_deals
from tests.commands import run


def test_deals_are_told_as_they_were_played() -> None:
    game = pyspiel.load_game("python_coinche")
    players = (find_player("strong", game), find_player("simple", game))
    match = play_match(game, *players, 60, 3)
    found = telling_deals(match, 2)
    assert {told.kind for told in found} == {"calls", "cards"}  # these two never coinche
    for told in found:
        assert told.gain == match.per_deal()[told.deal] > 0
        assert (contract_of(told.tables[0]) == contract_of(told.tables[1])) == (told.kind == "cards")
        better = [d for d in np.flatnonzero(match.per_deal() > told.gain) if d not in [other.deal for other in found]]
        for deal in better:  # was left out as there are two of its kind already, and better ones
            same = contract_of(match.games[0].states[deal]) == contract_of(match.games[1].states[deal])  # type: ignore[index]
            assert sum((other.kind == "cards") == same and other.gain >= match.per_deal()[deal] for other in found) == 2
        text, decisions = tell(game, players, told, 3)
        assert f"{told.gain:+.0f} a table" in text
        for seating, state in enumerate(told.tables):
            auction, tricks = auction_and_tricks(dealt_around(game)[told.deal % 4], state)
            assert auction in text
            assert sorted(" ".join(trick.partition(": ")[2] for trick in tricks).split()) == sorted(every_card())
            assert all(row["strong"] != row["simple"] for row in decisions[seating])


def every_card() -> list[str]:
    return [rank + suit for suit in "♠♥♣♦" for rank in ("7", "8", "9", "10", "J", "Q", "K", "A")]


def test_decisions_are_those_that_the_other_would_not_have_made() -> None:
    """A player against itself makes none; a player who can say what it thinks says it of both."""
    game = pyspiel.load_game("python_coinche")
    strong = find_player("strong", game)
    match = play_match(game, strong, find_player("simple", game), 12, 4)
    told = telling_deals(match, 1)[0]
    assert decisions_told(game, (strong, strong), told, 0, 4) == []
    assert told.tables[0][slots.PHASE] == slots.OVER


@pytest.mark.slow
def test_the_command_goes_on(tmp_path: Path) -> None:
    arguments = ["--first=strong", "--second=simple", "--deals=40", f"--out={tmp_path / 'run'}"]
    assert "written to" in run("experiments.coinche_deals", *arguments).stdout
    report = (tmp_path / "run" / "report.md").read_text()
    assert "decided by the cards" in report
    assert run("experiments.coinche_deals", *arguments, "--resume").returncode == 0
    assert (tmp_path / "run" / "report.md").read_text() == report
