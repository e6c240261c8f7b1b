"""Collaborative Kuhn Poker: sizes, payoffs and values worked out by hand or from the paper's rules."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kuhn_collab  # noqa: F401
from cardtable import deck

LETTERS = {"k": 0, "b": 1, "f": 2, "c": 3, "r": 4}
QH, QS, KH, KS, AH, AS = range(6)


def deal(cards: tuple[int, ...], fold_topup: bool = True) -> pyspiel.State:
    """The state after the seats got these cards."""
    state = pyspiel.load_game(f"python_kuhn_collab(fold_topup={fold_topup})").new_initial_state()
    while state.is_chance_node():
        card = int(state.array[deck.NEXT_CARD])
        state.apply_action(cards.index(card) if card in cards else 4)
    return state


def play(state: pyspiel.State, letters: str) -> pyspiel.State:
    state = state.clone()
    for letter in letters:
        state.apply_action(LETTERS[letter])
    return state


@pytest.mark.parametrize(
    ("letters", "returns"),
    [
        ("kkkk", [1, -1, 1, -1]),
        ("bf", [1, -1, 1, -1]),
        ("bcf", [-2, 1.5, -1, 1.5]),
        ("bccf", [1.5, -2, 1.5, -1]),
        ("bccc", [2, -2, 2, -2]),
        ("brf", [-2, 1.5, -1, 1.5]),
        ("brcf", [2, -3, 2, -1]),
        ("bcrccc", [3, -3, 3, -3]),
        ("kkkbf", [-1, 1, -1, 1]),
        ("kkkbccrccf", [2.5, -2, 2.5, -3]),
    ],
)
def test_returns(letters: str, returns: list[float]) -> None:
    state = play(deal((AH, QH, AS, QS)), letters)
    assert state.is_terminal()
    assert state.returns() == returns


def test_without_topup_the_winners_keep_what_they_did_not_pay() -> None:
    """b (North pays 2) r (West pays 3) f: the pot is 2 + 3 + 1 + 1, and East has only paid its ante."""
    assert play(deal((AH, QH, AS, QS), fold_topup=False), "brf").returns() == [-2, 0.5, -1, 2.5]


def plain_betting(letters: str) -> tuple[str, int] | None:
    """What may follow these actions and whose turn it is, from the words of the rules; None when the hand is over."""
    level, waiting = 1, 4
    for letter in letters:
        if letter == "f":
            return None
        if letter in "br":
            level, waiting = level + 1, 4
        waiting -= 1
    if waiting == 0:
        return None
    return {1: "kb", 2: "fcr", 3: "fc"}[level], len(letters) % 4


def next_actions(letters: str) -> tuple[str, int]:
    """The same where the hand is not over."""
    found = plain_betting(letters)
    assert found is not None
    return found


def public_histories() -> tuple[list[str], list[str]]:
    decisions, ends, stack = [], [], [""]
    while stack:
        letters = stack.pop()
        here = plain_betting(letters)
        if here is None:
            ends.append(letters)
        else:
            decisions.append(letters)
            stack += [letters + letter for letter in here[0]]
    return decisions, ends


def test_public_tree() -> None:
    decisions, ends = public_histories()
    assert len(decisions) == 52
    assert len(ends) == 65
    assert Counter(end[-1] == "f" for end in ends) == {True: 48, False: 17}
    assert max(map(len, ends)) == 10
    by_seat = Counter((len(letters) % 4, len(next_actions(letters)[0])) for letters in decisions)
    assert by_seat == {(seat, actions): {2: 10, 3: 3}[actions] for seat in range(4) for actions in (2, 3)}


def test_kernel_follows_the_public_tree() -> None:
    start = deal((AH, QH, AS, QS))
    decisions, ends = public_histories()
    for letters in decisions:
        state = play(start, letters)
        allowed, seat = next_actions(letters)
        assert state.current_player() == seat
        assert state.legal_actions() == sorted(LETTERS[letter] for letter in allowed)
    assert all(play(start, letters).is_terminal() for letters in ends)


def hand_strength(first: int, second: int) -> int:
    ranks = "".join(sorted(("QKA"[first // 2], "QKA"[second // 2]), key="AKQ".index))
    return ["KQ", "AQ", "AK", "QQ", "KK", "AA"].index(ranks)


def test_showdowns_over_all_deals() -> None:
    results: Counter = Counter()
    for cards in itertools.permutations(range(6), 4):
        returns = play(deal(cards), "kkkk").returns()
        north_south, west_east = hand_strength(cards[0], cards[2]), hand_strength(cards[1], cards[3])
        expected = int(north_south > west_east) - int(north_south < west_east)
        assert returns == [expected, -expected, expected, -expected]
        results[expected] += 1
    assert results == {1: 156, -1: 156, 0: 48}


def test_exact_values_of_the_uniform_policy() -> None:
    """Every deal is equally likely, so the value is an average over deals and public histories."""
    chances = {"": Fraction(1)}
    totals = [Fraction(0)] * 4
    decisions, ends = public_histories()
    for letters in sorted(decisions, key=len):
        allowed = next_actions(letters)[0]
        for letter in allowed:
            chances[letters + letter] = chances[letters] / len(allowed)
    for cards in itertools.permutations(range(6), 4):
        start = deal(cards)
        for letters in ends:
            for seat, value in enumerate(play(start, letters).returns()):
                totals[seat] += chances[letters] * Fraction(value)
    assert [total / 360 for total in totals] == [
        Fraction(1, 3456),
        Fraction(-569, 6912),
        Fraction(31, 864),
        Fraction(319, 6912),
    ]


@given(st.booleans(), st.integers(0, 2**32 - 1))
def test_zero_sum_and_team_totals(fold_topup: bool, seed: int) -> None:
    """Topping up after a fold moves chips between partners only."""
    rng = np.random.default_rng(seed)
    cards = tuple(rng.permutation(6)[:4].tolist())
    letters = rng.choice(public_histories()[1])
    returns = play(deal(cards, fold_topup), letters).returns()
    other = play(deal(cards, not fold_topup), letters).returns()
    assert sum(returns) == 0
    assert returns[0] + returns[2] == other[0] + other[2]


@pytest.mark.parametrize("fold_topup", [True, False])
def test_utility_bounds_are_tight(fold_topup: bool) -> None:
    start = [deal(cards, fold_topup) for cards in ((AH, QH, AS, QS), (QH, AH, QS, AS))]
    values = [value for state in start for end in public_histories()[1] for value in play(state, end).returns()]
    game = start[0].get_game()
    assert (min(values), max(values)) == (game.min_utility(), game.max_utility())


def test_teams_are_declared() -> None:
    assert pyspiel.load_game("python_kuhn_collab").teams == ((0, 2), (1, 3))


def test_resampling_is_uniform_over_the_sixty_deals_of_the_other_cards() -> None:
    rng = np.random.default_rng(1)
    state = play(deal((AH, QH, AS, QS)), "kb")
    draws = 6_000
    counts = Counter(
        tuple(state.resample_from_infostate(2, rng.random).array[deck.DEALT : deck.DEALT + 4].tolist())
        for _ in range(draws)
    )
    assert len(counts) == 5 * 4 * 3
    assert all(hands[2] == 1 << AS for hands in counts)
    chi_square = sum((count - draws / 60) ** 2 / (draws / 60) for count in counts.values())
    assert chi_square < 98.3  # 0.999 quantile with 59 degrees of freedom
