"""Checkpoints: the state of a solver as numpy arrays and plain values in one file, replaced atomically.

The file is an npz archive without pickles: arrays by name, and one JSON text with the rest and with what the checkpoint
is of. Loading checks all of that, so that a damaged file or one from another run is refused with a clear message before
anything is changed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.files import write_atomically

FORMAT = "cardspiel checkpoint 1"
TEXT = "json"


def save_checkpoint(path: Path, identity: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Writes `state` (arrays and JSON values). `identity` says what it belongs to and is compared when loading."""
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    values = {name: value for name, value in state.items() if name not in arrays}
    text = json.dumps({"format": FORMAT, "identity": dict(identity), "values": values})

    contents: dict[str, Any] = {TEXT: np.frombuffer(text.encode(), np.uint8), **arrays}

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **contents)

    write_atomically(path, write)


def load_checkpoint(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The state saved at `path`; ValueError if the file is damaged, foreign, or of something else than `identity`."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        content = json.loads(arrays.pop(TEXT).tobytes().decode())
    except FileNotFoundError:
        raise ValueError(f"there is no checkpoint at {path}") from None
    except (KeyError, OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is damaged or not a checkpoint of CardSpiel ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a checkpoint of this version; expected format {FORMAT!r}")
    differing = [
        f"{name} is {content['identity'].get(name)!r} there and {value!r} here"
        for name, value in json.loads(json.dumps(dict(identity))).items()
        if content["identity"].get(name) != value
    ]
    if differing:
        raise ValueError(f"{path} is a checkpoint of another run: {'; '.join(differing)}")
    return {**content["values"], **arrays}
