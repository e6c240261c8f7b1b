"""What loading a game costs: nothing is compiled or imported that playing does not take."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cardspiel
from cardtable.compiled import JIT_DISABLED
from cardtable.rules import PLAYING, SIGNATURES

ROOT = Path(__file__).resolve().parents[1]
needs_compiler = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")


def run(code: str, *paths: Path, **environment: str) -> subprocess.CompletedProcess:
    """A fresh interpreter, from nowhere in particular."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *paths))), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


PLAY = """
    import json, random, sys
    import cardspiel, pyspiel
    game = pyspiel.load_game({name!r})
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(random.choice(state.legal_actions()))
    state.returns()
    compiled = [name for name, function in game.rules.kernel._asdict().items() if function.overloads]
    print(json.dumps([compiled, sorted(sys.modules)]))
"""
HEAVY = ("scipy.linalg", "rich", "open_spiel", "torch", "matplotlib", "tensorboard", "absl")
QUICK = ("python_coinche", "python_bucketing(game=python_card_isomorphism(game=python_toepen()),hand=bucket)")
SLOW = [name for name in (*cardspiel.GAMES, "python_tied_rewards(game=python_kuhn_collab())") if name not in QUICK]


@needs_compiler
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_playing_compiles_and_imports_what_it_takes(name: str) -> None:
    compiled, modules = json.loads(run(PLAY.format(name=name)).stdout)
    assert set(compiled) == set(PLAYING)
    assert not [module for module in HEAVY if module in modules]


@needs_compiler
def test_the_rest_is_compiled_when_it_is_used() -> None:
    code = """
        import cardspiel, pyspiel
        game = pyspiel.load_game("python_kuhn_collab")
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(state.legal_actions()[0])
        print(len(state.information_key()), len(state.information_state_tensor()), len(state.observation_tensor()))
        state.resample_from_infostate(0, lambda: 0.5)
        kernel = game.rules.kernel
        print(sorted(name for name, function in kernel._asdict().items() if not function.overloads))
        game.rules.compiled_kernel(resample=True)
        print([len(function.overloads) for function in kernel])
    """
    used, left, overloads = run(code).stdout.splitlines()
    assert used == "1 60 26"
    assert left == "['deal']"
    # The same versions serve pyspiel and solvers: nothing is compiled twice.
    assert overloads == str([1] * len(SIGNATURES))


@pytest.mark.slow
@needs_compiler
def test_linear_algebra_still_compiles() -> None:
    code = """
        import sys, numba, numpy as np, cardspiel, pyspiel
        pyspiel.load_game("python_kuhn_collab")
        assert "scipy.linalg" not in sys.modules
        matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
        solve = numba.njit(lambda a, b: np.linalg.solve(a, b) @ np.cov(a))
        print(np.allclose(solve(matrix, matrix), np.cov(matrix)))
    """
    assert run(code).stdout.strip() == "True"


SLOW_TO_COMPILE = """
    import time
    from numba.extending import overload
    from cardtable.compiled import compiled

    def pause(): ...

    @overload(pause)
    def _pause():
        time.sleep(0.4)  # numba thinks for a while
        return lambda: 1

    @compiled
    def answer(x):
        return pause() + x
"""
ASK = """
    from cardtable import compiled
    compiled.PATIENCE_SECONDS = {patience}
    import slow
    {block}slow.answer(41)
"""
LINE = "compiling {} (once; cached afterwards) ..."


@needs_compiler
def test_a_long_compilation_says_so_once_and_only_then(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(textwrap.dedent(SLOW_TO_COMPILE))

    def said(cache: str, patience: float, block: str = "") -> str:
        done = run(ASK.format(patience=patience, block=block), tmp_path, NUMBA_CACHE_DIR=str(tmp_path / cache))
        return done.stderr.strip()

    assert said("patient", 30.0) == ""
    assert said("own", 0.1) == LINE.format("slow.answer")
    assert said("own", 0.0) == ""  # it is in the cache now
    assert said("block", 0.1, 'with compiled.compiling("the game"), compiled.compiling("a part"): ') == (
        LINE.format("the game")
    )
