"""Which cards win tricks when everybody plays at random: the origin of the high and low cards of Bettel and Piccolo."""

from __future__ import annotations

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.randomness import below, generators
from cardtable.rules import GENERATOR, WORDS
from cardtable.tricks import NUM_SEATS
from cego_spiel.cards import NUM_CARDS
from cego_spiel.rules import apply_action, cego_rules, current_player, deal, legal_actions
from cego_spiel.state import BEST_CARD, CARDS_PLAYED

LOW_SHARE = 0.2  # low cards: the largest set that wins less than this share of all tricks


def trick_wins(games: int, seed: int | np.random.SeedSequence | None = None) -> np.ndarray:
    """How many tricks each card won in random games of Solo with unrestricted hands."""
    wins = np.zeros(NUM_CARDS, np.int64)
    root = cego_rules("solo", restrict=False).root
    _play(root, games, generators(seed, 1)[0], wins, np.empty(NUM_CARDS, np.int64))
    return wins


def low_cards(wins: np.ndarray) -> list[int]:
    """The cards that win least, as many as stay below `LOW_SHARE` of all tricks together."""
    ascending = np.argsort(wins, kind="stable")
    shares = np.cumsum(wins[ascending]) / wins.sum()
    return sorted(ascending[: int((shares < LOW_SHARE).sum())].tolist())


@entry_point(types.Array(types.int64, 1, "C", readonly=True), types.int64, GENERATOR, WORDS, WORDS, nogil=True)
def _play(root, games, generator, wins, actions):
    state = np.empty_like(root)
    for _ in range(games):
        state[:] = root
        deal(state, generator)
        while current_player(state) >= 0:
            apply_action(state, actions[below(generator, legal_actions(state, actions))])
            if state[CARDS_PLAYED] % NUM_SEATS == 0:
                wins[state[BEST_CARD]] += 1
