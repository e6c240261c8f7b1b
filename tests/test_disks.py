"""Disks that are full or read-only, and files of a run that somebody garbled: one line, and nothing is lost.

Root mounts small disks of memory for this; others have the limit on file size in `tests/test_bad_input.py`.
"""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.commands import run
from tests.kills import GONGZHU, contents
from tests.test_bad_input import BRIEF, WRITERS, complaint

PAGE_BYTES = 4096  # disks of memory have whole pages
Mount = Callable[[str], Path]  # options of mount; returns the folder
# Commands that go on with --resume, and where they keep what is done.
RESUMABLE = {
    "solve": ["--game=kuhn_poker", "--iterations=40"],
    "deep_cfr": ["--game=kuhn_poker", "--iterations=3", "--traversals=3", "--strategy_training_steps=3"],
    "arena": [GONGZHU, "--north_south=random", "--east_west=if", "--deals=20"],
    "tournament": [GONGZHU, "--players=random,if", "--deals=20"],
    "toepen_frontier": ["--sizes=2-2-2"],
}


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    folder = tmp_path / "disk"
    folder.mkdir()

    def mounted(options: str) -> Path:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"only root may mount a small disk: {done.stderr.strip()}")
        return folder

    yield mounted
    while os.path.ismount(folder):
        subprocess.run(["umount", "--lazy", folder], check=True)  # also where a command still works in it


def in_short(quick: str, names: Iterable[str]) -> list:
    """One of them in every test run, all in the slow ones."""
    return [name if name == quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("command", in_short("solve", WRITERS))
def test_a_read_only_disk(command: str, mount: Mount) -> None:
    disk = mount("ro")
    arguments = BRIEF.get(command, ["--quick"])
    assert complaint(command, *arguments, f"--out={disk / 'run'}", cwd=disk).endswith("Read-only file system")


@pytest.mark.parametrize("command", in_short("solve", WRITERS))
def test_a_full_disk(command: str, mount: Mount) -> None:
    """There is room for config.json, and for nothing more."""
    disk = mount("size=4k")
    arguments = BRIEF.get(command, ["--quick"])
    assert complaint(command, *arguments, f"--out={disk / 'run'}", cwd=disk).endswith("No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.8])
@pytest.mark.parametrize("command", RESUMABLE)
def test_what_was_done_before_the_disk_was_full_is_not_lost(
    command: str, part: float, mount: Mount, tmp_path: Path
) -> None:
    """On a disk that holds a part of what a run leaves behind. With more room it goes on, and ends as any other."""
    whole = tmp_path / "whole"
    done = run(f"experiments.{command}", *RESUMABLE[command], f"--out={whole}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pages = sum(-(-path.stat().st_size // PAGE_BYTES) for path in whole.rglob("*") if path.is_file())
    disk = mount(f"size={max(2, int(part * pages)) * PAGE_BYTES}")
    out = f"--out={disk / 'run'}"
    said = complaint(command, *RESUMABLE[command], out, cwd=disk)
    assert said.endswith("No space left on device")
    subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
    done = run(f"experiments.{command}", *RESUMABLE[command], out, "--resume", cwd=disk)
    assert done.returncode == 0, done.stderr
    assert sorted(contents(disk / "run")) == sorted(contents(whole))
    assert [*disk.glob("run/.*.tmp")] == []


GARBLED = {
    "empty": b"",
    "bytes": bytes(range(256)),
    "half of it": b'{"config": {"game": "kuhn',
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "a number": b'{"config": 7}',
}


@pytest.mark.parametrize("command", in_short("solve", RESUMABLE))
def test_a_garbled_run(command: str, tmp_path: Path) -> None:
    """A config.json that is none is refused, and the run is left as it is. metrics.csv is only written: whatever is in
    it, a run that goes on puts it right."""
    out = tmp_path / "run"
    arguments = [*RESUMABLE[command], f"--out={out}"]
    done = run(f"experiments.{command}", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = (out / "config.json").read_bytes()
    whole = {name: value for name, value in contents(out).items() if name != "config.json"}
    for content in GARBLED.values():
        (out / "config.json").write_bytes(content)
        assert "config.json is damaged" in complaint(command, *arguments, "--resume", cwd=tmp_path)
        assert (out / "config.json").read_bytes() == content
    (out / "config.json").write_bytes(config)
    assert {name: value for name, value in contents(out).items() if name != "config.json"} == whole
    if (out / "metrics.csv").exists():
        metrics = (out / "metrics.csv").read_bytes()
        for kind in ("empty", "bytes"):
            (out / "metrics.csv").write_bytes(GARBLED[kind])
            done = run(f"experiments.{command}", *arguments, "--resume", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert (out / "metrics.csv").read_bytes() == metrics
