"""Plots that several experiments share. Returns figures; nothing is shown on a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

OTHER_PROJECTS = ("openspiel_", "liteefg_")


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
        axis.grid(which="major", alpha=0.4)
    axes[0].set_ylabel("exploitability (NashConv / players)")
    if len(curves) > 1:
        axes[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.suptitle(title)
    figure.tight_layout()
    return figure
