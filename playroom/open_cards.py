"""Coinche with open cards: what perfect play of all four would take after each card, beside what advisers thought."""

from __future__ import annotations

import pyspiel

from cardtable import deck
from cardtable.spiel import CardState
from coinche_spiel import state as slots
from coinche_spiel.cards import ALL_CARDS, DER_POINTS, TOTAL_POINTS
from coinche_spiel.double_dummy import solve_cards
from playroom.analysis import WITH_OPEN_CARDS


def applies(state: pyspiel.State) -> bool:
    """The whole deck, four players, the usual duties, and cards being played."""
    if not isinstance(state, CardState) or state.get_game().get_type().short_name not in WITH_OPEN_CARDS:
        return False
    array = state.array
    usual = not array[slots.MUST_UNDERTRUMP] and not array[slots.MUST_OVERTRUMP_PARTNER]
    usual = usual and array[slots.DER] == DER_POINTS
    whole = array[deck.DECK_CARDS] == ALL_CARDS and array[slots.PLAYERS] == slots.MAX_PLAYERS
    return bool(usual and whole and array[slots.PHASE] == slots.PLAYING)


def best_points(state: pyspiel.State) -> dict[int, int] | None:
    """For every legal card: what the side to move takes from this trick on if it is played, and perfect play after."""
    if not applies(state):
        return None
    array = state.array
    played = int(array[slots.CARDS_PLAYED])
    start = played - played % slots.MAX_PLAYERS
    trick = [int(slots.played_card(array, index)) for index in range(start, played)]
    leader = (state.current_player() - len(trick)) % slots.MAX_PLAYERS
    hands = [int(array[slots.HAND + seat]) for seat in range(slots.MAX_PLAYERS)]
    north_south = solve_cards(hands, int(array[slots.TRUMP]), leader, trick)
    if state.current_player() % 2 == 0:
        return north_south
    left = TOTAL_POINTS - int(array[slots.POINTS]) - int(array[slots.POINTS + 1])
    return {card: left - points for card, points in north_south.items()}
