"""Calls by simulation: capot and surcoinche on constructed hands, and what a call says about itself."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable import deck
from cardtable.player import find_player, player_streams
from cardtable.randomness import generator
from coinche_spiel import state as slots
from coinche_spiel.bidding.players import bidder_call
from coinche_spiel.bidding.simulator import Simulator
from coinche_spiel.bidding.tricks import points_played_out
from coinche_spiel.cards import ALL_CARDS, TOTAL_POINTS, list_cards, parse_cards
from coinche_spiel.double_dummy import solve_batch
from coinche_spiel.rules import coinche_rules
from experiments.coinche.all_pass import is_sure_capot
from experiments.coinche_calls import barred

SIMULATOR = Simulator(slots.STATE_SIZE, worlds=24)

# Trumps are spades. With the first ten North takes all tricks alone, if North leads.
SURE = (
    "JS 9S AS 8S 7S AH 10H KH",
    "JS 9S AS 10S AH 10H KH QH",
    "JS 9S AS 10S KS AH AC AD",
    "JS 9S AS 10S QS AH 10H AC",
    "JS 9S AS 10S 7S AH 10H AD",
    "JS 9S AS 10S KS QS AH AD",
    "JS 9S AS KS QS AC 10C KC",
    "JS 9S AS 10S 8S AC 10C AD",
    "JS 9S AS 10S KS QS 8S AC",
    "JS 9S AS 10S AC 10C AD AH",
)
# With these something is missing: the jack of trumps, length, or the top of a side suit. Even with open cards they take
# all tricks in less than half of the worlds.
SHORT = (
    "9S AS 10S KS QS AH AC AD",
    "JS 9S 7S AH 10H 8C 9C 7D",
    "JS 9S AS 7S AH 7H 8C 9D",
    "JS 9S AS 10S 7H 8H 7C 8D",
    "JS 9S AS 10S KS 7H 8C 9D",
    "AS 10S KS QS AH 10H AC AD",
    "JS AS 10S KS 7H 8H 9C QD",
    "9S AS 10S KS AH 10H KH QH",
    "JS 9S 8S 7S KH QH AC KC",
    "JS 9S 10S AH 8H QH KD 7D",
)
POOR = (
    "7S 8S QS 7H 8H 9C JC 7D",
    "KS QS 7S 8H 9H JC QC 8D",
    "10S 7S 8S KH QH 7C 9C JD",
    "8S 7S KH JH 9C 8C QD JD",
    "QS 8S 7S 10H 9H KC 8D 7D",
    "KS 8S 7S QH JH 8C QD 9D",
    "10S 8S QH 9H 7C 8C KD 7D",
    "KS 10S 7H 8H QC JC 9D 8D",
    "QS 7S KH 8H 10C 7C JD QD",
    "8S KS 7H QH 9C KC 7D JD",
)


def north(calls: str, cards: str) -> np.ndarray:
    """The auction so far, with North holding these cards and the others the rest."""
    state = coinche_rules().new_state()
    hand = parse_cards(cards)
    others = np.random.default_rng(1).permutation(list_cards(ALL_CARDS ^ hand)).reshape(3, 8)
    hands = [hand, *(int(sum(1 << int(card) for card in row)) for row in others)]
    kernel = coinche_rules().compiled_kernel()
    for card in range(32):
        if kernel.current_player(state) >= 0:
            break
        outcomes, chances = np.empty(5, np.int64), np.empty(5)
        n = kernel.chance_outcomes(state, outcomes, chances)
        owner = next(seat for seat in range(4) if hands[seat] >> int(state[deck.NEXT_CARD]) & 1)
        assert owner in outcomes[:n], card
        kernel.apply_action(state, owner)
    for text in calls.split():
        value = {"pass": slots.PASS, "coinche": slots.COINCHE}.get(text)
        kernel.apply_action(state, slots.FIRST_BID + 4 * ((int(text) - 80) // 10) if value is None else value)
    assert state[slots.TURN] == 0
    assert state[slots.HAND] == hand
    return state


def share_of_worlds(cards: str, least: int) -> float:
    """In how many random worlds North and South take so many points, spades being trumps and cards open."""
    hand = parse_cards(cards)
    rng = np.random.default_rng(5)
    rest = rng.permuted(np.tile(list_cards(ALL_CARDS ^ hand), (24, 1)), axis=1).reshape(24, 3, 8)
    worlds = np.column_stack([np.full(24, hand), (1 << rest).sum(axis=2)])
    return float((solve_batch(worlds, 0, 0, sweep_bonus=True) >= least).mean())


def test_constructed_hands_are_what_they_say() -> None:
    assert all(is_sure_capot(parse_cards(cards), 0) for cards in SURE)
    assert all(share_of_worlds(cards, TOTAL_POINTS + 1) < 0.5 for cards in SHORT)
    assert all(share_of_worlds(cards, 120) < 0.2 for cards in POOR)


@pytest.mark.parametrize("cards", SURE)
def test_a_sure_capot_is_called(cards: str) -> None:
    call = SIMULATOR.choose(north("", cards), generator(1))
    assert call == slots.FIRST_BID + 4 * slots.CAPOT


@pytest.mark.parametrize("cards", SHORT)
def test_other_hands_call_no_capot(cards: str) -> None:
    assert SIMULATOR.choose(north("", cards), generator(2)) < slots.FIRST_BID + 4 * slots.CAPOT


@pytest.mark.parametrize("cards", SURE)
def test_a_sure_contract_is_surcoinched(cards: str) -> None:
    value = 80 + 10 * (SURE.index(cards) % 9)
    assert SIMULATOR.choose(north(f"{value} coinche pass pass", cards), generator(3)) == slots.SURCOINCHE


@pytest.mark.parametrize("cards", POOR)
def test_a_contract_that_falls_is_not_surcoinched(cards: str) -> None:
    assert SIMULATOR.choose(north("120 coinche pass pass", cards), generator(4)) == slots.PASS


def test_open_cards_are_played_by_the_rules_of_the_game() -> None:
    """Without ten points for the last trick no side takes more than with them, and nobody takes 162."""
    found = []
    for der in (10, 0):
        state = north("", "JS 9S AS 7S AH 7H 8C 9D")
        state[slots.DER] = der
        simulator = Simulator(slots.STATE_SIZE, worlds=24)
        simulator.choose(state, generator(7))
        found.append(simulator.last_open_points())
    with_der, without = found
    assert len(with_der) == len(without) >= 24
    assert ((with_der - without) >= 0).all()
    assert ((with_der - without) <= 10).all()
    assert (with_der - without).sum() > 0


def test_contracts_are_played_out_alike_in_a_deal_and_in_a_match() -> None:
    match, deal = pyspiel.load_game("python_coinche_match").rules, coinche_rules()
    found = []
    for seed in range(12):
        state = match.new_state()
        match.compiled_kernel().deal(state, generator(seed))
        while state[slots.PHASE] == slots.BIDDING:
            match.kernel.apply_action(state, bidder_call(state))
        if state[slots.PHASE] == slots.PLAYING:
            found.append(points_played_out(state))
            before = state.copy()
            assert points_played_out(state[: deal.state_size].copy()) == found[-1]
            assert np.array_equal(state, before)
    assert len(set(found)) > 5
    assert all(0 <= points <= TOTAL_POINTS for points in found)


def test_it_says_what_it_thinks() -> None:
    state = north("", SURE[0])
    found = SIMULATOR.explain(state, generator(5))
    assert found.values is not None
    assert found.errors is not None
    best = int(np.argmax(found.values))
    assert found.actions[best] == slots.FIRST_BID + 4 * slots.CAPOT
    assert found.errors[best] == 0
    pass_value = found.values[found.actions.tolist().index(slots.PASS)]
    assert 250 <= found.values[best] <= 4 * 250  # it is made in every world; they may coinche, and be surcoinched
    assert pass_value < found.values[best]
    assert found.tried is not None
    assert found.tried[best]
    assert (found.values[~found.tried] == found.values[found.tried].min()).all()


@pytest.mark.parametrize(
    "name", ["python_coinche", "python_coinche(pisser=forced,belote=True)", "python_coinche_match"]
)
@pytest.mark.parametrize("player", ["caller(worlds=0)", "expert(level=medium,worlds=1)"])
def test_fast_calls_say_what_they_expect(player: str, name: str) -> None:
    """The call that is made has the highest value, in every auction of some deals; the cards have theirs too."""
    game = pyspiel.load_game(name)
    found = find_player(player, game)
    assert found.choose_rows is not None
    kernel, rows = game.rules.compiled_kernel(), np.zeros(1, np.int64)
    for deal in range(4):
        state = game.rules.new_state()
        kernel.deal(state, generator(deal))
        for _ in range(6):  # calls, and the first cards
            seat = int(kernel.current_player(state))
            chosen = int(found.choose_rows(state[None, :], rows, player_streams(1, seat, range(1)))[0])
            explained = found.explain(state[None, :], rows, player_streams(1, seat, range(1)))
            assert explained is not None
            if explained[0].values is not None:
                assert explained[0].actions[int(np.argmax(explained[0].values))] == chosen
            else:
                assert player.startswith("caller")  # the cards of strong
                assert state[slots.PHASE] == slots.PLAYING
            kernel.apply_action(state, chosen)


def test_the_player_draws_from_its_stream_only() -> None:
    game = pyspiel.load_game("python_coinche(pisser=forced,belote=True)")
    player = find_player("caller(worlds=8)", game)
    assert player.choose_rows is not None
    rules = coinche_rules(pisser="forced", belote=True)
    state = rules.new_state()
    rules.compiled_kernel().deal(state, generator(3))
    rows = np.zeros(1, np.int64)
    answers = {int(player.choose_rows(state[None, :], rows, player_streams(1, 0, range(1)))[0]) for _ in range(3)}
    assert len(answers) == 1


def test_it_may_be_barred_from_its_favourite() -> None:
    """Then it makes the best of the other calls it has tried; where its call is another, nothing changes."""
    state = north("", SURE[0])
    whole, favourite = SIMULATOR.explain(state, generator(6)), SIMULATOR.choose(state, generator(6))
    second = barred(SIMULATOR, (favourite,))(state, generator(6))
    assert whole.values is not None
    assert whole.tried is not None
    assert second != favourite
    others = whole.values[whole.tried & (whole.actions != favourite)]
    assert whole.values[whole.actions == second] == others.max()
    assert barred(SIMULATOR, (second,))(state, generator(6)) == favourite
