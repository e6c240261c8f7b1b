"""Imports point one way: cardtable <- games <- transforms <- solvers <- experiments, playroom.

Extras are needed only on top.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GAMES = {path.parent.name for path in ROOT.glob("*/rules.py")} - {"cardtable"}
LAYERS = [{"cardtable"}, GAMES, {"transforms"}, {"cardspiel"}, {"solvers"}, {"experiments", "playroom"}]
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


# Extras of the installation, and what may import them: experiments, learners, PettingZoo's adapter, and nobody else.
EXTRAS = ("gymnasium", "matplotlib", "pettingzoo", "ray", "stable_baselines3", "tensorboard", "torch")
LEARNERS = (
    "alpha_zero.learner",
    "alpha_zero.trainer",
    "deep_cfr",
    "deep_monte_carlo",
    "imitation",
    "learning",
    "ppo",
    "q_learning",
)
NEED_EXTRAS = ("cardspiel.pettingzoo_env", *(f"solvers.{name}" for name in LEARNERS))
BLOCK_EXTRAS = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""


def modules_of(package: str) -> list[str]:
    paths = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / package).rglob("*.py"))
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if not name.startswith(NEED_EXTRAS))


def run_without_extras(*arguments: str, folder: Path, blocked: Sequence[str] = EXTRAS) -> subprocess.CompletedProcess:
    """Runs Python as if these were not installed: `sitecustomize` is what Python imports before anything else."""
    (folder / "sitecustomize.py").write_text(f"BLOCKED = {tuple(blocked)}\n{BLOCK_EXTRAS}")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        capture_output=True,
        text=True,
    )


def test_games_transforms_and_tabular_solvers_need_no_extra(tmp_path: Path) -> None:
    packages = ("cardtable", *sorted(GAMES), "transforms", "cardspiel", "solvers")
    modules = [module for package in packages for module in modules_of(package)]
    assert {"solvers.cfr", "solvers.team", "transforms.lifting", "coinche_spiel.players"} <= set(modules)
    done = run_without_extras("-c", "import " + ", ".join(modules), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", sorted(GAMES | {"cardspiel"}))
def test_games_start_without_extras(package: str) -> None:
    """Nor are they imported where they are there."""
    code = f"import sys, {package}; print([name for name in {EXTRAS} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_demo_needs_no_extra(tmp_path: Path) -> None:
    done = run_without_extras("-c", "import experiments.demo", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("experiments.solve", "matplotlib", "experiments"),
        ("experiments.solve", "tensorboard", "experiments"),
        ("experiments.deep_cfr", "torch", "deep"),
    ],
)
def test_a_command_that_lacks_an_extra_says_what_to_install(
    command: str, package: str, extra: str, tmp_path: Path
) -> None:
    done = run_without_extras("-m", command, folder=tmp_path, blocked=[package])
    assert done.returncode == 1
    assert done.stderr.strip() == (
        f"this command needs {package}, which is not installed: pip install 'cardspiel[{extra}]'"
    )


def test_who_writes_python_gets_pythons_error(tmp_path: Path) -> None:
    done = run_without_extras("-c", "import solvers.deep_cfr.trainer", folder=tmp_path)
    assert "Traceback" in done.stderr
    assert "No module named 'torch'" in done.stderr


def test_other_missing_modules_keep_their_traceback(tmp_path: Path) -> None:
    code = "import experiments, no_such_module"
    done = run_without_extras("-c", code, folder=tmp_path)
    assert "Traceback" in done.stderr
    assert "no_such_module" in done.stderr
