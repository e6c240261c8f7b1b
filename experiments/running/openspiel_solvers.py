"""OpenSpiel's own solvers as trainers, so that runners treat them as they treat ours.

Checkpoints hold plain values only. The numbers of the Python solvers are taken out of and put back into the places
where those keep them; the C++ solvers write and read a text of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import external_sampling_mccfr

from cardtable.player import Player, policy_player
from solvers.learning.trainer import CannotResumeError, game_identity, require_iterations


class OpenSpielSolver(ABC):
    """One of OpenSpiel's solvers; `step` is the name of its method for one iteration."""

    def __init__(self, game: pyspiel.Game, solver: Any, step: str) -> None:
        self.game = game
        self.iterations = 0
        self._solver = solver
        self._step = step

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        step = getattr(self._solver, self._step)
        for _ in range(iterations):
            step()
        self.iterations += iterations

    def average_policy(self) -> openspiel_policy.Policy:
        return self._solver.average_policy()

    def player(self) -> Player:
        return policy_player("openspiel", self.game, self.average_policy())

    def metrics(self) -> dict[str, float]:
        """Nothing: the runner evaluates all policies alike."""
        return {}

    def identity(self) -> dict[str, Any]:
        kind = type(self._solver)
        return {**game_identity(self.game), "solver": f"OpenSpiel's {kind.__module__}.{kind.__qualname__}"}

    def get_state(self) -> dict[str, Any]:
        return {"identity": self.identity(), "iterations": self.iterations, **self._numbers()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        if state.get("identity") != self.identity():
            raise ValueError(f"the solver state is one of {state.get('identity')}, not of {self.identity()}")
        self._set_numbers(state)
        self.iterations = int(state["iterations"])

    @abstractmethod
    def _numbers(self) -> dict[str, Any]:
        """What the solver has added up so far."""

    @abstractmethod
    def _set_numbers(self, state: Mapping[str, Any]) -> None: ...


class PythonCFR(OpenSpielSolver):
    """CFR and CFR+ in Python, which list the information states of the game in an order of their own."""

    def __init__(self, game: pyspiel.Game, make: type) -> None:
        super().__init__(game, make(game), "evaluate_and_update_policy")

    def _cells(self) -> list[tuple[Any, int]]:
        return [(node, action) for node in self._solver._info_state_nodes.values() for action in node.legal_actions]

    def _numbers(self) -> dict[str, Any]:
        cells = self._cells()
        return {
            "regrets": np.array([node.cumulative_regret[action] for node, action in cells]),
            "plans": np.array([node.cumulative_policy[action] for node, action in cells]),
            "strategy": self._solver._current_policy.action_probability_array.copy(),
        }

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        for (node, action), regret, plan in zip(self._cells(), state["regrets"], state["plans"], strict=True):
            node.cumulative_regret[action] = float(regret)
            node.cumulative_policy[action] = float(plan)
        self._solver._current_policy.action_probability_array[:] = state["strategy"]
        self._solver._iteration = int(state["iterations"])  # the weight of linear averages


class PythonExternalSampling(OpenSpielSolver):
    """External sampling in Python, which meets information states as it goes and draws from numpy's global numbers."""

    def __init__(self, game: pyspiel.Game, seed: int) -> None:
        np.random.seed(seed)
        super().__init__(game, external_sampling_mccfr.ExternalSamplingSolver(game), "iteration")

    def _numbers(self) -> dict[str, Any]:
        table = self._solver._infostates
        name, words, position, has_gauss, gauss = np.random.get_state()
        return {
            "information_states": list(table),
            "num_actions": np.array([len(regrets) for regrets, _ in table.values()], np.int64),
            "numbers": np.concatenate([np.zeros((2, 0)), *(np.stack(row) for row in table.values())], axis=1),
            "numpy": [name, position, has_gauss, gauss],
            "numpy_words": words,
        }

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        rows = np.split(np.asarray(state["numbers"]), np.cumsum(state["num_actions"])[:-1], axis=1)
        named = zip(state["information_states"], rows, strict=False)  # none at all still splits into one empty row
        self._solver._infostates.clear()
        self._solver._infostates.update({name: [row[0].copy(), row[1].copy()] for name, row in named})
        name, position, has_gauss, gauss = state["numpy"]
        np.random.set_state((name, state["numpy_words"], position, has_gauss, gauss))


class CppSolver(OpenSpielSolver):
    """A solver in C++, random numbers included."""

    def average_policy(self) -> openspiel_policy.Policy:
        return CppPolicy(self.game, self._solver)

    def _numbers(self) -> dict[str, Any]:
        return {"text": self._solver.__getstate__()}

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        kind: Any = type(self._solver)
        solver = kind.__new__(kind)
        solver.__setstate__(state["text"])
        self._solver = solver


class CppCFRPlus(CppSolver):
    """Read back from its own text, OpenSpiel 2.0.2's CFR+ keeps negative regrets and forgets linear averaging."""

    def _numbers(self) -> dict[str, Any]:
        raise CannotResumeError("OpenSpiel's CFRPlusSolver is plain CFR when it is read back, so it cannot be resumed")

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        self._numbers()


class CppPolicy(openspiel_policy.Policy):
    """A C++ policy as a Python one. Holds on to its solver: the policy dies with it."""

    def __init__(self, game: pyspiel.Game, solver: Any) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._solver = solver
        self._cpp = solver.average_policy()

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        return self._cpp.action_probabilities(state)
