"""Plots that several experiments share. Returns figures; nothing is shown on a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

MOST_WITH_PARTS = 60.0  # times as large as the beginning of an axis is its end, if 2 and 5 are marked too
OTHER_PROJECTS = ("openspiel_", "liteefg_")


def few_ticks(axis: Axis) -> None:
    """Ticks on a logarithmic axis that do not run into each other: 1, 2, 5, 10, ..., or powers of ten where these would
    be too many. matplotlib labels all of 2, 3, ..., 9 where an axis is short."""
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < MOST_WITH_PARTS * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1.0 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def convergence(curves: Mapping[str, Sequence[Mapping[str, float]]], title: str) -> Figure:
    """Exploitability against iterations and against seconds, both axes logarithmic; one curve per solver.

    Other projects' solvers are dashed, and colours begin anew for them: there are more solvers than clear colours.
    """
    ours = [name for name in curves if not name.startswith(OTHER_PROJECTS)]
    others = [name for name in curves if name.startswith(OTHER_PROJECTS)]
    styles = {name: {"color": f"C{index}"} for index, name in enumerate(ours)}
    styles |= {name: {"color": f"C{index}", "linestyle": "--"} for index, name in enumerate(others)}
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, column, label in zip(axes, ("step", "seconds"), ("iterations", "seconds of solving"), strict=True):
        for name, rows in curves.items():
            points = [(row[column], row["exploitability"]) for row in rows if row["exploitability"] > 0]
            axis.plot(*zip(*points, strict=True), label=name, linewidth=1.5, **styles[name])
        axis.set(xscale="log", yscale="log", xlabel=label)
        few_ticks(axis.xaxis)
        axis.grid(which="major", alpha=0.4)
    axes[0].set_ylabel("exploitability (NashConv / players)")
    if len(curves) > 1:
        axes[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.suptitle(title)
    figure.tight_layout()
    return figure
