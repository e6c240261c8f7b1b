"""No function takes more arguments than a reader can keep apart: kernels, trees and tables are passed whole."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST_PARAMETERS = 16
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests")


def signatures(source: str) -> Iterator[tuple[str, int, int]]:
    """(name, line, number of parameters without self) of every function. Fields of dataclasses are no parameters."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            taken = node.args
            names = [argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
            own = bool(names) and names[0] in ("self", "cls")
            yield getattr(node, "name", "lambda"), node.lineno, len(names) - own


def test_counts_parameters() -> None:
    source = "class C:\n    def f(self, a, /, b, *, c=1): ...\n\ndef g(x, *y, **z): ...\n"
    assert sorted(signatures(source)) == [("f", 2, 3), ("g", 4, 1)]


@pytest.mark.parametrize("package", PACKAGES)
def test_signatures_are_short(package: str) -> None:
    long = [
        f"{path.relative_to(ROOT)}:{line} {name} takes {count}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name, line, count in signatures(path.read_text())
        if count > MOST_PARAMETERS
    ]
    assert not long, f"more than {MOST_PARAMETERS} parameters: {long}"
