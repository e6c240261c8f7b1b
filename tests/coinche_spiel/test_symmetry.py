"""Renaming suits commutes with everything the rules do; suits look alike exactly if swapping them changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
import pytest

import coinche_spiel  # noqa: F401 registers the game
from cardtable.randomness import generator
from cardtable.rules import Rules
from coinche_spiel import state as slots
from coinche_spiel.rules import coinche_rules

VARIANTS = [
    {},
    {"pisser": "forced", "under_partner": "no_under", "belote": True},
    {"suits": 3, "ranks": "9JQKTA", "hand_size": 4, "players": 4},
    {"players": 2, "suits": 2, "ranks": "9JTA", "hand_size": 2, "min_bid": 50, "max_bid": 50, "capot_value": 0},
]


def random_positions(
    rules: Rules, games: int, seed: int
) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, list[int], int] | None]]:
    kernel = rules.compiled_kernel()
    stream = generator(seed)
    rng = np.random.default_rng(seed)
    out = np.empty(75, np.int64)
    for _ in range(games):
        state = rules.new_state()
        kernel.deal(state, stream)
        yield state, None
        while kernel.current_player(state) >= 0:
            actions = out[: kernel.legal_actions(state, out)].copy()
            action = int(rng.choice(actions[:8]))
            before = state.copy()
            kernel.apply_action(state, action)
            yield state, (before, actions.tolist(), action)


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_renaming_commutes_with_playing(parameters: dict[str, Any]) -> None:
    rules = coinche_rules(**parameters)
    kernel, symmetry = rules.compiled_kernel(), rules.symmetry
    assert symmetry is not None
    suits = int(rules.root[slots.SUITS])
    names = [np.array(order, np.int64) for order in itertools.permutations(range(suits))]
    out = np.empty(75, np.int64)
    renamed, after, expected = (np.empty_like(rules.root) for _ in range(3))
    returns, renamed_returns = np.empty(rules.num_players), np.empty(rules.num_players)
    for number, (state, step) in enumerate(random_positions(rules, 12, seed=1)):
        if step is None:
            continue
        before, actions, action = step
        for new_suit in names[number % 5 :: 5]:
            symmetry.rename(before, new_suit, renamed)
            found = out[: kernel.legal_actions(renamed, out)].tolist()
            assert found == sorted(symmetry.rename_action(before, a, new_suit) for a in actions)
            kernel.apply_action(renamed, symmetry.rename_action(before, action, new_suit))
            symmetry.rename(state, new_suit, expected)
            after[:] = renamed
            assert (after == expected).all()
            kernel.returns(state, returns)
            kernel.returns(after, renamed_returns)
            assert (returns == renamed_returns).all()


@pytest.mark.parametrize("parameters", VARIANTS, ids=str)
def test_signatures_tell_suits_apart_exactly_if_swapping_them_changes_what_a_player_knows(
    parameters: dict[str, Any],
) -> None:
    rules = coinche_rules(**parameters)
    kernel, symmetry = rules.compiled_kernel(), rules.symmetry
    assert symmetry is not None
    suits = int(rules.root[slots.SUITS])
    rows = np.empty((suits, symmetry.signature_words), np.int64)
    swapped = np.empty_like(rules.root)
    key, swapped_key = np.empty(4, np.int64), np.empty(4, np.int64)
    outcomes = set()
    for state, _ in random_positions(rules, 40, seed=2):
        for player in range(rules.num_players):
            symmetry.signatures(state, player, True, True, rows)
            kernel.information_key(state, player, key)
            for a, b in itertools.combinations(range(suits), 2):
                new_suit = np.arange(suits)
                new_suit[[a, b]] = b, a
                symmetry.rename(state, new_suit, swapped)
                kernel.information_key(swapped, player, swapped_key)
                same = bool((key == swapped_key).all())
                assert same == bool((rows[a] == rows[b]).all())
                outcomes.add(same)
    assert outcomes == {True, False}


def test_signatures_of_hand_and_history_alone() -> None:
    rules = coinche_rules()
    assert rules.symmetry is not None
    for state, _ in random_positions(rules, 2, seed=3):
        both, hand, history = (np.empty((4, 4), np.int64) for _ in range(3))
        rules.symmetry.signatures(state, 1, True, True, both)
        rules.symmetry.signatures(state, 1, True, False, hand)
        rules.symmetry.signatures(state, 1, False, True, history)
        assert (hand | history == both).all()
        assert (hand & history == 0).all()


def test_two_isomorphic_deals_of_a_solvable_game() -> None:
    """D0: of the 90 deals, swapping the suits leaves 90 = 2 * (orbits of size two) + (orbits of size one)."""
    game = pyspiel.load_game(
        "python_coinche",
        {"players": 2, "suits": 2, "ranks": "JTA", "hand_size": 2, "min_bid": 40, "max_bid": 40, "capot_value": 0},
    )
    stack, hands = [game.new_initial_state()], set()
    while stack:
        state = stack.pop()
        if state.is_chance_node():
            stack += [state.child(action) for action in state.legal_actions()]
        else:
            hands.add(state.array.tobytes())
    assert len(hands) == 90
    fixed = 0
    for raw in hands:
        renamed = np.empty(len(game.rules.root), np.int64)
        game.rules.symmetry.rename(np.frombuffer(raw, np.int64).copy(), np.array([1, 0]), renamed)
        assert renamed.tobytes() in hands
        fixed += renamed.tobytes() == raw
    # Each hand must hold two cards of one rank, and so must the undealt pile: 3! ways.
    assert fixed == 6
