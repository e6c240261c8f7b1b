"""Trainers beside those of tests.solvers.learning.test_trainer, small enough to be tried often."""

from __future__ import annotations

from collections.abc import Callable

from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.alpha_zero.trainer import AlphaZeroTrainer
from solvers.deep_monte_carlo.settings import Settings as MonteCarloSettings
from solvers.deep_monte_carlo.trainer import DeepMonteCarlo
from solvers.environments import ME, seating_of
from solvers.learning.trainer import Trainer
from solvers.q_learning.settings import Settings
from solvers.q_learning.trainer import QLearning
from solvers.toepen.views import Abstraction
from solvers.toepen_deals import DealSolver
from tests.files.loaders import ours

FEW = Settings(
    context_sizes=(4,), head_sizes=(4,), games=8, chunk_games=8, memory_rows=100, training_steps=2, batch_size=8
)
FEW_SEARCHES = AlphaZeroSettings(games=2, searches=2, width=4, blocks=1, kept=2, batch_size=8)
WITH_MEMORIES: dict[str, Callable[[], Trainer]] = {
    "dqn": lambda: QLearning(ours(), "dqn", FEW, 1),
    "nfsp": lambda: QLearning(ours(), "nfsp", FEW, 1),
    "alpha zero": lambda: AlphaZeroTrainer(ours(), FEW_SEARCHES, 1),
}


def _ppo() -> Trainer:
    """Where the programs we compare with are installed."""
    from solvers.ppo.settings import Settings as PPOSettings
    from solvers.ppo.trainer import PPO

    settings = PPOSettings(num_envs=4, n_steps=8, batch_size=16, n_epochs=1, hidden_sizes=(4,))
    return PPO(ours(), seating_of(ours(), [ME, "random"]), settings, 1)


OTHERS: dict[str, Callable[[], Trainer]] = {
    "deals": lambda: DealSolver(ours(), Abstraction("other", "00112345")),
    "dmc": lambda: DeepMonteCarlo(ours(), MonteCarloSettings(context_sizes=(4,), head_sizes=(4,), games=8), 1),
    "ppo": _ppo,
}
