"""What a player of Collaborative Kuhn Poker knows: the information key and both tensors. `RULES.md` has the layout."""

from __future__ import annotations

from cardtable.compiled import compiled
from cardtable.rules import Piece
from kuhn_collab.state import (
    ACTING,
    DEALING,
    HIGHEST_LEVEL,
    HISTORY,
    LONGEST_HAND,
    NUM_ACTIONS,
    NUM_CARDS,
    NUM_SEATS,
    PAID,
    PHASE,
    TURN,
    card_of,
    history_action,
    num_actions_taken,
)

_SEAT_AND_CARD = (Piece("player", (NUM_SEATS,), "observer"), Piece("card", (NUM_CARDS,), "private"))
INFORMATION_PIECES = (*_SEAT_AND_CARD, Piece("history", (LONGEST_HAND, NUM_ACTIONS), "public"))
OBSERVATION_PIECES = (
    *_SEAT_AND_CARD,
    Piece("to_act", (NUM_SEATS,), "public"),
    Piece("paid", (NUM_SEATS, HIGHEST_LEVEL), "public"),
)


@compiled
def information_key(state, player, out):
    """Own card and the public actions."""
    card = card_of(state, player) if state[PHASE] != DEALING else 7
    out[0] = card | player << 3 | state[PHASE] << 5 | state[HISTORY] << 7


@compiled
def _write_seat_and_card(state, player, out):
    """The pieces that both tensors start with; returns the offset behind them."""
    out[player] = 1.0
    if state[PHASE] != DEALING:
        out[NUM_SEATS + card_of(state, player)] = 1.0
    return NUM_SEATS + NUM_CARDS


@compiled
def information_tensor(state, player, out):
    offset = _write_seat_and_card(state, player, out)
    for index in range(num_actions_taken(state)):
        out[offset + index * NUM_ACTIONS + history_action(state, index)] = 1.0


@compiled
def observation_tensor(state, player, out):
    offset = _write_seat_and_card(state, player, out)
    if state[PHASE] == ACTING:
        out[offset + state[TURN]] = 1.0
    offset += NUM_SEATS
    for seat in range(NUM_SEATS):
        out[offset + seat * HIGHEST_LEVEL + state[PAID + seat] - 1] = 1.0
