"""An executor that files what it has played, so that a match that was interrupted goes on where it was.

Wraps any executor for `cardtable.match`. Parts of a match come back in order; every few seconds those that have come
are written to a file, and whatever is there when the match begins is not played again.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cardtable.executors import Executor
from cardtable.files import read_arrays, write_arrays
from cardtable.match import Games, Task
from cardtable.parameters import UserError
from cardtable.rows import seats_of_rows
from cardtable.rules import TERMINAL, Rules
from cardtable.ways import joined, walked, ways_to

Part = tuple[int, int]
Result = TypeVar("Result")


class FiledGames(Executor):
    """Files of one match: `<name>_<seating>_<first part>.npz` in a folder."""

    def __init__(self, executor: Executor, folder: Path, name: str, seconds: float) -> None:
        self._executor, self._folder, self._name, self._seconds = executor, folder, name, seconds
        self._seatings = itertools.count()  # a match maps twice, once for each seating

    def map(self, work: Callable[[Any, Any], Any], items: Iterable[Any], shared: Any) -> Iterator[Any]:
        """As any executor does; the work is `cardtable.match.play_part`."""
        items = list(items)
        stem = f"{self._name}_{next(self._seatings)}"
        done = 0
        while done < len(items) and self._file(stem, done).exists():
            filed = load_games(self._file(stem, done), items[done:], shared)
            yield from filed
            done += len(filed)
        new: list[Games] = []
        first, saved_at = done, time.monotonic()
        try:
            for games in self._executor.map(work, items[done:], shared):
                new.append(games)
                if time.monotonic() - saved_at > self._seconds:
                    save_games(self._file(stem, first), new, shared, items[first][0])
                    first, saved_at, new = first + len(new), time.monotonic(), []
                yield games
        finally:  # also where somebody asked to stop
            if new and first + len(new) < len(items):
                save_games(self._file(stem, first), new, shared, items[first][0])

    def _file(self, stem: str, first: int) -> Path:
        return self._folder / f"{stem}_{first:08}.npz"

    def forget(self) -> None:
        """Removes the parts of a match whose result is written."""
        for file in self._folder.glob(f"{self._name}_[01]_????????.npz"):
            file.unlink()


def played_once(
    file: Path,
    executor: Executor,
    seconds: float,
    play: Callable[[Executor], Result],
    save: Callable[[Path, Result], None],
    load: Callable[[Path], Result],
) -> Result:
    """The result of a match with this file: read from it, or played, the games filed meanwhile, and written."""
    filed = FiledGames(executor, file.parent, f"games_{file.stem}", seconds)
    if file.exists():
        filed.forget()  # whoever wrote the result may have been killed before the games were removed
        return load(file)
    result = play(filed)
    save(file, result)
    filed.forget()
    return result


def save_games(path: Path, parts: Sequence[Games], task: Task, first: int) -> None:
    """Parts of a match, the first of which begins with this deal; final positions as the ways that led there."""
    arrays: dict[str, Any] = {
        "deals": np.array([len(games.returns) for games in parts], np.int64),
        "returns": np.concatenate([games.returns for games in parts]),
        "decisions": np.stack([games.decisions for games in parts]),
        "seconds": np.stack([games.seconds for games in parts]),
    }
    states = [games.states for games in parts if games.states is not None]
    if states:
        arrays["ways"] = _ways(task, first, np.concatenate(states))
    write_arrays(path, arrays)


def _tables(task: Task, first: int, count: int) -> Iterator[tuple[Rules, slice]]:
    """The rules of each table, and which of so many deals were dealt at it."""
    for number, table in enumerate(task.tables):
        yield table.rules, slice((number - first) % len(task.tables), count, len(task.tables))


def _ways(task: Task, first: int, states: np.ndarray) -> np.ndarray:
    tables = list(_tables(task, first, len(states)))
    by_table = joined([ways_to(rules, states[rows]) for rules, rows in tables])
    ways = np.empty_like(by_table)
    ways[np.concatenate([np.arange(len(states))[rows] for _, rows in tables])] = by_table
    return ways


def _final_states(task: Task, first: int, ways: np.ndarray, total: int) -> np.ndarray:
    """Where filed ways lead; ValueError unless these are so many games, all of them over."""
    if len(ways) != total:
        raise ValueError(f"it has {len(ways)} final positions, not {total}")
    states = np.empty((total, task.game.rules.state_size), np.int64)
    for rules, rows in _tables(task, first, total):
        states[rows] = dealt = walked(rules, ways[rows], total)
        seats = np.empty(len(dealt), np.int64)
        seats_of_rows(rules.compiled_kernel().addresses(), dealt, np.arange(len(dealt)), seats)
        if (seats != TERMINAL).any():
            raise ValueError("it has games that are not over")
    return states


def load_games(path: Path, items: Sequence[Part], task: Task) -> list[Games]:
    """The parts in a file, which are the first of `items`; UserError if the file is damaged or of another match."""
    found = read_arrays(path, "a part of a match; delete it to play these games again")
    try:
        deals = found["deals"]
        players, count, total = task.game.num_players(), len(deals), int(deals.sum())
        wanted = [end - start for start, end in items[:count]]
        shapes = {"returns": (total, players), "decisions": (count, players), "seconds": (count, players)}
        ours = ["ways"] if hasattr(task.game, "rules") else []
        fits = count > 0 and deals.tolist() == wanted and set(found) == {"deals", *shapes, *ours}
        fits = fits and all(found[name].shape == shape for name, shape in shapes.items())
        kinds = {"returns": "f", "decisions": "i", "seconds": "f"}
        if not fits or any(found[name].dtype.kind != kinds[name] for name in shapes):
            raise ValueError("it is of another match")
        if not np.isfinite(found["returns"]).all() or np.isinf(found["seconds"]).any():
            raise ValueError("it has results that are no numbers")
        final = _final_states(task, items[0][0], found["ways"], total) if ours else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it to play these games again") from None
    cuts = np.cumsum(deals)[:-1]
    states = [None] * count if final is None else np.split(final, cuts)
    returns = np.split(found["returns"], cuts)
    rows = zip(returns, states, found["decisions"], found["seconds"], strict=True)
    return [Games(*row) for row in rows]
