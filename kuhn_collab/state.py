"""Where a state of Collaborative Kuhn Poker keeps what, and how its numbers read.

Six cards QH QS KH KS AH AS with ids 0 to 5, so rank = id // 2. Seats 0 North, 1 West, 2 South, 3 East act in turn;
seats of equal parity are partners. The *level* is what every seat must have paid to stay in.
"""

from __future__ import annotations

from cardtable import bits, deck
from cardtable.compiled import compiled

NUM_SEATS = 4
NUM_CARDS = 6
NUM_SUITS = 2
HIGHEST_LEVEL = 3
LONGEST_HAND = 10  # k k k b c c r c c c: the level rises twice, each time after three others have acted

# Slots of the state behind the dealing block.
FOLD_TOPUP = deck.BLOCK_SIZE
PHASE = FOLD_TOPUP + 1
TURN = FOLD_TOPUP + 2
LEVEL = FOLD_TOPUP + 3
STILL_TO_ACT = FOLD_TOPUP + 4  # how many seats must check or call before the hand ends
FOLDER = FOLD_TOPUP + 5
PAID = FOLD_TOPUP + 6  # PAID + s: chips seat s has put in
HISTORY = FOLD_TOPUP + 10  # the actions so far, three bits each: action + 1, the first action lowest
STATE_SIZE = FOLD_TOPUP + 11

NOBODY = -1

# Phases.
DEALING = 0
ACTING = 1
OVER = 2

# Actions.
CHECK = 0
BET = 1
FOLD = 2
CALL = 3
RAISE = 4
NUM_ACTIONS = 5


@compiled
def num_actions_taken(state):
    n = 0
    while state[HISTORY] >> 3 * n:
        n += 1
    return n


@compiled
def history_action(state, index):
    return (state[HISTORY] >> 3 * index & 7) - 1


@compiled
def moves(state, out):
    """All actions so far, in order; returns how many."""
    n = num_actions_taken(state)
    for index in range(n):
        out[index] = history_action(state, index)
    return n


@compiled
def card_of(state, seat):
    return bits.lowest(state[deck.DEALT + seat])
