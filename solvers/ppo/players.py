"""What PPO has learned, as a player: a softmax over the legal actions, in numpy alone, and as files.

The policy network has fully connected layers with tanh between them, as stable-baselines3 makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from cardtable.files import read_tensors, write_tensors
from cardtable.parameters import UserError
from cardtable.player import Player, drawing_player, legal_mask, require_same_rules, write_player_file
from cardtable.rows import encode_rows
from cardtable.spiel import CardGame, is_game

KIND = "ppo"
WEIGHTS_FILE = "policy.safetensors"
MOST_LAYERS = 20

Layers = Sequence[tuple[np.ndarray, np.ndarray]]  # of each layer: weights (outputs, inputs) and bias


def policy_player(name: str, game: CardGame, layers: Layers) -> Player:
    """The player that these layers make."""
    rules, addresses = game.rules, game.rules.compiled_kernel().addresses()

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        x = np.zeros((len(rows), rules.information_size), np.float32)
        encode_rows(addresses, states, rows, True, x)
        for weight, bias in layers[:-1]:
            x = np.tanh(x @ weight.T + bias)
        weight, bias = layers[-1]
        logits = np.where(legal_mask(rules, states, rows), x @ weight.T + bias, -np.inf)
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)

    return drawing_player(name, game, probabilities_rows)


def save_player(layers: Layers, game: CardGame, folder: Path, made_by: Mapping[str, Any]) -> None:
    """Writes `player.json` and the weights. `game` may be paid otherwise than the one that was learned at."""
    tensors: dict[str, np.ndarray] = {}
    for number, (weight, bias) in enumerate(layers):
        tensors |= {f"{number}.weight": weight, f"{number}.bias": bias}
    write_tensors(folder / WEIGHTS_FILE, tensors)
    write_player_file(folder, KIND, game, {"layers": len(layers)}, made_by)


def saved_player(folder: Path, head: Mapping[str, Any], game: pyspiel.Game) -> Player:
    """A folder with `player.json` of the kind `ppo`."""
    require_same_rules(folder, head, game)
    if not is_game(head["game"], game):
        raise UserError(f"{folder} is a player of {head['game']}, not of {game}")
    count = head["settings"].get("layers")
    if not isinstance(count, int) or not 1 <= count <= MOST_LAYERS:
        raise UserError(f"{folder} is damaged: its settings name no layers")
    file = folder / WEIGHTS_FILE
    try:
        tensors = read_tensors(file, "a policy of PPO")
        layers = [(tensors[f"{number}.weight"], tensors[f"{number}.bias"]) for number in range(count)]
    except (OSError, KeyError) as error:
        raise UserError(f"{file} is damaged or has no policy: {error}") from None
    size = game.rules.information_size
    for weight, bias in layers:
        if weight.dtype != np.float32 or weight.ndim != 2 or weight.shape[1] != size or bias.shape != weight.shape[:1]:
            raise UserError(f"{file} does not fit {game}: a layer of it has other inputs or outputs")
        size = len(weight)
    if size != game.num_distinct_actions():
        raise UserError(f"{file} does not fit {game}: it has {size} actions")
    return policy_player(str(folder), game, layers)
