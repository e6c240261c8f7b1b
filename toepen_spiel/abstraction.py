"""What a Toepen player may forget: coarser hands and histories, for the transform `python_bucketing`.

    hand     exact   the remaining cards
             bucket  average rank, number of different suits, number of cards above the deck's mean rank
             none    nothing
    history  exact   everything that was said and played
             ante    the cards played, in order, and the number of calls
             none    nothing

The bucket of an empty hand is (0, 0, 0). Ranks count 10, 9, 8, 7, 6 (ace), 5, 4, 3 (jack) here.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.rules import Forgetting, Piece, Rules
from cardtable.spiel import Wording
from toepen_spiel.rules import (
    ANTE,
    BETTING,
    CALLED,
    CARDS_PLAYED,
    ENTRIES_PER_WORD,
    ENTRY_BITS,
    HAND,
    HAND_SIZE,
    HISTORY,
    NUM_BETTING_ACTIONS,
    PHASE,
    RANKS,
    SUITS,
    history_entry,
    information_tensor,
)

HANDS = ("exact", "bucket", "none")
HISTORIES = ("exact", "ante", "none")
EXACT = 0
BUCKET = 1
CALLS = 1  # history "ante"

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
def key(state, player, hand, history, out):
    """Word 0: the hand. Word 1: how the history goes on after the last card. Then the cards played, packed."""
    for word in range(len(out)):
        out[word] = 0
    if hand == EXACT:
        out[0] = state[HAND + player]
    elif hand == BUCKET:
        average, suits, high = bucket_of(state, state[HAND + player])
        out[0] = average | suits << 32 | high << 40
    if history == EXACT:
        out[1] = state[CARDS_PLAYED] | state[PHASE] << 8 | state[CALLED] << 16
    elif history == CALLS:
        out[1] = state[CARDS_PLAYED] | _calls(state) << 8
    if history in (EXACT, CALLS):
        for word in range(HISTORY, len(state)):
            out[2 + word - HISTORY] = state[word] if history == EXACT else state[word] & CARD_BITS


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
    if history in (EXACT, CALLS):
        start = 2 + state[deck.DECK_SIZE]
        size = 2 * state[HAND_SIZE] * (state[deck.DECK_SIZE] + 2)
        if history == EXACT and state[BETTING] == 1:
            size += 2 * state[HAND_SIZE] * 3
        out[offset : offset + size] = whole[start : start + size]
        if history == CALLS:
            out[offset + size + _calls(state)] = 1.0


def pieces(rules: Rules, hand: int, history: int) -> tuple[Piece, ...]:
    """The layout of `tensor`."""
    own = {piece.name: piece._replace(kind="private") for piece in rules.information_pieces if piece.name != "player"}
    kept = [Piece("player", (2,), "observer")]
    if hand == EXACT:
        kept.append(own["hand"])
    elif hand == BUCKET:
        kept.append(Piece("bucket", (3,), "private"))
    if HISTORIES[history] != "none":
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
def sort_actions(state, actions, count):
    """Bet before check, call before fold; cards grouped by suit, the suit with the lowest card first."""
    num_cards = state[deck.DECK_SIZE]
    ranks = state[RANKS]
    if actions[0] >= num_cards:
        if (actions[0] - num_cards) % NUM_BETTING_ACTIONS == 0 and count == 2:  # check, bet
            actions[0], actions[1] = actions[1], actions[0]
        return
    lowest = np.full(state[SUITS], ranks, np.int64)
    for index in range(count):
        suit = actions[index] // ranks
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
    if history == EXACT:
        parts.append(wording.public_history(state))
    elif history == CALLS:
        played = [history_entry(state, index) for index in range(int(state[CARDS_PLAYED]))]
        cards = ", ".join(f"P{seat} {wording.card(state, int(card))}" for card, _, seat in played)
        parts.append(f"{cards or 'no card'}, {_calls(state)} calls")
    return " | ".join(parts) or "nothing"


def toepen_forgetting(rules: Rules) -> Forgetting:
    """What the transform needs to make Toepen coarser."""
    return Forgetting(
        hands=HANDS,
        histories=HISTORIES,
        most_actions=max(2, int(rules.root[HAND_SIZE])),
        key_words=1 + rules.key_words,
        key=key,
        tensor=tensor,
        shows_hand=shows_hand,
        shows_history=shows_history,
        sort_actions=sort_actions,
        pieces=pieces,
        describe=describe,
    )
