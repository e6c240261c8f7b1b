"""A process that thinks: `python -m playroom.worker` reads jobs from its input and writes answers, one JSON line each.

A job is {"id": n, "do": what, ...}; the answer {"id": n, "answer": ...} or {"id": n, "error": a sentence}. A job with
`seconds` has that much CPU time: then the operating system ends the process, also inside compiled code that nothing
else could stop. Loading and compiling do not count: they happen before the clock starts.

The process ends when its input does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyspiel

import cardspiel  # noqa: F401 registers our games
from cardtable.match import dealt_around
from cardtable.parameters import UserError
from cardtable.spiel import CardState, load_game
from playroom import advice
from playroom.table import Table

PREPARING_SECONDS = 300.0  # CPU time to load and compile what a player needs, its first answer included; some need 90
MOST_POSITIONS = 64

Job = dict[str, Any]


class Worker:
    """What a process remembers between jobs: games, players, and the positions it was asked about last."""

    def __init__(self) -> None:
        self._games: dict[str, pyspiel.Game] = {}
        self._positions: dict[str, tuple[list[int], pyspiel.State]] = {}
        self._rehearsed: set[tuple[str, str]] = set()
        self._tasks: dict[str, Callable[[Job], Any]] = {
            "prepare": self.prepare,
            "choose": self.choose,
            "advise": self.advise,
            "solve": self.solve,
            "double_dummy": self.double_dummy,
        }

    def answer(self, job: Job) -> Any:
        return self._tasks[job["do"]](job)

    def _game(self, name: str) -> pyspiel.Game:
        if name not in self._games:
            self._games[name] = load_game(name)
        return self._games[name]

    def _state(self, job: Job) -> pyspiel.State:
        """The position of a job. A table's next position is usually its last one and a few actions more."""
        game, history = self._game(job["game"]), list(job["history"])
        table = f"{job.get('table', '')} {job['game']}"
        known, state = self._positions.pop(table, ([], game.new_initial_state()))
        if known != history[: len(known)]:
            known, state = [], game.new_initial_state()
        for action in history[len(known) :]:
            state.apply_action(action)
        self._positions[table] = (history, state)
        while len(self._positions) > MOST_POSITIONS:
            self._positions.pop(next(iter(self._positions)))
        return state.clone()

    # ------------------------------------------------------------------------------------------------ the jobs

    def prepare(self, job: Job) -> list[dict[str, Any]]:
        """Loads and compiles a game and players, and says what kind of player each is."""
        game = self._game(job["game"])
        found = []
        for text in job["players"]:
            with limited(PREPARING_SECONDS):
                player = advice.find_seat_player(text, game)
                self._rehearse(text, game, job.get("advisers", ()))
            found.append({"quick": advice.is_quick(player), "every_dealer": player.every_dealer, "name": player.label})
        return found

    def _rehearse(self, text: str, game: pyspiel.Game, advisers: Sequence[str] = ()) -> None:
        """Lets a player answer once, so that nothing is compiled when somebody waits for it."""
        if (text, str(game)) in self._rehearsed:
            return
        table = Table(game, seed=0, deal=0, rotate=False)
        player = advice.find_seat_player(text, game)
        if isinstance(table.state, CardState) or not table.is_over:
            advice.choose(player, table.state, 0, 0, 0)
            if text in advisers:
                advice.advise(player, table.state, 0, 0, 0)
        self._rehearsed.add((text, str(game)))

    def choose(self, job: Job) -> int:
        """The move of a player."""
        state = self._state(job)
        with limited(PREPARING_SECONDS):
            self._rehearse(job["player"], state.get_game())
        player = advice.find_seat_player(job["player"], state.get_game())
        with limited(job.get("seconds")):
            action = advice.choose(player, state, job["seed"], job["deal"], job["moves"])
        if action not in state.legal_actions():
            raise UserError(f"the player {player.name!r} chose action {action}, which is not legal")
        return action

    def advise(self, job: Job) -> dict[str, Any]:
        """What a player thinks of the legal actions."""
        state = self._state(job)
        with limited(PREPARING_SECONDS):
            self._rehearse(job["player"], state.get_game(), [job["player"]])
        player = advice.find_seat_player(job["player"], state.get_game())
        with limited(job.get("seconds")):
            found = advice.advise(player, state, job["seed"], job["deal"], job["moves"])
        seat = state.current_player()
        for bar in found["bars"]:
            bar["name"] = state.action_to_string(seat, bar["action"])
        return found

    def solve(self, job: Job) -> list[dict[str, object]]:
        """The equilibrium of a game, with every dealer."""
        from playroom import solutions  # the solvers take a while to import, and most tables need none

        tables = dealt_around(self._game(job["game"]))
        with limited(PREPARING_SECONDS):
            return [
                {"game": str(game), **solutions.solve(game, Path(job["folder"]), job["seconds"] / len(tables))}
                for game in tables
            ]

    def double_dummy(self, job: Job) -> dict[int, int] | None:
        """For Coinche: points of the side to move for each legal card, all cards open; None where it does not apply."""
        from playroom.open_cards import best_points  # likewise the double-dummy solver

        state = self._state(job)
        with limited(job.get("seconds")):
            return best_points(state)


class limited:  # noqa: N801 reads as a statement
    """`with limited(seconds)`: the process ends when it has used that much CPU time; None sets no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds if hasattr(signal, "setitimer") else None

    def __enter__(self) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_PROF, max(self._seconds, 0.01))

    def __exit__(self, *error: object) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever libraries print goes to stderr, not between the answers
    if hasattr(os, "nice"):
        os.nice(5)  # the server and what is quick come first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    worker = Worker()
    answers.write(json.dumps({"ready": True}) + "\n")
    answers.flush()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            reply = json.dumps({"id": job["id"], "answer": worker.answer(job)})
        except UserError as error:
            reply = json.dumps({"id": job["id"], "error": str(error), "of_user": True})
        except Exception as error:  # a player's own code may raise anything; its table goes on without it
            reply = json.dumps({"id": job["id"], "error": f"{type(error).__name__}: {error}"})
        answers.write(reply + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
