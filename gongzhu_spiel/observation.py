"""What a Gongzhu player knows: the information key and both tensors, laid out as `RULES.md` says."""

from __future__ import annotations

from cardtable import deck, tricks
from cardtable.compiled import compiled
from cardtable.rules import Piece
from cardtable.tricks import NUM_SEATS, write_cards
from gongzhu_spiel.state import (
    HAND,
    HEART_CARDS,
    PIG,
    RANKS,
    SHEEP,
    SUITS,
    TABLE,
    TAKEN,
    TRANSFORMER,
    TRICKS,
    TURN,
    current_player,
)


def _who_and_hand(suits: int, ranks: int) -> tuple[Piece, ...]:
    return Piece("player", (NUM_SEATS,), "observer"), Piece("hand", (suits, ranks), "private")


def information_pieces(suits: int, ranks: int) -> tuple[Piece, ...]:
    """The layout of `information_tensor`."""
    cards = suits * ranks
    return (
        *_who_and_hand(suits, ranks),
        Piece("cards", (cards, cards), "public"),
        Piece("played_by", (cards, NUM_SEATS), "public"),
    )


def observation_pieces(suits: int, ranks: int, num_scored: int) -> tuple[Piece, ...]:
    """The layout of `observation_tensor`."""
    cards = suits * ranks
    return (
        *_who_and_hand(suits, ranks),
        Piece("turn", (NUM_SEATS,), "public"),
        Piece("table", (NUM_SEATS, cards), "public"),
        Piece("played", (NUM_SEATS, cards), "public"),
        Piece("void", (NUM_SEATS, suits), "public"),
        Piece("taken", (NUM_SEATS, num_scored), "public"),
    )


@compiled
def information_key(state, player, out):
    tricks.write_key(state, TRICKS, player, out)


@compiled
def information_tensor(state, player, out):
    num_cards = state[deck.DECK_SIZE]
    out[player] = 1.0
    write_cards(state[HAND + player], NUM_SEATS, out)
    tricks.write_history(state, TRICKS, num_cards, num_cards, NUM_SEATS + num_cards, out)


@compiled
def observation_tensor(state, player, out):
    num_cards = state[deck.DECK_SIZE]
    out[player] = 1.0
    write_cards(state[HAND + player], NUM_SEATS, out)
    offset = NUM_SEATS + num_cards
    if current_player(state) >= 0:
        out[offset + state[TURN]] = 1.0
    table = offset + NUM_SEATS
    played = table + NUM_SEATS * num_cards
    if not deck.is_dealt(state):
        return
    for seat in range(NUM_SEATS):
        cards = state[deck.DEALT + seat] ^ state[HAND + seat]
        write_cards(cards & state[TABLE], table + seat * num_cards, out)
        write_cards(cards, played + seat * num_cards, out)
    void = played + NUM_SEATS * num_cards
    taken = tricks.write_voids(state, TRICKS, state[SUITS], state[RANKS], void, out)
    for seat in range(NUM_SEATS):
        taken = write_scored(state, state[TAKEN + seat], taken, out)


@compiled
def write_scored(state, cards, offset, out):
    """Marks which scored cards are in the set, in the order of `scored_cards`; returns the offset behind them."""
    if state[HEART_CARDS]:
        write_cards((cards & state[HEART_CARDS]) >> state[RANKS], offset, out)
        offset += state[RANKS]
    for slot in (PIG, SHEEP, TRANSFORMER):
        if state[slot]:
            if cards & state[slot]:
                out[offset] = 1.0
            offset += 1
    return offset
