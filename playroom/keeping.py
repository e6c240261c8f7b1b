"""Tables on disk: what happened at each, line by line, so that a server that is killed opens them again as they were.

A table's journal is a file of JSON lines: first the settings, then every deal that was begun and every action. Lines
are written as things happen; one that was cut off by a crash is left out when the journal is read. Who may sit down at
the table is known by a token of which only a hash is kept.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from cardtable.files import parse_json
from cardtable.parameters import UserError

ENDING = ".table"
KEPT_SECONDS = 30 * 86_400.0
LONGEST_JOURNAL = 8 << 20


@dataclass(frozen=True)
class Settings:
    """What was agreed on when the table opened."""

    game: str
    seats: tuple[str, ...]  # a player for each seat, "me" for the person
    labels: tuple[str, ...]  # what these are called: "expert", say
    deals: int  # 0: as many as you like
    seed: int
    rival: str  # who plays the same deals in the person's seat; empty: nobody
    advisers: tuple[str, ...]
    limit: float  # CPU seconds for a move


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Journal:
    """The file of one table, open for writing."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}{ENDING}"
        self._file: IO[str] | None = None

    def write(self, **event: Any) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _end_last_line(self.path)
            self._file = self.path.open("a", encoding="utf-8")
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()

    def begin(self, settings: Settings, token_hash: str) -> None:
        self.write(settings=asdict(settings), token=token_hash)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _end_last_line(path: Path) -> None:
    """A line that a crash cut off must not swallow the next one."""
    if path.exists() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")


def name_of(token_hash: str) -> str:
    """What the table of a token is called on disk."""
    return token_hash[:24]


def read_journal(folder: Path, token_hash: str) -> tuple[Settings, list[dict[str, Any]]] | None:
    """The settings and events of the table that belongs to a token; None if there is none that can be read."""
    path = folder / f"{name_of(token_hash)}{ENDING}"
    try:
        if path.stat().st_size > LONGEST_JOURNAL:
            return None
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    events = []
    for line in lines:
        try:
            event = parse_json(line)
        except ValueError:
            continue  # cut off
        if isinstance(event, dict):
            events.append(event)
    if not events or events[0].get("token") != token_hash:
        return None
    try:
        return settings_of(events[0]["settings"]), events[1:]
    except (KeyError, TypeError, UserError):
        return None


def settings_of(found: dict[str, Any]) -> Settings:
    """Settings from a journal, with their types checked."""
    settings = Settings(
        **{**found, **{name: tuple(found[name]) for name in ("seats", "labels", "advisers")}},
    )
    texts = (settings.game, settings.rival, *settings.seats, *settings.labels, *settings.advisers)
    if not all(isinstance(text, str) for text in texts):
        raise UserError("the journal of a table holds something else than names")
    if not isinstance(settings.seed, int) or not isinstance(settings.deals, int):
        raise UserError("the journal of a table holds something else than numbers")
    return settings


def forget_old(folder: Path, now: float | None = None) -> None:
    """Removes tables that nobody has touched for a month."""
    now = time.time() if now is None else now
    for path in folder.glob(f"*{ENDING}"):
        if now - path.stat().st_mtime > KEPT_SECONDS:
            path.unlink(missing_ok=True)
