"""Makes the networks of Gongzhu's expert, stage by stage; every stage leaves files, and is not done again.

1. *Distillation*: games of the flat Monte Carlo player with Mr. Team's rollouts; the network learns what it finds every
   legal card to be worth.
2. *Iterations*: the same with the network's own rollouts in the place of Mr. Team's, from where the network stands.
3. *Clone*: the network's shape again, learning what Mr. Greed plays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.executors import Executor
from cardtable.files import read_arrays, read_tensors, write_arrays, write_tensors
from cardtable.parameters import UserError
from cardtable.player import compiled_players, find_player, legal_mask
from cardtable.search.flat import FlatSearch
from cardtable.search.networks import require_network
from cardtable.spiel import CardGame
from cardtable.ways import walked, ways_to
from gongzhu_spiel.network import pack
from gongzhu_spiel.rollouts import flat_rows
from solvers.imitation.examples import Examples, Teacher, taught
from solvers.imitation.fitting import FitSettings, fit
from solvers.learning.settings import check_fields, setting

PART = 512  # games of a file of examples
NETWORK, CLONE = "network.safetensors", "greed.safetensors"
CLONE_STAGE = "clone of Mr. Greed"
Tensors = dict[str, np.ndarray]


@dataclass(frozen=True)
class ExpertSettings:
    games: int = setting(8000, "of flat Monte Carlo, to distil", lowest=64, seconds_each=1e-4)
    worlds: int = setting(20, "of every decision in them", lowest=1, seconds_each=1e-4)
    iterations: int = setting(2, "with the network's own rollouts", lowest=0, seconds_each=1e-2)
    iteration_games: int = setting(8000, "of each iteration", lowest=64, seconds_each=1e-4)
    clone_games: int = setting(8000, "of Mr. Greed, to clone", lowest=64, seconds_each=1e-5)
    exploration: float = setting(0.08, "share of moves that are anything legal, while examples are made")
    epochs: int = setting(12, "times that all examples are gone through", lowest=1, seconds_each=1e-5)

    def __post_init__(self) -> None:
        check_fields(self)


class Workshop:
    """Where the networks are made: one folder, one seed."""

    def __init__(self, game: CardGame, folder: Path, settings: ExpertSettings, seed: int, executor: Executor) -> None:
        self.game, self.folder, self.settings, self.seed, self.executor = game, folder, settings, seed, executor

    def make(self, tell: Callable[[str, dict[str, Any]], None], told: Collection[str]) -> dict[str, Tensors]:
        """All networks; `tell` hears of every stage that was done, with its figures. Those `told` of
        are read again, if they are still there."""
        tensors: Tensors = {}
        for number in range(self.settings.iterations + 1):
            tensors = self._stage(number, tensors, tell, told)
        return {NETWORK: tensors, CLONE: self._clone(tell, told)}

    def _stage(
        self, number: int, before: Tensors, tell: Callable[[str, dict[str, Any]], None], told: Collection[str]
    ) -> Tensors:
        name = f"network_{number}"
        file = self.folder / f"{name}.safetensors"
        if name in told and file.exists():
            return self._former(file)
        start = time.process_time()
        games = self.settings.iteration_games if number else self.settings.games
        teacher = Teacher(
            self.game,
            values_rows=own_rollouts(before, self.settings.worlds) if number else self._distilled(),
            exploration=self.settings.exploration,
            seed=self.seed + 1000 * number,
        )
        examples = self._examples(f"examples_{number}", teacher, games)
        made = time.process_time()
        fitted = FitSettings(epochs=self.settings.epochs, learning_rate=0.0015 if number else 0.003)
        tensors, known = fit(self.game, examples, "values", fitted, self.seed, before or None)
        write_tensors(file, tensors)
        seconds = {"play_seconds": made - start, "fit_seconds": time.process_time() - made}
        tell(name, {"decisions": len(examples.states), **seconds, **known})
        return tensors

    def _clone(self, tell: Callable[[str, dict[str, Any]], None], told: Collection[str]) -> Tensors:
        file = self.folder / CLONE
        if CLONE_STAGE in told and file.exists():
            return self._former(file)
        start = time.process_time()
        greed = find_player("greed", self.game)
        teacher = Teacher(self.game, greed, exploration=self.settings.exploration, seed=self.seed + 500)
        examples = self._examples("examples_greed", teacher, self.settings.clone_games)
        made = time.process_time()
        tensors, known = fit(self.game, examples, "choices", FitSettings(epochs=self.settings.epochs), self.seed)
        write_tensors(file, tensors)
        seconds = {"play_seconds": made - start, "fit_seconds": time.process_time() - made}
        tell(CLONE_STAGE, {"decisions": len(examples.states), **seconds, **known})
        return tensors

    def _former(self, file: Path) -> Tensors:
        tensors = read_tensors(file, "a network of a former stage")
        require_network(self.game.rules, tensors, str(file))
        return tensors

    def _distilled(self) -> Callable:
        team = compiled_players(self.game)["team"].compiled
        return FlatSearch(self.game, self.settings.worlds, team).values_rows

    def _examples(self, name: str, teacher: Teacher, games: int) -> Examples:
        """Examples, filed in parts: what an interrupted run has played is not played again."""
        parts = []
        for first in range(0, games, PART):
            file = self.folder / f"{name}_{first // PART}.npz"
            if not file.exists():
                save_examples(
                    file, self.game, taught(teacher, range(first, min(first + PART, games)), self.executor, name)
                )
            parts.append(load_examples(file, self.game, teacher.values_rows is not None))
        return Examples(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def save_examples(file: Path, game: CardGame, examples: Examples) -> None:
    write_arrays(file, {"ways": ways_to(game.rules, examples.states), "targets": examples.targets})


def load_examples(file: Path, game: CardGame, of_values: bool) -> Examples:
    """Examples that were filed, of values or of choices; UserError if they are others."""
    found = read_arrays(file, "examples of an interrupted run")
    rules = game.rules
    try:
        states = walked(rules, found.get("ways", np.empty(0)), PART * rules.max_game_length)
        targets = found.get("targets", np.empty(0))
        legal = legal_mask(rules, states, np.arange(len(states)))
        if targets.dtype != (np.float32 if of_values else np.int64) or targets.shape[:1] != (len(states),):
            raise ValueError("they are others")
        if not legal.any(axis=1).all():
            raise ValueError("there are positions in which nobody is to move")
        told = np.isfinite(targets) if of_values else np.arange(legal.shape[1]) == targets[:, None]
        if told.shape != legal.shape or (told & ~legal).any() or not told.any(axis=1).all() or np.isinf(targets).any():
            raise ValueError("they are not about what is legal")
    except ValueError as error:
        raise UserError(f"{file} is damaged ({error}); delete it to play these games again") from None
    return Examples(states, targets)


def own_rollouts(tensors: Tensors, worlds: int) -> Callable:
    """values_rows(states, rows, streams) by the network's own rollouts."""
    weights = pack(tensors)

    def values_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        values = np.full((len(rows), 52), np.nan)
        flat_rows(weights, worlds, states, rows, streams, values)
        return values

    return values_rows
