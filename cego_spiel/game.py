"""Cego as the OpenSpiel game `python_cego(subgame=standard,restrict=True,reward=auto,zero_sum=False,ties=first)`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.display import Table
from cardtable.player import register_player
from cardtable.spiel import CardGame, card_game_type, utility_type
from cardtable.tricks import NUM_SEATS, describe_cards, describe_tricks, played_card
from cego_spiel import state as slots
from cego_spiel.cards import card_name
from cego_spiel.rules import DEFAULTS, NAME, cego_rules
from cego_spiel.table import table


def _game_type(utility: pyspiel.GameType.Utility) -> pyspiel.GameType:
    return card_game_type(NAME, "Cego", NUM_SEATS, DEFAULTS, utility=utility)


GAME_TYPE = _game_type(pyspiel.GameType.Utility.GENERAL_SUM)


class CegoGame(CardGame):
    """The paper's rewards do not have a constant sum, but for Räuber; `zero_sum` changes that."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        record = cego_rules(**params)
        super().__init__(_game_type(utility_type(record)), record, CegoWording(), params)


class CegoWording:
    """Names such as `K♣`, `T21`, `Gstieß`, and histories such as `P0 7♣ K♣ 9♣ 8♣, P1 T3`."""

    def card(self, state: np.ndarray, card: int) -> str:
        return card_name(int(card))

    def action(self, state: np.ndarray, action: int) -> str:
        return card_name(int(action))

    def private(self, state: np.ndarray, player: int) -> str:
        hand = describe_cards(state[slots.HAND + player], card_name)
        if player == slots.SINGLE_PLAYER and state[slots.LEGAGE]:
            dealt, legage = state[deck.DEALT], state[slots.LEGAGE]
            hand += f" (dealt {describe_cards(dealt, card_name)}, Legage {describe_cards(legage, card_name)})"
        return hand

    def public_history(self, state: np.ndarray) -> str:
        return describe_tricks(state, slots.TRICKS, card_name)

    def public_now(self, state: np.ndarray) -> str:
        if not deck.is_dealt(state):
            return ""
        played = 0
        for index in range(int(state[slots.CARDS_PLAYED])):
            played |= 1 << int(played_card(state, slots.TRICKS, index)[1])
        if state[slots.OVER]:
            return f"played {describe_cards(played, card_name)}, over"
        text = f"played {describe_cards(played, card_name)}, P{state[slots.LEADER]} leads"
        in_trick = int(state[slots.CARDS_PLAYED]) % NUM_SEATS
        if in_trick:
            start = int(state[slots.CARDS_PLAYED]) - in_trick
            trick = [played_card(state, slots.TRICKS, start + place)[1] for place in range(in_trick)]
            text += f" {' '.join(card_name(int(card)) for card in trick)}, P{state[slots.BEST_SEAT]} wins"
        return text

    def table(self, state: np.ndarray, seat: int) -> Table:
        """What lies on the table as `seat` sees it."""
        return table(state, seat)


pyspiel.register_game(GAME_TYPE, CegoGame)


def _has_expert(game: pyspiel.Game) -> bool:
    """Experts were trained for the sub-games as they are published."""
    parameters = game.get_parameters()
    folder = Path(__file__).parent / "experts" / str(parameters["subgame"])
    as_published = all(parameters[name] == value for name, value in DEFAULTS.items() if name != "subgame")
    return as_published and folder.is_dir()


register_player(NAME, "expert", "solvers.learning.shipped:expert", _has_expert)
