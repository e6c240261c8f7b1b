"""What can be said about a match: figures with confidence intervals, tables and plots of `experiments.arena`.

A confidence interval treats the two games of a deal as one observation.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
from matplotlib.figure import Figure

from cardtable.match import CONFIDENCE, Estimate, Games, Match
from cardtable.spiel import CardGame
from experiments.running import plots


def metrics_of(game: pyspiel.Game) -> Callable | None:
    """team_metrics(states, returns, seat) of the game's package, if it has metrics for this game."""
    if not isinstance(game, CardGame):
        return None
    name = f"{type(game).__module__.split('.')[0]}.metrics"
    if importlib.util.find_spec(name) is None:
        return None
    module = importlib.import_module(name)
    return module.team_metrics if game.get_type().short_name in module.GAMES else None


def ratio(numerators: np.ndarray, denominators: np.ndarray) -> Estimate:
    """The ratio of the sums over deals (rows) and seatings (columns), with a standard error over deals.

    Linearised ratio estimator: var = k / (k - 1) * sum (x_i - ratio * n_i)^2 / (sum n)^2 over the k deals.
    """
    x, n = numerators.sum(axis=1), denominators.sum(axis=1)
    total = float(n.sum())
    if total == 0:
        return Estimate(math.nan, math.nan, 0.0)
    ratio = float(x.sum()) / total
    deals = len(x)
    if deals < 2:
        return Estimate(ratio, math.nan, total)
    squares = float(((x - ratio * n) ** 2).sum())
    return Estimate(ratio, math.sqrt(deals / (deals - 1) * squares) / total, total)


def figures(game: pyspiel.Game, match: Match, player: int) -> dict[str, Estimate]:
    """Everything that is measured of one player: for all games the mean return and how games ended, and more where
    the game's package has metrics of its own."""
    mine, theirs = match.rewards(player), match.rewards(1 - player)
    one = np.ones_like(mine)
    found = {"mean return": ratio(mine, one)}
    for seating in range(2):
        side = "first" if (seating == 0) == (player == 0) else "second"
        found[f"on the {side} side"] = ratio(mine[:, [seating]], one[:, [seating]])
    found["ahead"] = ratio((mine > theirs).astype(float), one)
    found["level"] = ratio((mine == theirs).astype(float), one)
    measure = metrics_of(game)
    if measure is not None and match.games[0].states is not None:
        ratios = [measure(match.games[k].states, match.games[k].returns, match.seats(player, k)[0]) for k in range(2)]
        for name in ratios[0]:
            pooled = [np.stack([ratios[seating][name][part] for seating in range(2)], axis=1) for part in range(2)]
            found[name] = ratio(*pooled)
    return found


def figures_of_games(game: pyspiel.Game, games: Games, side: Sequence[int]) -> dict[str, float]:
    """The figures of a side in games that it always played from the same seats: for curves, without intervals."""
    describe = metrics_of(game)
    if describe is None or games.states is None:
        return {"mean return": float(games.returns[:, list(side)].mean())}
    found = {}
    for figure, (numerator, denominator) in describe(games.states, games.returns, side[0]).items():
        total = denominator.sum()
        found[figure] = float(numerator.sum() / total) if total > 0 else math.nan
    return found


def figures_over_time(rows: Sequence[Mapping[str, float]], opponents: Sequence[str], title: str) -> Figure:
    """A plot for each figure, a line for each opponent; rows of metrics call them `opponent: figure`."""
    steps = [row["step"] for row in rows]
    figures = sorted({name.split(": ")[1] for name in rows[-1] if ": " in name})
    columns = min(3, len(figures))
    height = -(-len(figures) // columns)
    picture = Figure(figsize=(4 * columns, 2.6 * height), layout="constrained")
    axes = picture.subplots(height, columns, squeeze=False, sharex=True)
    for axis, what in zip(axes.flat, figures, strict=False):
        for name in opponents:
            axis.plot(steps, [row.get(f"{name}: {what}", np.nan) for row in rows], label=f"against {name}")
        axis.set_title(what, fontsize=10)
        axis.grid(alpha=0.4)
    for axis in list(axes.flat)[len(figures) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("iterations")
    axes.flat[0].legend(fontsize=8)
    picture.suptitle(title)
    return picture


def rows_of(names: Sequence[str], found: Sequence[Mapping[str, Estimate]]) -> list[dict[str, Any]]:
    """One row per figure, one column per player, for tables."""
    return [
        {"figure": name, **{label: str(by_name[name]) for label, by_name in zip(names, found, strict=True)}}
        for name in found[0]
    ]


def csv_rows(names: Sequence[str], found: Sequence[Mapping[str, Estimate]]) -> list[dict[str, Any]]:
    return [
        {
            "player": label,
            "figure": name,
            "mean": value.mean,
            "low": value.low,
            "high": value.high,
            "standard_error": value.standard_error,
            "weight": value.n,
        }
        for label, by_name in zip(names, found, strict=True)
        for name, value in by_name.items()
    ]


def draw(
    title: str,
    names: Sequence[str],
    mine: np.ndarray,
    found: Sequence[Mapping[str, Estimate]],
    with_rates: bool,
) -> Figure:
    """The running mean of the first player; and the rates of both, or how its results spread."""
    figure, axes = plots.plt.subplots(1, 2, figsize=(11, 4.2))
    per_deal = mine.mean(axis=1)
    deals = np.arange(1, len(per_deal) + 1)
    running = np.cumsum(per_deal) / deals
    spread = np.sqrt(np.maximum(np.cumsum(per_deal**2) / deals - running**2, 0) / deals)
    start = min(len(per_deal) - 1, max(20, len(per_deal) // 200))
    axes[0].fill_between(
        deals[start:], (running - CONFIDENCE * spread)[start:], (running + CONFIDENCE * spread)[start:], alpha=0.25
    )
    axes[0].plot(deals[start:], running[start:])
    axes[0].axhline(0, color="black", linewidth=0.8)
    axes[0].set(xlabel="deals, each played twice", ylabel=f"mean return of {names[0]}", title="mean and 95% interval")
    axes[0].xaxis.set_major_locator(plots.plt.MaxNLocator(5))
    axes[0].grid(alpha=0.3)
    if with_rates:
        _draw_rates(axes[1], names, found)
    else:
        values, games = np.unique(mine, return_counts=True)
        if len(values) <= 40:  # a bar for each result
            axes[1].bar(values, games, 0.8 * np.diff(values).min(initial=1.0), alpha=0.7)
        else:
            axes[1].hist(mine.ravel(), bins=40, alpha=0.7)
        axes[1].set(xlabel=f"return of {names[0]} in a game", ylabel="games", title="how games ended")
        axes[1].grid(alpha=0.3)
    figure.suptitle(title)
    figure.tight_layout()
    return figure


def _draw_rates(axis: Any, names: Sequence[str], found: Sequence[Mapping[str, Estimate]]) -> None:
    """The figures that are shares, side by side."""
    shares = [name for name in found[0] if name.endswith("rate") or name.startswith("success")]
    places = np.arange(len(shares))
    for index, (label, by_name) in enumerate(zip(names, found, strict=True)):
        means = [by_name[name].mean for name in shares]
        errors = [CONFIDENCE * by_name[name].standard_error for name in shares]
        axis.barh(places + 0.38 * index - 0.19, means, 0.36, xerr=errors, label=label, capsize=2)
    axis.set_yticks(places, shares)
    axis.invert_yaxis()
    axis.set(xlabel="share", xlim=(0, 1), title="how they play")
    axis.grid(axis="x", alpha=0.3)
    axis.legend(loc="lower right")
