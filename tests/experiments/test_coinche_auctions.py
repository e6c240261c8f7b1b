"""What solved duels bid, and what opening brings where everybody else passes."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score

import coinche_spiel  # noqa: F401
from cardtable.executors import Serial
from coinche_spiel.cards import ALL_CARDS, PLAIN_ORDER, TRUMP_ORDER, list_cards, parse_cards
from coinche_spiel.small import SMALL_VARIANTS
from experiments.coinche.all_pass import after_the_auction, cautious_opening, heuristic_play, is_sure_capot, open_play
from experiments.coinche_small import Auctions, Spot, coinche_rows, renamed, up_to_suits
from solvers.cfr import CFRSolver
from tests.coinche_spiel.helpers import dealt, load, move

Duel = tuple[pyspiel.Game, Auctions, CFRSolver]


@pytest.fixture(scope="module")
def duel() -> Duel:
    game = pyspiel.load_game(SMALL_VARIANTS["D0"])
    solver = CFRSolver(game, variant="dcfr")
    solver.run(500)
    return game, Auctions(game, solver.average_policy()), solver


def test_auctions_of_a_duel_are_weighed_right(duel: Duel) -> None:
    game, auctions, solver = duel
    assert sum(auctions.probability.values()) == pytest.approx(1)
    assert sum(chance for spot, chance in auctions.reached.items() if spot.calls == "") == pytest.approx(1)
    policy = solver.average_policy()
    expected = expected_game_score.policy_value(game.new_initial_state(), [policy] * 2)
    assert auctions.value == pytest.approx(expected[0], abs=0.05)  # rare branches are left out


def test_a_duel_coinches_only_what_falls(duel: Duel) -> None:
    _, auctions, _ = duel
    assert auctions.calls[Spot("", "J♠ A♠")] == pytest.approx({"40♠": 1.0})
    rows = coinche_rows(auctions)
    assert [(row["after"], row["hand"], row["contract falls"]) for row in rows] == [("pass, 40♠", "J♠ J♥", "100%")]


def test_decisions_that_differ_by_the_names_of_suits_are_one() -> None:
    assert renamed(Spot("pass, 40♠", "10♠ J♥")) == Spot("pass, 40♥", "J♠ 10♥")
    assert len(up_to_suits([Spot("", "J♠ 10♠"), Spot("", "J♥ 10♥"), Spot("", "J♠ J♥")])) == 2


@pytest.mark.parametrize(
    ("hand", "sure"),
    [
        ("7H 8H 9H JH QH KH 10H AH", True),
        ("JH 9H AH 10H KH QH 8H AS", True),  # one trump is out: the jack draws it
        ("JH 9H AH 7H 8H AS 10S KS", True),  # three are out, three rounds draw them
        ("JH 9H 10H 7H 8H AS 10S KS", False),  # the ace of trumps may be against it
        ("JH 9H AH 10H 8H AS 10S QS", False),  # the king of spades may win
        ("JH 9H AH 10H 8H AS AC AD", True),
        ("JH 9H AH 10H AS AC AD 10D", True),
        ("JH 9H AH AS 10S KS AC AD", False),  # five trumps are out
    ],
)
def test_sure_capots(hand: str, sure: bool) -> None:
    assert is_sure_capot(parse_cards(hand), 1) == sure


@pytest.mark.parametrize("hand", ["JH 9H AH 7H 8H AS 10S KS", "JH 9H AH 10H AS AC AD 10D"])
def test_a_sure_capot_takes_all_tricks_against_anything(hand: str) -> None:
    """North leads its highest cards, trumps first; three others hold random cards and play at random, unhelpfully."""
    rng = random.Random(1)
    others = list_cards(ALL_CARDS ^ parse_cards(hand))
    highest_first = [8 + rank for rank in reversed(TRUMP_ORDER)]
    highest_first += [8 * suit + rank for suit in (0, 2, 3) for rank in reversed(PLAIN_ORDER)]
    game = load()
    for _ in range(40):
        rng.shuffle(others)
        hands = [hand, *(" ".join(_word(card) for card in others[8 * seat : 8 * seat + 8]) for seat in range(3))]
        state = move(dealt(game, hands), "capot♥", "pass", "pass", "pass")
        while not state.is_terminal():
            legal = state.legal_actions()
            if state.current_player() == 0:
                state.apply_action(next(card for card in highest_first if card in legal))
            else:
                state.apply_action(rng.choice(legal))
        assert state.returns()[0] == 250


def _word(card: int) -> str:
    return f"{('7', '8', '9', 'J', 'Q', 'K', '10', 'A')[card % 8]}{'SHCD'[card // 8]}"


def test_cautious_opening_needs_the_two_best_trumps_and_a_third() -> None:
    assert cautious_opening(parse_cards("JC 9C 7C AS AH AD 7D 8D")) == 4 * 80 + 2
    assert cautious_opening(parse_cards("JC 9C AS AH AD 7D 8D 9D")) == 0


def test_only_north_speaks() -> None:
    batch, hands, bids = after_the_auction("strong", 300, seed=1)
    assert (np.bitwise_count(hands) == 8).all()
    assert ((batch.current_players() == 0) == (bids > 0)).all()  # a void deal is over, else North leads
    share = np.mean(bids > 0)
    assert abs(share - 0.7568) < 4 * math.sqrt(0.7568 * 0.2432 / 300)  # 7,960,094 of 10,518,300 hands


def test_open_and_hidden_play_pay_what_a_contract_pays() -> None:
    for row in (open_play("cautious", 60, seed=1, executor=Serial()), heuristic_play("cautious", "strong", 60, seed=1)):
        opened, made = row["opens"], row["made"]
        assert row["points a deal"] == pytest.approx(opened * (80 * made - 160 * (1 - made)))


def test_nothing_is_said_of_contracts_where_nobody_opened() -> None:
    """The rate of nothing is no number, and no warning on the way to it."""
    seed = next(seed for seed in range(1000) if not (after_the_auction("cautious", 2, seed)[2] > 0).any())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = heuristic_play("cautious", "strong", 2, seed)
    assert row["opens"] == 0
    assert math.isnan(row["made"])
