"""Each benchmark suite runs in its quick form and writes what it promises. Speeds are not tested."""

import csv
import json
from pathlib import Path

import pytest

from experiments.running.directory import RunDirectory
from experiments.suites import exploitability, playouts, tabular


def test_playouts(tmp_path: Path) -> None:
    rows = playouts.run(RunDirectory(tmp_path, {}), quick=True)
    assert {row["engine"] for row in rows} == {"CardSpiel", "OpenSpiel C++"}
    assert all(row["steps/s"] > row["games/s"] > 0 for row in rows)
    assert (tmp_path / "report.md").exists()


@pytest.mark.slow
def test_exploitability(tmp_path: Path) -> None:
    summary = exploitability.run(RunDirectory(tmp_path, {}), quick=True)
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    assert {(row["game"], row["solver"]) for row in summary} == {(r["title"], r["solver"]) for r in results}
    for result in results:
        curve = result["curve"]
        assert [point["step"] for point in curve] == sorted({point["step"] for point in curve})
        assert curve[-1]["nash_conv"] < curve[0]["nash_conv"] or result["solver"] in ("outcome", "openspiel_external")
    assert {path.stem for path in tmp_path.glob("*.png")} == set(exploitability.QUICK_GAMES)
    with (tmp_path / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == sum(len(result["curve"]) for result in results)


@pytest.mark.slow
def test_tabular(tmp_path: Path) -> None:
    rows = tabular.run(RunDirectory(tmp_path, {}), quick=True)
    assert any("leduc_poker: a CFR+ iteration" in row["work"] for row in rows)
    assert all(row["times faster"] > 0 for row in rows)
