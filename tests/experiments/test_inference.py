"""The commands that clone players and judge models: quick runs, and bad flags."""

import csv
import subprocess
from pathlib import Path

import pytest

from tests import commands


def run(name: str, *flags: str, cwd: Path) -> subprocess.CompletedProcess:
    return commands.run(f"experiments.{name}", *flags, cwd=cwd)


def test_a_clone_of_one_game_judged_on_that_game(tmp_path: Path) -> None:
    game = "--game=python_gongzhu(suits=2,ranks=6)"
    cloned = run("clone", game, "--player=random", "--quick", "--out=clone", cwd=tmp_path)
    assert cloned.returncode == 0, cloned.stdout + cloned.stderr
    judged = run(
        "inference",
        game,
        "--players=random",
        "--models=clone,random",
        "--from_trick=2",
        "--quick",
        "--out=run",
        cwd=tmp_path,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
    rows = list(csv.DictReader((tmp_path / "run" / "scores.csv").open()))
    assert [row["model"] for row in rows] == ["clone", "random", "mixture"]
    assert {row["trick"] for row in csv.DictReader((tmp_path / "run" / "by_trick.csv").open())} <= {"2", "3"}
    assert (tmp_path / "run" / "by_trick.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--game=kuhn_poker",), "allowed are games of this project that list their moves"),
        (("--models=gongzhu_spiel.expert:no_model",), "no model can be made"),
        (("--players=greed,if,team",), "allowed are one or two"),
    ],
)
def test_bad_flags(tmp_path: Path, flags: tuple[str, ...], complaint: str) -> None:
    result = run("inference", "--quick", *flags, cwd=tmp_path)
    assert result.returncode != 0
    assert complaint in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
