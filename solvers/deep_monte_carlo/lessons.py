"""What Deep Monte Carlo learns from: games between learners and fixed players, and what their decisions were worth.

All values are relative to random play from the same true state, so that they mean the same in every phase:

* *distilled*: the mean return of random playouts after each legal action, minus its mean over these actions;
* *improved*: the same with the network in the seats that learn, and in others those that sit there if they are networks
  too, for a share of the decisions;
* *returns*: what the game brought, minus the mean return of some random playouts from before the decision.

A baseline depends on the true state and never on the action chosen, so that it changes no comparison of actions; it
takes away much of the luck. The hidden cards are looked at here, and here only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from cardtable.randomness import streams
from solvers.learning.actor import Acting, Chunk, Played, play
from solvers.learning.players import network_of
from solvers.learning.playouts import (
    AT_RANDOM,
    network_values,
    random_baselines,
    random_values,
    side_by_side,
    sizes_of,
)

Phase = Literal["distilled", "improved", "returns"]


class Lesson(NamedTuple):
    """Decisions with what they are worth: of each legal action, or of the chosen one alone."""

    states: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # of legal actions
    place: np.ndarray  # of the chosen action
    mind: np.ndarray  # whose decision it was
    targets: np.ndarray  # float32: for all legal actions, one decision after the other; or one for each decision
    decisions: int  # all that were made, also those that are not learnt from
    games: int
    seconds: np.ndarray  # CPU seconds of acting, and of finding out what it was worth


@dataclass
class Lessons:
    """What all chunks share."""

    acting: Acting
    phase: Phase
    playouts: int
    share: float = 1.0  # of the decisions


def collect(shared: Lessons, chunk: Chunk) -> Lesson:
    """Plays a chunk and values its decisions: a pure function of both arguments."""
    start = time.thread_time()
    played = play(shared.acting, chunk)
    middle = time.thread_time()
    rows = np.arange(len(played.states))
    if shared.share < 1.0:
        random = np.random.default_rng([shared.acting.seed, *chunk.path])
        rows = np.flatnonzero(random.random(len(rows)) < shared.share)
    value = _of_returns if shared.phase == "returns" else _of_actions
    targets = value(shared, chunk, played, rows)
    seconds = np.array([middle - start, time.thread_time() - middle])
    chosen = played.states[rows], played.count[rows], played.place[rows], played.mind_of[rows]
    return Lesson(*chosen, targets, len(played.states), chunk.games, seconds)


def _of_actions(shared: Lessons, chunk: Chunk, played: Played, rows: np.ndarray) -> np.ndarray:
    acting = shared.acting
    values = np.zeros((len(rows), acting.rules.num_distinct_actions), np.float32)
    random = streams(acting.seed, (*chunk.path, 2), rows)
    sizes = sizes_of(acting.rules)
    if shared.phase == "distilled":
        random_values(acting.addresses, played.states, rows, shared.playouts, sizes, random, values)
    else:
        networks, minds = _playing(acting, chunk)
        game = (acting.addresses, acting.values[0].features, networks, minds, played.states, rows)
        network_values(*game, shared.playouts, False, sizes, random, values, np.empty_like(values))
    listed = np.arange(values.shape[1]) < played.count[rows, None]
    means = values.sum(axis=1, keepdims=True, where=listed) / played.count[rows, None]
    return (values - means)[listed].astype(np.float32)


def _playing(acting: Acting, chunk: Chunk) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Who plays where in playouts: the learner, fixed networks that are told the same, random players for others."""
    networks, minds = [acting.values[0]], []
    for player in acting.seatings[chunk.seating]:
        own = acting.values[0] if player is None else network_of(player)
        if own is None or own.kind != acting.values[0].kind:
            minds.append(AT_RANDOM)
            continue
        if own not in networks:
            networks.append(own)
        minds.append(networks.index(own))
    return side_by_side(networks), np.tile(np.array(minds, np.int64), (len(minds), 1))


def _of_returns(shared: Lessons, chunk: Chunk, played: Played, rows: np.ndarray) -> np.ndarray:
    acting = shared.acting
    found = played.returns[played.game_of[rows], played.seat_of[rows]].astype(np.float32)
    if shared.playouts:
        baselines = np.empty(len(rows), np.float32)
        random = streams(acting.seed, (*chunk.path, 2), rows)
        sizes = sizes_of(acting.rules)
        random_baselines(acting.addresses, played.states, rows, shared.playouts, sizes, random, baselines)
        found -= baselines
    return found
