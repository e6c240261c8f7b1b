"""The input of ScrofaZero's networks: the whole position with open hands, as 434 numbers (full deck only).

    0    4 x 52  hands left: the player, then the others in turn order
    208  4 x 16  scored cards captured, same seats: H2 to HA, SQ, DJ, C10
    272  3 x 54  cards on the table, the latest first; card c marks the places c, c + 1 and c + 2

Shi, Li and Sun (2021) diffuse a table card over three places, so that neighbours in rank look alike. Their program
leaves out the offset of one, and the deuce of spades spills over the edge of its block; here it does not.

`suit_features` says what a small network would take long to find out from these: the same 96 numbers for each suit, so
that one layer can read all four, its cards in play from the highest to the lowest,

    0    4 x 13  who has the card, the player first
    52   3 x 13  its points in units of 50; whether it is the transformer; whether it lies on the table
    91   4       how long the suit is in each hand, in units of four cards
    95   1       whether it was led

and behind them eight numbers for each seat: points taken in hundreds, the transformer, the two multiplied, hearts
taken, scored cards, whether she wins the trick so far, can follow suit, and has a card that beats the best one.
Cards may be shared between hands, where a player cannot see who has them.
"""

from __future__ import annotations

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.tricks import NUM_SEATS, played_card, write_cards
from gongzhu_spiel.knowledge import HEART_SET, SCORED_SET, TRANSFORMER_CARD
from gongzhu_spiel.observation import write_scored
from gongzhu_spiel.rules import raw_points
from gongzhu_spiel.state import (
    BEST_CARD,
    BEST_SEAT,
    CARDS_PLAYED,
    FULL_DECK,
    HAND,
    LED_SUIT,
    MAX_RANKS,
    MAX_SUITS,
    TABLE,
    TAKEN,
    TRICKS,
    require_full_deck,
)

OPEN_HAND_FEATURES = 434
SCORED_OFFSET = NUM_SEATS * FULL_DECK
TABLE_OFFSET = SCORED_OFFSET + NUM_SEATS * 16
TABLE_BLOCK = FULL_DECK + 2

WORTH, IS_TRANSFORMER, ON_TABLE = 4 * MAX_RANKS, 5 * MAX_RANKS, 6 * MAX_RANKS  # in the numbers of a suit
LENGTH, LED = 7 * MAX_RANKS, 7 * MAX_RANKS + 4
SUIT_BLOCK, SEAT_BLOCK = 96, 8
SUIT_FEATURES = MAX_SUITS * SUIT_BLOCK + NUM_SEATS * SEAT_BLOCK


@compiled
def open_hand_features(state, player, out):
    """Writes the features seen from `player` into `out`, which arrives zeroed."""
    require_full_deck(state)
    captured = SCORED_OFFSET
    for step in range(NUM_SEATS):
        seat = (player + step) % NUM_SEATS
        write_cards(state[HAND + seat], step * FULL_DECK, out)
        captured = write_scored(state, state[TAKEN + seat], captured, out)
    for back in range(state[CARDS_PLAYED] % NUM_SEATS):
        _, card = played_card(state, TRICKS, state[CARDS_PLAYED] - 1 - back)
        first = TABLE_OFFSET + back * TABLE_BLOCK + card
        out[first : first + 3] = 1.0


@compiled
def suit_features(state, player, shares, out):
    """Writes the numbers of suits and seats into `out`, zeroed before. `shares[seat, card]`: the player first."""
    require_full_deck(state)
    for suit in range(MAX_SUITS):
        _write_suit(state, suit, shares, out[suit * SUIT_BLOCK : (suit + 1) * SUIT_BLOCK])
    first = MAX_SUITS * SUIT_BLOCK
    for step in range(NUM_SEATS):
        seat = (player + step) % NUM_SEATS
        taken = state[TAKEN + seat]
        points = raw_points(state, taken) / 100.0
        doubled = 1.0 if bits.contains(taken, TRANSFORMER_CARD) else 0.0
        out[first] = points
        out[first + 1] = doubled
        out[first + 2] = points * doubled
        out[first + 3] = bits.count(taken & HEART_SET) / 13.0
        out[first + 4] = bits.count(taken & SCORED_SET) / 16.0
        led = state[LED_SUIT]
        if led:
            out[first + 5] = 1.0 if state[BEST_SEAT] == seat else 0.0
            for card in range(bits.lowest(led), bits.lowest(led) + MAX_RANKS):
                out[first + 6] = min(1.0, out[first + 6] + shares[step, card])
                if card > state[BEST_CARD]:
                    out[first + 7] = min(1.0, out[first + 7] + shares[step, card])
        first += SEAT_BLOCK


@compiled
def _write_suit(state, suit, shares, out):
    place = 0
    for rank in range(MAX_RANKS - 1, -1, -1):
        card = suit * MAX_RANKS + rank
        on_table = bits.contains(state[TABLE], card)
        held = shares[0, card] + shares[1, card] + shares[2, card] + shares[3, card]
        if held == 0.0 and not on_table:
            continue
        for step in range(NUM_SEATS):
            out[step * MAX_RANKS + place] = shares[step, card]
            out[LENGTH + step] += shares[step, card] / 4.0
        out[WORTH + place] = raw_points(state, 1 << card) / 50.0
        out[IS_TRANSFORMER + place] = 1.0 if card == TRANSFORMER_CARD else 0.0
        out[ON_TABLE + place] = 1.0 if on_table else 0.0
        place += 1
    out[LED] = 1.0 if bits.contains(state[LED_SUIT], suit * MAX_RANKS) else 0.0
