"""What a Toepen player knows: the information key and both tensors, laid out as `RULES.md` says."""

from __future__ import annotations

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Piece
from toepen_spiel.state import (
    ANSWERING,
    ANTE,
    BETTING,
    CALLED,
    CARDS_PLAYED,
    DEALING,
    DECIDING,
    HAND,
    HAND_SIZE,
    HISTORY,
    LAST_BETTOR,
    LED_CARD,
    NO_CARD,
    NOBODY,
    OVER,
    PHASE,
    PLAYING,
    history_entry,
)


def _who_and_hand(suits: int, ranks: int) -> tuple[Piece, ...]:
    return Piece("player", (2,), "observer"), Piece("hand", (suits, ranks), "private")


def information_pieces(suits: int, ranks: int, hand_size: int, betting: bool) -> tuple[Piece, ...]:
    """The layout of `information_tensor`."""
    cards_played = 2 * hand_size
    return (
        *_who_and_hand(suits, ranks),
        Piece("cards", (cards_played, suits * ranks), "public"),
        Piece("played_by", (cards_played, 2), "public"),
        *((Piece("bets", (cards_played, 3), "public"),) if betting else ()),
    )


def observation_pieces(suits: int, ranks: int, hand_size: int, betting: bool) -> tuple[Piece, ...]:
    """The layout of `observation_tensor`."""
    cards = suits * ranks
    highest_ante = 1 + 2 * hand_size
    bets = (
        Piece("phase", (3,), "public"),
        Piece("ante", (highest_ante,), "public"),
        Piece("last_bettor", (2,), "public"),
    )
    return (
        *_who_and_hand(suits, ranks),
        Piece("led_card", (cards,), "public"),
        Piece("played", (2, cards), "public"),
        Piece("tricks_played", (hand_size,), "public"),
        *(bets if betting else ()),
    )


@compiled
def information_key(state, player, out):
    """Own remaining hand and the public history: cards played, bets called, and where the present turn stands."""
    out[0] = state[HAND + player] | state[PHASE] << 32 | state[CALLED] << 35 | state[CARDS_PLAYED] << 36 | player << 42
    for word in range(HISTORY, len(state)):
        out[1 + word - HISTORY] = state[word]


@compiled
def _write_player_and_hand(state, player, out):
    """The pieces that both tensors start with; returns the offset behind them."""
    out[player] = 1.0
    cards = state[HAND + player]
    while cards:
        out[2 + bits.lowest(cards)] = 1.0
        cards &= cards - 1
    return 2 + state[deck.DECK_SIZE]


@compiled
def information_tensor(state, player, out):
    offset = _write_player_and_hand(state, player, out)
    num_cards = state[deck.DECK_SIZE]
    cards_in_play = 2 * state[HAND_SIZE]
    played_by = offset + cards_in_play * num_cards
    bets = played_by + cards_in_play * 2
    for index in range(state[CARDS_PLAYED]):
        card, called, seat = history_entry(state, index)
        out[offset + index * num_cards + card] = 1.0
        out[played_by + 2 * index + seat] = 1.0
        if state[BETTING] == 1:
            _write_bet(out, bets + 3 * index, True, called)
    if state[BETTING] == 1 and state[CARDS_PLAYED] < cards_in_play and state[PHASE] >= ANSWERING:
        _write_bet(out, bets + 3 * state[CARDS_PLAYED], state[PHASE] == PLAYING, state[CALLED])


@compiled
def _write_bet(out, offset, settled, called):
    """What was said before a card: nothing (checked, freely or by force), a bet, a bet that was called."""
    if settled and called == 0:
        out[offset] = 1.0
    else:
        out[offset + 1] = 1.0
        out[offset + 2] = called


@compiled
def observation_tensor(state, player, out):
    offset = _write_player_and_hand(state, player, out)
    num_cards = state[deck.DECK_SIZE]
    if state[LED_CARD] != NO_CARD:
        out[offset + state[LED_CARD]] = 1.0
    offset += num_cards
    for index in range(state[CARDS_PLAYED]):
        card, _, seat = history_entry(state, index)
        out[offset + seat * num_cards + card] = 1.0
    offset += 2 * num_cards
    if state[PHASE] != DEALING and state[PHASE] != OVER:
        out[offset + state[CARDS_PLAYED] // 2] = 1.0
    offset += state[HAND_SIZE]
    if state[BETTING] == 1:
        if state[PHASE] != DEALING and state[PHASE] != OVER:
            out[offset + state[PHASE] - DECIDING] = 1.0
        out[offset + 3 + state[ANTE] - 1] = 1.0
        if state[LAST_BETTOR] != NOBODY:
            out[offset + 3 + 2 * state[HAND_SIZE] + 1 + state[LAST_BETTOR]] = 1.0
