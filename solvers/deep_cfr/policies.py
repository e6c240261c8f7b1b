"""What a trainer of a large game has learned, as a player: in batches, as an OpenSpiel policy, and as a bot.

Which network plays is called the *average*:

* `single`, Single Deep CFR: for each game, each network is a stored snapshot of itself, drawn once and kept for the
  game;
* `strategy`: the strategy network;
* `current`: the last iterate, which does not converge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyspiel
import torch
from open_spiel.python import policy as openspiel_policy

from cardtable.randomness import below, generator
from solvers.deep_cfr.large import LargeDeepCFR
from solvers.deep_cfr.levels import LevelTraverser
from solvers.deep_cfr.sampling import regret_matching
from solvers.learning.networks import Learner

Average = Literal["single", "strategy", "current"]
AVERAGES = ("single", "strategy", "current")


class FinishedGames(NamedTuple):
    states: np.ndarray
    returns: np.ndarray  # (games, players)


def learners_of(trainer: LargeDeepCFR, average: str) -> list[Learner]:
    """The networks that an average is made of; ValueError if there are none."""
    if average not in AVERAGES:
        raise ValueError(f"average is {average!r}; allowed: {', '.join(AVERAGES)}")
    if average == "strategy":
        if not trainer.strategy_learners:
            raise ValueError("average is 'strategy', but the trainer's settings have no strategy network")
        return trainer.strategy_learners
    if average == "single" and trainer.iterations == 0:
        raise ValueError("average is 'single', but no network has been trained yet")
    return trainer.learners


def play_games(
    trainer: LargeDeepCFR,
    games: int,
    seed: int,
    average: Average = "single",
    opponents: Sequence[Callable | None] | None = None,
    draws: int = 16,
) -> FinishedGames:
    """Plays whole games side by side. `opponents` are as in the trainer, whose own are the default.

    Single Deep CFR draws new snapshots for each of `draws` equal parts of the games.
    """
    learners = learners_of(trainer, average)
    seats = trainer.opponents if opponents is None else list(opponents)
    random_numbers = generator(seed)
    parts = min(draws, games) if average == "single" else 1
    finished = []
    for part in range(parts):
        size = games // parts + (1 if part < games % parts else 0)
        playing = _drawn(trainer, random_numbers) if average == "single" else learners
        finished.append(_play(trainer, size, playing, seats, random_numbers, average == "strategy"))
    return FinishedGames(*(np.concatenate(arrays) for arrays in zip(*finished, strict=True)))


def _drawn(trainer: LargeDeepCFR, random_numbers: np.ndarray) -> list[Learner]:
    """Each network as one of its snapshots."""
    learners = []
    for learner, snapshots in zip(trainer.learners, trainer.snapshots, strict=True):
        copy = learner.copy()
        copy.set_weights(snapshots.weights[below(random_numbers, len(snapshots.weights))])
        learners.append(copy)
    return learners


def _play(
    trainer: LargeDeepCFR,
    games: int,
    learners: Sequence[Learner],
    opponents: Sequence[Callable | None],
    random_numbers: np.ndarray,
    softmax: bool,
) -> FinishedGames:
    binary = trainer.traverser.binary
    engine = LevelTraverser(trainer.rules, learners, trainer.network_of_seat, opponents, binary=binary)
    states = engine.deal(games, random_numbers)
    while True:
        players, _, offsets, legal, _ = engine.settle(states, 0, random_numbers)
        if len(legal) == 0:
            break
        order, starts, features = engine.encode(states, players)
        outputs = engine.outputs(features, starts)
        engine.act(states, outputs, order, offsets, legal, softmax, random_numbers)
    return FinishedGames(states, engine.returns(states))


class NetworkPolicy(openspiel_policy.Policy):
    """A trainer's average as an OpenSpiel policy, which looks at information states as they are asked for.

    The behaviour of Single Deep CFR at an information state is the mean over snapshots of their strategies, each
    weighted by how likely it would have been to get there: the history is replayed for that.
    """

    def __init__(self, trainer: LargeDeepCFR, average: Average = "single") -> None:
        super().__init__(trainer.game, list(range(trainer.game.num_players())))
        self._learners = learners_of(trainer, average)
        self._trainer = trainer
        self._average = average

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        if len(legal) <= 1:
            return dict.fromkeys(legal, 1.0)
        number = self._trainer.network_of_seat[player]
        if self._average == "single":
            found = self._mixture(state, player, legal, number)
        else:
            features = self._features([state], player)
            outputs = self._learners[number].evaluate(self._learners[number].to_device(features))[0]
            found = probabilities(outputs, legal, self._average == "strategy")
        return dict(zip(legal, found.tolist(), strict=True))

    def _features(self, states: Sequence[pyspiel.State], player: int) -> np.ndarray:
        rules = self._trainer.rules
        features = np.zeros((len(states), rules.information_size), np.float32)
        for row, state in zip(features, states, strict=True):
            rules.kernel.information_tensor(state.array, player, row)
        return features

    def _mixture(self, state: pyspiel.State, player: int, legal: list[int], number: int) -> np.ndarray:
        earlier, choices = _own_decisions(state, player)
        learner = self._learners[number].copy()
        features = learner.to_device(self._features([*earlier, state], player))
        snapshots = self._trainer.snapshots[number]
        weighted, plain = np.zeros(len(legal)), np.zeros(len(legal))
        distinct, places, counts = np.unique(snapshots.iteration, return_index=True, return_counts=True)
        for place, count in zip(places[distinct > 0], counts[distinct > 0], strict=True):
            learner.set_weights(snapshots.weights[place])
            outputs = learner.evaluate(features)
            reach = float(count)
            for row, (before, action) in enumerate(zip(earlier, choices, strict=True)):
                options = before.legal_actions()
                reach *= probabilities(outputs[row], options, softmax=False)[options.index(action)]
            now = probabilities(outputs[-1], legal, softmax=False)
            weighted += reach * now
            plain += count * now
        # Where no snapshot would have come, any behaviour will do.
        return weighted / weighted.sum() if weighted.sum() > 0.0 else plain / plain.sum()


def _own_decisions(state: pyspiel.State, player: int) -> tuple[list[pyspiel.State], list[int]]:
    """The earlier states in which `player` had a choice, and what was chosen."""
    walk = state.get_game().new_initial_state()
    states, actions = [], []
    for action in state.history():
        if walk.current_player() == player and len(walk.legal_actions()) > 1:
            states.append(walk.clone())
            actions.append(action)
        walk.apply_action(action)
    return states, actions


class NetworkBot(pyspiel.Bot):
    """One seat played by a trainer's average. Single Deep CFR draws its snapshot when a game starts."""

    def __init__(self, trainer: LargeDeepCFR, player_id: int, average: Average = "single", seed: int = 0) -> None:
        super().__init__()
        self._number = trainer.network_of_seat[player_id]
        self._learner = learners_of(trainer, average)[self._number].copy()
        self._trainer = trainer
        self._player_id = player_id
        self._average = average
        self._random = np.random.default_rng(seed)
        self.restart()

    def player_id(self) -> int:
        return self._player_id

    def restart(self) -> None:
        if self._average == "single":
            snapshots = self._trainer.snapshots[self._number].weights
            self._learner.set_weights(snapshots[self._random.integers(len(snapshots))])

    def restart_at(self, state: pyspiel.State) -> None:
        self.restart()

    def step(self, state: pyspiel.State) -> int:
        legal = state.legal_actions()
        features = np.zeros((1, self._trainer.rules.information_size), np.float32)
        self._trainer.rules.kernel.information_tensor(state.array, self._player_id, features[0])
        outputs = self._learner.evaluate(self._learner.to_device(features))[0]
        return int(self._random.choice(legal, p=probabilities(outputs, legal, self._average == "strategy")))


def probabilities(outputs: np.ndarray, legal: Sequence[int], softmax: bool) -> np.ndarray:
    """A network's outputs at one information state as probabilities of the legal actions."""
    found = np.asarray(outputs, np.float64)[list(legal)]
    if softmax:
        return torch.softmax(torch.from_numpy(found), dim=0).numpy()
    regret_matching(found, len(found))
    return found
