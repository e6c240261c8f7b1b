"""Two-player Toepen for OpenSpiel: `python_toepen(suits=4,ranks=8,hand_size=4,betting=True,follow_suit=True)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.spiel import CardGame, card_game_type
from toepen_spiel import rules
from toepen_spiel.abstraction import toepen_forgetting
from toepen_spiel.rules import toepen_rules

DEFAULTS = {"suits": 4, "ranks": 8, "hand_size": 4, "betting": True, "follow_suit": True}
GAME_TYPE = card_game_type("python_toepen", "Two-player Toepen", 2, DEFAULTS)

SUIT_NAMES = "♣♦♥♠"
RANK_NAMES = ("J", "Q", "K", "A", "7", "8", "9", "10")  # weakest first; a smaller deck keeps the last ones
BETTING_NAMES = {rules.CHECK: "check", rules.BET: "bet", rules.CALL: "call", rules.FOLD: "fold"}


class ToepenGame(CardGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        variant = toepen_rules(**(DEFAULTS | params))
        variant = dataclasses.replace(variant, forgetting=toepen_forgetting(variant))
        super().__init__(GAME_TYPE, variant, ToepenWording(), params)


class ToepenWording:
    """Names such as `10♥`, `bet`, and histories such as `P0 check 10♥, P1 bet call 7♥`."""

    def card(self, state: np.ndarray, card: int) -> str:
        suit, rank = divmod(card, int(state[rules.RANKS]))
        return RANK_NAMES[len(RANK_NAMES) - int(state[rules.RANKS]) + rank] + SUIT_NAMES[suit]

    def action(self, state: np.ndarray, action: int) -> str:
        num_cards = int(state[deck.DECK_SIZE])
        return self.card(state, action) if action < num_cards else BETTING_NAMES[action - num_cards]

    def private(self, state: np.ndarray, player: int) -> str:
        hand = int(state[rules.HAND + player])
        return " ".join(self.card(state, card) for card in range(hand.bit_length()) if hand >> card & 1) or "-"

    def public_history(self, state: np.ndarray) -> str:
        turns = []
        last_bettor = rules.NOBODY
        for index in range(int(state[rules.CARDS_PLAYED])):
            card, called, player = rules.history_entry(state, index)
            if called:
                last_bettor = player
            said = "bet call " if called else "check " if state[rules.BETTING] and player != last_bettor else ""
            turns.append(f"P{player} {said}{self.card(state, card)}")
        said = self._said_before_next_card(state)
        if said:
            turns.append(f"P{state[rules.TURN]} {said}")
        return ", ".join(turns)

    def _said_before_next_card(self, state: np.ndarray) -> str:
        phase = state[rules.PHASE]
        if phase == rules.ANSWERING:
            return "bet"
        if phase == rules.OVER:
            folded = state[rules.CARDS_PLAYED] < 2 * state[rules.HAND_SIZE]
            return "bet fold" if folded else ""
        if phase == rules.PLAYING and state[rules.CALLED]:
            return "bet call"
        asked = state[rules.BETTING] and state[rules.LAST_BETTOR] != state[rules.TURN]
        return "check" if phase == rules.PLAYING and asked else ""

    def public_now(self, state: np.ndarray) -> str:
        if state[rules.PHASE] == rules.DEALING:
            return ""
        parts = [f"{state[rules.CARDS_PLAYED] // 2} tricks played"]
        for player in range(2):
            cards = [rules.history_entry(state, index) for index in range(int(state[rules.CARDS_PLAYED]))]
            played = sorted(card for card, _, seat in cards if seat == player)
            parts.append(f"P{player} played " + (" ".join(self.card(state, card) for card in played) or "nothing"))
        if state[rules.LED_CARD] != rules.NO_CARD:
            parts.append(f"led {self.card(state, int(state[rules.LED_CARD]))}")
        if state[rules.BETTING]:
            parts.append(f"ante {state[rules.ANTE]}")
            if state[rules.LAST_BETTOR] != rules.NOBODY:
                parts.append(f"P{state[rules.LAST_BETTOR]} bet last")
            parts.append(
                {rules.DECIDING: "bet?", rules.ANSWERING: "call?", rules.PLAYING: "card?"}.get(
                    int(state[rules.PHASE]), "over"
                )
            )
        return ", ".join(parts)


pyspiel.register_game(GAME_TYPE, ToepenGame)
