"""Abstraction rules of Toepen trained alike: the runs of `experiments.toepen_abstraction`."""

from __future__ import annotations

import functools
import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel

import cardspiel  # noqa: F401
from experiments.toepen.training import Judge, Lift, Sampler, Training, toepen, under_isomorphism
from solvers.arrays.sequence_form import SequenceForm

NONE = "none"
OURS = "places"
# thesis name (the last is ours): hand, history
RULES = {
    NONE: ("exact", "exact"),
    "naive": ("none", "none"),
    "simple history": ("exact", "none"),
    "simple hand": ("none", "exact"),
    "advanced hand": ("bucket", "exact"),
    "advanced history": ("exact", "ante"),
    "advanced combined": ("bucket", "ante"),
    OURS: ("places", "stakes"),
}


class Plan(NamedTuple):
    """What is done for every seed."""

    size: tuple[int, int, int]
    isomorphism: str
    follow_suit: bool
    thesis: bool
    iterations: int
    evaluations: int
    measure_iterations: int


class Result(NamedTuple):
    seed: int
    rows: list[dict[str, Any]]
    measure: float  # the thesis's measure of the final profile of the rule "none"
    seconds: float


class Prepared(NamedTuple):
    judge: Judge
    samplers: dict[str, Sampler]
    lifts: dict[str, Lift]


@functools.cache
def prepared(size: tuple[int, int, int], isomorphism: str, follow_suit: bool) -> Prepared:
    base = toepen(*size, True, follow_suit)
    inner = under_isomorphism(base, isomorphism)
    # Profiles over suit orbits are as exploitable in the quotient as in the game, which is several times larger.
    form = SequenceForm.from_game(pyspiel.load_game(inner if isomorphism == "orbit" else base))
    samplers, lifts = {}, {}
    for name, (hand, history) in RULES.items():
        game = pyspiel.load_game(
            inner if name == NONE else f"python_bucketing(game={inner},hand={hand},history={history})"
        )
        samplers[name] = Sampler(game)
        lifts[name] = Lift(game, samplers[name].tree, form)
    return Prepared(Judge(form), samplers, lifts)


def train(plan: Plan, seed: int) -> Result:
    """One run of all rules."""
    judge, samplers, lifts = prepared(plan.size, plan.isomorphism, plan.follow_suit)
    start = time.perf_counter()
    sequence = np.random.SeedSequence(seed).spawn(len(RULES))
    trainings = {name: Training(samplers[name], own, plan.thesis) for name, own in zip(RULES, sequence, strict=True)}
    step = plan.iterations // plan.evaluations
    rows = []
    for evaluation in range(1, plan.evaluations + 1):
        profiles = {}
        for name, training in trainings.items():
            training.run(step)
            profiles[name] = lifts[name](training.average())
        for name, training in trainings.items():
            rows.append(
                {
                    "seed": seed,
                    "rule": name,
                    "iteration": evaluation * step,
                    "score": 0.0 if name == NONE else judge.score(profiles[name], profiles[NONE]),
                    "information_sets_met": training.information_sets_met,
                    "nash_conv": judge.evaluate(profiles[name]).nash_conv,
                }
            )
    unabstracted = trainings[NONE]
    average = unabstracted.average()
    responses = (unabstracted.approximate_response(player, average, plan.measure_iterations) for player in (0, 1))
    values = [judge.evaluate(lifts[NONE](response)).values for response in responses]
    return Result(seed, rows, float(values[0][0] + values[1][1]), time.perf_counter() - start)
