"""Hyper-parameters of PPO, under the names that stable-baselines3 gives them; the defaults are the Coinche paper's.

They are stable-baselines3's own but for `num_envs`, `n_steps` and `batch_size`.
"""

from __future__ import annotations

from dataclasses import dataclass

from solvers.learning.settings import check_fields, setting


@dataclass(frozen=True)
class Settings:
    """One iteration plays `num_envs * n_steps` decisions and goes through them `n_epochs` times."""

    num_envs: int = setting(64, "games played side by side", lowest=1, highest=100_000)
    n_steps: int = setting(512, "decisions in each environment before an update", lowest=2, highest=1_000_000)
    batch_size: int = setting(512, "decisions of a minibatch", lowest=2)
    n_epochs: int = setting(10, "passes over the decisions of an iteration", lowest=1, seconds_each=1e-5)
    learning_rate: float = setting(3e-4, "step size of Adam", lowest=0)
    gamma: float = setting(0.99, "discount of a decision")
    gae_lambda: float = setting(0.95, "bias against variance of the advantages")
    clip_range: float = setting(0.2, "how far the ratio of new to old probabilities counts")
    ent_coef: float = setting(0.0, "weight of the entropy in the loss")
    vf_coef: float = setting(0.5, "weight of the value in the loss")
    max_grad_norm: float = setting(0.5, "longest gradient")
    hidden_sizes: tuple[int, ...] = setting((64, 64), "hidden layers of policy and value")

    def __post_init__(self) -> None:
        check_fields(self)
