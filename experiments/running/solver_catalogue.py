"""All solvers by name, behind one small interface, so that runners treat ours and OpenSpiel's alike."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import external_sampling_mccfr

from solvers.cfr import CFRSolver
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver


class Solver(Protocol):
    """What a runner needs. Iterations count from the start, also after `set_state`."""

    def run(self, iterations: int) -> None: ...
    def average_policy(self) -> openspiel_policy.Policy: ...
    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, state: dict[str, Any]) -> None: ...


class OpenSpielSolver:
    """One of OpenSpiel's own solvers. Its checkpoint is OpenSpiel's pickle of it."""

    def __init__(self, game: pyspiel.Game, solver: Any, step: str, policy: Callable[[Any], Any]) -> None:
        self.game = game
        self._solver = solver
        self._step = step
        self._policy = policy

    def run(self, iterations: int) -> None:
        step = getattr(self._solver, self._step)
        for _ in range(iterations):
            step()

    def average_policy(self) -> openspiel_policy.Policy:
        return self._policy(self)

    @property
    def solver(self) -> Any:
        return self._solver

    def get_state(self) -> dict[str, Any]:
        state = {"pickle": np.frombuffer(pickle.dumps(self._solver), np.uint8).copy()}
        name, words, position, has_gauss, gauss = np.random.get_state()  # Python's MCCFR draws from numpy's global one
        return {**state, "numpy": [name, position, has_gauss, gauss], "numpy_words": words}

    def set_state(self, state: dict[str, Any]) -> None:
        self._solver = pickle.loads(state["pickle"].tobytes())
        name, position, has_gauss, gauss = state["numpy"]
        np.random.set_state((name, state["numpy_words"], position, has_gauss, gauss))


class CppPolicy(openspiel_policy.Policy):
    """A C++ policy as a Python one. Holds on to its solver: the policy dies with it."""

    def __init__(self, game: pyspiel.Game, solver: Any) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._solver = solver
        self._cpp = solver.average_policy()

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        return self._cpp.action_probabilities(state)


def _python_cfr(make: type) -> Callable:
    def create(game: pyspiel.Game, seed: int) -> OpenSpielSolver:
        return OpenSpielSolver(game, make(game), "evaluate_and_update_policy", lambda s: s.solver.average_policy())

    return create


def _cpp_cfr(make: type) -> Callable:
    def create(game: pyspiel.Game, seed: int) -> OpenSpielSolver:
        return OpenSpielSolver(game, make(game), "evaluate_and_update_policy", lambda s: CppPolicy(s.game, s.solver))

    return create


def _python_external(game: pyspiel.Game, seed: int) -> OpenSpielSolver:
    np.random.seed(seed)
    solver = external_sampling_mccfr.ExternalSamplingSolver(game)
    return OpenSpielSolver(game, solver, "iteration", lambda s: s.solver.average_policy())


def _cpp_external(game: pyspiel.Game, seed: int) -> OpenSpielSolver:
    """OpenSpiel's C++ iteration updates all players, as everybody's does here."""
    solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed)
    return OpenSpielSolver(game, solver, "run_iteration", lambda s: CppPolicy(s.game, s.solver))


def _ours(variant: str) -> Callable:
    return lambda game, seed: CFRSolver(game, variant=variant, threads=1)


SOLVERS: dict[str, Callable[[pyspiel.Game, int], Solver]] = {
    **{variant: _ours(variant) for variant in ("cfr", "cfr_plus", "linear_cfr", "dcfr", "pcfr_plus")},
    "external": lambda game, seed: ExternalSamplingSolver(game, seed=seed),
    "outcome": lambda game, seed: OutcomeSamplingSolver(game, seed=seed),
    "openspiel_cfr": _python_cfr(openspiel_cfr.CFRSolver),
    "openspiel_cfr_plus": _python_cfr(openspiel_cfr.CFRPlusSolver),
    "openspiel_cfr_cpp": _cpp_cfr(pyspiel.CFRSolver),
    "openspiel_cfr_plus_cpp": _cpp_cfr(pyspiel.CFRPlusSolver),
    "openspiel_external": _python_external,
    "openspiel_external_cpp": _cpp_external,
}
