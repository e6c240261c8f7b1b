"""Solves a game and writes what happened: `python -m experiments.solve --game=leduc_poker --solver=cfr_plus`.

The run directory holds config.json, metrics.csv, TensorBoard events, a plot, the average policy, a report and a
checkpoint. A run that was killed goes on with --resume; the result is that of a run that was never interrupted.

Games whose players forget are solved on the tree or by sampling, and judged in the game they were made from:

    python -m experiments.solve --solver=tree_cfr_plus \
        --game='python_bucketing(game=python_toepen(suits=3,ranks=3,hand_size=2),hand=bucket,history=ante)'
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel
from absl import flags
from matplotlib.figure import Figure
from open_spiel.python import games as _openspiel_python_games  # noqa: F401 registers OpenSpiel's Python games

import cardspiel  # noqa: F401 registers ours
from cardtable.parameters import UserError
from cardtable.spiel import load_game
from experiments.running import plots, tables
from experiments.running.command import command, start
from experiments.running.directory import file_name
from experiments.running.flags import define_number, define_run
from experiments.running.judging import Judge, judged_in
from experiments.running.loop import Clock, Limits, Row, Run, Task
from experiments.running.solver_catalogue import IMPERFECT_RECALL, SAMPLING, SOLVERS
from solvers.arrays.memory import GameTooLargeError, readable_bytes
from solvers.arrays.sequence_form import NoSequenceFormError, SequenceForm
from solvers.best_response import Policy, probabilities_of
from solvers.mccfr import ExternalSamplingSolver, OutcomeSamplingSolver
from solvers.policies import TablePolicy

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "leduc_poker", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_enum("solver", "cfr_plus", list(SOLVERS), "the algorithm; openspiel_... are OpenSpiel's own")
define_number("target_exploitability", None, "stop when exploitability (NashConv / players) is this low", 0.0)
define_run("runs/<game>_<solver>", "stop after so many iterations (default 1,000 if nothing else stops it)")


@command
def main() -> None:
    target = FLAGS.target_exploitability
    limit = FLAGS.iterations
    if limit is None and FLAGS.seconds is None and target is None:
        limit = 1000
    limits = Limits(limit, FLAGS.seconds, None if target is None else ("exploitability", target))
    Run(
        Solution(load_game(FLAGS.game), FLAGS.solver, FLAGS.seed).task(),
        FLAGS.out or f"runs/{file_name(f'{FLAGS.game}_{FLAGS.solver}')}",
        limits,
        resume=FLAGS.resume,
        overwrite=FLAGS.overwrite,
        checkpoint_seconds=FLAGS.checkpoint_seconds,
    ).go()


class Solution:
    """A solver on a game, and how its policies are judged."""

    def __init__(self, game: pyspiel.Game, solver: str, seed: int) -> None:
        self.game, self.name, self.seed = game, solver, seed
        self.not_judged = ""
        base = judged_in(game)
        self.form = None if solver in IMPERFECT_RECALL and base is not game else self._form_of(game)
        self.judge: Judge | None = None
        judging = self.form if base is game else self._form_of(base)
        if judging is not None:
            self.judge = Judge(game, judging)
        else:
            tables.console.print(f"Exploitability is not computed: {self.not_judged}")
            if FLAGS.target_exploitability is not None:
                raise UserError(f"--target_exploitability needs exact evaluation: {self.not_judged}")
        self.trainer = SOLVERS[solver](game, seed, self.form)

    def _form_of(self, game: pyspiel.Game) -> SequenceForm | None:
        """The sequence form of a game; None if the solver can do without and there is none."""
        try:
            return SequenceForm.from_game(game)
        except NoSequenceFormError:
            if self.name not in IMPERFECT_RECALL:
                raise UserError(
                    f"players of {game} forget what they did, so that --solver={self.name} cannot solve it; "
                    f"allowed: {', '.join(IMPERFECT_RECALL)}"
                ) from None
            self.not_judged = f"it means little inside {game}, whose players forget what they did"
        except GameTooLargeError as error:
            if self.name not in SAMPLING and game is self.game:
                raise
            self.not_judged = str(error)
        except ValueError as error:
            raise UserError(str(error)) from None
        return None

    def task(self) -> Task:
        return Task(
            title=f"{self.game} solved with {self.name}",
            trainer=self.trainer,
            config={"game": FLAGS.game, "solver": self.name, "seed": self.seed},
            evaluate=self.evaluate,
            remarks=self.remarks,
            draw=self.draw,
            picture="exploitability",
            shown=("exploitability",),
            policy=self.table,
        )

    def evaluate(self, clock: Clock, last: bool) -> Row:
        found = self.trainer.metrics()
        if self.judge is None or self.judge.lifts:  # what a solver finds inside an abstraction is not asked for
            found = {name: value for name, value in found.items() if name not in ("exploitability", "nash_conv")}
        if self.judge is None or "nash_conv" in found:
            return found
        value = self.judge.evaluate(self.table() if self.judge.lifts else self.trainer.average_policy())
        return {"exploitability": value.exploitability, "nash_conv": value.nash_conv, **found}

    def table(self) -> TablePolicy:
        if isinstance(self.trainer, ExternalSamplingSolver | OutcomeSamplingSolver):
            return self.trainer.average_table()  # also of games too large for a form
        policy: Policy = self.trainer.average_policy()
        if isinstance(policy, TablePolicy):
            return policy
        assert self.form is not None, "OpenSpiel's solvers do not run without one"
        return TablePolicy.of_form(self.form, probabilities_of(self.form, policy))

    def remarks(self) -> list[str]:
        if self.judge is None:
            return [f"Exploitability is not computed: {self.not_judged}."]
        form = self.judge.form
        whose = f"the average policy, lifted to {form.game}" if self.judge.lifts else "the average policy"
        return [
            f"{form.num_information_sets:,} information sets with a choice; {readable_bytes(form.nbytes)} of arrays.",
            f"Exploitability (NashConv / players) is exact, of {whose}.",
        ]

    def draw(self, rows: Sequence[Row]) -> Figure | None:
        if self.judge is None:
            return None
        return plots.convergence({self.name: rows}, f"{self.game}, {self.name}")


if __name__ == "__main__":
    start(main)
