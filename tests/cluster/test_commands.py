"""Whole commands: whoever does the work, and whoever dies, the result files are the same, byte for byte."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cardtable.executors import nodes
from tests.cluster.conftest import Start, kill_a_worker

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "arena": (
        "--game=python_coinche",
        "--north_south=monte_carlo(worlds=2,rollout=simple)",
        "--east_west=simple",
        "--deals=1000",
    ),
    "deep_cfr": (
        "--game=python_coinche",
        "--iterations=6",
        "--traversals=48",
        "--chunk_traversals=4",
        "--training_steps=5",
        "--strategy_training_steps=5",
        "--memory_rows=20000",
        "--strategy_memory_rows=20000",
        "--games=20",
        "--checkpoint_seconds=0",
    ),
    "toepen_mccfr": ("--quick",),
}


def begin(name: str, executor: str, out: Path, *more: str) -> subprocess.Popen:
    command = [sys.executable, "-m", f"experiments.{name}", *COMMANDS[name], f"--executor={executor}", f"--out={out}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.Popen(
        [*command, *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen) -> str:
    said, _ = process.communicate(timeout=1200)
    assert process.returncode == 0, said
    return said


def results(folder: Path) -> dict[str, str]:
    """Hashes of all result files, without what depends on the clock: columns of seconds, logs and reports."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".csv":
            rows = list(csv.DictReader(io.StringIO(path.read_text())))
            timeless = [{key: row[key] for key in row if "seconds" not in key} for row in rows]
            found[name] = hashlib.sha256(repr(timeless).encode()).hexdigest()
        elif path.suffix == ".npz" and "checkpoint" not in path.name:
            with np.load(path, allow_pickle=False) as archive:
                parts = [(key, hashlib.sha256(archive[key].tobytes()).hexdigest()) for key in sorted(archive)]
            found[name] = repr(parts)
        elif path.suffix in (".safetensors", ".png") and path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def disturb(cluster: Any) -> None:
    """Kills a worker, then a node, while they work."""
    kill_a_worker(cluster)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_who_works_and_who_dies_changes_nothing(name: str, start: Start, tmp_path: Path) -> None:
    finish(begin(name, "serial", tmp_path / "serial"))
    wanted = results(tmp_path / "serial")
    assert len(wanted) >= 2
    for executor in ("threads:2", "processes:2"):
        finish(begin(name, executor, tmp_path / executor[:7]))
        assert results(tmp_path / executor[:7]) == wanted, executor
    finish(begin(name, "ray", tmp_path / "ray"))
    assert results(tmp_path / "ray") == wanted
    cluster = start(3)
    finish(begin(name, f"ray:{cluster.address}", tmp_path / "three"))
    assert results(tmp_path / "three") == wanted
    (node,) = json.loads((tmp_path / "three" / "nodes.json").read_text())  # all three are this machine
    assert node == nodes.this_node()._asdict()
    process = begin(name, f"ray:{cluster.address}", tmp_path / "disturbed")
    disturb(cluster)
    assert process.poll() is None  # it was in the middle of it
    finish(process)
    assert results(tmp_path / "disturbed") == wanted


def test_when_all_nodes_die_the_run_can_go_on(start: Start, tmp_path: Path) -> None:
    finish(begin("deep_cfr", "serial", tmp_path / "whole"))
    cluster = start(2)
    process = begin("deep_cfr", f"ray:{cluster.address}", tmp_path / "run")
    deadline = time.monotonic() + 200
    while not list((tmp_path / "run").glob("*checkpoint*")):
        assert time.monotonic() < deadline, process.communicate()
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    for node in list(cluster.worker_nodes):
        cluster.remove_node(node, allow_graceful=False)
    before = time.monotonic()
    said, _ = process.communicate(timeout=100)
    assert process.returncode != 0
    assert time.monotonic() < before + 60
    assert "has no node left that works" in said
    assert "Traceback" not in said
    finish(begin("deep_cfr", "processes:2", tmp_path / "run", "--resume"))
    assert results(tmp_path / "run") == results(tmp_path / "whole")
