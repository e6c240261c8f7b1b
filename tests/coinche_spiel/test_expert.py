"""The search for a card, against plain Python: worlds, weights, payoffs, and the values of cards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable import deck
from cardtable.parameters import UserError
from cardtable.player import find_player, player_streams
from cardtable.randomness import generator
from cardtable.search.worlds import Model, Worlds
from coinche_spiel import scoring
from coinche_spiel import state as slots
from coinche_spiel.cards import NUM_CARDS, list_cards
from coinche_spiel.double_dummy import solve_cards
from coinche_spiel.expert.payoff import PAYOFF_COLUMNS, belote_of, write_payoffs
from coinche_spiel.expert.players import CardSearch
from coinche_spiel.expert.search import FULL_WINDOW, left_in_play
from coinche_spiel.players import simple_player, strong_player
from coinche_spiel.state import HAND, PHASE, PLAYING, TURN

CALLS = {"first": NUM_CARDS, "end": slots.NUM_ACTIONS}
CARDS = {"first": 0, "end": NUM_CARDS}
MODELS = (
    Model(strong_player, 0.1, 2.0, **CALLS),
    Model(simple_player, 0.3, **CALLS),
    Model(strong_player, 0.4, **CARDS),
    Model(strong_player, 1.0, 0.5, **CARDS),
)


def positions(game: pyspiel.Game, seed: int, cards: range, count: int) -> Iterator[np.ndarray]:
    """Decisions in the play with so many cards played, from games of `strong` with some random moves."""
    kernel, stream, rng = game.rules.kernel, generator(seed), np.random.default_rng(seed)
    out = np.empty(slots.NUM_ACTIONS, np.int64)
    found = 0
    while found < count:
        state = game.rules.new_state()
        kernel.deal(state, stream)
        while kernel.current_player(state) >= 0 and found < count:
            legal = out[: kernel.legal_actions(state, out)]
            if state[PHASE] == PLAYING and len(legal) > 1 and state[slots.CARDS_PLAYED] in cards:
                found += 1
                yield state.copy()
                break
            random = state[PHASE] == PLAYING and rng.random() < 0.3
            kernel.apply_action(state, int(rng.choice(legal)) if random else strong_player(state, stream))


def test_swapping_hands_weighs_as_playing_again_does() -> None:
    game = pyspiel.load_game("python_coinche")
    quick, slow = Worlds(game, MODELS), Worlds(game, MODELS)
    slow.rules = dataclasses.replace(game.rules, recall=None)
    for number, state in enumerate(positions(game, 1, range(3, 20), 12)):
        seat = int(state[TURN])
        worlds = quick.uniform(state, seat, generator(number), 40)
        weights = quick.log_weights(worlds, seat)
        assert weights == pytest.approx(slow.log_weights(worlds, seat), abs=1e-9)
        assert np.ptp(weights) > 0


def test_a_state_rewound_is_the_deal() -> None:
    game = pyspiel.load_game("python_coinche(dealer=2)")
    assert game.rules.recall is not None
    for state in positions(game, 2, range(9, 20), 5):
        fresh = game.rules.new_state()
        while game.rules.kernel.current_player(fresh) == pyspiel.PlayerId.CHANCE:
            game.rules.kernel.apply_action(fresh, deck.pile_of(state, fresh[deck.NEXT_CARD]))
        game.rules.recall.rewind(state)
        assert (state == fresh).all()


def all_worlds(state: np.ndarray, seat: int) -> list[list[int]]:
    """Every deal of the hidden cards in an ending, hands by seat, by trying all of them."""
    others = [other for other in range(4) if other != seat]
    unseen = [card for other in others for card in list_cards(int(state[HAND + other]))]
    found = []

    def place(index: int, hands: list[int]) -> None:
        if index == len(unseen):
            found.append(list(hands))
            return
        card = 1 << unseen[index]
        for other in others:
            room = int(state[HAND + other]).bit_count() > hands[other].bit_count()
            if room and not int(state[slots.ABSENT + other]) & card:
                hands[other] |= card
                place(index + 1, hands)
                hands[other] ^= card

    start = [0, 0, 0, 0]
    start[seat] = int(state[HAND + seat])
    place(0, start)
    return found


def payoff(state: np.ndarray, seat: int, hands: list[int], attack_points: int) -> float:
    """What the rules pay the seat if the attack takes so many points from the current trick on, in this world."""
    over = state.copy()
    attack = int(slots.attacking_team(state))
    left = int(left_in_play(state))
    for other in range(4):
        over[deck.DEALT + other] = (state[deck.DEALT + other] ^ state[HAND + other]) | hands[other]
    over[slots.POINTS + attack] += attack_points
    over[slots.POINTS + 1 - attack] += left - attack_points
    over[PHASE] = slots.OVER
    out = np.empty(4)
    scoring.returns(over, out)
    return float(out[seat])


@pytest.mark.parametrize("name", ["python_coinche", "python_coinche(belote=True,reward=classic,trick_reward=0.5)"])
def test_the_values_of_an_ending_are_means_over_all_worlds(name: str) -> None:
    """All worlds, weights and payoffs a second time, in plain Python, with the solver's exact points."""
    game = pyspiel.load_game(name)
    search = CardSearch(game, 5000, MODELS, 0.8, FULL_WINDOW)
    narrow = CardSearch(game, 5000, MODELS, 0.8, 0)
    beliefs = Worlds(game, MODELS, power=0.8)
    checked = 0
    for number, state in enumerate(positions(game, 3, range(20, 24), 12)):
        seat, left, attack = int(state[TURN]), int(left_in_play(state)), int(slots.attacking_team(state))
        worlds = all_worlds(state, seat)
        states = np.stack([state] * len(worlds))
        for world, hands in zip(states, worlds, strict=True):
            for other in range(4):
                world[deck.DEALT + other] ^= world[HAND + other] ^ hands[other]
                world[HAND + other] = hands[other]
        weights = np.exp(beliefs.log_weights(states, seat))
        weights /= weights.sum()
        trump, played = int(state[slots.TRUMP]), int(state[slots.CARDS_PLAYED]) % 4
        trick = [int(slots.played_card(state, int(state[slots.CARDS_PLAYED]) - played + i)) for i in range(played)]
        want, points_of_attack = np.zeros(NUM_CARDS), np.zeros(NUM_CARDS)
        for weight, hands in zip(weights, worlds, strict=True):
            for card, points in solve_cards(hands, trump, (seat - played) % 4, trick).items():
                mine = points if attack == 0 else left - points
                want[card] += weight * payoff(state, seat, hands, mine)
                points_of_attack[card] += weight * mine
        stakes = [abs(payoff(state, seat, hands, 0) - payoff(state, seat, hands, left)) for hands in worlds]
        if min(stakes) == 0:
            continue  # the contract may be decided
        checked += 1
        found = search.explain_rows(state[None, :], np.zeros(1, np.int64), generator(number)[None, :])[0]
        assert found.values is not None
        assert found.errors is not None
        assert not found.errors.any()  # all worlds were solved
        # A point is worth a two-thousandth of what is at stake.
        side = 1 if attack == seat & 1 else -1
        exact = want + side * 0.0005 * stakes[0] * points_of_attack
        tolerance = 1e-9 if max(stakes) == min(stakes) else 0.0005 * max(stakes) * left
        assert found.values == pytest.approx(exact[found.actions], abs=tolerance)
        # What the window leaves out is worth next to nothing.
        quick = narrow.explain_rows(state[None, :], np.zeros(1, np.int64), generator(number)[None, :])[0]
        chosen = int(quick.actions[int(np.argmax(quick.values))])  # type: ignore[arg-type]
        assert want[chosen] >= want[found.actions].max() - 0.0005 * max(stakes) * left
    assert checked > 3


def test_payoffs_are_those_of_the_rules() -> None:
    game = pyspiel.load_game("python_coinche(belote=True,reward=good)")
    for state in positions(game, 4, range(20), 6):
        seat, left, attack = int(state[TURN]), int(left_in_play(state)), int(slots.attacking_team(state))
        table = np.zeros((3, PAYOFF_COLUMNS))
        lowest, highest, _ = write_payoffs(state.copy(), seat, left, table)
        assert (lowest, highest) == (0, left)
        hands = [int(state[HAND + other]) for other in range(4)]
        dealt = np.array([state[deck.DEALT + other] for other in range(4)])
        pair = scoring.BELOTE_PAIR << 8 * int(state[slots.TRUMP])
        column = table[belote_of(dealt, pair, attack)]
        exact = [payoff(state, seat, hands, points) for points in range(left + 1)]
        found = column[90 : 90 + left + 1]
        assert np.abs(found - exact).max() <= 0.001 * np.ptp(exact) * left or np.ptp(exact) == 0
        assert (np.diff(found) > 0).all() if seat & 1 == attack else (np.diff(found) < 0).all()


def test_a_capot_is_about_tricks() -> None:
    """North must take the last two tricks for a capot: the ace first keeps all worlds, the king loses to the ten."""
    game = pyspiel.load_game("python_coinche")
    search = CardSearch(game, 5000, (), 1.0, 0)
    for state in positions(game, 5, range(24, 25), 20):
        seat = int(state[TURN])
        state[slots.VALUE], state[slots.DECLARER] = slots.CAPOT, seat
        state[[slots.TRICKS, slots.TRICKS + 1]] = (6, 0) if seat & 1 == 0 else (0, 6)
        found = search.explain_rows(state[None, :], np.zeros(1, np.int64), generator(1)[None, :])[0]
        trump = int(state[slots.TRUMP])
        worlds = all_worlds(state, seat)
        for action, value in zip(found.actions, found.values, strict=True):  # type: ignore[arg-type]
            made = 0
            for hands in worlds:
                points = solve_cards(hands, trump, seat, (), True, (6, 0) if seat & 1 == 0 else (0, 6))[int(action)]
                left = int(left_in_play(state))
                made += points == left + 90 if seat & 1 == 0 else sweeps(hands, trump, seat, int(action))
            share = made / len(worlds)
            assert value == pytest.approx(500 * share - 250, abs=20)


def sweeps(hands: list[int], trump: int, seat: int, card: int) -> bool:
    """The same seen by North and South, who are given the hands of East and West."""
    turned = [hands[1], hands[2], hands[3], hands[0]]
    solved = solve_cards(turned, trump, (seat - 1) % 4, (), True, (6, 0))
    return solved[card] > 90 + 9  # two tricks have at most 72 points, so only the bonus gets there


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cards(worlds=0)", "worlds is 0; allowed: 1 to 10000"),
        ("cards(milliseconds=-1)", "milliseconds is -1"),
        ("cards(power=2)", "power is 2"),
        ("expert(level=hard)", "level is 'hard'; allowed: easy, medium, full"),
        ("expert(worlds=-1)", "worlds is -1"),
        ("expert(simulated=-2)", "simulated is -2"),
        ("cards(window=-2)", "window is -2"),
    ],
)
def test_bad_options(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        find_player(text, pyspiel.load_game("python_coinche"))


def test_duels_have_no_cards_player() -> None:
    with pytest.raises(UserError, match="no player 'cards'"):
        find_player("cards", pyspiel.load_game("python_coinche(players=2,suits=2,ranks=JTA,hand_size=2)"))


def test_time_as_the_budget_still_gives_legal_cards_and_says_that_it_cannot_be_repeated() -> None:
    game = pyspiel.load_game("python_coinche")
    player = find_player("cards(milliseconds=3)", game)
    assert not player.reproducible
    assert player.choose_rows is not None
    for state in positions(game, 6, range(20), 3):
        stream = player_streams(1, 0, range(1))
        card = int(player.choose_rows(state[None, :], np.zeros(1, np.int64), stream)[0])
        assert int(state[HAND + int(state[TURN])]) >> card & 1
