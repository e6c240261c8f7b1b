"""How much faster our tabular solvers are: each piece of work beside who is compared with, in turns, on one thread.

CPU time, best of several rounds for each side, so that whatever else the machine does touches both alike.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pyspiel

import cardspiel  # noqa: F401 registers our games
from cardtable.files import write_atomically
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from experiments.suites.timed_solvers import HAS_LITEEFG, timed_solver
from solvers.arrays.sequence_form import SequenceForm
from solvers.cfr import CFRSolver
from solvers.mccfr import ExternalSamplingSolver

ROUNDS = 5
THESIS_ITERATIONS_PER_SECOND = 110  # of the Toepen thesis's program, measured on a machine like ours
TOEPEN = "python_toepen(suits=3,ranks=3,hand_size=3)"


def seconds_per_unit(work: Callable[[int], Any], target: float) -> tuple[int, float]:
    """How many units of work take about `target` seconds, and the seconds of one, after a first call that compiles."""
    work(1)
    units, took = 1, 0.0
    while took < target / 4:
        start = time.process_time()
        work(units)
        took = time.process_time() - start
        if took < target / 4:
            units *= 2
    return units, took / units


def compare(ours: Callable[[int], Any], theirs: Callable[[int], Any], quick: bool) -> tuple[float, float]:
    """Seconds per unit of both sides, taking turns; the best round counts."""
    target = 0.02 if quick else 0.5
    units, best = [0, 0], [0.0, 0.0]
    sides = (ours, theirs)
    for side in (0, 1):
        units[side], best[side] = seconds_per_unit(sides[side], target)
    for _ in range(1 if quick else ROUNDS):
        for side in (0, 1):
            start = time.process_time()
            sides[side](units[side])
            best[side] = min(best[side], (time.process_time() - start) / units[side])
    return best[0], best[1]


def repeat(function: Callable[[], Any]) -> Callable[[int], None]:
    def work(times: int) -> None:
        for _ in range(times):
            function()

    return work


def row(work: str, against: str, ours: float, theirs: float, bar: float) -> dict[str, Any]:
    return {
        "work": work,
        "against": against,
        "ours, ms": 1e3 * ours,
        "theirs, ms": 1e3 * theirs,
        "times faster": theirs / ours,
        "bar": bar,
    }


def run(directory: RunDirectory, quick: bool = False) -> list[dict[str, Any]]:
    rows = []
    for name, bar in (("leduc_poker", 250), ("liars_dice", 150)):
        if quick and name == "liars_dice":
            continue
        game = pyspiel.load_game(name)
        form = SequenceForm.from_game(game)
        ours = CFRSolver(form, variant="cfr_plus", threads=1)
        theirs = pyspiel.CFRPlusSolver(game)
        times = compare(ours.run, repeat(theirs.evaluate_and_update_policy), quick)
        rows.append(row(f"{name}: a CFR+ iteration", "OpenSpiel C++", *times, bar))
        if HAS_LITEEFG:
            times = compare(ours.run, timed_solver("liteefg_cfr_plus", game, form).run, quick)
            rows.append(row(f"{name}: a CFR+ iteration", "LiteEFG", *times, 40))
        if name == "liars_dice":
            policy = ours.average_policy().to_pyspiel()
            times = compare(repeat(ours.nash_conv), repeat(functools.partial(pyspiel.nash_conv, game, policy)), quick)
            rows.append(row(f"{name}: NashConv of an average policy", "OpenSpiel C++", *times, 500))
        else:
            sampling = ExternalSamplingSolver(game, seed=1)
            cpp = pyspiel.ExternalSamplingMCCFRSolver(game, 1)
            times = compare(sampling.run, repeat(cpp.run_iteration), quick)
            rows.append(row(f"{name}: an external-sampling iteration", "OpenSpiel C++", *times, 10))

    toepen = pyspiel.load_game(TOEPEN)
    sampling = ExternalSamplingSolver(toepen, seed=1)
    _, seconds = seconds_per_unit(sampling.run, 0.1 if quick else 5.0)
    thesis = 1 / THESIS_ITERATIONS_PER_SECOND
    rows.append(row("Toepen 3-3-3: an external-sampling iteration", "the thesis's program", seconds, thesis, 100))

    solved = [] if quick else [solve_toepen()]
    write_csv(directory.path / "speed.csv", rows)
    text = json.dumps({"speed": rows, "toepen_3-3-3": solved}, indent=1)
    write_atomically(directory.path / "results.json", lambda file: file.write_text(text + "\n"))
    report = "# Tabular solvers, one thread, CPU time\n\n" + tables.markdown(rows)
    tables.show("Tabular solvers, one thread", rows)
    if solved:
        report += "\n# Toepen 3-3-3 with betting, from nothing to NashConv 0.001\n\n" + tables.markdown(solved)
        tables.show("Toepen 3-3-3 with betting, from nothing to NashConv 0.001", solved)
    directory.write_report(report)
    tables.console.print(f"Written to {directory.path}")
    return rows


SOLVE_TOEPEN = f"""
import json, resource, time
start = time.process_time()
import pyspiel, toepen_spiel
from solvers.cfr import CFRSolver
from solvers.arrays.sequence_form import SequenceForm
form = SequenceForm.from_game(pyspiel.load_game("{TOEPEN}"))
built = time.process_time()
solver = CFRSolver(form, variant="dcfr", threads=1)
while solver.nash_conv() > 0.001:
    solver.run(25)
done = time.process_time()
print(json.dumps({{
    "information sets": form.num_information_sets,
    "start and build, s": built - start,
    "solve, s": done - built,
    "in all, s": done - start,
    "iterations": solver.iterations,
    "NashConv": solver.nash_conv(),
    "peak memory, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
}}))
"""


def solve_toepen() -> dict[str, Any]:
    """In a process of its own, so that memory and time are all its own; the first one fills the compilation cache."""
    for _ in range(2):
        result = subprocess.run([sys.executable, "-c", SOLVE_TOEPEN], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)
