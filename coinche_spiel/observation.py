"""What a player knows, as integers and as numbers: the information key, both tensors, and the paper's observation.

Seats are relative to the observer everywhere in the tensors: 0 is the observer, 1 the next seat, and so on; the
observer's team comes first. docs/coinche.md has the table of indices.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Piece
from cardtable.tricks import write_cards
from coinche_spiel.auction import list_calls
from coinche_spiel.cards import NUM_CARDS, NUM_SUITS, TOTAL_POINTS
from coinche_spiel.state import (
    BIDDING,
    CARDS_PLAYED,
    COINCHER,
    DEALER,
    DEALING,
    HAND,
    HISTORY,
    MAX_PLAYERS,
    MAX_TRICKS,
    MAX_VALUES,
    NONE,
    NUM_CALLS,
    NUM_TEAMS,
    PASS,
    PASSES,
    PHASE,
    PLAYERS,
    PLAYING,
    POINTS,
    SURCOINCHER,
    TRUMP,
    VALUE,
    attacking_team,
    bid_of_value,
    contract_value,
    level,
    played_card,
    player_of,
)

NUM_LEVELS = 3
AUCTION_SIZE = (MAX_VALUES + 1) * (MAX_PLAYERS + NUM_SUITS) + 3 * MAX_PLAYERS
SUMMARY_SIZE = NUM_SUITS + (MAX_VALUES + 1) + 1 + NUM_LEVELS

# Pieces with relative seats look different to each observer, although everybody knows what they say.
INFORMATION_PIECES = (
    Piece("phase", (2,), "public"),
    Piece("dealer", (MAX_PLAYERS,), "observer"),
    Piece("initial_hand", (NUM_CARDS,), "private"),
    Piece("auction", (AUCTION_SIZE,), "observer"),
    Piece("contract", (SUMMARY_SIZE,), "observer"),
    Piece("cards", (NUM_CARDS, MAX_PLAYERS + MAX_TRICKS), "observer"),
)
OBSERVATION_PIECES = (
    Piece("phase", (2,), "public"),
    Piece("dealer", (MAX_PLAYERS,), "observer"),
    Piece("hand", (NUM_CARDS,), "private"),
    Piece("auction", (AUCTION_SIZE,), "observer"),
    Piece("contract", (SUMMARY_SIZE,), "observer"),
    Piece("played_by", (NUM_CARDS, MAX_PLAYERS), "observer"),
    Piece("trick", (MAX_PLAYERS, NUM_CARDS), "observer"),
    Piece("trick_number", (MAX_TRICKS,), "public"),
    Piece("points", (NUM_TEAMS,), "observer"),
)

# Where the pieces that both tensors share begin.
_DEALER_AT = 2
_HAND_AT = _DEALER_AT + MAX_PLAYERS
_AUCTION_AT = _HAND_AT + NUM_CARDS
_CONTRACT_AT = _AUCTION_AT + AUCTION_SIZE
_CARDS_AT = _CONTRACT_AT + SUMMARY_SIZE
# Where the later pieces of the observation begin.
_TRICK_AT = _CARDS_AT + NUM_CARDS * MAX_PLAYERS
_TRICK_NUMBER_AT = _TRICK_AT + MAX_PLAYERS * NUM_CARDS
_POINTS_AT = _TRICK_NUMBER_AT + MAX_TRICKS

KEY_WORDS = 4


@compiled
def information_key(state, player, out):
    """Own remaining cards, the dealer, the auction and the cards played in order, in four words.

    Words 2 and 3 hold the first 24 cards. Of the last eight, four go to word 0 and three to word 1; the last card of
    all is the one that is left. The auction is a number with ten digits in base 17, one per value (0, or 1 + 4 *
    caller + suit), and three digits in base 5: who coinched, who surcoinched, and the passes since. It is below 2**48.
    """
    last_cards = state[HISTORY + 2]
    auction = 0
    for value in range(MAX_VALUES + 1):
        auction = 17 * auction + bid_of_value(state, value)
    auction = ((auction * 5 + state[COINCHER] + 1) * 5 + state[SURCOINCHER] + 1) * 5 + state[PASSES]
    out[0] = (
        state[HAND + player]
        | player << 32
        | state[DEALER] << 34
        | state[CARDS_PLAYED] << 36
        | (last_cards & 0xFFFFF) << 42
    )
    out[1] = auction | (last_cards >> 20 & 0x7FFF) << 48
    out[2] = state[HISTORY]
    out[3] = state[HISTORY + 1]


@compiled
def information_tensor(state, player, out):
    if state[PHASE] != DEALING:
        write_cards(state[deck.DEALT + player], _HAND_AT, out)
    _write_shared(state, player, out)
    for index in range(state[CARDS_PLAYED]):
        place = _CARDS_AT + played_card(state, index) * (MAX_PLAYERS + MAX_TRICKS)
        out[place + _relative(state, player_of(state, index), player)] = 1.0
        out[place + MAX_PLAYERS + index // state[PLAYERS]] = 1.0


@compiled
def observation_tensor(state, player, out):
    write_cards(state[HAND + player], _HAND_AT, out)
    _write_shared(state, player, out)
    played = state[CARDS_PLAYED]
    trick = played // state[PLAYERS]
    for index in range(played):
        card = played_card(state, index)
        seat = _relative(state, player_of(state, index), player)
        out[_CARDS_AT + card * MAX_PLAYERS + seat] = 1.0
        if index >= trick * state[PLAYERS]:
            out[_TRICK_AT + seat * NUM_CARDS + card] = 1.0
    if state[PHASE] == PLAYING:
        out[_TRICK_NUMBER_AT + trick] = 1.0
    for side in range(NUM_TEAMS):
        out[_POINTS_AT + side] = state[POINTS + (player + side & 1)] / TOTAL_POINTS


@compiled
def _relative(state, seat, player):
    return (seat - player) & (state[PLAYERS] - 1)


@compiled
def _write_shared(state, player, out):
    """Phase, dealer, auction and contract; everything but the dealer stays empty before the deal."""
    out[_DEALER_AT + _relative(state, state[DEALER], player)] = 1.0
    if state[PHASE] == DEALING:
        return
    if state[PHASE] == BIDDING:
        out[0] = 1.0
    elif state[PHASE] == PLAYING:
        out[1] = 1.0
    place = _AUCTION_AT
    for value in range(MAX_VALUES + 1):
        bid = bid_of_value(state, value)
        if bid:
            out[place + _relative(state, (bid - 1) >> 2, player)] = 1.0
            out[place + MAX_PLAYERS + ((bid - 1) & 3)] = 1.0
        place += MAX_PLAYERS + NUM_SUITS
    for caller in (state[COINCHER], state[SURCOINCHER]):
        if caller != NONE:
            out[place + _relative(state, caller, player)] = 1.0
        place += MAX_PLAYERS
    if state[PASSES] < MAX_PLAYERS:  # four passes: the deal is void
        out[place + state[PASSES]] = 1.0

    if state[VALUE] != NONE:
        out[_CONTRACT_AT + state[TRUMP]] = 1.0
        out[_CONTRACT_AT + NUM_SUITS + state[VALUE]] = 1.0
        attacks = _CONTRACT_AT + NUM_SUITS + MAX_VALUES + 1
        out[attacks] = 1.0 if attacking_team(state) == player & 1 else 0.0
        out[attacks + 1 + level(state)] = 1.0


LONGEST_AUCTION = 37
PAPER_OBSERVATION_SIZE = LONGEST_AUCTION + 3 * NUM_CARDS + 2 + 5
PAPER_PADDING = NUM_CALLS  # 43: no call yet


@compiled
def paper_observation(state, player, out):
    """The 140 numbers of the program of the Coinche paper, for its experiments; not an information state.

    0-36 the calls, the newest last, padded in front with 43; 37-68 the cards of finished tricks; 69-100 the own hand;
    101-132 the trick on the table; 133-134 points / 162, own team first; 135 whether the own team attacks; 136 the
    value of the contract, 0 without one; 137 the trump suit, -1 without one; 138 coinched 1, surcoinched 2; 139 the
    phase, 0 bidding, 1 playing. In the play the suits are rotated so that trump is the first.
    """
    calls = np.empty(LONGEST_AUCTION, np.int64)
    num_calls = list_calls(state, calls)
    for index in range(LONGEST_AUCTION):
        missing = LONGEST_AUCTION - num_calls
        out[index] = PAPER_PADDING if index < missing else calls[index - missing] - PASS
    rotation = 0 if state[PHASE] == BIDDING or state[VALUE] == NONE else NUM_CARDS // NUM_SUITS * state[TRUMP]
    played_at = LONGEST_AUCTION
    hand_at = played_at + NUM_CARDS
    trick_at = hand_at + NUM_CARDS
    extra = trick_at + NUM_CARDS
    in_finished_tricks = state[CARDS_PLAYED] // state[PLAYERS] * state[PLAYERS]
    for index in range(state[CARDS_PLAYED]):
        card = (played_card(state, index) - rotation) % NUM_CARDS
        out[(played_at if index < in_finished_tricks else trick_at) + card] = 1.0
    hand = state[HAND + player]
    while hand:
        out[hand_at + (bits.lowest(hand) - rotation) % NUM_CARDS] = 1.0
        hand &= hand - 1
    out[extra] = state[POINTS + (player & 1)] / TOTAL_POINTS
    out[extra + 1] = state[POINTS + (1 - (player & 1))] / TOTAL_POINTS
    out[extra + 4] = -1.0
    if state[VALUE] != NONE:
        out[extra + 2] = 1.0 if attacking_team(state) == player & 1 else 0.0
        out[extra + 3] = contract_value(state)
        out[extra + 4] = state[TRUMP]
        out[extra + 5] = level(state)
    out[extra + 6] = 0.0 if state[PHASE] == BIDDING else 1.0
