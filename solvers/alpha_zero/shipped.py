"""The network that comes with Gongzhu: ScrofaZero in our own words, trained once (`gongzhu_spiel/scrofazero`)."""

from __future__ import annotations

from pathlib import Path

import gongzhu_spiel
from cardtable.player import Player, read_player_file
from cardtable.spiel import CardGame
from solvers.alpha_zero.players import AS_TRAINED, WORLDS, saved_player

FOLDER = Path(gongzhu_spiel.__file__).parent / "scrofazero"


def scrofazero(
    game: CardGame,
    worlds: int = WORLDS,
    sampling: str = "stratified",
    weights: str = "iec",
    head_only: str = "none",
    endings: int = AS_TRAINED,
) -> Player:
    """With the paper's best worlds and weights, unless told otherwise."""
    head = read_player_file(FOLDER)
    return saved_player(FOLDER, head, game, worlds, sampling, weights, head_only, endings)
