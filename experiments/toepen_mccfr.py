"""Figures 4.1 and 4.2 of the Toepen thesis: how external-sampling MCCFR converges in the six settings of hand size 2.

python -m experiments.toepen_mccfr                                               the textbook, under the rules
python -m experiments.toepen_mccfr --algorithm=thesis --isomorphism=thesis --nofollow_suit     as the thesis did it

The exact NashConv of the lifted average profile at every evaluation, and at some the thesis's measure: what 10,000
iterations of MCCFR for one player alone win against the profile, summed over players. The measure is a lower bound.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from absl import flags
from rich.progress import track

from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import chosen_executor, define_count, define_executor, define_out, open_directory
from experiments.toepen.convergence import Curve, Plan, Task, train
from experiments.toepen.training import ISOMORPHISMS

FLAGS = flags.FLAGS

SETTINGS = [(suits, ranks, betting) for betting in (False, True) for suits, ranks in [(2, 3), (3, 2), (3, 3)]]
COLOURS = {(2, 3): "#d9822b", (3, 2): "#1f77b4", (3, 3): "#3a7d44"}


def summary(curves: list[Curve]) -> list[dict[str, Any]]:
    rows = []
    for suits, ranks, betting in SETTINGS:
        own = [curve for curve in curves if curve.task[:3] == (suits, ranks, betting)]
        if not own:
            continue
        final = np.array([curve.nash_conv[-1] for curve in own])
        measure = np.array([curve.measure[-1] for curve in own])
        rows.append(
            {
                "setting": f"{suits}-{ranks}-2",
                "betting": betting,
                "runs": len(own),
                "first_nash_conv": float(np.mean([curve.nash_conv[0] for curve in own])),
                "nash_conv": float(final.mean()),
                "deviation": float(final.std()),
                "thesis_measure": float(measure.mean()),
                "measure_deviation": float(measure.std()),
                "seconds_per_run": float(np.mean([curve.seconds for curve in own])),
            }
        )
    return rows


def claims(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What the thesis concludes from Figures 4.1 and 4.2, judged by exact NashConv and by its own measure."""
    final = {(row["setting"], row["betting"]): row for row in rows}

    def judged(column: str, what: Any) -> str:
        return "holds" if what(lambda setting, betting: final[setting, betting][column]) else "does not hold"

    def order_without_betting(at: Any) -> bool:
        return at("3-2-2", False) > at("3-3-2", False) > at("2-3-2", False)

    def worst_with_betting(at: Any) -> bool:
        return at("2-3-2", True) > max(at("3-2-2", True), at("3-3-2", True))

    def others_alike(at: Any) -> bool:
        low, high = sorted((at("3-2-2", True), at("3-3-2", True)))
        return high < 1.25 * low

    def larger_is_not_harder(at: Any) -> bool:
        return at("3-3-2", True) <= at("2-3-2", True)

    return [
        {"claim": claim, "exact": judged("nash_conv", what), "by its measure": judged("thesis_measure", what)}
        for claim, what in [
            ("no betting: in the end 3-2-2 > 3-3-2 > 2-3-2", order_without_betting),
            ("betting: 2-3-2 is the worst", worst_with_betting),
            ("betting: 3-2-2 and 3-3-2 are alike (within 25 %)", others_alike),
            ("a larger deck need not be harder (3-3-2 against 2-3-2, betting)", larger_is_not_harder),
        ]
    ]


def plot(curves: list[Curve], betting: bool) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.5))
    for suits, ranks, _ in [setting for setting in SETTINGS if setting[2] == betting]:
        own = [curve for curve in curves if curve.task[:3] == (suits, ranks, betting)]
        if not own:
            continue
        colour, label = COLOURS[suits, ranks], f"{suits} suits, {ranks} ranks"
        values = np.stack([curve.nash_conv for curve in own])
        low, high = np.percentile(values, [10, 90], axis=0)
        axes.plot(own[0].iterations, values.mean(axis=0), color=colour, label=f"{label}: exact")
        axes.fill_between(own[0].iterations, low, high, color=colour, alpha=0.15, linewidth=0)
        measure = np.stack([curve.measure for curve in own])
        axes.plot(own[0].measured_at, measure.mean(axis=0), "o", ms=3.5, mfc="none", color=colour)
    axes.plot([], [], "o", ms=3.5, mfc="none", color="#555555", label="the thesis's measure, where positive")
    axes.fill_between(
        [], [], [], color="#555555", alpha=0.15, linewidth=0, label="bands: 10th to 90th percentile of the runs"
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("iterations")
    axes.set_ylabel("NashConv of the average profile")
    axes.set_title(f"Two cards each, {'with' if betting else 'without'} betting", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    return figure


@command
def main() -> None:
    before = time.perf_counter()
    quick = FLAGS.quick
    plan = Plan(
        isomorphism=FLAGS.isomorphism,
        follow_suit=FLAGS.follow_suit,
        thesis=FLAGS.algorithm == "thesis",
        iterations=2_000 if quick else FLAGS.iterations,
        evaluations=20 if quick else FLAGS.evaluations,
        measures=4 if quick else FLAGS.measures,
        measure_iterations=500 if quick else FLAGS.measure_iterations,
    )
    seeds = 2 if quick else FLAGS.seeds
    tasks = [Task(*setting, seed) for setting in reversed(SETTINGS) for seed in range(seeds)]
    run = open_directory({**plan._asdict(), "seeds": seeds})
    with chosen_executor(run.path) as executor:
        answers = executor.map(train, tasks, plan)
        curves = list(track(answers, "training", total=len(tasks), console=tables.console))
    rows = summary(curves)
    write_csv(run.path / "summary.csv", rows)
    write_csv(
        run.path / "curves.csv",
        [
            {**curve.task._asdict(), "iteration": int(iteration), "nash_conv": float(value)}
            for curve in curves
            for iteration, value in zip(curve.iterations, curve.nash_conv, strict=True)
        ],
    )
    write_csv(
        run.path / "measure.csv",
        [
            {**curve.task._asdict(), "iteration": int(iteration), "thesis_measure": float(value)}
            for curve in curves
            for iteration, value in zip(curve.measured_at, curve.measure, strict=True)
        ],
    )
    run.save_figure(plot(curves, betting=False), "no_betting")
    run.save_figure(plot(curves, betting=True), "betting")
    judged = claims(rows)
    tables.show("NashConv after training", rows)
    tables.show("Claims of the thesis", judged)
    run.write_report(
        "# External-sampling MCCFR on Toepen with two cards each\n\n"
        f"{'The algorithm of the thesis' if plan.thesis else 'The textbook algorithm'}, isomorphism "
        f"`{plan.isomorphism}`, {plan.iterations:,} iterations, {seeds} runs a setting; betting rows "
        f"{'with' if plan.follow_suit else 'without'} the duty to follow suit. `nash_conv` is exact, of the average "
        "profile lifted to the unabstracted game; `thesis_measure` is what "
        f"{plan.measure_iterations:,} iterations for one player alone win, summed over players (a lower bound).\n\n"
        f"{tables.markdown(rows)}\n## Claims of the thesis\n\n{tables.markdown(judged)}\n"
        "![no betting](no_betting.png)\n![betting](betting.png)\n\nLines: means. Bands: 10th to 90th "
        "percentile of the runs. Circles: means of the thesis's measure; where it is negative there is none.\n\n"
        f"Everything took {time.perf_counter() - before:.0f} s.\n"
    )
    tables.console.print(f"report in {run.path}")


def define_flags() -> None:
    define_out("runs/toepen_mccfr")
    flags.DEFINE_enum("isomorphism", "orbit", ISOMORPHISMS, "card isomorphism to train under")
    flags.DEFINE_enum("algorithm", "textbook", ["textbook", "thesis"], "external sampling, or as the thesis did it")
    flags.DEFINE_bool("follow_suit", True, "False: the game of the thesis's program, without the duty with betting")
    define_count("iterations", 50_000, "training iterations, each updating both players", seconds_each=1e-6)
    define_count("evaluations", 500, "exact evaluations on the way", bytes_each=1000, seconds_each=1e-4)
    define_count("measures", 20, "evaluations by the thesis's measure", bytes_each=1000, seconds_each=1e-4)
    define_count("measure_iterations", 10_000, "iterations of that measure, for each player", seconds_each=1e-6)
    define_count("seeds", 15, "runs of every setting", bytes_each=100_000, seconds_each=0.1)
    define_executor("processes")
    flags.DEFINE_bool("quick", False, "a short run that only shows that everything works")


if __name__ == "__main__":
    define_flags()
    start(main)
