"""Double DQN and NFSP: what they learn from, that they learn, and that they go on bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch

import cardspiel  # noqa: F401 registers our games
from cardtable.match import Estimate, play_games
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.search.action_values import shape_for
from solvers.learning.action_learner import Batch
from solvers.learning.actor import Acting, Chunk, Mind
from solvers.learning.trainer import Trainer
from solvers.q_learning.lessons import Lessons, collect
from solvers.q_learning.memory import Ring
from solvers.q_learning.settings import Settings
from solvers.q_learning.trainer import QLearning, likelihood_gradient
from tests.test_players import check_player

SMALL = Settings(
    context_sizes=(16,), head_sizes=(8,), games=12, chunk_games=5, memory_rows=300, training_steps=3, batch_size=16
)


def test_rewards_of_a_game_sum_to_its_return() -> None:
    game = pyspiel.load_game("python_cego")
    shape = shape_for(game.rules, (4,), (4,), 0.0)
    mind = Mind(shape, np.zeros(shape.num_weights, np.float32), epsilon=1.0)
    acting = Acting(game, [mind], [(None,) * 4], seed=3)
    paid_at_the_end = collect(Lessons(acting, 0), Chunk(10, 0, (1,)))
    last = paid_at_the_end.next_count == 0
    assert last.sum() == 40  # one for each seat of each game
    assert (paid_at_the_end.reward[~last] == 0).all()
    shaped = collect(Lessons(acting, 3), Chunk(10, 0, (1,)))
    ends = np.flatnonzero(last)
    starts = np.concatenate([[0], ends[:-1] + 1])
    sums = np.add.reduceat(shaped.reward, starts)
    potential = paid_at_the_end.reward[ends] - sums  # of the first decision of each seat
    assert np.abs(potential - 39.5).max() < 40
    actions = np.empty(game.num_distinct_actions(), np.int64)
    for row in np.flatnonzero(~last)[:50]:
        kernel = game.rules.kernel
        assert kernel.current_player(shaped.next[row]) == kernel.current_player(shaped.state[row])
        assert kernel.legal_actions(shaped.next[row], actions) == shaped.next_count[row] > 1


def test_likelihood_gradient_is_that_of_torch() -> None:
    counts, places = np.array([3, 1, 4]), np.array([2, 0, 1])
    row_of = torch.from_numpy(np.repeat(np.arange(3), counts))
    values = torch.randn(8, generator=torch.Generator().manual_seed(1), requires_grad=True)
    parts = torch.split(values, counts.tolist())
    logs = [torch.log_softmax(part, 0)[place] for part, place in zip(parts, places, strict=True)]
    (-torch.stack(logs).sum() / 3).backward()
    batch = Batch(torch.zeros(3, 1), torch.zeros(8, 1), row_of)
    torch.testing.assert_close(likelihood_gradient(batch, counts, places)(values.detach()), values.grad)


def test_a_reservoir_is_an_even_sample_and_a_ring_has_the_latest() -> None:
    random = np.random.default_rng(1)
    reservoir, ring = (Ring(200, {"number": (np.int64, ())}, reservoir) for reservoir in (True, False))
    for start in range(0, 2000, 100):
        for memory in (reservoir, ring):
            memory.add({"number": np.arange(start, start + 100)}, random)
    assert sorted(ring.arrays["number"]) == list(range(1800, 2000))
    held = reservoir.arrays["number"]
    assert len(np.unique(held)) == 200
    assert abs(held.mean() - 1000) < 4 * 577 / np.sqrt(200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dqn", "nfsp"])
def test_learns_and_is_saved(kind: str, tmp_path: Path) -> None:
    game = pyspiel.load_game("python_cego(subgame=bettel)")
    sizes: dict[str, Any] = {"context_sizes": (32,), "head_sizes": (16,), "batch_size": 128, "averaging": 0.98}
    random = find_player("random", game)
    chosen = Settings(**sizes, learning_rate=4e-3, policy_learning_rate=1e-2, epsilon_decisions=20_000)
    trainer = QLearning(game, kind, chosen, 1, [(random, None, None, None)])  # type: ignore[arg-type]
    assert isinstance(trainer, Trainer)
    trainer.run(10)
    player = trainer.player()
    mine = Estimate.of(play_games(game, [random, player, player, player], 4000, 7).returns[:, 0])
    theirs = Estimate.of(play_games(game, [random] * 4, 4000, 7).returns[:, 0])
    assert mine.high < theirs.low
    trainer.save_player(tmp_path, {})
    check_player(game, find_player(str(tmp_path), game))
    if kind == "nfsp":
        with pytest.raises(UserError, match="is a policy"):
            find_player(f"{tmp_path}(worlds=3)", game)


@pytest.mark.parametrize("kind", ["dqn", "nfsp"])
def test_goes_on_bit_by_bit(kind: str) -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    make = lambda: QLearning(game, kind, SMALL, 4)  # type: ignore[arg-type] # noqa: E731
    straight, half, resumed = make(), make(), make()
    straight.run(4)
    half.run(0)
    half.run(2)
    resumed.set_state(half.get_state())
    resumed.run(2)
    wanted, found = straight.get_state(), resumed.get_state()
    assert wanted.keys() == found.keys()
    assert all(np.array_equal(wanted[name], found[name]) for name in wanted if name != "identity")
    damaged = {**half.get_state(), "memory.added": 7}
    with pytest.raises(ValueError, match="as many rows"):
        make().set_state(damaged)


def test_impossible_settings_are_refused() -> None:
    for wrong in ({"gamma": 2.0}, {"learning_rate": 0.0}, {"memory_rows": 0}, {"anticipatory": -0.1}):
        with pytest.raises(UserError, match="allowed"):
            Settings(**wrong)
