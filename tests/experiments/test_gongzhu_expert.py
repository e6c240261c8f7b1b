"""The commands around Gongzhu's expert: quick runs, and going on where one was interrupted."""

import csv
from pathlib import Path

import pytest

from tests import commands


@pytest.mark.slow
def test_networks_are_made_and_made_again_from_the_same_parts(tmp_path: Path) -> None:
    result = commands.run("experiments.gongzhu_expert", "--quick", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    made = (tmp_path / "run" / "network.safetensors").read_bytes()
    for name in ("network.safetensors", "network_1.safetensors", "examples_1_0.npz"):
        (tmp_path / "run" / name).unlink()
    again = commands.run("experiments.gongzhu_expert", "--quick", "--out=run", "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert (tmp_path / "run" / "network.safetensors").read_bytes() == made


@pytest.mark.slow
def test_matches_of_the_study(tmp_path: Path) -> None:
    flags = ("--group=ablation", "--only=1,2", "--quick", "--out=run")
    result = commands.run("experiments.gongzhu_study", *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = list(csv.DictReader((tmp_path / "run" / "ablation.csv").open()))
    assert len(rows) == 2
    assert (tmp_path / "run" / "ablation.png").stat().st_size > 5_000


@pytest.mark.parametrize("numbers", ["99", "0", "three", "1,"])
def test_matches_that_there_are_not(numbers: str, tmp_path: Path) -> None:
    done = commands.run("experiments.gongzhu_study", "--quick", f"--only={numbers}", "--out=run", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("allowed: numbers from 1 to 7 with commas between them")
    assert "Traceback" not in done.stderr
