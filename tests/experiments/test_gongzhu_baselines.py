"""The runner for Gongzhu's baselines: a quick run from the command line, bad flags, and the intransitivity measure."""

import csv
import subprocess
from pathlib import Path

import pytest

from experiments.gongzhu.matches import _matrix
from experiments.running.round_robin import intransitivity
from tests import commands


def run(*flags: str, cwd: Path) -> subprocess.CompletedProcess:
    return commands.run("experiments.gongzhu_baselines", *flags, cwd=cwd)


@pytest.mark.slow
def test_quick_run(tmp_path: Path) -> None:
    result = run("--quick", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = {row["match"]: row for row in csv.DictReader((tmp_path / "run" / "table_2.csv").open())}
    assert len(rows) == 6
    for match, expected in (("if - random", 185), ("greed - random", 270), ("greed - if", 78)):
        assert abs(float(rows[match]["points"]) - expected) < 10 + 4 * float(rows[match]["s.e."])
    assert len(list(csv.DictReader((tmp_path / "run" / "monte_carlo.csv").open()))) == 3
    assert (tmp_path / "run" / "monte_carlo.png").stat().st_size > 10_000
    assert "Intransitivity" in (tmp_path / "run" / "report.md").read_text()


@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("--worlds=10,many", "--worlds=10,many: allowed are whole numbers"),
        ("--worlds=0", "--worlds=0: allowed are"),
        ("--deals=1", "--deals=1"),
    ],
)
def test_bad_flags(tmp_path: Path, flag: str, complaint: str) -> None:
    result = run(flag, cwd=tmp_path)
    assert result.returncode != 0
    assert complaint in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_intransitivity() -> None:
    transitive = {("a", "b"): 3.0, ("b", "c"): 4.0, ("a", "c"): 7.0}
    assert intransitivity(_matrix(transitive, ["a", "b", "c"])) == 0
    rock_paper_scissors = {("a", "b"): 1.0, ("b", "c"): 1.0, ("c", "a"): 1.0}
    assert intransitivity(_matrix(rock_paper_scissors, ["a", "b", "c"])) == 1
    # The published numbers (Table 2) give 0.027, which the paper rounds to 0.03.
    numbers = {"ir": 194.0, "gr": 275.0, "zr": 319.0, "gi": 80.0, "zi": 127.0, "zg": 60.0}
    published = {(pair[0], pair[1]): points for pair, points in numbers.items()}
    assert intransitivity(_matrix(published, ["r", "i", "g", "z"])) == pytest.approx(0.027, abs=0.0005)
