"""Alpha-mu on endings of Coinche: a cure for strategy fusion, in plain Python, to see whether it is worth compiling.

Averaging over worlds solved with open cards believes that the player will know the world at the next own decision
(strategy fusion). Cazenave and Ventos, "The alpha-mu search algorithm for the game of bridge" (2019), search M own
moves ahead in which one card must serve all worlds that cannot be told apart. The value of a node is a set of vectors,
a bit for each world that is won, of which none is below another (a Pareto front):

* own decision: the union of the fronts behind the cards;
* opponents: all ways to take one vector behind each of their cards, world by world the minimum over the cards that are
  possible in that world: they are thought to see all hands;
* the partner: the same with the maximum. Here, unlike in bridge, nobody plays the partner's cards: as in averaging, the
  partner is thought to see all hands;
* after M own moves, or at the end: the one vector that open cards give.

M = 1 is plain averaging over worlds. A card is worth the number of worlds of its best vector; of equals the one with
more points in the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cardtable.rules import TERMINAL
from cardtable.spiel import CardGame
from coinche_spiel import state as slots
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.double_dummy import solve_batch, solve_cards_batch
from coinche_spiel.double_dummy.positions import NO_CARD
from coinche_spiel.scoring import is_made

Member = tuple[int, np.ndarray]  # a world's number, and the position in it


class AlphaMu:
    """The decisions of one seat; worlds are states that differ in the hidden hands only."""

    def __init__(self, game: CardGame, moves: int) -> None:
        self._kernel, self._moves = game.rules.kernel, moves
        self._actions = np.empty(game.num_distinct_actions(), np.int64)

    def choose(self, worlds: np.ndarray) -> tuple[int, dict[int, float]]:
        """The best card in these worlds, and in what share of them each card wins."""
        seat = int(worlds[0, slots.TURN])
        legal = self._legal(worlds[0])
        points = self._points_of_cards(worlds, seat)
        if self._moves == 1:
            won = {card: self._wins(worlds, points[:, card], seat).mean() for card in legal}
        else:
            members = list(enumerate(worlds))
            won = {}
            for card in legal:
                front = self._front(self._after(members, card), seat, self._moves - 1)
                won[card] = max(map(int.bit_count, front)) / len(worlds)
        best = max(legal, key=lambda card: (won[card], points[:, card].mean()))
        return best, won

    def _legal(self, state: np.ndarray) -> list[int]:
        return self._actions[: self._kernel.legal_actions(state, self._actions)].tolist()

    def _after(self, members: Sequence[Member], card: int) -> list[Member]:
        found = []
        for number, state in members:
            child = state.copy()
            self._kernel.apply_action(child, card)
            found.append((number, child))
        return found

    def _front(self, members: Sequence[Member], seat: int, moves: int) -> list[int]:
        """Vectors of the worlds that are won, as bits."""
        player = int(self._kernel.current_player(members[0][1]))
        everywhere = sum(1 << number for number, _ in members)
        if player == TERMINAL:
            return [sum(1 << number for number, state in members if _is_won(state, seat))]
        if player == seat:
            if moves == 0:
                states = np.stack([state for _, state in members])
                won = self._wins(states, open_points(states, seat), seat)
                return [sum(1 << number for (number, _), wins in zip(members, won, strict=True) if wins)]
            union = [
                vector
                for card in self._legal(members[0][1])
                for vector in self._front(self._after(members, card), seat, moves - 1)
            ]
            return pareto(union)
        possible: dict[int, list[Member]] = {}
        for number, state in members:
            for card in self._legal(state):
                possible.setdefault(card, []).append((number, state))
        partner = (player ^ seat) & 1 == 0
        front = [0] if partner else [everywhere]
        for card, held in possible.items():
            here = sum(1 << number for number, _ in held)
            behind = self._front(self._after(held, card), seat, moves)
            if partner:
                front = pareto([vector | (other & here) for vector in front for other in behind])
            else:
                front = pareto([vector & (other | ~here) for vector in front for other in behind])
        return front

    def _points_of_cards(self, worlds: np.ndarray, seat: int) -> np.ndarray:
        """(worlds, cards): points of the seat's side from the current trick on, perfect play after the card."""
        north_south = solve_cards_batch(*placed(worlds)).astype(np.float64)
        return north_south if seat & 1 == 0 else left_of(worlds)[:, None] - north_south

    def _wins(self, states: np.ndarray, own: np.ndarray, seat: int) -> np.ndarray:
        """Where the seat's side reaches what it wants with so many points from the current trick on."""
        attack = int(slots.attacking_team(states[0]))
        before, value = states[:, slots.POINTS + attack], int(slots.contract_value(states[0]))
        if seat & 1 == attack:
            return before + own >= value
        return before + left_of(states) - own < value


def _is_won(state: np.ndarray, seat: int) -> bool:
    return bool(is_made(state)) == (int(slots.attacking_team(state)) == seat & 1)


def pareto(vectors: Sequence[int]) -> list[int]:
    """Those that are not contained in another."""
    kept: list[int] = []
    for vector in sorted(set(vectors), key=lambda bits_of: -bits_of.bit_count()):
        if all(vector & ~other for other in kept):
            kept.append(vector)
    return kept


def placed(states: np.ndarray) -> tuple[np.ndarray, int, int, np.ndarray]:
    """Hands, trump, leader and trick of positions with the same cards played, as the solver wants them."""
    first = states[0]
    played = int(first[slots.CARDS_PLAYED]) % 4
    trick = np.full((len(states), 3), NO_CARD, np.int64)
    for index in range(played):
        trick[:, index] = int(slots.played_card(first, int(first[slots.CARDS_PLAYED]) - played + index))
    leader = (int(first[slots.TURN]) - played) % 4
    return states[:, slots.HAND : slots.HAND + 4], int(first[slots.TRUMP]), leader, trick


def left_of(states: np.ndarray) -> np.ndarray:
    """The points from the current trick on: the same in all worlds."""
    taken = int(states[0, slots.POINTS] + states[0, slots.POINTS + 1])
    return np.full(len(states), TOTAL_POINTS - taken)


def open_points(states: np.ndarray, seat: int) -> np.ndarray:
    """Points of the seat's side from the current trick on, all hands open."""
    north_south = solve_batch(*placed(states))
    return north_south if seat & 1 == 0 else left_of(states) - north_south


def cards_held(state: np.ndarray) -> int:
    return int(state[slots.HAND + int(state[slots.TURN])]).bit_count()
