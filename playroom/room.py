"""All tables, and what a message may ask of them. Messages are dicts from strangers: every field is checked here.

In: `hello`, `about`, `sit`, `play`, `hint`, `next`, `again`, `analyse`, `replay`, `record`, `leave`. Out: `welcome`,
`about`, `session`, `preparing`, `table`, `view`, `notice`, `result`, `hint`, `analysis`, `replay`, `left`, `error`.
Whatever is wrong with a message is answered with one `error`, and nothing else happens.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cardspiel
from cardtable.files import parse_json
from cardtable.parameters import UserError
from playroom import catalog
from playroom.compute import Compute
from playroom.keeping import Settings, forget_old, hash_of, read_journal
from playroom.records import ME, Replay, parse_record
from playroom.session import Frame, Session, replay_frame

_LOG = logging.getLogger("playroom")
PROTOCOL = 1
MOST_TABLES = 64
MOST_DEALS = 10_000
IDLE_SECONDS = 12 * 3600.0  # after which a table that nobody looks at is put away; it stays on disk
SPARE_SECONDS = 60.0  # the same when all tables are taken
LIMIT_SECONDS = 20.0  # CPU time for a move


@dataclass(frozen=True)
class House:
    """What the person who started the server decided."""

    folder: Path
    game: str | None = None  # where to sit down at once
    seats: tuple[str, ...] = ()
    deals: int = 0
    seed: int | None = None
    rival: str = ""
    players: tuple[str, ...] = ()  # files and modules that may sit down
    limit: float = LIMIT_SECONDS
    most_tables: int = MOST_TABLES

    @property
    def more_games(self) -> tuple[str, ...]:
        return (self.game,) if self.game else ()

    @property
    def more_players(self) -> tuple[str, ...]:
        return (*self.players, *(name for name in self.seats if name != ME), *((self.rival,) if self.rival else ()))


@dataclass(eq=False)
class Visitor:
    """Somebody who is connected: where frames for her go, and her table."""

    send: Callable[[Frame], None]
    session: Session | None = None
    replay: Replay | None = None


class Room:
    """Opens tables, finds them again, and puts them away."""

    def __init__(self, house: House, compute: Compute | None = None) -> None:
        self.house = house
        self.compute = compute or Compute()
        self._sessions: dict[str, Session] = {}
        self._opening: set[asyncio.Task[None]] = set()
        forget_old(house.folder / "tables")

    async def receive(self, visitor: Visitor, text: str | bytes) -> None:
        """One message; never raises for what is in it."""
        try:
            message = _parsed(text)
            handler = getattr(self, f"_on_{message['type']}")
            await handler(visitor, message)
        except UserError as error:
            visitor.send({"type": "error", "text": str(error)})
        except Exception:  # a fault of ours must not end the connection, let alone the game
            _LOG.exception("a message of the type %s", message["type"])
            visitor.send({"type": "error", "text": "something went wrong in the server; the game is as it was"})

    def leave(self, visitor: Visitor) -> None:
        """The connection is gone; the table stays."""
        if visitor.session is not None:
            visitor.session.leave(visitor.send)

    async def close(self) -> None:
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        await self.compute.close()

    # ------------------------------------------------------------------------------------------------ messages

    async def _on_hello(self, visitor: Visitor, message: Frame) -> None:
        """The first message: what there is to choose, and the table of this token if it has one."""
        house = self.house
        asked = {"game": house.game, "seats": list(house.seats), "deals": house.deals, "rival": house.rival}
        visitor.send(
            {
                "type": "welcome",
                "protocol": PROTOCOL,
                "menu": catalog.menu(house.more_games),
                "levels": list(catalog.LEVELS),
                "players": list(house.players),
                "asked": asked if house.game else None,
            }
        )
        token = message.get("session")
        if token is None:
            return
        session = await self._found(_text(token, "session", 100))
        if session is None:
            visitor.send({"type": "left"})
            return
        self._seat(visitor, session)
        if session.table is not None:
            for frame in session.greeting():
                visitor.send(frame)
            session.go_on()

    async def _on_about(self, visitor: Visitor, message: Frame) -> None:
        game = catalog.allowed_game(message.get("game"), self.house.more_games)
        visitor.send({"type": "about", **await asyncio.to_thread(catalog.about_game, game)})

    async def _on_sit(self, visitor: Visitor, message: Frame) -> None:
        """A new table. Opening one may take a while: the answer comes when it is ready."""
        settings = await asyncio.to_thread(self._settings, message)
        await self._make_room()
        token = secrets.token_urlsafe(16)
        session = Session(settings, token, self.compute, self.house.folder)
        self._sessions[session.token_hash] = session
        self._seat(visitor, session)
        visitor.send({"type": "session", "token": token})
        self._begin(session, None)

    def _begin(self, session: Session, events: list[dict[str, Any]] | None) -> None:
        """Opening goes on if the visitor leaves meanwhile: she may come back."""
        task = asyncio.get_running_loop().create_task(self._open(session, events))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, session: Session, events: list[dict[str, Any]] | None) -> None:
        try:
            await session.open(events)
        except UserError as error:
            self._sessions.pop(session.token_hash, None)
            await session.close()
            session.give_up(str(error))

    async def _on_play(self, visitor: Visitor, message: Frame) -> None:
        _session(visitor).play(_whole(message, "action"), _whole(message, "moves"))

    async def _on_hint(self, visitor: Visitor, message: Frame) -> None:
        _session(visitor).hint(_optional_text(message, "adviser"))

    async def _on_next(self, visitor: Visitor, message: Frame) -> None:
        _session(visitor).next_deal()

    async def _on_again(self, visitor: Visitor, message: Frame) -> None:
        _session(visitor).next_deal(again=True)

    async def _on_analyse(self, visitor: Visitor, message: Frame) -> None:
        _session(visitor).analyse(_optional_text(message, "adviser"))

    async def _on_replay(self, visitor: Visitor, message: Frame) -> None:
        step = _whole(message, "step")
        if visitor.replay is not None and message.get("record") is True:
            visitor.send(replay_frame(visitor.replay, step))
        else:
            visitor.send(_session(visitor).replay(step))

    async def _on_record(self, visitor: Visitor, message: Frame) -> None:
        """A record that somebody pasted; games of OpenSpiel only by their plain names, whose sizes are known."""
        record = parse_record(_text(message.get("text"), "text", 60_000))
        if record.game.partition("(")[0] not in (*cardspiel.GAMES, *cardspiel.TRANSFORMS):
            catalog.allowed_game(record.game.removesuffix("()"), self.house.more_games)
        visitor.replay = await asyncio.to_thread(Replay, record)
        title = catalog.original(visitor.replay.game).get_type().long_name
        visitor.send({**replay_frame(visitor.replay, 0), "record": True, "game": record.game, "title": title})

    async def _on_leave(self, visitor: Visitor, message: Frame) -> None:
        """Gets up; the table is kept on disk for a month."""
        session = _session(visitor)
        session.leave(visitor.send)
        visitor.session = None
        if not session.is_watched:
            self._sessions.pop(session.token_hash, None)
            await session.close()
        visitor.send({"type": "left"})

    # ------------------------------------------------------------------------------------------------ tables

    def _seat(self, visitor: Visitor, session: Session) -> None:
        if visitor.session is not None and visitor.session is not session:
            visitor.session.leave(visitor.send)
        visitor.session = session
        session.leave(visitor.send)
        session.listen(visitor.send)

    async def _found(self, token: str) -> Session | None:
        """The table of a token: in memory, or on disk from an earlier run of the server."""
        token_hash = hash_of(token)
        if token_hash in self._sessions:
            return self._sessions[token_hash]
        kept = await asyncio.to_thread(read_journal, self.house.folder / "tables", token_hash)
        if kept is None:
            return None
        settings, events = kept
        await self._make_room()
        if token_hash in self._sessions:  # somebody else was faster
            return self._sessions[token_hash]
        try:
            session = Session(settings, token, self.compute, self.house.folder)
        except UserError:
            return None
        self._sessions[token_hash] = session
        self._begin(session, events)  # which says everything to those who listen by then
        return session

    async def _make_room(self) -> None:
        """Puts tables away that nobody looks at; UserError if all are taken."""
        now = time.monotonic()
        crowded = len(self._sessions) >= self.house.most_tables
        for token_hash, session in list(self._sessions.items()):
            idle = now - session.touched
            if not session.is_watched and (idle > IDLE_SECONDS or (crowded and idle > SPARE_SECONDS)):
                del self._sessions[token_hash]
                await session.close()
        if len(self._sessions) >= self.house.most_tables:
            raise UserError(f"all {self.house.most_tables} tables are taken; try again later")

    def _settings(self, message: Frame) -> Settings:
        """What a message asks for, checked field by field."""
        house = self.house
        game_name = catalog.allowed_game(message.get("game"), house.more_games)
        game = catalog.playable_game(game_name)
        seats = message.get("seats")
        if not isinstance(seats, list) or len(seats) != game.num_players():
            raise UserError(f"seats is wrong; allowed: a list of {game.num_players()} names, one for each seat")
        labels = [_text(name, "a seat", 200) for name in seats]
        if labels.count(ME) > 1:
            raise UserError("you can sit on one chair only")
        more = house.more_players
        players = [name if name == ME else catalog.allowed_player(name, game, more) for name in labels]
        rival = message.get("rival") or ""
        if rival:
            rival = catalog.allowed_player(rival, game, more)
        deals = message.get("deals", 0)
        if type(deals) is not int or not 0 <= deals <= MOST_DEALS:
            raise UserError(f"deals is {str(deals)[:20]!r}; allowed: 0 to {MOST_DEALS:,}, 0 for no end")
        advisers = list(dict.fromkeys([*(name for name in house.players if name), *catalog.default_advisers(game)]))
        return Settings(
            game=game_name,
            seats=tuple(players),
            labels=tuple(labels),
            deals=deals,
            seed=secrets.randbits(31) if house.seed is None else house.seed,
            rival=rival if ME in labels else "",
            advisers=tuple(advisers),
            limit=house.limit,
        )


def _parsed(text: str | bytes) -> Frame:
    try:
        message = parse_json(text)
    except (ValueError, UnicodeDecodeError):
        raise UserError("the message is not JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise UserError("the message is no object with a type")
    if message["type"] not in MESSAGES:
        raise UserError(f"there is no message {message['type'][:30]!r}; allowed: {', '.join(MESSAGES)}")
    return message


MESSAGES = tuple(name.removeprefix("_on_") for name in dir(Room) if name.startswith("_on_"))


def _session(visitor: Visitor) -> Session:
    if visitor.session is None or visitor.session.is_closed:
        raise UserError("sit down first")
    return visitor.session


def _whole(message: Frame, name: str) -> int:
    value = message.get(name)
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise UserError(f"{name} is {str(value)[:30]!r}; allowed: a whole number")
    return value


def _text(value: Any, name: str, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise UserError(f"{name} is missing or wrong; allowed: text of at most {longest:,} characters")
    return value


def _optional_text(message: Frame, name: str) -> str | None:
    return None if message.get(name) is None else _text(message[name], name, 2000)
