"""Who can be asked at a table, and what they say: players that explain themselves, and the solution of a small game."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pyspiel

from cardtable.parameters import UserError
from playroom import catalog
from playroom.compute import SEARCH, Compute, FailedError, OverrunError
from playroom.keeping import Settings
from playroom.table import Table

HINT_SEED = 0x5EED  # hints draw other random numbers than the players
EQUILIBRIUM = "equilibrium"
SOLVING_SECONDS = 10.0
OPEN_CARDS_SECONDS = 20.0

Position = dict[str, Any]


class Advisers:
    """The advisers of one table."""

    def __init__(self, settings: Settings, compute: Compute, folder: Path, table: str) -> None:
        self._settings = settings
        self._compute = compute
        self._folder = folder
        self._table = table  # what worker processes call it
        self._solutions: dict[str, dict[str, Any]] = {}
        self._readying: asyncio.Task[None] | None = None

    def make_ready(self, game: pyspiel.Game) -> None:
        """Loads the first adviser while the game goes on: nobody waits for a table because of hints."""
        self._readying = asyncio.get_running_loop().create_task(self._make_ready(str(game)))

    async def _make_ready(self, game: str) -> None:
        first = list(self._settings.advisers[:1])
        with contextlib.suppress(UserError, OverrunError, FailedError):  # whoever asks for it is told
            await self._compute.prepare(game, first, first)

    async def close(self) -> None:
        if self._readying is not None:
            self._readying.cancel()
            await asyncio.gather(self._readying, return_exceptions=True)

    async def find_solution(self, game: pyspiel.Game) -> None:
        """Small games are solved; one that turns out to be too large has no solution, and that is all."""
        if not catalog.worth_solving(game):
            return
        folder = str(self._folder / "solutions")
        job = {"do": "solve", "game": str(game), "folder": folder, "seconds": SOLVING_SECONDS}
        with contextlib.suppress(UserError, OverrunError, FailedError):
            found = await self._compute.ask(job, SEARCH)
            self._solutions = {entry["game"]: entry for entry in found}

    def listed(self) -> list[dict[str, Any]]:
        """Who can be asked; a solution says how far from an equilibrium it is at most."""
        names: list[dict[str, Any]] = [{"name": name} for name in self._settings.advisers]
        if self._solutions:
            worst = max(float(found["exploitability"]) for found in self._solutions.values())
            names.insert(0, {"name": EQUILIBRIUM, "exploitability": worst})
        return names

    def chosen(self, name: str | None, table: Table) -> str:
        """The player that a name stands for, the first one if there is none; UserError if nobody is called that."""
        known = [entry["name"] for entry in self.listed()]
        asked = known[0] if name is None else name
        if asked not in known:
            raise UserError(f"nobody here is called {asked!r}; allowed: {', '.join(known)}")
        if asked != EQUILIBRIUM:
            return str(asked)
        if str(table.game) not in self._solutions:
            raise UserError("this game is solved for other dealers only; ask somebody else")
        return str(self._solutions[str(table.game)]["path"])

    async def advice(self, position: Position, adviser: str) -> dict[str, Any]:
        """What one of them thinks of a position."""
        if self._readying is not None and adviser in self._settings.advisers[:1]:
            await asyncio.shield(self._readying)  # a second process would only compile the same
        seed = position["seed"] ^ HINT_SEED
        job = {**position, "do": "advise", "player": adviser, "seed": seed, "seconds": 3 * self._settings.limit}
        found: dict[str, Any] = await self._compute.ask(job, SEARCH)
        solved = next((entry for entry in self._solutions.values() if entry["path"] == adviser), None)
        if solved is None:
            return {**found, "adviser": adviser}
        return {**found, "adviser": EQUILIBRIUM, "exploitability": solved["exploitability"]}

    async def advice_at(self, game: str, history: list[int], moves: int, adviser: str) -> dict[str, Any]:
        """The same for a position of a finished deal."""
        return await self.advice(self._at(game, history, moves), adviser)

    async def open_cards_at(self, game: str, history: list[int]) -> dict[str, int] | None:
        """What each card takes with open hands; None where no solver knows."""
        job = {**self._at(game, history, 0), "do": "double_dummy", "seconds": OPEN_CARDS_SECONDS}
        found: dict[str, int] | None = await self._compute.ask(job, SEARCH)
        return found

    def _at(self, game: str, history: list[int], moves: int) -> Position:
        where = {"game": game, "history": history, "table": f"{self._table} analysis"}
        return {**where, "seed": self._settings.seed, "deal": 0, "moves": moves}
