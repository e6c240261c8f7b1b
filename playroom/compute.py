"""Who thinks for the players and for hints: processes, so that no search makes another table wait.

A search in a thread would stop the server (compiled code holds on to Python's lock), and could not be stopped itself.
So every question goes to a process (`playroom.worker`) with a budget of CPU time; one that overruns is ended by the
operating system and replaced. There are two lanes: what answers at once (compiled heuristics, policies in tables) has a
process of its own, so that it never waits behind a search; searches have others, of which one more than needed is kept
ready, up to `most`. What a new table needs is compiled among the searches: the quick one only loads what is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

from cardtable.parameters import UserError

QUICK, SEARCH = "quick", "search"
MOST_SEARCHERS = 4
PATIENCE_FACTOR, PATIENCE_SECONDS = 4.0, 20.0  # of the clock on the wall, for a process that sleeps or shares its core
LOADING_SECONDS = 600.0  # the same while a process may have to compile
LONGEST_LINE = 1 << 24


class OverrunError(Exception):
    """A player used up its budget."""


class FailedError(Exception):
    """A player raised an exception, or its process died."""


class Thinker:
    """One process and its pipes."""

    def __init__(self, quiet: bool = False) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.busy = False
        self.jobs = 0
        self._quiet = quiet
        self._ids = itertools.count()

    async def start(self) -> None:
        root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "playroom.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL if self._quiet else None,
            env={**os.environ, "PYTHONPATH": path},
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C in a terminal reaches the server only
        )
        await self._line(LOADING_SECONDS)

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def _line(self, seconds: float) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), seconds)
        if not line:
            raise EOFError
        found: dict[str, Any] = json.loads(line)
        return found

    async def ask(self, job: dict[str, Any]) -> Any:
        """The answer of the process. OverrunError or FailedError leave it dead."""
        assert self.process is not None
        assert self.process.stdin is not None
        number = next(self._ids)
        self.jobs += 1
        seconds = job.get("seconds")
        loading = job["do"] in ("prepare", "solve") or self.jobs <= 2
        patience = LOADING_SECONDS
        if seconds is not None and not loading:
            patience = PATIENCE_FACTOR * seconds + PATIENCE_SECONDS
        try:
            self.process.stdin.write(json.dumps({**job, "id": number}).encode() + b"\n")
            await self.process.stdin.drain()
            reply = await self._line(patience)
        except (EOFError, ConnectionError) as error:
            code = await self.end()
            if code == -27:  # SIGPROF: the CPU time was used up
                raise OverrunError(f"more than {seconds} seconds") from None
            raise FailedError(f"its process ended with code {code}") from error
        except TimeoutError:
            await self.end()
            raise OverrunError(f"no answer in {patience:g} seconds") from None
        except asyncio.CancelledError:
            await asyncio.shield(self.end())
            raise
        if "error" in reply:
            raise UserError(reply["error"]) if reply.get("of_user") else FailedError(reply["error"])
        return reply["answer"]

    async def end(self) -> int:
        """Ends the process, whatever it is doing; returns its exit code."""
        if self.process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            if self.process.returncode is None and not self._has_ended():
                self.process.kill()
        return await self.process.wait()

    def _has_ended(self) -> bool:
        """It closed its output: by itself, or because it used up its time. Then its exit code is on the way."""
        return self.process is not None and self.process.stdout is not None and self.process.stdout.at_eof()


class Compute:
    """The processes, and who waits for them."""

    def __init__(self, most_searchers: int = MOST_SEARCHERS, quiet: bool = False) -> None:
        self._most = {QUICK: 1, SEARCH: most_searchers}
        self._quiet = quiet  # what processes say about compiling would be written over a terminal's table
        self._lanes: dict[str, list[Thinker]] = {QUICK: [], SEARCH: []}
        self._waiting: dict[str, deque[asyncio.Future[Thinker]]] = {QUICK: deque(), SEARCH: deque()}
        self._starting: dict[str, int] = {QUICK: 0, SEARCH: 0}
        self._prepared: dict[str, dict[str, Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Starts the first processes while nobody has asked for anything yet."""
        for lane in self._lanes:
            self._keep_one_ready(lane)

    async def ask(self, job: dict[str, Any], lane: str = SEARCH) -> Any:
        """The answer to a job; UserError, OverrunError or FailedError if there is none."""
        thinker = await self._take(lane)
        try:
            return await thinker.ask(job)
        finally:
            self._give_back(lane, thinker)

    async def prepare(self, game: str, players: list[str], advisers: list[str]) -> list[dict[str, Any]]:
        """Loads and compiles what a table needs, so that its first move is as quick as the others.

        Processes that are started later load it too, the most recent table's things first.
        """
        job = {"do": "prepare", "game": game, "players": players, "advisers": advisers}
        found: list[dict[str, Any]] = await self.ask(job, SEARCH)
        slow = []
        for name, about in zip(players, found, strict=True):
            if about["quick"]:
                await self.ask({**job, "players": [name]}, QUICK)  # one by one: moves of other tables come between
            else:
                slow.append(name)
        if slow:
            self._prepared.pop(game, None)
            self._prepared[game] = {**job, "players": slow}
        return found

    async def close(self) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(thinker.end() for lane in self._lanes.values() for thinker in lane))

    # ------------------------------------------------------------------------------------------------ processes

    async def _take(self, lane: str) -> Thinker:
        for thinker in self._lanes[lane]:
            if not thinker.busy and thinker.is_alive:
                thinker.busy = True
                self._keep_one_ready(lane)
                return thinker
        waiting: asyncio.Future[Thinker] = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(waiting)
        self._keep_one_ready(lane)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._give_back(lane, waiting.result())  # it was given to us in the moment in which we left
            raise

    def _keep_one_ready(self, lane: str) -> None:
        """Starts a process if nobody is free."""
        self._lanes[lane] = [thinker for thinker in self._lanes[lane] if thinker.is_alive]
        free = sum(not thinker.busy for thinker in self._lanes[lane])
        there = len(self._lanes[lane]) + self._starting[lane]
        if not self._closed and free == 0 and self._starting[lane] == 0 and there < self._most[lane]:
            self._starting[lane] += 1
            task = asyncio.get_running_loop().create_task(self._start(lane))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _start(self, lane: str) -> None:
        thinker = Thinker(self._quiet)
        try:
            await thinker.start()
            if lane == SEARCH and not self._waiting[lane]:  # who waits asks for what is needed
                for job in list(self._prepared.values())[-1:]:
                    with contextlib.suppress(UserError, OverrunError, FailedError):
                        await thinker.ask(job)
        except (EOFError, OSError, TimeoutError) as error:
            for waiting in self._waiting[lane]:
                if not waiting.done():
                    waiting.set_exception(FailedError(f"no process could be started: {error}"))
            self._waiting[lane].clear()
            return
        except asyncio.CancelledError:
            await asyncio.shield(thinker.end())
            raise
        finally:
            self._starting[lane] -= 1
        if self._closed:
            await thinker.end()
            return
        self._lanes[lane].append(thinker)
        self._give_back(lane, thinker)

    def _give_back(self, lane: str, thinker: Thinker) -> None:
        """The process is free: for whoever has waited longest."""
        thinker.busy = False
        if thinker.is_alive:
            while self._waiting[lane]:
                waiting = self._waiting[lane].popleft()
                if not waiting.done():
                    thinker.busy = True
                    waiting.set_result(thinker)
                    break
        if self._waiting[lane] or lane == QUICK:
            self._keep_one_ready(lane)
