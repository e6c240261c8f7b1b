import os
import signal
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cardtable.parameters import UserError
from experiments.running.directory import RunDirectory, file_name
from experiments.running.kept_rows import KeptRows

CONFIG = {"game": "kuhn_poker", "seed": 1}


def test_metrics_are_kept_and_forgotten(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run", CONFIG)
    for step in (1, 2, 4):
        run.log(step, {"exploitability": 1 / step, "nodes": 3 * step})
    with (tmp_path / "run" / "metrics.csv").open("a") as file:
        file.write("8")  # killed in the middle of a row
    run.close()
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
    assert RunDirectory(tmp_path, CONFIG, overwrite=True).metrics() == []


def test_rows_of_an_old_run_are_not_those_of_a_new_one(tmp_path: Path) -> None:
    def row(seed: int, **options: bool) -> int:
        run = RunDirectory(tmp_path, CONFIG, **options)
        found = KeptRows(run.path).once("row", {"seed": int}, lambda: {"seed": seed})
        run.close()
        return found["seed"]

    assert [row(1), row(2, resume=True), row(3, overwrite=True)] == [1, 1, 3]


def test_resuming_checks_the_config(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no run to resume"):
        RunDirectory(tmp_path, CONFIG, resume=True)
    RunDirectory(tmp_path, CONFIG)
    with pytest.raises(ValueError, match="seed was 1, is now 2"):
        RunDirectory(tmp_path, {**CONFIG, "seed": 2}, resume=True)


def events_in(path: Path) -> list[tuple[int, float]]:
    (file,) = path.glob("events.out.*")
    events = EventAccumulator(str(file)).Reload()
    return [(event.step, event.value) for event in events.Scalars("gap")]


def test_events_are_those_of_the_rows(tmp_path: Path) -> None:
    """A run that goes on from the second of three rows: one file, each value once."""
    run = RunDirectory(tmp_path, CONFIG)
    for step in (1, 2, 3):
        run.log(step, {"gap": 1 / step})
    rows = run.metrics()
    run.close()
    run = RunDirectory(tmp_path, CONFIG, resume=True)
    run.replace_metrics(rows[:2])
    run.log(3, {"gap": 0.25})
    assert events_in(tmp_path) == [(1, 1.0), (2, 0.5), (3, 0.25)]


def test_a_used_directory_is_refused(tmp_path: Path) -> None:
    RunDirectory(tmp_path, CONFIG).log(1, {"gap": 1})
    (tmp_path / "checkpoint.npz").touch()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds a run already: --overwrite replaces it"):
        RunDirectory(tmp_path, CONFIG)
    assert (tmp_path / "metrics.csv").exists(), "and nothing was touched"
    RunDirectory(tmp_path, {"seed": 2}, overwrite=True)
    assert {file.name for file in tmp_path.iterdir()} == {".lock", "config.json", "notes.txt"}
    with pytest.raises(UserError, match="allowed: one of them"):
        RunDirectory(tmp_path, CONFIG, overwrite=True, resume=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_directory_of_something_else_is_left_alone(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "thesis.csv").write_text("years of work")
    with pytest.raises(UserError, match=r"in use, but not by a run \(thesis.csv is in it\)"):
        RunDirectory(tmp_path, CONFIG, overwrite=overwrite)
    assert (tmp_path / "thesis.csv").read_text() == "years of work"


def test_two_runs_in_one_directory(tmp_path: Path) -> None:
    """Also of two processes; the lock of one that was killed is gone."""
    child = os.fork()
    if child == 0:
        held = RunDirectory(tmp_path, CONFIG)
        time.sleep(60)
        held.close()
        os._exit(0)
    while not (tmp_path / "config.json").exists():
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        time.sleep(0.01)
    for options in ({"resume": True}, {"overwrite": True}, {}):
        with pytest.raises(UserError, match="another process works in"):
            RunDirectory(tmp_path, CONFIG, **options)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    first = RunDirectory(tmp_path, CONFIG, resume=True)
    with pytest.raises(UserError, match="another process works in"):
        RunDirectory(tmp_path, CONFIG, resume=True)
    first.close()
    RunDirectory(tmp_path, CONFIG, resume=True)


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    RunDirectory(tmp_path, CONFIG)
    (tmp_path / ".checkpoint.npz.123.tmp").touch()
    RunDirectory(tmp_path, CONFIG, resume=True)
    assert not (tmp_path / ".checkpoint.npz.123.tmp").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"config": 3}', "\x00", "[" * 100_000])
def test_a_garbled_config_is_refused(text: str, tmp_path: Path) -> None:
    RunDirectory(tmp_path, CONFIG)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"config.json is damaged.*--overwrite starts anew"):
        RunDirectory(tmp_path, CONFIG, resume=True)
    RunDirectory(tmp_path, CONFIG, overwrite=True)


def test_names_of_directories_have_an_end() -> None:
    long = "python_toepen(" + "ü" * 300
    assert file_name("a/b") == "a_b"
    assert len(file_name(long).encode()) <= 150
    assert file_name(long) != file_name(long + "x")


def test_a_figure_that_comes_late_has_a_column(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, CONFIG)
    rows = [{"gap": 0.5}, {"gap": 0.25}, {"gap": 0.125, "at the end": 7.5}]
    for step, row in enumerate(rows, start=1):
        run.log(step, row)
    assert run.metrics() == [{"step": step, **row} for step, row in enumerate(rows, start=1)]
    assert (tmp_path / "metrics.csv").read_text().splitlines()[0] == "step,gap,at the end"
    once = (tmp_path / "metrics.csv").read_text()
    run.replace_metrics(run.metrics())
    assert (tmp_path / "metrics.csv").read_text() == once
