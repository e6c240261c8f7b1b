"""Trains a learner at any game of ours: `python -m experiments.train --game=python_gongzhu --seconds=600`.

Learners are Deep Monte Carlo (`--learner=dmc`), Double DQN (`dqn`) and NFSP (`nfsp`), all on the batched actor. By
default everybody learns (self-play). With --opponents others hold the seats that are not in --seats; several, with
commas, take turns, and `itself` among them is self-play:

    python -m experiments.train --game=python_cego --opponents=random --seats=0      # one against three random players
    python -m experiments.train --game=python_cego --opponents=random --seats=0/1    # the same from seat 1 in turn
    python -m experiments.train --game=python_gongzhu --opponents=itself,team,greed

Measured in duplicate matches against the compiled players of the game, at the end against flat Monte Carlo too, and, in
small games for two, by exact NashConv. The run directory holds config.json, metrics.csv, TensorBoard events, a plot, a
report, a checkpoint, and a saved player: its path is a player in arena, tournament and at the table. A run that was
killed goes on with --resume, bit by bit. Seconds are CPU seconds of the process, evaluation not counted.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError
from experiments.running.command import command, start
from experiments.running.directory import file_name
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_run,
    define_settings,
    given_settings,
    whole_numbers,
)
from experiments.running.learner_training import LEARNERS, NAMES, Options, train
from experiments.running.loop import Limits
from solvers.deep_monte_carlo.settings import Settings as MonteCarloSettings
from solvers.q_learning.settings import Settings as QSettings

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_cego", "any game of the project, transforms included")
flags.DEFINE_enum("learner", "dmc", list(LEARNERS), "Deep Monte Carlo, Double DQN or NFSP")
flags.DEFINE_list("opponents", ["itself"], "who holds the seats that do not learn, in turn; itself: everybody learns")
flags.DEFINE_string(
    "seats", "", "seats that learn where there are opponents: 0,2 together, 0/1 in turn; default: the first side's"
)
flags.DEFINE_string("start", "", "a saved network to start from, or expert; Deep Monte Carlo only")
define_count("deals", 1000, "duplicate deals of each match in an evaluation", 2, bytes_each=1000, seconds_each=1e-5)
flags.DEFINE_bool("quick", False, "a few iterations that only show that it works")
define_run("runs/train_<learner>_<game>")
define_settings(MonteCarloSettings)
define_settings(QSettings, already=MonteCarloSettings)
define_executor()


@command
def main() -> None:
    groups = FLAGS.seats.split("/") if FLAGS.seats else []
    seats = tuple(whole_numbers("--seats", group.split(","), 0) for group in groups)
    options = Options(
        FLAGS.game,
        FLAGS.learner,
        FLAGS.seed,
        tuple(FLAGS.opponents),
        seats,
        FLAGS.deals,
        FLAGS.quick,
        _settings(FLAGS.learner),
        FLAGS.start,
    )
    out = FLAGS.out or f"runs/{file_name(f'train_{FLAGS.learner}_{FLAGS.game}')}"
    with chosen_executor(Path(out)) as executor:
        train(
            options,
            out,
            Limits(FLAGS.iterations, FLAGS.seconds),
            resume=FLAGS.resume,
            overwrite=FLAGS.overwrite,
            checkpoint_seconds=FLAGS.checkpoint_seconds,
            executor=executor,
        )


def _settings(learner: str) -> dict[str, Any]:
    """The settings that were given; UserError for those of another learner."""
    given = given_settings(MonteCarloSettings) | given_settings(QSettings)
    known = {field.name for field in dataclasses.fields(LEARNERS[learner])}
    foreign = sorted(set(given) - known)
    if foreign:
        raise UserError(f"--{foreign[0]} is not for {NAMES[learner]}; see --help")
    return given


if __name__ == "__main__":
    start(main)
