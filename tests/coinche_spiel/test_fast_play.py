"""Fast random play: every recorded call and card is replayed by the rules, and frequencies are compared with theirs."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from cardtable import deck
from cardtable.batch import play_out
from cardtable.rules import Rules
from coinche_spiel import state as slots
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.fast_play import NO_CALL, random_deals, random_plays
from coinche_spiel.rules import coinche_rules


def dealt_state(rules: Rules, hands: Sequence[int] | np.ndarray) -> np.ndarray:
    state = rules.root.copy()
    for card in range(32):
        if state[deck.NEXT_CARD] == card:
            rules.kernel.apply_action(state, next(seat for seat in range(4) if hands[seat] >> card & 1))
    return state


def replay(rules: Rules, state: np.ndarray, actions: Iterable[int]) -> None:
    legal = np.empty(rules.num_distinct_actions, np.int64)
    for action in actions:
        count = rules.kernel.legal_actions(state, legal)
        assert action in legal[:count]
        rules.kernel.apply_action(state, int(action))


@pytest.mark.parametrize("parameters", [{}, {"dealer": 1, "reward": "classic", "belote": True, "trick_reward": 0.1}])
def test_recorded_deals_replay_to_the_same_result(parameters: dict[str, Any]) -> None:
    rules = coinche_rules(**parameters)
    deals = random_deals(400, seed=3, record=True, **parameters)
    assert deals.calls is not None
    assert deals.cards is not None
    returns = np.empty(4)
    for i in range(400):
        state = dealt_state(rules, deals.hands[i].tolist())
        replay(rules, state, deals.calls[i][deals.calls[i] != NO_CALL])
        assert state[slots.PHASE] == slots.PLAYING
        contract = [state[slots.DECLARER], state[slots.TRUMP], slots.contract_value(state), slots.level(state)]
        assert contract == [deals.declarer[i], deals.trump[i], deals.value[i], deals.level[i]]
        replay(rules, state, deals.cards[i])
        assert state[slots.PHASE] == slots.OVER
        assert state[slots.POINTS : slots.POINTS + 2].tolist() == deals.points[i].tolist()
        assert state[slots.TRICKS : slots.TRICKS + 2].tolist() == deals.tricks[i].tolist()
        rules.kernel.returns(state, returns)
        assert returns.tolist() == deals.returns[i].tolist() * 2


def test_recorded_plays_replay_to_the_same_result() -> None:
    rules = coinche_rules()
    hands = random_deals(300, seed=4).hands
    rng = np.random.default_rng(4)
    trumps = rng.integers(4, size=300)
    plays = random_plays(hands, trumps, 0, seed=5, record=True)
    assert plays.cards is not None
    for i in range(300):
        state = dealt_state(rules, hands[i].tolist())
        replay(rules, state, [slots.FIRST_BID + trumps[i], slots.PASS, slots.PASS, slots.PASS, *plays.cards[i]])
        assert state[slots.POINTS] == plays.points[i]
        assert state[slots.TRICKS] == plays.tricks[i]


def test_other_leaders_are_the_same_game_turned() -> None:
    """With the hands turned along, the leader makes no difference but for the names of the sides."""
    hands = random_deals(1000, seed=6).hands
    first = random_plays(hands, 2, 0, seed=7)
    turned = random_plays(np.roll(hands, 1, axis=1), 2, 1, seed=7)
    assert (first.points + turned.points == TOTAL_POINTS).all()
    assert (first.tricks + turned.tricks == 8).all()


def test_short_hands_are_played_out() -> None:
    hands = np.array([0b11, 0b11 << 8, 0b11 << 16, 0b11 << 24])
    plays = random_plays(hands, 0, 3, plays=500, seed=8, record=True)
    assert plays.cards is not None
    assert plays.cards.shape == (500, 8)
    assert (plays.points == 10).all()  # the cards are worthless, and North has the only trumps
    assert (np.sort(plays.cards, axis=1) == [0, 1, 8, 9, 16, 17, 24, 25]).all()


def z_score(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Difference of two means in standard errors."""
    error = math.sqrt(ours.var() / len(ours) + theirs.var() / len(theirs))
    return abs(ours.mean() - theirs.mean()) / error


def test_returns_are_distributed_as_in_games_played_by_the_rules() -> None:
    rules = coinche_rules(trick_reward=1.0)
    theirs = play_out(rules, 60_000, seed=9).returns[:, 0]
    ours = random_deals(60_000, seed=10, trick_reward=1.0).returns[:, 0]
    for moment in (lambda x: x, np.square, np.abs, lambda x: (x > 0) * 1.0, lambda x: (np.abs(x) > 900) * 1.0):
        assert z_score(moment(ours), moment(theirs)) < 4.5


def test_calls_have_the_probabilities_of_uniform_choice() -> None:
    calls = random_deals(100_000, seed=11, record=True).calls
    assert calls is not None
    first = calls[:, 0]
    counts = np.bincount(first - slots.PASS, minlength=43)
    expected = 100_000 / 41
    assert counts[41] == counts[42] == 0
    assert ((counts[:41] - expected) ** 2 / expected).sum() < 40 + 4.5 * math.sqrt(2 * 40)
    after_capot = calls[first >= slots.FIRST_BID + 36][:, 1]  # pass or coinche
    share = (after_capot == slots.COINCHE).mean()
    assert abs(share - 0.5) < 4.5 * math.sqrt(0.25 / len(after_capot))
    assert set(np.unique(after_capot)) == {slots.PASS, slots.COINCHE}


def test_every_card_goes_to_every_seat_equally_often_and_pairs_stay_together_by_chance() -> None:
    hands = random_deals(40_000, seed=12).hands
    assert (np.bitwise_count(hands) == 8).all()
    assert (np.bitwise_or.reduce(hands, axis=1) == (1 << 32) - 1).all()
    held = hands[:, :, None] >> np.arange(32) & 1
    assert np.abs(held.mean(axis=0) - 0.25).max() < 5 * math.sqrt(0.25 * 0.75 / 40_000)
    together = 7 / 31
    for a, b in itertools.pairwise(range(0, 32, 5)):
        share = (held[:, :, a] * held[:, :, b]).sum(axis=1).mean()
        assert abs(share - together) < 5 * math.sqrt(together * (1 - together) / 40_000)


def test_cards_are_chosen_uniformly_among_the_legal_ones() -> None:
    hands = random_deals(1, seed=13).hands[0]
    cards = random_plays(hands, 1, 0, plays=40_000, seed=14, record=True).cards
    assert cards is not None
    counts = np.array([(cards[:, 0] == card).sum() for card in range(32) if hands[0] >> card & 1])
    assert counts.sum() == 40_000
    assert ((counts - 5000) ** 2 / 5000).sum() < 7 + 4.5 * math.sqrt(14)


def test_results_depend_on_the_seed_alone() -> None:
    one = random_deals(10_000, seed=15)
    two = random_deals(10_000, seed=15, threads=2)
    other = random_deals(10_000, seed=16)
    assert (one.returns == two.returns).all()
    assert (one.hands == two.hands).all()
    assert (one.hands != other.hands).any()
    assert (random_deals(300, seed=15).hands == one.hands[:300]).all()


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: random_deals(0), "deals is 0; allowed: 1 or more"),
        (lambda: random_deals(5, threads=0), "threads is 0; allowed: 1 or more"),
        (lambda: random_deals(5, suits=2), "suits is 2; allowed: 4"),
        (lambda: random_deals(5, pisser="forced"), "pisser is 'forced'; allowed: 'free'"),
        (lambda: random_deals(5, reward="kind"), "reward"),
        (lambda: random_plays([1, 2, 4, 8], 0), "plays is None; allowed: how often"),
        (lambda: random_plays([1, 2, 4, 8], 0, plays=0), "plays is 0; allowed: 1 or more"),
        (lambda: random_plays([[1, 2, 4, 8]], 0, plays=3), "each of these 1 deals"),
        (lambda: random_plays([1, 2, 4], 0, plays=3), "shape"),
        (lambda: random_plays([1, 2, 4, 4], 0, plays=3), "hands share a card"),
        (lambda: random_plays([3, 4, 8, 16], 0, plays=3), "same number of cards"),
        (lambda: random_plays([1, 2, 4, 1 << 32], 0, plays=3), "sets of the 32 cards"),
        (lambda: random_plays([1, 2, 4, 8], 4, plays=3), "trump is 4; allowed: 0 to 3"),
        (lambda: random_plays([1, 2, 4, 8], 0, [0, 1], plays=3), "leader is \\[0, 1\\]; allowed: 0 to 3"),
    ],
)
def test_bad_arguments_are_refused(call: Callable[[], object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()


SCRIPT = """
from coinche_spiel.fast_play import random_deals, random_plays
deals = random_deals(3, seed=15)
print(deals.hands.tolist(), deals.returns.tolist(), random_plays(deals.hands, 1, 2, seed=2).points.tolist())
"""


@pytest.mark.slow
def test_plain_python_gives_the_same_results() -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    plain = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=True, timeout=600)
    deals = random_deals(3, seed=15)
    plays = random_plays(deals.hands, 1, 2, seed=2)
    assert done.stdout == f"{deals.hands.tolist()} {deals.returns.tolist()} {plays.points.tolist()}\n"
