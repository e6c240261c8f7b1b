"""What a Cego player knows, as integers and as numbers: the information key and both tensors.

The observation is the 336 numbers of Oeschger's program (Table II of the paper):

    0    own hand                        54
    54   cards the others may still play 54  all but own hand, played cards, and the own Legage
    108  card that wins the trick        54
    162  first card of the trick         54
    216  second                          54
    270  third                           54
    324  own team                         4  the single player alone, or her three opponents; in Räuber oneself
    328  seat that wins the trick         4
    332  seat that leads the trick        4

It forgets who played what. The information state does not, and also shows voids, tricks and points so far.
"""

from __future__ import annotations

from cardtable import deck, tricks
from cardtable.compiled import compiled
from cardtable.rules import Piece
from cardtable.tricks import NUM_SEATS, write_cards
from cego_spiel.cards import ALL_CARDS, NUM_CARDS, NUM_SUITS, SUIT_SIZE, TOTAL_HALF_POINTS
from cego_spiel.restrictions import HAND_SIZE
from cego_spiel.state import (
    BEST_CARD,
    BEST_SEAT,
    CARDS_PLAYED,
    HAND,
    LEADER,
    LEGAGE,
    NUM_MOVES,
    OVER,
    POINTS,
    RAEUBER,
    SINGLE_PLAYER,
    STANDARD,
    SUBGAME,
    TRICKS,
    TRICKS_WON,
)

OBSERVATION_PIECES = (
    Piece("hand", (NUM_CARDS,), "private"),
    Piece("others_may_play", (NUM_CARDS,), "private"),
    Piece("winning_card", (NUM_CARDS,), "public"),
    Piece("trick", (3, NUM_CARDS), "public"),
    Piece("team", (NUM_SEATS,), "observer"),
    Piece("winning_seat", (NUM_SEATS,), "public"),
    Piece("leader", (NUM_SEATS,), "public"),
)


def information_pieces(subgame: int) -> tuple[Piece, ...]:
    exchange = (Piece("dealt", (NUM_CARDS,), "private"), Piece("legage", (NUM_CARDS,), "private"))
    return (
        Piece("player", (NUM_SEATS,), "observer"),
        Piece("hand", (NUM_CARDS,), "private"),
        *(exchange if subgame == STANDARD else ()),
        Piece("cards", (NUM_MOVES, NUM_CARDS), "public"),
        Piece("played_by", (NUM_MOVES, NUM_SEATS), "public"),
        Piece("void", (NUM_SEATS, NUM_SUITS), "public"),
        Piece("tricks_won", (NUM_SEATS,), "public"),  # share of all tricks
        Piece("points", (NUM_SEATS,), "public"),  # of the tricks won, as a share of all points
    )


@compiled
def information_key(state, player, out):
    """Own hand and all cards played; in Standard-Cego the single player also knows what she was dealt and laid away."""
    words = tricks.write_key(state, TRICKS, player, out)
    if state[SUBGAME] == STANDARD:
        knows = player == SINGLE_PLAYER and deck.is_dealt(state)
        out[words] = state[deck.DEALT + SINGLE_PLAYER] if knows else 0
        out[words + 1] = state[LEGAGE] if knows else 0


@compiled
def information_tensor(state, player, out):
    out[player] = 1.0
    write_cards(state[HAND + player], NUM_SEATS, out)
    offset = NUM_SEATS + NUM_CARDS
    if state[SUBGAME] == STANDARD:
        if player == SINGLE_PLAYER and deck.is_dealt(state):
            write_cards(state[deck.DEALT + SINGLE_PLAYER], offset, out)
            write_cards(state[LEGAGE], offset + NUM_CARDS, out)
        offset += 2 * NUM_CARDS
    offset = tricks.write_history(state, TRICKS, NUM_MOVES, NUM_CARDS, offset, out)
    offset = tricks.write_voids(state, TRICKS, NUM_SUITS, SUIT_SIZE, offset, out)
    for seat in range(NUM_SEATS):
        out[offset + seat] = state[TRICKS_WON + seat] / HAND_SIZE
        out[offset + NUM_SEATS + seat] = state[POINTS + seat] / TOTAL_HALF_POINTS


@compiled
def observation_tensor(state, player, out):
    _write_team(state, player, out)
    if not deck.is_dealt(state):
        return
    hand = state[HAND + player]
    write_cards(hand, 0, out)
    gone = hand
    for index in range(state[CARDS_PLAYED]):
        _, card = tricks.played_card(state, TRICKS, index)
        gone |= 1 << card
    if player == SINGLE_PLAYER:
        gone |= state[LEGAGE]
    write_cards(ALL_CARDS & ~gone, NUM_CARDS, out)
    in_trick = state[CARDS_PLAYED] % NUM_SEATS
    if in_trick > 0 and not state[OVER]:
        out[2 * NUM_CARDS + state[BEST_CARD]] = 1.0
        out[6 * NUM_CARDS + NUM_SEATS + state[BEST_SEAT]] = 1.0
        for place in range(in_trick):
            _, card = tricks.played_card(state, TRICKS, state[CARDS_PLAYED] - in_trick + place)
            out[(3 + place) * NUM_CARDS + card] = 1.0
    out[6 * NUM_CARDS + 2 * NUM_SEATS + state[LEADER]] = 1.0


@compiled
def _write_team(state, player, out):
    for seat in range(NUM_SEATS):
        if seat == player or (state[SUBGAME] != RAEUBER and seat != SINGLE_PLAYER and player != SINGLE_PLAYER):
            out[6 * NUM_CARDS + seat] = 1.0
