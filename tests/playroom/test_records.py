"""Records: one line, read again exactly; what is damaged or does not fit is refused in a sentence."""

import json
import random
from pathlib import Path

import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError
from playroom.records import Replay, append_record, parse_record, read_records, record_of
from playroom.table import Table
from tests.playroom.test_views import MATCH


def played(name: str, seed: int = 1, deal: int = 3) -> Table:
    rng = random.Random(seed)
    table = Table(pyspiel.load_game(name), seed, deal)
    while not table.is_over:
        table.play(rng.choice(table.state.legal_actions()))
    return table


@pytest.mark.parametrize("name", ["python_kuhn_collab", MATCH, "leduc_poker"])
def test_a_record_is_the_game(name: str, tmp_path: Path) -> None:
    table = played(name)
    record = record_of(table, ["me", *["random"] * (table.game.num_players() - 1)], fallbacks=[1])
    append_record(tmp_path / "games.jsonl", record)
    append_record(tmp_path / "games.jsonl", record)
    assert read_records(tmp_path / "games.jsonl") == [record, record]
    replay = Replay(parse_record(record.line()))
    assert replay.state(replay.steps).returns() == table.returns()
    assert [replay.action(step) for step in range(replay.steps)] == table.actions
    assert replay.view(replay.steps)["phase"] == "over"


def test_the_same_seed_and_deal_are_the_same_cards() -> None:
    one, two = Table(pyspiel.load_game("python_cego"), 4, 2), Table(pyspiel.load_game("python_cego"), 4, 2)
    other = Table(pyspiel.load_game("python_cego"), 4, 3)
    assert one.history() == two.history() != other.history()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "x"}, "its format is not cardspiel-game"),
        ({"format_version": 9}, "the record has version 9; allowed: 1"),
        ({"actions": "all"}, "the record's actions is missing or wrong"),
        ({"actions": [True]}, "the record's actions is missing or wrong"),
        ({"returns": [float("nan")] * 4}, "the record's returns is missing or wrong"),
        ({"game": "python_kuhn_colab()"}, "there is no game 'python_kuhn_colab'"),
        ({"rules_version": 99}, "version 99 of the rules"),
        ({"actions": [0, 1]}, "the record ends before the game does"),
        ({"actions": [9]}, "action 1 of the record, 9, is not possible"),
        ({"returns": [5, 5, 5, 5]}, "the record says"),
    ],
)
def test_what_is_no_record_is_refused(change: dict, words: str) -> None:
    table = played("python_kuhn_collab")
    good = json.loads(record_of(table, ["me", "a", "b", "c"]).line())
    Replay(parse_record(json.dumps(good)))
    with pytest.raises(UserError, match=words):
        Replay(parse_record(json.dumps({**good, **change})))


def test_lines_that_are_no_records_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(record_of(played("python_kuhn_collab"), ["me"] * 4).line() + "\n{broken\n")
    with pytest.raises(UserError, match="line 2: this is not the record of a game: it is not JSON"):
        read_records(path)
    with pytest.raises(UserError, match="cannot be read"):
        read_records(tmp_path / "nothing")
