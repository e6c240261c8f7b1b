import dataclasses
import itertools
from collections import Counter, defaultdict

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401
from cardtable import deck
from cardtable.batch import Batch
from cardtable.rules import CHANCE
from transforms.partner_oracle import chance_of_truth, oracle_rules

PERFECT = "python_partner_oracle(game=python_kuhn_collab())"
NOISY = "python_partner_oracle(game=python_kuhn_collab(),accuracy=0.9,step=0.25)"


def deal(game: pyspiel.Game, cards: tuple[int, ...]) -> pyspiel.State:
    """The state in which seat s holds cards[s]."""
    state = game.new_initial_state()
    while state.is_chance_node() and state.array[deck.NEXT_CARD] < state.array[deck.DECK_SIZE]:
        card = int(state.array[deck.NEXT_CARD])
        state.apply_action(cards.index(card) if card in cards else 4)
    return state


@pytest.mark.parametrize(("team", "listening"), [(-1, (0, 1, 2, 3)), (0, (0, 2)), (1, (1, 3))])
def test_a_perfect_oracle_shows_the_partners_card_to_the_listening_teams(team: int, listening: tuple) -> None:
    game = pyspiel.load_game(f"python_partner_oracle(game=python_kuhn_collab(),team={team})")
    plain = pyspiel.load_game("python_kuhn_collab")
    views: dict[int, set] = defaultdict(set)
    for cards in itertools.permutations(range(6), 4):
        state, base = deal(game, cards), deal(plain, cards)
        assert not state.is_chance_node()
        for seat in range(4):
            shown = state.information_state_tensor(seat)[60:]
            assert state.information_state_tensor(seat)[:60] == base.information_state_tensor(seat)
            assert state.observation_tensor(seat)[26:] == shown
            expected = np.eye(6)[cards[(seat + 2) % 4]] if seat in listening else np.zeros(6)
            assert shown == expected.tolist()
            views[seat].add((state.information_key(seat), state.information_state_string(seat)))
    for seat in range(4):
        assert len(views[seat]) == (30 if seat in listening else 6)
    state = deal(game, (4, 0, 5, 1))
    assert state.information_state_string(0) == ("P0 A♥ (partner A♠)" if 0 in listening else "P0 A♥")


def test_the_perfect_oracle_changes_nothing_else() -> None:
    game, plain = pyspiel.load_game(PERFECT), pyspiel.load_game("python_kuhn_collab")
    rng = np.random.default_rng(1)
    for _ in range(50):
        state, base = game.new_initial_state(), plain.new_initial_state()
        while not state.is_terminal():
            assert state.legal_actions() == base.legal_actions()
            assert state.current_player() == base.current_player()
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            base.apply_action(action)
        assert state.returns() == base.returns()


def test_signal_probabilities_follow_the_formula() -> None:
    """Cards A♥ Q♥ K♠ Q♠; the truth is likelier after every action, up to 0.9."""
    state = deal(pyspiel.load_game(NOISY), (4, 0, 3, 1))
    partner_cards = (3, 1, 4, 0)
    # North checks, West checks, South checks, East bets, North calls, West calls, South raises: seven actions.
    for number, action in enumerate([0, 0, 0, 1, 3, 3, 4]):
        seat = number % 4
        truth = min(0.9, 0.25 * number)
        expected = {card: (1 - truth) / 6 + truth * (card == partner_cards[seat]) for card in range(6)}
        assert state.current_player() == CHANCE
        assert dict(state.chance_outcomes()) == pytest.approx(expected)
        assert state.action_to_string(2) == f"oracle tells P{seat} K♥"
        state.apply_action(2)
        assert state.current_player() == seat
        private = f"P{seat} {('A♥', 'Q♥', 'K♠', 'Q♠')[seat]} (oracle K♥)"
        assert state.information_state_string(seat).split(" | ")[0] == private
        assert state.information_state_tensor(seat)[60:] == [0, 0, 1, 0, 0, 0]
        assert sum(state.information_state_tensor((seat + 1) % 4)[60:]) == 0  # nobody else hears it
        state.apply_action(action)


def test_without_steps_the_accuracy_holds_from_the_start() -> None:
    state = deal(pyspiel.load_game("python_partner_oracle(game=python_kuhn_collab(),accuracy=0.4)"), (4, 0, 3, 1))
    assert dict(state.chance_outcomes())[3] == pytest.approx(0.1 + 0.4)
    assert [chance_of_truth(0.4, 0.0, j) for j in (0, 1, 9)] == [0.4] * 3
    assert [chance_of_truth(0.9, 0.25, j) for j in range(6)] == [0, 0.25, 0.5, 0.75, 0.9, 0.9]


def test_signals_are_forgotten() -> None:
    """The same cards, actions and signal of the moment look the same, whatever was said before."""
    looks = set()
    for first in range(6):
        state = deal(pyspiel.load_game(NOISY), (4, 0, 3, 1))
        for signal, action in [(first, 0), (1, 0), (2, 0), (3, 0 + 1)]:
            state.apply_action(signal)
            state.apply_action(action)
        state.apply_action(5)
        looks.add((state.information_key(0), state.information_state_string(0)))
    assert len(looks) == 1


def test_an_oracle_that_cannot_err_yet_speaks_by_chance_has_one_outcome() -> None:
    state = deal(pyspiel.load_game("python_partner_oracle(game=python_kuhn_collab(),step=0.5)"), (4, 0, 3, 1))
    for signal, action in [(0, 0), (0, 0)]:
        state.apply_action(signal)
        state.apply_action(action)
    assert state.chance_outcomes() == [(4, 1.0)]  # South hears of North's A♥, and the truth only


@pytest.mark.parametrize("signals", [(0, 0, None), (0, 0, 4)])
def test_resampling_keeps_what_a_truthful_oracle_said(signals: tuple) -> None:
    game = pyspiel.load_game("python_partner_oracle(game=python_kuhn_collab(),step=0.5)")
    state = deal(game, (4, 0, 3, 1))
    for signal in signals[:2]:
        state.apply_action(signal)
        state.apply_action(0)
    if signals[2] is not None:
        state.apply_action(signals[2])
    rng = np.random.default_rng(3)
    deals: Counter[tuple[bool, int]] = Counter()
    for _ in range(300):
        other = state.resample_from_infostate(2, rng.random)
        assert other.information_key(2) == state.information_key(2)
        deals[other.array[deck.DEALT + 2] == 1 << 3, int(other.array[deck.DEALT])] += 1
    assert {own for own, _ in deals} == {True}
    assert len(deals) == (5 if signals[2] is None else 1)  # North holds any other card, or the one South was told


def test_sampled_signals_follow_the_formula() -> None:
    """The compiled deal draws the first signal: with accuracy 0.4 it is right half the time."""
    rules = pyspiel.load_game("python_partner_oracle(game=python_kuhn_collab(),accuracy=0.4)").rules
    batch = Batch(rules, 20_000, seed=4)
    signals = batch.information_keys()[:, 1] - 1
    partner = np.log2(batch.states[:, deck.DEALT + 2]).astype(int)
    assert np.mean(signals == partner) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(20_000))
    wrong = Counter(((signals - partner) % 6)[signals != partner].tolist())
    assert set(wrong) == {1, 2, 3, 4, 5}
    assert min(wrong.values()) > 1800  # 2000 expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("accuracy=1.5", "accuracy is 1.5; allowed: 0 to 1"),
        ("accuracy=-0.1", "accuracy is -0.1; allowed: 0 to 1"),
        ("accuracy=nan", "accuracy is nan"),
        ("step=-0.5", "step is -0.5; allowed: 0 or more"),
        ("team=2", r"team is 2; allowed: -1 \(both teams\), 0, 1"),
        ("team=-2", "team is -2"),
    ],
)
def test_bad_parameters(arguments: str, message: str) -> None:
    parameters = dict([arguments.split("=")])
    values = {name: int(text) if name == "team" else float(text) for name, text in parameters.items()}
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game("python_partner_oracle", {"game": {"name": "python_kuhn_collab"}, **values})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python_partner_oracle(game=python_toepen(suits=1,ranks=2,hand_size=1))", "declares no teams"),
        (
            "python_partner_oracle(game=kuhn_poker())",
            "game is 'kuhn_poker'; allowed: games and transforms of CardSpiel",
        ),
        ("python_partner_oracle()", "the parameter game is missing"),
    ],
)
def test_bad_games(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(name)


def test_games_of_other_shapes_are_refused() -> None:
    rules = pyspiel.load_game("python_kuhn_collab").rules
    with pytest.raises(ValueError, match=r"has teams \(\(0, 1, 2\), \(3,\)\); allowed: two teams of two"):
        oracle_rules(dataclasses.replace(rules, teams=((0, 1, 2), (3,))))
    two_cards = rules.root.copy()
    two_cards[deck.ROOM] = 2
    with pytest.raises(ValueError, match=r"deals \[2, 1, 1, 1\] cards to the seats; allowed: games with one private"):
        oracle_rules(dataclasses.replace(rules, root=two_cards))


def test_names_nest_and_reload() -> None:
    game = pyspiel.load_game("python_tied_rewards(game=python_partner_oracle(game=python_kuhn_collab(),team=1))")
    assert str(pyspiel.load_game(str(game))) == str(game)
    assert game.teams == ((0, 2), (1, 3))
    assert game.base.get_parameters()["team"] == 1


def posterior(
    game: pyspiel.Game, actions: list[int], player: int, key: tuple[int, ...]
) -> dict[tuple[int, ...], float]:
    """By Bayes, over all ways that chance could have gone: how likely each deal is to somebody with this key."""
    weights: Counter[tuple[int, ...]] = Counter()

    def walk(state: pyspiel.State, played: int, probability: float) -> None:
        if state.is_chance_node():
            for outcome, chance in state.chance_outcomes():
                walk(state.child(outcome), played, probability * chance)
        elif played < len(actions):
            walk(state.child(actions[played]), played + 1, probability)
        elif state.information_key(player) == key:
            weights[tuple(state.array[deck.DEALT : deck.DEALT + 4].tolist())] += probability

    walk(game.new_initial_state(), 0, 1.0)
    total = sum(weights.values())
    return {hands: weight / total for hands, weight in weights.items()}


@pytest.mark.parametrize(("accuracy", "told"), [(0.9, 3), (0.9, 0), (0.3, 5), (0.999999, 0), (0.0, 3)])
def test_resampling_weighs_the_signal_as_bayes_does(accuracy: float, told: int) -> None:
    """East is told a card after North has acted: 3, her partner's; 5, nobody's; 0, her own, which cannot be true."""
    game = pyspiel.load_game(f"python_partner_oracle(game=python_kuhn_collab(),accuracy={accuracy},team=1)")
    state = deal(game, (4, 0, 2, 3))
    state.apply_action(0)
    state.apply_action(told)
    exact = posterior(game, [0], 1, state.information_key(1))
    draws, generator = 20_000, np.array([7], np.uint64)
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        array = state.array.copy()
        game.rules.kernel.resample(array, 1, generator)
        counts[tuple(array[deck.DEALT : deck.DEALT + 4].tolist())] += 1
    assert set(counts) <= set(exact)
    for hands, probability in exact.items():
        spread = np.sqrt(probability * (1.0 - probability) / draws)
        assert counts[hands] / draws == pytest.approx(probability, abs=5 * spread + 1e-9)
    of_partner = sum(probability for hands, probability in exact.items() if hands[3] == 1 << told)
    if (accuracy, told) == (0.9, 3):
        assert of_partner == pytest.approx(55 / 59), "nine in ten, and not one in five"
    again = state.resample_from_infostate(1, np.random.default_rng(1).random)
    assert again.information_key(1) == state.information_key(1)
