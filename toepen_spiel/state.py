"""Where a state of Toepen keeps what, and how its numbers read.

Card ids are suit * ranks + rank with rank 0 the weakest, so inside a suit the higher id wins. A turn is one card:
before it, its player may bet. `TURN` is the player whose card is due; while a bet waits for an answer, the other
player acts.
"""

from __future__ import annotations

from cardtable import deck
from cardtable.compiled import compiled

MAX_SUITS = 4
MAX_RANKS = 8

# Slots of the state behind the dealing block: first the variant, then the position.
SUITS = deck.BLOCK_SIZE
RANKS = SUITS + 1
HAND_SIZE = SUITS + 2
BETTING = SUITS + 3
FOLLOW_SUIT = SUITS + 4
PHASE = SUITS + 5
TURN = SUITS + 6
LAST_BETTOR = SUITS + 7  # NOBODY until the first bet
ANTE = SUITS + 8
CALLED = SUITS + 9  # 1 once the bet before the coming card was called
LED_CARD = SUITS + 10  # NO_CARD when the next card leads
CARDS_PLAYED = SUITS + 11
WINNER = SUITS + 12  # NOBODY until the hand is over
HAND = SUITS + 13  # HAND + p: the cards player p still holds
VOID = SUITS + 15  # VOID + p: all cards of the suits player p has shown not to hold
HISTORY = SUITS + 17  # the cards played so far, packed

NOBODY = -1
NO_CARD = -1

# Phases.
DEALING = 0
DECIDING = 1  # the player to play a card bets or checks
ANSWERING = 2  # the other player calls or folds
PLAYING = 3
OVER = 4

# Betting actions, counted from the number of cards in the deck.
CHECK = 0
BET = 1
CALL = 2
FOLD = 3
NUM_BETTING_ACTIONS = 4

# A played card in the history: card | called << CALLED_SHIFT | player << 6.
CALLED_SHIFT = 5
ENTRY_BITS = 7
ENTRIES_PER_WORD = 8
SIGNATURE_ENTRIES = 15  # of four bits, in a word


@compiled
def history_entry(state, index):
    """(card, called, player) of the index-th card played."""
    entry = state[HISTORY + index // ENTRIES_PER_WORD] >> ENTRY_BITS * (index % ENTRIES_PER_WORD)
    return entry & 31, entry >> CALLED_SHIFT & 1, entry >> 6 & 1


@compiled
def moves(state, out):
    """All actions so far, in order; returns how many. Bets are read off the cards they were called before."""
    bettor = NOBODY
    n = 0
    for index in range(state[CARDS_PLAYED]):
        card, called, player = history_entry(state, index)
        n = _betting_before_a_card(state, called, player == bettor, out, n)
        if called:
            bettor = player
        out[n] = card
        n += 1
    phase = state[PHASE]
    if phase == PLAYING:
        return _betting_before_a_card(state, state[CALLED], state[TURN] == bettor, out, n)
    if phase == ANSWERING or (phase == OVER and state[CARDS_PLAYED] < 2 * state[HAND_SIZE]):
        out[n] = state[deck.DECK_SIZE] + BET
        n += 1
        if phase == OVER:
            out[n] = state[deck.DECK_SIZE] + FOLD
            n += 1
    return n


@compiled
def _betting_before_a_card(state, called, was_last_to_bet, out, n):
    if called:
        out[n] = state[deck.DECK_SIZE] + BET
        out[n + 1] = state[deck.DECK_SIZE] + CALL
        return n + 2
    if state[BETTING] == 1 and not was_last_to_bet:
        out[n] = state[deck.DECK_SIZE] + CHECK
        return n + 1
    return n
