"""What lies on a table of Collaborative Kuhn Poker as one seat sees it (`cardtable.display`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cardtable.display import Table, new_table, tag
from kuhn_collab import state as slots

PHASES = {slots.DEALING: "deal", slots.ACTING: "bet", slots.OVER: "over"}
TEAMS = ((0, 2), (1, 3))


def table(state: np.ndarray, seat: int, cards: Sequence[str], actions: Sequence[str]) -> Table:
    """`cards` and `actions` are what these are called."""
    acting = state[slots.PHASE] == slots.ACTING
    shown = new_table(slots.NUM_SEATS, PHASES[int(state[slots.PHASE])], int(state[slots.TURN]) if acting else -1, TEAMS)
    if state[slots.PHASE] == slots.DEALING:
        return shown
    shown["hand"] = [cards[int(slots.card_of(state, seat))]]
    shown["calls"] = [
        [index % slots.NUM_SEATS, actions[int(slots.history_action(state, index))]]
        for index in range(int(slots.num_actions_taken(state)))
    ]
    for player in range(slots.NUM_SEATS):
        shown["seats"][player]["cards"] = 1
        shown["seats"][player]["figures"]["paid"] = int(state[slots.PAID + player])
    shown["facts"] = [
        ["level", int(state[slots.LEVEL])],
        ["pot", int(state[slots.PAID : slots.PAID + slots.NUM_SEATS].sum())],
    ]
    if state[slots.FOLDER] != slots.NOBODY:
        tag(shown, int(state[slots.FOLDER]), ["folded"])
    return shown
