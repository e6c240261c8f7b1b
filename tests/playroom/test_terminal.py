"""The terminal through textual's pilot: games are played with keys, nothing else."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from playroom.records import read_records
from playroom.room import House
from playroom.terminal import ReplayApp, TableApp
from tests.commands import ROOT
from tests.variants import COINCHE_D0

CEGO = [f"python_cego(subgame={name})" for name in ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")]
SLOW = ["python_coinche", COINCHE_D0, *CEGO, "python_gongzhu", "python_toepen", "leduc_poker", "tic_tac_toe"]


async def play(game: str, folder: Path) -> TableApp:
    from playroom.catalog import playable_game

    seats = ["me", *["random"] * (playable_game(game).num_players() - 1)]
    app = TableApp(House(folder, game=game, seats=tuple(seats), seed=3), "en")
    async with app.run_test(size=(100, 50)) as pilot:
        for _ in range(3000):
            if app.result is not None:
                break
            await pilot.press("enter")
            await pilot.pause(0.05)
        assert app.result is not None
        await pilot.press("r")
        await pilot.press("right")
        await pilot.pause(0.05)
        assert app.replay_at is not None
        assert app.replay_at[0] == 1
    return app


@pytest.mark.parametrize("game", ["python_kuhn_collab", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_a_game_is_played_with_keys(game: str, tmp_path: Path) -> None:
    app = asyncio.run(play(game, tmp_path))
    assert app.errors == []
    (record,) = read_records(tmp_path / "games.jsonl")
    assert app.result is not None
    assert record.returns == app.result["returns"]
    assert record.seats[0] == "me"

    async def look() -> str:
        viewer = ReplayApp([record], "en")
        async with viewer.run_test(size=(100, 50)) as pilot:
            for _ in range(viewer.replay.steps + 3):
                await pilot.press("right")
            await pilot.pause()
            assert viewer.step == viewer.replay.steps
            assert "(" not in viewer.title, "a name, not a line of parameters"
            return str(viewer.query_one("#table").render())

    assert str(record.returns) in asyncio.run(look())


def test_a_table_ends_with_its_terminal(tmp_path: Path) -> None:
    """Also where the signal of a terminal that vanishes is ignored, as under nohup."""
    ours, its = pty.openpty()
    program = "import sys; from pathlib import Path; from playroom.room import House; "
    program += "from playroom.terminal import play_in_terminal; play_in_terminal(House(Path(sys.argv[1])))"
    table = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    os.close(its)
    try:
        shown = b""
        while b"Coinche" not in shown:
            shown += os.read(ours, 4096)
        os.close(ours)
        assert table.wait(timeout=60) == 128 + signal.SIGHUP
    finally:
        table.kill()
        table.wait()
