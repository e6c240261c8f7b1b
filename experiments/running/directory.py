"""A run directory: everything one experiment leaves behind, readable without the project.

    config.json     what was asked for, and which versions answered
    metrics.csv     one row per evaluation
    events.out...   the same for TensorBoard
    nodes.json      the machines of a cluster that worked, and what was installed there
    *.png, report.md, checkpoints

Files that replace an older version are replaced atomically (`cardtable.files`). A directory that holds a run is not
used for another one unless its user says so, and never by two processes at once: whoever works in it holds a lock,
which the operating system takes back when the process ends, however it ends.
"""

from __future__ import annotations

import csv
import errno
import fcntl
import json
import platform
import zlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from matplotlib import pyplot as plt

from cardtable.executors.nodes import NODES_FILE, cpu_model
from cardtable.files import parse_json, write_atomically
from cardtable.parameters import UserError
from experiments.running import events
from experiments.running.kept_rows import FILE as ROWS

VERSIONS_OF = ("cardspiel", "open_spiel", "numba", "numpy", "scipy", "torch")
CONFIG = "config.json"
LOCK = ".lock"
# What --overwrite removes: files that runs write. Anything else in the directory is not ours.
NAMED = (CONFIG, NODES_FILE, ROWS, "player.json", "report.md", "results.json")
RESULTS = (*NAMED, "*.csv", "*.png", "*.npz", "*.safetensors", "solved_*.json", events.PATTERN)
LONGEST_NAME = 150  # bytes; file systems allow 255, and something may be added


class RunDirectory:
    """Creates or reopens a run directory. `config` is written at the start and compared when a run is resumed."""

    def __init__(
        self, path: str | Path, config: Mapping[str, Any], *, resume: bool = False, overwrite: bool = False
    ) -> None:
        self.path = Path(path)
        self._config_file = self.path / CONFIG
        self._metrics_file = self.path / "metrics.csv"
        self._events: events.Events | None = None
        if resume and overwrite:
            raise UserError("--resume goes on with a run, --overwrite replaces it; allowed: one of them")
        if resume and not holds_a_run(self.path):
            raise UserError(f"there is no run to resume in {self.path}: {CONFIG} is missing")
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.path)
        try:
            self._prepare(config, resume, overwrite)
        except BaseException:
            self.close()
            raise

    def _prepare(self, config: Mapping[str, Any], resume: bool, overwrite: bool) -> None:
        if resume:
            self._require_same(config)
        elif overwrite and holds_a_run(self.path):
            self._remove_run()
        else:
            self._require_unused()
        for torn in self.path.glob(".*.tmp"):  # of a process that was killed while it wrote
            torn.unlink(missing_ok=True)
        if not resume:
            text = json.dumps({"config": dict(config), "versions": versions()}, indent=2)
            write_atomically(self._config_file, lambda file: file.write_text(text + "\n"))

    def _require_unused(self) -> None:
        if holds_a_run(self.path):
            raise UserError(
                f"{self.path} holds a run already: --overwrite replaces it, --resume goes on with it where a command "
                "can, --out=... is another place"
            )
        others = sorted(file.name for file in self.path.iterdir() if not file.name.startswith("."))
        if others:
            raise UserError(
                f"{self.path} is in use, but not by a run ({others[0]} is in it); allowed for --out: a new or empty "
                "directory"
            )

    def _remove_run(self) -> None:
        """The configuration last: a directory from which only a part is gone still holds a run."""
        for pattern in reversed(RESULTS):
            for file in self.path.glob(pattern):
                file.unlink()

    def _require_same(self, config: Mapping[str, Any]) -> None:
        try:
            stored = parse_json(self._config_file.read_bytes())["config"]
            differing = [
                f"{name} was {stored.get(name)!r}, is now {value!r}"
                for name, value in json.loads(json.dumps(dict(config))).items()
                if stored.get(name) != value
            ]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(
                f"{self._config_file} is damaged, so nobody knows what run this is; --overwrite starts anew"
            ) from None
        if differing:
            raise UserError(f"the run in {self.path} was started differently: {'; '.join(differing)}")

    def close(self) -> None:
        """Lets others use the directory; the end of the process does the same."""
        if self._events is not None:
            self._events.close()
            self._events = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Adds a row to metrics.csv and the same numbers to TensorBoard."""
        row = {"step": step, **metrics}
        columns = self._metrics_columns()
        if set(row) <= set(columns):
            with self._metrics_file.open("a", newline="") as file:
                csv.DictWriter(file, columns).writerow(row)
        else:  # the first row, or one with figures that are measured at the end alone
            write_csv(self._metrics_file, [*self.metrics(), row])
        self._add_events([row])

    def _metrics_columns(self) -> list[str]:
        if not self._metrics_file.exists():
            return []
        with self._metrics_file.open(newline="") as file:
            return next(csv.reader(file), [])

    def _add_events(self, rows: Sequence[Mapping[str, float]]) -> None:
        if self._events is None:
            self._events = events.Events(self.path)
        for row in rows:
            self._events.add(int(row["step"]), {name: value for name, value in row.items() if name != "step"})

    def metrics(self) -> list[dict[str, float]]:
        """The rows logged so far, counts as integers, without what was not measured.

        A last line cut short by a crash is left out.
        """
        if not self._metrics_file.exists():
            return []
        with self._metrics_file.open(newline="") as file:
            rows = list(csv.DictReader(file))
        return [
            {name: _number(value) for name, value in row.items() if value}
            for row in rows
            if None not in (*row, *row.values())
        ]

    def replace_metrics(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Makes these the rows of metrics.csv and of TensorBoard: those behind a checkpoint will be reached again."""
        if self._events is not None:
            self._events.close()
            self._events = None
        for old in (self._metrics_file, *self.path.glob(events.PATTERN)):
            old.unlink(missing_ok=True)
        if rows:
            write_csv(self._metrics_file, rows)
            self._add_events(rows)

    def save_figure(self, figure: Any, name: str) -> Path:
        path = self.path / f"{name}.png"
        write_atomically(path, lambda file: figure.savefig(file, dpi=150, bbox_inches="tight", format="png"))
        plt.close(figure)
        return path

    def write_report(self, text: str) -> Path:
        path = self.path / "report.md"
        write_atomically(path, lambda file: file.write_text(text))
        return path


def holds_a_run(path: Path) -> bool:
    return (path / CONFIG).exists()


def _locked(path: Path) -> IO[bytes] | None:
    """The lock of a directory, held until it is closed; None where the file system has no locks."""
    file = (path / LOCK).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise UserError(f"another process works in {path}; wait for it, or choose another --out") from None
        return None
    return file


def file_name(text: str) -> str:
    """A text as the name of one file or folder; long ones are cut, with a checksum that keeps them apart."""
    name = text.replace("/", "_")
    whole = name.encode()
    if len(whole) <= LONGEST_NAME:
        return name
    return f"{whole[: LONGEST_NAME - 9].decode(errors='ignore')}_{zlib.crc32(whole):08x}"


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "cpu": cpu_model()}
    for name in VERSIONS_OF:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """A table with the columns of all rows, empty where a row has none."""
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))

    def write(file_path: Path) -> None:
        with file_path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    write_atomically(path, write)
