"""The choice of a card: worlds that fit what is known, each solved with open hands, payoffs averaged.

    value(card) = sum over worlds w of  weight_w * payoff(points of the attack in w after this card)

This is perfect information Monte Carlo (Ginsberg, "GIB", 2001, for bridge; Buro, Long, Furtak and Sturtevant 2009, for
Skat), with the score of the contract as payoff instead of points. Worlds and weights are those of
`cardtable.search.beliefs`; where few deals are possible, all of them are solved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cardtable import bits, deck
from cardtable.compiled import compiled, entry_point
from cardtable.recall import recall_at
from cardtable.rules import ADDRESSES, INTEGERS, PROBABILITIES, STATE, STATES, STREAMS, kernel_at
from cardtable.search.beliefs import MODELS_TYPE, PAST_TYPE, Models, Past, believing
from coinche_spiel import state as slots
from coinche_spiel.cards import NUM_CARDS, NUM_RANKS
from coinche_spiel.double_dummy.positions import NO_CARD, place
from coinche_spiel.double_dummy.search import DER, MUST_OVERTRUMP_PARTNER, MUST_UNDERTRUMP, SWEEP_BONUS, Workspace
from coinche_spiel.expert.auctions import AUCTION_TYPE, Auction, judge_calls, listen
from coinche_spiel.expert.open_cards import judge_cards
from coinche_spiel.expert.payoff import DEFENCE, PAYOFF_COLUMNS, POINT_SHARE, belote_of, sweeps_count, write_payoffs
from coinche_spiel.play import CARD_POINTS, legal_cards
from coinche_spiel.scoring import BELOTE_PAIR
from coinche_spiel.state import (
    BELOTE,
    CARDS_PLAYED,
    HAND,
    MAX_PLAYERS,
    MAX_TRICKS,
    TRICK_POINTS,
    TRICKS,
    TRUMP,
    TURN,
    attacking_team,
    played_card,
)

believe = believing(judge_calls)

MATRIX = types.Array(types.float64, 2, "C")
WORKSPACE_TYPE = types.Tuple((INTEGERS,) * len(Workspace._fields))
FULL_WINDOW = -1
SMALL_STEP = 4 * POINT_SHARE  # beside the largest step of the payoffs
DECIDED_WORLDS = 4  # enough where only appearances are at stake

# Settings, as whole numbers: how far from the contract points are told apart (FULL_WINDOW: everywhere), whether calls
# are judged as learnt bids make them likely; for hands of 0 to 8 cards how many worlds are drawn, and how many solved.
WINDOW = 0
LISTENS = 1
DRAWN = 2
KEPT = DRAWN + MAX_TRICKS + 1
NUM_SETTINGS = KEPT + MAX_TRICKS + 1


class Room(NamedTuple):
    """What a search writes to; one for each thread."""

    worlds: np.ndarray  # (drawn, piles): the cards that each seat holds
    weights: np.ndarray
    results: np.ndarray  # (worlds, legal cards): payoffs
    actions: np.ndarray
    means: np.ndarray
    payoffs: np.ndarray
    points: np.ndarray
    scratch: np.ndarray  # a state
    small: np.ndarray  # four hands, four hands as dealt, three cards of the trick


ROOM_TYPE = types.Tuple((STATES, PROBABILITIES, MATRIX, INTEGERS, PROBABILITIES, MATRIX, INTEGERS, STATE, INTEGERS))
HANDS, DEALT, TRICK_CARDS, SMALL = 0, 4, 8, 11


def new_room(state_size: int, most_drawn: int, most_kept: int) -> Room:
    return Room(
        np.zeros((most_drawn, deck.MAX_PILES), np.int64),
        np.zeros(most_drawn),
        np.zeros((most_kept, MAX_TRICKS)),
        np.zeros(MAX_TRICKS, np.int64),
        np.zeros(MAX_TRICKS),
        np.zeros((DEFENCE + 1, PAYOFF_COLUMNS)),
        np.zeros(NUM_CARDS, np.int64),
        np.zeros(state_size, np.int64),
        np.zeros(SMALL, np.int64),
    )


@compiled
def left_in_play(state):
    """The points from the current trick on, the last trick's included."""
    trump = state[TRUMP]
    points = state[TRICK_POINTS] + state[slots.DER]
    for seat in range(MAX_PLAYERS):
        cards = state[HAND + seat]
        while cards:
            points += CARD_POINTS[trump * NUM_CARDS + bits.lowest(cards)]
            cards &= cards - 1
    return points


@compiled
def window_around(payoffs, lowest, highest, width):
    """(low, high): payoffs are all alike, but for the small worth of points, below low and above high."""
    largest = 0.0
    for points in range(lowest + 1, highest + 1):
        largest = max(largest, abs(payoffs[points + SWEEP_BONUS] - payoffs[points - 1 + SWEEP_BONUS]))
    low, high = highest, lowest
    for points in range(lowest + 1, highest + 1):
        step = abs(payoffs[points + SWEEP_BONUS] - payoffs[points - 1 + SWEEP_BONUS])
        if width < 0 or step > SMALL_STEP * largest:
            low = min(low, points - 1)
            high = max(high, points)
    return max(lowest, low - max(width, 0)), min(highest, high + max(width, 0))


@compiled
def evaluate(kernel, recall, models, past, auction, power, settings, work, state, generator, room):
    """Fills room.actions, .results, .weights and .means; returns (legal cards, worlds, whether these are all)."""
    seat = state[TURN]
    n = bits.list_cards(legal_cards(state), 0, room.actions)
    room.means[:n] = 0.0
    if n == 1:
        return n, 0, True
    trump = state[TRUMP]
    attack = attacking_team(state)
    held = bits.count(state[HAND + seat])
    left = left_in_play(state)
    room.scratch[:] = state
    lowest, highest, decided = write_payoffs(room.scratch, seat, left, room.payoffs)
    auction.calls[0] = 0
    if settings[LISTENS] and power > 0.0:
        listen(state, auction)
    worlds, every = believe(
        kernel,
        recall,
        models,
        past,
        auction,
        power,
        state,
        seat,
        generator,
        settings[DRAWN + held],
        min(DECIDED_WORLDS, settings[KEPT + held]) if decided else settings[KEPT + held],
        room.worlds,
        room.weights,
    )
    hands, dealt, trick = room.small[HANDS:DEALT], room.small[DEALT:TRICK_CARDS], room.small[TRICK_CARDS:SMALL]
    played = state[CARDS_PLAYED] & (MAX_PLAYERS - 1)
    leader = (seat - played) & (MAX_PLAYERS - 1)
    trick[:] = NO_CARD
    for index in range(played):
        trick[index] = played_card(state, state[CARDS_PLAYED] - played + index)
    sweepers = 0
    if sweeps_count(state):
        sweepers = (1 if state[TRICKS + 1] == 0 else 0) | (2 if state[TRICKS] == 0 else 0)
    work.variant[MUST_UNDERTRUMP] = state[slots.MUST_UNDERTRUMP]
    work.variant[MUST_OVERTRUMP_PARTNER] = state[slots.MUST_OVERTRUMP_PARTNER]
    work.variant[DER] = state[slots.DER]
    pair = BELOTE_PAIR << NUM_RANKS * trump
    belote = 0
    low, high = window_around(room.payoffs[belote], lowest, highest, settings[WINDOW])
    for number in range(worlds):
        for other in range(MAX_PLAYERS):
            hands[other] = state[HAND + other] if other == seat else room.worlds[number, other]
            dealt[other] = hands[other] | (state[deck.DEALT + other] ^ state[HAND + other])
        if state[BELOTE]:
            belote = belote_of(dealt, pair, attack)
            low, high = window_around(room.payoffs[belote], lowest, highest, settings[WINDOW])
        place(work, hands, trump, leader, trick, sweepers)
        judge_cards(work, trump, attack, low, high, room.points)
        for index in range(n):
            payoff = room.payoffs[belote, room.points[room.actions[index]] + SWEEP_BONUS]
            room.results[number, index] = payoff
            room.means[index] += room.weights[number] * payoff
    return n, worlds, every


SEARCH_TYPES = (
    ADDRESSES,
    ADDRESSES,
    MODELS_TYPE,
    PAST_TYPE,
    AUCTION_TYPE,
    types.float64,
    INTEGERS,
    WORKSPACE_TYPE,
    ROOM_TYPE,
)


@entry_point(*SEARCH_TYPES, STATES, INTEGERS, STREAMS, INTEGERS, nogil=True)
def choose_cards(
    kernel_, recall_, models_, past_, auction_, power, settings, work_, room_, states, rows, streams, chosen
):
    """The best card in each of these rows of `states`, the lowest of equal ones; returns what `evaluate` said last."""
    kernel, recall = kernel_at(kernel_), recall_at(recall_)
    models, past, work, room = Models(*models_), Past(*past_), Workspace(*work_), Room(*room_)
    auction = Auction(*auction_)
    n, worlds, every = 0, 0, True
    for index in range(len(rows)):
        state, stream = states[rows[index]], streams[index]
        n, worlds, every = evaluate(kernel, recall, models, past, auction, power, settings, work, state, stream, room)
        chosen[index] = room.actions[np.argmax(room.means[:n])]
    return n, worlds, every
