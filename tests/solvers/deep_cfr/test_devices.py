"""Whole trainers on another device: nothing may stay behind on the CPU.

torch's meta device has no numbers, but refuses to mix with tensors of another device. What comes back from a device is
replaced by zeros, since there is nothing to bring back.
"""

from typing import Any

import numpy as np
import pyspiel
import pytest
import torch

import cardspiel  # noqa: F401 registers the games
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.levels import LevelTraverser
from solvers.deep_cfr.settings import Settings
from solvers.deep_cfr.trainer import TabulatedDeepCFR
from solvers.learning.networks import Learner

TOEPEN = "python_toepen(suits=2,ranks=2,hand_size=2)"
SMALL: dict[str, Any] = {
    "hidden_sizes": (8, 8),
    "strategy_hidden_sizes": (8,),
    "training_steps": 2,
    "strategy_training_steps": 2,
}
LARGE = {
    **SMALL,
    "traversals": 10,
    "batch_size": 16,
    "strategy_batch_size": 16,
    "memory_rows": 100,
    "strategy_memory_rows": 100,
}


@pytest.mark.parametrize(
    "changes", [{}, {"batch_size": 4, "strategy_batch_size": 4}, {"warm_start": False, "layer_norm": True}]
)
def test_an_enumerated_game_on_another_device(changes: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_known(learner: Learner, features: torch.Tensor) -> np.ndarray:
        return np.zeros(learner.forward(features).shape, np.float32)

    monkeypatch.setattr(Learner, "evaluate", nothing_known)
    settings = Settings(**SMALL, traversals=50, device="meta", **changes)
    trainer = TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), settings)
    trainer.run(2)
    trainer.train_strategy_networks()
    assert all(learner.network.output.weight.device.type == "meta" for learner in trainer.learners)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"warm_start": False, "layer_norm": True, "skip_connections": True}])
def test_a_large_game_on_another_device(changes: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = LevelTraverser.outputs

    def nothing_known(traverser: LevelTraverser, features: np.ndarray, starts: np.ndarray) -> np.ndarray:
        with pytest.raises(NotImplementedError, match="meta"):  # only when the outputs are to come back
            evaluate(traverser, features, starts)
        return np.zeros((len(features), traverser.rules.num_distinct_actions), np.float32)

    monkeypatch.setattr(LevelTraverser, "outputs", nothing_known)
    trainer = LargeDeepCFR(pyspiel.load_game(TOEPEN), large_settings(**LARGE, device="meta", **changes))
    with pytest.raises(RuntimeError, match="item"):  # the loss is read when all steps are done
        trainer.run(1)
    trainer.train_strategy_networks()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_learns_like_the_cpu() -> None:
    game = pyspiel.load_game("kuhn_poker")
    for device in ("cpu", "cuda"):
        trainer = TabulatedDeepCFR(game, Settings(traversals=500, strategy_network=False, device=device), seed=1)
        trainer.run(100)
        assert trainer.nash_conv(trainer.average_table()) < 0.1
        large = LargeDeepCFR(pyspiel.load_game(TOEPEN), large_settings(**LARGE, device=device), seed=1)
        large.run(2)
        assert np.isfinite(large.loss)
