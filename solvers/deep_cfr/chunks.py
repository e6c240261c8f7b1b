"""Chunks of traversals as pieces of work: a pure function of the game, the settings, the weights, a seat and a seed.

In this process a chunk is traversed with the trainer's own networks. On its way to another process `Traversals` becomes
text, settings and weights, from which networks are made there that give the same numbers, bit by bit.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel
import torch

from cardtable.player import Player
from cardtable.rules import Rules
from cardtable.spiel import load_game
from solvers.deep_cfr.levels import Collected, LevelTraverser, chunk_generator
from solvers.deep_cfr.sampling import traversal_number
from solvers.deep_cfr.settings import Settings, find_device
from solvers.deep_cfr.trainer import networks_of_seats
from solvers.learning.networks import Learner

Seats = tuple[Player | None, ...]  # None: a seat that learns
Pool = tuple[Player, ...]  # who may sit against the traverser for a chunk


class Chunk(NamedTuple):
    """Some traversals of one seat; `path` is where their random numbers come from, `company` who else sits there."""

    seat: int
    traversals: int
    path: tuple[int, ...]
    company: int = 0


class Traversals:
    """What all chunks share: the game, how it is traversed, and the networks of the moment."""

    def __init__(
        self,
        game: pyspiel.Game,
        settings: Settings,
        opponents: Seats,
        pool: Pool,
        seed: int,
        here: LevelTraverser,
    ) -> None:
        self._game, self._settings, self._opponents, self._pool, self._seed = game, settings, opponents, pool, seed
        self._traverser = here
        self.is_elsewhere = False

    def __reduce__(self) -> tuple:
        weights = [learner.weights() for learner in self._traverser.learners]
        return _rebuilt, (str(self._game), self._settings, self._opponents, self._pool, self._seed, weights)

    def collect(self, chunk: Chunk) -> Collected:
        stream = chunk_generator(self._seed, *chunk.path)
        found = self._traverser.traverse(chunk.seat, chunk.traversals, stream, chunk.company)
        return found._replace(is_elsewhere=self.is_elsewhere)


def traverse(shared: Traversals, chunk: Chunk) -> Collected:
    with _one_thread():
        return shared.collect(chunk)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Networks are evaluated on one thread: torch's own would make sums depend on how many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def make_learner(
    rules: Rules, settings: Settings, hidden: Sequence[int], rate: float, start: torch.Generator
) -> Learner:
    return Learner(
        rules.information_size,
        hidden,
        rules.num_distinct_actions,
        rate,
        start,
        find_device(settings.device),
        settings.skip_connections,
        settings.layer_norm,
        settings.mixed_precision,
        settings.negative_slope,
    )


def make_traverser(
    rules: Rules,
    settings: Settings,
    learners: Sequence[Learner],
    opponents: Sequence[Player | None],
    pool: Sequence[Player] = (),
) -> LevelTraverser:
    return LevelTraverser(
        rules,
        learners,
        networks_of_seats(settings.networks, rules.num_players, rules.teams),
        [None if player is None else player.compiled for player in opponents],
        traversal_number(settings.traversal),
        settings.tries,
        settings.epsilon,
        settings.node_budget,
        settings.width,
        pool=[player.compiled for player in pool if player.compiled is not None],
    )


def _rebuilt(
    game: str, settings: Settings, opponents: Seats, pool: Pool, seed: int, weights: list[np.ndarray]
) -> Traversals:
    loaded, traverser = _made_here(game, settings, opponents, pool)
    for learner, own in zip(traverser.learners, weights, strict=True):
        learner.set_weights(own)
    found = Traversals(loaded, settings, opponents, pool, seed, traverser)
    found.is_elsewhere = True
    return found


@functools.lru_cache(maxsize=1)  # a player that was sent here twice is the same object
def _made_here(game: str, settings: Settings, opponents: Seats, pool: Pool) -> tuple[pyspiel.Game, LevelTraverser]:
    loaded = load_game(game)
    rules = loaded.rules
    count = max(networks_of_seats(settings.networks, rules.num_players, rules.teams)) + 1
    start = torch.Generator()
    learners = [make_learner(rules, settings, settings.hidden_sizes, 1.0, start) for _ in range(count)]
    return loaded, make_traverser(rules, settings, learners, opponents, pool)
