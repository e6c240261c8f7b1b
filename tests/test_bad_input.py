"""Bad input for every command: one line, exit code 1, nothing lost. Random command lines beside named ones."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.running.directory import RunDirectory
from tests.commands import ROOT, run
from tests.forked import COMMANDS, Ended
from tests.random_flags import command_line, flags_in, prepare, problem_of

BRIEF = {  # what a command needs, so that --out is the first thing that is wrong and little is done
    "benchmark": ["--quick", "--suite=tabular"],
    "coinche_study": ["--quick", "--hand=JS 9S AS 7S AH 10H 8C KD"],
    "toepen_advice": ["--size=2-3-2", "--games=20", "--player=random"],
    "toepen_expert": ["--size=2-3-2", "--iterations=20", "--hands=2"],
    "toepen_response": ["--size=2-3-2", "--player=uniform", "--hands=2"],
    "learning_curves": [f"--runs={ROOT / 'tests' / 'files' / 'curve'}"],
    "solve": ["--game=kuhn_poker", "--iterations=3"],
    "deep_cfr": ["--quick", "--game=kuhn_poker"],
    "cego_agents": ["--quick", "--agents=random,monte_carlo(worlds=1)", "--subgames=bettel"],
    "train": ["--quick", "--game=python_kuhn_collab"],
    "arena": ["--quick", "--game=kuhn_poker", "--north_south=random", "--east_west=random"],
    "tournament": ["--quick", "--game=python_gongzhu", "--players=random,if"],
}
WRITERS = [name for name in COMMANDS if name != "demo"]
OUTS = {
    "file": "File exists",
    "file/under": "Not a directory",
    "x" * 300: "File name too long",
    "used": "holds a run already",
    "thesis": "in use, but not by a run",
}


def complaint(command: str, *arguments: str, cwd: Path) -> str:
    done = run(f"experiments.{command}", *arguments, cwd=cwd)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("compiling ")]
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith(f"experiments.{command}: ")
    return lines[0]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    RunDirectory(tmp_path / "used", {}).close()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.csv").write_text("years of work")
    return tmp_path


@pytest.mark.parametrize("command", [pytest.param(name, marks=pytest.mark.slow) for name in WRITERS])
def test_where_nothing_can_be_written(command: str, places: Path) -> None:
    for out, reason in OUTS.items():
        assert reason in complaint(command, *BRIEF.get(command, ["--quick"]), f"--out={out}", cwd=places)
    assert (places / "thesis" / "thesis.csv").read_text() == "years of work"


def test_where_nothing_can_be_written_in_short(places: Path) -> None:
    for out, reason in list(OUTS.items())[:2]:
        assert reason in complaint("solve", *BRIEF["solve"], f"--out={out}", cwd=places)
    done = run("experiments.solve", *BRIEF["solve"], "--out=ünïcödé ♠", cwd=places)
    assert done.returncode == 0, done.stderr
    assert (places / "ünïcödé ♠" / "report.md").exists()


SIZES = {
    ("arena", "--deals=1000000000000"): "of memory or more",
    ("deep_cfr", "--traversals=1000000000000"): "hours or more",
    ("coinche_bidder", "--numbers=/dev/null"): "is damaged or not the numbers of bidders",
    ("clone", "--learning_rate=-1"): "is not a non-negative number",
    ("clone", "--hidden_sizes=100000,100000"): "hidden layers of 100,000, 100,000 needs",
    ("deep_cfr", "--hidden_sizes=100000,100000"): "needs 200 GB of memory",
    ("deep_cfr", "--memory_rows=1000000000000"): "of memory",
    ("deep_cfr", "--seed=-1"): "allowed: 0 to",
    ("deep_cfr", "--epsilon=inf"): "allowed: finite numbers",
    ("gongzhu_expert", "--iteration_games=1000000000000"): "hours or more",
    ("train", "--playouts=1000000000000"): "hours or more",
    ("gongzhu_scrofazero", "--game=catch"): "--game=catch is not a card game of this project",
    ("inference", "--players=os:getcwd"): "--players=os:getcwd: a bot's positions cannot be told again",
    ("solve", "--seconds=nan"): "allowed: finite numbers",
    ("solve", "--game=kuhn_pokr"): "did you mean kuhn_poker",
    ("tournament", "--players=random,gred"): "did you mean greed",
    ("arena", "--north_south=os:getcwd"): "the player 'os:getcwd' makes no bot",
    ("coinche_study", "--hand=AS"): "a hand has 8 cards",
}


@pytest.mark.parametrize(("asked", "answer"), SIZES.items())
def test_what_cannot_be_meant(asked: tuple[str, str], answer: str, tmp_path: Path) -> None:
    command, argument = asked
    brief = [] if command == "coinche_study" else BRIEF.get(command, ["--quick"])
    assert answer in complaint(command, *brief, "--out=run", argument, cwd=tmp_path)


def test_a_study_without_its_hand(tmp_path: Path) -> None:
    assert "--hand=" in complaint("coinche_study", cwd=tmp_path)


def test_a_full_disk(tmp_path: Path) -> None:
    """No file may be longer than 20 kB: as if the disk were full."""
    command = [sys.executable, "-m", "experiments.solve", *BRIEF["solve"], f"--out={tmp_path / 'run'}"]
    limit = (20_000, 20_000)
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.strip().splitlines()[-1].endswith("File too large")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_asked_to_stop(number: int, code: int, tmp_path: Path) -> None:
    """A run saves and says how to go on; with --resume it does."""
    out = tmp_path / "run"
    arguments = ["--game=leduc_poker", "--solver=external", f"--out={out}"]
    started = subprocess.Popen(
        [sys.executable, "-m", "experiments.solve", *arguments, "--iterations=100000000"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (out / "metrics.csv").exists():
        assert started.poll() is None, started.communicate()[1]
        time.sleep(0.02)
    os.kill(started.pid, number)
    said = started.communicate(timeout=60)[1]
    assert started.returncode == code, said
    assert said.splitlines()[-1].endswith("iterations; the same command with --resume goes on")
    assert "Traceback" not in said
    done = run("experiments.solve", *arguments, "--iterations=1", "--resume")
    assert done.returncode == 0, done.stderr


def test_a_few_random_command_lines(tmp_path: Path) -> None:
    rng = random.Random(3)
    for command in ("arena", "solve"):
        flags = flags_in(run(f"experiments.{command}", "--helpxml").stdout)
        assert "out" in [flag.name for flag in flags]
        for number in range(2):
            place = tmp_path / f"{command}_{number}"
            place.mkdir()
            prepare(place)
            line = command_line(command, flags, rng)
            done = run(f"experiments.{command}", *line, cwd=place)
            assert not problem_of(command, Ended(done.returncode, 0.0, done.stdout, done.stderr)), (line, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["--count=500", "--texts"])
def test_many_random_command_lines(which: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.random_flags", which], cwd=ROOT, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
