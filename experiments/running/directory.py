"""A run directory: everything one experiment leaves behind, readable without the project.

    config.json     what was asked for, and which versions answered
    metrics.csv     one row per evaluation
    events.out...   the same for TensorBoard
    *.png, report.md, checkpoints

Files that replace an older version are replaced atomically (`cardtable.files`).
"""

from __future__ import annotations

import csv
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from tensorboard.summary import Writer

from cardtable.files import write_atomically

VERSIONS_OF = ("cardspiel", "open_spiel", "numba", "numpy", "scipy", "torch")


class RunDirectory:
    """Creates or reopens a run directory. `config` is written at the start and compared when a run is resumed."""

    def __init__(self, path: str | Path, config: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._config_file = self.path / "config.json"
        self._metrics_file = self.path / "metrics.csv"
        if resume:
            self._require_same(config)
        else:
            for stale in (self._metrics_file, *self.path.glob("events.out.*")):
                stale.unlink(missing_ok=True)
            text = json.dumps({"config": dict(config), "versions": versions()}, indent=2)
            write_atomically(self._config_file, lambda file: file.write_text(text + "\n"))
        self._events: Writer | None = None

    def _require_same(self, config: Mapping[str, Any]) -> None:
        if not self._config_file.exists():
            raise ValueError(f"there is no run to resume in {self.path}: config.json is missing")
        stored = json.loads(self._config_file.read_text())["config"]
        differing = [
            f"{name} was {stored.get(name)!r}, is now {value!r}"
            for name, value in json.loads(json.dumps(dict(config))).items()
            if stored.get(name) != value
        ]
        if differing:
            raise ValueError(f"the run in {self.path} was started differently: {'; '.join(differing)}")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Adds a row to metrics.csv and the same numbers to TensorBoard."""
        row = {"step": step, **metrics}
        new = not self._metrics_file.exists()
        with self._metrics_file.open("a", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)
        if self._events is None:
            self._events = Writer(str(self.path))
        for name, value in metrics.items():
            self._events.add_scalar(name, value, step=step)
        self._events.flush()

    def metrics(self) -> list[dict[str, float]]:
        """The rows logged so far, counts as integers; a last line cut short by a crash is left out."""
        if not self._metrics_file.exists():
            return []
        with self._metrics_file.open(newline="") as file:
            rows = list(csv.DictReader(file))
        return [
            {name: _number(value) for name, value in row.items()} for row in rows if None not in (*row, *row.values())
        ]

    def replace_metrics(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Makes these the rows of metrics.csv: those behind a checkpoint will be reached again."""
        self._metrics_file.unlink(missing_ok=True)
        if rows:
            write_csv(self._metrics_file, rows)

    def save_figure(self, figure: Any, name: str) -> Path:
        path = self.path / f"{name}.png"
        write_atomically(path, lambda file: figure.savefig(file, dpi=150, bbox_inches="tight", format="png"))
        plt.close(figure)
        return path

    def write_report(self, text: str) -> Path:
        path = self.path / "report.md"
        write_atomically(path, lambda file: file.write_text(text))
        return path


def file_name(text: str) -> str:
    """A text as the name of one file or folder."""
    return text.replace("/", "_")


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    rows = list(rows)

    def write(file_path: Path) -> None:
        with file_path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    write_atomically(path, write)
