"""Exact sizes of small variants, and of the auction, against numbers found by an independent count."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import types

from cardtable import deck
from cardtable.compiled import entry_point
from cardtable.rules import CHANCE, FUNCTION_TYPES, TERMINAL
from coinche_spiel import state as slots
from coinche_spiel.auction import apply_call, legal_calls
from coinche_spiel.rules import coinche_rules, longest_auction

M0 = {"suits": 2, "ranks": "JA", "hand_size": 1, "min_bid": 30, "max_bid": 30, "fall_points": 50, "capot_value": 0}
M2 = {"suits": 2, "ranks": "9JTA", "hand_size": 2, "min_bid": 50, "max_bid": 50, "fall_points": 80, "capot_value": 0}
M1 = M2 | {"coinche": False}
M3 = M1 | {"max_bid": 60}
D0 = M0 | {"players": 2, "ranks": "JTA", "hand_size": 2, "min_bid": 40, "max_bid": 40, "fall_points": 70}
D1 = M2 | {"players": 2, "hand_size": 3}


@entry_point(
    FUNCTION_TYPES["current_player"],
    FUNCTION_TYPES["legal_actions"],
    FUNCTION_TYPES["apply_action"],
    FUNCTION_TYPES["chance_outcomes"],
    FUNCTION_TYPES["information_key"],
    types.Array(types.int64, 1, "C", readonly=True),
    types.Array(types.int64, 2, "C"),
    types.Array(types.int64, 1, "C"),
)
def walk(current_player, legal_actions, apply_action, chance_outcomes, information_key, root, keys, counts):
    """Counts deals, decision nodes and terminals, and lists the information keys of all decision nodes.

    Depth first with one row of `states` per depth; `moves[depth]` are the moves still to be tried there.
    """
    depths = 128
    states = np.empty((depths, len(root)), np.int64)
    moves = np.empty((depths, 80), np.int64)
    moves_left = np.zeros(depths, np.int64)
    probabilities = np.empty(8)
    states[0] = root
    moves_left[0] = chance_outcomes(states[0], moves[0], probabilities)
    depth = 0
    while depth >= 0:
        if moves_left[depth] == 0:
            depth -= 1
            continue
        moves_left[depth] -= 1
        was_chance = current_player(states[depth]) == CHANCE
        states[depth + 1] = states[depth]
        apply_action(states[depth + 1], moves[depth, moves_left[depth]])
        depth += 1
        player = current_player(states[depth])
        if player == CHANCE:
            moves_left[depth] = chance_outcomes(states[depth], moves[depth], probabilities)
            continue
        counts[0] += was_chance
        if player == TERMINAL:
            counts[2] += 1
            moves_left[depth] = 0
        else:
            if counts[1] < len(keys):
                information_key(states[depth], player, keys[counts[1]])
            counts[1] += 1
            moves_left[depth] = legal_actions(states[depth], moves[depth])


def sizes(parameters: dict[str, Any], most_nodes: int) -> tuple[int, ...]:
    """(deals, decision nodes, terminals, information sets)"""
    rules = coinche_rules(**parameters)
    kernel = rules.compiled_kernel()
    functions = (kernel.current_player, kernel.legal_actions, kernel.apply_action)
    keys = np.empty((most_nodes, rules.key_words), np.int64)
    counts = np.zeros(3, np.int64)
    walk(*functions, kernel.chance_outcomes, kernel.information_key, rules.root, keys, counts)
    deals, nodes, terminals = counts.tolist()
    assert nodes <= most_nodes
    rows = keys[:nodes].view([("", np.int64)] * rules.key_words).ravel()
    return deals, nodes, terminals, len(np.unique(rows))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param(M0, (24, 7_200, 1_368, 3_888), id="M0"),
        pytest.param(M1, (2_520, 712_608, 113_880, 350_352), id="M1"),
        pytest.param(D0, (90, 10_116, 3_078, 5_262), id="D0"),
        pytest.param(D1, (560, 317_528, 95_888, 173_984), id="D1"),
        pytest.param(M2, (2_520, 4_685_856, 782_040, 2_449_104), id="M2", marks=pytest.mark.slow),
        pytest.param(M3, (2_520, 5_630_304, 893_400, 2_802_032), id="M3", marks=pytest.mark.slow),
    ],
)
def test_exact_size(parameters: dict[str, Any], expected: tuple[int, ...]) -> None:
    assert sizes(parameters, expected[1]) == expected


def auctions(parameters: dict[str, Any]) -> tuple[int, int]:
    """(number of complete auctions, calls in the longest): suits and callers of earlier bids do not matter later."""
    rules = coinche_rules(**parameters)
    out = np.empty(75, np.int64)
    relevant = (slots.VALUE, slots.DECLARER, slots.COINCHER, slots.SURCOINCHER, slots.PASSES, slots.TURN)

    @cache
    def count(key: tuple[int, ...]) -> tuple[int, int]:
        state = rules.new_state()
        state[slots.PHASE] = slots.BIDDING
        state[slots.TRUMP] = 0
        state[list(relevant)] = key
        ways, longest = 0, 0
        for action in out[: legal_calls(state, out)].tolist():
            after = state.copy()
            apply_call(after, action)
            if after[slots.PHASE] == slots.BIDDING:
                more, length = count(tuple(after[list(relevant)].tolist()))
            else:
                more, length = 1, 0
            ways += more
            longest = max(longest, 1 + length)
        return ways, longest

    first = (int(rules.root[slots.DEALER]) + 1) % rules.num_players
    found = count((slots.NONE, slots.NONE, slots.NONE, slots.NONE, 0, first))
    assert longest_auction(rules.root) == found[1]
    assert rules.max_game_length == found[1] + rules.num_players * int(rules.root[slots.HAND_SIZE])
    return found


SMALL = {"suits": 2, "ranks": "9JTA", "hand_size": 2, "min_bid": 50, "capot_value": 0}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, (1_286_679_257_249, 37)),
        (M0, (57, 10)),
        (M1, (9, 7)),
        (M2, (57, 10)),
        (M3, (65, 10)),
        (SMALL | {"max_bid": 60}, (449, 13)),
        (SMALL | {"ranks": "9JQKTA", "hand_size": 3, "max_bid": 60, "capot_value": 100}, (3_193, 16)),
        (SMALL | {"suits": 3, "hand_size": 3, "max_bid": 70, "capot_value": 100}, (93_325, 19)),
        (SMALL | {"suits": 4, "hand_size": 4, "max_bid": 70, "capot_value": 100}, (266_561, 19)),
        (D0, (13, 4)),
        (D1, (13, 4)),
    ],
    ids=str,
)
def test_auctions(parameters: dict[str, Any], expected: tuple[int, int]) -> None:
    assert auctions(parameters) == expected


def test_longest_auction_without_coinche() -> None:
    assert auctions({"coinche": False})[1] == 34


def test_longest_game() -> None:
    rules = coinche_rules()
    assert (rules.max_game_length, rules.max_chance_nodes) == (69, 31)


@pytest.mark.parametrize(("parameters", "points"), [({}, 162), (M0, 54), (M1, 88), (D0, 74)], ids=str)
def test_points_of_the_deck(parameters: dict[str, Any], points: int) -> None:
    """A trick reward of one pays the difference of all points, so the payoff bounds show the total."""
    without, with_points = coinche_rules(**parameters), coinche_rules(**parameters, trick_reward=1.0)
    assert with_points.max_utility - without.max_utility == points


def test_number_of_deals() -> None:
    root = coinche_rules().root
    rooms = root[deck.ROOM : deck.ROOM + 4].tolist()
    assert math.factorial(32) // math.prod(map(math.factorial, rooms)) == 99_561_092_450_391_000
