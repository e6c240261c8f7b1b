"""Rows of tables that are kept as they are found, so that a command that was stopped goes on with the next one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cardtable.files import read_json, write_atomically
from cardtable.parameters import UserError

Row = dict[str, Any]
FILE = "rows.json"


class KeptRows:
    """Rows by name in one file of a run directory, written anew with each of them."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._rows: dict[str, Row] = {}
        if self._file.exists():
            found = read_json(self._file, "rows of tables")
            if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
                raise UserError(f"{self._file} is damaged: it holds no rows of tables; delete it to start again")
            self._rows = found

    def once(self, name: str, make: Callable[[], Row]) -> Row:
        """The row of this name: kept, or made and kept from now on."""
        if name not in self._rows:
            self._rows[name] = make()
            text = json.dumps(self._rows, ensure_ascii=False, indent=1)
            write_atomically(self._file, lambda temporary: temporary.write_text(text))
        return self._rows[name]
