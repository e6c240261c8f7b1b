"""Files as somebody would make them who means harm, each made from a good one by changing one thing.

Every function yields (what was done, the bytes of the file).
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

GIBIBYTES = 18 << 30
Crafted = Iterator[tuple[str, bytes]]


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.marker),)


def arrays_of(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as archive:
        return dict(archive)


def archive_of(arrays: Mapping[str, np.ndarray], compress: bool = False) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **dict(arrays))  # type: ignore[arg-type]
    return file.getvalue()


def zip_of(entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def entry(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def header(text: str, version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode()


def head(descr: str, shape: str, order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def bytes_that_are_no_archive(good: bytes, marker: Path) -> Crafted:
    yield "nothing", b""
    yield "a word", b"hello"
    yield "zeros", bytes(10_000)
    yield "a pickle", pickle.dumps(Trap(marker))
    yield "an array", entry(np.zeros(3))
    yield "an array of a pickle", _pickled(marker)
    yield "an empty archive", zip_of([])
    yield "JSON", b'{"format": "cardspiel"}'
    for share in (0.1, 0.5, 0.9, 0.99):
        yield f"{share:.0%} of the file", good[: int(share * len(good))]
    yield "more behind the file", good + bytes(70_000)
    for place in range(0, len(good), max(1, len(good) // 40)):
        yield f"another byte at {place}", good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :]


def _pickled(marker: Path) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([Trap(marker)], object), allow_pickle=True)
    return file.getvalue()


def archives_that_lie(good: bytes, marker: Path) -> Crafted:
    """Headers, sizes and names."""
    whole = arrays_of(good)
    entries = {f"{name}.npy": entry(array) for name, array in whole.items()}
    first = next(iter(entries))
    data = bytes(10_000)
    for what, content in (
        ("a pickle inside", _pickled(marker)),
        ("a plain pickle inside", pickle.dumps(Trap(marker))),
        ("18 GiB", header(head("'<f8'", f"({GIBIBYTES // 8},)")) + data),
        ("18 GiB in two directions", header(head("'<f8'", f"({1 << 16}, {1 << 16})")) + data),
        ("numbers that overflow", header(head("'<f8'", f"({1 << 61}, 8)")) + data),
        ("a negative shape", header(head("'<f8'", "(-1,)")) + data),
        ("two negative sizes", header(head("'<f8'", "(-1, -1)")) + data),
        ("a shape of nothing times much", header(head("'<f8'", f"(0, {1 << 62}, {1 << 62})"))),
        ("texts of 18 GiB", header(head(f"'<U{GIBIBYTES}'", "()")) + data),
        ("texts of no length", header(head("'|S0'", f"({1 << 60},)"))),
        ("a shape of fractions", header(head("'<f8'", "(1.5,)")) + data),
        ("a shape of text", header(head("'<f8'", "'x'")) + data),
        ("no type", header(head("'<q9'", "(1,)")) + data),
        ("objects", header(head("'|O'", "(1,)")) + pickle.dumps([Trap(marker)])),
        ("a structure with objects", header(head("[('a', '|O')]", "(1,)")) + pickle.dumps([Trap(marker)])),
        ("a structure", header(head("[('a', '<i8'), ('b', '<f8')]", "(625,)")) + data),
        ("dates", header(head("'<M8[s]'", "(1250,)")) + data),
        ("complex numbers", header(head("'<c16'", "(625,)")) + data),
        ("an expression", header(head("__import__('os').mkdir('x')", "(1,)")) + data),
        ("deep parentheses", header("(" * 9000 + "\n") + data),
        ("a long header", header("{" + " " * 60_000 + "}\n") + data),
        ("a header of gigabytes", b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFFF) + data),
        ("a format of the future", header(head("'<f8'", "(1250,)"), 2).replace(b"\x02\x00", b"\x09\x00", 1) + data),
        ("too few bytes", header(head("'<f8'", "(1251,)")) + data),
        ("too many bytes", header(head("'<f8'", "(1249,)")) + data),
        ("no bytes", b""),
        ("text", b"hello"),
    ):
        yield what, zip_of([*{**entries, first: content}.items()])
    yield "one name twice", _with_a_double(good)
    yield "a name that is no array", zip_of([*entries.items(), ("../../escaped.txt", b"x")])
    yield "bzip2", zip_of([*entries.items()], zipfile.ZIP_BZIP2)
    yield "lzma", zip_of([*entries.items()], zipfile.ZIP_LZMA)
    bomb = header(head("'|u1'", f"({5_000_000},)")) + bytes(5_000_000)
    yield "a deflate bomb", zip_of([*entries.items(), ("more.npy", bomb)], zipfile.ZIP_DEFLATED)
    yield "sizes that are not true", _with_declared_size(first, 3 << 30)
    yield "160 megabytes of the same bytes", _overlapping()


def _with_a_double(good: bytes) -> bytes:
    file = io.BytesIO(good)
    with zipfile.ZipFile(file, "a") as archive:
        name = archive.namelist()[0]
        content = archive.read(name)
        info = zipfile.ZipInfo("x" * len(name))
        archive.writestr(info, content)
    return file.getvalue().replace(b"x" * len(name), name.encode())


def _with_declared_size(name: str, size: int) -> bytes:
    """A compressed entry of 10 kB that the table of contents calls 3 GiB."""
    content = zip_of([(name, header(head("'|u1'", f"({size - 80},)")) + bytes(10_000))], zipfile.ZIP_DEFLATED)
    found = content.index(b"PK\x01\x02")
    return content[: found + 24] + struct.pack("<I", size) + content[found + 28 :]


def _overlapping() -> bytes:
    """Many names in the table of contents for one stored entry."""
    content = entry(np.zeros(20_000))
    checksum, size = zlib.crc32(content), len(content)
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 0, checksum, size, size, 8, 0) + b"aaaa.npy"
    names = [f"{number:04x}.npy".encode() for number in range(1_000)]
    fields = (20, 20, 0, 0, 0, 0, checksum, size, size, 8, 0, 0, 0, 0, 0, 0)
    table = b"".join(struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *fields) + name for name in names)
    place = len(local) + size
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(names), len(names), len(table), place, 0)
    return local + content + table + end


def wrong_arrays(array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Other types, shapes and numbers in the place of one array."""
    yield "another type", array.astype(np.complex128) if array.dtype.kind in "biuf" else np.zeros(array.shape)
    yield "texts", np.full(array.shape, "x")
    if array.dtype.kind != "U":
        yield "one more dimension", array[None]
    if array.ndim:
        yield "a single number", np.array(1.5)
        yield "a single one of its type", np.zeros((), array.dtype)
        yield "one entry more", np.concatenate([array, np.zeros((1, *array.shape[1:]), array.dtype)])
    if array.ndim and len(array):
        yield "one entry less", array[1:]
    if array.ndim > 1:
        yield "a column less", np.ascontiguousarray(array[:, 1:])
        yield "a column more", np.concatenate([array, array[:, :1]], axis=1)
    if array.dtype.kind == "f" and array.size:
        for wrong in (np.nan, np.inf, -np.inf):
            yield str(wrong), _with_first(array, wrong)
    if array.dtype.kind == "i" and array.size:
        for wrong in (np.iinfo(array.dtype).min, -1, np.iinfo(array.dtype).max):
            yield str(wrong), _with_first(array, wrong)


def _with_first(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.reshape(-1)[0] = value
    return changed


def wrong_contents(good: bytes) -> Crafted:
    """An archive that is in order, with one array missing or replaced."""
    arrays = arrays_of(good)
    for name, array in arrays.items():
        yield f"without {name}", archive_of({other: value for other, value in arrays.items() if other != name})
        for what, wrong in wrong_arrays(array):
            yield f"{name}: {what}", archive_of({**arrays, name: wrong})


def wrong_tensors(good: bytes) -> Crafted:
    """Weights that are in order, with one tensor missing or replaced."""
    tensors = safetensors.numpy.load(good)
    for name, tensor in tensors.items():
        yield f"without {name}", safetensors.numpy.save({key: tensors[key] for key in tensors if key != name})
        others = {"one more dimension": tensor[None], "one entry more": np.concatenate([tensor, tensor[:1]])}
        others["one entry less"] = tensor[1:].copy()
        others |= {str(wrong): _with_first(tensor, wrong) for wrong in (np.nan, np.inf, -np.inf)}
        for what, wrong in others.items():
            yield f"{name}: {what}", safetensors.numpy.save({**tensors, name: wrong})


WRONG_VALUES: tuple[Any, ...] = (None, True, -1, 1.5, 10**30, float("nan"), float("inf"), "x", [], [[]], {}, {"x": {}})


def wrong_json(good: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """JSON texts: broken, deep, with other values in every place."""
    yield from (
        ("nothing", ""),
        ("half of it", json.dumps(good)[: len(json.dumps(good)) // 2]),
        ("a hundred thousand brackets", "[" * 100_000),
        ("deep objects", '{"a":' * 100_000),
        ("a long number", "1" * 100_000),
        ("no text", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")),
        ("a name twice", json.dumps(good)[:-1] + ', "format": "x", "format": "x"}'),
    )
    yield from ((f"{value!r}", json.dumps(value)) for value in WRONG_VALUES)
    for name in good:
        yield f"without {name}", json.dumps({other: value for other, value in good.items() if other != name})
        for value in WRONG_VALUES:
            yield f"{name} is {value!r}", json.dumps({**good, name: value})
