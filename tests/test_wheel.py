"""The wheel holds all that is needed: installed elsewhere, without the source, every game loads and the demo runs."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cardspiel

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git would ship, without network: setuptools is part of the `dev` extra."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # not yet deleted from the index
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(out), str(source), folder=out)
    (built,) = out.glob("cardspiel-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the wheel's contents and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(wheel), folder=folder)
    return folder


def run(*arguments: str, folder: Path, **environment: str) -> str:
    """Python, far from the source; what it prints."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**kept, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {name.partition("/")[0] for name in names if name.endswith("/__init__.py")}
    assert shipped == set(PACKAGES)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert {str(path.relative_to(ROOT)) for path in ROOT.glob("*/RULES.md")} <= set(names)
    data = [path for pattern in ("*.npz", "*.json", "*.safetensors") for path in ROOT.glob(f"*/**/{pattern}")]
    ours = {str(path.relative_to(ROOT)) for path in data if path.relative_to(ROOT).parts[0] in PACKAGES}
    assert ours <= set(names)


def test_every_game_loads(installed: Path, tmp_path: Path) -> None:
    code = """
import importlib, json, sys
import pyspiel
files = [importlib.import_module(name).__file__ for name in json.loads(sys.argv[1])]
import cardspiel
for name in cardspiel.GAMES:
    pyspiel.load_game(name).new_initial_state()
for name in cardspiel.TRANSFORMS:
    assert name in pyspiel.registered_names()
print(json.dumps([files, cardspiel.GAMES]))
"""
    # Compilation is tested elsewhere.
    out = run("-c", code, json.dumps(PACKAGES), folder=tmp_path, PYTHONPATH=str(installed), NUMBA_DISABLE_JIT="1")
    files, games = json.loads(out)
    assert all(Path(file).is_relative_to(installed) for file in files), "the source was imported, not the wheel"
    assert tuple(games) == cardspiel.GAMES


@pytest.mark.slow
def test_the_demo_runs(installed: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    out = run("-m", "experiments.demo", folder=tmp_path, PYTHONPATH=str(installed), NUMBA_CACHE_DIR=cache)
    assert "Collaborative Kuhn" in out
    assert "Next:" in out
    where = run(
        "-c", "import experiments.demo as demo; print(demo.__file__)", folder=tmp_path, PYTHONPATH=str(installed)
    )
    assert Path(where.strip()).is_relative_to(installed)
