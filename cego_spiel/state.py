"""Where a state of Cego keeps what, and the exchange of Standard-Cego, which what a player may infer depends on."""

from __future__ import annotations

from cardtable import deck, tricks
from cardtable.compiled import compiled
from cardtable.tricks import NUM_SEATS
from cego_spiel.cards import NUM_CARDS, best_card, worst_card
from cego_spiel.restrictions import HAND_SIZE

SINGLE_PLAYER = 0
BLIND = NUM_SEATS  # the pile behind the hands
BLIND_SIZE = NUM_CARDS - NUM_SEATS * HAND_SIZE
NUM_MOVES = NUM_SEATS * HAND_SIZE
KEPT_CARDS = 2  # of the dealt hand, in Standard-Cego

SUBGAMES = ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")
STANDARD, SOLO, ULTIMO, BETTEL, PICCOLO, RAEUBER = range(len(SUBGAMES))

# Slots of the state behind the dealing block: first the variant, then the position.
SUBGAME = deck.BLOCK_SIZE
POINT_REWARD = SUBGAME + 1  # 1: points are paid; 0: winning is
ZERO_SUM = SUBGAME + 2
SPLIT_TIES = SUBGAME + 3  # Räuber: 1 shares a tied loss; 0 gives it to the lowest seat
RESTRICTION = SUBGAME + 4  # start state of the automaton that says which hands the single player may be dealt
PROGRESS = SUBGAME + 5  # and where it is in the middle of the deal
OVER = SUBGAME + 6
SINGLE_WINS = SUBGAME + 7  # once the game is over; not in Räuber
LEADER = SUBGAME + 8  # of the present trick
TABLE_HALF_POINTS = SUBGAME + 9  # what lies on the table, in half points
POINTS = SUBGAME + 10  # POINTS + s: half points of the tricks seat s has won
TRICKS_WON = SUBGAME + 14  # TRICKS_WON + s
LEGAGE = SUBGAME + 18  # the cards the single player has laid away; Standard-Cego only
TRICKS = SUBGAME + 19  # the trick block
TURN = TRICKS + tricks.TURN
LED_SUIT = TRICKS + tricks.LED_SUIT
BEST_CARD = TRICKS + tricks.BEST_CARD
BEST_SEAT = TRICKS + tricks.BEST_SEAT
CARDS_PLAYED = TRICKS + tricks.CARDS_PLAYED
HAND = TRICKS + tricks.HAND
VOID = TRICKS + tricks.VOID
STATE_SIZE = TRICKS + tricks.HISTORY + tricks.history_words(NUM_MOVES)


@compiled
def exchange(state):
    """Standard-Cego: the two best dealt cards and all of the blind but its worst card make the single player's hand.

    The rest is the Legage.
    """
    dealt, blind = state[deck.DEALT + SINGLE_PLAYER], state[deck.DEALT + BLIND]
    kept = 1 << best_card(dealt)
    kept |= 1 << best_card(dealt ^ kept)
    hand = kept | blind ^ (1 << worst_card(blind))
    state[HAND + SINGLE_PLAYER] = hand
    state[LEGAGE] = (dealt | blind) ^ hand


@compiled
def moves(state, out):
    """All cards played so far, in order; returns how many."""
    return tricks.moves(state, TRICKS, out)
