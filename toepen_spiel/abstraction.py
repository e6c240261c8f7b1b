"""What a Toepen player may forget: coarser hands and histories, for the transform `python_bucketing`.

    hand     exact   the remaining cards
             bucket  average rank, number of different suits, number of cards above the deck's mean rank
             none    nothing
             places  where the own cards stand among those of their suits that have not been played yet, whether the
                     other is known to be out of the suit, and how the card led compares
    history  exact   everything that was said and played
             ante    the cards played, in order, and the number of calls
             none    nothing
             stakes  how many cards were played, whose turn it is, the number of calls, and who bet last

The bucket of an empty hand is (0, 0, 0). Ranks count 10, 9, 8, 7, 6 (ace), 5, 4, 3 (jack) here.

With `places`, suits have no names: 10♥ 7♥ is the same as 10♠ 7♠, and as 9♥ 7♥ once the ten is gone and one card more
below. A suit that is not held is forgotten.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Forgetting, Piece, Rules
from toepen_spiel.observation import information_tensor
from toepen_spiel.state import (
    ANSWERING,
    ANTE,
    BETTING,
    CALLED,
    CARDS_PLAYED,
    DECIDING,
    ENTRIES_PER_WORD,
    ENTRY_BITS,
    HAND,
    HAND_SIZE,
    HISTORY,
    LAST_BETTOR,
    LED_CARD,
    MAX_SUITS,
    NO_CARD,
    NOBODY,
    NUM_BETTING_ACTIONS,
    PHASE,
    PLAYING,
    RANKS,
    SUITS,
    TURN,
    VOID,
    history_entry,
)

if TYPE_CHECKING:  # rules do not need pyspiel
    from cardtable.spiel import Wording

HANDS = ("exact", "bucket", "none", "places")
HISTORIES = ("exact", "ante", "none", "stakes")
EXACT = 0
BUCKET = 1
PLACES = 3
CALLS = 1  # history "ante"
STAKES = 3

# What `places` keeps of a suit: a one in front of the places, a bit for each of them (set: own card), lowest last; the
# place of the card led, counted from 1; whether the other is known to be out of the suit.
LED_SHIFT = 9
OUT_SHIFT = 13
PLACES_BITS = 14
NUM_STAKES = 7

HIGHEST_RANK = 10
COMMON_MULTIPLE = 720720  # of 1 to 16, the numbers of cards in a hand: average ranks are whole multiples of 1 / this
CARD_BITS = 0
for _entry in range(ENTRIES_PER_WORD):
    CARD_BITS |= (31 | 1 << 6) << ENTRY_BITS * _entry  # card and player of each entry, without the call


@compiled
def bucket_of(state, hand):
    """(average rank * COMMON_MULTIPLE, different suits, cards above the mean rank of the deck)."""
    ranks = state[RANKS]
    size = bits.count(hand)
    if size == 0:
        return 0, 0, 0
    total = 0
    high = 0
    cards = hand
    while cards:
        rank = bits.lowest(cards) % ranks
        total += HIGHEST_RANK + 1 - ranks + rank
        high += 1 if 2 * rank > ranks - 1 else 0
        cards &= cards - 1
    suits = 0
    for suit in range(state[SUITS]):
        suits += 1 if hand & bits.suit_cards(suit, ranks) else 0
    return total * (COMMON_MULTIPLE // size), suits, high


@compiled
def _calls(state):
    return state[ANTE] - 1


@compiled
def places_of(state, player, suit):
    """What the suit means to the player, as one number; 0 if nothing: she has no card of it, in hand or just led."""
    cards = bits.suit_cards(suit, state[RANKS])
    own = state[HAND + player] & cards
    led = 0
    if state[LED_CARD] != NO_CARD:
        led = 1 << state[LED_CARD] & cards
    leads = led != 0 and state[TURN] != player
    if own == 0 and not leads:
        return 0
    played = 0
    for seat in range(2):
        played |= state[deck.DEALT + seat] & ~state[HAND + seat]
    out = state[VOID + 1 - player] & cards != 0
    # Cards that the other cannot have do not matter, those that were played do not come again.
    there = own | led if out else cards & ~played | led
    pattern = 0
    place = 0
    led_place = 0
    while there:
        card = there & -there
        if card & own:
            pattern |= 1 << place
        place += 1
        if card == led:
            led_place = place
        there ^= card
    return pattern | 1 << place | led_place << LED_SHIFT | (1 if out else 0) << OUT_SHIFT


@compiled
def _sorted_places(state, player, out):
    """The numbers of all suits, the highest first; entries behind the last suit are 0."""
    out[:] = 0
    for suit in range(state[SUITS]):
        number = places_of(state, player, suit)
        place = suit
        while place > 0 and out[place - 1] < number:
            out[place] = out[place - 1]
            place -= 1
        out[place] = number


@compiled
def _packed_places(state, player):
    numbers = np.empty(MAX_SUITS, np.int64)
    _sorted_places(state, player, numbers)
    packed = np.int64(0)
    for number in numbers:
        packed = packed << PLACES_BITS | number
    return packed


@compiled
def _last_bettor(state, player):
    """0 if nobody has bet, 1 if the player was the last to do it, 2 if the other was."""
    if state[LAST_BETTOR] == NOBODY:
        return 0
    return 1 if state[LAST_BETTOR] == player else 2


@compiled
def key(state, player, hand, history, out):
    """Word 0: the hand. Word 1: how the history goes on after the last card. Then the cards played, packed."""
    for word in range(len(out)):
        out[word] = 0
    if hand == EXACT:
        out[0] = state[HAND + player]
    elif hand == BUCKET:
        average, suits, high = bucket_of(state, state[HAND + player])
        out[0] = average | suits << 32 | high << 40
    elif hand == PLACES:
        out[0] = _packed_places(state, player)
    if history == EXACT:
        out[1] = state[CARDS_PLAYED] | state[PHASE] << 8 | state[CALLED] << 16
    elif history == CALLS:
        out[1] = state[CARDS_PLAYED] | _calls(state) << 8
    elif history == STAKES:
        own_turn = 1 if state[TURN] == player else 0
        out[1] = state[CARDS_PLAYED] | _calls(state) << 8 | state[PHASE] << 16 | own_turn << 24
        out[1] |= _last_bettor(state, player) << 25
    if history in (EXACT, CALLS):
        for word in range(HISTORY, len(state)):
            out[2 + word - HISTORY] = state[word] if history == EXACT else state[word] & CARD_BITS


# A one for each bit that tells nothing of bets: in the first words of `information_key`, in those of `key`. The words
# behind them are the cards played: CARD_BITS.
CARDS_OF_INFORMATION_KEY = (~(0b1111 << 32),)
CARDS_OF_KEY = (-1, ~(0xFFFF << 8 | 0b11 << 25))


@compiled
def tensor(state, player, hand, history, out):
    whole = np.zeros(2 + state[deck.DECK_SIZE] + 2 * state[HAND_SIZE] * (state[deck.DECK_SIZE] + 5), np.float32)
    information_tensor(state, player, whole)
    offset = 2
    out[player] = 1.0
    if hand == EXACT:
        out[offset : offset + state[deck.DECK_SIZE]] = whole[2 : 2 + state[deck.DECK_SIZE]]
        offset += state[deck.DECK_SIZE]
    elif hand == BUCKET:
        average, suits, high = bucket_of(state, state[HAND + player])
        out[offset] = average / COMMON_MULTIPLE
        out[offset + 1] = suits
        out[offset + 2] = high
        offset += 3
    elif hand == PLACES:
        numbers = np.empty(MAX_SUITS, np.int64)
        _sorted_places(state, player, numbers)
        for suit in range(state[SUITS]):
            places = numbers[suit] & (1 << LED_SHIFT) - 1
            for place in range(1 + state[RANKS]):
                out[offset + place] = places >> place & 1
            out[offset + 1 + state[RANKS]] = numbers[suit] >> LED_SHIFT & (1 << OUT_SHIFT - LED_SHIFT) - 1
            out[offset + 2 + state[RANKS]] = numbers[suit] >> OUT_SHIFT
            offset += 3 + state[RANKS]
    if history in (EXACT, CALLS):
        start = 2 + state[deck.DECK_SIZE]
        size = 2 * state[HAND_SIZE] * (state[deck.DECK_SIZE] + 2)
        if history == EXACT and state[BETTING] == 1:
            size += 2 * state[HAND_SIZE] * 3
        out[offset : offset + size] = whole[start : start + size]
        if history == CALLS:
            out[offset + size + _calls(state)] = 1.0
    elif history == STAKES:
        out[offset] = state[CARDS_PLAYED]
        out[offset + 1] = _calls(state)
        out[offset + 2] = state[PHASE]
        out[offset + 3] = 1.0 if state[TURN] == player else 0.0
        out[offset + 4 + _last_bettor(state, player)] = 1.0


def pieces(rules: Rules, hand: int, history: int) -> tuple[Piece, ...]:
    """The layout of `tensor`."""
    own = {piece.name: piece._replace(kind="private") for piece in rules.information_pieces if piece.name != "player"}
    kept = [Piece("player", (2,), "observer")]
    if hand == EXACT:
        kept.append(own["hand"])
    elif hand == BUCKET:
        kept.append(Piece("bucket", (3,), "private"))
    elif hand == PLACES:
        kept.append(Piece("places", (int(rules.root[SUITS]), 3 + int(rules.root[RANKS])), "private"))
    if history == STAKES:
        kept.append(Piece("stakes", (NUM_STAKES,), "private"))
    if history in (EXACT, CALLS):
        kept += [own["cards"], own["played_by"]]
        if history == EXACT and "bets" in own:
            kept.append(own["bets"])
        if history == CALLS:
            kept.append(Piece("calls", (own["cards"].shape[0] + 1,), "private"))
    return tuple(kept)


@compiled
def shows_hand(hand):
    return hand == EXACT


@compiled
def shows_history(history):
    return history in (EXACT, CALLS)


@compiled
def sort_actions(state, hand, actions, count):
    """Bet before check, call before fold; cards grouped by suit, the suit with the lowest card first.

    With `places`: the suit with the highest number first, as in the key.
    """
    num_cards = state[deck.DECK_SIZE]
    ranks = state[RANKS]
    if actions[0] >= num_cards:
        if (actions[0] - num_cards) % NUM_BETTING_ACTIONS == 0 and count == 2:  # check, bet
            actions[0], actions[1] = actions[1], actions[0]
        return
    lowest = np.full(state[SUITS], ranks, np.int64)  # per suit: what groups are sorted by
    for index in range(count):
        suit = actions[index] // ranks
        if hand == PLACES:
            lowest[suit] = -places_of(state, state[TURN], suit)
        else:
            lowest[suit] = min(lowest[suit], actions[index] % ranks)
    for end in range(1, count):
        card = actions[end]
        place = end
        while place > 0 and _comes_before(card, actions[place - 1], ranks, lowest):
            actions[place] = actions[place - 1]
            place -= 1
        actions[place] = card


@compiled
def _comes_before(card, other, ranks, lowest):
    suit = card // ranks
    other_suit = other // ranks
    if suit == other_suit:
        return card < other
    if lowest[suit] != lowest[other_suit]:
        return lowest[suit] < lowest[other_suit]
    return suit < other_suit


def describe(wording: Wording, state: np.ndarray, player: int, hand: int, history: int) -> str:
    """What is kept, for people; different for different keys."""
    parts = []
    if hand == EXACT:
        parts.append(wording.private(state, player))
    elif hand == BUCKET:
        average, suits, high = (int(number) for number in bucket_of(state, state[HAND + player]))
        parts.append(f"average {Fraction(average, COMMON_MULTIPLE)}, {suits} suits, {high} high")
    elif hand == PLACES:
        numbers = np.empty(MAX_SUITS, np.int64)
        _sorted_places(state, player, numbers)
        parts.append(", ".join(_describe_places(number) for number in numbers.tolist() if number) or "no card")
    if history == EXACT:
        parts.append(wording.public_history(state))
    elif history == CALLS:
        played = [history_entry(state, index) for index in range(int(state[CARDS_PLAYED]))]
        cards = ", ".join(f"P{seat} {wording.card(state, int(card))}" for card, _, seat in played)
        parts.append(f"{cards or 'no card'}, {_calls(state)} calls")
    elif history == STAKES:
        turn = "own turn" if state[TURN] == player else "the other's turn"
        bettor = ("nobody", "player", "other")[int(_last_bettor(state, player))]
        asked = {DECIDING: "bet?", ANSWERING: "call?", PLAYING: "card?"}.get(int(state[PHASE]), "over")
        said = f"{state[CARDS_PLAYED]} cards played, {turn}, {asked}"
        parts.append(f"{said}, {_calls(state)} calls, {bettor} bet last")
    return " | ".join(parts) or "nothing"


def _describe_places(number: int) -> str:
    """Such as `-+-L+`: own cards are the second and the fifth of five places, the card led is the fourth."""
    pattern, led = number & (1 << LED_SHIFT) - 1, number >> LED_SHIFT & (1 << OUT_SHIFT - LED_SHIFT) - 1
    signs = ["+" if pattern >> place & 1 else "-" for place in range(pattern.bit_length() - 1)]
    if led:
        signs[led - 1] = "L"
    return "".join(signs) + ("!" if number >> OUT_SHIFT else "")


def toepen_forgetting(hand_size: int, key_words: int) -> Forgetting:
    """What the transform needs to make Toepen coarser."""
    return Forgetting(
        hands=HANDS,
        histories=HISTORIES,
        most_actions=max(2, hand_size),
        key_words=1 + key_words,
        key=key,
        tensor=tensor,
        shows_hand=shows_hand,
        shows_history=shows_history,
        sort_actions=sort_actions,
        pieces=pieces,
        describe=describe,
    )
