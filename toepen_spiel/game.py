"""Two-player Toepen for OpenSpiel: `python_toepen(suits=4,ranks=8,hand_size=4,betting=True,follow_suit=True)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.display import Table
from cardtable.player import PLAYER_FILE, register_player
from cardtable.spiel import CardGame, card_game_type
from toepen_spiel import state as slots
from toepen_spiel.rules import DEFAULTS, NAME, current_player, toepen_rules
from toepen_spiel.table import table

GAME_TYPE = card_game_type(NAME, "Two-player Toepen", 2, DEFAULTS)

SUIT_NAMES = "♣♦♥♠"
RANK_NAMES = ("J", "Q", "K", "A", "7", "8", "9", "10")  # weakest first; a smaller deck keeps the last ones
BETTING_NAMES = {slots.CHECK: "check", slots.BET: "bet", slots.CALL: "call", slots.FOLD: "fold"}


class ToepenGame(CardGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        super().__init__(GAME_TYPE, toepen_rules(**params), ToepenWording(), params)


class ToepenWording:
    """Names such as `10♥`, `bet`, and histories such as `P0 check 10♥, P1 bet call 7♥`."""

    def card(self, state: np.ndarray, card: int) -> str:
        suit, rank = divmod(card, int(state[slots.RANKS]))
        return RANK_NAMES[len(RANK_NAMES) - int(state[slots.RANKS]) + rank] + SUIT_NAMES[suit]

    def action(self, state: np.ndarray, action: int) -> str:
        num_cards = int(state[deck.DECK_SIZE])
        return self.card(state, action) if action < num_cards else BETTING_NAMES[action - num_cards]

    def private(self, state: np.ndarray, player: int) -> str:
        hand = int(state[slots.HAND + player])
        return " ".join(self.card(state, card) for card in range(hand.bit_length()) if hand >> card & 1) or "-"

    def public_history(self, state: np.ndarray) -> str:
        turns = []
        last_bettor = slots.NOBODY
        for index in range(int(state[slots.CARDS_PLAYED])):
            card, called, player = slots.history_entry(state, index)
            if called:
                last_bettor = player
            said = "bet call " if called else "check " if state[slots.BETTING] and player != last_bettor else ""
            turns.append(f"P{player} {said}{self.card(state, card)}")
        said = self._said_before_next_card(state)
        if said:
            turns.append(f"P{state[slots.TURN]} {said}")
        return ", ".join(turns)

    def _said_before_next_card(self, state: np.ndarray) -> str:
        phase = state[slots.PHASE]
        if phase == slots.ANSWERING:
            return "bet"
        if phase == slots.OVER:
            folded = state[slots.CARDS_PLAYED] < 2 * state[slots.HAND_SIZE]
            return "bet fold" if folded else ""
        if phase == slots.PLAYING and state[slots.CALLED]:
            return "bet call"
        asked = state[slots.BETTING] and state[slots.LAST_BETTOR] != state[slots.TURN]
        return "check" if phase == slots.PLAYING and asked else ""

    def table(self, state: np.ndarray, seat: int) -> Table:
        """What lies on the table as `seat` sees it."""
        calls = [[seat_said, said] for seat_said, said in self._said(state)]
        return table(state, seat, int(current_player(state)), lambda card: self.card(state, card), calls)

    def _said(self, state: np.ndarray) -> Iterator[tuple[int, str]]:
        """Who said what, bets with their answers, in order."""
        last_bettor = slots.NOBODY
        for index in range(int(state[slots.CARDS_PLAYED])):
            _, called, player = slots.history_entry(state, index)
            if called:
                last_bettor = player
                yield int(player), "bet"
                yield 1 - int(player), "call"
            elif state[slots.BETTING] and player != last_bettor:
                yield int(player), "check"
        turn = int(state[slots.TURN])
        for number, said in enumerate(self._said_before_next_card(state).split()):
            yield (turn, said) if number == 0 else (1 - turn, said)

    def public_now(self, state: np.ndarray) -> str:
        if state[slots.PHASE] == slots.DEALING:
            return ""
        parts = [f"{state[slots.CARDS_PLAYED] // 2} tricks played"]
        for player in range(2):
            cards = [slots.history_entry(state, index) for index in range(int(state[slots.CARDS_PLAYED]))]
            played = sorted(card for card, _, seat in cards if seat == player)
            parts.append(f"P{player} played " + (" ".join(self.card(state, card) for card in played) or "nothing"))
        if state[slots.LED_CARD] != slots.NO_CARD:
            parts.append(f"led {self.card(state, int(state[slots.LED_CARD]))}")
        if state[slots.BETTING]:
            parts.append(f"ante {state[slots.ANTE]}")
            if state[slots.LAST_BETTOR] != slots.NOBODY:
                parts.append(f"P{state[slots.LAST_BETTOR]} bet last")
            parts.append(
                {slots.DECIDING: "bet?", slots.ANSWERING: "call?", slots.PLAYING: "card?"}.get(
                    int(state[slots.PHASE]), "over"
                )
            )
        return ", ".join(parts)


def _has_expert(game: pyspiel.Game) -> bool:
    """The expert plays the full game, once it is made (`python -m experiments.toepen_expert --install`)."""
    return (EXPERT / PLAYER_FILE).exists() and game.get_parameters() == DEFAULTS


EXPERT = Path(__file__).resolve().parent / "expert"

pyspiel.register_game(GAME_TYPE, ToepenGame)
register_player(NAME, "expert", "solvers.toepen.block_player:expert", fits=_has_expert)
