"""Where a Coinche state keeps what: the slots of the state array, and the numbers that stand for calls and phases.

A state begins with the dealing block (`cardtable.deck`); card sets everywhere hold the ids of the full 32-card deck,
also in variants with fewer suits or ranks.
"""

from __future__ import annotations

from cardtable import deck
from cardtable.compiled import compiled
from coinche_spiel.cards import NUM_CARDS, NUM_SUITS

MAX_PLAYERS = 4
MAX_TRICKS = 8
NUM_TEAMS = 2

# The variant.
PLAYERS = deck.BLOCK_SIZE  # 4, or 2
SUITS = PLAYERS + 1  # how many suits there are: the first ones
HAND_SIZE = PLAYERS + 2
NUM_VALUES = PLAYERS + 3  # how many values may be bid: MIN_BID, MIN_BID + 10, ...
MIN_BID = PLAYERS + 4
CAPOT_VALUE = PLAYERS + 5  # 0: capot cannot be bid
COINCHE_ALLOWED = PLAYERS + 6
SURCOINCHE_FACTOR = PLAYERS + 7
FALL_POINTS = PLAYERS + 8
COINCHED_FALL_IS_VALUE = PLAYERS + 9
COINCHE_TAKES_OVER = PLAYERS + 10
DER = PLAYERS + 11
BELOTE = PLAYERS + 12
MUST_UNDERTRUMP = PLAYERS + 13  # pisser=forced
MUST_OVERTRUMP_PARTNER = PLAYERS + 14  # under_partner=no_under
REWARD = PLAYERS + 15  # one of REWARD_SCHEMES, by index
TRICK_REWARD = PLAYERS + 16  # the bits of a float64
DEALER = PLAYERS + 17

# The auction.
PHASE = PLAYERS + 18
TURN = PLAYERS + 19  # the seat to call or to play
BIDS = PLAYERS + 20  # five bits per value, lowest value first: 0, or 1 + 4 * caller + suit
VALUE = PLAYERS + 21  # index of the highest value bid, NONE before the first contract
TRUMP = PLAYERS + 22  # the suit of that contract
DECLARER = PLAYERS + 23  # the seat that called it
COINCHER = PLAYERS + 24
SURCOINCHER = PLAYERS + 25
PASSES = PLAYERS + 26  # since the last call that was not a pass

# The play.
CARDS_PLAYED = PLAYERS + 27
TRUMPS = PLAYERS + 28  # all cards of the trump suit
LED = PLAYERS + 29  # all cards of the led suit, 0 if the next card leads
BEATING = PLAYERS + 30  # all cards that would beat the best card of the trick
HOLDER = PLAYERS + 31  # the seat that played the best card
TRICK_POINTS = PLAYERS + 32  # points on the table
LEADERS = PLAYERS + 33  # two bits per trick: who led it
POINTS = PLAYERS + 34  # POINTS + team: card points won, the last trick's bonus included
TRICKS = POINTS + NUM_TEAMS  # TRICKS + team: tricks won
HAND = TRICKS + NUM_TEAMS  # HAND + seat: the cards the seat still holds
ABSENT = HAND + MAX_PLAYERS  # ABSENT + seat: cards the seat cannot hold, or it would have had to play otherwise
HISTORY = ABSENT + MAX_PLAYERS  # the cards in the order they were played, five bits each, twelve to a word
CARDS_PER_WORD = 12
STATE_SIZE = HISTORY + 3

NONE = -1

# Phases.
DEALING, BIDDING, PLAYING, OVER = range(4)

# Actions: cards are their own ids; calls follow.
PASS = NUM_CARDS
FIRST_BID = PASS + 1  # FIRST_BID + 4 * value index + suit
MAX_VALUES = 9
CAPOT = MAX_VALUES  # the value index of a capot, above all numbers
COINCHE = FIRST_BID + NUM_SUITS * (MAX_VALUES + 1)
SURCOINCHE = COINCHE + 1
NUM_ACTIONS = SURCOINCHE + 1
NUM_CALLS = NUM_ACTIONS - NUM_CARDS

REWARD_SCHEMES = ("classic", "mirror", "no_defense", "good", "points")
CLASSIC, MIRROR, NO_DEFENSE, GOOD, CARD_POINTS_TOO = range(len(REWARD_SCHEMES))


@compiled
def clear_table(state):
    """Before a deal: no auction, no play."""
    for slot in range(PHASE, STATE_SIZE):
        state[slot] = 0
    state[VALUE] = NONE
    state[TRUMP] = NONE
    state[DECLARER] = NONE
    state[COINCHER] = NONE
    state[SURCOINCHER] = NONE


@compiled
def next_seat(state, seat):
    return (seat + 1) & (state[PLAYERS] - 1)  # two or four players: the remainder is a mask


@compiled
def first_seat(state):
    """Who speaks first and leads the first trick: the seat after the dealer."""
    return next_seat(state, state[DEALER])


@compiled
def bid_of_value(state, value):
    """0 if nobody has bid this value, else 1 + 4 * caller + suit."""
    return state[BIDS] >> (5 * value) & 31


@compiled
def level(state):
    """0: not coinched, 1: coinched, 2: surcoinched."""
    if state[SURCOINCHER] != NONE:
        return 2
    return 1 if state[COINCHER] != NONE else 0


@compiled
def contract_value(state):
    """What the contract is called: its number, or the value of a capot. There must be a contract."""
    return state[CAPOT_VALUE] if state[VALUE] == CAPOT else state[MIN_BID] + 10 * state[VALUE]


@compiled
def attacking_team(state):
    """The team that must make the contract. There must be a contract."""
    if state[COINCHE_TAKES_OVER] and state[COINCHER] != NONE:
        return state[COINCHER] & 1
    return state[DECLARER] & 1


@compiled
def played_card(state, index):
    """The index-th card of the play."""
    return state[HISTORY + index // CARDS_PER_WORD] >> (5 * (index % CARDS_PER_WORD)) & 31


@compiled
def player_of(state, index):
    """Who played the index-th card."""
    players = state[PLAYERS]
    leader = state[LEADERS] >> (2 * (index // players)) & 3
    return (leader + index) & (players - 1)
