"""Curves of several runs in one picture."""

from pathlib import Path

import pytest

from experiments.learning_curves import draw, read_curve
from tests import commands

HEAD = 'step,seconds,games,v random,"v random, s.e."\n'


def test_curves_are_read_and_drawn(tmp_path: Path) -> None:
    for name, last in (("one", 2.5), ("two", 1.5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text(f"{HEAD}1,0.5,512,-1.0,0.2\n9,6.0,4608,{last},0.1\n")
    assert read_curve(tmp_path / "one", "v random")[1] == {"games": 4608, "seconds": 6, "v random": 2.5, "s.e.": 0.1}
    runs = f"--runs={tmp_path / 'one'},{tmp_path / 'two'}"
    done = commands.run("experiments.learning_curves", runs, "--names=ours,theirs", f"--out={tmp_path / 'out'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "curves.png").stat().st_size > 10_000
    report = (tmp_path / "out" / "report.md").read_text()
    assert "ours" in report
    assert "theirs" in report


def test_what_is_exact_has_no_intervals() -> None:
    point = {"games": 1.0, "seconds": 1.0, "nash_conv": 0.5}
    labels = [
        draw({"one": [{**point, "s.e.": error}]}, "nash_conv").axes[0].get_ylabel() for error in (float("nan"), 0.1)
    ]
    assert labels == ["nash_conv", "nash_conv, 95% intervals"]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "names no run"),
        (["--runs=nowhere"], "cannot be read"),
        (["--runs=RUN", "--names=a,b"], "one name for each"),
        (["--runs=RUN", "--measure=luck"], "has no column 'luck'"),
        (["--runs=BAD"], "not made of numbers"),
        (["--runs=BYTES"], "it is no table"),
        (["--runs=LONG"], "has no column 'v random'"),
    ],
)
def test_refuses(flags: list[str], complaint: str, tmp_path: Path) -> None:
    for name, text in (("RUN", "1,0.5,512,-1.0,0.2\n"), ("BAD", "1,0.5,x,-1.0,0.2\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text(HEAD + text)
    for name, content in (("BYTES", b"\xff\xfe\x00seconds,games"), ("LONG", b"seconds,games\n1,2,3,4\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_bytes(content)
    for name in ("RUN", "BAD", "BYTES", "LONG"):
        flags = [flag.replace(name, str(tmp_path / name)) for flag in flags]
    done = commands.run("experiments.learning_curves", *flags, f"--out={tmp_path / 'out'}")
    assert done.returncode == 1
    assert complaint in done.stderr
    assert not (tmp_path / "out").exists()
