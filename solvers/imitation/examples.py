"""Examples to learn from: positions of whole games, and what was done or what every action is worth there.

Games are played in lock step, a piece of them at a time, each with random numbers of its own, so that any executor
gives the same examples. Forced moves are no examples. In some of the moves, `exploration` of them, anything legal is
played: a pupil should also know positions that its teacher would have avoided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cardtable.executors import Executor, Serial
from cardtable.player import Player
from cardtable.progress import LateProgress
from cardtable.randomness import streams
from cardtable.rows import deal_rows, settle_rows, step_rows
from cardtable.rules import TERMINAL
from cardtable.spiel import CardGame

PIECE = 64  # games of one piece of work

ValuesRows = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Examples(NamedTuple):
    """`targets` are action ids, one a position, or the values of all actions, NaN where they are illegal."""

    states: np.ndarray
    targets: np.ndarray


@dataclass(frozen=True)
class Teacher:
    """Plays games and tells: a player shows what it does, a search what every action is worth to the player to move."""

    game: CardGame
    player: Player | None = None
    values_rows: ValuesRows | None = None
    exploration: float = 0.0
    seed: int = 1

    def lessons(self, games: range) -> Examples:
        """All positions of these games, with what the teacher has to say."""
        rules = self.game.rules
        addresses = rules.compiled_kernel(resample=True).addresses()
        count = len(games)
        cards, own = (streams(self.seed, (7, kind), games) for kind in range(2))
        dice = [np.random.default_rng([self.seed, game]) for game in games]
        states = np.empty((count, rules.state_size), np.int64)
        deal_rows(addresses, rules.root, states, np.arange(count), cards)
        turn = np.empty(count, np.int64)
        sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes], np.int64)
        positions, targets = [], []
        while True:
            settle_rows(addresses, states, cards, sizes, turn)
            rows = np.flatnonzero(turn != TERMINAL)
            if len(rows) == 0:
                break
            asked = own[rows]
            told, chosen = self._asked(states, rows, asked)
            own[rows] = asked
            positions.append(states[rows])
            targets.append(told)
            for place, row in enumerate(rows):
                if dice[row].random() < self.exploration:
                    chosen[place] = self._anything(states[row], dice[row])
            bad = step_rows(addresses, states, rows, chosen, sizes)
            assert bad < 0, "a teacher chose an illegal action"
        return Examples(np.concatenate(positions), np.concatenate(targets))

    def _asked(self, states: np.ndarray, rows: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.values_rows is not None:
            values = self.values_rows(states, rows, asked)
            return values.astype(np.float32), np.nanargmax(values, axis=1)
        assert self.player is not None
        assert self.player.choose_rows is not None, f"{self.player.name} does not answer in rows"
        chosen = np.ascontiguousarray(self.player.choose_rows(states, rows, asked), np.int64)
        return chosen, chosen.copy()

    def _anything(self, state: np.ndarray, dice: np.random.Generator) -> int:
        actions = np.empty(self.game.rules.num_distinct_actions, np.int64)
        return int(actions[dice.integers(self.game.rules.kernel.legal_actions(state, actions))])


def taught(teacher: Teacher, games: range, executor: Executor | None = None, title: str = "playing") -> Examples:
    """The examples of these games. Threads share the teacher; it does not go to another process."""
    pieces = [range(start, min(start + PIECE, games.stop)) for start in range(games.start, games.stop, PIECE)]
    found = []
    with LateProgress(title, len(games)) as progress:
        for piece, lessons in zip(pieces, (executor or Serial()).map(Teacher.lessons, pieces, teacher), strict=True):
            found.append(lessons)
            progress.advance(len(piece))
    return Examples(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
