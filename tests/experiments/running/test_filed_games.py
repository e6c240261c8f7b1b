"""Matches that are played once: what a killed process left behind is gone after the next run."""

from pathlib import Path

import pyspiel

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Executor, Serial
from cardtable.match import play_match
from cardtable.player import find_player
from experiments.running.filed_games import FiledGames, played_once


def test_games_of_a_match_whose_result_was_written_are_removed(tmp_path: Path) -> None:
    """A process may be killed between writing the result and removing the games."""
    game = pyspiel.load_game("python_toepen(suits=2,ranks=3,hand_size=2)")
    player = find_player("random", game)
    result = tmp_path / "a b(worlds=2).npz"

    def play(executor: Executor) -> bytes:
        play_match(game, player, player, 5000, 1, executor)
        assert list(tmp_path.glob("games_*"))
        return b"result"

    def stop(executor: Executor) -> bytes:
        raise AssertionError("what has a result was played again")

    def once(how: object = play) -> bytes:
        return played_once(result, Serial(), 0.0, how, Path.write_bytes, Path.read_bytes)  # type: ignore[arg-type]

    assert once() == b"result"
    assert list(tmp_path.iterdir()) == [result]
    play(FiledGames(Serial(), tmp_path, "games_a b(worlds=2)", 0.0))
    (tmp_path / "games_another_0_00000000.npz").touch()  # of another match, which may still be played
    assert once(stop) == b"result"
    assert sorted(path.name for path in tmp_path.iterdir()) == [result.name, "games_another_0_00000000.npz"]
