"""Networks on legal actions as files: `player.json` and the weights in half precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from cardtable.files import read_tensors, write_tensors
from cardtable.parameters import UserError
from cardtable.player import write_player_file
from cardtable.search.action_values import Shape, tensors_of, weights_of

WEIGHTS_FILE = "weights.safetensors"
KIND = "action_values"
TELLS = ("features", "information", "observation")


@dataclass(frozen=True)
class Saved:
    """A trained network: its shape, what it is told, and what its values mean."""

    learner: str
    shape: Shape
    weights: np.ndarray  # (networks, weights): one for all seats, or one for each
    tells: str
    scale: float  # of values: what one is in points of the game, relative to random play
    softmax: bool  # values are logarithms of probabilities, up to a constant


def write_values(folder: Path, game: pyspiel.Game, saved: Saved, made_by: Mapping[str, Any]) -> None:
    """Writes a saved player."""
    write_tensors(folder / WEIGHTS_FILE, _named(saved))
    settings = {
        "learner": saved.learner,
        "shape": saved.shape.as_json(),
        "tells": saved.tells,
        "scale": saved.scale,
        "softmax": saved.softmax,
    }
    write_player_file(folder, KIND, game, settings, made_by)


def _named(saved: Saved) -> dict[str, np.ndarray]:
    """Weights by name; those of several networks have the seat before it."""
    if len(saved.weights) == 1:
        return tensors_of(saved.shape, saved.weights[0])
    return {
        f"{seat}.{name}": part
        for seat, own in enumerate(saved.weights)
        for name, part in tensors_of(saved.shape, own).items()
    }


def _by_network(tensors: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """The tensors of each network, without the seat in their names."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, part in tensors.items():
        seat, _, rest = name.partition(".")
        own, rest = (seat, rest) if seat.isdigit() else ("0", name)
        found.setdefault(own, {})[rest] = part
    return [found.get(str(seat), {}) for seat in range(len(found))]


def read_values(folder: Path, head: Mapping[str, Any]) -> Saved:
    """What `write_values` has written; UserError if it is damaged."""
    found = head["settings"]
    scale = found.get("scale")
    if (
        found.get("tells") not in TELLS
        or not isinstance(found.get("softmax"), bool)
        or not isinstance(scale, int | float)
        or not 0.0 <= scale < np.inf
    ):
        raise UserError(f"{folder} is damaged: its settings do not say what its network is told and what it answers")
    try:
        shape = Shape.of_json(found.get("shape"))
        tensors = read_tensors(folder / WEIGHTS_FILE, "weights of a network")
        weights = np.stack([weights_of(shape, own) for own in _by_network(tensors) or [{}]])
    except FileNotFoundError:
        raise UserError(f"{folder} is damaged: it has no {WEIGHTS_FILE}") from None
    except UserError as error:
        raise UserError(f"{folder} is damaged: {error}") from None
    return Saved(str(found.get("learner")), shape, weights, found["tells"], float(scale), found["softmax"])
