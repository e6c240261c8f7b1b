"""Weights of networks as files: they come back as they were, and what is no such file is refused in a sentence."""

from __future__ import annotations

import json
import resource
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from cardtable.files import read_tensors, write_tensors
from cardtable.parameters import UserError

MOST_MEMORY = 1 << 20


def file_of(header: object, data: bytes = b"") -> bytes:
    """The format in plain words: the length of the header, the header as JSON, the numbers."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_weights_come_back(tmp_path: Path) -> None:
    weights: dict[str, np.ndarray] = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "b": np.array([1, -2], np.int8),
    }
    write_tensors(tmp_path / "weights", weights)
    found = read_tensors(tmp_path / "weights", "weights")
    assert found.keys() == weights.keys()
    for name, expected in weights.items():
        np.testing.assert_array_equal(found[name], expected)
        assert found[name].dtype == expected.dtype


def test_the_format_is_the_published_one(tmp_path: Path) -> None:
    header = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    (tmp_path / "weights").write_bytes(file_of(header, struct.pack("<ff", 1.5, -2.0)))
    np.testing.assert_array_equal(read_tensors(tmp_path / "weights", "weights")["a"], [1.5, -2.0])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        struct.pack("<Q", 1 << 60) + b"{}",
        file_of([1, 2]),
        file_of({"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}),
        file_of({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"1234"),
        file_of({"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, b"12345678"),
        file_of({"a": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"\1"),
        file_of({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, struct.pack("<f", float("nan"))),
    ],
)
def test_anything_else_is_refused_in_little_memory(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="is damaged or not weights"):
            read_tensors(tmp_path / "weights", "weights")
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


def test_where_there_is_no_room_it_is_the_operating_system_that_refuses(tmp_path: Path) -> None:
    """An OSError, which commands tell in one line; and what was there before is still there."""
    path = tmp_path / "weights.safetensors"
    write_tensors(path, {"kept": np.zeros(3)})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_tensors(path, {"new": np.zeros(1 << 16)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(read_tensors(path, "weights")) == ["kept"]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
