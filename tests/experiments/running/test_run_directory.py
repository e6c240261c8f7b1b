from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.running.directory import RunDirectory

CONFIG = {"game": "kuhn_poker", "seed": 1}


def test_metrics_are_kept_and_forgotten(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run", CONFIG)
    for step in (1, 2, 4):
        run.log(step, {"exploitability": 1 / step, "nodes": 3 * step})
    with (tmp_path / "run" / "metrics.csv").open("a") as file:
        file.write("8")  # killed in the middle of a row
    run = RunDirectory(tmp_path / "run", CONFIG, resume=True)
    assert [row["step"] for row in run.metrics()] == [1, 2, 4]
    run.replace_metrics(run.metrics()[:2])
    run.log(4, {"exploitability": 0.5, "nodes": 12345678901234567})
    assert run.metrics() == [
        {"step": 1, "exploitability": 1, "nodes": 3},
        {"step": 2, "exploitability": 0.5, "nodes": 6},
        {"step": 4, "exploitability": 0.5, "nodes": 12345678901234567},
    ]
    assert "\n4,0.5,12345678901234567" in (tmp_path / "run" / "metrics.csv").read_text(), "counts stay counts"


def test_tensorboard_can_read_the_events(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, CONFIG)
    run.log(3, {"exploitability": 0.25})
    events = EventAccumulator(str(tmp_path)).Reload()
    assert "exploitability" in events.Tags()["tensors"] + events.Tags()["scalars"]


def test_a_new_run_does_not_mix_with_an_old_one(tmp_path: Path) -> None:
    RunDirectory(tmp_path, CONFIG).log(1, {"exploitability": 1})
    assert RunDirectory(tmp_path, CONFIG).metrics() == []


def test_resuming_checks_the_config(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no run to resume"):
        RunDirectory(tmp_path, CONFIG, resume=True)
    RunDirectory(tmp_path, CONFIG)
    with pytest.raises(ValueError, match="seed was 1, is now 2"):
        RunDirectory(tmp_path, {**CONFIG, "seed": 2}, resume=True)
