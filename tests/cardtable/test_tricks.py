"""Following, winning, and remembering tricks, against plain statements of the rules."""

import itertools
import random
from collections.abc import Collection, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cardtable import tricks

# A small deck: three suits of four cards, the last one may be trumps.
SUITS = [0b1111 << 4 * suit for suit in range(3)]
BLOCK = 3  # the block may start anywhere


def suit_of(card: int) -> int:
    return SUITS[card // 4]


def new_state(hands: Sequence[Collection[int]], leader: int, cards_in_play: int) -> np.ndarray:
    state = np.zeros(BLOCK + tricks.HISTORY + tricks.history_words(cards_in_play), np.int64)
    state[BLOCK + tricks.TURN] = leader
    for seat, hand in enumerate(hands):
        state[BLOCK + tricks.HAND + seat] = sum(1 << card for card in hand)
    return state


def test_following() -> None:
    assert tricks.following(0b1100_0011, SUITS[0]) == 0b0011
    assert tricks.following(0b1100_0000, SUITS[0]) == 0b1100_0000


def test_beats_for_every_pair_of_cards() -> None:
    for trumps in (0, SUITS[2]):
        for best, card in itertools.permutations(range(12), 2):
            for led in SUITS:
                if not (led | trumps) >> best & 1:
                    continue  # a card that wins so far is of the led suit or a trump

                def rank(one: int, led: int = led, trumps: int = trumps) -> tuple[bool, bool, int]:
                    return (bool(trumps >> one & 1), bool(led >> one & 1), one)

                wins = rank(card) > rank(best) and bool((led | trumps) >> card & 1)
                assert tricks.beats(card, best, led, trumps) == wins


@given(st.randoms(use_true_random=False), st.booleans(), st.integers(0, 3))
def test_play_of_whole_hands(chance: random.Random, with_trumps: bool, leader: int) -> None:
    """Random plays (legal or not): whose turn it is, who wins, hands, voids, and the history."""
    trumps = SUITS[2] if with_trumps else 0
    deck = list(range(12))
    chance.shuffle(deck)
    hands = [set(deck[3 * seat : 3 * seat + 3]) for seat in range(4)]
    state = new_state(hands, leader, 12)
    lacks = [0] * 4
    plays: list[tuple[int, int]] = []
    seat = leader
    for index in range(12):
        assert state[BLOCK + tricks.TURN] == seat
        assert state[BLOCK + tricks.CARDS_PLAYED] == index
        card = chance.choice(sorted(hands[seat]))
        hands[seat].remove(card)
        trick = plays[index - index % 4 :]
        if trick:
            led = suit_of(trick[0][1])
            if not led >> card & 1:
                lacks[seat] |= led | (0 if trumps >> card & 1 else trumps)
        plays.append((seat, card))
        full = tricks.play_card(state, BLOCK, card, suit_of(card), trumps)
        assert full == (index % 4 == 3)
        trick = plays[index - index % 4 :]
        led = suit_of(trick[0][1])
        best = max(trick, key=lambda play: (trumps >> play[1] & 1, led >> play[1] & 1, play[1]))
        assert (state[BLOCK + tricks.BEST_SEAT], state[BLOCK + tricks.BEST_CARD]) == best
        assert state[BLOCK + tricks.LED_SUIT] == (0 if full else led)
        seat = best[0] if full else (seat + 1) % 4
        for other in range(4):
            assert state[BLOCK + tricks.HAND + other] == sum(1 << card for card in hands[other])
            assert state[BLOCK + tricks.VOID + other] == lacks[other]
    assert [tricks.played_card(state, BLOCK, index) for index in range(12)] == plays
    text = tricks.describe_tricks(state, BLOCK, str)
    assert text.count("P") == 3
    assert [int(word) for word in text.replace(",", "").split() if word[0] != "P"] == [card for _, card in plays]

    tensor = np.zeros(2 + 12 * 12 + 12 * 4, np.float32)
    assert tricks.write_history(state, BLOCK, 12, 12, 2, tensor) == len(tensor)
    cards, seats = tensor[2 : 2 + 144].reshape(12, 12), tensor[2 + 144 :].reshape(12, 4)
    assert list(zip(seats.argmax(axis=1), cards.argmax(axis=1), strict=True)) == plays
    assert cards.sum() == seats.sum() == 12


def test_keys_hold_the_largest_deck() -> None:
    """54 cards, 44 plays and four players fit into positive words."""
    state = new_state([[53], [52], [51], [50]], 3, 44)
    state[BLOCK + tricks.CARDS_PLAYED] = 40
    for card in (50, 53, 52, 51):
        tricks.play_card(state, BLOCK, card, 0b1 << 54, 0)
    state[BLOCK + tricks.HAND + 3] = (1 << 54) - 1
    words = np.zeros(1 + tricks.history_words(44), np.int64)
    assert tricks.write_key(state, BLOCK, 3, words) == len(words)
    assert (words >= 0).all()
    assert words[0] == (1 << 54) - 1 | 44 << 54 | 3 << 60


def test_describe_cards() -> None:
    assert tricks.describe_cards(0b1010, str) == "1 3"
    assert tricks.describe_cards(0, str) == "-"
