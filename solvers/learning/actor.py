"""The batched actor: many games in lock step, between minds that learn and players who do not.

Compiled code deals, plays forced moves and the moves of compiled players, encodes and evaluates positions, and chooses;
players who answer in rows are asked for all games at once. A seat that learns is played by a *mind*: a network with
exploration. Where there are several (NFSP has two), each seat of each game draws one and keeps it to the end; a mind
may also be that of one seat alone.

A chunk of games is a pure function of what is shared and of its own path of random numbers: how the work is cut, and
who does it, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numba import types

from cardtable.compiled import compiled, entry_point
from cardtable.parameters import UserError
from cardtable.randomness import below, lot, streams, uniform
from cardtable.rows import deal_rows, returns_of_rows
from cardtable.rules import (
    ADDRESSES,
    INTEGERS,
    STATES,
    STREAMS,
    TERMINAL,
    kernel_at,
)
from cardtable.search.action_values import TENSORS, ActionValues, Shape
from cardtable.spiel import CardGame, load_game
from solvers.learning.company import Company, Seating, require_seating

LOTS = 1 << 20  # shares of minds are rounded to this


class Chunk(NamedTuple):
    """Some games; `path` is where their random numbers come from."""

    games: int
    seating: int  # which of the seatings
    path: tuple[int, ...]


class Mind(NamedTuple):
    """How a learner plays: mostly what its network values most, or drawn from the softmax of its values."""

    shape: Shape
    weights: np.ndarray
    kind: str = "features"  # what the network is told; see `cardtable.features`
    epsilon: float = 0.0  # how often an action is drawn at random instead
    softmax: bool = False
    share: float = 1.0  # how likely a seat is to be played by it
    seat: int | None = None  # the only one that it plays; None: any


@dataclass
class Played:
    """Finished games: every decision of a seat that learns, game by game in the order in which they were made."""

    states: np.ndarray  # (decisions, state_size): the positions
    game_of: np.ndarray
    seat_of: np.ndarray
    place: np.ndarray  # of the chosen action among the legal ones
    count: np.ndarray  # of legal actions
    mind_of: np.ndarray
    returns: np.ndarray  # (games, players)


class Acting:
    """What all chunks share: the game, the minds and the seatings."""

    def __init__(self, game: CardGame, minds: Sequence[Mind], seatings: Sequence[Seating], seed: int) -> None:
        require_seatings(game, seatings)
        self.game, self.minds, self.seatings, self.seed = game, tuple(minds), tuple(seatings), seed
        self.rules = game.rules
        self.values = [ActionValues(game.rules, mind.shape, mind.weights, mind.kind) for mind in self.minds]
        self.addresses = game.rules.compiled_kernel().addresses()

    def __reduce__(self) -> tuple:
        return _acting_again, (str(self.game), self.minds, self.seatings, self.seed)


def _acting_again(game: str, *rest: Any) -> Acting:
    return Acting(load_game(game), *rest)


def require_seatings(game: pyspiel.Game, seatings: Sequence[Seating]) -> None:
    """UserError unless there is one, and each has a place for everybody and one for somebody who learns."""
    if not seatings:
        raise UserError("there is no seating; allowed: one or more")
    for seating in seatings:
        require_seating(game, seating)


def play(acting: Acting, chunk: Chunk) -> Played:
    """Plays the games of a chunk to their end."""
    rules, seating, seed, path = acting.rules, acting.seatings[chunk.seating], acting.seed, chunk.path
    games, players = range(chunk.games), rules.num_players
    cards = streams(seed, (*path, 0), games)
    own = np.stack([streams(seed, (*path, 1, seat), games) for seat in range(players)], axis=1)
    mind_of = np.stack([_drawn_minds(acting.minds, seat, own[:, seat]) for seat in range(players)], axis=1)
    states = np.empty((chunk.games, rules.state_size), np.int64)
    deal_rows(acting.addresses, rules.root, states, np.arange(chunk.games), cards)
    company = Company(rules, seating)
    found: list[tuple[np.ndarray, ...]] = []
    while True:
        turn = company.play_on(states, cards, own)
        learning = np.flatnonzero(turn != TERMINAL)
        if len(learning) == 0:
            break
        for number in range(len(acting.minds)):
            rows = learning[mind_of[learning, turn[learning]] == number]
            if len(rows):
                found.append(_decide(acting, number, states, rows, own, turn))
    returns = np.empty((chunk.games, players))
    returns_of_rows(acting.addresses, states, returns)
    if not found:  # nobody who learns ever had a choice
        empty = np.empty(0, np.int64)
        return Played(np.empty((0, rules.state_size), np.int64), empty, empty, empty, empty, empty, returns)
    joined = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    order = np.argsort(joined[1], kind="stable")
    before, game_of, seat_of, place, count, minds = (part[order] for part in joined)
    return Played(before, game_of, seat_of, place, count, minds, returns)


def _drawn_minds(minds: Sequence[Mind], seat: int, own: np.ndarray) -> np.ndarray:
    """The mind of a seat in each game, from the part of its stream that does not change."""
    fit = np.array([number for number, mind in enumerate(minds) if mind.seat in (None, seat)])
    if len(fit) == 1:
        return np.full(len(own), fit[0])
    limits = np.cumsum([minds[number].share for number in fit])
    return fit[np.searchsorted(limits / limits[-1], (lot(own, LOTS) + 0.5) / LOTS)]


def _decide(
    acting: Acting, number: int, states: np.ndarray, rows: np.ndarray, own: np.ndarray, turn: np.ndarray
) -> tuple[np.ndarray, ...]:
    """A mind decides in some rows; returns what is remembered of it, in the order of `Played`."""
    mind, before = acting.minds[number], states[rows]
    actions, counts, values = acting.values[number](states, rows)
    places = np.empty(len(rows), np.int64)
    seats = turn[rows]
    asked = own[rows, seats]
    _choose_places(counts, values, mind.epsilon, mind.softmax, asked, places)
    own[rows, seats] = asked
    _apply_rows(acting.addresses, states, rows, actions[np.arange(len(rows)), places])
    return before, rows, seats, places, counts, np.full(len(rows), number)


@entry_point(ADDRESSES, STATES, INTEGERS, INTEGERS, nogil=True)
def _apply_rows(addresses, states, rows, chosen):
    kernel = kernel_at(addresses)
    for index in range(len(rows)):
        kernel.apply_action(states[rows[index]], chosen[index])


@entry_point(INTEGERS, TENSORS, types.float64, types.boolean, STREAMS, INTEGERS, nogil=True)
def _choose_places(counts, values, epsilon, softmax, streams, places):
    """A place among the legal actions of each row: the best value, or one drawn."""
    for index in range(len(counts)):
        n = counts[index]
        if epsilon > 0.0 and uniform(streams[index]) < epsilon:
            places[index] = below(streams[index], n)
        elif softmax:
            places[index] = draw_softmax(values[index], n, streams[index])
        else:
            places[index] = best_place(values[index], n)


@compiled
def best_place(values, n):
    """The first of the highest of n values."""
    best = 0
    for place in range(1, n):
        if values[place] > values[best]:
            best = place
    return best


@compiled
def draw_softmax(values, n, generator):
    """A place drawn with probabilities proportional to the exponentials of the values."""
    highest = values[best_place(values, n)]
    total = 0.0
    for place in range(n):
        total += np.exp(values[place] - highest)
    left = uniform(generator) * total
    for place in range(n - 1):
        left -= np.exp(values[place] - highest)
        if left < 0.0:
            return place
    return n - 1
