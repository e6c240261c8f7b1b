"""Files from strangers: whatever is in them, they are read or refused in a sentence, in little memory; never run."""

from __future__ import annotations

import json
import re
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cardspiel  # noqa: F401 registers our games
from cardtable.files import parse_json, read_arrays, write_arrays
from cardtable.parameters import UserError
from experiments.running.checkpoints import TEXT
from tests.files import crafted
from tests.files.loaders import ARCHIVES, READERS, WEIGHTS, Loader

ROOT = Path(__file__).resolve().parents[2]
OURS = "python_toepen(suits=2,ranks=2,hand_size=2)"
OWN_MESSAGES = "cardtable/executors/pieces.py"
MOST_MEMORY = 32 << 20  # beyond the size of the file, whatever it asks for


# What cannot be told from a good file, or does not matter to the one who reads it.
HARMLESS = re.compile(
    r"checkpoint.*regrets|steps"  # whose numbers these are is the trainer's business: test_states.py
    r"|more behind the file|another byte at"  # zip tolerates the first; dates and the like can hold any byte
    r"|(keys|information_states|keys\.\d\.\d|views (places|context)): -?\d+"  # which nobody ever asks for
    r"|card tree labels.*: 127"  # where there is nothing to choose
    r"|(decisions|milliseconds): (-\d|\d)|milliseconds: nan"  # which is what is not measured
    r"|(snapshots: one entry more|places: one entry)"  # other networks, or other shares of them
    r"|trained (slots|numbers): (one entry|-?\d)|values: one entry less"  # another policy; hands that are still to do
    r"|(seconds|figures|targets): nan|figures: (-?inf|texts)"  # not measured, or illegal; and they are texts
)

# True is 1, and a policy file says itself which game it is of.
HARMLESS_IN_HEADS = re.compile(
    "without rules_version|version is True|values|made_by|(policy of ours|card tree): settings"
    "|policy of ours: game is 'x'"
)


def try_to_read(loader: Loader, folder: Path, content: bytes) -> str:
    """Empty if the file was read, else the sentence; nothing but a sentence may come, and little memory may go."""
    (folder / loader.file).write_bytes(content)
    tracemalloc.start()
    try:
        loader.read(folder)
        return ""
    except UserError as error:
        said = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= MOST_MEMORY + 10 * len(content), f"{peak:,} bytes for a file of {len(content):,}"
    assert said, "a refusal says why"
    assert "\n" not in said
    return said


def kinds(of: dict[str, Loader]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] if kind.slow else []) for name, kind in of.items()]


@pytest.fixture(scope="module", params=kinds(ARCHIVES))
def loader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Loader, Path, bytes]:
    return written(request.param, ARCHIVES[request.param], tmp_path_factory)


@pytest.fixture(scope="module", params=kinds(ARCHIVES | WEIGHTS))
def any_loader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Loader, Path, bytes]:
    return written(request.param, (ARCHIVES | WEIGHTS)[request.param], tmp_path_factory)


def written(name: str, loader: Loader, folders: pytest.TempPathFactory) -> tuple[str, Loader, Path, bytes]:
    folder = folders.mktemp("stranger")
    loader.write(folder)
    good = (folder / loader.file).read_bytes()
    assert try_to_read(loader, folder, good) == ""
    return name, loader, folder, good


@pytest.mark.parametrize("craft", ["bytes_that_are_no_archive", "archives_that_lie", "wrong_contents"])
def test_crafted_archives_are_refused(loader: tuple[str, Loader, Path, bytes], craft: str) -> None:
    name, kind, folder, good = loader
    marker = folder / "executed"
    others = () if craft == "wrong_contents" else (marker,)
    tried = 0
    for what, content in getattr(crafted, craft)(good, *others):
        said = try_to_read(kind, folder, content)
        assert said or HARMLESS.search(f"{name} {what}"), f"{name} takes {what}"
        assert not marker.exists(), f"{name} executed {what}"
        tried += 1
    assert tried > 8


@pytest.mark.parametrize("name", WEIGHTS)
def test_crafted_weights_are_refused(name: str, tmp_path: Path) -> None:
    kind, marker = WEIGHTS[name], tmp_path / "executed"
    kind.write(tmp_path)
    good = (tmp_path / kind.file).read_bytes()
    assert try_to_read(kind, tmp_path, good) == ""
    for what, content in (*crafted.bytes_that_are_no_archive(good, marker), *crafted.wrong_tensors(good)):
        said = try_to_read(kind, tmp_path, content)
        assert said or HARMLESS.search(f"{name} {what}"), f"{name} takes {what}"
        assert not marker.exists(), f"{name} executed {what}"


def jsons_in(folder: Path, name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The JSON text inside an archive, made wrong in every way."""
    arrays = crafted.arrays_of(content)
    if name == "checkpoint":
        for what, text in crafted.wrong_json(json.loads(arrays[TEXT].tobytes())):
            yield what, crafted.archive_of({**arrays, TEXT: np.frombuffer(text.encode(), np.uint8)})
    elif "metadata" in arrays:
        for what, text in crafted.wrong_json(json.loads(str(arrays["metadata"]))):
            yield what, crafted.archive_of({**arrays, "metadata": np.array(text)})


def test_crafted_json_is_refused(loader: tuple[str, Loader, Path, bytes]) -> None:
    name, kind, folder, good = loader
    for what, content in jsons_in(folder, name, good):
        said = try_to_read(kind, folder, content)
        assert said or HARMLESS_IN_HEADS.search(what), f"{name} takes JSON: {what}"
    head = folder / "player.json"
    if not head.exists() or name == "policy by name":
        return
    (folder / kind.file).write_bytes(good)
    text = head.read_text()
    try:
        for what, wrong in crafted.wrong_json(json.loads(text)):
            head.write_text(wrong)
            said = try_to_read(kind, folder, good)
            assert said or HARMLESS_IN_HEADS.search(f"{name}: {what}"), f"{name}: {what}"
        shapes = json.loads(text)["settings"].get("shapes", {}).get("single", {})
        for key in shapes:
            for value in crafted.WRONG_VALUES:
                wrong_head = json.loads(text)
                wrong_head["settings"]["shapes"]["single"][key] = value
                head.write_text(json.dumps(wrong_head))
                said = try_to_read(kind, folder, good)
                assert said or key == "negative_slope" or value is True, f"{key} is {value!r}"
    finally:
        head.write_text(text)


def fuzz_loader(loader: tuple[str, Loader, Path, bytes], examples: int) -> None:
    _, kind, folder, good = loader
    marker = folder / "executed"

    places = st.lists(st.tuples(st.integers(0, len(good) - 1), st.binary(min_size=1, max_size=8)), max_size=6)

    @settings(max_examples=examples)
    @given(st.one_of(st.binary(max_size=300), places, st.integers(0, len(good))))
    def try_bytes(change: bytes | int | list[tuple[int, bytes]]) -> None:
        content = bytearray(good)
        if isinstance(change, bytes):
            content = bytearray(change)
        elif isinstance(change, int):
            del content[change:]
        else:
            for place, piece in change:
                content[place : place + len(piece)] = piece
        try_to_read(kind, folder, bytes(content))
        assert not marker.exists()

    try_bytes()


def test_random_bytes_are_read_or_refused(loader: tuple[str, Loader, Path, bytes]) -> None:
    fuzz_loader(loader, 40)


@pytest.mark.slow
def test_many_random_bytes_are_read_or_refused(any_loader: tuple[str, Loader, Path, bytes]) -> None:
    """As many as a CPU minute may have time for, by what the whole file takes: some loaders build networks."""
    _, kind, folder, good = any_loader
    try_to_read(kind, folder, good)
    start = time.process_time()
    for _ in range(5):
        try_to_read(kind, folder, good)
    each = (time.process_time() - start) / 5
    fuzz_loader(any_loader, int(np.clip(60.0 / max(each, 1e-6), 500, 20_000)))


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {
        "plain": np.arange(6.0).reshape(2, 3),
        "by columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "none": np.zeros((0, 3), np.float32),
        "one": np.array(7, np.int8),
        "text": np.array("König"),
        "bytes": np.array([b"a", b"bcd"]),
        "other end first": np.arange(3, dtype=">i4"),
        "flags": np.array([True, False]),
        "much of the same": np.zeros(1_000_000),
    }
    path = tmp_path / "arrays.npz"
    for compress in (False, True):
        write_arrays(path, arrays, compress)
        for name, array in read_arrays(path, "arrays").items():
            np.testing.assert_array_equal(array, arrays[name], strict=name != "other end first")
            assert array.dtype.isnative
    write_arrays(path, {"keys": np.random.default_rng(1).integers(1000, size=100_000)}, compress=True)
    assert path.stat().st_size < 200_000, "compressed where that helps honestly"


def test_json_is_read_once_and_not_deep() -> None:
    assert parse_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    for text in ('{"a": 1, "a": 2}', "[" * 100_000, "{", "1" * 10_000):
        with pytest.raises(ValueError, match=r"\S"):
            parse_json(text)


def sources() -> list[str]:
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [file for file in files.split() if not file.startswith("tests/")]


def test_every_reader_is_tried() -> None:
    readers = {
        file for file in sources() if re.search(r"(?<!def )\bread_(arrays|tensors)\(", (ROOT / file).read_text())
    }
    assert readers == set(READERS)
    assert set(READERS.values()) <= {*ARCHIVES, *WEIGHTS}


def test_nothing_that_users_may_receive_is_unpickled() -> None:
    """Words that read pickles or run text occur only in the module that carries messages between own processes."""
    words = r"pickle\.load|pickle\.Unpickler|torch\.load|allow_pickle=True|np\.load\(|marshal|shelve|joblib|jsonpickle"
    for file in sources():
        if file != OWN_MESSAGES:
            found = re.findall(rf"{words}|import pickle|\beval\(|\bexec\(", (ROOT / file).read_text())
            assert not found, f"{file} uses {found}; cardtable.files reads arrays and JSON"
