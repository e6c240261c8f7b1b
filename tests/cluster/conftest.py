"""A ray cluster whose nodes are processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_USAGE_STATS_REPORT_URL"] = "http://127.0.0.1:9"  # a head would report that statistics are off
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on loopback
# Nodes must find the module of the work wherever the command was started, as installed packages are found.
os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
STORE = 200 * 2**20  # bytes of each node's object store

Start = Callable[..., Any]  # nodes, CPUs of the head, what else the nodes get


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a head, idle unless it has CPUs, and nodes with one CPU each; afterwards nothing of ray is left."""
    utils = pytest.importorskip("ray.cluster_utils")
    clusters = []

    def begin(nodes: int, head_cpus: int = 0, **more: Any) -> Any:
        head = {"num_cpus": head_cpus, "include_dashboard": False, "object_store_memory": STORE}
        clusters.append(utils.Cluster(initialize_head=True, head_node_args=head))
        for _ in range(nodes):
            clusters[-1].add_node(num_cpus=1, object_store_memory=STORE, **more)
        return clusters[-1]

    yield begin
    for cluster in clusters:
        cluster.shutdown()
    deadline = time.monotonic() + 150  # agents of a node that was killed look for its head for a minute
    while ray_processes() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert ray_processes() == {}


def busy_workers(cluster: Any) -> list[int]:
    """The processes that work on an item now, on the nodes of this cluster and of no other."""
    raylets = {info.process.pid for node in cluster.list_all_nodes() for info in node.all_processes["raylet"]}
    found = []
    for worker in ray_processes("run_piece"):
        with contextlib.suppress(OSError):  # it may be done
            status = Path(f"/proc/{worker}/status").read_text()
            if int(status.partition("PPid:")[2].split()[0]) in raylets:
                found.append(worker)
    return found


def kill_a_worker(cluster: Any) -> int:
    """Kills one as soon as one works; returns its number."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for worker in busy_workers(cluster):
            os.kill(worker, signal.SIGKILL)
            return worker
        time.sleep(0.02)
    raise TimeoutError("nobody works")


def ray_processes(title: str = "") -> dict[int, str]:
    """Processes of ray, by number; with a title only those that say so."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if words.startswith(f"ray::{title}") or (not title and "/ray/" in words.partition(" --")[0]):
                found[int(folder.name)] = words
    return found
