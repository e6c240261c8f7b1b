"""Best responses hand by hand against the exact ones of the sequence form, and what they stand on against the rules."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401
from cardtable.features import features_of
from cardtable.parameters import UserError
from cardtable.player import Player, drawing_player, find_player, legal_mask
from cardtable.search.action_values import Shape
from cardtable.search.saved_values import Saved
from cardtable.spiel import CardGame
from solvers import toepen_response
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import Evaluation, evaluate_probabilities
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.learning.players import value_player
from solvers.mccfr import ExternalSamplingSolver
from solvers.sampling.hash_table import InformationTable
from solvers.sampling.players import average_player
from solvers.toepen.block_player import block_player, rounded, save_blocks
from solvers.toepen.blocks import CONTEXT, FREE, LABELS, START, Blocks, order_of, seat_of, turn_of
from solvers.toepen.histories import betting_histories, order_now, place_in_histories
from solvers.toepen.places_table import blocks_of_table
from solvers.toepen.views import Abstraction
from solvers.toepen_deals import DealSolver
from solvers.toepen_response import HandResponse, PlayerResponse, SampledTable, TableResponse, all_hands, hand_orbits
from toepen_spiel import state as slots
from transforms.lifting import lifted_player


def toepen(suits: int, ranks: int, hand_size: int, betting: bool = True, follow_suit: bool = True) -> CardGame:
    size = f"suits={suits},ranks={ranks},hand_size={hand_size}"
    return pyspiel.load_game(f"python_toepen({size},betting={betting},follow_suit={follow_suit})")


def by_hands(game: CardGame, policy: Blocks | SampledTable) -> tuple[np.ndarray, np.ndarray]:
    """Best response and own value of both seats, over orbits of hands."""
    root = game.rules.root
    hands, weights = hand_orbits(*(int(root[slot]) for slot in (slots.SUITS, slots.RANKS, slots.HAND_SIZE)))
    response: HandResponse | TableResponse
    if isinstance(policy, Blocks):
        response = HandResponse(game.rules, policy, np.float64)
    else:
        response = TableResponse(*policy, np.float64)
    values = np.array([[response.value(int(hand), seat) for hand in hands] for seat in (0, 1)])
    means = np.einsum("shv,h->sv", values, weights)
    return means[:, 0], means[:, 1]


def probabilities(player: Player, states: np.ndarray) -> np.ndarray:
    assert player.probabilities_rows is not None
    return player.probabilities_rows(states, np.arange(len(states)))


def by_sequences(game: CardGame, player: Player, quotient: bool) -> Evaluation:
    """The same by `solvers.best_response`, from the policy as a player."""
    form = SequenceForm.from_game(pyspiel.load_game(f"python_card_isomorphism(game={game})") if quotient else game)
    size = game.rules.state_size
    numbers, arrays = zip(
        *((number, state.array.copy()) for number, state in form.representative_states()), strict=True
    )
    states = np.ascontiguousarray(np.stack(arrays)[:, :size])
    chances = probabilities(player, states)
    table = np.ones(form.num_sequences)
    label = form.game.rules.origin.label if quotient else None
    for number, array, row in zip(numbers, arrays, chances, strict=True):
        legal = form.legal_actions(number).tolist()
        if label is not None:
            named = dict.fromkeys(legal, 0.0)
            for action in np.flatnonzero(row):
                named[int(label(array, action))] += row[action]
            table[form.sequences(number)] = [named[action] for action in legal]
        else:
            table[form.sequences(number)] = row[legal]
    return evaluate_probabilities(form, table)


def random_blocks(game: CardGame, abstraction: Abstraction, seed: int) -> Blocks:
    """Random probabilities in the views of a short training."""
    solver = DealSolver(game, abstraction)
    solver.run(300)
    blocks = solver.blocks()
    rng = np.random.default_rng(seed)
    numbers = rng.random(len(blocks.numbers))
    root = game.rules.root
    histories = betting_histories(int(root[slots.HAND_SIZE]), bool(root[slots.BETTING]))
    for row in blocks.slots[blocks.slots[:, START] != FREE]:
        turn, order = int(turn_of(row[CONTEXT])), int(order_of(row[CONTEXT]))
        plays = histories.mover[turn, order] == seat_of(row[CONTEXT]) and turn < histories.turns - 1
        if plays and row[LABELS] > 1:
            start, after = row[START] + histories.bets[turn, order], histories.after[turn, order]
            part = numbers[start : start + row[LABELS] * after].reshape(row[LABELS], after)
            part /= part.sum(axis=0)
    return Blocks(blocks.slots, numbers, abstraction)


def compare(game: CardGame, policy: Blocks | SampledTable, quotient: bool = False) -> Evaluation:
    best, own = by_hands(game, policy)
    if isinstance(policy, Blocks):
        player = block_player("policy", game, policy)
    else:
        player = lifted_player(average_player("policy", *policy), policy.game, game)
    expected = by_sequences(game, player, quotient)
    assert best == pytest.approx(expected.best_response_values, abs=1e-9)
    assert own == pytest.approx(expected.values, abs=1e-9)
    return expected


@pytest.mark.slow
def test_uniform_policy() -> None:
    """Known values of the uniform policy."""
    best, own = by_hands(toepen(3, 2, 2), Blocks.nothing())
    assert best == pytest.approx([1.591666667, 0.666666667], abs=1e-9)
    assert own == pytest.approx([0.392447917, -0.392447917], abs=1e-9)
    best, _ = by_hands(toepen(2, 3, 2, betting=False), Blocks.nothing())
    assert best == pytest.approx([0.444444444, -0.133333333], abs=1e-9)


@pytest.mark.slow  # compiles the learner
@pytest.mark.parametrize(("size", "quotient"), [((2, 3, 2), False), ((3, 3, 2), False), ((3, 3, 3), True)])
def test_last_bet_by_arithmetic(size: tuple[int, int, int], quotient: bool) -> None:
    """The walk has weights of all his cards at hand, the player deals them to himself and plays the hand again."""
    game = toepen(*size)
    for blocks in (random_blocks(game, Abstraction("other", "00112345"), 2), Blocks.nothing()):
        changed = dataclasses.replace(blocks, arithmetic=True)
        best, own = by_hands(game, changed)
        expected = by_sequences(game, block_player("policy", game, changed), quotient)
        assert best == pytest.approx(expected.best_response_values, abs=1e-9)
        assert own.sum() == pytest.approx(0.0, abs=1e-9)
        assert expected.nash_conv < by_sequences(game, block_player("policy", game, blocks), quotient).nash_conv


@pytest.mark.slow  # compiles the learner
@pytest.mark.parametrize(("betting", "follow_suit"), list(itertools.product((True, False), repeat=2)))
def test_random_policies(betting: bool, follow_suit: bool) -> None:
    game = toepen(2, 3, 2, betting, follow_suit)
    for abstraction in (Abstraction(), Abstraction("both", "01234560")):
        compare(game, random_blocks(game, abstraction, 3))


@pytest.mark.slow
def test_table_of_an_abstraction() -> None:
    """A table of `places`, whose tied positions are averaged."""
    game = toepen(3, 2, 2)
    bucketed = pyspiel.load_game(f"python_bucketing(game={game},hand=places,history=stakes)")
    solver = ExternalSamplingSolver(bucketed, seed=1)
    solver.run(2000)
    found = compare(game, blocks_of_table(solver.table, betting_histories(2, True), True))
    assert 0 < found.nash_conv < 1


@pytest.mark.slow
@pytest.mark.parametrize(("size", "quotient"), [((3, 3, 2), False), ((3, 3, 3), True), ((4, 4, 3), True)])
def test_larger_games(size: tuple[int, int, int], quotient: bool) -> None:
    game = toepen(*size)
    policies = [random_blocks(game, Abstraction("other", "00112345"), 1)]
    if size != (4, 4, 3):
        solver = DealSolver(game)
        solver.run(3000)
        policies += [Blocks.nothing(), solver.blocks()]
    for blocks in policies:
        compare(game, blocks, quotient)


def odd_player(game: CardGame) -> Player:
    """Random probabilities for every information state, which have nothing to do with each other: suits have names."""
    rules = game.rules

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        chances = legal_mask(rules, states, rows).astype(float)
        key = np.empty(rules.key_words, np.int64)
        for chance, state in zip(chances, states[rows], strict=True):
            rules.kernel.information_key(state, rules.kernel.current_player(state), key)
            chance *= np.random.default_rng(key.view(np.uint64).tolist()).random(len(chance))
        return chances / chances.sum(axis=1, keepdims=True)

    return drawing_player("odd", game, probabilities_rows)


def by_asking(player: Player, suits_alike: bool) -> np.ndarray:
    """Best responses and own values of both seats, [which, seat]."""
    root = player.game.rules.root
    size = tuple(int(root[slot]) for slot in (slots.SUITS, slots.RANKS, slots.HAND_SIZE))
    hands, weights = hand_orbits(*size) if suits_alike else all_hands(*size)
    response = PlayerResponse(player, suits_alike, np.float64)
    values = np.array([[response.value(int(hand), seat) for hand in hands] for seat in (0, 1)])
    return np.einsum("shv,h->vs", values, weights)


@pytest.mark.slow  # compiles the walk that asks
@pytest.mark.parametrize("size", [(2, 3, 2), (3, 2, 2), (3, 3, 2)])
@pytest.mark.parametrize(("betting", "follow_suit"), list(itertools.product((True, False), repeat=2)))
def test_players_that_are_asked(
    size: tuple[int, int, int], betting: bool, follow_suit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has probabilities; many small batches, so that the walk stops everywhere."""
    monkeypatch.setattr(toepen_response, "BATCH", 1)
    player = odd_player(toepen(*size, betting, follow_suit))
    expected = by_sequences(player.game, player, quotient=False)
    found = by_asking(player, suits_alike=False)
    assert found[0] == pytest.approx(expected.best_response_values, abs=1e-9)
    assert found[1] == pytest.approx(expected.values, abs=1e-9)


def deep_player(game: CardGame) -> Player:
    """A strategy network of a few iterations of Deep CFR in suit orbits, in the game inside."""
    orbits = pyspiel.load_game(f"python_card_isomorphism(game={game})")
    settings = large_settings(
        traversals=50, hidden_sizes=(16,), strategy_hidden_sizes=(16,), memory_rows=5000, strategy_memory_rows=5000,
        training_steps=10, strategy_training_steps=50,
    )  # fmt: skip
    trainer = LargeDeepCFR(orbits, settings, seed=3)
    trainer.run(3)
    trainer.train_strategy_networks()
    return lifted_player(trainer.player("strategy"), orbits, game)


def greedy_player(game: CardGame) -> Player:
    """A network of Deep Monte Carlo with random weights, which plays what it values most; suits that tie have names."""
    features = features_of(game.rules, "features")
    shape = Shape(features.context_size, features.action_size, (12,), (8,))
    weights = np.random.default_rng(7).normal(size=(1, shape.num_weights)).astype(np.float32)
    return value_player("greedy", game, Saved("dmc", shape, weights, "features", 1.0, False))


@pytest.mark.slow  # compiles the walk that asks, and Deep CFR
@pytest.mark.parametrize("size", [(3, 3, 2), (3, 3, 3)])
def test_networks(size: tuple[int, int, int]) -> None:
    """32-bit networks round a little differently in other batches."""
    game = toepen(*size)
    players = [(deep_player(game), True)]
    if size == (3, 3, 2):
        players.append((greedy_player(game), False))
    for player, suits_alike in players:
        expected = by_sequences(game, player, quotient=suits_alike)
        found = by_asking(player, suits_alike)
        assert found[0] == pytest.approx(expected.best_response_values, abs=1e-6)
        assert found[1] == pytest.approx(expected.values, abs=1e-6)
        assert expected.nash_conv > 0.1


TRANSFORMS = {
    "orbits": "{}",
    "all histories": "python_bucketing(game={},hand=exact,history=exact)",
    "advanced history": "python_bucketing(game={},hand=exact,history=ante)",
    "advanced combined": "python_bucketing(game={},hand=bucket,history=ante)",
    "simple history": "python_bucketing(game={},hand=exact,history=none)",
    "places": "python_bucketing(game={},hand=places,history=stakes)",
}


@pytest.mark.slow  # compiles the walk that asks
@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_tables_of_transforms(name: str) -> None:
    """Averages of a short training, which knows part of the game, as sampling leaves them."""
    for game, quotient in (
        (toepen(3, 3, 2), False),
        (toepen(3, 2, 2, follow_suit=False), False),
        (toepen(3, 3, 3), True),
    ):
        solver = ExternalSamplingSolver(
            pyspiel.load_game(TRANSFORMS[name].format(f"python_card_isomorphism(game={game})")), seed=1
        )
        solver.run(1500)
        found = compare(game, SampledTable(solver.game, solver.table), quotient)
        assert found.nash_conv > 0.1


@pytest.mark.slow  # compiles the learner
def test_suits_are_alike() -> None:
    """All hands of an orbit have one value: the table treats suits alike."""
    game = toepen(3, 2, 2)
    response = HandResponse(game.rules, random_blocks(game, Abstraction("other", "00112345"), 5), np.float64)
    values = [response.value(1 << first | 1 << second, 1) for first, second in ((0, 3), (0, 5), (1, 2), (3, 4))]
    assert np.ptp([value.best_response for value in values]) < 1e-12


def test_histories_are_those_of_the_rules() -> None:
    """Random games: the number of a betting history stands where calls, last bettor and leaders say."""
    game = toepen(3, 3, 3)
    histories = betting_histories(3, True)
    assert [histories.most_before(turn) for turn in range(7)] == [1, 2, 4, 7, 12, 20, 33]
    rng = np.random.default_rng(2)
    for _ in range(200):
        state = game.new_initial_state()
        while not state.is_terminal():
            array = state.array
            if not state.is_chance_node():
                mover, turn = int(array[slots.TURN]), int(array[slots.CARDS_PLAYED])
                order, place = place_in_histories(array)
                order = order_now(array, order, mover)
                if array[slots.PHASE] == slots.DECIDING:
                    assert histories.mover[turn, order] == mover
                    assert histories.calls[turn, order, place] == array[slots.ANTE] - 1
                    assert histories.bettor[turn, order, place] == array[slots.LAST_BETTOR] + 1
                    assert 0 <= place - histories.first[turn, order] < histories.bets[turn, order]
            state.apply_action(int(rng.choice(state.legal_actions())))


@pytest.mark.slow  # compiles the learner
def test_training_lowers_nash_conv_and_goes_on_from_a_state() -> None:
    game = toepen(3, 3, 2)
    solver = DealSolver(game, Abstraction("other", "00112345"), seed=4)
    solver.run(1000)
    state = solver.get_state()
    solver.run(4000)
    best, own = by_hands(game, solver.blocks())
    assert 0 < (best - own).sum() < 0.35  # `places` with the stakes only cannot go below 0.4
    again = DealSolver(game, Abstraction("other", "00112345"), seed=4)
    again.set_state(state)
    again.run(4000)
    assert np.array_equal(again.blocks().numbers, solver.blocks().numbers)
    with pytest.raises(ValueError, match="the solver state is one of"):
        DealSolver(game, seed=5).set_state(state)


@pytest.mark.slow  # compiles the learner
def test_saving_rounds_a_learned_policy() -> None:
    """In random positions: what comes back adds up to one, and is off by no more than rounding explains."""
    game = toepen(3, 3, 3)
    solver = DealSolver(game, Abstraction("other", "00112345"))
    solver.run(300)
    learned = block_player("learned", game, solver.blocks())
    again = block_player("again", game, rounded(game, solver.blocks()))
    few = block_player("few", game, rounded(game, solver.blocks(most_views=500)))
    rng = np.random.default_rng(4)
    states = []
    for _ in range(100):
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                states.append(state.array.copy())
            state.apply_action(int(rng.choice(state.legal_actions())))
    rows = np.stack(states)
    found = probabilities(again, rows)
    assert found.sum(axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-6)
    difference = np.abs(found - probabilities(learned, rows)).max(axis=1)
    assert 0 < difference.max() < 2 / 15
    kept = (np.abs(probabilities(few, rows) - found) < 1e-9).all(axis=1)
    assert 0.2 < kept.mean() < 1  # the others choose uniformly


@pytest.mark.slow  # compiles the learner
def test_saved_player(tmp_path: Path) -> None:
    game = toepen(3, 2, 2)
    blocks = random_blocks(game, Abstraction("other", "00112345"), 6)
    save_blocks(tmp_path, game, blocks, {})
    player = find_player(str(tmp_path), game)
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    rows = state.array[None, :].copy()
    expected = probabilities(block_player("policy", game, rounded(game, blocks)), rows)
    assert np.array_equal(probabilities(player, rows), expected)
    with pytest.raises(UserError, match="was made for"):
        find_player(str(tmp_path), toepen(3, 3, 2))
    (tmp_path / "views.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match="damaged"):
        find_player(str(tmp_path), game)


def test_bad_input() -> None:
    response = HandResponse(toepen(3, 2, 2).rules, Blocks.nothing(), np.float64)
    with pytest.raises(UserError, match="hand is 7"):
        response.value(7, 0)
    with pytest.raises(UserError):
        response.value(3, 2)
    with pytest.raises(UserError, match="hand_size is 6"):
        HandResponse(toepen(4, 8, 6).rules, Blocks.nothing())
    with pytest.raises(UserError, match="memory is"):
        DealSolver(toepen(3, 2, 2), Abstraction("all"))
    for game in (
        toepen(3, 2, 2),
        pyspiel.load_game("python_bucketing(game=python_toepen(),hand=places,history=stakes)"),
    ):
        with pytest.raises(UserError, match="tells suits apart"):
            TableResponse(game, InformationTable(game.rules.key_words, game.num_distinct_actions()))
    full = pyspiel.load_game("python_toepen")
    with pytest.raises(UserError, match="no probabilities"):
        PlayerResponse(Player("nobody", full), suits_alike=True)
    with pytest.raises(UserError, match="up to 4,183,040,452"):
        PlayerResponse(drawing_player("somebody", full, lambda states, rows: np.empty(0)), suits_alike=True)
