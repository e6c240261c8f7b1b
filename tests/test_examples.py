"""The scripts that people copy run as they are, from anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import commands

ROOT = Path(__file__).resolve().parents[1]
SAYS = {
    "use_a_game.py": "exploitability after 20 iterations: 0.0",
    "write_a_player.py": "highest against monte_carlo(worlds=5,rollout=team): -",
    "train_and_play.py": "reloaded from",
    "judge_an_abstraction.py": "NashConv, abstraction lifted",
}


def test_every_example_is_run() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_example(name: str, tmp_path: Path) -> None:
    result = commands.run(str(ROOT / "examples" / name), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert SAYS[name] in result.stdout
    assert "RuntimeWarning" not in result.stderr
