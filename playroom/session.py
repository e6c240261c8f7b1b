"""One person at one table: deals one after the other, players that move, hints, the rival's table, the score.

A session knows no sockets and no screens: it takes calls from `playroom.room` and hands frames, plain dicts, to whoever
listens. What it says about a running game is a view of the person's seat and nothing else; cards of others, the seed
and the record come when the deal is over at both tables.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.match import Estimate
from cardtable.parameters import UserError
from playroom import catalog
from playroom.advisers import Advisers
from playroom.analysis import analyse
from playroom.compute import QUICK, SEARCH, Compute, FailedError, OverrunError
from playroom.keeping import Journal, Settings, hash_of, name_of
from playroom.records import ME, Record, Replay, append_record, record_of
from playroom.table import Table

_LOG = logging.getLogger("playroom")
Frame = dict[str, Any]


class Session:
    """A table with its person, or with nobody but those who watch."""

    def __init__(self, settings: Settings, token: str, compute: Compute, folder: Path) -> None:
        self.settings = settings
        self.token_hash = hash_of(token)
        self.game = catalog.playable_game(settings.game)
        self.seat = settings.seats.index(ME) if ME in settings.seats else None
        self.table: Table | None = None
        self.deal = 0
        self.practice = False
        self.results: list[dict[str, Any]] = []  # of deals that count
        self.touched = time.monotonic()
        self.is_closed = False
        self._compute = compute
        self._folder = folder
        self._journal = Journal(folder / "tables", name_of(self.token_hash))
        self._listeners: list[Callable[[Frame], None]] = []
        self._fallbacks: list[int] = []
        self._quick: dict[str, bool] = {}
        self._rotate = True
        self._advisers = Advisers(settings, compute, folder, self.token_hash[:12])
        self._record: Record | None = None
        self._result: Frame | None = None
        self._moving: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None
        self._asked: tuple[int, int] | None = None  # deal and moves of the position that is asked about
        self._ready = asyncio.Event()

    # ------------------------------------------------------------------------------------------------ listeners

    @property
    def is_watched(self) -> bool:
        return bool(self._listeners)

    def listen(self, listener: Callable[[Frame], None]) -> None:
        self._listeners.append(listener)

    def leave(self, listener: Callable[[Frame], None]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
        self.touched = time.monotonic()

    def _say(self, what: str, /, **values: Any) -> None:
        self._send({"type": what, **values})

    def _send(self, frame: Frame) -> None:
        for listener in list(self._listeners):
            listener(frame)

    def greeting(self) -> list[Frame]:
        """What somebody who (re)connects needs to see the table as it is."""
        frames: list[Frame] = [{"type": "table", **self._about()}]
        if self.table is not None:
            frames.append(self._view_frame(None))
            if self._result is not None:
                frames.append(self._result)
        return frames

    def _about(self) -> dict[str, Any]:
        about = catalog.about_game(self.settings.game)
        return {
            **about,
            "names": list(self.settings.labels),
            "sitting": list(self.settings.seats),
            "seat": self.seat,
            "deals": self.settings.deals,
            "rival": self.settings.rival,
            "advisers": self._advisers.listed(),
        }

    # ------------------------------------------------------------------------------------------------ opening

    async def open(self, events: list[dict[str, Any]] | None = None) -> None:
        """Prepares all that the table needs, then deals, or takes up the game where the journal left it."""
        others = [name for name in dict.fromkeys((*self.settings.seats, self.settings.rival)) if name not in (ME, "")]
        self._say("preparing", what=self.settings.game)
        players = list(dict.fromkeys([*others, catalog.stand_in(self.game)]))
        try:
            about = await self._compute.prepare(str(self.game), players, [])
        except (OverrunError, FailedError) as error:
            raise UserError(f"a player of this table cannot play: {error}") from None
        for name, found in zip(players, about, strict=True):
            self._quick[name] = found["quick"]
            self._rotate = self._rotate and (found["every_dealer"] or name not in others)
        if self.seat is not None:
            await self._advisers.find_solution(self.game)
            self._advisers.make_ready(self.game)
        if events:
            self._restore(events)
        else:
            self._journal.begin(self.settings, self.token_hash)
        if self.table is None:
            self._begin_deal(0, practice=False)
        self._ready.set()
        for frame in self.greeting():
            self._send(frame)
        self.go_on()

    def _restore(self, events: list[dict[str, Any]]) -> None:
        """Plays the journal again; what does not fit any more is left out."""
        for event in events:
            if "deal" in event:
                self._begin_deal(int(event["deal"]), bool(event.get("practice")), journal=False)
            elif "action" in event and self.table is not None and not self.table.is_over:
                with contextlib.suppress(UserError):
                    self.table.play(int(event["action"]))
                    if event.get("fallback"):
                        self._fallbacks.append(self.table.moves - 1)
            elif "result" in event:
                self.results.append(event["result"])

    def _begin_deal(self, deal: int, practice: bool, journal: bool = True) -> None:
        self.deal, self.practice = deal, practice
        self.table = Table(self.game, self.settings.seed, deal, self._rotate)
        self._fallbacks, self._record, self._result = [], None, None
        if journal:
            self._journal.write(deal=deal, practice=practice)

    # ------------------------------------------------------------------------------------------------ playing

    def require_open(self) -> Table:
        if self.table is None or not self._ready.is_set():
            raise UserError("the table is not open yet")
        self.touched = time.monotonic()
        return self.table

    def play(self, action: int, moves: int) -> None:
        """The person's move; UserError, and nothing changed, if it is late, not her turn, or not legal."""
        table = self.require_open()
        if self.seat is None:
            raise UserError("you are watching; nobody sits here for you")
        if table.is_over:
            raise UserError("the deal is over")
        if moves != table.moves:
            raise UserError("that was for an earlier position; nothing was played")
        if table.turn != self.seat:
            raise UserError("it is not your turn")
        self._apply(table, action)
        self.go_on()

    def _apply(self, table: Table, action: int, fallback: bool = False) -> None:
        seat = table.turn
        name = table.play(action)
        if fallback:
            self._fallbacks.append(table.moves - 1)
        self._journal.write(action=action, **({"fallback": True} if fallback else {}))
        self._send(self._view_frame({"seat": seat, "action": action, "name": name}))

    def _view_frame(self, done: dict[str, Any] | None) -> Frame:
        assert self.table is not None
        return {
            "type": "view",
            "view": self.table.view(self.seat),
            "done": done,
            "deal": self.deal,
            "practice": self.practice,
        }

    def go_on(self) -> None:
        """Lets the players move until it is the person's turn; does nothing if they are at it already."""
        if self._moving is None or self._moving.done():
            self._moving = asyncio.get_running_loop().create_task(self._move())
            self._moving.add_done_callback(_log_failure)

    async def _move(self) -> None:
        table = self.require_open()
        while table is self.table and not table.is_over and table.turn != self.seat:
            action, fallback = await self._answer(table)
            if table is not self.table:
                return
            self._apply(table, action, fallback)
        if table is self.table and table.is_over and self._result is None:
            await self._finish(table)

    async def _answer(self, table: Table, player: str | None = None) -> tuple[int, bool]:
        """The move of the player in turn, or of the stand-in if that one is too slow or fails."""
        seat = table.turn
        assert seat is not None
        name = player or self.settings.seats[seat]
        job = {**self._position(table), "do": "choose", "player": name, "seconds": self.settings.limit}
        try:
            return int(await self._compute.ask(job, QUICK if self._quick.get(name) else SEARCH)), False
        except (OverrunError, FailedError, UserError) as error:
            late = isinstance(error, OverrunError)
            self._say("notice", key="too_slow" if late else "failed", seat=seat, player=name, detail=str(error)[:300])
        try:
            return int(await self._compute.ask({**job, "player": catalog.stand_in(self.game)}, QUICK)), True
        except (OverrunError, FailedError, UserError):
            return int(table.state.legal_actions()[0]), True

    def _position(self, table: Table) -> dict[str, Any]:
        return {
            "game": str(table.game),
            "history": table.history(),
            "table": self.token_hash[:12],
            "seed": self.settings.seed,
            "deal": table.deal,
            "moves": table.moves,
        }

    # ------------------------------------------------------------------------------------------------ the end of a deal

    async def _finish(self, table: Table) -> None:
        """Files the record; where there is a rival, waits for the other table before anything is shown."""
        self._record = record_of(table, self.settings.seats, self.practice, self._fallbacks)
        append_record(self._folder / "games.jsonl", self._record)
        result: dict[str, Any] = {"deal": self.deal, "returns": table.returns()}
        if self.settings.rival and self.seat is not None and not self.practice:
            self._say("result", waiting=True, returns=table.returns(), practice=False)
            other = await self._second_table()
            result["rival"] = other.returns
            result["difference"] = table.returns()[self.seat] - other.returns[self.seat]
            result["rival_record"] = other.line()
        if table is not self.table:
            return
        if not self.practice and all(done["deal"] != self.deal for done in self.results):
            kept = {name: value for name, value in result.items() if name != "rival_record"}
            self.results.append(kept)
            self._journal.write(result=kept)
        self._result = {
            "type": "result",
            "waiting": False,
            "practice": self.practice,
            "record": self._record.line(),
            "open": Replay(self._record).view(0),
            "score": self.score(),
            "last": bool(self.settings.deals) and self.deal + 1 >= self.settings.deals,
            **result,
        }
        self._send(self._result)

    async def _second_table(self) -> Record:
        """The same deal with the rival in the person's seat and everybody else as before."""
        table = Table(self.game, self.settings.seed, self.deal, self._rotate)
        fallbacks = []
        while not table.is_over:
            rival = self.settings.rival if table.turn == self.seat else None
            action, fallback = await self._answer(table, rival)
            if fallback:
                fallbacks.append(table.moves)
            table.play(action)
        seats = [self.settings.rival if name == ME else name for name in self.settings.seats]
        record = record_of(table, seats, fallbacks=fallbacks)
        append_record(self._folder / "games.jsonl", record)
        return record

    def score(self) -> dict[str, Any] | None:
        """The person's results so far: sums, and the mean difference to the rival with its 95% interval."""
        if self.seat is None or not self.results:
            return None
        own = np.array([done["returns"][self.seat] for done in self.results])
        found: dict[str, Any] = {"deals": len(own), "sum": float(own.sum())}
        differences = np.array([done["difference"] for done in self.results if "difference" in done])
        if len(differences):
            estimate = Estimate.of(differences)
            found |= {"difference": estimate.mean, "duplicates": len(differences)}
            if len(differences) > 1:
                found |= {"low": estimate.low, "high": estimate.high}
        return found

    def next_deal(self, again: bool = False) -> None:
        """The next deal, or the same one again, which is practice and never counts."""
        table = self.require_open()
        if not table.is_over:
            raise UserError("the deal is not over yet")
        if self._result is None:
            raise UserError("the other table is still playing this deal")
        if not again and self.settings.deals and self.deal + 1 >= self.settings.deals:
            raise UserError(f"the {self.settings.deals} deals are played; sit down again for more")
        self._stop_asking()
        self._begin_deal(self.deal if again else self.deal + 1, practice=again)
        self._send(self._view_frame(None))
        self.go_on()

    # ------------------------------------------------------------------------------------------------ advice

    def hint(self, adviser: str | None) -> None:
        """Asks somebody what to do; the answer comes as a frame."""
        table = self.require_open()
        if self.seat is None or table.turn != self.seat:
            raise UserError("hints are given when it is your turn")
        self._ask(self._hint(table, self._advisers.chosen(adviser, table)))

    async def _hint(self, table: Table, adviser: str) -> None:
        moves = table.moves
        found = await self._advisers.advice(self._position(table), adviser)
        if table is self.table and table.moves == moves:
            self._say("hint", moves=moves, **found)

    def analyse(self, adviser: str | None) -> None:
        """Looks at every decision of the deal that was just played; the answer comes as frames."""
        table = self.require_open()
        if self._record is None or self._result is None:
            raise UserError("analysis comes after the deal")
        chosen = self._advisers.chosen(adviser, table)

        async def work() -> None:
            assert self._record is not None
            ask = self._advisers
            async for frame in analyse(self._record, self.seat, chosen, ask.advice_at, ask.open_cards_at):
                self._say("analysis", **frame)

        self._ask(work())

    def replay(self, step: int) -> Frame:
        """The finished deal, step by step with open hands."""
        self.require_open()
        if self._record is None or self._result is None:
            raise UserError("a deal can be looked at again when it is over")
        return replay_frame(Replay(self._record), step)

    def _ask(self, work: Any) -> None:
        """One question at a time; one about an earlier position is given up for the new one."""
        table = self.require_open()
        if self._asking is not None and not self._asking.done():
            if self._asked == (self.deal, table.moves):
                work.close()
                raise UserError("one question at a time: an answer is on its way")
            self._asking.cancel()
        self._asked = (self.deal, table.moves)
        self._asking = asyncio.get_running_loop().create_task(self._reported(work))

    async def _reported(self, work: Any) -> None:
        try:
            await work
        except OverrunError:
            self._say("error", text="the adviser took too long and was stopped")
        except (UserError, FailedError) as error:
            self._say("error", text=str(error))
        except Exception:
            _LOG.exception("a question of a table")
            self._say("error", text="something went wrong in the server; the game is as it was")

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def give_up(self, why: str) -> None:
        """The table could not be opened."""
        self._say("error", text=why)
        self._say("left")

    async def close(self) -> None:
        """Stops everything; what happened is in the journal."""
        self.is_closed = True
        tasks = [task for task in (self._moving, self._asking) if task is not None and not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._advisers.close()
        self._journal.close()


def _log_failure(task: asyncio.Task[None]) -> None:
    """A fault of ours; the table waits, and goes on when somebody reconnects."""
    if not task.cancelled() and task.exception() is not None:
        _LOG.error("a table stopped", exc_info=task.exception())


def replay_frame(replay: Replay, step: int) -> Frame:
    step = max(0, min(step, replay.steps))
    names = list(replay.record.seats)
    view = replay.view(step)
    return {"type": "replay", "step": step, "steps": replay.steps, "view": view, "names": names}
