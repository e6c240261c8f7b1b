"""Tables for people: on the terminal with rich, in reports as Markdown."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH_OF_FILES = 200  # where nobody looks at a terminal, tables are not cut at its 80 columns

console = Console()
if not console.is_terminal and "COLUMNS" not in os.environ:
    console.width = WIDTH_OF_FILES


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints rows (all with the same columns) as a table; numbers are right-aligned."""
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        numeric = all(isinstance(row[name], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(readable(value) for value in row.values()))
    console.print(table)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The same rows as a Markdown table."""
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(readable(row[name]) for name in header) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def readable(value: Any) -> str:
    """12,345 for whole numbers, four significant digits for others, a dash for what is not known."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    if value == 0 or 1e-4 <= abs(value) < 1e4:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.2e}"
