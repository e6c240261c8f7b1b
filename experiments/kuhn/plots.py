"""The pictures of the Collaborative Kuhn Poker experiments."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kuhn.claims import NORTH_CHECKS, PUBLISHED_ADVANTAGES, PUBLISHED_VALUES, Study, transfers
from experiments.kuhn.equilibria import Bounds
from experiments.kuhn.models import MODELS, RANKS, UPDATES
from solvers.team import Progress

COLOURS = dict(zip(UPDATES, ("tab:blue", "tab:orange"), strict=True))


def _strip(axis: Axes, place: float, values: np.ndarray, colour: str, label: str | None) -> None:
    """Every start a dot, the mean a bar."""
    wobble = np.linspace(-0.12, 0.12, len(values))
    axis.plot(values, place + wobble, "o", markersize=3, alpha=0.5, color=colour, markeredgewidth=0)
    axis.plot([values.mean()] * 2, [place - 0.18, place + 0.18], color=colour, linewidth=2.5, label=label)


def _clean(axis: Axes) -> None:
    axis.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def transfer_figure(study: Study) -> Figure:
    """Table 1: chips between and within teams, all starts."""
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for column, (axis, title) in enumerate(zip(axes, ("between teams", "within teams"), strict=True)):
        for row, model in enumerate(MODELS):
            for shift, updates in zip((-0.2, 0.2), UPDATES, strict=True):
                values = study.transfers[model.name, updates][:, column]
                _strip(axis, row + shift, values, COLOURS[updates], updates if row == 0 else None)
            if model.name in PUBLISHED_VALUES:
                published = transfers(np.array(PUBLISHED_VALUES[model.name]))[column]
                axis.plot(published, row, "kx", markersize=8, label="published" if row == 0 else None)
        axis.set_xlabel(f"chips {title} per hand")
        _clean(axis)
    axes[0].set_yticks(range(len(MODELS)), [model.name for model in MODELS])
    axes[0].invert_yaxis()
    axes[1].legend(frameon=False, loc="lower right")
    return figure


def advantage_figure(study: Study) -> Figure:
    """Table 2: advantages over CFR and over tied rewards, all pairs of starts."""
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True, sharex=True)
    for axis, row_name in zip(axes, ("CFR", "tied"), strict=True):
        for row, model in enumerate(MODELS):
            if model.name == row_name:
                continue
            for shift, updates in zip((-0.2, 0.2), UPDATES, strict=True):
                values = study.advantages[row_name, model.name, updates].ravel()
                low, high = np.quantile(values, [0.05, 0.95])
                axis.plot([low, high], [row + shift] * 2, color=COLOURS[updates], linewidth=1)
                label = updates if row == 2 else None
                axis.plot(values.mean(), row + shift, "o", color=COLOURS[updates], label=label)
            if (row_name, model.name) in PUBLISHED_ADVANTAGES:
                label = "published" if row == 2 else None
                axis.plot(PUBLISHED_ADVANTAGES[row_name, model.name], row, "kx", markersize=8, label=label)
        axis.set_title(f"against {row_name}")
        axis.set_xlabel("team chips a hand, both seatings; mean and 90% of pairs")
        _clean(axis)
    axes[0].set_yticks(range(len(MODELS)), [model.name for model in MODELS])
    axes[0].invert_yaxis()
    figure.legend(*axes[1].get_legend_handles_labels(), frameon=False, loc="outside upper center", ncols=3)
    return figure


def opening_figure(study: Study) -> Figure:
    """How often North checks, by rank, in each start."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, name in zip(axes, ("CFR", "tied"), strict=True):
        for shift, updates in zip((-0.15, 0.15), UPDATES, strict=True):
            opening = study.by_rank(name, updates, NORTH_CHECKS)
            wobble = np.linspace(-0.1, 0.1, len(opening))[:, None]
            places = np.arange(len(RANKS)) + shift
            axis.plot(places + wobble, opening, "o", color=COLOURS[updates], markersize=4, alpha=0.6, markeredgewidth=0)
            axis.plot([], [], "o", color=COLOURS[updates], label=updates)
        axis.set_xticks(range(len(RANKS)), RANKS)
        axis.set_title(name)
        axis.set_xlabel("North's card")
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("how often North checks")
    axes[1].legend(frameon=False)
    return figure


def team_value_figure(study: Study, steps: list[Progress], value: float, shared: list[Bounds]) -> Figure:
    """The bounds closing in on the value, beside the values with shared cards; and what learned players guarantee."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = [step for step in steps if np.isfinite(step.lower)]
    numbers = [step.iteration for step in shown]
    left.fill_between(numbers, [s.lower for s in shown], [s.upper for s in shown], alpha=0.25, color="tab:blue")
    left.plot(numbers, [s.upper for s in shown], color="tab:blue", label="upper bound")
    left.plot(numbers, [s.lower for s in shown], color="tab:blue", linestyle="--", label="lower bound")
    left.axhline(value, color="black", linewidth=0.8)
    lowest = min((other.lower for other in shared), default=0.0)
    for other in shared:
        left.axhline(other.lower, color="0.5", linewidth=0.8, linestyle=":")
        # The two negative values are close to each other: one label goes below its line.
        align = "top" if other.lower == lowest else "bottom"
        left.text(numbers[-1], other.lower, other.name, ha="right", va=align, fontsize=7, color="0.35")
    left.set_xlabel("iteration of the double oracle")
    left.set_ylabel("chips to North-South")
    left.set_ylim(max(-0.6, shown[0].lower), min(0.7, shown[0].upper))
    left.legend(frameon=False)
    rows = [(name, updates) for name in ("CFR", "tied") for updates in UPDATES]
    for row, key in enumerate(rows):
        _strip(right, row, study.guarantees[key][:, 0], COLOURS[key[1]], None)
    right.set_yticks(range(len(rows)), [f"{name}, {updates}" for name, updates in rows])
    right.set_ylim(len(rows) - 0.4, -1.2)
    right.axvline(value, color="black", linewidth=1.2)
    right.annotate(f"TMECor {value:+.4f}", (value, -0.8), ha="right", xytext=(-4, 0), textcoords="offset points")
    right.set_xlabel("what North-South gets at least, against any agreed plan")
    for axis in (left, right):
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure
