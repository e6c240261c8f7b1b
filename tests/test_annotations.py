"""Ordinary functions say what they take and what they return, in the packages and in the tests.

mypy's own `disallow_untyped_defs` cannot be told this: it would ask the same of compiled functions, whose types numba
infers (and mypy exempts whole modules only, never by decorator). There annotations would be noise that nobody checks.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["packages"]
COMPILERS = {"compiled", "elementwise", "entry_point", "inlined", "intrinsic", "njit", "overload"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def last_name(node: ast.expr) -> str:
    """`compiled` of `@compiled`, of `@compiled(inline="always")` and of `@cardtable.compiled.compiled`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def ordinary_functions(node: ast.AST, of_class: bool = False) -> Iterator[tuple[Function, bool]]:
    """All that numba does not compile, and whether each is a method.

    Left out with a compiled function is what it is made of: functions inside it, and the plain twins of compiled
    functions in `if JIT_DISABLED:`.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            if COMPILERS.isdisjoint(map(last_name, child.decorator_list)):
                yield child, of_class
                yield from ordinary_functions(child)
        elif isinstance(child, ast.If) and last_name(child.test) == "JIT_DISABLED":
            for other in child.orelse:
                yield from ordinary_functions(ast.Module([other], []), of_class)
        else:
            yield from ordinary_functions(child, isinstance(child, ast.ClassDef))


def is_annotated(function: Function, is_method: bool) -> bool:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if is_method and "staticmethod" not in map(last_name, function.decorator_list):
        positional = positional[1:]
    others = [*arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    named = [argument for argument in (*positional, *others) if argument is not None]
    return function.returns is not None and all(argument.annotation is not None for argument in named)


def unannotated(source: str) -> list[int]:
    """The lines of ordinary functions that lack an annotation."""
    found = ordinary_functions(ast.parse(source))
    return [function.lineno for function, is_method in found if not is_annotated(function, is_method)]


def test_only_ordinary_functions_count() -> None:
    source = """
@compiled
def fast(state):
    def inside(a): ...
@entry_point(STATE, parallel=True)
def whole_game(state): ...
if JIT_DISABLED:
    def twin(a): ...
else:
    def helper(a): ...
class Thing:
    def method(self, a: int, *rest: int) -> None: ...
    @classmethod
    def maker(cls) -> None: ...
    @staticmethod
    def alone(a) -> None: ...
@cache
def outer(a: int) -> None:
    def nested(): ...
    chosen = lambda b: b
def keywords(*, a, **others: int) -> None: ...
"""
    lines = source.split("\n")
    assert [lines[number - 1].strip() for number in unannotated(source)] == [
        "def helper(a): ...",
        "def alone(a) -> None: ...",
        "def nested(): ...",
        "def keywords(*, a, **others: int) -> None: ...",
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_ordinary_functions_are_annotated(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    missing = [f"{path.relative_to(ROOT)}:{line}" for path in paths for line in unannotated(path.read_text())]
    assert not missing, "without annotations: " + ", ".join(missing)
