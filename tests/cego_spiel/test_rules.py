"""The compiled rules of Cego against plain ones, in all six sub-games; the deal; impossible options."""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_spiel.python.observation import make_observation

import cego_spiel  # noqa: F401
from cardtable import deck
from cardtable.batch import play_out
from cardtable.randomness import generator
from cego_spiel import rules
from cego_spiel import state as slots
from cego_spiel.cards import HALF_POINTS, HIGH, LOW, NUM_CARDS
from cego_spiel.restrictions import HAND_SIZE, START, WAYS, draw_hand, is_valid
from cego_spiel.rules import cego_rules
from tests.cego_spiel import oracle
from tests.cego_spiel.oracle import DECK, Card

SUBGAMES = ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")


def card_set(cards: Iterable[Card]) -> int:
    return sum(1 << DECK.index(card) for card in cards)


def card_names(cards: int) -> set[Card]:
    return {DECK[card] for card in range(NUM_CARDS) if int(cards) >> card & 1}


def test_deck() -> None:
    assert [points / 2 for points in HALF_POINTS] == [oracle.value(card) for card in DECK]
    assert HALF_POINTS.sum() == 2 * 79
    assert card_names(LOW) == {card for card in DECK if oracle.is_low(card)}
    assert (int(LOW).bit_count(), int(HIGH).bit_count()) == (30, 24)


@given(st.sampled_from(SUBGAMES), st.booleans(), st.randoms(use_true_random=False))
def test_same_as_the_plain_rules(subgame: str, restrict: bool, chance: random.Random) -> None:
    game = pyspiel.load_game(f"python_cego(subgame={subgame},restrict={restrict})")
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
        assert sum(probabilities) == pytest.approx(1)
        assert len(outcomes) > 1
        state.apply_action(chance.choice(outcomes))
    piles = [
        {card for number, card in enumerate(DECK) if deck.pile_of(state.array, number) == pile} for pile in range(5)
    ]
    assert [len(pile) for pile in piles] == [11, 11, 11, 11, 10]
    if restrict:
        assert oracle.is_valid_hand(subgame, piles[0])
    elif subgame == "ultimo":
        assert ("T", 1) in piles[0]
    legage = oracle.exchange(piles[0], piles[4])[1] if subgame == "standard" else set()
    plays: list[Card] = []
    while True:
        position = oracle.look(subgame, piles[:4], piles[4], plays)
        for seat in range(4):
            assert card_names(state.array[slots.HAND + seat]) == position.holding[seat]
            assert state.array[slots.POINTS + seat] == 2 * position.points[seat]
            assert state.array[slots.TRICKS_WON + seat] == position.winners.count(seat)
        if position.player is None:
            break
        assert state.current_player() == position.player
        assert {DECK[action] for action in state.legal_actions()} == position.legal
        assert state.returns() == [0, 0, 0, 0]
        leader = position.winners[-1] if position.winners else 0
        for seat in range(4):
            expected = oracle.observation(position, seat, subgame, legage, leader)
            assert state.observation_tensor(seat) == expected
        plays.append(DECK[chance.choice(state.legal_actions())])
        state.apply_action(DECK.index(plays[-1]))
    assert state.is_terminal()
    assert state.returns() == position.rewards


@pytest.mark.parametrize("subgame", ["standard", "raeuber", "piccolo"])
def test_information_tensor(subgame: str) -> None:
    """Piece by piece what RULES.md promises, for every seat, from the history alone."""
    game = pyspiel.load_game(f"python_cego(subgame={subgame})")
    view = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    assert view.tensor.size == 4 + 54 + 44 * 54 + 44 * 4 + 20 + 8 + (2 * 54 if subgame == "standard" else 0)

    def marks(chosen: Collection[Any], of: Sequence[Any] = DECK) -> list[float]:
        return [float(thing in chosen) for thing in of]

    for seed in range(5):
        rng = np.random.default_rng(seed)
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        piles = [card_names(state.array[deck.DEALT + pile]) for pile in range(5)]
        plays: list[Card] = []
        seats: list[int] = []
        lacks: list[set[str]] = [set() for _ in range(4)]
        while len(plays) < 9 * seed and not state.is_terminal():
            seats.append(state.current_player())
            plays.append(DECK[rng.choice(state.legal_actions())])
            state.apply_action(DECK.index(plays[-1]))
            led, suit = plays[(len(plays) - 1) // 4 * 4][0], plays[-1][0]
            if suit != led:
                lacks[seats[-1]] |= {led} if suit == "T" else {led, "T"}
        position = oracle.look(subgame, piles[:4], piles[4], plays)
        rest = 44 - len(plays)
        for player in range(4):
            expected: dict[str, Any] = {
                "player": marks({player}, range(4)),
                "hand": marks(position.holding[player]),
                "cards": [marks({card}) for card in plays] + [marks(())] * rest,
                "played_by": [marks({seat}, range(4)) for seat in seats] + [[0.0] * 4] * rest,
                "void": [marks(lacks[seat], "CSHDT") for seat in range(4)],
                "tricks_won": [position.winners.count(seat) / 11 for seat in range(4)],
                "points": [position.points[seat] / 79 for seat in range(4)],
            }
            if subgame == "standard":
                own = player == 0
                expected["dealt"] = marks(piles[0] if own else ())
                expected["legage"] = marks(oracle.exchange(piles[0], piles[4])[1] if own else ())
            view.set_from(state, player)
            assert view.dict.keys() == expected.keys()
            for name, values in expected.items():
                assert np.allclose(view.dict[name].ravel(), np.ravel(values)), name


@given(st.sampled_from(SUBGAMES[1:]), st.permutations(range(4)), st.integers(0, 1000))
def test_plain_suits_are_interchangeable(subgame: str, new_suit: list[int], seed: int) -> None:
    """As the rules record declares, but for Standard-Cego: the same game under other names ends the same way."""
    game = pyspiel.load_game(f"python_cego(subgame={subgame})")
    assert game.rules.interchangeable_suits == tuple(tuple(range(8 * suit, 8 * suit + 8)) for suit in range(4))
    renamed = [8 * new_suit[card // 8] + card % 8 if card < 32 else card for card in range(54)]
    rng = np.random.default_rng(seed)
    dealt = game.rules.new_state()
    rules.deal(dealt, generator(seed))
    states = [game.new_initial_state() for _ in range(2)]
    for state, names in zip(states, (list(range(54)), renamed), strict=True):
        while state.is_chance_node():
            state.apply_action(int(deck.pile_of(dealt, names.index(state.array[deck.NEXT_CARD]))))
    while not states[0].is_terminal():
        legal = states[0].legal_actions()
        assert states[1].legal_actions() == sorted(renamed[card] for card in legal)
        card = int(rng.choice(legal))
        states[0].apply_action(card)
        states[1].apply_action(renamed[card])
    assert states[1].returns() == states[0].returns()
    assert pyspiel.load_game("python_cego").rules.interchangeable_suits == ()


def test_sizes() -> None:
    for subgame, reward, most in [("standard", "points", 79), ("standard", "win", 1), ("raeuber", "auto", 1)]:
        game = pyspiel.load_game(f"python_cego(subgame={subgame},reward={reward})")
        assert (game.num_players(), game.num_distinct_actions(), game.max_game_length()) == (4, 54, 44)
        assert game.observation_tensor_size() == 336
        assert (game.min_utility(), game.max_utility()) == (0, most)


def num_valid_hands(restriction: str) -> int:
    """How many of the C(54, 11) hands a restriction allows, as the deal counts them."""
    return int(WAYS[0, HAND_SIZE, START[restriction]])


# The published number for Standard-Cego and Ultimo; the others by the formulas of `count_by_formula`.
@pytest.mark.parametrize(
    ("restriction", "hands"),
    [
        ("none", math.comb(54, 11)),
        ("standard", 55_582_263_980),
        ("solo", 3_004_717_784),
        ("ultimo", 482_800_883),
        ("bettel", math.comb(30, 11)),
        ("piccolo", math.comb(30, 10) * 24),
        ("trump 1", math.comb(53, 10)),
    ],
)
def test_number_of_valid_hands(restriction: str, hands: int) -> None:
    assert num_valid_hands(restriction) == hands


def test_number_of_valid_hands_by_formula() -> None:
    """Sums of products of binomials, or a polynomial, instead of the automaton."""
    # Standard: coefficients of prod (1 + x y^value), summed over x^11 and values of at least 15.
    ways = {(0, 0): 1}
    for card in DECK:
        longer = {(n + 1, v + int(2 * oracle.value(card))): count for (n, v), count in ways.items()}
        ways = dict(Counter(ways) + Counter(longer))
    assert num_valid_hands("standard") == sum(count for (n, halves), count in ways.items() if n == 11 and halves >= 30)
    # Solo: eight and more trumps; or seven with two of the top six, and four plain cards of one or two suits.
    eight = sum(math.comb(22, trumps) * math.comb(32, 11 - trumps) for trumps in range(8, 12))
    seven = sum(math.comb(6, top) * math.comb(16, 7 - top) for top in range(2, 7))
    one_suit = 4 * math.comb(8, 4)
    two_suits = 6 * (math.comb(16, 4) - 2 * math.comb(8, 4))
    assert num_valid_hands("solo") == eight + seven * (one_suit + two_suits)
    # Ultimo: trump 1, seven or more of the other 21, two or more of them among the top six.
    ultimo = sum(
        math.comb(6, top) * math.comb(15, others) * math.comb(32, 10 - top - others)
        for top in range(2, 7)
        for others in range(16)
        if 7 <= top + others <= 10
    )
    assert num_valid_hands("ultimo") == ultimo


@pytest.mark.parametrize("subgame", SUBGAMES)
def test_valid_hands_are_those_of_the_plain_rules(subgame: str) -> None:
    start = START["none" if subgame == "raeuber" else subgame]
    rng = np.random.default_rng(1)
    verdicts: Counter[bool] = Counter()
    for _ in range(4000):
        cards = rng.permutation(54)
        if rng.random() < 0.7:  # richer in trumps, or in low cards
            low, trump = np.array([oracle.is_low(card) for card in DECK]), np.arange(54) >= 32
            wanted = trump if subgame in ("solo", "ultimo") else low
            cards = np.concatenate([cards[wanted[cards]][: rng.integers(6, 12)], cards])
        hand = list(dict.fromkeys(cards.tolist()))[:11]
        valid = is_valid(start, sum(1 << card for card in hand))
        assert valid == oracle.is_valid_hand(subgame, {DECK[card] for card in hand})
        verdicts[bool(valid)] += 1
    assert verdicts[True] > 50
    assert subgame == "raeuber" or verdicts[False] > 50


@pytest.mark.parametrize("restriction", ["standard", "solo", "ultimo", "bettel", "piccolo", "trump 1"])
def test_drawn_hands_have_the_exact_distribution(restriction: str) -> None:
    """How often each card is in a drawn hand, against the exact share of valid hands that contain it."""
    start, source, draws = START[restriction], generator(5), 20_000
    counts = np.zeros(NUM_CARDS)
    for _ in range(draws):
        hand = draw_hand(start, 0, HAND_SIZE, source)
        assert int(hand).bit_count() == 11
        counts += [int(hand) >> card & 1 for card in range(NUM_CARDS)]
    forward = np.zeros((NUM_CARDS + 1, HAND_SIZE + 1, WAYS.shape[2]))  # ways to arrive
    forward[0, HAND_SIZE, start] = 1
    exact = np.zeros(NUM_CARDS)
    for card in range(NUM_CARDS):
        forward[card + 1] += forward[card]
        for room in range(1, HAND_SIZE + 1):
            for progress in np.flatnonzero(forward[card, room]):
                target = rules.take_card(progress, card)
                forward[card + 1, room - 1, target] += forward[card, room, progress]
                exact[card] += forward[card, room, progress] * WAYS[card + 1, room - 1, target]
    exact /= num_valid_hands(restriction)
    assert exact.sum() == pytest.approx(11)
    spread = np.sqrt(draws * exact * (1 - exact)) + 1e-9
    assert np.all(np.abs(counts - draws * exact) < 5 * spread + 1e-6)


@pytest.mark.parametrize("subgame", SUBGAMES)
def test_chance_nodes_give_every_deal_the_same_probability(subgame: str) -> None:
    """The product of probabilities along a random deal is 1 / number of valid deals, exactly that of `deal`."""
    game = pyspiel.load_game(f"python_cego(subgame={subgame})")
    valid = num_valid_hands("none" if subgame == "raeuber" else subgame)
    deals = valid * math.factorial(43) // (math.factorial(11) ** 3 * math.factorial(10))
    source = generator(3)
    for _ in range(40):
        dealt = game.rules.new_state()
        rules.deal(dealt, source)
        state = game.new_initial_state()
        log_probability = 0.0
        while state.is_chance_node():
            pile = int(deck.pile_of(dealt, state.array[deck.NEXT_CARD]))
            log_probability += math.log(dict(state.chance_outcomes())[pile])
            state.apply_action(pile)
        assert log_probability == pytest.approx(-math.log(deals), rel=1e-12)
        assert (state.array[deck.DEALT : deck.DEALT + 5] == dealt[deck.DEALT : deck.DEALT + 5]).all()
        assert (state.array[slots.TRICKS :] == dealt[slots.TRICKS :]).all()


def test_deal_completes_a_started_deal() -> None:
    game = pyspiel.load_game("python_cego(subgame=ultimo)")
    state = game.new_initial_state()
    for _ in range(20):
        state.apply_action(state.legal_actions()[-1])
    before = state.array.copy()
    rules.deal(state.array, generator(1))
    hand = card_names(state.array[deck.DEALT])
    assert oracle.is_valid_hand("ultimo", hand)
    assert all(before[deck.DEALT + pile] & ~state.array[deck.DEALT + pile] == 0 for pile in range(5))


# Table III of the paper; standard errors at the number of games played here are added to the paper's own.
PUBLISHED = {
    "standard": [40.795],
    "solo": [48.996],
    "ultimo": [0.08420],
    "bettel": [0.73081],
    "piccolo": [0.39275],
    "raeuber": [0.73848, 0.74839, 0.75425, 0.75887],
}


@pytest.mark.parametrize("subgame", SUBGAMES)
def test_random_play_is_as_published(subgame: str) -> None:
    games = 100_000
    returns = play_out(cego_rules(subgame), games, seed=2).returns
    for seat, published in enumerate(PUBLISHED[subgame]):
        error = returns[:, seat].std() / math.sqrt(games)
        assert abs(returns[:, seat].mean() - published) < 4.5 * error


@pytest.mark.parametrize(("subgame", "expected"), [("standard", 38.76), ("solo", 30.79)])
def test_random_play_with_unrestricted_hands(subgame: str, expected: float) -> None:
    returns = play_out(cego_rules(subgame, restrict=False), 100_000, seed=2).returns[:, 0]
    assert returns.mean() == pytest.approx(expected, abs=0.005 + 4.5 * returns.std() / math.sqrt(len(returns)))


def test_split_ties_are_fairer() -> None:
    returns = play_out(cego_rules("raeuber", ties="split"), 200_000, seed=2).returns
    assert np.allclose(returns.sum(axis=1), 3)
    for seat, expected in enumerate([0.7460, 0.7511, 0.7513, 0.7516]):
        assert returns[:, seat].mean() == pytest.approx(expected, abs=4.5 * 0.43 / math.sqrt(200_000) + 0.0005)
    assert (returns.min(axis=1) > 0).mean() == pytest.approx(0.032, abs=0.002)  # games with a tie


def test_ultimo_stops_as_soon_as_trump_1_is_played() -> None:
    """22.5 moves a game between random players; playing a lost trick to its end would make 25.5."""
    games = 50_000
    assert play_out(cego_rules("ultimo"), games, seed=2).steps / games == pytest.approx(22.5, abs=0.3)


@pytest.mark.parametrize("subgame", SUBGAMES)
def test_reward_variants(subgame: str) -> None:
    """All variants pay the same games; zero-sum returns are three to one."""
    paid = play_out(cego_rules(subgame), 2000, seed=4).returns
    zero_sum = play_out(cego_rules(subgame, zero_sum=True), 2000, seed=4).returns
    assert np.allclose(zero_sum.sum(axis=1), 0)
    if subgame == "raeuber":
        assert np.allclose(zero_sum, paid - 0.75)
    elif subgame in ("standard", "solo"):
        won = play_out(cego_rules(subgame, reward="win"), 2000, seed=4).returns
        assert (won[:, 0] == (paid[:, 0] >= 40)).all()
        assert (won[:, 1:] == 1 - won[:, :1]).all()
        assert np.allclose(zero_sum[:, 0], 3 * (paid[:, 0] - 39.5))
        assert np.allclose(paid % 1, 0)
    else:
        assert np.allclose(zero_sum[:, 0], 3 * (2 * paid[:, 0] - 1))


def test_utility_types() -> None:
    utility = pyspiel.GameType.Utility
    for parameters, expected in [
        ("", utility.GENERAL_SUM),
        ("zero_sum=True", utility.ZERO_SUM),
        ("subgame=raeuber", utility.CONSTANT_SUM),
        ("subgame=raeuber,zero_sum=True", utility.ZERO_SUM),
    ]:
        game = pyspiel.load_game(f"python_cego({parameters})")
        assert game.get_type().utility == expected
        if expected == utility.CONSTANT_SUM:
            assert game.utility_sum() == 3


def test_teams() -> None:
    assert pyspiel.load_game("python_cego").teams == ((0,), (1, 2, 3))
    assert pyspiel.load_game("python_cego(subgame=raeuber)").teams == ()


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ("subgame=skat", "subgame is 'skat'; allowed: standard, solo, ultimo, bettel, piccolo, raeuber"),
        ("reward=money", "reward is 'money'; allowed: auto, win, points"),
        ("subgame=bettel,reward=points", "reward is 'points' with subgame 'bettel'; allowed: auto, win"),
        ("ties=last", "ties is 'last'; allowed: first, split"),
        ("subgame=solo,ties=split", "ties is 'split' with subgame 'solo'; allowed: first"),
    ],
)
def test_impossible_options(parameters: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        pyspiel.load_game(f"python_cego({parameters})")


def test_illegal_card() -> None:
    game = pyspiel.load_game("python_cego")
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    card = min(set(range(54)) - set(state.legal_actions()))
    with pytest.raises(ValueError, match=f"action {card} is not legal for player 0"):
        state.apply_action(card)
