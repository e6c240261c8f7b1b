"""Rows of tables that were kept in a file: they are rows of that table, or refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cardtable.parameters import UserError
from experiments.cego import agents
from experiments.running.kept_rows import FILE, KeptRows
from experiments.toepen.frontier import BET_COLUMNS, COLUMNS, HAND_COLUMNS, TOO_LARGE_COLUMNS
from experiments.toepen_frontier import load_solved
from tests.files.crafted import WRONG_VALUES, wrong_json

VALUES: dict[type, Any] = {str: "x", int: 3, float: 0.5}


def row_of(columns: dict[str, type]) -> dict[str, Any]:
    return {name: VALUES[kind] for name, kind in columns.items()}


def fits(value: Any, kind: type) -> bool:
    """What may stand in the place of another value of this kind."""
    plain = not isinstance(value, bool) and isinstance(value, int | float if kind is float else kind)
    return plain and not (isinstance(value, int) and value > 2**53)


@pytest.mark.parametrize("columns", [agents.COLUMNS_7, agents.COLUMNS_6, agents.COLUMNS_OF_ABLATION])
def test_kept_rows_are_rows_of_the_table(columns: dict[str, type], tmp_path: Path) -> None:
    def never() -> dict[str, Any]:
        raise AssertionError("it is kept")

    good = row_of(columns)
    (tmp_path / FILE).write_text(json.dumps({"it": good}))
    assert KeptRows(tmp_path).once("it", columns, never) == good
    for what, text in wrong_json({"it": good}):
        if what in ("{}", "without it", "{'x': {}}"):
            continue  # then it is made
        (tmp_path / FILE).write_text(text)
        with pytest.raises(UserError, match="is damaged") as refusal:
            KeptRows(tmp_path).once("it", columns, never)
        assert "\n" not in str(refusal.value), what
    for name, kind in columns.items():
        for row in ({key: good[key] for key in good if key != name}, {**good, "other": 1}, *changed(good, name, kind)):
            (tmp_path / FILE).write_text(json.dumps({"it": row}))
            with pytest.raises(UserError, match="is damaged"):
                KeptRows(tmp_path).once("it", columns, never)


def changed(row: dict[str, Any], name: str, kind: type) -> list[dict[str, Any]]:
    return [{**row, name: value} for value in WRONG_VALUES if not fits(value, kind)]


@pytest.mark.parametrize("too_large", [False, True])
def test_solved_sizes(too_large: bool, tmp_path: Path) -> None:
    file = tmp_path / "solved.json"
    columns = TOO_LARGE_COLUMNS if too_large else COLUMNS
    good: dict[str, Any] = {"row": row_of(columns) | {"solved": "no" if too_large else "yes"}}
    good |= {"hands": [row_of(HAND_COLUMNS)], "last_bets": [row_of(BET_COLUMNS)]}
    file.write_text(json.dumps(good))
    assert load_solved(file)._asdict() == good
    for what, text in wrong_json(good):
        if what in ("hands is []", "last_bets is []", "hands is {}", "last_bets is {}"):
            continue
        file.write_text(text)
        with pytest.raises(UserError, match="is damaged"):
            load_solved(file)
    for part, kinds in (("row", columns), ("hands", HAND_COLUMNS), ("last_bets", BET_COLUMNS)):
        row = good[part] if part == "row" else good[part][0]
        for name, kind in kinds.items():
            for wrong in ({key: row[key] for key in row if key != name}, *changed(row, name, kind)):
                file.write_text(json.dumps({**good, part: wrong if part == "row" else [wrong]}))
                with pytest.raises(UserError, match="is damaged"):
                    load_solved(file)
    file.write_text(json.dumps({**good, "hands": [row_of(HAND_COLUMNS) | {"probability": 0}]}))
    with pytest.raises(UserError, match="is damaged"):
        load_solved(file)
