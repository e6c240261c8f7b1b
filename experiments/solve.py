"""Solves a game and writes what happened: `python -m experiments.solve --game=leduc_poker --solver=cfr_plus`.

The run directory holds config.json, metrics.csv, TensorBoard events, a plot, the average policy, a report and a
checkpoint. A run that was killed goes on with --resume; the result is that of a run that was never interrupted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from absl import app, flags
from open_spiel.python import games as _openspiel_python_games  # noqa: F401 registers OpenSpiel's Python games
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import cardspiel  # noqa: F401 registers ours
from cardtable.parameters import UserError
from cardtable.spiel import load_game
from experiments.running import plots, tables
from experiments.running.checkpoints import load_checkpoint, save_checkpoint
from experiments.running.directory import RunDirectory
from experiments.running.solver_catalogue import SOLVERS, Solver
from solvers.arrays.memory import GameTooLargeError, readable_bytes
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import exploitability, probabilities_of
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver
from solvers.policies import TablePolicy, save_policy

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "leduc_poker", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_enum("solver", "cfr_plus", list(SOLVERS), "the algorithm; openspiel_... are OpenSpiel's own")
flags.DEFINE_integer("iterations", None, "stop after so many iterations (default 1,000 if nothing else stops it)", 1)
flags.DEFINE_float("seconds", None, "stop after so many seconds of solving, evaluation not counted", 0.0)
flags.DEFINE_float("target_exploitability", None, "stop when exploitability (NashConv / players) is this low", 0.0)
flags.DEFINE_integer("seed", 1, "of solvers that sample")
flags.DEFINE_string("out", None, "run directory; default runs/<game>_<solver>")
flags.DEFINE_bool("resume", False, "go on with the run in --out")
flags.DEFINE_float("checkpoint_seconds", 30.0, "seconds between checkpoints", 0.0)

GROWTH = 1.15  # each evaluation comes after so many times the iterations of the one before


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    try:
        Run().go()
    except UserError as error:
        sys.exit(f"experiments.solve: {error}")


def evaluation_points(start: int) -> Iterator[int]:
    """1, 2, 3, ... with growing distances; the same whatever interrupts a run."""
    point = 1
    while True:
        if point > start:
            yield point
        point = max(point + 1, int(point * GROWTH))


class Run:
    """One call of the runner."""

    def __init__(self) -> None:
        self.game = load_game(FLAGS.game)
        self.config = {"game": FLAGS.game, "solver": FLAGS.solver, "seed": FLAGS.seed}
        self.limit = FLAGS.iterations
        if self.limit is None and FLAGS.seconds is None and FLAGS.target_exploitability is None:
            self.limit = 1000
        try:
            self.form: SequenceForm | None = SequenceForm.from_game(self.game)
        except GameTooLargeError as error:
            if FLAGS.solver not in ("external", "outcome"):
                raise UserError(str(error)) from None
            self.form = None
            tables.console.print(f"Exploitability is not computed: {error}")
        except ValueError as error:
            raise UserError(str(error)) from None
        if self.form is None and FLAGS.target_exploitability is not None:
            raise UserError("--target_exploitability needs exact evaluation, for which this game is too large")
        self.solver: Solver = SOLVERS[FLAGS.solver](self.game, FLAGS.seed)
        self.solver.run(0)  # compiles, so that the clock only sees solving
        self.iteration = 0
        self.seconds = 0.0
        self.exploitability = float("nan")
        name = f"{FLAGS.game}_{FLAGS.solver}"
        self.path = Path(FLAGS.out or f"runs/{name}")
        self.checkpoint = self.path / "checkpoint.npz"
        state = self._stored_state() if FLAGS.resume else None
        try:
            self.directory = RunDirectory(self.path, self.config, resume=FLAGS.resume)
        except ValueError as error:
            raise UserError(str(error)) from None
        if state is not None:
            self.iteration, self.seconds = state.pop("run_iteration"), state.pop("run_seconds")
            self.exploitability = state.pop("run_exploitability")
            self.solver.set_state(state)
            self.directory.forget_after(self.iteration)
        self.saved_at = time.monotonic()

    def _stored_state(self) -> dict[str, Any] | None:
        """The checkpoint to go on from; None if the run was killed before its first one."""
        if not self.path.exists():
            raise UserError(f"there is no run to resume in {self.path}")
        if not self.checkpoint.exists():
            return None
        try:
            return load_checkpoint(self.checkpoint, self.config)
        except ValueError as error:
            raise UserError(str(error)) from None

    def go(self) -> None:
        sets = f", {self.form.num_information_sets:,} information sets" if self.form else ""
        tables.console.print(f"{FLAGS.game} with {FLAGS.solver}{sets}")
        with self._progress() as progress:
            task = progress.add_task("solving", total=1.0, shown="")
            for point in evaluation_points(self.iteration):
                if self._finished():
                    break
                self._advance(min(point, self.limit) if self.limit else point)
                self._evaluate()
                progress.update(task, completed=self._share_done(), shown=self._status())
        self._save()
        self._write_results()

    @staticmethod
    def _progress() -> Progress:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[shown]}"))
        return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=tables.console)

    def _status(self) -> str:
        shown = f", exploitability {self.exploitability:.3g}" if self.form else ""
        return f"iteration {self.iteration:,}{shown}"

    def _finished(self) -> bool:
        return self._share_done() >= 1.0

    def _share_done(self) -> float:
        shares = [0.0]
        if self.limit:
            shares.append(self.iteration / self.limit)
        if FLAGS.seconds is not None:
            shares.append(self.seconds / FLAGS.seconds if FLAGS.seconds else 1.0)
        if FLAGS.target_exploitability is not None and self.exploitability <= FLAGS.target_exploitability:
            shares.append(1.0)
        return min(max(shares), 1.0)

    def _advance(self, target: int) -> None:
        """Solves up to an iteration in pieces short enough to keep time limits and checkpoints."""
        piece = 1
        while self.iteration < target and not self._finished():
            iterations = min(piece, target - self.iteration)
            start = time.perf_counter()
            self.solver.run(iterations)
            took = time.perf_counter() - start
            self.iteration += iterations
            self.seconds += took
            piece = max(1, min(2 * piece, int(piece * 0.5 / max(took, 1e-9))))
            if time.monotonic() - self.saved_at > FLAGS.checkpoint_seconds:
                self._save()

    def _evaluate(self) -> None:
        metrics: dict[str, float] = {"seconds": self.seconds}
        if self.form:
            own = getattr(self.solver, "exploitability", None)
            value = own() if own else exploitability(self.form, self.solver.average_policy())
            self.exploitability = value
            metrics |= {"exploitability": value, "nash_conv": value * self.game.num_players()}
        sets = getattr(self.solver, "num_information_sets", None)
        if sets is not None:
            metrics["information_sets"] = sets
        self.directory.log(self.iteration, metrics)

    def _save(self) -> None:
        run = {
            "run_iteration": self.iteration,
            "run_seconds": self.seconds,
            "run_exploitability": self.exploitability,
        }
        save_checkpoint(self.checkpoint, self.config, {**self.solver.get_state(), **run})
        self.saved_at = time.monotonic()

    def _write_results(self) -> None:
        rows = self.directory.metrics()
        save_policy(self.path / "policy.npz", self._table(), {"solver": FLAGS.solver, "iterations": self.iteration})
        if self.form:
            figure = plots.convergence({FLAGS.solver: rows}, f"{FLAGS.game}, {FLAGS.solver}")
            self.directory.save_figure(figure, "exploitability")
        every = max(1, len(rows) // 12)
        shown = rows[:-1:every] + rows[-1:]
        as_table = [{**row, "step": int(row["step"])} for row in shown]
        self.directory.write_report(self._report(as_table))
        tables.show(f"{FLAGS.game}, {FLAGS.solver}", as_table)
        tables.console.print(f"Written to {self.path}: metrics.csv, policy.npz, report.md, plot and checkpoint")

    def _table(self) -> TablePolicy:
        if isinstance(self.solver, ExternalSamplingSolver | OutcomeSamplingSolver):
            return self.solver.average_table()  # also of games too large for a form
        policy = self.solver.average_policy()
        if isinstance(policy, TablePolicy):
            return policy
        assert self.form is not None, "only sampling solvers run without one"
        return TablePolicy.of_form(self.form, probabilities_of(self.form, policy))

    def _report(self, rows: list[dict[str, Any]]) -> str:
        lines = [f"# {FLAGS.game} solved with {FLAGS.solver}", ""]
        lines += [f"{self.iteration:,} iterations in {self.seconds:.3g} seconds (evaluation not counted)."]
        if self.form:
            lines += [
                f"{self.form.num_information_sets:,} information sets with a choice; "
                f"{readable_bytes(self.form.nbytes)} of arrays.",
                f"Exploitability (NashConv / players) of the average policy: {self.exploitability:.6g}, exact.",
            ]
        lines += ["", tables.markdown(rows)]
        if self.form:
            lines += ["![exploitability](exploitability.png)"]
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    app.run(main)
