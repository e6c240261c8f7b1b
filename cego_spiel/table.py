"""What lies on a table of Cego as one seat sees it (`cardtable.display`).

The blind and the Legage belong to the single player alone, and only in Standard-Cego; to everybody else they are so
many cards, face down. Points are those of the tricks, which all can count.
"""

from __future__ import annotations

import numpy as np

from cardtable import deck
from cardtable.display import Table, held, lay_trick_block, new_table, tag
from cardtable.tricks import NUM_SEATS
from cego_spiel import state as slots
from cego_spiel.cards import NUM_PLAIN, SUIT_SIZE, card_name, half_points

TEAMS = ((0,), (1, 2, 3))
HAND_ORDER = (0, 2, 3, 1)  # clubs, diamonds, spades, hearts: colours alternate; trumps come before them all


def table(state: np.ndarray, seat: int) -> Table:
    alone = state[slots.SUBGAME] == slots.RAEUBER
    teams = () if alone else TEAMS
    if not deck.is_dealt(state):
        return new_table(NUM_SEATS, "deal", -1, teams)
    over = bool(state[slots.OVER])
    shown = new_table(NUM_SEATS, "over" if over else "play", -1 if over else int(state[slots.TURN]), teams)
    shown["trump"] = "T"
    shown["hand"] = held(int(state[slots.HAND + seat]), card_name, _place)
    lay_trick_block(shown, state, slots.TRICKS, card_name)
    for player in range(NUM_SEATS):
        shown["seats"][player]["figures"] = {
            "tricks": int(state[slots.TRICKS_WON + player]),
            "points": int(state[slots.POINTS + player]) / 2,
        }
    shown["facts"].append(["subgame", slots.SUBGAMES[int(state[slots.SUBGAME])]])
    if not alone:
        tag(shown, slots.SINGLE_PLAYER, ["single"])
        for team in shown["teams"]:
            team["figures"]["points"] = sum(shown["seats"][player]["figures"]["points"] for player in team["seats"])
    if state[slots.SUBGAME] == slots.STANDARD:
        own = seat == slots.SINGLE_PLAYER
        legage = int(state[slots.LEGAGE])
        shown["piles"]["legage"] = held(legage, card_name, _place) if own else slots.BLIND_SIZE
        if own:
            shown["facts"].append(["legage_points", int(half_points(legage)) / 2])
    else:
        shown["piles"]["blind"] = slots.BLIND_SIZE
    return shown


def _place(card: int) -> tuple[int, int]:
    """Where a player holds a card: trumps first, then suit by suit, the strongest first."""
    if card >= NUM_PLAIN:
        return len(HAND_ORDER), card
    suit, strength = divmod(card, SUIT_SIZE)
    return HAND_ORDER[suit], strength
