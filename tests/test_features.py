"""What networks are told, in every game that says so: nothing hidden, nothing that hangs on the names of suits."""

from __future__ import annotations

import itertools

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable import deck
from cardtable.features import feature_addresses, features_of
from cardtable.randomness import generator
from cardtable.replay import moves_of
from cardtable.rules import CHANCE, Rules
from tests.test_players import positions

DUEL = "python_coinche(players=2,suits=2,ranks=9JTA,hand_size=2,min_bid=50,max_bid=50,capot_value=0)"
SYMMETRIC = ("python_toepen", "python_toepen(suits=3,ranks=3,hand_size=2)", "python_coinche", DUEL)
RENAMED = ("python_cego(subgame=raeuber)", *SYMMETRIC)
NAMES = ("python_cego", *RENAMED)


def encoded(rules: Rules, state: np.ndarray) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """The context, and the features of each legal action."""
    features = features_of(rules)
    feature_addresses(features)  # compiles for the declared types
    choices = np.empty(rules.num_distinct_actions, np.int64)
    count = rules.kernel.legal_actions(state, choices)
    context = np.zeros(features.context_size, np.float32)
    details = np.zeros((count, features.action_size), np.float32)
    features.context(state, context)
    features.actions(state, choices, count, details)
    return context, dict(zip(choices[:count].tolist(), details, strict=True))


def same(one: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all((one[action] == other[action]).all() for action in one)


@pytest.mark.parametrize("name", NAMES)
def test_features_do_not_peek_and_tell_actions_apart(name: str) -> None:
    game = pyspiel.load_game(name)
    kernel = game.rules.compiled_kernel(resample=True)
    differences = 0
    for number, state in enumerate(positions(game, seed=3)):
        context, details = encoded(game.rules, state.array)
        assert np.isfinite(context).all()
        assert np.abs(context).max() <= 4
        assert all(np.isfinite(row).all() and np.abs(row).max() <= 4 for row in details.values())
        assert len({row.tobytes() for row in details.values()}) == len(details), "two actions look alike"
        other = state.array.copy()
        kernel.resample(other, state.current_player(), generator(number))
        differences += bool((other != state.array).any())
        seen, choices = encoded(game.rules, other)
        assert (seen == context).all()
        assert same(choices, details)
    assert differences > 10, "nothing was hidden in any of these positions"


def renamed(rules: Rules, state: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The same game with suit s called order[s], dealt and played again."""
    cards = np.arange(rules.num_distinct_actions)
    for suit, other in enumerate(order):
        cards[list(rules.interchangeable_suits[suit])] = rules.interchangeable_suits[other]
    old = np.argsort(cards)
    again = rules.new_state()
    while rules.kernel.current_player(again) == CHANCE:
        rules.kernel.apply_action(again, deck.pile_of(state, int(old[again[deck.NEXT_CARD]])))
    for action in moves_of(rules, state).tolist():
        if cards[action] == action and rules.symmetry is not None:  # what is said may name suits too
            action = rules.symmetry.rename_action(state, action, order)
        rules.kernel.apply_action(again, int(cards[action]))
    return again


@pytest.mark.parametrize("name", RENAMED)
def test_features_do_not_know_the_names_of_suits(name: str) -> None:
    game = pyspiel.load_game(name)
    orders = list(itertools.permutations(range(len(game.rules.interchangeable_suits))))[1:]
    changed = 0
    for number, state in enumerate(itertools.islice(positions(game, seed=5), 40)):
        mirrored = renamed(game.rules, state.array, np.array(orders[number % len(orders)]))
        context, details = encoded(game.rules, state.array)
        seen, choices = encoded(game.rules, mirrored)
        assert (seen == context).all()
        # Suits that are alike in everything may stand in either order: then the rows of their cards are exchanged.
        assert sorted(row.tobytes() for row in details.values()) == sorted(row.tobytes() for row in choices.values())
        changed += bool((mirrored != state.array).any())
    assert changed > 10


def test_games_without_features_of_their_own_show_their_tensors() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    for state in itertools.islice(positions(game, seed=1), 5):
        context, details = encoded(game.rules, state.array)
        assert context.tolist() == state.information_state_tensor()
        for action, row in details.items():
            assert row.tolist() == [float(other == action) for other in range(game.num_distinct_actions())]


@pytest.mark.parametrize(
    ("name", "keeps"),
    [
        ("python_tied_rewards(game=python_cego())", True),
        ("python_card_isomorphism(game=python_toepen())", False),
        ("python_card_isomorphism(game=python_toepen(),method=thesis)", False),
        ("python_bucketing(game=python_toepen(),hand=bucket)", False),
    ],
)
def test_transforms_that_change_what_is_known_or_called_have_no_features(name: str, keeps: bool) -> None:
    assert (pyspiel.load_game(name).rules.features is not None) == keeps
