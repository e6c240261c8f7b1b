"""Boards against the rules of the game: the same legal cards, the same winner, the same points."""

from __future__ import annotations

import numpy as np
import pytest

from cardtable.randomness import generator
from coinche_spiel import state as slots
from coinche_spiel.bitboards import board_points, from_board, legal_cards, suit_at, takes_trick, to_board
from coinche_spiel.cards import ALL_CARDS, PLAIN_POINTS, TRUMP_POINTS, list_cards
from coinche_spiel.rules import coinche_rules


@pytest.mark.parametrize("trump", range(4))
def test_a_board_keeps_the_cards_and_their_points(trump: int) -> None:
    rng = np.random.default_rng(trump)
    for cards in [0, ALL_CARDS, *rng.integers(ALL_CARDS + 1, size=500).tolist()]:
        board = to_board(cards, trump)
        assert 0 <= board <= ALL_CARDS
        assert from_board(board, trump) == cards
        points = [
            TRUMP_POINTS[card % 8] if card // 8 == trump else PLAIN_POINTS[card % 8] for card in list_cards(cards)
        ]
        assert board_points(board) == sum(points)


def test_thousands_of_random_decisions_agree_with_the_rules() -> None:
    """Plays random cards by the rules; at every turn compares legal cards, and after every card who holds the trick."""
    rules = coinche_rules()
    kernel = rules.kernel
    source = generator(5)
    rng = np.random.default_rng(5)
    actions = np.empty(rules.num_distinct_actions, np.int64)
    decisions = 0
    for number in range(500):
        state = rules.root.copy()
        kernel.deal(state, source)
        for call in (slots.FIRST_BID + number % 4, slots.PASS, slots.PASS, slots.PASS):
            kernel.apply_action(state, call)
        trump = number % 4
        best = led = 0
        while state[slots.PHASE] == slots.PLAYING:
            seat = int(state[slots.TURN])
            leads = state[slots.LED] == 0
            if leads:
                best = led = 0
            count = kernel.legal_actions(state, actions)
            hand = to_board(int(state[slots.HAND + seat]), trump)
            partner_holds = not leads and (seat ^ int(state[slots.HOLDER])) & 1 == 0
            ours = from_board(legal_cards(hand, led, best, partner_holds), trump)
            assert list_cards(ours) == actions[:count].tolist()
            decisions += 1
            action = int(actions[rng.integers(count)])
            card = to_board(1 << action, trump)
            if leads:
                led = suit_at(int(card).bit_length() - 1)
            takes = takes_trick(card, best, led)
            if takes:
                best = card
            last_of_trick = state[slots.CARDS_PLAYED] % 4 == 3
            kernel.apply_action(state, action)
            if not last_of_trick:
                assert takes == (state[slots.HOLDER] == seat)
    assert decisions == 500 * 32
