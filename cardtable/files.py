"""Files that replace an older version, and files that come from somebody else.

Writing: beside the old file, then moved into place. A process killed at any moment leaves either the old file or the
new one, never half of one.

Reading: whatever is in a file, nothing of it is executed, and memory stays within a multiple of the file's size.
Archives of arrays (npz) are checked entry by entry before an array is made: which types they have, and that as many
bytes are there as their shapes ask for. What is wrong is said in one sentence. Weights of networks are safetensors,
which are numbers and nothing else.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import safetensors.numpy

from cardtable.parameters import UserError

KINDS = "biufSU"  # of arrays: truth values, numbers, texts; never objects
MOST_EXPANSION = 100  # times the size of a compressed file, plus the allowance, is what its arrays may take
ALLOWANCE_BYTES = 1 << 20
PIECE_BYTES = 1 << 20
SUFFIX = ".npy"


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Calls `write` with a temporary path in the same folder and moves the result to `path` once it is on disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], compress: bool = False) -> None:
    """Writes arrays as an npz archive that `read_arrays` and `numpy.load` read.

    Compression is given up where it works so well that the file could not be told from one made to fill the memory.
    """

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            (np.savez_compressed if compress else np.savez)(file, **dict(arrays))  # type: ignore[arg-type]
        if compress and sum(array.nbytes for array in arrays.values()) > _most_bytes(temporary.stat().st_size) // 2:
            with temporary.open("wb") as file:
                np.savez(file, **dict(arrays))  # type: ignore[arg-type]

    write_atomically(path, write)


def read_arrays(path: str | os.PathLike, what: str) -> dict[str, np.ndarray]:
    """The arrays of an npz archive by name; UserError if the file is anything else than `what`."""
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            _require_honest(archive, os.fstat(file.fileno()).st_size)
            return {entry.filename.removesuffix(SUFFIX): _array(archive, entry) for entry in archive.infolist()}
    except FileNotFoundError:
        raise
    except Exception as error:  # bytes of a stranger make the libraries underneath raise almost anything
        raise _damaged(path, what, error) from None


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Writes the weights of a network as safetensors."""
    contents = safetensors.numpy.save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()})
    # Not by safetensors itself, whose error on a full disk is no OSError.
    write_atomically(path, lambda temporary: temporary.write_bytes(contents))


def read_tensors(path: str | os.PathLike, what: str) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file by name, all of finite numbers; UserError if the file is not `what`."""
    try:
        tensors = safetensors.numpy.load(Path(path).read_bytes())
        for name, tensor in tensors.items():
            if tensor.dtype.kind not in "iuf" or not np.isfinite(tensor).all():
                raise ValueError(f"{name[:50]!r} in it is not made of finite numbers")
        return tensors
    except FileNotFoundError:
        raise
    except Exception as error:  # as above
        raise _damaged(path, what, error) from None


def read_json(path: str | os.PathLike, what: str) -> Any:
    """The contents of a JSON file; UserError if it is none."""
    try:
        return parse_json(Path(path).read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise _damaged(path, what, error) from None


def parse_json(text: str | bytes) -> Any:
    """JSON in which no name occurs twice; ValueError for anything else."""
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in its JSON")
    return found


def _damaged(path: str | os.PathLike, what: str, error: Exception) -> UserError:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return UserError(f"{path} is damaged or not {what}: {reason}")


def _most_bytes(file_size: int) -> int:
    return MOST_EXPANSION * file_size + ALLOWANCE_BYTES


def _require_honest(archive: zipfile.ZipFile, file_size: int) -> None:
    """Looks at the table of contents: what it promises must be possible in a file of this size."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError("two of its arrays have one name")
    for entry in entries:
        if not entry.filename.endswith(SUFFIX):
            raise ValueError(f"{entry.filename[:50]!r} in it is no array")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it is compressed in a way that is not used here")
        if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size != entry.file_size:
            raise ValueError("the sizes of an array that is not compressed differ")
    if sum(entry.compress_size for entry in entries) > file_size:
        raise ValueError("its arrays are larger than the file")
    if sum(entry.file_size for entry in entries) > _most_bytes(file_size):
        raise ValueError(f"its arrays would take more than {MOST_EXPANSION} times the size of the file")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as file:
        shape, by_columns, dtype = _header(file)
        if dtype.hasobject or dtype.kind not in KINDS or dtype.itemsize == 0:
            raise ValueError(f"an array in it has the type {dtype}, which is not read")
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise ValueError(f"an array in it has the shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if size != entry.file_size - file.tell():
            raise ValueError(f"an array of shape {shape} takes {size:,} bytes; there are others")
        flat = np.empty(math.prod(shape), dtype)
        _fill(file, flat.view(np.uint8))
    array = flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file)
    raise ValueError(f"an array in it has the format {version}")


def _fill(file: IO[bytes], room: np.ndarray) -> None:
    """Reads as many bytes as there is room for, and sees that they are all and undamaged."""
    place = 0
    while place < len(room):
        piece = file.read(min(PIECE_BYTES, len(room) - place))
        if not piece:
            raise ValueError("an array in it ends early")
        room[place : place + len(piece)] = np.frombuffer(piece, np.uint8)
        place += len(piece)
    if file.read(1):  # the end of an entry is where its checksum is compared
        raise ValueError("an array in it does not end where it should")
