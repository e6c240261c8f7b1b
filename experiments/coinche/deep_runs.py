"""One of the twelve runs of `experiments.coinche_deep_cfr`."""

from __future__ import annotations

from typing import NamedTuple

import torch

from experiments.running import tables
from experiments.running.deep_training import Options, train
from experiments.running.loop import Limits, Row

CHECKPOINT_SECONDS = 300.0


class Job(NamedTuple):
    options: Options
    path: str
    limits: Limits
    resume: bool
    overwrite: bool


def train_run(quiet: bool, job: Job) -> list[Row]:
    """Not `quiet` where runs follow each other in one process; otherwise progress bars write over each other."""
    tables.console.quiet = quiet
    torch.set_num_threads(1)
    return train(
        job.options,
        job.path,
        job.limits,
        resume=job.resume,
        overwrite=job.overwrite,
        checkpoint_seconds=CHECKPOINT_SECONDS,
    )
