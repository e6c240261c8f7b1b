"""What a player of Toepen sees apart from the bets, in the words of `hand=places`, fast enough to be asked for often.

A *view* is a player's information at a turn without the betting: where her cards stand among those of their suits that
are still out (`toepen_spiel.abstraction`, `places`), the turn and the order of leaders, and, if the abstraction has a
*memory*, what was played before. Two words name a view:

    places   the numbers of her suits, the highest first: suits have no names
    context  memory | seat | turn | order

Cards that the view cannot tell apart (suits with equal numbers) have one *label* and are played equally often. So
tables over views treat suits alike.

A memory keeps of every card played its rank, in classes, and whether it followed suit; of the other player's cards, or
of both players'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.parameters import UserError, require_one_of
from toepen_spiel.abstraction import LED_SHIFT, OUT_SHIFT, PLACES_BITS
from toepen_spiel.state import (
    CARDS_PLAYED,
    HAND,
    LED_CARD,
    MAX_RANKS,
    MAX_SUITS,
    NO_CARD,
    RANKS,
    SUITS,
    TURN,
    VOID,
    history_entry,
)

# What is known about a suit, whatever the hand: columns of `seen`.
THERE, EXTRA, LED, OUT, MINE = range(5)
NUM_SEEN = 5

ORDER_BITS, TURN_BITS = 8, 5
SEAT_SHIFT = ORDER_BITS + TURN_BITS
MEMORY_SHIFT = SEAT_SHIFT + 1
CARD_BITS = 4  # of a memory: class of the rank, 1 to 7, and whether the card followed suit
MEMORIES = ("none", "other", "both", "last")
NOTHING, OTHER, BOTH, LAST = range(4)
MOST_CLASSES = 7


class Abstraction(NamedTuple):
    """What is kept of the cards played: whose, and how ranks are told apart."""

    memory: str = "none"
    classes: str = "00000000"  # the class of each rank from the jack to the ten, as digits

    def arrays(self) -> tuple[int, np.ndarray]:
        require_one_of("memory", self.memory, MEMORIES)
        if len(self.classes) != MAX_RANKS or not set(self.classes) <= set("0123456"):
            raise UserError(f"classes is {self.classes!r}; allowed: {MAX_RANKS} digits from 0 to {MOST_CLASSES - 1}")
        return MEMORIES.index(self.memory), np.array([int(digit) for digit in self.classes], np.int64)


NO_MEMORY = Abstraction()


def suit_numbers() -> np.ndarray:
    """[cards there, own cards]: a one in front of the places, a bit for each of them (set: own card)."""
    size = 1 << MAX_RANKS
    numbers = np.zeros((size, size), np.int32)
    own = np.arange(size)
    for there in range(size):
        pattern = np.zeros(size, np.int32)
        place = 0
        for rank in range(MAX_RANKS):
            if there >> rank & 1:
                pattern |= (own >> rank & 1) << place
                place += 1
        numbers[there] = pattern | 1 << place
    return numbers


@compiled
def look(state, player, played, seen):
    """Fills `seen` with what the player knows about each suit; `played` are the cards both have played."""
    ranks = state[RANKS]
    suit_size = (1 << ranks) - 1
    led_card = state[LED_CARD]
    for suit in range(state[SUITS]):
        led = 0
        if led_card != NO_CARD and led_card // ranks == suit:
            led = 1 << led_card % ranks
        out = state[VOID + 1 - player] >> suit * ranks & suit_size != 0
        there = suit_size & ~(played >> suit * ranks) | led
        seen[suit, THERE] = there
        seen[suit, LED] = led
        seen[suit, OUT] = 1 if out else 0
        seen[suit, MINE] = 1 if led and state[TURN] != player else 0
        seen[suit, EXTRA] = bits.count(there & 2 * led - 1) << LED_SHIFT if led else 0


@compiled
def suit_number(numbers, seen, suit, own):
    """What `toepen_spiel.abstraction.places_of` says about the suit."""
    if own == 0 and seen[suit, MINE] == 0:
        return 0
    if seen[suit, OUT] == 0:
        return numbers[seen[suit, THERE], own] | seen[suit, EXTRA]
    led = seen[suit, LED]
    there = own | led
    number = numbers[there, own] | 1 << OUT_SHIFT
    if led:
        number |= bits.count(there & 2 * led - 1) << LED_SHIFT
    return number


@compiled
def places_word(numbers, seen, hand, suits, ranks, own_numbers):
    """The first word of a view; `own_numbers` are filled by suit."""
    suit_size = (1 << ranks) - 1
    for suit in range(suits):
        own_numbers[suit] = suit_number(numbers, seen, suit, hand >> suit * ranks & suit_size)
    a, b, c, d = own_numbers[0], own_numbers[1], own_numbers[2], own_numbers[3]
    a, b = max(a, b), min(a, b)
    c, d = max(c, d), min(c, d)
    a, c = max(a, c), min(a, c)
    b, d = max(b, d), min(b, d)
    b, c = max(b, c), min(b, c)
    return ((a << PLACES_BITS | b) << PLACES_BITS | c) << PLACES_BITS | d


@compiled
def one_suit_word(number):
    """The first word of a view that has something in one suit only."""
    return number << PLACES_BITS * (MAX_SUITS - 1)


@compiled
def one_card_number(there, out, own, led):
    """The number of a suit, as `suit_number` has it: at most one own card, and perhaps a card led, both as bits."""
    if out:
        there = own | led
    number = 1 << bits.count(there) | out << OUT_SHIFT
    if own:
        number |= 1 << bits.count(there & own - 1)
    if led:
        number |= bits.count(there & 2 * led - 1) << LED_SHIFT
    return number


@compiled
def context_word(memory, seat, turn, order):
    return memory << MEMORY_SHIFT | seat << SEAT_SHIFT | turn << ORDER_BITS | order


@compiled
def remember(memories, kind, classes, state, card, player):
    """Adds a card to what each player remembers, memories[player]; call it before the card is played."""
    if kind == NOTHING:
        return
    led = state[LED_CARD]
    ranks = state[RANKS]
    follows = 1 if led == NO_CARD or led // ranks == card // ranks else 0
    said = 1 + 2 * classes[MAX_RANKS - ranks + card % ranks] + follows
    for seat in range(2):
        if kind == BOTH or seat != player:
            memories[seat] = memories[seat] << CARD_BITS | said if kind != LAST else said


@compiled
def label_cards(own_numbers, legal, suits, ranks, cards, labels, shares):
    """Lists the legal cards with their labels, the suit with the highest number first; returns (cards, labels).

    `shares` says how many cards have the label.
    """
    suit_size = (1 << ranks) - 1
    count = 0
    num_labels = 0
    done = 0
    while True:
        best = 0
        for suit in range(suits):
            if done >> suit & 1 == 0 and legal >> suit * ranks & suit_size:
                best = max(best, own_numbers[suit])
        if best == 0:
            return count, num_labels
        members = 0
        for suit in range(suits):
            members += 1 if own_numbers[suit] == best else 0
        in_suit = 0
        for suit in range(suits):
            if own_numbers[suit] != best:
                continue
            done |= 1 << suit
            held = legal >> suit * ranks & suit_size
            in_suit = 0
            while held:
                cards[count] = suit * ranks + bits.lowest(held)
                labels[count] = num_labels + in_suit
                shares[count] = members
                held &= held - 1
                count += 1
                in_suit += 1
        num_labels += in_suit


@compiled
def cards_played(state):
    """The cards both have played, in a state in which both hands are known."""
    return (state[deck.DEALT] & ~state[HAND]) | (state[deck.DEALT + 1] & ~state[HAND + 1])


@compiled
def memories_of(state, kind, classes, scratch, memories):
    """What each player remembers in a state of the game; `scratch` is another state."""
    memories[0] = 0
    memories[1] = 0
    if kind == NOTHING:
        return
    scratch[:] = state
    scratch[LED_CARD] = NO_CARD
    for index in range(state[CARDS_PLAYED]):
        card, _, player = history_entry(state, index)
        remember(memories, kind, classes, scratch, card, player)
        scratch[LED_CARD] = card if index % 2 == 0 else NO_CARD
