"""The executor on ray: nodes and workers die, memory is bounded, unlike nodes are refused, nothing is left behind."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cardtable.executors import WINDOW, Ray, nodes, ray_tasks
from cardtable.parameters import UserError
from tests.cluster.conftest import Start, kill_a_worker, ray_processes
from tests.cluster.work import count, megabyte, where

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
ROOT = Path(__file__).resolve().parents[2]


def test_nodes_and_workers_die_and_every_item_is_answered_once(start: Start, tmp_path: Path) -> None:
    cluster = start(3)
    answers = []
    with Ray(cluster.address) as executor, ThreadPoolExecutor(1) as pool:
        for answer in executor.map(count, range(40), str(tmp_path)):
            answers.append(answer)
            if len(answers) == 4:
                killed = pool.submit(kill_a_worker, cluster)  # beside this loop, which hands out the work
            if len(answers) == 10:
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
            if len(answers) == 20:
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)  # one is left
            if len(answers) == 30:
                cluster.add_node(num_cpus=1)
        assert answers == [item * item for item in range(40)]
        assert killed.result()
        runs = [(tmp_path / str(item)).stat().st_size for item in range(40)]
        assert min(runs) >= 1
        start_time = time.monotonic()
        with pytest.raises(LookupError, match="no thousand") as raised:
            list(executor.map(count, [7, 1000], str(tmp_path)))
        assert raised.value.__notes__ == ["in work item 1"]
        assert time.monotonic() < start_time + 20
        assert (tmp_path / "1000").stat().st_size == 1  # not retried


def test_when_all_nodes_are_dead_it_is_said(start: Start, tmp_path: Path) -> None:
    cluster = start(2)
    with Ray(cluster.address) as executor:
        answers = executor.map(count, range(100), str(tmp_path))
        assert [next(answers) for _ in range(3)] == [0, 1, 4]
        for node in list(cluster.worker_nodes):
            cluster.remove_node(node, allow_graceful=False)
        before = time.monotonic()
        with pytest.raises(UserError, match="has no node left that works"):
            list(answers)
        assert time.monotonic() < before + 60


WORK = """
    import sys
    from cardtable.executors import Ray
    from tests.cluster.work import count

    if __name__ == "__main__":
        with Ray(sys.argv[1]) as executor:
            for answer in executor.map(count, range(1000), sys.argv[2]):
                print(answer, flush=True)
"""


def begin_elsewhere(cluster: Any, folder: Path) -> subprocess.Popen[str]:
    """A process in that folder, which asks the cluster to count."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(WORK))
    return subprocess.Popen(
        [sys.executable, script, cluster.address, folder],
        cwd=folder,  # ray's workers look there before anywhere else
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_when_the_head_dies_it_is_said(start: Start, tmp_path: Path) -> None:
    cluster = start(1)
    process = begin_elsewhere(cluster, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    for node in [*cluster.worker_nodes, cluster.head_node]:
        cluster.remove_node(node, allow_graceful=False)
    before = time.monotonic()
    said, _ = process.communicate(timeout=100)
    assert time.monotonic() < before + 60
    assert "the head of the ray cluster at" in said
    assert process.returncode == 1


def test_many_large_answers_do_not_fill_the_store(start: Start) -> None:
    import ray
    from ray._private.internal_api import memory_summary

    cluster = start(0, head_cpus=2)
    with Ray(cluster.address) as executor:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        items = (np.full(2**17, item, np.int64) for item in range(10_000))
        total = sum(int(answer[-1]) for answer in executor.map(megabyte, items, np.zeros(10)))
        assert total == sum(range(1, 10_001))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 400 * 1024
        assert "Spilled" not in memory_summary(cluster.address, stats_only=True)
        assert ray.is_initialized()
    assert not ray.is_initialized()


def test_only_a_window_is_under_way(start: Start) -> None:
    taken = 0

    def items() -> Any:
        nonlocal taken
        for item in range(1000):
            taken += 1
            yield item

    cluster = start(2)
    with Ray(cluster.address) as executor:
        answers = executor.map(where, items(), None)
        assert len({next(answers) for _ in range(6)}) == 2
        assert taken <= 6 + 2 * WINDOW


@pytest.mark.parametrize(
    ("changes", "allow", "says"),
    [
        ({"code": "0123"}, True, "has other code than"),
        ({"cpu": "abacus"}, False, "but .* a abacus"),
        ({"libraries": "numpy 1"}, False, "but .* has numpy 1"),
        ({"cpu": "abacus", "libraries": "numpy 1"}, True, ""),
    ],
)
def test_unlike_nodes_are_refused(
    start: Start, monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], allow: bool, says: str
) -> None:
    cluster = start(1)
    here = nodes.this_node()._replace(**changes)
    monkeypatch.setattr(ray_tasks, "this_node", lambda: here)
    with Ray(cluster.address, allow_mixed_nodes=allow) as executor:
        if says:
            with pytest.raises(UserError, match=says):
                list(executor.map(where, [1], None))
        else:
            assert list(executor.map(where, [1], None))


def test_a_copy_of_the_code_works_until_it_is_changed(start: Start, tmp_path: Path) -> None:
    """A node with code of its own, as another machine has."""
    copy, asking = tmp_path / "copy", tmp_path / "asking"
    for package in (*nodes.own_packages(), "tests/cluster"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    asking.mkdir()
    cluster = start(1, env_vars={"PYTHONPATH": str(copy)})
    process = begin_elsewhere(cluster, asking)
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    process.kill()
    process.communicate()
    with (copy / "cardtable" / "bits.py").open("a") as file:
        file.write("# another version\n")
    said, _ = begin_elsewhere(cluster, asking).communicate(timeout=100)
    assert "has other code than" in said


LOCAL = """
    import json, os, socket, sys
    from pathlib import Path
    from cardtable.executors import find_executor
    from tests.cluster.conftest import ray_processes
    from tests.cluster.work import where

    def sockets_of(process):
        found = set()
        for file in Path(f"/proc/{process}/fd").iterdir():
            try:
                found.add(os.readlink(file))
            except OSError:
                pass
        return found

    def listening(processes):
        own = set().union(*map(sockets_of, processes))
        for name in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                    yield words[1].partition(":")[0]

    def packets(interface):
        lines = Path("/proc/net/dev").read_text().splitlines()
        return next(int(line.split()[10]) for line in lines if line.strip().startswith(interface))

    if __name__ == "__main__":
        with find_executor("ray") as executor:
            workers = list(executor.map(where, range(6), None))
            processes = [os.getpid(), *ray_processes()]
            print(json.dumps([len(set(workers)), len(processes), sorted(set(listening(processes)))]))
        try:
            with find_executor("ray:127.0.0.1:1") as executor:
                list(executor.map(where, [1], None))
        except ValueError as error:
            print(error)
        if len(sys.argv) > 1:
            print(packets(sys.argv[1]))
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("192.0.2.1", 9))
            print(packets(sys.argv[1]))
"""
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def run_local(tmp_path: Path, before: str = "", *arguments: str) -> list[str]:
    """The lines that the script prints, run in a shell after these commands; those that are always the same are
    looked at here."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(LOCAL))
    command = ["sh", "-ec", f'{before}\nexec "$@"', "sh", sys.executable, str(script), *arguments]
    if before:
        command = ["unshare", "--net", *command]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    first, second, *more = done.stdout.splitlines()
    workers, processes, listening = json.loads(first)
    assert workers >= 1
    assert processes > 4
    assert listening
    assert set(listening) <= LOOPBACK
    assert second.startswith("there is no ray cluster to join at 127.0.0.1:1")
    time.sleep(3)
    assert ray_processes() == {}
    return more


def test_ray_on_this_machine_keeps_to_itself(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    assert run_local(tmp_path) == []


# A network of its own, of which all that is not loopback leads to a wire that nobody reads.
WIRE = """
    echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
    ip link set lo up
    ip link add wire type veth peer name nobody
    ip link set nobody up
    ip link set wire up
    ip address add 198.51.100.1/24 dev wire
    ip neighbour add 198.51.100.2 lladdr 02:00:00:00:00:02 dev wire
    ip route add default via 198.51.100.2
"""


def test_no_packet_leaves_this_machine(tmp_path: Path) -> None:
    """No statistics, no questions to name servers or clouds. That there is a way out shows a packet at the end."""
    pytest.importorskip("ray")
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("only root may give a process a network of its own, with unshare and ip")
    assert run_local(tmp_path, WIRE, "wire") == ["0", "1"]
