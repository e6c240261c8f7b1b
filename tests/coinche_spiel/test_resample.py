"""Redealing what a player cannot see: exactly the deals for which every card played was legal, all equally likely."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cardtable import bits, deck
from cardtable.randomness import generator
from coinche_spiel import state as slots
from coinche_spiel.auction import list_calls
from coinche_spiel.rules import coinche_rules
from tests.coinche_spiel.oracle import RANKS, SUITS, Card, OracleDeal, action_of_card

TWELVE = {"suits": 3, "ranks": "9JQA", "hand_size": 3, "min_bid": 30, "max_bid": 40, "capot_value": 0}
VARIANTS = [
    TWELVE,
    TWELVE | {"pisser": "forced"},
    TWELVE | {"under_partner": "no_under"},
    TWELVE | {"pisser": "forced", "under_partner": "no_under", "suits": 2, "ranks": "789JQA"},
    TWELVE | {"suits": 2, "ranks": "9JQTA", "hand_size": 2},  # two cards stay undealt
    TWELVE | {"players": 2, "ranks": "9JA", "hand_size": 3},
]


def names_of(cards: int) -> list[Card]:
    return [(SUITS[card // 8], RANKS[card % 8]) for card in range(32) if int(cards) >> card & 1]


def splits(cards: list[int], sizes: list[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to deal `cards` into piles of these sizes."""
    if not sizes:
        yield ()
        return
    for chosen in itertools.combinations(cards, sizes[0]):
        rest = [card for card in cards if card not in chosen]
        for others in splits(rest, sizes[1:]):
            yield (chosen, *others)


def consistent_deals(state: np.ndarray, player: int, parameters: dict[str, Any]) -> set[tuple[int, ...]]:
    """The hands of all seats, as card sets, in every deal under which all the moves so far were legal."""
    players, piles = int(state[slots.PLAYERS]), int(state[deck.NUM_PILES])
    remaining = [int(state[slots.HAND + seat]) for seat in range(players)]
    remaining += [int(state[deck.DEALT + pile]) for pile in range(players, piles)]
    hidden = [pile for pile in range(piles) if pile != player]
    unseen = [card for pile in hidden for card in range(32) if remaining[pile] >> card & 1]
    out = np.empty(40, np.int64)
    calls = out[: list_calls(state, out)].tolist()
    cards = [int(slots.played_card(state, index)) for index in range(int(state[slots.CARDS_PLAYED]))]
    found = set()
    for split in splits(unseen, [remaining[pile].bit_count() for pile in hidden]):
        world = list(remaining)
        for pile, hand in zip(hidden, split, strict=True):
            world[pile] = sum(1 << card for card in hand)
        dealt = [world[s] | int(state[deck.DEALT + s]) & ~remaining[s] for s in range(players)]
        oracle = OracleDeal([names_of(hand) for hand in dealt], **parameters)
        for action in calls + cards:
            legal = oracle.legal()
            if action not in legal:
                break
            oracle.apply(legal[action])
        else:
            found.add(tuple(world))
    return found


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_resampled_deals_are_the_consistent_ones_and_uniform(parameters: dict[str, Any]) -> None:
    rules = coinche_rules(**parameters)
    kernel = rules.compiled_kernel(resample=True)
    rng = np.random.default_rng(3)
    stream = generator(4)
    out = np.empty(75, np.int64)
    constrained = 0
    for _ in range(40):
        state = rules.new_state()
        kernel.deal(state, stream)
        for _ in range(rng.integers(4, rules.max_game_length)):
            if kernel.current_player(state) < 0:
                break
            before = state.copy()
            actions = out[: kernel.legal_actions(state, out)]
            calls = state[slots.PHASE] == slots.BIDDING
            kernel.apply_action(state, int(actions[-1] if calls and len(actions) > 5 else rng.choice(actions)))
        state = before if kernel.current_player(state) < 0 else state
        player = int(rng.integers(rules.num_players))
        worlds = consistent_deals(state, player, parameters)
        assert len(worlds) >= 1
        if len(worlds) > 150:
            continue
        constrained += bool(state[slots.ABSENT : slots.ABSENT + 4].any())
        draws = 40 * len(worlds)
        key, other_key = np.empty(4, np.int64), np.empty(4, np.int64)
        kernel.information_key(state, player, key)
        counts: Counter[tuple[int, ...]] = Counter()
        for _ in range(draws):
            other = state.copy()
            kernel.resample(other, player, stream)
            kernel.information_key(other, player, other_key)
            assert key.tolist() == other_key.tolist()
            hands = [int(hand) for hand in other[slots.HAND : slots.HAND + rules.num_players]]
            piles = range(rules.num_players, int(other[deck.NUM_PILES]))
            counts[tuple(hands + [int(other[deck.DEALT + pile]) for pile in piles])] += 1
            everything = 0
            for pile in range(int(other[deck.NUM_PILES])):
                everything |= int(other[deck.DEALT + pile])
            assert everything == other[deck.DECK_CARDS]
        assert set(counts) <= worlds
        freedom = len(worlds) - 1
        if freedom:
            chi_square = sum((counts[world] - 40) ** 2 / 40 for world in worlds)
            # Wilson and Hilferty's approximation of the 1 - 1e-6 quantile.
            assert chi_square < freedom * (1 - 2 / (9 * freedom) + 4.75 * math.sqrt(2 / (9 * freedom))) ** 3
    assert constrained >= 3


@pytest.mark.parametrize("pisser", ["free", "forced"])
@pytest.mark.parametrize("under_partner", ["free", "no_under"])
def test_full_games_can_always_be_redealt(pisser: str, under_partner: str) -> None:
    """In the full game too: redealt at every decision, the moves so far stay legal one by one."""
    parameters = {"pisser": pisser, "under_partner": under_partner}
    rules = coinche_rules(**parameters)
    kernel = rules.compiled_kernel(resample=True)
    rng = np.random.default_rng(5)
    stream = generator(6)
    out = np.empty(75, np.int64)
    for _ in range(25):
        state = rules.new_state()
        kernel.deal(state, stream)
        history: list[int] = []
        while kernel.current_player(state) >= 0:
            player = int(kernel.current_player(state))
            other = state.copy()
            kernel.resample(other, player, stream)
            assert other[slots.HAND + player] == state[slots.HAND + player]
            if len(history) % 7 == 0:
                hands = [names_of(other[deck.DEALT + seat]) for seat in range(4)]
                oracle = OracleDeal(hands, **parameters)
                for action in history:
                    oracle.apply(oracle.legal()[action])
                assert all(bits.count(other[slots.HAND + s]) == len(oracle.hands[s]) for s in range(4))
                assert {action_of_card(card) for card in oracle.hands[player]} == set(
                    np.flatnonzero([int(state[slots.HAND + player]) >> card & 1 for card in range(32)]).tolist()
                )
            actions = out[: kernel.legal_actions(state, out)]
            action = int(actions[rng.integers(min(len(actions), 6))])
            history.append(action)
            kernel.apply_action(state, action)
