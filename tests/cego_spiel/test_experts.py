"""Every sub-game of Cego comes with an expert: small, described, and far better than random play."""

from __future__ import annotations

import json
from pathlib import Path

import pyspiel
import pytest

import cego_spiel
from cardtable.match import play_match
from cardtable.player import find_player
from cego_spiel.state import SUBGAMES

EXPERTS = Path(cego_spiel.__file__).parent / "experts"
MEGABYTE = 1_000_000


@pytest.mark.parametrize("subgame", SUBGAMES)
def test_every_subgame_has_an_expert(subgame: str) -> None:
    game = pyspiel.load_game(f"python_cego(subgame={subgame})")
    folder = EXPERTS / subgame
    assert sum(file.stat().st_size for file in folder.iterdir()) <= MEGABYTE
    made_by = json.loads((folder / "player.json").read_text())["made_by"]
    assert made_by["command"] in (folder / "MODEL.md").read_text()
    score = play_match(game, find_player("expert", game), find_player("random", game), 300, 4).score
    assert score.mean > 4 * score.standard_error
