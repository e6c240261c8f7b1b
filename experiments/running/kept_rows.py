"""Rows of tables that are kept as they are found, so that a command that was stopped goes on with the next one.

Rows that come back from a file are used like those that were just made: they must have the same columns, with texts
where there are texts and numbers where there are numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from cardtable.files import read_json, write_atomically
from cardtable.parameters import UserError

Row = dict[str, Any]
FILE = "rows.json"
MOST = 1 << 53


def require_rows(rows: Iterable[Any], columns: Mapping[str, type], file: Path) -> None:
    """UserError unless each row has just these columns, in this order or another, with str, int or float in each."""
    for row in rows:
        if not isinstance(row, dict) or set(row) != set(columns):
            raise UserError(f"{file} is damaged: it has a row with other columns; delete it to make its rows again")
        wrong = [name for name, value in row.items() if not _is_of(value, columns[name])]
        if wrong:
            raise UserError(f"{file} is damaged: {wrong[0]} is {str(row[wrong[0]])[:50]!r}; delete it to make it again")


def _is_of(value: Any, kind: type) -> bool:
    """JSON has one kind of numbers, and True is none."""
    if isinstance(value, int) and abs(value) > MOST:
        return False
    return not isinstance(value, bool) and isinstance(value, (int, float) if kind is float else kind)


class KeptRows:
    """Rows by name in one file of a run directory, written anew with each of them."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._rows: dict[str, Row] = {}
        if self._file.exists():
            found = read_json(self._file, "rows of tables")
            if not isinstance(found, dict):
                raise UserError(f"{self._file} is damaged: it holds no rows of tables; delete it to start again")
            self._rows = found

    def once(self, name: str, columns: Mapping[str, type], make: Callable[[], Row]) -> Row:
        """The row of this name, with these columns: kept, or made and kept from now on."""
        if name in self._rows:
            require_rows([self._rows[name]], columns, self._file)
        else:
            self._rows[name] = make()
            text = json.dumps(self._rows, ensure_ascii=False, indent=1)
            write_atomically(self._file, lambda temporary: temporary.write_text(text))
        return self._rows[name]
