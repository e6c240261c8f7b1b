"""What lies on a table of Toepen as one seat sees it (`cardtable.display`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cardtable.display import Table, held, lay_tricks, new_table, tag
from toepen_spiel import state as slots

PHASES = {slots.DEALING: "deal", slots.PLAYING: "play", slots.OVER: "over"}
PER_TRICK = 2


def table(state: np.ndarray, seat: int, turn: int, name: Callable[[int], str], calls: list[list]) -> Table:
    """`turn` is the seat to act, `calls` what was said so far with the cards left out."""
    shown = new_table(2, PHASES.get(int(state[slots.PHASE]), "bet"), turn)
    if state[slots.PHASE] == slots.DEALING:
        return shown
    ranks = int(state[slots.RANKS])
    shown["hand"] = held(int(state[slots.HAND + seat]), name, lambda card: divmod(card, ranks))
    plays = []
    for index in range(int(state[slots.CARDS_PLAYED])):
        card, _, player = slots.history_entry(state, index)
        plays.append((int(player), name(int(card))))
    winners = [player for player, _ in plays[PER_TRICK::PER_TRICK]]
    if plays and len(plays) % PER_TRICK == 0:  # whoever is to play next has won it; the last one decides the hand
        over = state[slots.PHASE] == slots.OVER and len(plays) == PER_TRICK * state[slots.HAND_SIZE]
        winners.append(int(state[slots.WINNER if over else slots.TURN]))
    lay_tricks(shown, plays, winners, PER_TRICK)
    if len(shown["trick"]) == 1:
        shown["winning"] = shown["trick"][0][0]
    hand_size = int(state[slots.HAND_SIZE])
    for player in range(2):
        of_player = shown["seats"][player]
        of_player["cards"] = hand_size - sum(1 for seat_of_card, _ in plays if seat_of_card == player)
        of_player["figures"]["tricks"] = winners.count(player)
    shown["calls"] = calls
    shown["facts"].append(["tricks_left", hand_size - len(winners)])
    if state[slots.BETTING]:
        shown["facts"].append(["stake", int(state[slots.ANTE])])
        if state[slots.LAST_BETTOR] != slots.NOBODY:
            tag(shown, int(state[slots.LAST_BETTOR]), ["bet_last"])
        if state[slots.PHASE] == slots.ANSWERING:
            shown["facts"].append(["asked", int(state[slots.ANTE]) + 1])
    if state[slots.PHASE] == slots.OVER:
        tag(shown, int(state[slots.WINNER]), ["winner"])
        if state[slots.CARDS_PLAYED] < PER_TRICK * state[slots.HAND_SIZE]:
            tag(shown, 1 - int(state[slots.WINNER]), ["folded"])
    return shown
