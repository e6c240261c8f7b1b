"""What a Gongzhu player knows, as the inputs of a network: 674 numbers, each zero or one (full deck only).

    0    52      cards in the hand
    52   4 x 52  cards played: by the player, then by the others in turn order
    260  4 x 16  scored cards taken, same seats: H2 to HA, SQ, DJ, C10
    324  3 x 52  cards on the table, the latest first
    480  52      the card that wins the trick so far
    532  3 x 4   suits that each of the others has shown to lack
    544  4 x 14  how long each suit is in the hand
    600  4 x 14  how many cards of each suit the player has not seen
    656  13      the number of the trick
    669  5       whose all hearts taken so far are: nobody's yet, the player's, the next seat's, ...; none if shared

The first three groups change by a card or two with every move, so `gongzhu_spiel.network` keeps their part of its
first layer from move to move. The groups in between are public: they are the same in all worlds a player thinks of.

An action, for learners that want actions as inputs too (`Features` of `cardtable.rules`), is 61 numbers: the card, its
suit, and whether it wins the trick so far, carries points, and follows suit, is led or discarded.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Features
from cardtable.tricks import NUM_SEATS, beats, played_card
from gongzhu_spiel.state import (
    BEST_CARD,
    CARDS_PLAYED,
    FULL_DECK,
    HAND,
    HEARTS,
    JACK,
    LED_SUIT,
    MAX_RANKS,
    MAX_SUITS,
    NO_TRUMPS,
    QUEEN,
    TAKEN,
    TEN,
    TRICKS,
    TURN,
    VOID,
    require_full_deck,
)

NUM_SCORED = 16
LENGTHS = MAX_RANKS + 1

OWN_HAND = 0
PLAYED_BY = OWN_HAND + FULL_DECK
TAKEN_BY = PLAYED_BY + NUM_SEATS * FULL_DECK
ON_TABLE = TAKEN_BY + NUM_SEATS * NUM_SCORED
WINNING = ON_TABLE + (NUM_SEATS - 1) * FULL_DECK
VOIDS = WINNING + FULL_DECK
OWN_LENGTH = VOIDS + (NUM_SEATS - 1) * MAX_SUITS
UNSEEN = OWN_LENGTH + MAX_SUITS * LENGTHS
TRICK_NUMBER = UNSEEN + MAX_SUITS * LENGTHS
ALL_HEARTS = TRICK_NUMBER + MAX_RANKS
KNOWLEDGE = ALL_HEARTS + NUM_SEATS + 1
MOST_KEPT = FULL_DECK + NUM_SCORED + MAX_RANKS  # more than are ever one in a list

CARD, SUIT, WINS, POINTS, FOLLOWS, LEADS = 0, FULL_DECK, FULL_DECK + 4, FULL_DECK + 5, FULL_DECK + 7, FULL_DECK + 8
ACTION = FULL_DECK + 9

HEART_SET = (1 << MAX_RANKS) - 1 << HEARTS * MAX_RANKS
PIG_CARD, SHEEP_CARD, TRANSFORMER_CARD = QUEEN, 2 * MAX_RANKS + JACK, 3 * MAX_RANKS + TEN
SCORED_SET = HEART_SET | 1 << PIG_CARD | 1 << SHEEP_CARD | 1 << TRANSFORMER_CARD


@compiled
def scored_place(card):
    """The number of a scored card among the sixteen."""
    if card == PIG_CARD:
        return MAX_RANKS
    if card == SHEEP_CARD:
        return MAX_RANKS + 1
    if card == TRANSFORMER_CARD:
        return MAX_RANKS + 2
    return card - HEARTS * MAX_RANKS


@compiled
def list_kept(state, seat, out):
    """The inputs of the first three groups that are one, seen from `seat`; returns how many."""
    return list_seen(state, seat, bits.list_cards(state[HAND + seat], OWN_HAND, out), out)


@compiled
def list_seen(state, seat, count, out):
    """Those of them on cards played and taken, which are public, behind the first `count`; returns how many."""
    for step in range(NUM_SEATS):
        other = (seat + step) % NUM_SEATS
        played = state[deck.DEALT + other] ^ state[HAND + other]
        while played:
            out[count] = PLAYED_BY + step * FULL_DECK + bits.lowest(played)
            played &= played - 1
            count += 1
        taken = state[TAKEN + other] & SCORED_SET
        while taken:
            out[count] = TAKEN_BY + step * NUM_SCORED + scored_place(bits.lowest(taken))
            taken &= taken - 1
            count += 1
    return count


@compiled
def list_public(state, seat, out):
    """The inputs from table, voids, trick and hearts that are one, seen from `seat`; returns how many."""
    count = 0
    on_table = state[CARDS_PLAYED] % NUM_SEATS
    for back in range(on_table):
        _, card = played_card(state, TRICKS, state[CARDS_PLAYED] - 1 - back)
        out[count] = ON_TABLE + back * FULL_DECK + card
        count += 1
    if on_table:
        out[count] = WINNING + state[BEST_CARD]
        count += 1
    for step in range(1, NUM_SEATS):
        void = state[VOID + (seat + step) % NUM_SEATS]
        for suit in range(MAX_SUITS):
            if bits.contains(void, suit * MAX_RANKS):
                out[count] = VOIDS + (step - 1) * MAX_SUITS + suit
                count += 1
    out[count] = TRICK_NUMBER + state[CARDS_PLAYED] // NUM_SEATS
    owner = -1
    owners = 0
    for step in range(NUM_SEATS):
        if state[TAKEN + (seat + step) % NUM_SEATS] & HEART_SET:
            owner = step
            owners += 1
    if owners < 2:
        count += 1
        out[count] = ALL_HEARTS + owner + 1
    return count + 1


@compiled
def cards_left(state):
    """All cards in the four hands, which is public."""
    return state[HAND] | state[HAND + 1] | state[HAND + 2] | state[HAND + 3]


@compiled
def list_lengths(left, hand, count, out):
    """The inputs on suits that are one, behind the first `count`; `left` is all cards in the four hands."""
    for suit in range(MAX_SUITS):
        cards = bits.suit_cards(suit, MAX_RANKS)
        out[count] = OWN_LENGTH + suit * LENGTHS + bits.count(hand & cards)
        out[count + 1] = UNSEEN + suit * LENGTHS + bits.count(left & ~hand & cards)
        count += 2
    return count


@compiled
def context(state, out):
    """All inputs, seen from the seat to move."""
    require_full_deck(state)
    seat = state[TURN]
    places = np.empty(MOST_KEPT, np.int64)
    for index in range(list_kept(state, seat, places)):
        out[places[index]] = 1.0
    count = list_public(state, seat, places)
    for index in range(list_lengths(cards_left(state), state[HAND + seat], count, places)):
        out[places[index]] = 1.0


@compiled
def actions(state, actions, count, out):
    """What there is to say about each card that the seat to move may play."""
    require_full_deck(state)
    led = state[LED_SUIT]
    for index in range(count):
        card = actions[index]
        out[index, CARD + card] = 1.0
        out[index, SUIT + card // MAX_RANKS] = 1.0
        follows = led != 0 and bits.contains(led, card)
        if led == 0 or beats(card, state[BEST_CARD], led, NO_TRUMPS):
            out[index, WINS] = 1.0
        if bits.contains(SCORED_SET, card):
            out[index, POINTS + (card == SHEEP_CARD)] = 1.0
        if led == 0:
            out[index, LEADS] = 1.0
        elif follows:
            out[index, FOLLOWS] = 1.0


FEATURES = Features(KNOWLEDGE, ACTION, context, actions)
