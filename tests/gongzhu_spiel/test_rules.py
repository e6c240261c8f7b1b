"""The compiled rules of Gongzhu against plain ones, the worth of the scored cards, and impossible parameters."""

import itertools
import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_spiel.python.observation import make_observation
from open_spiel.python.policy import UniformRandomPolicy
from scipy import stats

import gongzhu_spiel  # noqa: F401
from cardtable import deck
from cardtable.batch import play_out
from cardtable.randomness import generator
from cardtable.rules import Rules
from gongzhu_spiel import rules
from gongzhu_spiel import state as slots
from gongzhu_spiel.features import OPEN_HAND_FEATURES, open_hand_features
from solvers.best_response import evaluate
from solvers.cfr import CFRSolver
from tests.gongzhu_spiel import oracle
from tests.gongzhu_spiel.oracle import Card
from tests.variants import GONGZHU_SMALL

FULL = rules.gongzhu_rules(4, 13, 0)
CARDS = oracle.full_deck()
PERFECT_RECALL = pyspiel.IIGObservationType(perfect_recall=True)


def card_set(cards: Iterable[Card], deck_cards: Sequence[Card] = CARDS) -> int:
    return sum(1 << deck_cards.index(card) for card in cards)


def named(text: str) -> set[Card]:
    """Cards such as `C10 H2`."""
    return {(name[0], name[1:]) for name in text.split()}


ALL_HEARTS = " ".join("H" + rank for rank in oracle.RANKS)
WORTH = {
    "": 0,
    "C10": 50,
    "C10 H2": 0,
    "C10 SQ": -200,
    "C10 DJ": 200,
    "DJ": 100,
    "SQ": -100,
    "HA": -50,
    "HK HQ HJ H10 H5 H4": -110,
    ALL_HEARTS: 200,
    ALL_HEARTS + " C10": 400,
    ALL_HEARTS + " SQ": 100,
    ALL_HEARTS + " SQ DJ C10": 400,
    "SQ DJ C10": 0,
    ALL_HEARTS.replace("H2 ", ""): -200,
    "S2 DA CA": 0,
}


@pytest.mark.parametrize("cards", WORTH)
def test_worth_of_cards(cards: str) -> None:
    assert rules.score(FULL.root, card_set(named(cards))) == WORTH[cards]


def test_scored_cards() -> None:
    names = [CARDS[card] for card in slots.scored_cards(FULL.root)]
    assert names == [("H", rank) for rank in oracle.RANKS] + [("S", "Q"), ("D", "J"), ("C", "10")]


def test_largest_results_are_those_of_the_literature() -> None:
    assert (FULL.min_utility, FULL.max_utility) == (-700, 700)


@pytest.mark.parametrize(("suits", "ranks"), [(2, 4), (4, 4), (4, 5), (4, 1), (4, 3)])
def test_largest_results_by_trying_every_distribution(suits: int, ranks: int) -> None:
    variant = rules.gongzhu_rules(suits, ranks, 0)
    deck_cards = oracle.full_deck(suits, ranks)
    scored = [card for card in deck_cards if card[0] == "H" or card in named("SQ DJ C10")]
    assert {deck_cards[card] for card in slots.scored_cards(variant.root)} == set(scored)
    best = 0
    for owners in itertools.product(range(4), repeat=len(scored)):
        taken = [{card for card, owner in zip(scored, owners, strict=True) if owner == seat} for seat in range(4)]
        points = [oracle.score(cards, deck_cards) for cards in taken]
        best = max(best, points[0] + points[2] - points[1] - points[3])
    assert variant.max_utility == best == -variant.min_utility


variants = st.sampled_from([(4, 13, 0), (4, 13, 2), (4, 5, 1), (2, 4, 0), (4, 3, 3), (3, 8, 0), (1, 4, 0)])


@given(variants, st.randoms(use_true_random=False))
def test_same_as_the_plain_rules(variant: tuple[int, int, int], chance: random.Random) -> None:
    suits, ranks, leader = variant
    game = pyspiel.load_game(f"python_gongzhu(suits={suits},ranks={ranks},leader={leader})")
    deck_cards = oracle.full_deck(suits, ranks)
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(chance.choice(state.legal_actions()))
    hands = [
        {card for number, card in enumerate(deck_cards) if deck.pile_of(state.array, number) == seat}
        for seat in range(4)
    ]
    assert {len(hand) for hand in hands} == {len(deck_cards) // 4}
    plays: list[Card] = []
    while True:
        position = oracle.look(hands, plays, leader)
        for seat in range(4):
            assert state.array[slots.HAND + seat] == card_set(position.holding[seat], deck_cards)
            assert state.array[slots.TAKEN + seat] == card_set(position.taken[seat], deck_cards)
        if position.player is None:
            break
        assert state.current_player() == position.player
        assert card_set(position.legal, deck_cards) == sum(1 << action for action in state.legal_actions())
        assert state.returns() == [0, 0, 0, 0]
        plays.append(deck_cards[chance.choice(state.legal_actions())])
        state.apply_action(deck_cards.index(plays[-1]))
    result = oracle.team_result(position, deck_cards)
    assert state.is_terminal()
    assert state.returns() == [result, -result, result, -result]


def test_size_of_the_smallest_game_by_walking_the_plain_rules() -> None:
    """The numbers that the walk of the pyspiel game must meet in the conformance tests."""
    assert oracle.size(2, 4) == (85032, 14976, 47692, Fraction(44, 7))


@pytest.mark.slow
def test_the_smallest_game_is_solved() -> None:
    """Exact value of random play, and an equilibrium of four players (nothing promises that CFR+ finds one)."""
    game = pyspiel.load_game(GONGZHU_SMALL)
    solver = CFRSolver(game, variant="cfr_plus")
    assert evaluate(solver.form, UniformRandomPolicy(game)).values == pytest.approx([44 / 7, -44 / 7] * 2)
    start = solver.nash_conv()
    solver.run(100)
    assert solver.nash_conv() < 1e-3 * start


def test_random_play_is_fair_and_spreads_as_published() -> None:
    """The spread of single games, about 245 points, is what the literature's standard errors imply."""
    results = play_out(FULL, 100_000, seed=1).returns[:, 0]
    assert abs(results.mean()) < 5 * results.std() / np.sqrt(len(results))
    assert results.std() == pytest.approx(245, rel=0.05)


def random_state(variant: Rules, moves: int, seed: int) -> np.ndarray:
    """A dealt state after so many random moves."""
    source, chance = generator(seed), random.Random(seed)
    state = variant.new_state()
    rules.deal(state, source)
    actions = np.empty(52, np.int64)
    for _ in range(moves):
        state_actions = actions[: rules.legal_actions(state, actions)]
        rules.apply_action(state, chance.choice(state_actions.tolist()))
    return state


def consistent_hands(state: np.ndarray, player: int) -> set[tuple[int, ...]]:
    """All ways to hold the unseen cards given hand sizes and voids seen in the history, by trying them all."""
    history = [oracle_play(state, index) for index in range(int(state[slots.CARDS_PLAYED]))]
    voids: dict[int, set[int]] = {seat: set() for seat in range(4)}
    for start in range(0, len(history), 4):
        trick = history[start : start + 4]
        for seat, card in trick[1:]:
            if card // 13 != trick[0][1] // 13:
                voids[seat].add(trick[0][1] // 13)
    others = [seat for seat in range(4) if seat != player]
    sizes = {seat: int(state[slots.HAND + seat]).bit_count() for seat in others}
    unseen = [card for card in range(52) if any(int(state[slots.HAND + seat]) >> card & 1 for seat in others)]
    found = set()
    for owners in itertools.product(others, repeat=len(unseen)):
        if all(owners.count(seat) == sizes[seat] for seat in others) and not any(
            card // 13 in voids[seat] for card, seat in zip(unseen, owners, strict=True)
        ):
            hands = [0] * 4
            for card, seat in zip(unseen, owners, strict=True):
                hands[seat] |= 1 << card
            found.add(tuple(hands[seat] for seat in others))
    return found


def oracle_play(state: np.ndarray, index: int) -> tuple[int, int]:
    """The index-th play, from the packed history: eight bits each, seven to a word."""
    entry = int(state[slots.HISTORY + index // 7]) >> 8 * (index % 7) & 255
    return entry >> 6, entry & 63


@pytest.mark.parametrize("seed", range(12))
def test_resample_is_uniform_over_what_the_player_cannot_tell_apart(seed: int) -> None:
    state = random_state(FULL, 41 + seed % 5, seed)
    player = seed % 4
    others = [seat for seat in range(4) if seat != player]
    possible = consistent_hands(state, player)
    counts: Counter[tuple[int, ...]] = Counter()
    source = generator(seed)
    for _ in range(40 * len(possible)):
        copy = state.copy()
        rules.resample(copy, player, source)
        assert copy[slots.HAND + player] == state[slots.HAND + player]
        for seat in range(4):  # what was played stays played
            assert copy[deck.DEALT + seat] ^ copy[slots.HAND + seat] == (
                state[deck.DEALT + seat] ^ state[slots.HAND + seat]
            )
        counts[tuple(int(copy[slots.HAND + seat]) for seat in others)] += 1
    assert set(counts) <= possible
    observed = [counts[hands] for hands in possible]
    assert len(possible) == 1 or stats.chisquare(observed).pvalue > 1e-5


def test_information_keys_tell_states_apart_exactly() -> None:
    """In a tiny game: two states share a player's key exactly if they share hand and history."""
    game = pyspiel.load_game("python_gongzhu(suits=2,ranks=4)")
    known: dict[tuple[int, ...], Any] = {}
    for seed in range(300):
        state = random_state(game.rules, seed % 8, seed)
        for player in range(4):
            words = np.empty(game.rules.key_words, np.int64)
            rules.information_key(state, player, words)
            history = tuple(oracle_play(state, index) for index in range(int(state[slots.CARDS_PLAYED])))
            meaning = (player, int(state[slots.HAND + player]), history)
            assert known.setdefault(tuple(words), meaning) == meaning
    assert len(set(known.values())) == len(known)


def test_open_hand_features() -> None:
    """The paper's 434 numbers: hands, captured scored cards, table; all seen from the player to move."""
    for seed in range(20):
        state = random_state(FULL, 7 + 2 * seed, seed)
        player = int(state[slots.TURN])
        out = np.zeros(OPEN_HAND_FEATURES, np.float32)
        open_hand_features(state, player, out)
        plays = [CARDS[oracle_play(state, index)[1]] for index in range(int(state[slots.CARDS_PLAYED]))]
        hands = [
            {card for number, card in enumerate(CARDS) if deck.pile_of(state, number) == seat} for seat in range(4)
        ]
        position = oracle.look(hands, plays)
        for step in range(4):
            seat = (player + step) % 4
            block = out[52 * step : 52 * step + 52]
            assert {CARDS[index] for index in np.flatnonzero(block)} == position.holding[seat]
            block = out[208 + 16 * step : 208 + 16 * step + 16]
            scored = [("H", rank) for rank in oracle.RANKS] + [("S", "Q"), ("D", "J"), ("C", "10")]
            assert {scored[index] for index in np.flatnonzero(block)} == position.taken[seat] & set(scored)
        for back in range(3):
            block = out[272 + 54 * back : 272 + 54 * back + 54]
            if back < len(position.table):
                number = CARDS.index(position.table[-1 - back])
                assert np.flatnonzero(block).tolist() == [number, number + 1, number + 2]
            else:
                assert not block.any()
        assert out.max() == 1.0


@pytest.mark.parametrize(("suits", "ranks", "leader"), [(4, 13, 0), (3, 8, 2)])
def test_tensors(suits: int, ranks: int, leader: int) -> None:
    """Piece by piece what RULES.md promises, for every seat, from the history alone."""
    game = pyspiel.load_game(f"python_gongzhu(suits={suits},ranks={ranks},leader={leader})")
    cards = oracle.full_deck(suits, ranks)
    scored = [card for card in cards if card[0] == "H"] + [c for c in sorted(named("SQ DJ C10"))[::-1] if c in cards]
    observations, information = (
        make_observation(game, kind) for kind in (pyspiel.IIGObservationType(perfect_recall=False), PERFECT_RECALL)
    )
    if suits == 4:
        assert (observations.tensor.size, information.tensor.size) == (556, 2968)
    for seed in range(6):
        chance = random.Random(seed)
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(chance.choice(state.legal_actions()))
        hands = [{card for index, card in enumerate(cards) if deck.pile_of(state.array, index) == s} for s in range(4)]
        plays: list[Card] = []
        seats: list[int] = []
        while len(plays) < 7 * seed:
            seats.append(state.current_player())
            plays.append(cards[chance.choice(state.legal_actions())])
            state.apply_action(cards.index(plays[-1]))
            if state.is_terminal():
                break
        position, voids = oracle.look(hands, plays, leader), oracle.shown_voids(plays, leader)

        def marks(chosen: Collection[Any], of: Sequence[Any] = cards) -> list[float]:
            return [float(card in chosen) for card in of]

        played = [{card for s, card in zip(seats, plays, strict=True) if s == seat} for seat in range(4)]
        for player in range(4):
            who_and_hand: dict[str, Any] = {
                "player": marks({player}, range(4)),
                "hand": marks(position.holding[player]),
            }
            expected = who_and_hand | {
                "turn": marks({position.player}, range(4)),
                "table": [marks(played[seat] & set(position.table)) for seat in range(4)],
                "played": [marks(played[seat]) for seat in range(4)],
                "void": [marks(voids[seat], oracle.SUITS[:suits]) for seat in range(4)],
                "taken": [marks(position.taken[seat], scored) for seat in range(4)],
            }
            observations.set_from(state, player)
            assert observations.dict.keys() == expected.keys()
            for name, values in expected.items():
                assert observations.dict[name].ravel().tolist() == np.ravel(values).tolist(), name
            rest = len(cards) - len(plays)
            expected = who_and_hand | {
                "cards": [marks({card}) for card in plays] + [marks(())] * rest,
                "played_by": [marks({seat}, range(4)) for seat in seats] + [[0.0] * 4] * rest,
            }
            information.set_from(state, player)
            assert information.dict.keys() == expected.keys()
            for name, values in expected.items():
                assert information.dict[name].ravel().tolist() == np.ravel(values).tolist(), name


def test_scores_lie_between_minus_600_and_600() -> None:
    """Every set of scored cards a player can have."""
    numbers = slots.scored_cards(FULL.root)
    scores = [
        rules.score(FULL.root, sum(1 << card for card in chosen))
        for size in range(len(numbers) + 1)
        for chosen in itertools.combinations(numbers, size)
    ]
    assert (min(scores), max(scores)) == (-600, 600)


def test_open_hand_features_need_the_full_deck() -> None:
    small = random_state(rules.gongzhu_rules(4, 5, 0), 3, 1)
    with pytest.raises(ValueError, match="full deck"):
        open_hand_features(small, 0, np.zeros(OPEN_HAND_FEATURES, np.float32))


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ("suits=0", "suits is 0; allowed: 1 to 4"),
        ("suits=5", "suits is 5"),
        ("ranks=0", "ranks is 0; allowed: 1 to 13"),
        ("ranks=14", "ranks is 14"),
        ("leader=4", "leader is 4; allowed: 0 to 3"),
        ("leader=-1", "leader is -1"),
        ("suits=3,ranks=7", r"suits \* ranks is 21; allowed: a deck that divides among 4 hands"),
    ],
)
def test_impossible_parameters(parameters: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        pyspiel.load_game(f"python_gongzhu({parameters})")


def test_teams() -> None:
    assert pyspiel.load_game("python_gongzhu").teams == ((0, 2), (1, 3))
