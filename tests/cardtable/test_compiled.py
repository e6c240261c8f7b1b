"""The compilation cache: never stale, used by the next process, and every entry point survives being loaded from it."""

import gc
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload

import cardspiel

ROOT = Path(__file__).resolve().parents[2]


def run(code: str, cache: Path, *extra_path: Path, **environment: str) -> str:
    """What a fresh interpreter prints; fails with its error output if it dies."""
    path = os.pathsep.join(map(str, (ROOT, *extra_path)))
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


CALL = """
    import outer
    value = outer.scaled(1)
    print(value, sum(outer.scaled.stats.cache_hits.values()))
"""


@pytest.fixture
def two_modules(tmp_path: Path) -> Path:
    (tmp_path / "inner.py").write_text(
        "from cardtable.compiled import compiled\nFACTOR = 10\n\n@compiled\ndef plus(x):\n    return x + 1\n"
    )
    (tmp_path / "outer.py").write_text(
        "from cardtable.compiled import compiled\nimport inner\nfrom inner import FACTOR\n\n"
        "@compiled\ndef scaled(x):\n    return inner.plus(x) * FACTOR\n"
    )
    return tmp_path


def test_one_version_serves_all_constants(tmp_path: Path) -> None:
    (tmp_path / "shifts.py").write_text(
        "from cardtable.compiled import compiled\n\n"
        "@compiled\ndef shifted(x, by, down=False):\n    return x - by if down else x + by\n\n"
        "@compiled\ndef four_times(x):\n"
        "    return shifted(x, 1) + shifted(x, 2, True) + shifted(x, by=3, down=False) + shifted(x, x)\n"
    )
    code = "import shifts\nprint(shifts.four_times(10), len(shifts.shifted.inner().signatures))"
    assert run(code, tmp_path / "cache", tmp_path) == "52 2"  # with and without a third argument


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_rests_while_numba_compiles(collects: bool) -> None:
    seen = []

    def asked(number: int) -> int:
        return number

    @overload(asked)
    def compiled_asked(number):  # called by numba while it compiles
        seen.append(gc.isenabled())
        return lambda number: number + 1

    @njit
    def plus_one(number):
        return asked(number)

    @njit
    def impossible(number):
        return plus_one(number).nothing

    try:
        (gc.enable if collects else gc.disable)()
        assert plus_one(1) == 2
        assert gc.isenabled() == collects
        with pytest.raises(TypingError):
            impossible(1)
        assert gc.isenabled() == collects
        assert seen
        assert not any(seen)
    finally:
        gc.enable()


def test_functions_that_compiled_code_calls_are_compiled_for_python_when_python_calls_them(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        "from cardtable.compiled import compiled\n\n"
        "@compiled\ndef step(x, by=1):\n    return x + by\n\n"
        "@compiled\ndef two_steps(x):\n    return step(step(x, 2), by=3)\n\n"
        "@compiled\ndef three_steps(x):\n    return two_steps(x) + step(x, 4)\n"
    )
    code = """
        from steps import step, three_steps, two_steps
        def versions():
            return [len(of.signatures) for one in (step, two_steps) for of in (one, one.inner())]
        print(three_steps(10), *versions(), end=" ")
        print(step(1), step(1, 2), two_steps(20), *versions(), end=" ")
        print(step.inner().stats.cache_hits.total(), step.stats.cache_hits.total())
    """
    # Two versions of `step` for Python, with and without its second argument; the one for compiled code stays.
    assert run(code, tmp_path / "cache", tmp_path) == "29 0 1 0 1 2 3 25 2 1 1 1 0 0"
    # Whoever loads `three_steps` needs nobody whom it calls; only Python's calls are looked up.
    assert run(code, tmp_path / "cache", tmp_path) == "29 0 0 0 0 2 3 25 2 0 1 0 0 2"


def test_cache_is_used_and_sees_edits_of_other_files(two_modules: Path) -> None:
    cache = two_modules / "cache"
    assert run(CALL, cache, two_modules) == "20 0"
    assert run(CALL, cache, two_modules) == "20 1"

    inner = two_modules / "inner.py"
    inner.write_text(inner.read_text().replace("x + 1", "x + 5"))
    assert run(CALL, cache, two_modules) == "60 0"
    assert run(CALL, cache, two_modules) == "60 1"

    inner.write_text(inner.read_text().replace("FACTOR = 10", "FACTOR = 100"))
    assert run(CALL, cache, two_modules) == "600 0"


CLOSURES = """
    import transform, inner
    from transform import wrap
    from inner import plus, minus
    first, second = wrap(plus), wrap(minus)
    print(first(1), second(1), [sum(f.stats.cache_hits.values()) for f in (first, second)])
"""


def test_closures_over_compiled_functions_are_cached_apart(tmp_path: Path) -> None:
    """A transform of a game is a closure over the game's functions; each game's version is cached."""
    (tmp_path / "inner.py").write_text(
        "from cardtable.compiled import compiled\n\n@compiled\ndef plus(x):\n    return x + 1\n\n"
        "@compiled\ndef minus(x):\n    return x - 1\n"
    )
    (tmp_path / "transform.py").write_text(
        "from cardtable.compiled import compiled\n\n"
        "def wrap(f):\n    @compiled\n    def twice(x):\n        return f(f(x))\n\n    return twice\n"
    )
    cache = tmp_path / "cache"
    assert run(CLOSURES, cache, tmp_path) == "3 -1 [0, 0]"
    assert run(CLOSURES, cache, tmp_path) == "3 -1 [1, 1]"
    inner = tmp_path / "inner.py"
    inner.write_text(inner.read_text().replace("x - 1", "x - 5"))
    assert run(CLOSURES, cache, tmp_path) == "3 -9 [0, 0]"


INNER_CLOSURES = """
    import sys
    import transform, inner
    for name in sys.argv[1:] or {names}:
        wrapped = transform.wrap(getattr(inner, name))
        print(name, wrapped(1))
"""


def test_closures_compiled_by_different_processes_do_not_call_each_other(tmp_path: Path) -> None:
    """numba names machine code by qualified name and a counter: alike for closures of two processes."""
    (tmp_path / "inner.py").write_text(
        "from cardtable.compiled import compiled\n\n@compiled\ndef plus(x):\n    return x + 1\n\n"
        "@compiled\ndef minus(x):\n    return x - 1\n"
    )
    steps = "".join(f"        x = f(x) * {factor} % 1000003\n        out[x % 5] += x\n" for factor in range(3, 60, 2))
    (tmp_path / "transform.py").write_text(  # long enough not to be inlined
        "import numpy as np\nfrom cardtable.compiled import compiled\n\n"
        f"def wrap(f):\n    @compiled\n    def helper(x, out):\n{steps}        return x\n\n"
        "    @compiled\n    def outer(x):\n        out = np.zeros(5, np.int64)\n"
        "        return helper(x, out) + helper(x + 1, out) + out.sum()\n\n    return outer\n"
    )
    code = INNER_CLOSURES.replace("{names}", "['plus', 'minus']")
    expected = run(code, tmp_path / "cache", tmp_path, NUMBA_DISABLE_JIT="1")
    for name in ("plus", "minus"):
        run(INNER_CLOSURES.replace("{names}", f"[{name!r}]"), tmp_path / "cache", tmp_path)
    assert run(code, tmp_path / "cache", tmp_path) == expected


def test_other_packages_keep_their_cache(tmp_path: Path) -> None:
    """Only our own functions get the stamped cache; a plain njit(cache=True) elsewhere behaves as numba's own."""
    (tmp_path / "foreign.py").write_text("import numba\n\n@numba.njit(cache=True)\ndef f(x):\n    return x\n")
    code = "import cardtable.compiled, foreign; print(type(foreign.f._cache).__name__)"
    assert run(code, tmp_path / "cache", tmp_path) == "FunctionCache"


START_EVERYTHING = """
    import importlib, pkgutil
    import pyspiel
    from cardtable.compiled import ENTRY_POINTS
    from cardtable.batch import Batch, play_out
    for package in map(importlib.import_module, {packages}):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    for entry_point in ENTRY_POINTS:
        entry_point.compile()
    for name in {games}:
        game = pyspiel.load_game(name)
        play_out(game.rules, 100, seed=1)
        batch = Batch(game.rules, 10, seed=1)
        batch.step(batch.legal_mask().argmax(1))
        batch.information_tensors(), batch.observation_tensors(), batch.information_keys(), batch.returns()
    print(len(ENTRY_POINTS) > 5)
"""


@pytest.mark.slow  # the quick tests themselves load what another process compiled: see tests/warm_up.py
def test_every_entry_point_starts_twice_on_one_cache(tmp_path: Path) -> None:
    """The second process loads machine code from disk; some numba functions crash only there (its issue 6061)."""
    packages = ("cardtable", "cardspiel", "solvers")
    code = START_EVERYTHING.replace("{packages}", repr(packages)).replace("{games}", repr(cardspiel.GAMES))
    assert run(code, tmp_path) == "True"
    assert run(code, tmp_path) == "True"


def test_plain_python_gives_the_same_games(tmp_path: Path) -> None:
    code = """
        import cardspiel, pyspiel
        from cardtable.batch import play_out
        for name in cardspiel.GAMES:
            print(play_out(pyspiel.load_game(name).rules, 4, seed=7).returns.tolist())
    """
    cache = Path(os.environ.get("NUMBA_CACHE_DIR") or tmp_path)  # other tests have compiled some of it already
    assert run(code, cache) == run(code, cache, NUMBA_DISABLE_JIT="1")


SHARED = "from cardtable.compiled import compiled\n\n@compiled\ndef one(x):\n    return x + 1\n"
ASK = """
    import single, sys
    print(single.one(1), single.one(2.0))
"""


def ask(folder: Path, **environment: str) -> tuple[str, str]:
    """What a fresh interpreter without a cache folder of its own prints, and what it complains of."""
    path = os.pathsep.join(map(str, (ROOT, folder)))
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ASK)],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": "", **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), result.stderr


def test_where_nothing_can_be_written_it_goes_on_without_a_cache(tmp_path: Path) -> None:
    """A file stands where folders would be made, beside the source and at home, which stops root too."""
    (tmp_path / "single.py").write_text(SHARED)
    for name in ("__pycache__", "home"):
        (tmp_path / name).write_text("in the way")
    nowhere = str(tmp_path / "home" / "below")
    said, complaints = ask(tmp_path, HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert said == "2 3.0"
    assert complaints.count("compiled code cannot be cached (no folder for it can be written)") == 1
    (tmp_path / "home").unlink()
    assert ask(tmp_path, HOME=nowhere, XDG_CACHE_HOME=nowhere) == ("2 3.0", "")


def test_what_cannot_be_written_any_more_is_compiled_and_said(two_modules: Path) -> None:
    """The folder that was found at the start is full, or gone, when machine code is to be kept."""
    code = """
        import numba.core.caching as caching, errno, sys
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")
        caching.IndexDataCacheFile._open_for_write = full
        import outer
        print(outer.scaled(1))
        assert sys.stdout is not sys.stderr
    """
    assert run(code, two_modules / "cache", two_modules) == "20"


def test_damaged_cache_files_are_compiled_anew(two_modules: Path) -> None:
    """Cut short, filled with something else, or with one bit of the machine code turned round."""
    cache = two_modules / "cache"
    assert run(CALL, cache, two_modules) == "20 0"

    def damage(pattern: str, change: Callable[[bytes], bytes]) -> None:
        for file in cache.rglob(pattern):
            file.write_bytes(change(file.read_bytes()))

    def turned(content: bytes) -> bytes:
        middle = len(content) // 2
        return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]

    def half(content: bytes) -> bytes:
        return content[: len(content) // 2]

    for damages in (
        {"outer*.nbc": turned, "inner*.nb?": lambda content: b"garbage"},
        {"outer*.nbc": half, "inner*.nbi": half},
        {"outer*.nbi": half, "inner*.nbi": lambda content: b""},
    ):
        for pattern, change in damages.items():
            damage(pattern, change)
        assert run(CALL, cache, two_modules) == "20 0", [*damages]
    assert run(CALL, cache, two_modules) == "20 1"


SLOWLY = """
    import os, sys, time
    from numba.core import event

    class Slow(event.Listener):  # so that whoever comes second comes while the first is at it
        def on_start(self, event):
            print("compiles", event.data["dispatcher"].py_func.__name__, flush=True)
            time.sleep(1.0)

        def on_end(self, event):
            pass

    event.register("numba:compile", Slow())
    import outer
    if len(sys.argv) > 1:
        event.register("numba:compile", type("Dying", (Slow,), {"on_end": lambda self, event: os._exit(9)})())
    print(outer.scaled(1))
"""


def start(code: str, cache: Path, extra_path: Path, *arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(map(str, (ROOT, extra_path)))
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_of_processes_that_start_together_one_compiles(two_modules: Path) -> None:
    both = [start(SLOWLY, two_modules / "cache", two_modules) for _ in range(2)]
    said = [process.communicate(timeout=120)[0].split("\n") for process in both]
    assert [lines[-2] for lines in said] == ["20", "20"]
    assert sorted(line for lines in said for line in lines if "compiles" in line) == [
        "compiles plus",
        "compiles scaled",
    ]


def test_a_process_that_died_while_it_compiled_keeps_nobody_waiting(two_modules: Path) -> None:
    dying = start(SLOWLY, two_modules / "cache", two_modules, "dies")
    assert dying.stdout is not None
    assert dying.stdout.readline() == "compiles scaled\n"
    waiting = start(SLOWLY, two_modules / "cache", two_modules)
    assert waiting.communicate(timeout=120)[0].split("\n")[-2] == "20"
    assert dying.wait() == 9
