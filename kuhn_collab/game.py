"""Collaborative Kuhn Poker as the OpenSpiel game `python_kuhn_collab(fold_topup=True)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable.display import Table
from cardtable.spiel import CardGame, card_game_type
from kuhn_collab import state as slots
from kuhn_collab.rules import DEFAULTS, NAME, kuhn_collab_rules
from kuhn_collab.table import table

GAME_TYPE = card_game_type(NAME, "Collaborative Kuhn Poker", slots.NUM_SEATS, DEFAULTS)

SEAT_NAMES = ("North", "West", "South", "East")
CARD_NAMES = ("Q♥", "Q♠", "K♥", "K♠", "A♥", "A♠")
ACTION_NAMES = ("check", "bet", "fold", "call", "raise")


class KuhnCollabGame(CardGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        super().__init__(GAME_TYPE, kuhn_collab_rules(**params), KuhnCollabWording(), params)


class KuhnCollabWording:
    """Names such as `A♥`, `raise`, and histories such as `North check, West bet`."""

    def card(self, state: np.ndarray, card: int) -> str:
        return CARD_NAMES[card]

    def action(self, state: np.ndarray, action: int) -> str:
        return ACTION_NAMES[action]

    def private(self, state: np.ndarray, player: int) -> str:
        return "" if state[slots.PHASE] == slots.DEALING else CARD_NAMES[slots.card_of(state, player)]

    def public_history(self, state: np.ndarray) -> str:
        return ", ".join(
            f"{SEAT_NAMES[index % slots.NUM_SEATS]} {ACTION_NAMES[slots.history_action(state, index)]}"
            for index in range(slots.num_actions_taken(state))
        )

    def public_now(self, state: np.ndarray) -> str:
        if state[slots.PHASE] == slots.DEALING:
            return ""
        paid = " ".join(f"{name} {state[slots.PAID + seat]}" for seat, name in enumerate(SEAT_NAMES))
        over = state[slots.PHASE] == slots.OVER
        return f"paid: {paid}, " + ("over" if over else f"{SEAT_NAMES[state[slots.TURN]]} to act")

    def table(self, state: np.ndarray, seat: int) -> Table:
        """What lies on the table as `seat` sees it."""
        return table(state, seat, CARD_NAMES, ACTION_NAMES)


pyspiel.register_game(GAME_TYPE, KuhnCollabGame)
