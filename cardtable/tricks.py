"""What trick-taking games share: following suit, winning a trick, remembering who played what.

Suits are card sets, and inside a suit the card with the higher id wins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled

NUM_SEATS = 4

# The trick block: the last slots of the state of a game in which four seats play tricks. Counted from where it starts.
TURN = 0
LED_SUIT = 1  # the cards of the suit led; the empty set when the next card leads
BEST_CARD = 2  # which card wins the trick so far (or won the last one), and whose it is
BEST_SEAT = 3
CARDS_PLAYED = 4
HAND = 5  # HAND + s: the cards seat s still holds
VOID = HAND + NUM_SEATS  # VOID + s: all cards that seat s has shown not to hold
HISTORY = VOID + NUM_SEATS  # the cards played so far, packed; as many slots as `history_words` says

# A played card in the history: card | seat << 6; the first card lowest.
ENTRY_BITS = 8
ENTRIES_PER_WORD = 7


@compiled
def following(hand, suit):
    """The cards of `hand` that follow the led suit (both are card sets), or the whole hand if there are none."""
    same_suit = hand & suit
    return same_suit if same_suit else hand


@compiled
def beats(card, best, led_suit, trumps):
    """Whether `card` beats the best card of the trick so far; without trumps, `trumps` is the empty set."""
    if bits.contains(trumps, best):
        return bits.contains(trumps, card) and card > best
    return bits.contains(trumps, card) or (bits.contains(led_suit, card) and card > best)


@compiled
def play_card(state, block, card, suit, trumps):
    """The seat to move plays a card of the given suit (a card set); says whether that completes the trick.

    The next seat is then to move: the winner of the trick, or the one after the player. Whoever does not follow suit
    has none of it; and if there are trumps and she plays none, she has none of these either.
    """
    seat = state[block + TURN]
    index = state[block + CARDS_PLAYED]
    led_suit = state[block + LED_SUIT]
    state[block + HAND + seat] ^= 1 << card
    state[block + HISTORY + index // ENTRIES_PER_WORD] |= (card | seat << 6) << ENTRY_BITS * (index % ENTRIES_PER_WORD)
    state[block + CARDS_PLAYED] = index + 1
    if led_suit == 0:
        led_suit = suit
        state[block + LED_SUIT] = suit
        state[block + BEST_CARD] = card
        state[block + BEST_SEAT] = seat
    else:
        if not bits.contains(led_suit, card):
            state[block + VOID + seat] |= led_suit if bits.contains(trumps, card) else led_suit | trumps
        if beats(card, state[block + BEST_CARD], led_suit, trumps):
            state[block + BEST_CARD] = card
            state[block + BEST_SEAT] = seat
    if index % NUM_SEATS == NUM_SEATS - 1:
        state[block + LED_SUIT] = 0
        state[block + TURN] = state[block + BEST_SEAT]
        return True
    state[block + TURN] = (seat + 1) % NUM_SEATS
    return False


def history_words(cards: int) -> int:
    """How many slots of a state the history of so many played cards takes."""
    return -(-cards // ENTRIES_PER_WORD)


@compiled
def played_card(state, block, index):
    """(seat, card) of the index-th card of the game."""
    entry = state[block + HISTORY + index // ENTRIES_PER_WORD] >> ENTRY_BITS * (index % ENTRIES_PER_WORD)
    return entry >> 6 & 3, entry & 63


@compiled
def moves(state, block, out):
    """All cards played so far, in order, as actions; returns how many."""
    for index in range(state[block + CARDS_PLAYED]):
        out[index] = played_card(state, block, index)[1]
    return state[block + CARDS_PLAYED]


@compiled
def write_key(state, block, player, out):
    """An exact information key as far as the trick block goes: own hand and all cards played; returns its words.

    Works for decks of up to 54 cards. The block is the last thing in the state.
    """
    out[0] = state[block + HAND + player] | state[block + CARDS_PLAYED] << 54 | player << 60
    for word in range(block + HISTORY, len(state)):
        out[1 + word - block - HISTORY] = state[word]
    return 1 + len(state) - block - HISTORY


@compiled
def write_cards(cards, offset, out):
    """Sets out[offset + card] to one for every card of a set."""
    while cards:
        out[offset + bits.lowest(cards)] = 1.0
        cards &= cards - 1


@compiled
def write_voids(state, block, num_suits, suit_size, offset, out):
    """A tensor piece, (4, num_suits): which suits each seat has shown to lack. Suit s starts with card s * suit_size.

    Returns the offset behind it.
    """
    for seat in range(NUM_SEATS):
        for suit in range(num_suits):
            if bits.contains(state[block + VOID + seat], suit * suit_size):
                out[offset + seat * num_suits + suit] = 1.0
    return offset + NUM_SEATS * num_suits


@compiled
def write_history(state, block, most_played, num_cards, offset, out):
    """Two tensor pieces: the played cards in order, (most_played, num_cards), and who played them, (most_played, 4).

    Returns the offset behind them.
    """
    played_by = offset + most_played * num_cards
    for index in range(state[block + CARDS_PLAYED]):
        seat, card = played_card(state, block, index)
        out[offset + index * num_cards + card] = 1.0
        out[played_by + index * NUM_SEATS + seat] = 1.0
    return played_by + most_played * NUM_SEATS


def describe_tricks(state: np.ndarray, block: int, name: Callable[[int], str]) -> str:
    """Tricks such as `P0 7♣ K♣ 9♣ 8♣, P1 A♦ 2♦`: the leader, then the cards in the order they were played."""
    text = ""
    for index in range(int(state[block + CARDS_PLAYED])):
        seat, card = played_card(state, block, index)
        if index % NUM_SEATS == 0:
            text += f"{', ' if index else ''}P{seat}"
        text += f" {name(int(card))}"
    return text


def describe_cards(cards: int, name: Callable[[int], str]) -> str:
    """The cards of a set in id order, or a dash."""
    return " ".join(name(card) for card in range(int(cards).bit_length()) if int(cards) >> card & 1) or "-"
