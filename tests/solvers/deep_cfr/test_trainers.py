"""Training: it converges, averages are what they claim to be, and checkpoints go on bit by bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import cardspiel  # noqa: F401 registers the games
from cardtable import deck
from cardtable.batch import Batch
from cardtable.executors import Serial, find_executor
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player, player_streams, random_player
from cardtable.randomness import generator
from coinche_spiel import state as slots
from solvers.best_response import nash_conv
from solvers.deep_cfr.chunks import Chunk
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.memory import Sums
from solvers.deep_cfr.players import NetworkPolicy, networks_of, save_player
from solvers.deep_cfr.settings import Settings
from solvers.deep_cfr.trainer import TabulatedDeepCFR, networks_of_seats
from solvers.learning.inference import FrozenNetwork

TINY_TOEPEN = "python_toepen(suits=2,ranks=2,hand_size=2)"
KUHN = Settings(traversals=500, strategy_training_steps=300, strategy_hidden_sizes=(32, 32))
FEW = large_settings(
    traversals=20,
    hidden_sizes=(16, 16),
    training_steps=5,
    batch_size=64,
    memory_rows=300,
    strategy_memory_rows=300,
    strategy_training_steps=5,
    strategy_hidden_sizes=(16,),
    snapshots=6,
)


@pytest.mark.parametrize("name", ["kuhn_poker", pytest.param(TINY_TOEPEN, marks=pytest.mark.slow)])
def test_an_equilibrium_is_approached(name: str) -> None:
    trainer = TabulatedDeepCFR(pyspiel.load_game(name), KUHN, seed=1)
    at_first = trainer.nash_conv(trainer.average_table())
    trainer.run(150)
    trainer.train_strategy_networks()
    assert trainer.nash_conv(trainer.average_table()) < 0.08 * at_first
    assert trainer.nash_conv(trainer.strategy_table()) < 0.15 * at_first


def test_the_exact_nash_conv_is_openspiels() -> None:
    game = pyspiel.load_game("kuhn_poker")
    trainer = TabulatedDeepCFR(game, KUHN, seed=1)
    trainer.run(3)
    theirs = exploitability.nash_conv(game, trainer.average_policy())
    assert trainer.nash_conv(trainer.average_table()) == pytest.approx(theirs, abs=1e-9)


def test_the_single_deep_cfr_average_is_the_mixture_of_its_iterations() -> None:
    """Against any opponent the average earns the mean, with weights t, of what the iterations earn."""
    game = pyspiel.load_game("kuhn_poker")
    trainer = TabulatedDeepCFR(game, KUHN, seed=2)
    opponent = openspiel_policy.UniformRandomPolicy(game)
    root = game.new_initial_state()
    earned = []
    for _ in range(4):
        trainer.run(1)
        mine = trainer.current_policy()
        earned.append([expected_game_score.policy_value(root, [mine, opponent])[0]])
        earned[-1].append(expected_game_score.policy_value(root, [opponent, mine])[1])
    mean = np.average(earned, axis=0, weights=[1, 2, 3, 4])
    average = trainer.average_policy()
    assert expected_game_score.policy_value(root, [average, opponent])[0] == pytest.approx(mean[0], abs=1e-9)
    assert expected_game_score.policy_value(root, [opponent, average])[1] == pytest.approx(mean[1], abs=1e-9)


@pytest.mark.slow
def test_the_mixture_of_stored_networks_as_a_policy() -> None:
    """The same for a large game's snapshots, whose behaviour is found by replaying histories."""
    game = pyspiel.load_game(TINY_TOEPEN)
    trainer = LargeDeepCFR(game, FEW.replace(networks="seat", learning_rate=0.05), seed=3)
    trainer.run(4)
    opponent = openspiel_policy.UniformRandomPolicy(game)
    root = game.new_initial_state()
    average = NetworkPolicy(game, networks_of(trainer, "single"))
    for player in range(2):
        earned = []
        last = trainer.learners[player].weights()
        for weights in trainer.snapshots[player].weights:
            trainer.learners[player].set_weights(weights)
            current = NetworkPolicy(game, networks_of(trainer, "current"))
            earned.append(value(root, current, opponent, player))
        trainer.learners[player].set_weights(last)
        assert value(root, average, opponent, player) == pytest.approx(np.mean(earned), abs=1e-6)


def value(root: pyspiel.State, mine: openspiel_policy.Policy, other: openspiel_policy.Policy, player: int) -> float:
    seats = [mine, other] if player == 0 else [other, mine]
    return expected_game_score.policy_value(root, seats)[player]


def same(first: dict, second: dict) -> bool:
    assert first.keys() == second.keys()
    return all(np.array_equal(first[name], second[name], equal_nan=True) for name in first if name != "identity")


def test_discounts_by_one_are_linear_weights() -> None:
    """Sums times t / (t + 1) after iteration t are the sums of linear weights, divided by t."""
    game = pyspiel.load_game("kuhn_poker")
    one = {"strategy_network": False, "batch_size": 0, "loss": "squared"}
    linear = TabulatedDeepCFR(game, KUHN.replace(**one), seed=5)
    discounted = TabulatedDeepCFR(game, KUHN.replace(alpha=1.0, beta=1.0, **one), seed=5)
    for trainer in (linear, discounted):
        trainer.run(7)
    for seat in range(2):
        sums = {
            name: [trainer.get_state()[f"regrets.{seat}.{name}"] for trainer in (linear, discounted)]
            for name in ("values", "weights")
        }
        for theirs, ours in sums.values():
            assert np.abs(theirs).max() > 0.0
            np.testing.assert_allclose(7.0 * ours, theirs, rtol=1e-3)  # networks see the same up to rounding


def test_what_is_forgotten_and_what_is_expected() -> None:
    """By hand: beta=-50 forgets sums below zero, as CFR+ does; a prediction counts the last regrets twice."""
    sums, expected = Sums(4), Sums(4)
    offset = np.array([0, 2, 4])
    sums.add(np.arange(2), offset, np.array([3.0, -6.0, 0.0, 8.0]), np.array([2.0, 0.0, 4.0, 0.0]))
    assert Settings(alpha=1.5).discounts(0) is None
    above, below = Settings(alpha=1.5, beta=-50.0).discounts(4) or (0.0, 0.0)
    assert above == pytest.approx(8 / 9)
    assert below < 1e-30
    sums.discount(0.5, below)
    np.testing.assert_allclose(sums.values, [1.5, 0.0, 0.0, 4.0], atol=1e-20)
    np.testing.assert_allclose(sums.weights, [1.0, 0.0, 2.0, 0.0])
    for values in ([9.0, 9.0, 9.0, 9.0], [1.0, -1.0, 2.0, -2.0]):  # the second takes the place of the first
        expected.replace(np.arange(2), offset, np.array(values), np.ones(4))
    np.testing.assert_allclose(sums.plus(expected).values, [2.5, -1.0, 2.0, 2.0], atol=1e-20)
    np.testing.assert_allclose(sums.plus(expected).weights, sums.weights)
    np.testing.assert_allclose(sums.values, [1.5, 0.0, 0.0, 4.0], atol=1e-20)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"prediction": False}, False),
        ({"traversal": "corrected"}, False),
        ({"memory_rows": 15}, False),
        ({"memory_rows": 15, "prediction": True}, True),
    ],
)
def test_the_last_regrets_count_twice_where_that_was_measured(changes: dict, expected: bool) -> None:
    trainer = TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), KUHN.replace(**changes), seed=1)
    assert any(name.startswith("predictions.") for name in trainer.get_state()) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"alpha": 1.5, "gamma": 5.0, "prediction": True},
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ({"alpha": 2.3, "beta": -50.0}, {"prediction": False}, {"gamma": 2.0})
        ),
    ],
)
def test_other_weights_approach_an_equilibrium_too(changes: dict) -> None:
    trainer = TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), KUHN.replace(strategy_network=False, **changes), seed=1)
    at_first = trainer.nash_conv(trainer.average_table())
    trainer.run(150)
    assert trainer.nash_conv(trainer.average_table()) < 0.1 * at_first


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prediction": False},
        {"alpha": 1.5, "prediction": True, "networks": "shared"},
        {"memory_rows": 15, "strategy_memory_rows": 15},
        {"batch_size": 4, "layer_norm": True},
    ],
)
def test_an_interrupted_run_ends_as_if_it_had_not_been(changes: dict) -> None:
    game = pyspiel.load_game("kuhn_poker")
    settings = KUHN.replace(strategy_training_steps=3, **changes)
    whole, first, second = (TabulatedDeepCFR(game, settings, seed=4) for _ in range(3))
    whole.run(6)
    first.run(4)
    second.set_state(first.get_state())
    second.run(2)
    for trainer in (whole, second):
        trainer.train_strategy_networks()
    assert same(whole.get_state(), second.get_state())


@pytest.mark.parametrize("changes", [{}, {"warm_start": False, "traversal": "algorithm3_biased"}])
def test_an_interrupted_run_of_a_large_game(changes: dict) -> None:
    game = pyspiel.load_game("python_toepen(suits=3,ranks=3,hand_size=3)")
    whole, first, second = (LargeDeepCFR(game, FEW.replace(**changes), seed=4) for _ in range(3))
    whole.run(5)
    first.run(3)
    second.set_state(first.get_state())
    second.run(2)
    for trainer in (whole, second):
        trainer.train_strategy_networks()
    assert same(whole.get_state(), second.get_state())


@pytest.mark.slow
@pytest.mark.parametrize("chunk_traversals", [None, 7])
def test_who_traverses_changes_nothing(chunk_traversals: int | None) -> None:
    game = pyspiel.load_game("python_coinche(suits=2,ranks=9JTA,hand_size=2,min_bid=50,max_bid=50,capot_value=0)")
    random = find_player("random", game)
    settings = FEW.replace(networks="team", chunk_traversals=chunk_traversals)
    states = []
    threads = torch.get_num_threads()
    for name in ("serial", "threads:2", "processes:2"):
        torch.set_num_threads(3 if name == "threads:2" else 1)
        with find_executor(name) as executor:
            trainer = LargeDeepCFR(game, settings, 5, [None, random, None, None], executor)
            trainer.run(2)
        states.append(trainer.get_state())
        assert (trainer.seconds_elsewhere > 0.0) == (name == "processes:2")
        assert torch.get_num_threads() == (3 if name == "threads:2" else 1)
        torch.set_num_threads(threads)
    assert same(states[0], states[1])
    assert same(states[0], states[2])


class Counting(Serial):
    """Keeps what it was asked to do."""

    def __init__(self) -> None:
        self.maps: list[list[Chunk]] = []

    def map(self, work: Any, items: Any, shared: Any) -> Any:
        self.maps.append(list(items))
        return super().map(work, self.maps[-1], shared)


def test_seats_that_share_a_network_are_traversed_in_one_map_of_settled_chunks() -> None:
    game = pyspiel.load_game("python_toepen(suits=3,ranks=3,hand_size=3)")
    counting = Counting()
    trainer = LargeDeepCFR(game, FEW.replace(traversals=256, chunk_traversals=16), 5, executor=counting)
    trainer.run(2)
    assert [len(chunks) for chunks in counting.maps] == [2 * 16, 2 * 16]
    assert len({chunk.path for chunks in counting.maps for chunk in chunks}) == 64
    other = LargeDeepCFR(game, FEW.replace(traversals=256, chunk_traversals=32), 5)
    with pytest.raises(ValueError, match="chunk_traversals"):
        other.set_state(trainer.get_state())


def test_checkpoints_of_something_else_are_refused() -> None:
    kuhn = TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), KUHN)
    state = kuhn.get_state()
    other_shape = TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), KUHN.replace(hidden_sizes=(8,)))
    other_game = TabulatedDeepCFR(pyspiel.load_game(TINY_TOEPEN), KUHN)
    for trainer in (other_shape, other_game):
        with pytest.raises(ValueError, match="the checkpoint is of"):
            trainer.set_state(state)
        assert trainer.iterations == 0


def test_networks_of_seats() -> None:
    teams = ((0, 2), (1, 3))
    assert networks_of_seats("seat", 4, teams) == [0, 1, 2, 3]
    assert networks_of_seats("team", 4, teams) == [0, 1, 0, 1]
    assert networks_of_seats("shared", 4, teams) == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="nobody has a partner"):
        networks_of_seats("team", 2, ())


@pytest.mark.slow
def test_a_large_game_is_learned() -> None:
    game = pyspiel.load_game(TINY_TOEPEN)
    settings = large_settings(traversal="external", traversals=100, networks="seat", training_steps=30, batch_size=256)
    trainer = LargeDeepCFR(game, settings, seed=1)
    uniform = nash_conv(game, openspiel_policy.UniformRandomPolicy(game))
    trainer.run(40)
    assert nash_conv(game, trainer.player().policy(game)) < 0.25 * uniform


@pytest.mark.slow
def test_partners_learn_against_fixed_opponents() -> None:
    """Coinche, one network for the team: only its seats traverse, and it comes to beat players who bid at random."""
    game = pyspiel.load_game("python_coinche(suits=2,ranks=9JTA,hand_size=2,min_bid=50,max_bid=50,capot_value=0)")
    random = random_player(game)
    opponents = [None, random, None, random]
    settings = FEW.replace(networks="team", traversal="external", traversals=50, training_steps=40, memory_rows=20_000)
    trainer = LargeDeepCFR(game, settings, seed=1, opponents=opponents)
    assert trainer.learning_seats == [0, 2]
    assert trainer.used_networks == [0]
    trainer.run(12)
    score = play_match(game, trainer.player(), random, 1500, seed=1).score
    assert score.mean > 5 * score.standard_error
    assert not trainer._strategies[1].seen
    with pytest.raises(ValueError, match="at least one None"):
        LargeDeepCFR(game, settings, opponents=[random] * 4)


SMALL_COINCHE = "python_coinche(suits=2,ranks=9JTA,hand_size=2,min_bid=50,max_bid=50,capot_value=0)"


def test_a_pool_sits_against_the_traverser_only() -> None:
    """Self-play and each player of the pool have their share; at the pool's tables only the own side learns."""
    game = pyspiel.load_game(SMALL_COINCHE)
    random = random_player(game)
    trainer = LargeDeepCFR(game, FEW.replace(networks="seat", traversals=7), seed=1, pool=[random, random])
    trainer._nodes_per_traversal[:] = 1e9  # one traversal a chunk
    assert trainer._sizes(0, False) == [(0, 1)] * 3 + [(1, 1)] * 2 + [(2, 1)] * 2
    for seat, own in ((0, {0, 2}), (3, {1, 3})):
        for company, seats in ((0, {0, 1, 2, 3}), (1, own), (2, own)):
            found = trainer.traverser.traverse(seat, 30, generator(1), company)
            assert {number for number, _ in found.regrets} == {seat}
            assert {number for number, _ in found.strategies} == seats - {seat}
    trainer.run(2)
    assert trainer.identity()["pool"] == ["random", "random"]
    with pytest.raises(ValueError, match="allowed: 3 or more, one for each player met"):
        LargeDeepCFR(game, FEW.replace(traversals=2), pool=[random, random])


def test_without_self_play_every_seat_learns_against_the_pool_alone() -> None:
    """Also with team networks: both teams learn, and the other team's decisions are nobody's."""
    game = pyspiel.load_game(SMALL_COINCHE)
    random = random_player(game)
    settings = FEW.replace(networks="team", traversals=7)
    trainer = LargeDeepCFR(game, settings, seed=1, pool=[random, random], self_play=False)
    assert trainer._shares() == [(1, 4), (2, 3)]
    trainer.run(12)
    assert trainer.used_networks == [0, 1]
    assert all(len(memory) for memory in trainer._regrets)
    score = play_match(game, trainer.player(), random, 1500, seed=1).score
    assert score.mean > 5 * score.standard_error
    assert trainer.identity() != LargeDeepCFR(game, settings, seed=1, pool=[random, random]).identity()
    with pytest.raises(ValueError, match="nobody to play"):
        LargeDeepCFR(game, settings, self_play=False)


@pytest.mark.slow
def test_a_player_learned_under_other_names_and_payoffs_sits_down_in_the_game(tmp_path: Path) -> None:
    """Suits under canonical names: two positions that a renaming of suits makes equal get equal answers."""
    game = pyspiel.load_game(SMALL_COINCHE)
    renamed = pyspiel.load_game(f"python_card_isomorphism(game={game})")
    trainer = LargeDeepCFR(renamed, FEW, seed=1)
    trainer.run(1)
    (tmp_path / "renamed").mkdir()
    save_player(trainer, tmp_path / "renamed", {})
    player = find_player(str(tmp_path / "renamed"), game)
    assert player.every_dealer
    assert play_match(game, player, random_player(game), 20).score.n == 20
    assert player.choose_rows is not None
    symmetry = game.rules.symmetry
    assert symmetry is not None
    batch = Batch(game.rules, 40, seed=3)
    states = batch.states.copy()
    turned = states.copy()
    for state, other in zip(states, turned, strict=True):
        symmetry.rename(state, np.array([1, 0, 2, 3]), other)
    rows = np.arange(len(states))
    answers = [player.choose_rows(many, rows, player_streams(1, 0, range(40))) for many in (states, turned)]
    for state, one, two in zip(states, *answers, strict=True):
        name = int(symmetry.rename_action(state, int(one), np.array([1, 0, 2, 3])))
        hand = [state[deck.DEALT + int(state[slots.TURN])] >> 8 * suit & 255 for suit in range(2)]
        assert name == two or hand[0] == hand[1]  # suits that are alike may be exchanged

    paid = pyspiel.load_game(SMALL_COINCHE.replace(")", ",reward=good,trick_reward=0.1)"))
    otherwise = LargeDeepCFR(paid, FEW, seed=1)
    otherwise.run(1)
    (tmp_path / "paid").mkdir()
    save_player(otherwise, tmp_path / "paid", {})
    assert play_match(game, find_player(str(tmp_path / "paid"), game), random_player(game), 5).score.n == 5
    with pytest.raises(UserError, match="is a player of"):
        find_player(str(tmp_path / "paid"), pyspiel.load_game("python_coinche"))


def test_the_networks_of_a_player_are_those_of_the_trainer() -> None:
    """numpy's products of the frozen networks against torch's, with skip connections and normalisation."""
    game = pyspiel.load_game(TINY_TOEPEN)
    shape = {"hidden_sizes": (16, 16), "strategy_hidden_sizes": (16, 16), "skip_connections": True, "layer_norm": True}
    trainer = LargeDeepCFR(game, FEW.replace(**shape), seed=2)
    trainer.run(2)
    trainer.train_strategy_networks()
    features = np.random.default_rng(1).normal(size=(30, game.rules.information_size)).astype(np.float32)
    for average, learners in (("current", trainer.learners), ("strategy", trainer.strategy_learners)):
        networks = networks_of(trainer, average)
        frozen = FrozenNetwork(networks.shape, networks.snapshots[0][0])
        assert np.abs(frozen(features)).max() > 0.01
        np.testing.assert_allclose(frozen(features), learners[0].evaluate(torch.from_numpy(features)), atol=1e-5)


def test_a_snapshot_is_kept_for_a_game() -> None:
    """Single Deep CFR: over many games of one player, its first actions are those of the mixture of all snapshots."""
    game = pyspiel.load_game(TINY_TOEPEN)
    trainer = LargeDeepCFR(game, FEW.replace(learning_rate=0.05), seed=3)
    trainer.run(4)
    state = game.new_initial_state()
    while state.is_chance_node() or len(state.legal_actions()) == 1:
        state.apply_action(state.legal_actions()[0])
    seat = state.current_player()
    player, deals = trainer.player(), 20_000
    states = np.repeat(state.array[None, :], deals, axis=0)
    assert player.choose_rows is not None
    chosen = player.choose_rows(states, np.arange(deals), player_streams(1, seat, range(deals)))
    policy = player.policy(game).action_probabilities(state)
    for action, probability in policy.items():
        assert (chosen == action).mean() == pytest.approx(probability, abs=4 * 0.5 / deals**0.5)


def test_a_greedy_player_plays_the_likeliest_action(tmp_path: Path) -> None:
    """Of the mean of all snapshots, taken here network by network at the first decision."""
    game = pyspiel.load_game(TINY_TOEPEN)
    trainer = LargeDeepCFR(game, FEW.replace(learning_rate=0.05), seed=3)
    trainer.run(4)
    trainer.train_strategy_networks()
    save_player(trainer, tmp_path, {})
    states = []
    for deal in range(30):
        state = game.new_initial_state()
        generator = np.random.default_rng(deal)
        while state.is_chance_node() or len(state.legal_actions()) == 1:
            state.apply_action(int(generator.choice(state.legal_actions())))
        states.append(state)
    arrays, rows = np.array([state.array for state in states]), np.arange(30)
    mean = NetworkPolicy(game, networks_of(trainer, "single"))  # before its first decision a seat reaches everything
    for average in ("single", "strategy"):
        player = find_player(f"{tmp_path}(average={average},greedy=true)", game)
        drawing = find_player(f"{tmp_path}(average=strategy)", game)
        assert player.probabilities_rows is not None
        assert drawing.probabilities_rows is not None
        for number, state in enumerate(states):
            chances = np.zeros(game.num_distinct_actions())
            for action, chance in mean.action_probabilities(state).items():
                chances[action] = chance
            if average == "strategy":
                chances = drawing.probabilities_rows(arrays, rows[number : number + 1])[0]
            found = player.probabilities_rows(arrays, rows[number : number + 1])[0]
            assert found.max() == 1.0
            assert found.sum() == 1.0
            assert chances[found.argmax()] == pytest.approx(chances.max())
        assert play_match(game, player, random_player(game), 5).score.n == 5


def test_players_are_saved_and_found(tmp_path: Path) -> None:
    game = pyspiel.load_game(TINY_TOEPEN)
    trainer = LargeDeepCFR(game, FEW, seed=1)
    with pytest.raises(ValueError, match="no network has been trained"):
        trainer.player()
    trainer.run(2)
    trainer.train_strategy_networks()
    save_player(trainer, tmp_path, {"command": "a test"})
    random = random_player(game)
    for average in ("single", "strategy"):
        found = find_player(f"{tmp_path}(average={average})", game)
        one, two = (play_match(game, player, random, 40).games[0] for player in (found, trainer.player(average)))
        assert one.states is not None
        assert (one.states == two.states).all()
    tied = pyspiel.load_game(f"python_card_isomorphism(game={game})")
    assert play_match(tied, find_player(str(tmp_path), tied), random_player(tied), 5).score.n == 5


def test_saved_networks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    game = pyspiel.load_game(TINY_TOEPEN)
    trainer = LargeDeepCFR(game, FEW, seed=1)
    trainer.run(1)
    save_player(trainer, tmp_path, {})
    for text, where, complaint in (
        (str(tmp_path), "python_toepen", "is a player of python_toepen.*, not of python_toepen"),
        (f"{tmp_path}(average=mean)", TINY_TOEPEN, "average is 'mean'; allowed: single, strategy"),
    ):
        with pytest.raises(UserError, match=complaint):
            find_player(text, pyspiel.load_game(where))
    with np.load(tmp_path / "networks.npz") as archive:
        arrays = dict(archive)
    for name, value, complaint in (
        ("single.0.snapshots", arrays["single.0.snapshots"][:, :-1], "has not .* finite weights"),
        ("single.0.snapshots", arrays["single.0.snapshots"] * np.nan, "has not .* finite weights"),
        ("single.0.places", arrays["single.0.places"] + 10**6, "names some that are not there"),
        ("network_of_seat", arrays["network_of_seat"] + 3, "a seat has no network"),
        ("network_of_seat", np.array([object()]), "damaged"),
    ):
        np.savez(tmp_path / "networks.npz", **{**arrays, name: value})
        with pytest.raises(UserError, match=complaint):
            find_player(str(tmp_path), game)
    (tmp_path / "networks.npz").write_bytes(b"PK nonsense")
    with pytest.raises(UserError, match="damaged"):
        find_player(str(tmp_path), game)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"memory_rows": None}, "memory_rows is None"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"loss": "one_sided"}, "loss is 'one_sided'"),
        ({"device": "abacus"}, "device is 'abacus'"),
        ({"alpha": 1.5}, "alpha and prediction change sums"),
        ({"prediction": True}, "alpha and prediction change sums"),
    ],
)
def test_settings_that_large_games_cannot_have(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LargeDeepCFR(pyspiel.load_game(TINY_TOEPEN), FEW.replace(**wrong))


def test_samples_cannot_be_discounted() -> None:
    with pytest.raises(ValueError, match="a sample of 20 rows cannot be discounted"):
        TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), KUHN.replace(alpha=1.5, memory_rows=20))


def test_games_without_rules_are_sent_elsewhere() -> None:
    with pytest.raises(ValueError, match="use TabulatedDeepCFR"):
        LargeDeepCFR(pyspiel.load_game("leduc_poker"))
