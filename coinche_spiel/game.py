"""Coinche as the OpenSpiel game `python_coinche(...)`; the parameters and their defaults are in `rules.DEFAULTS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.display import Table
from cardtable.player import register_compiled, register_player
from cardtable.spiel import CardGame, card_game_type, utility_type
from coinche_spiel import state as slots
from coinche_spiel.auction import list_calls
from coinche_spiel.cards import ALL_CARDS, NUM_SUITS, SUIT_NAMES, card_name, cards_text
from coinche_spiel.observation import LONGEST_AUCTION
from coinche_spiel.rules import DEFAULTS, NAME, coinche_rules
from coinche_spiel.state import BIDDING, DEALING, HAND, NONE, OVER, PHASE
from coinche_spiel.table import table

MOST_DER = 100  # for the last trick, in `double_dummy`
LEVEL_NAMES = ("", " coinche", " surcoinche")


def coinche_type(num_players: int, utility: pyspiel.GameType.Utility) -> pyspiel.GameType:
    return card_game_type(NAME, "Coinche", num_players, DEFAULTS, utility=utility)


# Registered as the default game is; one for two players, or with another reward scheme, says so in its own type.
GAME_TYPE = coinche_type(4, pyspiel.GameType.Utility.ZERO_SUM)


class CoincheGame(CardGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        rules = coinche_rules(**params)
        super().__init__(coinche_type(rules.num_players, utility_type(rules)), rules, CoincheWording(), params)


class CoincheWording:
    """Names such as `10♥` and `80♠`, and histories such as `P0 pass, P1 80♠, ... | P0 10♥, P1 A♥, ...`."""

    def card(self, state: np.ndarray, card: int) -> str:
        return card_name(card)

    def action(self, state: np.ndarray, action: int) -> str:
        if action < slots.PASS:
            return card_name(action)
        if action in (slots.PASS, slots.COINCHE, slots.SURCOINCHE):
            return {slots.PASS: "pass", slots.COINCHE: "coinche", slots.SURCOINCHE: "surcoinche"}[action]
        value, suit = divmod(action - slots.FIRST_BID, NUM_SUITS)
        return self._contract(state, value, suit)

    def _contract(self, state: np.ndarray, value: int, suit: int) -> str:
        name = "capot" if value == slots.CAPOT else str(int(state[slots.MIN_BID]) + 10 * value)
        return name + SUIT_NAMES[suit]

    def private(self, state: np.ndarray, player: int) -> str:
        return cards_text(int(state[HAND + player]))

    def public_history(self, state: np.ndarray) -> str:
        calls = self._calls(state)
        cards = self._cards(state, 0)
        return f"{calls} | {cards}" if cards else calls

    def _calls(self, state: np.ndarray) -> str:
        return ", ".join(f"P{seat} {call}" for seat, call in self._auction(state))

    def _auction(self, state: np.ndarray) -> list[tuple[int, str]]:
        calls = np.empty(LONGEST_AUCTION, np.int64)
        players, first = int(state[slots.PLAYERS]), int(slots.first_seat(state))
        return [
            ((first + index) % players, self.action(state, int(call)))
            for index, call in enumerate(calls[: list_calls(state, calls)])
        ]

    def _cards(self, state: np.ndarray, start: int) -> str:
        return ", ".join(
            f"P{slots.player_of(state, index)} {card_name(int(slots.played_card(state, index)))}"
            for index in range(start, int(state[slots.CARDS_PLAYED]))
        )

    def public_now(self, state: np.ndarray) -> str:
        """The whole auction stays in sight (the tensor keeps it too); of the play, who played what and the trick."""
        if state[PHASE] == DEALING:
            return ""
        parts = [f"dealer P{state[slots.DEALER]}"]
        calls = self._calls(state)
        if calls:
            parts.append(calls)
        if state[PHASE] != BIDDING and state[slots.VALUE] != NONE:
            parts += self._play_now(state)
        if state[PHASE] == OVER:
            parts.append("over")
        return " | ".join(parts)

    def _play_now(self, state: np.ndarray) -> list[str]:
        players, played = int(state[slots.PLAYERS]), int(state[slots.CARDS_PLAYED])
        contract = self._contract(state, int(state[slots.VALUE]), int(state[slots.TRUMP]))
        parts = [f"{contract} by P{state[slots.DECLARER]}{LEVEL_NAMES[slots.level(state)]}"]
        for seat in range(players):
            cards = int(state[deck.DEALT + seat] & ~state[HAND + seat])
            if cards:
                parts.append(f"P{seat} played {cards_text(cards)}")
        trick = self._cards(state, played - played % players)
        if trick:
            parts.append(f"trick {trick}")
        parts.append(f"points {state[slots.POINTS]} to {state[slots.POINTS + 1]}")
        return parts

    def table(self, state: np.ndarray, seat: int) -> Table:
        """What lies on the table as `seat` sees it."""
        dealing = state[PHASE] == DEALING
        none = dealing or state[slots.VALUE] == NONE
        contract = "" if none else self._contract(state, int(state[slots.VALUE]), int(state[slots.TRUMP]))
        return table(state, seat, contract, [] if dealing else self._auction(state))


pyspiel.register_game(GAME_TYPE, CoincheGame)


def register_coinche_players(game: str) -> None:
    for name in ("simple", "strong", "simple_reraising", "strong_reraising"):
        register_compiled(game, name, f"coinche_spiel.players:{name}_player")
    register_compiled(game, "bidder", "coinche_spiel.bidding.players:bidder_player", fits=is_whole_game)
    register_player(game, "caller", "coinche_spiel.bidding.simulator:caller", is_whole_and_solvable)
    register_player(game, "cards", "coinche_spiel.expert.players:cards", open_hands_can_be_solved)
    register_player(game, "expert", "coinche_spiel.expert.players:expert", is_whole_and_solvable)


def open_hands_can_be_solved(game: CardGame) -> bool:
    """What the double dummy solver needs: four players, and a last trick of at most a hundred points."""
    root = game.rules.root
    return bool(root[slots.PLAYERS] == slots.MAX_PLAYERS and root[slots.DER] <= MOST_DER)


def is_whole_and_solvable(game: CardGame) -> bool:
    return is_whole_game(game) and open_hands_can_be_solved(game)


def is_whole_game(game: CardGame) -> bool:
    """Four players and all 32 cards: what learnt bids are learnt for. Scores, values and duties may differ."""
    root = game.rules.root
    return bool(root[slots.PLAYERS] == 4 and root[slots.HAND_SIZE] == 8 and root[deck.DECK_CARDS] == ALL_CARDS)


register_coinche_players(GAME_TYPE.short_name)
register_player(GAME_TYPE.short_name, "deep_cfr", "solvers.deep_cfr.shipped:deep_cfr", is_whole_game)
register_player(GAME_TYPE.short_name, "deep_monte_carlo", "solvers.learning.shipped:deep_monte_carlo", is_whole_game)
