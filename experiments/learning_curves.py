"""Learning curves of several runs in one picture: `python -m experiments.learning_curves --runs=runs/a,runs/b`.

Reads metrics.csv of run directories of `experiments.train` and draws what they were measured by against the games and
against the CPU seconds of training, side by side. Writes the picture, the points as csv, and report.md.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from absl import flags
from matplotlib.figure import Figure

from cardtable.parameters import UserError
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import define_out, open_directory
from experiments.running.plots import few_ticks, plt

FLAGS = flags.FLAGS
if __name__ == "__main__":  # tests import what is below, and two commands do not fit into one process
    flags.DEFINE_list("runs", [], "run directories with commas between them")
    flags.DEFINE_list("names", [], "what to call them; default: the names of their folders")
    flags.DEFINE_string("measure", "v random", "the column of metrics.csv that is drawn")
    define_out("runs/learning_curves")

Points = list[dict[str, float]]
AXES = {"games": "games of training", "seconds": "CPU seconds of training"}


@command
def main() -> None:
    if not FLAGS.runs:
        raise UserError("--runs= names no run; allowed: run directories with commas between them")
    names = FLAGS.names or [Path(run).name for run in FLAGS.runs]
    if len(set(names)) != len(FLAGS.runs):
        raise UserError(
            f"--names={','.join(names)}: allowed is one name for each of the {len(FLAGS.runs)} runs, all different"
        )
    curves = {name: read_curve(Path(run), FLAGS.measure) for name, run in zip(names, FLAGS.runs, strict=True)}
    directory = open_directory({"runs": FLAGS.runs, "names": names, "measure": FLAGS.measure})
    rows = [{"run": name, **point} for name, points in curves.items() for point in points]
    write_csv(directory.path / "curves.csv", rows)
    last = [{"run": name, **points[-1]} for name, points in curves.items()]
    tables.show("at the end", last)
    plot = directory.save_figure(draw(curves, FLAGS.measure), "curves")
    directory.write_report(f"# Learning curves\n\n{tables.markdown(last)}\n![learning curves]({plot.name})\n")
    tables.console.print(f"written to {directory.path}")


def read_curve(run: Path, measure: str) -> Points:
    """Games, seconds, the measure and its standard error (nan if there is none) at every evaluation of a run."""
    file = run / "metrics.csv"
    try:
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no table"
        raise UserError(f"{file} cannot be read: {reason}; allowed: run directories of experiments.train") from None
    wanted = (*AXES, measure)
    columns = [name for name in rows[0] if name is not None] if rows else []  # None: fields behind the last column
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise UserError(f"{file} has no column {missing[0]!r}; allowed: {', '.join(columns) or 'none'}")
    try:
        found = [{name: float(row[name]) for name in wanted} for row in rows]
        errors = [float(row.get(f"{measure}, s.e.") or "nan") for row in rows]
    except (TypeError, ValueError):
        raise UserError(f"{file} is damaged: a row is not made of numbers") from None
    return [{**point, "s.e.": error} for point, error in zip(found, errors, strict=True)]


def draw(curves: dict[str, Points], measure: str) -> Figure:
    """Both axes of cost are logarithmic: published trainings are thousands of times as long."""
    figure, axes = plt.subplots(1, len(AXES), figsize=(10, 4), sharey=True, layout="constrained")
    for axis, (column, label) in zip(axes, AXES.items(), strict=True):
        for name, points in curves.items():
            spread = [0.0 if math.isnan(point["s.e."]) else 1.96 * point["s.e."] for point in points]
            costs = [point[column] for point in points]
            axis.errorbar(costs, [point[measure] for point in points], yerr=spread, marker=".", label=name)
        axis.set_xscale("log")
        few_ticks(axis.xaxis)
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
    exact = all(math.isnan(point["s.e."]) for points in curves.values() for point in points)
    axes[0].set_ylabel(measure if exact else f"{measure}, 95% intervals")
    axes[0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    start(main)
