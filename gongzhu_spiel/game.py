"""Gongzhu as the OpenSpiel game `python_gongzhu(suits=4,ranks=13,leader=0)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.display import Table
from cardtable.player import register_compiled, register_player
from cardtable.spiel import CardGame, card_game_type
from cardtable.tricks import describe_cards, describe_tricks
from gongzhu_spiel import rules
from gongzhu_spiel import state as slots
from gongzhu_spiel.rules import DEFAULTS, NAME, gongzhu_rules
from gongzhu_spiel.table import table

GAME_TYPE = card_game_type(NAME, "Gongzhu", rules.NUM_SEATS, DEFAULTS)

SUIT_NAMES = "♠♥♦♣"
RANK_NAMES = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")  # a smaller deck keeps the last ones


class GongzhuGame(CardGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        super().__init__(GAME_TYPE, gongzhu_rules(**params), GongzhuWording(), params)


class GongzhuWording:
    """Names such as `Q♠`, and histories such as `P0 7♣ K♣ 9♣ 8♣, P1 A♦`."""

    def card(self, state: np.ndarray, card: int) -> str:
        suit, rank = divmod(int(card), int(state[slots.RANKS]))
        return RANK_NAMES[len(RANK_NAMES) - int(state[slots.RANKS]) + rank] + SUIT_NAMES[suit]

    def action(self, state: np.ndarray, action: int) -> str:
        return self.card(state, action)

    def private(self, state: np.ndarray, player: int) -> str:
        return self._cards(state, state[slots.HAND + player])

    def public_history(self, state: np.ndarray) -> str:
        return describe_tricks(state, slots.TRICKS, lambda card: self.card(state, card))

    def public_now(self, state: np.ndarray) -> str:
        if not deck.is_dealt(state):
            return ""
        scored = sum(1 << card for card in slots.scored_cards(state))
        parts = []
        for seat in range(rules.NUM_SEATS):
            played = state[deck.DEALT + seat] ^ state[slots.HAND + seat]
            taken = state[slots.TAKEN + seat] & scored
            part = f"P{seat} played {self._cards(state, played)} took {self._cards(state, taken)}"
            if played & state[slots.TABLE]:
                part += f" on the table {self._cards(state, played & state[slots.TABLE])}"
            parts.append(part)
        over = slots.current_player(state) < 0
        return ", ".join([*parts, "over" if over else f"P{state[slots.TURN]} to play"])

    def table(self, state: np.ndarray, seat: int) -> Table:
        """What lies on the table as `seat` sees it."""
        return table(state, seat, lambda card: self.card(state, card))

    def _cards(self, state: np.ndarray, cards: int) -> str:
        return describe_cards(cards, lambda card: self.card(state, card))


pyspiel.register_game(GAME_TYPE, GongzhuGame)


def _has_full_deck(game: pyspiel.Game) -> bool:
    """What all players of this package need."""
    return game.num_distinct_actions() == slots.FULL_DECK


def _is_whole(game: pyspiel.Game) -> bool:
    """A network that was trained on the game is for just that game."""
    return game.get_parameters() == DEFAULTS


for _name in ("if", "greed", "team"):
    register_compiled(NAME, _name, f"gongzhu_spiel.players:mr_{_name}", _has_full_deck)
for _name in ("network", "expert"):
    register_player(NAME, _name, f"gongzhu_spiel.expert:{_name}", _has_full_deck)
register_player(NAME, "scrofazero", "solvers.alpha_zero.shipped:scrofazero", _is_whole)
