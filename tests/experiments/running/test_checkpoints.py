from pathlib import Path

import numpy as np
import pytest

from experiments.running.checkpoints import load_checkpoint, save_checkpoint

IDENTITY = {"game": "kuhn_poker", "solver": "cfr", "seed": 1}
STATE = {"regrets": np.arange(6.0).reshape(2, 3), "iteration": 7, "settings": {"variant": "cfr"}}


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, IDENTITY, STATE)
    save_checkpoint(path, IDENTITY, {**STATE, "iteration": 8})
    loaded = load_checkpoint(path, IDENTITY)
    assert loaded.keys() == STATE.keys()
    assert (loaded["regrets"] == STATE["regrets"]).all()
    assert (loaded["iteration"], loaded["settings"]) == (8, {"variant": "cfr"})
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"], "no temporary files are left"


def test_interrupted_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, IDENTITY, STATE)
    with pytest.raises(TypeError):
        save_checkpoint(path, IDENTITY, {**STATE, "not json": object()})
    assert load_checkpoint(path, IDENTITY)["iteration"] == 7


def test_missing_damaged_and_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    with pytest.raises(ValueError, match="there is no checkpoint"):
        load_checkpoint(path, IDENTITY)
    save_checkpoint(path, IDENTITY, STATE)
    whole = path.read_bytes()
    for damaged in (whole[:100], whole[: len(whole) // 2], b"", b"hello", whole[:300] + b"\0" * 40 + whole[340:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged or not a checkpoint"):
            load_checkpoint(path, IDENTITY)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(ValueError, match="damaged or not a checkpoint"):
        load_checkpoint(path, IDENTITY)


def test_checkpoint_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, IDENTITY, STATE)
    with pytest.raises(ValueError, match="game is 'kuhn_poker' there and 'leduc_poker' here"):
        load_checkpoint(path, {**IDENTITY, "game": "leduc_poker"})
