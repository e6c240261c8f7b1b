"""The double-dummy solver against plain minimax, against an independent solver, and against itself asked otherwise."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coinche_spiel import double_dummy
from coinche_spiel.cards import list_cards, parse_cards
from coinche_spiel.double_dummy import (
    ILLEGAL,
    can_make,
    can_make_batch,
    positions,
    search,
    solve_batch,
    solve_cards,
    solve_cards_batch,
    solve_trumps,
    solve_value,
    table,
)
from tests.coinche_spiel import plain_minimax


def card_set(cards: Iterable[int]) -> int:
    return sum(1 << int(card) for card in cards)


def random_ending(
    rng: np.random.Generator, size: int, in_trick: int = 0, cards_from: int = 32
) -> tuple[list[list[int]], int, int, list[int]]:
    """Random hands of `size` cards, with `in_trick` of them already played by random legal choice."""
    cards = rng.permutation(cards_from)[: 4 * size]
    hands = [[int(card) for card in cards[size * seat : size * (seat + 1)]] for seat in range(4)]
    trump = int(rng.integers(4))
    leader = int(rng.integers(4))
    trick: list[int] = []
    for ply in range(in_trick):
        seat = (leader + ply) % 4
        so_far = np.array(trick + [0] * (4 - ply))
        legal = list_cards(plain_minimax.legal_cards(card_set(hands[seat]), so_far, ply, trump))
        card = legal[rng.integers(len(legal))]
        hands[seat].remove(card)
        trick.append(card)
    return hands, trump, leader, trick


def assert_equal_to_minimax(rng: np.random.Generator, endings: int, sizes: Sequence[int], bonus: int = 0) -> None:
    for number in range(endings):
        hands, trump, leader, trick = random_ending(rng, sizes[number % len(sizes)], number % 4)
        want = plain_minimax.card_values(hands, trump, leader, trick, bonus)
        sets = [card_set(hand) for hand in hands]
        got = solve_cards(sets, trump, leader, trick, sweep_bonus=bonus > 0)
        assert got == want, (hands, trump, leader, trick)
        to_move = (leader + len(trick)) % 4
        best = max(want.values()) if to_move % 2 == 0 else min(want.values())
        assert solve_value(sets, trump, leader, trick, sweep_bonus=bonus > 0) == best


def test_every_card_of_small_endings_equals_plain_minimax() -> None:
    assert_equal_to_minimax(np.random.default_rng(1), 2000, (1, 2, 3, 3, 4))


@pytest.mark.parametrize("rules", [(True, False, 10), (False, True, 10), (True, True, 60), (False, False, 0)])
def test_other_rules_of_play_equal_plain_minimax(rules: tuple[bool, bool, int]) -> None:
    """pisser=forced, under_partner=no_under, and other last tricks; sizes at which ruffs and overruffs abound."""
    rng = np.random.default_rng(20)
    work = search.new_workspace(64)
    work.variant[:] = rules
    out = np.empty((1, 32), np.int64)
    unlike = 0
    for number in range(200):
        hands, trump, leader, trick = random_ending(rng, 4 + number % 2, number % 4, cards_from=20)
        want = plain_minimax.card_values(hands, trump, leader, trick, rules=rules)
        rows = [card_set(hand) for hand in hands], trump, leader, trick + [positions.NO_CARD] * (3 - len(trick)), 0
        positions.solve_all_cards(work, *(np.array([row]) for row in rows), out)
        assert {card: v for card, v in enumerate(out[0]) if v != ILLEGAL} == want, (hands, trump, leader, trick)
        unlike += want != plain_minimax.card_values(hands, trump, leader, trick)
    assert unlike > 0, "these rules never mattered"


def test_every_card_of_endings_of_five_cards_equals_plain_minimax() -> None:
    assert_equal_to_minimax(np.random.default_rng(2), 300, (5,))


def test_sweep_bonus_equals_plain_minimax() -> None:
    assert_equal_to_minimax(np.random.default_rng(3), 600, (1, 2, 3, 4), bonus=plain_minimax.SWEEP)


def test_endings_of_few_suits_equal_plain_minimax() -> None:
    """Two suits only: long suits, many runs of neighbours, much overtrumping."""
    rng = np.random.default_rng(4)
    for number in range(400):
        hands, _, leader, trick = random_ending(rng, 2 + number % 3, number % 4, cards_from=16)
        for trump in (0, 1):
            if trick:
                trick, hands = [], random_ending(rng, 2 + number % 3, 0, cards_from=16)[0]
            want = plain_minimax.card_values(hands, trump, leader, trick)
            assert solve_cards([card_set(hand) for hand in hands], trump, leader, trick) == want


@pytest.mark.slow
@pytest.mark.parametrize("bonus", [0, plain_minimax.SWEEP])
def test_thousands_of_endings_of_five_cards_equal_plain_minimax(bonus: int) -> None:
    assert_equal_to_minimax(np.random.default_rng(5), 2000, (5,), bonus)


def random_deals(seed: int, count: int) -> tuple[list[list[int]], np.ndarray]:
    rng = np.random.default_rng(seed)
    deals = [rng.permutation(32).reshape(4, 8) for _ in range(count)]
    return [[card_set(hand) for hand in deal] for deal in deals], rng.integers(4, size=count)


def test_a_question_agrees_with_the_value() -> None:
    deals, trumps = random_deals(6, 20)
    for number, (hands, trump) in enumerate(zip(deals, trumps, strict=True)):
        leader = number % 4
        value = solve_value(hands, trump, leader)
        assert can_make(value, hands, trump, leader)
        assert not can_make(value + 1, hands, trump, leader)
        assert can_make(0, hands, trump, leader)
        assert not can_make(163, hands, trump, leader)


def test_the_sides_share_all_points() -> None:
    """Turning the table by one seat gives North and South what East and West had."""
    deals, trumps = random_deals(7, 10)
    for hands, trump in zip(deals, trumps, strict=True):
        turned = [hands[3], hands[0], hands[1], hands[2]]
        assert solve_value(hands, trump, 1) + solve_value(turned, trump, 2) == 162


def test_best_card_is_worth_the_value() -> None:
    deals, trumps = random_deals(8, 10)
    for number, (hands, trump) in enumerate(zip(deals, trumps, strict=True)):
        leader = number % 4
        values = solve_cards(hands, trump, leader)
        assert set(values) == set(list_cards(hands[leader]))
        choose = max if leader % 2 == 0 else min
        assert choose(values.values()) == solve_value(hands, trump, leader)


def test_batches_equal_single_answers_on_any_number_of_threads() -> None:
    deals, trumps = random_deals(9, 30)
    leaders: np.ndarray = np.arange(30) % 4
    values = [solve_value(*one) for one in zip(deals, trumps, leaders, strict=True)]
    for threads in (1, 2):
        assert solve_batch(deals, trumps, leaders, threads=threads).tolist() == values
        assert can_make_batch(82, deals, trumps, leaders, threads=threads).tolist() == [v >= 82 for v in values]
    cards = solve_cards_batch(deals[:6], trumps[:6], leaders[:6], threads=2)
    for row, hands, trump, leader in zip(cards, deals, trumps, leaders, strict=False):
        assert {card: v for card, v in enumerate(row) if v != ILLEGAL} == solve_cards(hands, trump, leader)


def test_batch_of_positions_within_tricks() -> None:
    rng = np.random.default_rng(10)
    endings = [random_ending(rng, 4, number % 4) for number in range(40)]
    hands = [[card_set(hand) for hand in ending[0]] for ending in endings]
    tricks = [ending[3] + [-1] * (3 - len(ending[3])) for ending in endings]
    trumps, leaders = [ending[1] for ending in endings], [ending[2] for ending in endings]
    got = solve_batch(hands, trumps, leaders, tricks, threads=2)
    want = [solve_value(h, *e[1:]) for h, e in zip(hands, endings, strict=True)]
    assert got.tolist() == want


def test_solve_trumps_tries_every_suit() -> None:
    hands = random_deals(11, 1)[0][0]
    assert solve_trumps(hands, leader=1) == [solve_value(hands, trump, 1) for trump in range(4)]


def test_a_full_table_and_an_old_one_give_the_same_answers() -> None:
    """One bucket, so that entries are overwritten all the time; and a table whose epochs have run out."""
    deals, trumps = random_deals(12, 12)
    want = [solve_value(hands, trump) for hands, trump in zip(deals, trumps, strict=True)]
    no_trick = np.full((1, 3), positions.NO_CARD)
    for buckets, epoch in ((1, 0), (64, table.MAX_EPOCH - 5)):
        work = search.new_workspace(buckets)
        work.counts[search.EPOCH] = epoch
        out = np.zeros(1, np.int64)
        for hands, trump, value in zip(deals, trumps, want, strict=True):
            rows = np.array([hands]), np.array([trump]), np.array([0]), no_trick, np.array([0])
            positions.solve_values(work, *rows, out)
            assert out[0] == value


def test_eight_trumps_take_everything() -> None:
    hands = [parse_cards("7H 8H 9H JH QH KH 10H AH"), 0xFF, 0xFF0000, 0xFF000000]
    assert solve_value(hands, trump=1, leader=2) == 162
    assert solve_value(hands, trump=1, leader=2, sweep_bonus=True) == 252
    turned = [hands[3], hands[0], hands[1], hands[2]]
    assert solve_value(turned, trump=1, sweep_bonus=True) == 0


def test_a_lost_trick_ends_the_hope_of_a_sweep() -> None:
    hands = [parse_cards("JH"), parse_cards("7S"), parse_cards("8S"), parse_cards("9S")]
    assert solve_value(hands, 1, sweep_bonus=True, tricks_taken=(7, 0)) == 20 + 10 + 90
    assert solve_value(hands, 1, sweep_bonus=True, tricks_taken=(6, 1)) == 20 + 10


GOOD = [parse_cards(cards) for cards in ("JS 9S", "AS AH", "10S KH", "KS 10H")]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"hands": GOOD[:3]}, "4 card sets"),
        ({"hands": [GOOD[0], GOOD[0], GOOD[2], GOOD[3]]}, "one place only"),
        ({"hands": [GOOD[0] & -GOOD[0], *GOOD[1:]]}, "same number of cards"),
        ({"hands": [0, 0, 0, 0]}, "1 to 8"),
        ({"hands": [1 << 32, *GOOD[1:]]}, "32 cards"),
        ({"trump": 4}, "trump is 4; allowed: 0 to 3"),
        ({"leader": -1}, "leader is -1; allowed: 0 to 3"),
        ({"trick": [31]}, "same number of cards"),
        ({"trick": [32]}, "0 to 31"),
        ({"trick": [28, 29, 30, 31]}, "at most 3"),
        ({"sweep_bonus": True, "tricks_taken": (-1, 0)}, "tricks_taken"),
    ],
)
def test_impossible_positions_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    position: dict[str, Any] = {"hands": GOOD, "trump": 0}
    with pytest.raises(ValueError, match=complaint):
        solve_value(**position | arguments)


def test_threads_must_be_positive() -> None:
    with pytest.raises(ValueError, match="threads is 0; allowed: 1 or more"):
        solve_batch([GOOD], 0, threads=0)


def test_the_examples_in_the_documentation_are_right() -> None:
    assert doctest.testmod(double_dummy) == (0, 4)


def test_counts_grow_with_the_work() -> None:
    before = double_dummy.search_counts()
    solve_value(random_deals(13, 1)[0][0], 0)
    after = double_dummy.search_counts()
    assert after["nodes"] > before["nodes"] + 10
    assert after["hits"] >= before["hits"]


SCRIPT = """
from coinche_spiel.double_dummy import *
hands = {hands}
print(solve_value(hands, 0), sorted(solve_cards(hands, 1, 1).items()), can_make(82, hands, 2))
"""


def run_script(hands: list[int], **environment: str) -> str:
    command = [sys.executable, "-c", SCRIPT.format(hands=hands)]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=600
    ).stdout


def expected_output(hands: list[int]) -> str:
    cards = sorted(solve_cards(hands, 1, 1).items())
    return f"{solve_value(hands, 0)} {cards} {can_make(82, hands, 2)}\n"


def test_a_second_process_reads_the_cache_of_the_first() -> None:
    hands = random_deals(14, 1)[0][0]
    assert run_script(hands) == expected_output(hands)


@pytest.mark.slow
def test_two_fresh_processes_share_a_fresh_cache(tmp_path: Path) -> None:
    hands = random_deals(15, 1)[0][0]
    for _ in range(2):
        assert run_script(hands, NUMBA_CACHE_DIR=str(tmp_path)) == expected_output(hands)


@pytest.mark.slow
def test_plain_python_gives_the_same_answers() -> None:
    hands = [card_set(list_cards(hand)[:4]) for hand in random_deals(16, 1)[0][0]]
    assert run_script(hands, NUMBA_DISABLE_JIT="1") == expected_output(hands)


# The independent solver orders suits S H D C, and gives 252 points for all tricks.
COLVER_SUIT = (0, 1, 3, 2)


def colver_card(card: int) -> int:
    return COLVER_SUIT[card // 8] * 8 + card % 8


def colver_env(colver: Any, hands: list[int], trump: int | None = None) -> Any:
    env = colver.Env.deal_with_hands(3, [[colver_card(card) for card in list_cards(hand)] for hand in hands])
    if trump is not None:
        env.set_contract(COLVER_SUIT[trump], 80, 0, 0)
        env.set_phase_playing()
    return env


def colver_values(env: Any) -> dict[int, int]:
    ours = {colver_card(card): card for card in range(32)}
    return {ours[card]: points for card, points in env.solve_scores()["scores"]}


def compare_full_deals(colver: Any, seed: int, count: int) -> None:
    deals, trumps = random_deals(seed, count)
    for hands, trump in zip(deals, trumps.tolist(), strict=True):
        assert solve_cards(hands, trump, sweep_bonus=True) == colver_values(colver_env(colver, hands, trump))


def compare_middle_positions(colver: Any, seed: int, count: int) -> None:
    """Random cards from the first on, then compare; points already taken are counted there and not here."""
    rng = np.random.default_rng(seed)
    deals, trumps = random_deals(seed, count)
    ours = {colver_card(card): card for card in range(32)}
    for number, (deal, trump) in enumerate(zip(deals, trumps.tolist(), strict=True)):
        env = colver_env(colver, deal, trump)
        for _ in range(1 + number % 28):
            actions = env.legal_actions()
            env.step(actions[rng.integers(len(actions))])
        hands = [card_set(ours[card] for card in hand) for hand in env.get_hands()]
        leader = env.get_trick_lead()
        current = env.get_current_trick()
        trick = [ours[current[(leader + i) % 4]] for i in range(4) if current[(leader + i) % 4] >= 0]
        taken = env.get_tricks_won()
        before = env.get_points()[0]
        want = colver_values(env)
        values = solve_cards(hands, trump, leader, trick, sweep_bonus=True, tricks_taken=tuple(taken))
        assert {card: value + before for card, value in values.items()} == want, (deal, trump, leader, trick)


def test_independent_solver_agrees_quick() -> None:
    colver = pytest.importorskip("colver")
    compare_full_deals(colver, 17, 12)
    compare_middle_positions(colver, 18, 84)


@pytest.mark.slow
def test_independent_solver_agrees_on_300_deals_and_600_middle_positions() -> None:
    colver = pytest.importorskip("colver")
    compare_full_deals(colver, 19, 300)
    compare_middle_positions(colver, 20, 600)


@pytest.mark.slow
def test_independent_solver_agrees_on_all_trumps() -> None:
    colver = pytest.importorskip("colver")
    for hands in random_deals(21, 100)[0]:
        pairs = colver_env(colver, hands).solve_all_suits()["suits"]
        assert solve_trumps(hands) == [min(162, pairs[COLVER_SUIT[trump]][0]) for trump in range(4)]
