"""Counts of the literature, a plain judge of who is told apart from whom, and bad input."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability
from open_spiel.python.policy import UniformRandomPolicy

import cardspiel  # noqa: F401
from cardtable import deck
from solvers.arrays.sequence_form import SequenceForm
from solvers.arrays.tree import GameTree
from solvers.best_response import evaluate
from solvers.lifted import keys_in
from tests.toepen_spiel import names as judge
from tests.toepen_spiel.oracle import deals, size
from toepen_spiel.state import LED_CARD
from transforms.card_isomorphism import RENAMINGS

# suits, ranks, hand size, betting, follow suit: after the thesis's isomorphism, true suit orbits
COUNTS = {
    (2, 2, 2, False, True): (6, 6),
    (2, 2, 2, True, True): (210, 172),
    (2, 2, 2, True, False): (330, 252),
    (2, 3, 2, False, True): (21, 21),
    (2, 3, 2, True, True): (1602, 1386),
    (2, 3, 2, True, False): (2130, 1782),
    (3, 2, 2, False, True): (14, 12),
    (3, 2, 2, True, True): (822, 528),
    (3, 2, 2, True, False): (954, 616),
    (3, 3, 2, False, True): (48, 39),
    (3, 3, 2, True, False): (5586, 3807),
    (3, 3, 3, False, True): (1173, 788),
}
LARGE_COUNTS = {  # orbits: by taking the smallest of all renamings of each hand and history
    (3, 3, 3, True, True): (195_862, 125_213),
    (3, 3, 3, True, False): (376_958, 228_065),
}
FEW = [(2, 3, 2, False, True), (3, 2, 2, True, True), (2, 2, 2, True, False)]


def toepen(suits: int, ranks: int, hand_size: int, betting: bool, follow_suit: bool) -> str:
    parameters = f"suits={suits},ranks={ranks},hand_size={hand_size},betting={betting},follow_suit={follow_suit}"
    return f"python_toepen({parameters})"


def isomorphism(base: str, method: str) -> pyspiel.Game:
    return pyspiel.load_game(f"python_card_isomorphism(game={base},method={method})")


def check_counts(setting: tuple, thesis: int, orbits: int) -> None:
    base = pyspiel.load_game(toepen(*setting))
    tree = GameTree.from_game(base)
    assert len(keys_in(isomorphism(toepen(*setting), "thesis"), base, tree)) == thesis
    assert len(keys_in(isomorphism(toepen(*setting), "orbit"), base, tree)) == orbits


@pytest.mark.parametrize("setting", COUNTS)
def test_numbers_of_information_sets(setting: tuple) -> None:
    check_counts(setting, *COUNTS[setting])


@pytest.mark.slow
@pytest.mark.parametrize("setting", LARGE_COUNTS)
def test_numbers_of_information_sets_of_the_largest_setting(setting: tuple) -> None:
    check_counts(setting, *LARGE_COUNTS[setting])


@pytest.mark.parametrize("setting", FEW)
def test_the_judge_counts_the_same(setting: tuple) -> None:
    suits = setting[0]
    orbits, thesis = set(), set()
    for hands, events, player, _ in judge.decisions(*setting):
        orbits.add(judge.orbit_of_decision(hands, events, player, suits))
        names = judge.thesis_names(hands[player], suits)
        played = {event for event in events if not isinstance(event, str)}
        thesis.add((player, judge.rename(hands[player] - played, names), judge.rename(events, names)))
    assert (len(thesis), len(orbits)) == COUNTS[setting]


def all_states(game: pyspiel.Game) -> list[pyspiel.State]:
    found, stack = [], [game.new_initial_state()]
    while stack:
        state = stack.pop()
        found.append(state)
        stack += [state.child(action) for action in state.legal_actions()]
    return found


def plain_view(state: pyspiel.State, suits: int, ranks: int, player: int) -> tuple:
    """Hand and history of a state of Toepen, by its own strings, as the judge writes them."""
    text = state.information_state_string(player)
    hand, _, history = text.removeprefix(f"P{player} ").partition(" | ")

    def card(name: str) -> tuple:
        rank_names = ["J", "Q", "K", "A", "7", "8", "9", "10"][8 - ranks :]
        return "♣♦♥♠".index(name[-1]), rank_names.index(name[:-1])

    words = history.replace(",", "").split()
    read = tuple(card(word) if word[-1] in "♣♦♥♠" else word for word in words)
    return frozenset(card(name) for name in hand.split() if name != "-"), read


@pytest.mark.parametrize("setting", [(3, 2, 2, False, True), (2, 2, 2, True, True)])
def test_states_look_the_same_exactly_if_a_renaming_maps_what_the_player_knows(setting: tuple) -> None:
    suits, ranks = setting[:2]
    quotient = isomorphism(toepen(*setting), "orbit")
    base = pyspiel.load_game(toepen(*setting))
    keys_of_orbit, orbits_of_key, names_of_orbit = defaultdict(set), defaultdict(set), defaultdict(set)
    for state in all_states(base):
        if state.is_chance_node() or state.is_terminal():
            continue
        view = np.append(state.array, -1)
        key = np.empty(quotient.rules.key_words, np.int64)
        actions = np.empty(quotient.num_distinct_actions(), np.int64)
        player = state.current_player()
        quotient.rules.kernel.information_key(view, player, key)
        count = quotient.rules.kernel.legal_actions(view, actions)
        orbit = (player, judge.orbit(plain_view(state, suits, ranks, player), suits))
        keys_of_orbit[orbit].add(tuple(key))
        orbits_of_key[player, tuple(key)].add(orbit)
        names_of_orbit[orbit].add(tuple(actions[:count]))
        # Two actions have one name exactly if a renaming that changes nothing for the player exchanges them.
        hand_and_history = judge.in_order(plain_view(state, suits, ranks, player))
        fixing = [
            names
            for names in itertools.permutations(range(suits))
            if judge.in_order(judge.rename(plain_view(state, suits, ranks, player), names)) == hand_and_history
        ]
        for one, other in itertools.combinations(state.legal_actions(), 2):
            alike = max(one, other) < suits * ranks and any(
                (names[one // ranks], one % ranks) == (other // ranks, other % ranks) for names in fixing
            )
            label = quotient.rules.origin.label
            assert (label(view, one) == label(view, other)) == alike
    assert all(len(keys) == 1 for keys in keys_of_orbit.values())
    assert all(len(orbits) == 1 for orbits in orbits_of_key.values())
    assert all(len(names) == 1 for names in names_of_orbit.values())


def test_names_of_the_thesis() -> None:
    """Its two worked examples: {8c 9c 10h 10d} and {Ah 10h Ad 8d}."""
    game = isomorphism("python_toepen()", "thesis")
    ranks = ["J", "Q", "K", "A", "7", "8", "9", "10"]

    def card(name: str) -> int:
        return "cdhs".index(name[-1]) * 8 + ranks.index(name[:-1])

    for hand, expected in [("8c 9c 10h 10d", "8c 9c 10d 10h"), ("Ah 10h Ad 8d", "Ac 8c Ad 10d")]:
        # c d h s stand for the first, second, third and fourth suit. Clubs diamonds hearts spades become c d h s in the
        # first example; diamonds come first and hearts second in the other.
        cards = {card(name) for name in hand.split()}
        state = game.new_initial_state()
        second = set([card for card in range(32) if card not in cards][:4])
        while state.is_chance_node():
            next_card = int(state.array[deck.NEXT_CARD])
            state.apply_action(0 if next_card in cards else 1 if next_card in second else 2)
        state.apply_action(32)  # check
        assert sorted(state.legal_actions()) == sorted(card(name) for name in expected.split())


def test_actions_that_are_alike_are_one_action_and_a_draw() -> None:
    game = isomorphism(toepen(3, 3, 2, False, True), "orbit")
    state = game.new_initial_state()
    for pile in (2, 2, 0, 1, 2, 0):  # P0: 10♣ 10♦
        state.apply_action(pile)
    while state.is_chance_node():
        state.apply_action(1)
    (only,) = state.legal_actions()
    state.apply_action(only)
    assert state.is_chance_node()
    assert state.chance_outcomes() == [(0, 0.5), (1, 0.5)]
    led = {int(state.child(outcome).array[LED_CARD]) for outcome in (0, 1)}
    assert len(led) == 2
    assert all(not state.child(outcome).is_chance_node() for outcome in (0, 1))


@pytest.mark.parametrize(("suits", "ranks", "hand_size"), [(3, 2, 2), (2, 3, 2), (3, 3, 2), (4, 2, 2)])
def test_weighted_deals(suits: int, ranks: int, hand_size: int) -> None:
    game = isomorphism(toepen(suits, ranks, hand_size, True, True), "orbit")
    orbits = Counter(judge.orbit(hands, suits) for hands in deals(suits, ranks, hand_size))
    states, probabilities = game.rules.weighted_deals.make()
    found = {}
    for state, probability in zip(states, probabilities, strict=True):
        assert game.rules.kernel.current_player(state) == 0
        hands = tuple(
            frozenset((card // ranks, card % ranks) for card in range(suits * ranks) if int(dealt) >> card & 1)
            for dealt in state[deck.DEALT : deck.DEALT + 2]
        )
        found[judge.orbit(hands, suits)] = probability
    assert len(found) == len(states)
    assert found == pytest.approx({orbit: count / orbits.total() for orbit, count in orbits.items()})
    assert game.rules.weighted_deals.number <= len(states)


def test_the_tree_of_weighted_deals_is_the_game_dealt_card_by_card() -> None:
    """Same value of the uniform policy and same best responses through pyspiel, which deals card by card."""
    game = isomorphism(toepen(3, 2, 2, False, True), "orbit")
    form = SequenceForm.from_game(game)
    policy = UniformRandomPolicy(game)
    result = evaluate(form, policy)
    assert result.nash_conv == pytest.approx(exploitability.nash_conv(game, policy), abs=1e-12)
    assert result.values[0] == pytest.approx(0.466666667)  # that of the original game: uniform stays uniform


def test_openspiel_solves_the_quotient() -> None:
    game = isomorphism(toepen(2, 2, 2, False, True), "orbit")
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(30):
        solver.evaluate_and_update_policy()
    average = solver.tabular_average_policy()
    assert pyspiel.nash_conv(game, average) < 0.01
    value = pyspiel.expected_returns(game.new_initial_state(), average, -1, True)[0]
    assert value == pytest.approx(2 / 3, abs=0.01)


def test_the_four_seat_game_loses_half_of_its_cards() -> None:
    """In Kuhn the suit of the one own card means nothing: three hands are left."""
    base = pyspiel.load_game("python_kuhn_collab")
    for method in ("orbit", "thesis"):
        game = isomorphism("python_kuhn_collab()", method)
        first, stack = set(), [game.new_initial_state()]
        while stack:
            state = stack.pop()
            if state.is_chance_node():
                stack += [state.child(outcome) for outcome in state.legal_actions()]
            else:
                first.add(state.information_state_string(0))
        assert len(first) == 3
        assert game.teams == base.teams


def test_renamings() -> None:
    assert len({tuple(row) for row in RENAMINGS}) == 24
    for suits in range(1, 5):
        rows = RENAMINGS[: len(list(itertools.permutations(range(suits))))]
        assert {tuple(row[:suits]) for row in rows} == set(itertools.permutations(range(suits)))
        assert (rows[:, suits:] == np.arange(suits, 4)).all()


def test_the_oracle_and_the_tree_agree_on_the_plain_game() -> None:
    counted = size(3, 2, 2, True, True)
    tree = GameTree.from_game(pyspiel.load_game(toepen(3, 2, 2, True, True)))
    assert (tree.num_information_sets, tree.num_terminals) == (sum(counted.information_sets), counted.terminals)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python_card_isomorphism(game=python_toepen(),method=suits)", "method is 'suits'; allowed: orbit, thesis"),
        (
            "python_card_isomorphism(game=kuhn_poker())",
            "game is 'kuhn_poker'; allowed: games and transforms of CardSpiel",
        ),
        ("python_card_isomorphism()", "the parameter game is missing"),
        (
            "python_card_isomorphism(game=python_card_isomorphism(game=python_toepen()))",
            "does not declare interchangeable suits",
        ),
    ],
)
def test_bad_input(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(name)
