"""How the bidders' numbers are made: regression, played deals, filed deals, and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cardtable import deck
from cardtable.executors import Serial
from cardtable.parameters import UserError
from coinche_spiel.bidding.contexts import ALL_FEATURES, FRESH, NUM_AUCTION, SITUATIONS
from coinche_spiel.bidding.holdings import FEATURES
from coinche_spiel.bidding.numbers import numbers_from
from coinche_spiel.players import strong_player
from coinche_spiel.rules import coinche_rules
from coinche_spiel.state import COINCHE, FIRST_BID, PASS, POINTS
from experiments.coinche.bidding import fitting
from experiments.coinche.bidding.auctions import STRONG, Samples, match_by_deal
from experiments.coinche.bidding.deals import Deals, deals_played, solved_deals
from experiments.coinche.bidding.judging import judge, worth_of_calls
from experiments.coinche.bidding.making import setting_of
from experiments.coinche_calls import OPPONENTS
from tests.coinche_spiel.helpers import hand_features
from tests.commands import run


def random_hands(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([sum(1 << int(card) for card in rng.permutation(32)[:8]) for _ in range(count)])


def test_regression_finds_what_made_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "RIDGE", 1e-3)  # which keeps rare features small
    hands = random_hands(4000, 1)
    rng = np.random.default_rng(2)
    true = dict(zip(FEATURES, rng.normal(0, 10, len(FEATURES)), strict=True))
    suits = rng.integers(4, size=len(hands))
    auctions = np.zeros((len(hands), NUM_AUCTION))
    auctions[:, 0] = 1.0
    features = np.array([hand_features(int(hand), int(suit)) for hand, suit in zip(hands, suits, strict=True)])
    points = features @ np.array(list(true.values())) + 40 + rng.normal(0, 1, len(hands))
    samples = Samples(hands, suits, np.full(len(hands), FRESH), auctions, points)
    assert (fitting.design(samples, np.arange(len(hands)))[:, : len(FEATURES)] == features).all()
    found = fitting.fit_points(samples)
    # Single weights may trade with each other (jack and nine, jack, nine, and ace): what counts is their sum in a hand.
    learnt = np.array([found.weights["fresh"][name] for name in FEATURES])
    others = np.array([hand_features(int(hand), 0) for hand in random_hands(500, 3)])
    error = others @ (learnt - np.array(list(true.values()))) + found.weights["fresh"]["always"] - 40
    assert np.sqrt((error**2).mean()) < 0.3  # though each sample was off by one point
    assert set(found.weights) == set(SITUATIONS)
    assert set(found.weights["theirs"]) == set(ALL_FEATURES)


def test_what_a_call_is_worth_by_playing_every_deal(tmp_path: Path) -> None:
    """Deals in which nobody coinches need not be played again without; here all are."""
    setting, deals = setting_of("contract"), solved_deals(60, 5, Serial(), tmp_path)
    bidder = OPPONENTS["bidder"]

    def barred(state: np.ndarray, stream: np.ndarray) -> int:
        call = bidder(state, stream)
        return PASS if call == COINCHE else call

    gains, heard = worth_of_calls(setting, deals, bidder, {"coinche": ((COINCHE,), barred)})["coinche"]
    assert 0.05 < heard < 0.95
    np.testing.assert_allclose(gains, judge(setting, deals, bidder, barred).gains)
    assert np.abs(gains).sum() > 0


@pytest.mark.slow
def test_played_deals_are_what_strong_plays() -> None:
    deals = deals_played(6, 3)
    kernel = coinche_rules().compiled_kernel()
    for row in range(6):
        for attack in range(2):
            for trump in range(4):
                state = coinche_rules().new_state()
                while kernel.current_player(state) < 0:
                    card = int(state[deck.NEXT_CARD])
                    owner = next(seat for seat in range(4) if int(deals.hands[row, seat]) >> card & 1)
                    kernel.apply_action(state, owner)
                for call in [PASS] * attack + [FIRST_BID + trump] + [PASS] * 3:
                    kernel.apply_action(state, call)
                while kernel.current_player(state) >= 0:
                    kernel.apply_action(state, strong_player(state, np.zeros(1, np.uint64)))
                assert min(int(deals.points[row, attack, trump]), 162) == state[POINTS]


def test_solved_deals_are_filed(tmp_path: Path) -> None:
    first = solved_deals(3, 5, Serial(), tmp_path)
    known = np.load(tmp_path / "deals_5.npz")["points"]
    assert (first.points[:, 0] == known).all()
    assert (first.points[:, 0] == first.points[:, 1]).all()  # who attacks does not matter with open cards
    changed = known.copy()
    changed[0, 0] = 77
    np.savez(tmp_path / "deals_5.npz", hands=first.hands, points=changed)
    assert solved_deals(3, 5, Serial(), tmp_path).points[0, 0, 0] == 77  # read, not solved again
    np.savez(tmp_path / "deals_5.npz", hands=first.hands + 1, points=changed)
    with pytest.raises(UserError, match="holds other deals"):
        solved_deals(3, 5, Serial(), tmp_path)


@pytest.mark.slow
def test_equal_bidders_gain_nothing() -> None:
    deals = deals_played(50, 1)
    gains = match_by_deal(setting_of("plain_cards"), Deals(deals.hands, deals.points), np.zeros((1, 1)), STRONG, STRONG)
    assert (gains == 0).all()


@pytest.mark.slow
def test_the_commands(tmp_path: Path) -> None:
    solved = f"--solved={tmp_path / 'solved'}"
    numbers = tmp_path / "numbers.json"
    quick = ["experiments.coinche_bidder", "--quick", "--kind=plain_cards", f"--numbers={numbers}"]
    assert "Bidders for plain_cards" in run(*quick, f"--out={tmp_path / 'one'}").stdout
    made = json.loads(numbers.read_text())
    numbers_from(made["plain_cards"])
    again = run(*quick, f"--out={tmp_path / 'one'}", "--resume")
    assert again.returncode == 0
    assert json.loads(numbers.read_text()) == made
    calls = run("experiments.coinche_calls", "--quick", "--opponents=strong", solved, f"--out={tmp_path / 'calls'}")
    assert "surcoinche" in calls.stdout
    lessons = run("experiments.coinche_lessons", "--quick", solved, f"--out={tmp_path / 'lessons'}")
    assert "jack third" in lessons.stdout
    assert (tmp_path / "lessons" / "holdings.png").exists()


def test_who_cannot_be_bid_against_is_said(tmp_path: Path) -> None:
    wrong = run("experiments.coinche_calls", "--quick", "--opponents=nobody", f"--out={tmp_path / 'no'}")
    assert wrong.returncode == 1
    assert "bidder, strong, simple" in wrong.stderr
