"""Checkpoints: the state of a solver as numpy arrays and plain values in one file, replaced atomically.

The file is an npz archive without pickles: arrays by name, and one JSON text with the rest and with what the checkpoint
is of. Loading checks all of that, so that a damaged file or one from another run is refused with a clear message before
anything is changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.files import parse_json, read_arrays, write_arrays
from cardtable.parameters import UserError

FORMAT = "cardspiel checkpoint 1"
TEXT = "json"
WHAT = "a checkpoint of CardSpiel"


def save_checkpoint(path: Path, identity: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Writes `state` (arrays and JSON values). `identity` says what it belongs to and is compared when loading."""
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    values = {name: value for name, value in state.items() if name not in arrays}
    text = json.dumps({"format": FORMAT, "identity": dict(identity), "values": values})

    write_arrays(path, {TEXT: np.frombuffer(text.encode(), np.uint8), **arrays})


def load_checkpoint(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The state saved at `path`; UserError if the file is damaged, foreign, or of something else than `identity`."""
    try:
        arrays = read_arrays(path, WHAT)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint at {path}") from None
    text = arrays.pop(TEXT, np.empty(0, np.uint8))
    try:
        if text.dtype != np.uint8 or text.ndim != 1:
            raise ValueError(f"{TEXT} is no text")
        content = parse_json(text.tobytes())
    except ValueError as error:
        raise UserError(f"{path} is damaged or not {WHAT}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f"{path} is not a checkpoint of this version; expected format {FORMAT!r}")
    found, values = content.get("identity"), content.get("values")
    if not isinstance(found, dict) or not isinstance(values, dict) or values.keys() & arrays.keys():
        raise UserError(f"{path} is damaged or not {WHAT}: it does not say what it is of")
    differing = [
        f"{name} is {found.get(name)!r} there and {value!r} here"
        for name, value in json.loads(json.dumps(dict(identity))).items()
        if found.get(name) != value
    ]
    if differing:
        raise UserError(f"{path} is a checkpoint of another run: {'; '.join(differing)}")
    return {**values, **arrays}
