"""Imports point one way: cardtable <- games <- transforms <- solvers <- experiments."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GAMES = {path.parent.name for path in ROOT.glob("*/rules.py")} - {"cardtable"}
LAYERS = [{"cardtable"}, GAMES, {"transforms"}, {"cardspiel"}, {"solvers"}, {"experiments"}]
LAYER_OF = {package: number for number, packages in enumerate(LAYERS) for package in packages}


def imported_packages(path: Path) -> set[str]:
    packages = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages.add(node.module.split(".")[0])
    return packages


def imported_modules(path: Path) -> set[str]:
    """Full names; `from a import b` may mean a module a.b."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return modules


def test_no_command_imports_another() -> None:
    """A file directly in experiments/ is a front door; what two of them need is machinery, in a folder."""
    doors = {f"experiments.{path.stem}" for path in (ROOT / "experiments").glob("*.py")} - {"experiments.__init__"}
    assert "experiments.solve" in doors
    for path in (ROOT / "experiments").rglob("*.py"):
        assert not imported_modules(path) & doors, path.relative_to(ROOT)


@pytest.mark.parametrize("package", sorted(LAYER_OF))
def test_imports_point_left(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        for other in imported_packages(path) & LAYER_OF.keys() - {package}:
            assert LAYER_OF[other] < LAYER_OF[package], f"{path.relative_to(ROOT)} imports {other}"


def test_games_were_found() -> None:
    assert {"toepen_spiel", "kuhn_collab"} <= GAMES


@pytest.mark.parametrize("package", sorted(GAMES | {"cardspiel"}))
def test_games_start_without_torch(package: str) -> None:
    heavy = ["torch", "matplotlib", "tensorboard"]
    code = f"import sys, {package}; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
