"""Importing a package registers the games it names, alone and in a process that has imported nothing else of ours."""

import json
import subprocess
import sys
from pathlib import Path

import pyspiel
import pytest

import cardspiel
from transforms import TRANSFORMS

ROOT = Path(__file__).resolve().parents[1]
CODE = """
import json, pyspiel
before = set(pyspiel.registered_names())
import {package}
said = [*getattr({package}, "GAMES", ()), *getattr({package}, "TRANSFORMS", ())]
print(json.dumps([sorted(set(pyspiel.registered_names()) - before), sorted(said)]))
"""


def registered_by(package: str) -> tuple[list[str], list[str]]:
    """What importing the package adds, and what the package says it adds."""
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(package=package)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    registered, said = json.loads(done.stdout)
    return registered, said


@pytest.mark.parametrize("package", [package.__name__ for package in cardspiel.PACKAGES])
def test_a_package_alone_registers_what_it_says(package: str) -> None:
    registered, said = registered_by(package)
    assert registered == said
    assert registered


def test_cardspiel_registers_everything() -> None:
    registered, said = registered_by("cardspiel")
    assert registered == said == sorted([*cardspiel.GAMES, *cardspiel.TRANSFORMS])


def test_no_package_and_no_module_is_forgotten() -> None:
    """Whatever calls pyspiel.register_game anywhere in the packages is in the lists."""
    calls = [
        path
        for package in ROOT.glob("*/__init__.py")
        for path in package.parent.glob("*.py")
        if package.parent.name != "tests" and "pyspiel.register_game(" in path.read_text()
    ]
    assert len(calls) == len({*cardspiel.GAMES, *cardspiel.TRANSFORMS})
    assert {path.parent.name for path in calls} == {package.__name__ for package in cardspiel.PACKAGES}
    assert {*cardspiel.GAMES, *cardspiel.TRANSFORMS} <= set(pyspiel.registered_names())


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_a_transform_without_a_game_advises_works(name: str) -> None:
    with pytest.raises(ValueError, match="the parameter game is missing") as refusal:
        pyspiel.load_game(f"{name}()")
    advice = str(refusal.value).partition("as in ")[2].split()[0]
    assert str(pyspiel.load_game(advice)).startswith(f"{name}(game=")
