"""What a machine must have in common with the one that asks it to work: the code, the libraries, the kind of CPU.

Equal code on equal libraries gives equal bits on CPUs of one kind. On another kind a library may take another way
through the same product, so floating-point results may differ in their last bits; integer kernels do not.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import json
import platform
import sys
from pathlib import Path
from typing import NamedTuple

from cardtable.files import read_json, write_atomically
from cardtable.parameters import UserError

DISTRIBUTION = "cardspiel"
LIBRARIES = ("numpy", "numba", "scipy", "open_spiel", "torch", "ray")
NODES_FILE = "nodes.json"
FOREIGN_GAMES = "open_spiel.python.games"  # registers OpenSpiel's own games in Python


class Node(NamedTuple):
    """All that decides the bits of an answer, and the name of the machine."""

    name: str
    code: str  # hash of all sources
    libraries: str
    cpu: str


@functools.cache
def own_packages() -> tuple[str, ...]:
    """The packages of this project: those of the installation, or what lies beside this one."""
    try:
        names = (importlib.metadata.distribution(DISTRIBUTION).read_text("top_level.txt") or "").split()
    except importlib.metadata.PackageNotFoundError:
        names = []
    return tuple(sorted(names or (path.parent.name for path in _root().glob("*/__init__.py"))))


def _root() -> Path:
    return Path(__file__).resolve().parents[2]


def registering_modules() -> tuple[str, ...]:
    """What was imported here and may have told pyspiel about games, which another process then must import too."""
    return tuple(name for name in (*own_packages(), FOREIGN_GAMES) if name in sys.modules)


@functools.cache
def this_node() -> Node:
    versions = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    return Node(platform.node(), hash_of_sources(_root()), ", ".join(versions), cpu_model())


def hash_of_sources(root: Path) -> str:
    found = hashlib.sha256()
    for package in own_packages():
        for path in sorted((root / package).rglob("*.py")):
            found.update(f"{path.relative_to(root)} ".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


class Seen:
    """Which nodes have worked, kept in a file as soon as another one does: a run that goes on adds to it."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / NODES_FILE
        self.nodes = self._read() if self._path is not None and self._path.exists() else []

    def _read(self) -> list[Node]:
        assert self._path is not None
        found = read_json(self._path, "a list of nodes")
        try:
            return [Node(**{field: str(node[field]) for field in Node._fields}) for node in found]
        except (TypeError, KeyError):
            raise UserError(f"{self._path} is no list of nodes; --overwrite starts anew") from None

    def add(self, node: Node) -> None:
        if node in self.nodes:
            return
        self.nodes.append(node)
        if self._path is not None:
            text = json.dumps([each._asdict() for each in sorted(self.nodes)], indent=2)
            write_atomically(self._path, lambda file: file.write_text(text + "\n"))


def refusal(wanted: Node, found: Node, allow_mixed: bool) -> str:
    """Why a node may not work for another, in a sentence; empty if it may."""
    if found.code != wanted.code:
        return f"node {found.name} has other code than {wanted.name}; install the same version of CardSpiel on both"
    if allow_mixed:
        return ""
    mixed = "results could differ in their last bits (--allow_mixed_nodes takes it all the same)"
    if found.libraries != wanted.libraries:
        return f"node {found.name} has {found.libraries}, but {wanted.name} has {wanted.libraries}: {mixed}"
    if found.cpu != wanted.cpu:
        return f"node {found.name} has a {found.cpu}, but {wanted.name} a {wanted.cpu}: {mixed}"
    return ""
