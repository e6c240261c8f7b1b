"""Steps a second of a game as an environment: on the compiled rules, and state by state through pyspiel.

Both play the same games: 64 deals of Coinche side by side, a learner who moves at random as North and South, `strong`
as East and West. They take turns in short rounds; the median of the rounds counts. What is timed is all that a learner
needs: observations, masks, rewards and new deals.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

import cardspiel  # noqa: F401
from cardtable.match import card_streams, dealt_around
from cardtable.spiel import CardGame, load_game
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from solvers.environments import ME, Environment, seating_of

GAME = "python_coinche(reward=good)"
SEATS = (ME, "strong", ME, "strong")
GAMES = 64
ROUNDS, QUICK_ROUNDS = 5, 1
STEPS, QUICK_STEPS = {"compiled rules": 2000, "state by state": 60}, {"compiled rules": 20, "state by state": 5}


class StateByState:
    """What `Environment` does, in the plain way: one pyspiel state after the other, others as bots."""

    def __init__(self, game: CardGame, seats: Sequence[str], num_envs: int, seed: int) -> None:
        self.game, self.num_envs, self._seed = game, num_envs, seed
        self._tables = dealt_around(game)
        self._learns = [name == ME for name in seats]
        self._players = seating_of(game, seats)
        self._bots: list[list[Any]] = [[] for _ in range(num_envs)]
        self._deals = list(range(num_envs))
        self._states = [self._next_game(env) for env in range(num_envs)]

    def _next_game(self, env: int) -> pyspiel.State:
        """The next deal in which the learner has a choice."""
        while True:
            deal = self._deals[env]
            table = self._tables[deal % len(self._tables)]
            dealt = table.rules.new_state()
            table.rules.kernel.deal(dealt, card_streams(self._seed, range(deal, deal + 1))[0])
            state = table.new_initial_state()
            state.follow_chance(dealt, lambda: 0.0)
            self._bots[env] = [p and p.bot(table, seat, self._seed) for seat, p in enumerate(self._players)]
            for bot in self._bots[env]:
                if bot is not None:
                    bot.start(deal)
            if not self._play_on(env, state).is_terminal():
                return state
            self._deals[env] += self.num_envs

    def _play_on(self, env: int, state: pyspiel.State) -> pyspiel.State:
        while not state.is_terminal():
            seat, legal = state.current_player(), state.legal_actions()
            if len(legal) > 1 and self._learns[seat]:
                break
            state.apply_action(legal[0] if len(legal) == 1 else self._bots[env][seat].step(state))
        return state

    def observations(self) -> np.ndarray:
        return np.array([state.information_state_tensor() for state in self._states], np.float32)

    def masks(self) -> np.ndarray:
        return np.array([state.legal_actions_mask() for state in self._states], np.bool_)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rewards, over = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        for env, action in enumerate(actions):
            state = self._states[env]
            state.apply_action(int(action))
            if self._play_on(env, state).is_terminal():
                rewards[env], over[env] = state.returns()[self._learns.index(True)], True
                self._deals[env] += self.num_envs
                self._states[env] = self._next_game(env)
        return rewards, over


def random_actions(masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return (generator.random(masks.shape) * masks).argmax(axis=1)


def steps_per_second(environment: Environment | StateByState, steps: int, seed: int) -> float:
    """CPU seconds; drawing the actions is not counted."""
    generator, seconds = np.random.default_rng(seed), 0.0
    for _ in range(steps):
        actions = random_actions(environment.masks(), generator)
        start = time.process_time()
        environment.step(actions)
        environment.observations()
        environment.masks()
        seconds += time.process_time() - start
    return steps * environment.num_envs / seconds


def run(directory: RunDirectory, quick: bool) -> None:
    game = load_game(GAME)
    contestants: dict[str, Environment | StateByState] = {
        "compiled rules": Environment(game, seating_of(game, SEATS), GAMES),
        "state by state": StateByState(game, SEATS, GAMES, seed=1),
    }
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for environment in contestants.values():
        steps_per_second(environment, 2, 0)  # compiles
    for number in range(QUICK_ROUNDS if quick else ROUNDS):
        for name, environment in contestants.items():
            found[name].append(steps_per_second(environment, (QUICK_STEPS if quick else STEPS)[name], number))
    plain = statistics.median(found["state by state"])
    rows: list[dict[str, Any]] = [
        {
            "environment": name,
            "steps a second": round(statistics.median(rates)),
            "lowest": round(min(rates)),
            "highest": round(max(rates)),
            "times": round(statistics.median(rates) / plain, 1),
        }
        for name, rates in found.items()
    ]
    title = f"{GAMES} games of {GAME} side by side, one core"
    tables.show(title, rows)
    write_csv(directory.path / "environments.csv", rows)
    directory.write_report(f"# {title}\n\n{tables.markdown(rows)}\n")
    tables.console.print(f"Written to {directory.path}: environments.csv, report.md")
