"""Proximal policy optimisation with masked actions, as a Trainer.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal policy optimization algorithms" (2017): decisions of the
present policy are weighed by their advantages, and the policy is moved towards the good ones as long as the ratio
r = new / old probability stays close to one:

    loss = - mean of min( r * advantage, clip(r, 1 - clip_range, 1 + clip_range) * advantage ) + value and entropy terms

Illegal actions have probability zero (Huang and Ontanon 2022). The algorithm is sb3-contrib's MaskablePPO; what is ours
is the environment, the same update with less work (`LeanMaskablePPO`), and that a run can be resumed bit by bit from
plain arrays: sb3's own files are pickles. The random numbers of an iteration depend on the seed and its number only.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from cardtable.parameters import require_whole
from cardtable.player import Player
from cardtable.spiel import CardGame
from solvers.environments import Environment, Progress
from solvers.learning.company import Seating
from solvers.learning.states import require_numbers, require_state
from solvers.learning.trainer import game_identity, require_iterations
from solvers.ppo.players import Layers, policy_player
from solvers.ppo.settings import Settings
from solvers.ppo.vec_env import GameVecEnv

MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam
BUFFERED = ("observations", "actions", "log_probs", "advantages", "returns", "action_masks")  # what an update reads
HUGE_NEGATIVE = -1e8  # sb3-contrib's logit of an illegal action


@contextlib.contextmanager
def _unchecked_distributions() -> Iterator[None]:
    """torch looks at every distribution for numbers that are none: a tenth of the time of an iteration."""
    before = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(before)


class LeanMaskablePPO(MaskablePPO):
    """sb3-contrib's MaskablePPO, whose update does each piece of work once.

    The minibatches, the loss and the steps are those of MaskablePPO, up to rounding; a test compares the two. There a
    minibatch is copied twice, its logits are normalised three times, and the entropy is worked out where nobody asks
    for it.
    """

    def train(self) -> None:
        policy, buffer = self.policy, self.rollout_buffer
        policy.set_training_mode(True)
        self._update_learning_rate(policy.optimizer)
        clip_range = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        flat = {name: torch.from_numpy(buffer.swap_and_flatten(getattr(buffer, name))) for name in BUFFERED}
        illegal = flat["action_masks"] == 0.0
        parameters = list(policy.parameters())
        for _ in range(self.n_epochs):
            order = torch.from_numpy(np.random.permutation(len(illegal)))  # noqa: NPY002, RUF100
            for rows in order.split(self.batch_size):  # type: ignore[no-untyped-call, unused-ignore]
                latent_policy, latent_value = policy.mlp_extractor(flat["observations"].index_select(0, rows))
                values = policy.value_net(latent_value).flatten()
                logits = policy.action_net(latent_policy).masked_fill(illegal[rows], HUGE_NEGATIVE)
                log_probabilities = torch.log_softmax(logits, dim=1)
                chosen = log_probabilities.gather(1, flat["actions"][rows].long()).flatten()
                advantages = flat["advantages"][rows].flatten()
                advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
                ratio = torch.exp(chosen - flat["log_probs"][rows].flatten())
                clipped = torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
                loss = -torch.min(advantages * ratio, advantages * clipped).mean()
                loss = loss + self.vf_coef * torch.nn.functional.mse_loss(values, flat["returns"][rows].flatten())
                if self.ent_coef:
                    terms = (log_probabilities.exp() * log_probabilities).masked_fill(illegal[rows], 0.0)
                    loss = loss + self.ent_coef * terms.sum(dim=1).mean()
                policy.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, self.max_grad_norm)
                policy.optimizer.step()
            self._n_updates += 1


class PPO:
    """Learns to play the seats that are None in `seating`, against the players in the others."""

    def __init__(
        self,
        game: CardGame,
        seating: Seating,
        settings: Settings | None = None,
        seed: int = 1,
        progress: Progress | None = None,
    ) -> None:
        require_whole("seed", seed, 0)
        self.game, self.settings, self.seed = game, settings or Settings(), seed
        self.iterations = 0
        self._seating = [None if player is None else player.name for player in seating]
        self.environment = Environment(game, seating, self.settings.num_envs, seed, progress=progress)
        self._seed_libraries()
        self._model = self._new_model()
        self._model._last_episode_starts = np.ones(self.settings.num_envs, np.bool_)

    def _new_model(self) -> LeanMaskablePPO:
        chosen = dataclasses.asdict(self.settings)
        del chosen["num_envs"]
        hidden = list(chosen.pop("hidden_sizes"))
        network = {"net_arch": {"pi": hidden, "vf": hidden}, "optimizer_kwargs": {"eps": 1e-5, "fused": True}}
        model = LeanMaskablePPO(
            "MlpPolicy", GameVecEnv(self.environment), policy_kwargs=network, device="cpu", **chosen
        )
        model.set_logger(Logger(None, []))
        return model

    def _seed_libraries(self) -> None:
        """stable-baselines3 draws from the generators that torch and numpy share with everybody."""
        words = np.random.SeedSequence(self.seed, spawn_key=(7, self.iterations)).generate_state(2)
        torch.manual_seed(int(words[0]))
        np.random.seed(int(words[1]))  # noqa: NPY002, RUF100

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        if iterations == 0:
            self._rehearse()
        with _unchecked_distributions():
            for _ in range(iterations):
                self._seed_libraries()
                self._model._last_obs = self.environment.observations()
                decisions = self.settings.num_envs * self.settings.n_steps
                self._model.learn(decisions, reset_num_timesteps=False)
                self.iterations += 1

    def _rehearse(self) -> None:
        """A step of the environment, so that everything is compiled; taken back."""
        state = self.environment.get_state()
        self.environment.step(self.environment.masks().argmax(axis=1))
        self.environment.observations()
        self.environment.set_state(state)

    @property
    def decisions(self) -> int:
        """All decisions of the learner so far: stable-baselines3 calls them time steps."""
        return self.iterations * self.settings.num_envs * self.settings.n_steps

    def metrics(self) -> dict[str, float]:
        return {"decisions": self.decisions}

    def identity(self) -> dict[str, Any]:
        chosen = {**dataclasses.asdict(self.settings), "hidden_sizes": list(self.settings.hidden_sizes)}
        return {
            "solver": "ppo",
            **game_identity(self.game),
            "seating": self._seating,
            "seed": self.seed,
            **chosen,
        }

    def layers(self) -> Layers:
        """The policy network."""
        policy = self._model.policy
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
        linear = [module for module in modules if isinstance(module, torch.nn.Linear)]
        return [(layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in linear]

    def player(self) -> Player:
        return policy_player("ppo", self.game, self.layers())

    # ------------------------------------------------------------------------------------------ checkpoints

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"iterations": self.iterations, **self.environment.get_state()}
        state["episode_starts"] = np.array(self._model._last_episode_starts, np.bool_)
        adam = self._model.policy.optimizer.state
        for name, parameter in self._model.policy.named_parameters():
            state[f"weights.{name}"] = parameter.detach().numpy().copy()
            for moment in MOMENTS:
                kept = adam[parameter][moment] if parameter in adam else torch.zeros_like(parameter)
                state[f"{moment}.{name}"] = kept.detach().numpy().copy()
        state["adam_steps"] = int(next(iter(adam.values()))["step"]) if adam else 0
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        own = self.get_state()
        require_state(state, own)
        for name in own:
            if name.startswith("exp_avg_sq."):
                require_numbers(name, state[name].astype(np.float64), 0, np.finfo(np.float32).max)  # type: ignore[arg-type]
        self.environment.set_state(state)
        self.iterations = int(state["iterations"])
        self._model._last_episode_starts = state["episode_starts"].copy()
        adam = self._model.policy.optimizer.state
        steps = int(state["adam_steps"])
        adam.clear()
        for name, parameter in self._model.policy.named_parameters():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(state[f"weights.{name}"]))
            if steps > 0:
                moments = {moment: torch.from_numpy(state[f"{moment}.{name}"].copy()) for moment in MOMENTS}
                adam[parameter] = {"step": torch.tensor(float(steps)), **moments}
