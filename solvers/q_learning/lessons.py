"""What Double DQN learns from: the transitions of a player from one of her decisions to the next.

A return that comes at the end of a long game is hard to learn from. Rewards are therefore made of a potential (Ng,
Harada and Russell, "Policy invariance under reward transformations", 1999): Phi is the mean return of some random
playouts from the true state, and a transition pays Phi(next decision) - Phi(this one); the last one pays the return
itself less Phi. The best play stays what it was, and values mean what they mean in Deep Monte Carlo: what is won
relative to random play.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cardtable.randomness import streams
from solvers.learning.actor import Acting, Chunk, play
from solvers.learning.playouts import random_baselines, sizes_of


class Transitions(NamedTuple):
    """Row i: a decision, what was paid until the next of the same player, and that next one."""

    state: np.ndarray
    place: np.ndarray  # of the chosen action
    count: np.ndarray  # type: ignore[assignment]  # of legal actions
    reward: np.ndarray
    next: np.ndarray
    next_count: np.ndarray  # 0: there was no further decision
    mind: np.ndarray  # who decided
    games: int
    seconds: np.ndarray  # CPU seconds of acting, and of playouts


@dataclass
class Lessons:
    """What all chunks share."""

    acting: Acting
    playouts: int


def collect(shared: Lessons, chunk: Chunk) -> Transitions:
    """Plays a chunk: a pure function of both arguments."""
    start = time.thread_time()
    acting = shared.acting
    played = play(acting, chunk)
    middle = time.thread_time()
    # One player's decisions in a game stand together, in the order in which they were made.
    order = np.lexsort((np.arange(len(played.states)), played.seat_of, played.game_of))
    states, game_of, seat_of = played.states[order], played.game_of[order], played.seat_of[order]
    potential = np.zeros(len(order), np.float32)
    if shared.playouts:
        random = streams(acting.seed, (*chunk.path, 2), range(len(order)))
        rows, sizes = np.arange(len(order)), sizes_of(acting.rules)
        random_baselines(acting.addresses, states, rows, shared.playouts, sizes, random, potential)
    goes_on = np.zeros(len(order), np.bool_)
    goes_on[:-1] = (game_of[1:] == game_of[:-1]) & (seat_of[1:] == seat_of[:-1])
    after = np.where(goes_on, np.roll(potential, -1), played.returns[game_of, seat_of])
    count = played.count[order]
    next_states = np.where(goes_on[:, None], np.roll(states, -1, axis=0), states)
    return Transitions(
        states,
        played.place[order],
        count,
        (after - potential).astype(np.float32),
        next_states,
        np.where(goes_on, np.roll(count, -1), 0),
        played.mind_of[order],
        chunk.games,
        np.array([middle - start, time.thread_time() - middle]),
    )
