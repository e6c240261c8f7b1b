"""What a machine must have in common with the one that asks it to work: the code, the libraries, the kind of CPU.

Equal code on equal libraries gives equal bits on CPUs of one kind. On another kind a library may take another way
through the same product, so floating-point results may differ in their last bits; integer kernels do not.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import platform
import sys
from pathlib import Path
from typing import NamedTuple

DISTRIBUTION = "cardspiel"
LIBRARIES = ("numpy", "numba", "scipy", "open_spiel", "torch", "ray")
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
