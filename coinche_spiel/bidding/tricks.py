"""The eight tricks of a contract, as a network plays them that sees one hand at a time: what an auction leads to.

The network is that of the player `deep_monte_carlo`. What it takes errs as real play does, in part, where open cards do
not: both together foretell what searched cards take a little better than open cards (`experiments.coinche_foresight`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled, entry_point
from cardtable.features import encoding_at
from cardtable.player import read_player_file
from cardtable.rules import ADDRESSES, STATE
from cardtable.search.action_values import NETWORK, ActionValues, new_scratch, values_of_state
from cardtable.search.saved_values import read_values
from coinche_spiel.cards import NUM_CARDS
from coinche_spiel.play import legal_cards, play_card
from coinche_spiel.rules import coinche_rules
from coinche_spiel.state import MAX_TRICKS, PHASE, PLAYING, POINTS

FOLDER = Path(__file__).resolve().parents[1] / "deep_monte_carlo"
SHIPPED_TYPES = (ADDRESSES, NETWORK)


class Cardplayer(NamedTuple):
    """The network, and what it writes to."""

    encoding: Callable
    network: tuple
    scratch: Any
    cards: np.ndarray
    values: np.ndarray


@functools.cache
def shipped_network() -> tuple[Any, ...]:
    """What the network is told, and its weights: two arguments for compiled code, of SHIPPED_TYPES."""
    saved = read_values(FOLDER, read_player_file(FOLDER))
    values = ActionValues(coinche_rules(), saved.shape, saved.weights[0], saved.tells)
    return values.features, values.network


@compiled
def new_cardplayer(encoding, network):
    scratch = new_scratch(network[1], MAX_TRICKS)
    return Cardplayer(encoding, network, scratch, np.empty(NUM_CARDS, np.int64), np.empty(MAX_TRICKS, np.float32))


@compiled
def play_tricks(state, player):
    """Everybody plays what the network values most, to the end of the deal."""
    while state[PHASE] == PLAYING:
        n = bits.list_cards(legal_cards(state), 0, player.cards)
        best = 0
        if n > 1:
            values_of_state(player.encoding, player.network, state, player.cards, n, player.scratch, player.values)
            best = int(np.argmax(player.values[:n]))
        play_card(state, player.cards[best])


def points_played_out(state: np.ndarray) -> int:
    """What North and South take, if the network plays all four hands from here; the state stays as it is."""
    return int(_points(*shipped_network(), state.copy()))


@entry_point(*SHIPPED_TYPES, STATE, nogil=True)
def _points(features, network, state):
    play_tricks(state, new_cardplayer(encoding_at(features), network))
    return state[POINTS]
