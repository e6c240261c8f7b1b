"""Matches between profiles trained for transforms of one game, played in that game in compiled code.

A profile is a sampling solver's table. A player looks at the position as her transform shows it, draws from the average
strategy of her table (uniformly where it has not been), and plays what the chosen action means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types
from open_spiel.python.policy import Policy

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.randomness import below, generators, uniform
from cardtable.rules import FUNCTION_TYPES, GENERATOR, TERMINAL, compile_for
from cardtable.spiel import CardGame, CardState
from solvers.lifted import LABEL_SIGNATURE, LABEL_TYPE
from solvers.sampling.hash_table import MISSING, InformationTable, find_row, first_candidate, header_of
from solvers.sampling.keys import hash_row
from transforms.lifting import require_inside
from transforms.wrapping import original_game

MAX_ACTIONS = 64
_WORDS = types.Array(types.int64, 1, "C")


class Profile(NamedTuple):
    """A table of numbers for `game`, a transform; an empty table plays uniformly."""

    game: CardGame
    table: InformationTable

    @property
    def label(self) -> Callable:
        origin = self.game.rules.origin
        if origin is None:
            raise ValueError(f"profile: game is {self.game}; allowed: transforms that name actions in their own way")
        return origin.label

    def arguments(self) -> tuple:
        rules = self.game.rules
        return (
            rules.compiled_kernel().legal_actions,
            compile_for(self.label, LABEL_SIGNATURE),
            rules.kernel.information_key,
            rules.new_state(),
            np.empty(rules.key_words, np.int64),
            self.table.words,
            self.table.numbers,
            self.table.slots,
        )


class Score(NamedTuple):
    """Mean points of the first profile per game, and the standard error of the mean."""

    mean: float
    error: float


def play_match(first: Profile, second: Profile, games: int, seed: int) -> Score:
    """Both profiles play each deal in both seats."""
    deals, own, other = generators(seed, 3)
    as_first = play_seats(first, second, games // 2, deals.copy(), own)
    as_second = -play_seats(second, first, games // 2, deals, other)
    return score_of((as_first + as_second) / 2)


def score_of(points: np.ndarray) -> Score:
    return Score(float(points.mean()), float(points.std() / np.sqrt(len(points))))


def play_seats(
    first: Profile, second: Profile, games: int, dealer: np.ndarray, player: np.ndarray, hands: np.ndarray | None = None
) -> np.ndarray:
    """What the first profile wins in the first seat, game by game; writes the first player's cards to `hands`.

    `dealer` and `player` are the random numbers of the deals and of the play.
    """
    base = original_game(first.game)
    for profile in (first, second):
        require_inside(base, profile.game)
    kernel = base.rules.compiled_kernel()
    returns = np.empty(games)
    _play(
        kernel.current_player,
        kernel.legal_actions,
        kernel.apply_action,
        kernel.deal,
        kernel.returns,
        *first.arguments(),
        *second.arguments(),
        base.rules.new_state(),
        dealer,
        player,
        returns,
        np.empty(games, np.int64) if hands is None else hands,
    )
    return returns


@compiled
def _shares(current_player, legal_actions, key_of, view, key, words, numbers, slots, state, names, share):
    """The actions of the transform in this position and their average probabilities; returns how many."""
    for word in range(len(state)):
        view[word] = state[word]
    seat = current_player(state)
    count = legal_actions(view, names)
    key_of(view, seat, key)
    key_hash = hash_row(key)
    row = find_row(words, slots, first_candidate(slots, key_hash), key_hash, header_of(seat, count), key)
    total = 0.0
    if row != MISSING:
        base = row + 1 + len(key) + count
        for action in range(count):
            share[action] = numbers[base + action]
            total += share[action]
    for action in range(count):
        share[action] = share[action] / total if total > 0.0 else 1.0 / count
    return count


@compiled
def _choose(
    current_player, legal_actions, label, key_of, view, key, words, numbers, slots, state, original, count, generator
):
    """Draws an action of the transform, then one of the original actions that it stands for."""
    names = np.empty(MAX_ACTIONS, np.int64)
    share = np.empty(MAX_ACTIONS)
    num_names = _shares(current_player, legal_actions, key_of, view, key, words, numbers, slots, state, names, share)
    left = uniform(generator)
    chosen = 0
    while chosen < num_names - 1 and left >= share[chosen]:
        left -= share[chosen]
        chosen += 1
    members = 0
    for index in range(count):
        if label(view, original[index]) == names[chosen]:
            original[members] = original[index]
            members += 1
    return original[below(generator, members)]


_PROFILE_TYPES = (
    FUNCTION_TYPES["legal_actions"],
    LABEL_TYPE,
    FUNCTION_TYPES["information_key"],
    _WORDS,
    _WORDS,
    _WORDS,
    types.Array(types.float64, 1, "C"),
    _WORDS,
)


@entry_point(
    *(FUNCTION_TYPES[name] for name in ("current_player", "legal_actions", "apply_action", "deal", "returns")),
    *_PROFILE_TYPES,
    *_PROFILE_TYPES,
    _WORDS,
    GENERATOR,
    GENERATOR,
    types.Array(types.float64, 1, "C"),
    _WORDS,
)
def _play(
    current_player,
    legal_actions,
    apply_action,
    deal,
    returns_of,
    legal_0,
    label_0,
    key_of_0,
    view_0,
    key_0,
    words_0,
    numbers_0,
    slots_0,
    legal_1,
    label_1,
    key_of_1,
    view_1,
    key_1,
    words_1,
    numbers_1,
    slots_1,
    root,
    dealer,
    generator,
    returns,
    hands,
):
    state = np.empty_like(root)
    actions = np.empty(MAX_ACTIONS, np.int64)
    outcome = np.empty(2)
    for game in range(len(returns)):
        state[:] = root
        deal(state, dealer)
        hands[game] = state[deck.DEALT]
        seat = current_player(state)
        while seat != TERMINAL:
            count = legal_actions(state, actions)
            action = actions[0]
            if count > 1 and seat == 0:
                action = _choose(
                    current_player,
                    legal_0,
                    label_0,
                    key_of_0,
                    view_0,
                    key_0,
                    words_0,
                    numbers_0,
                    slots_0,
                    state,
                    actions,
                    count,
                    generator,
                )
            elif count > 1:
                action = _choose(
                    current_player,
                    legal_1,
                    label_1,
                    key_of_1,
                    view_1,
                    key_1,
                    words_1,
                    numbers_1,
                    slots_1,
                    state,
                    actions,
                    count,
                    generator,
                )
            apply_action(state, action)
            seat = current_player(state)
        returns_of(state, outcome)
        returns[game] = outcome[0]


class ProfilePolicy(Policy):
    """A profile as a policy of the original game. Quick: looks at the array of a state without replaying the game."""

    def __init__(self, profile: Profile) -> None:
        base = original_game(profile.game)
        super().__init__(base, list(range(base.num_players())))
        self._arguments = profile.arguments()
        self._base = base.rules

    def action_probabilities(self, state: CardState, player_id: int | None = None) -> dict[int, float]:
        _, probabilities = self.probabilities_at(state.array[None, :])
        return dict(zip(state.legal_actions(), probabilities[0].tolist(), strict=False))

    def probabilities_at(self, arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For states, one a row: the number of legal actions and their probabilities, in ascending order."""
        counts = np.empty(len(arrays), np.int64)
        probabilities = np.zeros((len(arrays), MAX_ACTIONS))
        kernel = self._base.compiled_kernel()
        _look_up(
            kernel.current_player,
            kernel.legal_actions,
            *self._arguments,
            np.ascontiguousarray(arrays),
            counts,
            probabilities,
        )
        return counts, probabilities


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    *_PROFILE_TYPES,
    types.Array(types.int64, 2, "C"),
    _WORDS,
    types.Array(types.float64, 2, "C"),
)
def _look_up(
    current_player,
    original_legal_actions,
    legal_actions,
    label,
    key_of,
    view,
    key,
    words,
    numbers,
    slots,
    states,
    counts,
    probabilities,
):
    names = np.empty(MAX_ACTIONS, np.int64)
    actions = np.empty(MAX_ACTIONS, np.int64)
    share = np.empty(MAX_ACTIONS)
    members = np.empty(MAX_ACTIONS, np.int64)
    place = np.empty(MAX_ACTIONS, np.int64)
    for row in range(len(states)):
        state = states[row]
        num_names = _shares(
            current_player, legal_actions, key_of, view, key, words, numbers, slots, state, names, share
        )
        counts[row] = original_legal_actions(state, actions)
        members[:num_names] = 0
        for index in range(counts[row]):
            name = label(view, actions[index])
            place[index] = 0
            while names[place[index]] != name:
                place[index] += 1
            members[place[index]] += 1
        for index in range(counts[row]):
            probabilities[row, index] = share[place[index]] / members[place[index]]
