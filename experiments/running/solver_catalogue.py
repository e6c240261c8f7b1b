"""All tabular solvers by name, so that runners treat ours and OpenSpiel's alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import cfr as openspiel_cfr

from experiments.running.openspiel_solvers import CppCFRPlus, CppSolver, PythonCFR, PythonExternalSampling
from solvers.cfr import VARIANTS, CFRSolver
from solvers.learning.trainer import Trainer
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver

STEP = "evaluate_and_update_policy"  # one iteration of OpenSpiel's CFR


class Solver(Trainer, Protocol):
    """A trainer that has a policy."""

    def average_policy(self) -> openspiel_policy.Policy: ...


def _ours(variant: str) -> Callable[[pyspiel.Game, int], Solver]:
    return lambda game, seed: CFRSolver(game, variant=variant, threads=1)


def _python_cfr(make: type) -> Callable[[pyspiel.Game, int], Solver]:
    return lambda game, seed: PythonCFR(game, make)


def _cpp_external(game: pyspiel.Game, seed: int) -> Solver:
    """OpenSpiel's C++ iteration updates all players, as everybody's does here."""
    return CppSolver(game, pyspiel.ExternalSamplingMCCFRSolver(game, seed), "run_iteration")


SOLVERS: dict[str, Callable[[pyspiel.Game, int], Solver]] = {
    **{variant: _ours(variant) for variant in VARIANTS},
    "external": lambda game, seed: ExternalSamplingSolver(game, seed=seed),
    "outcome": lambda game, seed: OutcomeSamplingSolver(game, seed=seed),
    "openspiel_cfr": _python_cfr(openspiel_cfr.CFRSolver),
    "openspiel_cfr_plus": _python_cfr(openspiel_cfr.CFRPlusSolver),
    "openspiel_cfr_cpp": lambda game, seed: CppSolver(game, pyspiel.CFRSolver(game), STEP),
    "openspiel_cfr_plus_cpp": lambda game, seed: CppCFRPlus(game, pyspiel.CFRPlusSolver(game), STEP),
    "openspiel_external": PythonExternalSampling,
    "openspiel_external_cpp": _cpp_external,
}
