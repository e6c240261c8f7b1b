"""What lies on a table of Coinche as one seat sees it (`cardtable.display`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cardtable.display import Table, held, lay_tricks, new_table, tag
from coinche_spiel import state as slots
from coinche_spiel.cards import (
    CLUBS,
    DIAMONDS,
    HEARTS,
    NUM_RANKS,
    PLAIN_STRENGTH,
    SPADES,
    SUIT_NAMES,
    TRUMP_STRENGTH,
    card_name,
)
from coinche_spiel.scoring import attack_points, is_made

PHASES = {slots.DEALING: "deal", slots.BIDDING: "auction", slots.PLAYING: "play", slots.OVER: "over"}
HAND_ORDER = {SPADES: 3, HEARTS: 2, CLUBS: 1, DIAMONDS: 0}  # colours alternate; trumps come before them all


def table(state: np.ndarray, seat: int, contract: str, calls: Sequence[tuple[int, str]]) -> Table:
    """`contract` is what the highest bid is called, `calls` the auction so far."""
    players, phase = int(state[slots.PLAYERS]), int(state[slots.PHASE])
    teams = ((0, 2), (1, 3)) if players == slots.MAX_PLAYERS else ()
    acting = phase in (slots.BIDDING, slots.PLAYING)
    shown = new_table(players, PHASES[phase], int(state[slots.TURN]) if acting else -1, teams)
    shown["dealer"] = int(state[slots.DEALER])
    if phase == slots.DEALING:
        return shown
    trump = int(state[slots.TRUMP])
    shown["hand"] = held(int(state[slots.HAND + seat]), card_name, lambda card: _place(card, trump))
    shown["calls"] = [list(call) for call in calls]
    for player in range(players):
        shown["seats"][player]["cards"] = int(state[slots.HAND + player]).bit_count()
    if state[slots.VALUE] == slots.NONE:
        return shown
    shown["facts"].append(["contract", contract])
    if slots.level(state):
        shown["facts"].append(["doubled", int(slots.level(state))])
    tag(shown, int(state[slots.DECLARER]), ["declarer"])
    if state[slots.COINCHER] != slots.NONE:
        tag(shown, int(state[slots.COINCHER]), ["coincher"])
    if phase != slots.BIDDING:
        shown["trump"] = SUIT_NAMES[trump]
        _lay_play(shown, state, players)
    if phase == slots.OVER:
        shown["facts"].append(["attack_points", int(attack_points(state))])
        shown["facts"].append(["made", bool(is_made(state))])
    return shown


def _lay_play(shown: Table, state: np.ndarray, players: int) -> None:
    played = int(state[slots.CARDS_PLAYED])
    plays = [
        (int(slots.player_of(state, index)), card_name(int(slots.played_card(state, index)))) for index in range(played)
    ]
    winners = [player for player, _ in plays[players::players]]
    if played and played % players == 0:  # HOLDER is whose card took it
        winners.append(int(state[slots.HOLDER]))
    lay_tricks(shown, plays, winners, players)
    if played % players:
        shown["winning"] = int(state[slots.HOLDER])
    for player in range(players):
        shown["seats"][player]["figures"]["tricks"] = winners.count(player)
    figures = [team["figures"] for team in shown["teams"]] or [of_player["figures"] for of_player in shown["seats"]]
    for number, of_team in enumerate(figures):
        of_team["points"] = int(state[slots.POINTS + number])
        of_team["tricks"] = int(state[slots.TRICKS + number])


def _place(card: int, trump: int) -> tuple[int, int]:
    """Where a player holds a card: trumps first, then suit by suit, the strongest first."""
    suit, rank = divmod(card, NUM_RANKS)
    if suit == trump:
        return len(HAND_ORDER), TRUMP_STRENGTH[rank]
    return HAND_ORDER[suit], PLAIN_STRENGTH[rank]
