"""What lies on a table of Gongzhu as one seat sees it (`cardtable.display`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cardtable import deck
from cardtable.display import Table, held, lay_trick_block, new_table
from gongzhu_spiel import state as slots
from gongzhu_spiel.rules import score

# As a player holds them: colours alternate.
HAND_ORDER = {slots.SPADES: 3, slots.HEARTS: 2, slots.CLUBS: 1, slots.DIAMONDS: 0}


def table(state: np.ndarray, seat: int, name: Callable[[int], str]) -> Table:
    turn = int(slots.current_player(state))
    if not deck.is_dealt(state):
        return new_table(4, "deal", turn, slots.TEAMS)
    shown = new_table(4, "play" if turn >= 0 else "over", turn, slots.TEAMS)
    ranks = int(state[slots.RANKS])

    def strength(card: int) -> Any:
        suit, rank = divmod(card, ranks)
        return HAND_ORDER[suit], rank

    shown["hand"] = held(int(state[slots.HAND + seat]), name, strength)
    lay_trick_block(shown, state, slots.TRICKS, name)
    scored = sum(1 << card for card in slots.scored_cards(state))
    for player in range(4):
        taken = int(state[slots.TAKEN + player])
        of_player = shown["seats"][player]
        of_player["figures"] = {"tricks": taken.bit_count() // 4, "points": int(score(state, taken))}
        of_player["taken"] = held(taken & scored, name, strength)
    for team in shown["teams"]:
        team["figures"]["points"] = sum(shown["seats"][player]["figures"]["points"] for player in team["seats"])
    return shown
