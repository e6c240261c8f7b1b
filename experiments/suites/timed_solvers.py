"""Solvers with a clock, for the benchmarks: ours, OpenSpiel's in Python and C++, LiteEFG where it is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import time
from collections.abc import Callable

import pyspiel

from experiments.running.solver_catalogue import SOLVERS
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import evaluate

HAS_LITEEFG = importlib.util.find_spec("LiteEFG") is not None


class TimedSolver:
    """A solver at work on a game, with a clock that only runs while it solves."""

    def __init__(self, name: str, run: Callable[[int], None], nash_conv: Callable[[], float]) -> None:
        self.name = name
        self._run = run
        self.nash_conv = nash_conv
        self.iterations = 0
        self.seconds = 0.0

    def run(self, iterations: int) -> float:
        start = time.process_time()
        self._run(iterations)
        took = time.process_time() - start
        self.iterations += iterations
        self.seconds += took
        return took


def timed_solver(name: str, game: pyspiel.Game, form: SequenceForm, seed: int = 1) -> TimedSolver:
    """`name` is a solver of the catalogue or liteefg_cfr_plus."""
    if name == "liteefg_cfr_plus":
        return _liteefg(game)
    solver = SOLVERS[name](game, seed, form)
    own = getattr(solver, "nash_conv", None)  # ours evaluate their averages on the arrays they hold
    return TimedSolver(name, solver.run, own or (lambda: evaluate(form, solver.average_policy()).nash_conv))


def _liteefg(game: pyspiel.Game) -> TimedSolver:
    import LiteEFG
    from LiteEFG.baselines import CFRplus

    with contextlib.redirect_stdout(io.StringIO()):
        graph = CFRplus.graph()
        environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate", regenerate=True)
        environment.set_graph(graph)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            graph.update_graph(environment)
            environment.update_strategy(graph.current_strategy())

    return TimedSolver(
        "liteefg_cfr_plus",
        run,
        lambda: sum(environment.exploitability(graph.current_strategy(), "linear-avg-iterate")),
    )
