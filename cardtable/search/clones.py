"""Clones: networks that imitate a player, as players and as models of behaviour, with numpy alone.

A saved clone is a folder with `player.json` and its weights as safetensors, made by `python -m experiments.clone`. As a
player it draws actions with the chances of its network; as a model it tells `Worlds` how likely a move was.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.files import read_tensors, write_tensors
from cardtable.parameters import UserError
from cardtable.player import Player, drawing_player, legal_mask, read_player_file, require_same_rules, write_player_file
from cardtable.search.models import NetworkModel
from cardtable.search.networks import chances_of, context_rows, outputs_of, require_network
from cardtable.spiel import CardGame, is_game

KIND = "clone"
WEIGHTS = "weights.safetensors"
NOISE = 0.05


def save_clone(folder: Path, game: CardGame, tensors: Mapping[str, np.ndarray], made_by: Mapping[str, Any]) -> None:
    write_tensors(folder / WEIGHTS, tensors)
    write_player_file(folder, KIND, game, {}, made_by)


def saved_player(folder: Path, head: Mapping[str, Any], game: CardGame) -> Player:
    """A saved clone that plays."""
    tensors = _tensors(folder, head, game)

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        outputs = outputs_of(tensors, context_rows(game.rules, states, rows)).astype(np.float64)
        return chances_of(outputs, legal_mask(game.rules, states, rows), 1.0, 0.0)

    return drawing_player(str(folder), game, probabilities_rows)


def load_model(folder: Path, game: CardGame, temperature: float = 1.0, noise: float = NOISE) -> NetworkModel:
    """A saved clone as a model of behaviour."""
    return NetworkModel(_tensors(folder, read_player_file(folder), game), temperature, noise)


def _tensors(folder: Path, head: Mapping[str, Any], game: CardGame) -> dict[str, np.ndarray]:
    if head["kind"] != KIND:
        raise UserError(f"{folder} is a saved player of the kind {head['kind']}; allowed: {KIND}")
    if not isinstance(game, CardGame) or not is_game(head["game"], game):
        raise UserError(f"{folder} is a clone for {head['game']}, not for {game}")
    require_same_rules(folder, head, game)
    try:
        tensors = read_tensors(folder / WEIGHTS, "the weights of a clone")
    except FileNotFoundError:
        raise UserError(f"{folder} is no clone: it has no {WEIGHTS}") from None
    require_network(game.rules, tensors, str(folder / WEIGHTS))
    return tensors
