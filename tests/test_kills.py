"""What `tests.kills` can kill, it kills; a few times here, often in the slow tests."""

import subprocess
import sys

import pytest

from tests.commands import ROOT
from tests.forked import COMMANDS


def kill(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "tests.kills", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_kinds_of_run_once_each() -> None:
    assert kill("--kills=1", "--short", "--seed=1").count("every file equal") == 2


def test_nothing_that_can_be_resumed_is_left_out() -> None:
    """A command that has --resume is one of the kinds, or says why not."""
    from tests.kills import EXCUSED, KINDS

    sources = {name: (ROOT / "experiments" / f"{name}.py").read_text() for name in COMMANDS}
    resumable = {name for name, text in sources.items() if "define_run(" in text or "resume=" in text}
    assert {"solve", "deep_cfr", "arena", "tournament", "toepen_frontier"} <= resumable
    assert resumable == {kind.command for kind in KINDS.values()} | EXCUSED


@pytest.mark.slow
def test_every_kind_of_run_often() -> None:
    print(kill("--kills=20"))
