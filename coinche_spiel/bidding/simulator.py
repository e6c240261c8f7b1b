"""The simulating bidder for Python: a call with what it thinks of all calls it has tried; and the player `caller`.

`caller` is the fast bidder with the numbers for searched cards, and with `worlds` the simulating one; its cards are
those of `strong`. Whoever searches for cards takes calls from it.
"""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.features import encoding_at
from cardtable.parameters import require_number, require_whole
from cardtable.player import Explanation, Player, compiled_player
from cardtable.rules import GENERATOR, INTEGERS, PROBABILITIES, STATE, STATES
from cardtable.spiel import CardGame
from coinche_spiel.auction import legal_calls
from coinche_spiel.bidding.explaining import learnt_values
from coinche_spiel.bidding.players import caller_player
from coinche_spiel.bidding.shipped import numbers_for
from coinche_spiel.bidding.simulation import CAUTION, UNKNOWN, Room, choose_among, difference, new_room, simulate
from coinche_spiel.bidding.tricks import SHIPPED_TYPES, new_cardplayer, shipped_network
from coinche_spiel.cards import NUM_SUITS
from coinche_spiel.double_dummy.search import Workspace, new_workspace
from coinche_spiel.players import strong_card
from coinche_spiel.state import BIDDING, CAPOT, FIRST_BID, NUM_ACTIONS, PHASE

WORLDS = 60
BATCH = 32  # games played side by side: each call is slow
DRAWN_EACH = 20  # worlds that are drawn for each that is kept
MOST_WORLDS = 100_000

MATRIX = types.Array(types.float64, 2, "C")
WORKSPACE_TYPE = types.Tuple((INTEGERS,) * len(Workspace._fields))
ROOM_TYPE = types.Tuple(
    (
        MATRIX,
        STATES,
        PROBABILITIES,
        PROBABILITIES,
        STATES,
        PROBABILITIES,
        MATRIX,
        INTEGERS,
        INTEGERS,
        STATE,
        STATES,
        PROBABILITIES,
        INTEGERS,
        PROBABILITIES,
    )
)


class Simulator:
    """Calls by simulation, with a fixed number of worlds. It has memory of its own for each thread."""

    def __init__(self, state_size: int, worlds: int = WORLDS, caution: float = CAUTION) -> None:
        require_whole("worlds", worlds, 2, MOST_WORLDS)
        require_number("caution", caution, 0.0)
        self._state_size, self._worlds, self._caution = state_size, worlds, caution
        self._of_thread = threading.local()

    def _memory(self) -> tuple[Workspace, Room]:
        if not hasattr(self._of_thread, "memory"):
            room = new_room(self._state_size, DRAWN_EACH * self._worlds, self._worlds)
            self._of_thread.memory = (new_workspace(), room)
        return self._of_thread.memory

    def _ask(self, state: np.ndarray, stream: np.ndarray) -> tuple[int, int, Room]:
        """The call to make, how many were tried (one alone is not), and what was found."""
        work, room = self._memory()
        call, n = _choose(*shipped_network(), tuple(work), tuple(room), self._caution, state, stream)
        return int(call), int(n), room

    def choose(self, state: np.ndarray, stream: np.ndarray) -> int:
        """The call for the seat to move."""
        return self._ask(state, stream)[0]

    def best_change(self, state: np.ndarray, stream: np.ndarray) -> tuple[int, float, float]:
        """The call to make; by how much it is better than the fast bidder's, and the standard error of that."""
        call, n, room = self._ask(state, stream)
        place = room.calls[:n].tolist().index(call)
        return call, *(difference(room.results, place, 0) if place else (0.0, 0.0))

    def promised_capots(self, state: np.ndarray, stream: np.ndarray) -> dict[int, float]:
        """For each suit in which a capot would be tried, the share of worlds in which open cards promise it."""
        _, n, room = self._ask(state, stream)
        suits = room.calls[: n if n > 1 else 0] - (FIRST_BID + NUM_SUITS * CAPOT)
        return {int(suit): float(room.capots[suit]) for suit in suits if 0 <= suit < NUM_SUITS}

    def last_open_points(self) -> np.ndarray:
        """What North and South take with open cards: in each world and trump that the last question needed."""
        points = self._memory()[1].points
        return points[points != UNKNOWN]

    def explain(self, state: np.ndarray, stream: np.ndarray) -> Explanation:
        """Value and standard error of every legal call; calls that are not sensible have the lowest value of all.

        The call that is made need not have the highest value: it is the fast bidder's, unless another is surely better.
        """
        _, n, room = self._ask(state, stream)
        legal = np.empty(NUM_ACTIONS, np.int64)
        actions = legal[: legal_calls(state, legal)].copy()
        values, errors = np.full(len(actions), -np.inf), np.zeros(len(actions))
        tried = room.calls[:n].tolist()
        means = room.results[:, :n].mean(axis=0) if n > 1 else np.zeros(1)
        best = int(np.argmax(means))
        for place, call in enumerate(tried):
            at = int(np.flatnonzero(actions == call)[0])
            values[at] = means[place]
            errors[at] = difference(room.results, best, place)[1] if n > 1 else 0.0
        known = np.isfinite(values)
        values[~known] = values[known].min()
        errors[~known] = errors[known].max()
        return Explanation(actions, values=values, errors=errors, tried=known)


def caller(game: CardGame, worlds: int = WORLDS, caution: float = CAUTION) -> Player:
    """Simulated calls, in so many worlds (0: the fast bidder), and the cards of `strong`."""
    require_whole("worlds", worlds, 0, MOST_WORLDS)
    fast = compiled_player("caller", game, caller_player)
    simulator = Simulator(game.rules.state_size, worlds, caution) if worlds else None

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        chosen = fast.choose_rows(states, rows, streams)  # type: ignore[misc]
        assert simulator is not None
        for index in np.flatnonzero(states[rows, PHASE] == BIDDING):
            chosen[index] = simulator.choose(states[rows[index]], streams[index])
        return chosen

    def explain_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        found = []
        for row, stream in zip(rows, streams, strict=True):
            if states[row, PHASE] == BIDDING:
                found.append(simulator.explain(states[row], stream) if simulator else learnt_values(states[row]))
                continue
            legal = np.empty(NUM_ACTIONS, np.int64)
            actions = legal[: game.rules.kernel.legal_actions(states[row], legal)].copy()
            found.append(Explanation(actions, probabilities=(actions == strong_card(states[row])).astype(float)))
        return found

    if simulator is None:
        return dataclasses.replace(fast, explain_rows=explain_rows)
    return Player("caller", game, choose_rows=choose_rows, explain_rows=explain_rows, batch_size=BATCH)


@entry_point(*SHIPPED_TYPES, WORKSPACE_TYPE, ROOM_TYPE, types.float64, STATE, GENERATOR, nogil=True)
def _choose(features, network, work_, room_, caution, state, stream):
    """The call to make, and how many were tried."""
    work, room = Workspace(*work_), Room(*room_)
    player = new_cardplayer(encoding_at(features), network)
    n = simulate(state, numbers_for(state), player, work, stream, room)
    place = choose_among(n, room, caution) if n > 1 else 0
    return room.calls[place], n
