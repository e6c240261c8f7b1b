"""Trains Deep CFR: `python -m experiments.deep_cfr --game=leduc_poker --seconds=60`.

Games that can be enumerated are tabulated (the default where it is possible); large games of this project are traversed
level by level on their rules. Coinche, self-play and against a heuristic player:

    python -m experiments.deep_cfr --game=python_coinche --seconds=3600
    python -m experiments.deep_cfr --game=python_coinche --opponents=simple --traversal=algorithm3_biased --paper

The run directory holds config.json, metrics.csv, TensorBoard events, plots, a report and a checkpoint with networks,
optimisers, memories and random states. A run that was killed goes on with --resume; on the CPU the result is, bit by
bit, that of a run that was never interrupted. Seconds are CPU seconds of the process, evaluation not counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from absl import flags
from open_spiel.python import games as _openspiel_python_games  # noqa: F401 registers OpenSpiel's Python games

import cardspiel  # noqa: F401 registers ours
from experiments.running.command import command, start
from experiments.running.deep_training import Options, train
from experiments.running.directory import file_name
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_run,
    define_settings,
    given_settings,
)
from experiments.running.loop import Limits
from solvers.deep_cfr.settings import Settings

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "leduc_poker", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_enum("engine", "auto", ["auto", "tabulated", "levels"], "enumerate the game, or traverse its rules")
flags.DEFINE_bool("quick", False, "a few iterations that only show that it works")
flags.DEFINE_bool("paper", False, "networks, memories and training of the Coinche paper's table of hyperparameters")
flags.DEFINE_string(
    "opponents", "", "who holds the other team's seats for good: random or a player of the game; empty for self-play"
)
flags.DEFINE_string(
    "pool",
    "",
    "compiled players of the game, with commas between them: an equal share of the traversals is against each of them, "
    "and one is self-play",
)
flags.DEFINE_bool("self_play", True, "whether it meets itself, too; without, it learns a best response to the pool")
define_count("games", 1000, "games per evaluation of a game that is not enumerated", bytes_each=500, seconds_each=1e-5)
define_run("runs/deep_cfr_<game>")
define_settings(Settings)
define_executor()
ASKED = ("game", "engine", "seed", "opponents", "pool", "self_play", "games", "quick", "paper")


@command
def main() -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    asked: dict[str, Any] = {name: FLAGS[name].value for name in ASKED}
    out = Path(FLAGS.out or f"runs/{file_name(f'deep_cfr_{FLAGS.game}')}")
    with chosen_executor(out) as executor:
        train(
            Options(**asked, settings=given_settings(Settings)),
            out,
            Limits(FLAGS.iterations, FLAGS.seconds),
            resume=FLAGS.resume,
            overwrite=FLAGS.overwrite,
            checkpoint_seconds=FLAGS.checkpoint_seconds,
            executor=executor,
        )


if __name__ == "__main__":
    start(main)
