"""The server through a real socket, without a browser: whole games, bad messages, strangers at the door, restarts."""

import asyncio
import http.client
import json
import random
import re
import socket
import subprocess
import sys
import time
import tracemalloc
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cardtable.match import Estimate
from playroom import catalog
from playroom.compute import Compute
from playroom.records import Replay, parse_record, read_records
from playroom.room import MOST_TABLES, House, Room, Visitor
from playroom.serving import Address, bind
from tests.playroom.visits import PATIENCE, Visit, serving, visiting

TOEPEN = "python_toepen(suits=3,ranks=3,hand_size=2)"
KUHN = ["me", "random", "random", "random"]  # who acts first always has something to do
BAD_PLAYERS = tuple(f"tests.playroom.slow_players:{name}" for name in ("busy", "raises", "illegal", "heavy"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("playroom")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[Address]:
    with serving(folder, seed=5, players=BAD_PLAYERS, limit=1.0, most_tables=20) as found:
        yield found


def seated(visit: Visit, **more: object) -> dict:
    """At a small table, before the own first move."""
    visit.sit("python_kuhn_collab", KUHN, **more)
    while True:
        frame = visit.hear("view")
        if frame["view"]["actions"]:
            view: dict = frame["view"]
            return view


def test_a_duplicate_match_scores_what_the_records_say(address: Address, folder: Path) -> None:
    """Eight deals: the score is the mean difference of the two tables, with the interval that the arena computes."""
    before = len(read_records(folder / "games.jsonl")) if (folder / "games.jsonl").exists() else 0
    with visiting(address) as visit:
        visit.sit("python_kuhn_collab", KUHN, deals=8, rival="random")
        results = []
        for deal in range(8):
            results.append(visit.play_deal())
            if deal < 7:
                visit.say("next")
        score = results[-1]["score"]
        visit.say("next")
        assert "8 deals are played" in visit.hear("error")["text"]
    records = read_records(folder / "games.jsonl")[before:]
    own = [record for record in records if "me" in record.seats]
    rival = {record.deal: record for record in records if "me" not in record.seats}
    assert len(own) == len(rival) == 8
    differences = []
    for record in own:
        other = Replay(rival[record.deal])
        assert other.view(0)["seats"] == Replay(record).view(0)["seats"], "the same cards"
        end = Replay(record).state(Replay(record).steps)
        differences.append(end.returns()[0] - other.state(other.steps).returns()[0])
    estimate = Estimate.of(np.array(differences))
    assert score["difference"] == pytest.approx(estimate.mean)
    assert (score["low"], score["high"]) == pytest.approx((estimate.low, estimate.high))
    assert [result["difference"] for result in results] == pytest.approx(differences)


def test_practice_does_not_count(address: Address) -> None:
    with visiting(address) as visit:
        visit.sit("python_kuhn_collab", KUHN)
        first = visit.play_deal()
        visit.say("again")
        second = visit.play_deal()
    assert second["practice"]
    assert second["score"] == first["score"]
    assert parse_record(second["record"]).practice
    assert parse_record(second["record"]).deal == parse_record(first["record"]).deal


def test_frames_of_a_running_game_tell_no_secrets(address: Address) -> None:
    """No card of another hand before it is played, and no seed."""
    with visiting(address) as visit:
        token = visit.sit("python_gongzhu", ["me", "if", "if", "if"])
        rng = random.Random(3)
        result = visit.play_deal(lambda view: rng.choice(view["actions"])[0])
    replay = Replay(parse_record(result["record"]))
    hands = {seat: set(replay.view(0)["seats"][seat]["shown"]) for seat in range(4)}
    played: set[str] = set()
    looked = 0
    for text in visit.frames:
        frame = json.loads(text)
        if frame["type"] != "view":
            continue
        if frame["done"]:
            played.add(frame["done"]["name"])
        named = set(re.findall(r"(?:10|[2-9JQKA])[♠♥♦♣]", text))
        assert named <= hands[0] | played
        assert "seed" not in text
        assert token not in text
        looked += len(named)
    assert looked > 500


def test_bad_messages_are_answered_and_change_nothing(address: Address) -> None:
    with visiting(address) as visit:
        view = seated(visit)
        moves, action = view["moves"], view["actions"][0][0]
        bad: list[str | bytes] = [
            "hello",
            b"\xff\xfe",
            "[1, 2]",
            '{"type": 3}',
            '{"type": "dance"}',
            '{"type": "play", "type": "play"}',
            "[" * 5000,
            json.dumps({"type": "play", "action": 99, "moves": moves}),
            json.dumps({"type": "play", "action": "0", "moves": moves}),
            json.dumps({"type": "play", "action": action, "moves": moves - 1}),
            json.dumps({"type": "play", "action": True, "moves": moves}),
            json.dumps({"type": "play"}),
            json.dumps({"type": "next"}),
            json.dumps({"type": "analyse"}),
            json.dumps({"type": "replay", "step": 0}),
            json.dumps({"type": "hint", "adviser": "/etc/passwd"}),
            json.dumps({"type": "record", "text": "{}"}),
            json.dumps({"type": "sit", "game": "python_kuhn_collab", "seats": ["me", "me", "random", "random"]}),
            json.dumps({"type": "sit", "game": "python_kuhn_collab", "seats": ["me", "../x", "random", "random"]}),
            json.dumps({"type": "sit", "game": "python_kuhn_collab", "seats": ["me", "os:system", "random", "random"]}),
            json.dumps({"type": "sit", "game": "python_kuhn_collab", "seats": "me"}),
            json.dumps({"type": "sit", "game": "python_coinche(suits=2)", "seats": ["me"]}),
            json.dumps({"type": "sit", "game": "goofspiel", "seats": ["me", "random"]}),
            json.dumps({"type": "sit", "game": ["x"], "seats": []}),
        ]
        for message in bad:
            visit.send(message)
            text = visit.hear("error")["text"]
            assert text
            assert "Traceback" not in text
        visit.say("play", action=action, moves=moves)
        assert visit.hear("view")["view"]["moves"] == moves + 1
        visit.say("play", action=action, moves=moves)  # the second click of a double click
        while (frame := visit.hear("error", "view"))["type"] == "view":
            pass
        assert "earlier position" in frame["text"] or "not your turn" in frame["text"] or "over" in frame["text"]


def test_floods_and_giants_are_refused_and_the_game_stays(address: Address) -> None:
    with visiting(address) as visit:
        view = seated(visit)
        token = json.loads(next(text for text in visit.frames if '"session"' in text))["token"]
        visit.send("x" * (1 << 20))
        with pytest.raises(ConnectionClosed):
            visit.hear("never", seconds=20)
    with visiting(address) as visit:
        visit.say("hello", session=token)
        assert visit.hear("view")["view"] == view
        try:
            for _ in range(1000):
                visit.say("dance")
            kinds = [visit.hear("error", seconds=20)["text"] for _ in range(20)]
            assert kinds
        except ConnectionClosed:
            pass
    with visiting(address) as visit:
        visit.say("hello", session=token)
        assert visit.hear("view")["view"] == view


def test_a_second_session_sees_nothing_of_the_first(address: Address) -> None:
    with visiting(address) as first, visiting(address) as second:
        seated(first)
        second.say("hello")
        second.hear("welcome")
        second.say("play", action=0, moves=0)
        assert second.hear("error")["text"] == "sit down first"
        second.say("hello", session="a-guess-that-is-wrong")
        second.hear("left")
        assert not any('"view"' in text for text in second.frames)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", ""])
def test_foreign_origins_are_refused(address: Address, origin: str) -> None:
    with pytest.raises(InvalidStatus, match="403"), visiting(address, origin=origin or "x:"):
        pass


def test_foreign_hosts_and_missing_origins_are_refused(address: Address) -> None:
    for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{address.port}"}):
        connection = http.client.HTTPConnection("127.0.0.1", address.port)
        connection.request("GET", "/", headers=headers)
        assert connection.getresponse().status == 403
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Key"] = "x" * 22 + "=="
    connection = http.client.HTTPConnection("127.0.0.1", address.port)
    connection.request("GET", "/table", headers=upgrade)  # a socket without an origin
    assert connection.getresponse().status == 403


def test_the_page_is_small_and_allows_no_inline_script(address: Address) -> None:
    base = f"http://127.0.0.1:{address.port}/"
    with urllib.request.urlopen(base) as answer:
        policy = answer.headers["Content-Security-Policy"]
        page = answer.read().decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|style=", page)
    static = Path(__file__).resolve().parents[2] / "playroom" / "static"
    scripts = "".join(path.read_text() for path in static.glob("*.js"))
    assert "innerHTML" not in scripts
    assert "insertAdjacentHTML" not in scripts
    one_language = max(path.stat().st_size for path in static.glob("languages/*.json"))
    assert sum(path.stat().st_size for path in static.iterdir() if path.is_file()) + one_language < 300_000
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(base + "static/../server.py")


@pytest.mark.parametrize(("name", "key"), [("raises", "failed"), ("illegal", "failed"), ("busy", "too_slow")])
def test_a_player_that_misbehaves_is_replaced_and_the_table_says_so(address: Address, name: str, key: str) -> None:
    with visiting(address) as visit:
        visit.sit("python_kuhn_collab", ["random", f"tests.playroom.slow_players:{name}", "random", "random"])
        notice = visit.hear("notice")
        assert (notice["key"], notice["seat"]) == (key, 1)
        result = visit.play_deal()
    assert parse_record(result["record"]).fallbacks


def test_a_search_does_not_keep_another_table_waiting(tmp_path: Path) -> None:
    """One table's player thinks for twenty seconds; meanwhile another table plays several deals."""
    house = {"seed": 5, "players": BAD_PLAYERS, "limit": 20.0}
    with serving(tmp_path, **house) as address, visiting(address) as slow, visiting(address) as quick:
        slow.sit("python_kuhn_collab", ["random", BAD_PLAYERS[0], "random", "random"])
        slow.hear("view")
        quick.sit("python_kuhn_collab", KUHN)
        for _ in range(5):
            quick.play_deal()
            quick.say("next")
        with pytest.raises(TimeoutError):  # it thinks on
            slow.hear("notice", "result", seconds=0.01)


def test_a_table_that_opens_does_not_keep_another_one_waiting(address: Address) -> None:
    """One table's player takes four seconds to load; meanwhile another table plays several deals."""
    with visiting(address) as quick, visiting(address) as slow:
        quick.sit("python_kuhn_collab", KUHN)
        quick.play_deal()
        slow.sit("python_kuhn_collab", ["me", BAD_PLAYERS[3], "random", "random"])
        for _ in range(5):
            quick.say("next")
            before = time.monotonic()
            quick.play_deal()
            assert time.monotonic() - before < 2.0
        with pytest.raises(TimeoutError):  # it loads on
            slow.hear("table", seconds=0.01)


def test_a_new_position_may_be_asked_about_at_once(address: Address) -> None:
    """The adviser thinks on about an earlier position; a second question about the same one is refused."""
    with visiting(address) as visit:
        visit.sit("python_kuhn_collab", [*KUHN[1:], "me"])
        while not (view := visit.hear("view")["view"])["actions"]:
            pass
        visit.say("hint", adviser=BAD_PLAYERS[0])  # thinks until it is stopped, after three seconds
        visit.say("hint", adviser="random")
        assert "one question at a time" in visit.hear("error")["text"]
        visit.say("play", action=view["actions"][0][0], moves=view["moves"])
        result = visit.play_deal()
        visit.say("analyse", adviser="random")
        while not (frame := visit.hear("analysis"))["finished"]:
            pass
        assert frame["done"] == frame["of"] >= 1
        assert result["record"]


class FirstActions(Compute):
    """Everybody plays the first legal action, and no process is needed for it."""

    async def prepare(self, game: str, players: list[str], advisers: list[str]) -> list[dict[str, Any]]:
        return [{"quick": True, "every_dealer": True, "name": name} for name in players]

    async def ask(self, job: dict[str, Any], lane: str = "search") -> Any:
        state = catalog.playable_game(job["game"]).new_initial_state()
        for action in job["history"]:
            state.apply_action(action)
        return state.legal_actions()[0]


def is_answer(frame: dict[str, Any]) -> bool:
    """Whether the visitor has been refused something or is to move."""
    return frame["type"] == "error" or bool(frame.get("view", {}).get("actions"))


async def until(it_is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not it_is_so():
            await asyncio.sleep(0.01)


def test_a_killed_server_opens_its_tables_again(tmp_path: Path) -> None:
    """As far as the journal knows no server is ever closed properly; `test_kill_minus_nine` really kills one."""

    async def visit(messages: list[dict]) -> list[dict]:
        room = Room(House(tmp_path, seed=5), FirstActions())
        heard: list[dict] = []
        visitor = Visitor(heard.append)
        for message in messages:
            await room.receive(visitor, json.dumps(message))
            await until(lambda: is_answer(heard[-1]) or heard[-1]["type"] == "result")
        journal = next((tmp_path / "tables").iterdir())
        kept = journal.read_bytes()
        await room.close()
        journal.write_bytes(kept + b'{"action": 3')  # as if it had been killed in the middle of a line
        return heard

    first = asyncio.run(visit([{"type": "sit", "game": "python_kuhn_collab", "seats": KUHN}]))
    token = next(frame["token"] for frame in first if frame["type"] == "session")
    assert token not in next((tmp_path / "tables").iterdir()).read_text()
    view = first[-1]["view"]
    play = {"type": "play", "action": view["actions"][-1][0], "moves": view["moves"]}
    again = asyncio.run(visit([{"type": "hello", "session": token}, play]))
    views = [frame["view"] for frame in again if frame["type"] == "view"]
    assert views[0] == view
    assert views[1]["moves"] == view["moves"] + 1
    third = asyncio.run(visit([{"type": "hello", "session": token}]))  # the line that was cut off has swallowed nothing
    assert next(frame["view"] for frame in third if frame["type"] == "view") == views[-1]


def test_two_hundred_want_a_table(tmp_path: Path) -> None:
    """As many as there are tables get one, the others are told; those who sit play on, and memory is bounded."""

    async def come() -> tuple[list[list[dict]], int]:
        room = Room(House(tmp_path), FirstActions())
        heard: list[list[dict]] = [[] for _ in range(200)]
        visitors = [Visitor(frames.append) for frames in heard]
        sit = json.dumps({"type": "sit", "game": "python_kuhn_collab", "seats": KUHN})
        await room.receive(visitors[0], sit)  # loads the game
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for visitor in visitors[1:]:
            await room.receive(visitor, sit)
        await until(lambda: all(is_answer(frames[-1]) for frames in heard))
        used = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        first = heard[0][-1]["view"]
        await room.receive(visitors[0], json.dumps({"type": "play", "action": first["actions"][0][0], "moves": 0}))
        assert heard[0][-1]["view"]["moves"] == 1
        await room.close()
        return heard, used

    heard, used = asyncio.run(come())
    full = {"type": "error", "text": f"all {MOST_TABLES} tables are taken; try again later"}
    assert [frames == [full] for frames in heard] == [number >= MOST_TABLES for number in range(200)]
    assert used < 100_000 * MOST_TABLES


def test_another_address_needs_a_token() -> None:
    address = bind("0.0.0.0", 0)
    address.sock.close()
    assert address.token is not None
    assert len(address.token) >= 20
    assert address.token in address.url
    assert "everybody who can reach this machine" in address.warning


def test_a_game_of_openspiel_and_a_pasted_record(address: Address) -> None:
    with visiting(address) as visit:
        visit.sit("tic_tac_toe", ["me", "random"])
        result = visit.play_deal()
        visit.say("record", text=result["record"])
        opened = visit.hear("replay")
        assert (opened["step"], opened["title"]) == (0, "Tic Tac Toe")
        visit.say("replay", step=opened["steps"], record=True)
        end = visit.hear("replay")["view"]
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    for action in parse_record(result["record"]).actions:
        state.apply_action(action)
    assert end["text"] == str(state)
    assert result["returns"] == state.returns()


def started(folder: Path) -> tuple[subprocess.Popen[str], Address]:
    """A server in a process of its own."""
    command = [sys.executable, "-m", "playroom", "--no-browser", "--port=0", "--seed=5", f"--folder={folder}"]
    process = subprocess.Popen([*command, "--game=python_kuhn_collab"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    return process, Address(socket.socket(), int(url.rstrip("/").rpartition(":")[2]), url, (), None)


@pytest.mark.slow
def test_kill_minus_nine(tmp_path: Path) -> None:
    process, address = started(tmp_path)
    with visiting(address) as visit:
        view = seated(visit)
        token = json.loads(next(text for text in visit.frames if '"session"' in text))["token"]
    process.kill()
    process.wait()
    process, address = started(tmp_path)
    try:
        with visiting(address) as visit:
            visit.say("hello", session=token)
            assert visit.hear("view")["view"] == view
            visit.say("play", action=view["actions"][0][0], moves=view["moves"])
            assert visit.hear("view")["view"]["moves"] == view["moves"] + 1
    finally:
        process.terminate()
        process.wait()
