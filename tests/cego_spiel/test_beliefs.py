"""Redealing unseen cards in Cego: exactly the deals a player cannot rule out, all equally likely."""

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyspiel
import pytest
from numba import types
from scipy import stats

import cego_spiel  # noqa: F401
from cardtable import deck
from cardtable.compiled import entry_point
from cardtable.randomness import generator
from cardtable.rules import GENERATOR, INTEGER, STATE
from cardtable.tricks import played_card
from cego_spiel import rules
from cego_spiel import state as slots
from cego_spiel.beliefs import resample
from cego_spiel.rules import cego_rules
from tests.cego_spiel import oracle
from tests.cego_spiel.oracle import DECK, Card

SUBGAMES = ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")


@entry_point(STATE, INTEGER, GENERATOR, types.Array(types.int64, 2, "C"))
def resample_often(state, player, generator, hands_and_dealt):
    """One row per sample: the four hands, and what the single player was dealt."""
    copy = state.copy()
    for row in range(len(hands_and_dealt)):
        resample(copy, player, generator)
        for seat in range(4):
            hands_and_dealt[row, seat] = copy[slots.HAND + seat]
        hands_and_dealt[row, 4] = copy[deck.DEALT]


def ending(subgame: str, restrict: bool, moves: int, seed: int) -> np.ndarray:
    """A random game that is still running after so many moves."""
    variant = cego_rules(subgame, restrict)
    rng = np.random.default_rng(seed)
    source = generator(seed)
    actions = np.empty(54, np.int64)
    while True:
        state = variant.new_state()
        rules.deal(state, source)
        while rules.current_player(state) >= 0 and state[slots.CARDS_PLAYED] < moves:
            legal = actions[: rules.legal_actions(state, actions)]
            avoided = [card for card in legal if card != 32]  # else hardly any game of Ultimo lasts
            rules.apply_action(state, int(rng.choice(avoided or legal)))
        if rules.current_player(state) >= 0:
            return state


def card_names(cards: int) -> set[Card]:
    return {DECK[card] for card in range(54) if int(cards) >> card & 1}


def known_to_all(state: np.ndarray) -> tuple[list[set[Card]], list[set[str]]]:
    """Played cards by seat, and the suits each seat has shown to lack, from the history."""
    plays = [played_card(state, slots.TRICKS, index) for index in range(int(state[slots.CARDS_PLAYED]))]
    played: list[set[Card]] = [set() for _ in range(4)]
    lacks: list[set[str]] = [set() for _ in range(4)]
    for index, (seat, card) in enumerate(plays):
        led = DECK[plays[index - index % 4][1]][0]
        suit = DECK[card][0]
        played[seat].add(DECK[card])
        if suit != led:
            lacks[seat].add(led)
            if suit != "T":
                lacks[seat].add("T")
    return played, lacks


def splits_of_exchange(hand: set[Card], legage: frozenset[Card], restrict: bool) -> Iterator[set[Card]]:
    """All (two kept cards, worst of the blind) that lead to this hand and Legage; yields the dealt hands."""
    order = oracle.exchange_order
    for worst in legage:
        laid = legage - {worst}
        best_laid = max(map(order, laid))
        for pair in itertools.combinations([card for card in hand if order(card) > best_laid], 2):
            if all(order(card) > order(worst) for card in hand.difference(pair)):
                dealt = {*laid, *pair}
                if not restrict or oracle.is_valid_hand("standard", dealt):
                    yield dealt


Hands = tuple[int, ...]  # card sets of the hidden seats


def possible_hands(
    state: np.ndarray, player: int, subgame: str, restrict: bool
) -> tuple[Counter[Hands], Counter[Card]]:
    """{(hands of the hidden seats): number of deals}, and how many of these deals give each card to the single player.

    Seats hold at most two cards here, so that all ways can be tried.
    """
    played, lacks = known_to_all(state)
    single_knows_blind = subgame == "standard" and player == 0
    hidden = [seat for seat in range(4) if seat != player]
    unseen = set(DECK) - set().union(*played) - card_names(state[slots.HAND + player])
    if single_knows_blind:
        unseen -= card_names(state[slots.LEGAGE])
    sizes = [int(state[slots.HAND + seat]).bit_count() for seat in range(4)]
    weights: Counter[Hands] = Counter()
    times_dealt: Counter[Card] = Counter()

    def place(remaining: frozenset[Card], seats: list[int], hands: dict[int, set[Card]]) -> None:
        if seats:
            seat = seats[0]
            fitting = sorted(card for card in remaining if card[0] not in lacks[seat])
            for cards in itertools.combinations(fitting, sizes[seat]):
                place(remaining.difference(cards), seats[1:], {**hands, seat: set(cards)})
            return
        key = tuple(sum(1 << DECK.index(card) for card in hands[seat]) for seat in hidden)
        if player == 0:
            weights[key] += 1
        elif subgame == "standard":
            for dealt in splits_of_exchange(hands[0] | played[0], remaining, restrict):
                weights[key] += 1
                times_dealt.update(dealt)
        else:
            whole = hands[0] | played[0]
            if oracle.is_valid_hand(subgame, whole) if restrict else subgame != "ultimo" or ("T", 1) in whole:
                weights[key] += 1

    place(frozenset(unseen), hidden, {})
    return weights, times_dealt


CASES = [
    *((subgame, True, 40, player) for subgame in SUBGAMES for player in (0, 2)),
    *((subgame, True, 41, 1) for subgame in ("solo", "piccolo", "standard")),
    ("standard", True, 42, 3),
    ("standard", False, 40, 3),
    ("ultimo", False, 40, 1),
    ("solo", False, 40, 0),
    ("bettel", False, 40, 3),
]


@pytest.mark.parametrize(("subgame", "restrict", "moves", "player"), CASES)
def test_all_deals_that_agree_with_the_information_are_equally_likely(
    subgame: str, restrict: bool, moves: int, player: int
) -> None:
    state = ending(subgame, restrict, moves, seed=moves + player)
    weights, times_dealt = possible_hands(state, player, subgame, restrict)
    total = sum(weights.values())
    samples = np.empty((max(4000, 12 * len(weights)), 5), np.int64)
    resample_often(state, player, generator(7), samples)

    hidden = [seat for seat in range(4) if seat != player]
    assert (samples[:, player] == state[slots.HAND + player]).all()
    counts = Counter(map(tuple, samples[:, hidden].tolist()))
    assert set(counts) <= set(weights)
    expected = np.array([weights[key] for key in weights]) * len(samples) / total
    if len(weights) > 1:
        assert stats.chisquare([counts[key] for key in weights], expected).pvalue > 1e-5
    if times_dealt:  # Standard-Cego seen by an opponent: what the single player was dealt
        for number, card in enumerate(DECK):
            share = times_dealt[card] / total
            observed = (samples[:, 4] >> number & 1).mean()
            assert abs(observed - share) <= 5 * np.sqrt(share * (1 - share) / len(samples))


@pytest.mark.parametrize("subgame", SUBGAMES)
@pytest.mark.parametrize("restrict", [True, False])
def test_resampled_games_are_the_same_to_the_player(subgame: str, restrict: bool) -> None:
    """At all stages of the game: same information state, same legal past, and a hand that was allowed."""
    game = pyspiel.load_game(f"python_cego(subgame={subgame},restrict={restrict})")
    rng = np.random.default_rng(3)
    for _ in range(3):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.current_player() >= 0 and rng.random() < 0.4:
                player = int(rng.integers(4))
                other = state.resample_from_infostate(player, rng.random)
                assert other.information_state_string(player) == state.information_state_string(player)
                assert other.information_key(player) == state.information_key(player)
                assert other.current_player() == state.current_player()
                if restrict:
                    assert oracle.is_valid_hand(subgame, card_names(other.array[deck.DEALT]))
            state.apply_action(rng.choice(state.legal_actions()))


def test_resampling_at_the_start_draws_the_restricted_deal() -> None:
    """Before any card is played, an opponent's belief is the deal itself: mean worth of what the single player got."""
    variant = cego_rules("standard")
    state = variant.new_state()
    rules.deal(state, generator(2))
    samples = np.empty((3000, 5), np.int64)
    resample_often(state, 1, generator(3), samples)
    worth = [sum(map(oracle.value, card_names(dealt))) for dealt in samples[:, 4]]
    reference: list[float] = []
    source = generator(4)
    while len(reference) < 3000:
        fresh = variant.new_state()
        rules.deal(fresh, source)
        if fresh[deck.DEALT] & state[slots.HAND + 1] == 0:  # what player 1 holds nobody else has
            reference.append(sum(map(oracle.value, card_names(fresh[deck.DEALT]))))
    assert stats.ks_2samp(worth, reference).pvalue > 1e-4
