"""Finished games as text: one JSON line each, which holds all that it takes to look at the game again.

    {"format": "cardspiel-game", "format_version": 1, "game": the game's string, "rules_version": of our games' rules,
     "versions": {...}, "seats": who sat where ("me" is the person), "seed": and "deal": where the cards came from,
     "actions": all of them, chance included, "returns": [...], "practice": whether the deal had been played before,
     "fallbacks": moves that a stand-in made because a player was too slow or failed}

A record that somebody pastes into a bug report is played through again before it is believed: every action must be
possible, and the end must be the recorded one.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyspiel

from cardtable.files import parse_json
from cardtable.parameters import UserError
from cardtable.player import rules_version
from cardtable.spiel import LONGEST_NAME, load_game
from playroom.table import Table
from playroom.views import View, open_view, require_playable

FORMAT = "cardspiel-game"
FORMAT_VERSION = 1
ME = "me"  # the person's place among the seats
MOST_ACTIONS = 100_000
LONGEST_RECORD = 1_000_000  # characters


@dataclass(frozen=True)
class Record:
    """One finished game."""

    game: str
    seats: list[str]
    seed: int
    deal: int
    actions: list[int]
    returns: list[float]
    practice: bool = False
    fallbacks: list[int] = field(default_factory=list)
    rules_version: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    def line(self) -> str:
        """The record as one line of JSON."""
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        return json.dumps({**head, **asdict(self)}, ensure_ascii=False)


def record_of(table: Table, seats: Sequence[str], practice: bool = False, fallbacks: Sequence[int] = ()) -> Record:
    """The record of a game that is over."""
    return Record(
        game=str(table.game),
        seats=list(seats),
        seed=table.seed,
        deal=table.deal,
        actions=table.history(),
        returns=table.returns(),
        practice=practice,
        fallbacks=list(fallbacks),
        rules_version=rules_version(table.game),
        versions={name: _version(name) for name in ("cardspiel", "open_spiel")},
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # run from a copy of the source
        return "unknown"


def append_record(path: Path, record: Record) -> None:
    """Adds a line to a file of records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(record.line() + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_records(path: Path) -> list[Record]:
    """All records of a file; UserError says which line is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    records = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                records.append(parse_record(line))
            except UserError as error:
                raise UserError(f"{path}, line {number}: {error}") from None
    if not records:
        raise UserError(f"{path} holds no record of a game")
    return records


def parse_record(text: str) -> Record:
    """A record from text; UserError, in one sentence, if it is none. `Replay` sees whether its game can be played."""
    if len(text) > LONGEST_RECORD:
        raise UserError(f"the record has {len(text):,} characters; allowed: up to {LONGEST_RECORD:,}")
    try:
        found = parse_json(text)
    except ValueError:
        raise UserError("this is not the record of a game: it is not JSON") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise UserError(f"this is not the record of a game: its format is not {FORMAT}")
    if found.get("format_version") != FORMAT_VERSION:
        raise UserError(f"the record has version {found.get('format_version')!r}; allowed: {FORMAT_VERSION}")
    for name, fits, wanted in _FIELDS:
        if not fits(found.get(name)):
            raise UserError(f"the record's {name} is missing or wrong; allowed: {wanted}")
    kept = {name for name in Record.__dataclass_fields__ if name in found}
    return Record(**{name: found[name] for name in kept})


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62


def _list_of(value: Any, fits: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(map(fits, value))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NAME


_FIELDS: list[tuple[str, Any, str]] = [
    ("game", _text, "the string of a game"),
    ("seats", lambda value: _list_of(value, _text, 20), "a list of names"),
    ("seed", _whole, "a whole number"),
    ("deal", _whole, "a whole number"),
    ("actions", lambda value: _list_of(value, _whole, MOST_ACTIONS), "a list of whole numbers"),
    ("returns", lambda value: _list_of(value, _number, 20), "a list of numbers"),
    ("practice", lambda value: value in (True, False, None), "true or false"),
    ("fallbacks", lambda value: value is None or _list_of(value, _whole, MOST_ACTIONS), "a list of whole numbers"),
    ("rules_version", lambda value: value is None or _whole(value), "a whole number"),
    ("versions", lambda value: value is None or isinstance(value, dict), "names and versions"),
]


class Replay:
    """A recorded game, step by step with open hands: step 0 is the deal, step n what n actions made of it."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.game = load_game(record.game)
        require_playable(self.game)
        if rules_version(self.game) != record.rules_version:
            raise UserError(
                f"the record was made with version {record.rules_version} of the rules of "
                f"{self.game.get_type().short_name}; this is version {rules_version(self.game)}"
            )
        state = self.game.new_initial_state()
        self._places: list[int] = []  # before which action of the record players moved
        for place, action in enumerate(record.actions):
            if state.is_terminal():
                raise UserError(f"the record goes on after the end of the game, with action {place + 1}")
            if action not in state.legal_actions():
                raise UserError(f"action {place + 1} of the record, {action}, is not possible in this game")
            if not state.is_chance_node():
                self._places.append(place)
            state.apply_action(action)
        if not state.is_terminal():
            raise UserError("the record ends before the game does")
        if [round(number, 9) for number in state.returns()] != [round(number, 9) for number in record.returns]:
            raise UserError(f"the record says {record.returns}; the game ends with {state.returns()}")
        if len(record.seats) != self.game.num_players():
            raise UserError(f"the record has {len(record.seats)} seats; the game has {self.game.num_players()}")

    @property
    def steps(self) -> int:
        """How many actions players took."""
        return len(self._places)

    @property
    def seat(self) -> int:
        """From where to look: the person's seat, or the first."""
        return self.record.seats.index(ME) if ME in self.record.seats else 0

    def state(self, step: int) -> pyspiel.State:
        """The position before action `step` of the players, from 0; the last one is the end."""
        place = self._places[step] if step < self.steps else len(self.record.actions)
        state = self.game.new_initial_state()
        for action in self.record.actions[:place]:
            state.apply_action(action)
        return state

    def history(self, step: int) -> list[int]:
        """All actions before that step, chance included."""
        return self.record.actions[: self._places[step] if step < self.steps else len(self.record.actions)]

    def action(self, step: int) -> int:
        return self.record.actions[self._places[step]]

    def view(self, step: int) -> View:
        """The open table at this step, and what was done to get there."""
        step = max(0, min(step, self.steps))
        shown = open_view(self.state(step), self.seat)
        shown["moves"] = step
        if step > 0:
            before = self.state(step - 1)
            mover = before.current_player()
            shown["done"] = {"seat": mover, "name": before.action_to_string(mover, self.action(step - 1))}
        return shown
