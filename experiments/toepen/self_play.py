"""Games of a policy of Toepen against itself, step by step and all at once, and what is seen in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cardtable import deck
from cardtable.player import Player
from cardtable.randomness import generator
from cardtable.rules import CHANCE
from cardtable.spiel import CardGame
from toepen_spiel import state as slots
from toepen_spiel.rules import beats


class LastBets(NamedTuple):
    """One entry for each chance to bet before the very last card."""

    stake: np.ndarray
    wins: np.ndarray  # whether the last card wins
    bet: np.ndarray
    called: np.ndarray

    def by_stake(self) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Chances to bet, bets and calls, of those who lose and of those who win."""
        found = {}
        for stake in np.unique(self.stake).tolist():
            here = self.stake == stake
            found[int(stake)] = tuple(
                np.array([(here & of & (self.wins == wins)).sum() for wins in (False, True)])
                for of in (np.ones(len(here), bool), self.bet, self.called)
            )
        return found  # type: ignore[return-value]


class Played(NamedTuple):
    states: np.ndarray  # at the end
    points: np.ndarray  # of the first player
    last_bets: LastBets

    def lead(self) -> tuple[float, float]:
        """What the first player wins, and its standard error."""
        return float(self.points.mean()), float(self.points.std(ddof=1) / len(self.points) ** 0.5)

    @property
    def ended_by_a_fold(self) -> float:
        cards = 2 * self.states[:, slots.HAND_SIZE]
        return float((self.states[:, slots.CARDS_PLAYED] < cards).mean())

    @property
    def mean_stake(self) -> float:
        return float(self.states[:, slots.ANTE].mean())

    def values(self, hands: np.ndarray, seat: int) -> np.ndarray:
        """What hands, one of each orbit of suits, won on average in a seat; nan if they were not dealt."""
        suits, ranks = int(self.states[0, slots.SUITS]), int(self.states[0, slots.RANKS])
        points = self.points if seat == 0 else -self.points
        sums: dict[int, list[float]] = {}
        for pattern, won in zip(_patterns(self.states[:, deck.DEALT + seat], suits, ranks), points, strict=True):
            entry = sums.setdefault(int(pattern), [0.0, 0.0])
            entry[0] += won
            entry[1] += 1
        asked_for = _patterns(hands, suits, ranks)
        return np.array([sums[one][0] / sums[one][1] if one in sums else np.nan for one in asked_for.tolist()])


def _patterns(hands: np.ndarray, suits: int, ranks: int) -> np.ndarray:
    """Equal for hands that differ by the names of suits only."""
    by_suit = np.stack([hands >> suit * ranks & (1 << ranks) - 1 for suit in range(suits)], axis=1)
    return (np.sort(by_suit, axis=1) << ranks * np.arange(suits)).sum(axis=1)


def play(game: CardGame, player: Player, games: int, seed: int) -> Played:
    """So many games, all of them one step at a time."""
    rules, rng, cards = game.rules, np.random.default_rng(seed), generator(seed)
    states = np.stack([rules.new_state() for _ in range(games)])
    for state in states:
        rules.kernel.deal(state, cards)
    found: dict[int, list[Any]] = {}
    going = np.arange(games)
    while len(going):
        chances = _probabilities(player, states, going)
        drawn = (np.cumsum(chances, axis=1) < rng.random((len(going), 1)) * chances.sum(axis=1, keepdims=True)).sum(
            axis=1
        )
        for row, action in zip(going.tolist(), drawn.tolist(), strict=True):
            state = states[row]
            _look_at_the_last_bet(state, int(action), row, found)
            rules.kernel.apply_action(state, int(action))
        going = going[states[going, slots.PHASE] != slots.OVER]
    points = np.empty((games, 2))
    for state, out in zip(states, points, strict=True):
        rules.kernel.returns(state, out)
    columns = np.array(list(found.values()), object).reshape(len(found), 4).T
    stake, wins, bet, called = (columns[0].astype(int), *(column.astype(bool) for column in columns[1:]))
    return Played(states, points[:, 0].copy(), LastBets(stake, wins, bet, called))


def _look_at_the_last_bet(state: np.ndarray, action: int, game: int, found: dict[int, list[Any]]) -> None:
    if state[slots.CARDS_PLAYED] != 2 * state[slots.HAND_SIZE] - 1:
        return
    said = action - int(state[deck.DECK_SIZE])
    if state[slots.PHASE] == slots.DECIDING:
        card = int(state[slots.HAND + state[slots.TURN]]).bit_length() - 1
        found[game] = [
            int(state[slots.ANTE]),
            bool(beats(state, card, state[slots.LED_CARD])),
            said == slots.BET,
            False,
        ]
    elif state[slots.PHASE] == slots.ANSWERING:
        found[game][3] = said == slots.CALL


def asked(game: CardGame, player: Player, hands: np.ndarray, seat: int, action: int) -> np.ndarray:
    """How often hands bet before the first card (seat 0, BET), or call such a bet (seat 1, CALL)."""
    states = np.stack([_dealt(game, int(hand), seat) for hand in hands])
    if seat == 1:
        for state in states:
            game.rules.kernel.apply_action(state, int(state[deck.DECK_SIZE]) + slots.BET)
    chances = _probabilities(player, states, np.arange(len(states)))
    return chances[:, int(states[0, deck.DECK_SIZE]) + action]


def _probabilities(player: Player, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    assert player.probabilities_rows is not None
    return player.probabilities_rows(states, rows)


def _dealt(game: CardGame, hand: int, seat: int) -> np.ndarray:
    """A deal in which a player has this hand."""
    rules = game.rules
    state = rules.new_state()
    outcomes, chances = np.empty(rules.max_chance_outcomes, np.int64), np.empty(rules.max_chance_outcomes)
    while rules.kernel.current_player(state) == CHANCE:
        count = rules.kernel.chance_outcomes(state, outcomes, chances)
        held = hand >> int(state[deck.NEXT_CARD]) & 1
        others = [outcome for outcome in outcomes[:count].tolist() if outcome != seat]
        rules.kernel.apply_action(state, seat if held else others[0])
    return state
