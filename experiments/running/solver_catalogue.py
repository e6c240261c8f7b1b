"""All tabular solvers by name, so that runners treat ours and OpenSpiel's alike.

Each is made from a game, a seed, and the game's sequence form where there is one, which nobody has to build twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import cfr as openspiel_cfr

from experiments.running.openspiel_solvers import CppCFRPlus, CppSolver, PythonCFR, PythonExternalSampling
from solvers.arrays.sequence_form import SequenceForm
from solvers.cfr import VARIANTS, CFRSolver
from solvers.learning.trainer import Trainer
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver
from solvers.tree_cfr import TreeCFRSolver

STEP = "evaluate_and_update_policy"  # one iteration of OpenSpiel's CFR


class Solver(Trainer, Protocol):
    """A trainer that has a policy."""

    def average_policy(self) -> openspiel_policy.Policy: ...


Make = Callable[[pyspiel.Game, int, SequenceForm | None], Solver]


def _on_the_form(variant: str) -> Make:
    return lambda game, seed, form: CFRSolver(form or game, variant=variant, threads=1)


def _on_the_tree(variant: str) -> Make:
    return lambda game, seed, form: TreeCFRSolver(game, variant=variant, tree=form.tree if form else None)


def _python_cfr(make: type) -> Make:
    return lambda game, seed, form: PythonCFR(game, make)


def _cpp_external(game: pyspiel.Game, seed: int, form: SequenceForm | None) -> Solver:
    """OpenSpiel's C++ iteration updates all players, as everybody's does here."""
    return CppSolver(game, pyspiel.ExternalSamplingMCCFRSolver(game, seed), "run_iteration")


TREE = {f"tree_{variant}": _on_the_tree(variant) for variant in VARIANTS}
SAMPLING: dict[str, Make] = {
    "external": lambda game, seed, form: ExternalSamplingSolver(game, seed=seed),
    "outcome": lambda game, seed, form: OutcomeSamplingSolver(game, seed=seed),
}
IMPERFECT_RECALL = (*TREE, *SAMPLING)  # those that can solve games whose players forget
SOLVERS: dict[str, Make] = {
    **{variant: _on_the_form(variant) for variant in VARIANTS},
    **TREE,
    **SAMPLING,
    "openspiel_cfr": _python_cfr(openspiel_cfr.CFRSolver),
    "openspiel_cfr_plus": _python_cfr(openspiel_cfr.CFRPlusSolver),
    "openspiel_cfr_cpp": lambda game, seed, form: CppSolver(game, pyspiel.CFRSolver(game), STEP),
    "openspiel_cfr_plus_cpp": lambda game, seed, form: CppCFRPlus(game, pyspiel.CFRPlusSolver(game), STEP),
    "openspiel_external": lambda game, seed, form: PythonExternalSampling(game, seed),
    "openspiel_external_cpp": _cpp_external,
}
