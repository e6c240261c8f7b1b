"""External sampling in one setting of Toepen with two cards each: the runs of `experiments.toepen_mccfr`."""

from __future__ import annotations

import functools
import time
from typing import NamedTuple

import numpy as np
import pyspiel

import cardspiel  # noqa: F401
from experiments.toepen.training import Judge, Lift, Sampler, Training, toepen, under_isomorphism
from solvers.arrays.sequence_form import SequenceForm


class Task(NamedTuple):
    suits: int
    ranks: int
    betting: bool
    seed: int


class Plan(NamedTuple):
    """What is done for every setting and seed."""

    isomorphism: str
    follow_suit: bool
    thesis: bool
    iterations: int
    evaluations: int
    measures: int  # evaluations at which the thesis's measure is taken as well
    measure_iterations: int


class Curve(NamedTuple):
    task: Task
    iterations: np.ndarray
    nash_conv: np.ndarray
    measured_at: np.ndarray
    measure: np.ndarray
    seconds: float


@functools.cache
def _prepared(suits: int, ranks: int, betting: bool, follow_suit: bool, isomorphism: str) -> tuple:
    # Without betting the thesis's program did follow suit.
    name = toepen(suits, ranks, 2, betting, follow_suit or not betting)
    game = pyspiel.load_game(under_isomorphism(name, isomorphism))
    sampler = Sampler(game)
    form = SequenceForm.from_game(pyspiel.load_game(name))
    return sampler, Judge(form), Lift(game, sampler.tree, form)


def train(plan: Plan, task: Task) -> Curve:
    """One run of one setting."""
    sampler, judge, lift = _prepared(task.suits, task.ranks, task.betting, plan.follow_suit, plan.isomorphism)
    start = time.perf_counter()
    seed = np.random.SeedSequence([task.suits, task.ranks, task.betting, task.seed])
    training = Training(sampler, seed, plan.thesis)
    step = plan.iterations // plan.evaluations
    every = max(1, plan.evaluations // plan.measures)
    nash_conv, measured_at, measure = [], [], []
    for evaluation in range(1, plan.evaluations + 1):
        training.run(step)
        average = training.average()
        nash_conv.append(judge.evaluate(lift(average)).nash_conv)
        if evaluation % every == 0:
            measured_at.append(evaluation * step)
            responses = (training.approximate_response(player, average, plan.measure_iterations) for player in (0, 1))
            values = [judge.evaluate(lift(response)).values for response in responses]
            measure.append(values[0][0] + values[1][1])
    points = np.arange(1, plan.evaluations + 1) * step
    seconds = time.perf_counter() - start
    return Curve(task, points, np.array(nash_conv), np.array(measured_at), np.array(measure), seconds)
