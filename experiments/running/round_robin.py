"""Everybody against everybody on the same duplicate deals: cross table, ratings, and how intransitive players are.

x_ij is what player i is ahead of player j per deal (`Match.per_deal`), so x_ji = -x_ij.

*Ratings* are points, by least squares: the r with sum 0 that minimises the sum of (x_ij - (r_i - r_j))^2 over all
pairs, which for a complete round robin is r_i = sum_j x_ij / n. As all matches have the same deals, a rating is a mean
over deals too, and its interval takes into account how results of one deal hang together.

*Intransitivity* is eq. 17 of Shi, Li and Sun ("ScrofaZero", 2021), over all triples:

    sum |x_ij + x_jk - x_ik|^2 / sum |x_ij + x_jk - x_ik| (|x_ij| + |x_jk| + |x_ik|)

0 is transitive, 1 is rock, paper, scissors. Noise alone makes it positive: its interval is from deals drawn again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from matplotlib.figure import Figure

from cardtable.executors import Executor, Serial
from cardtable.files import read_arrays, write_arrays
from cardtable.match import CONFIDENCE, Estimate, Match, play_match
from cardtable.parameters import UserError
from cardtable.player import Player, find_player
from experiments.running.plots import plt

BOOTSTRAP = 1000
FULL_COLOUR = 0.8  # of the results are told apart by colour


class PairResult(NamedTuple):
    """One match: what the first player is ahead per deal, and what decisions cost each of the two."""

    per_deal: np.ndarray
    decisions: np.ndarray  # (2)
    milliseconds: np.ndarray  # (2), of CPU time for a decision; nan where compiled players played each other

    @property
    def score(self) -> Estimate:
        return Estimate.of(self.per_deal)

    def first(self, deals: int) -> PairResult:
        """The beginning of a match, as if no more had been played: its deals are the same."""
        return self._replace(per_deal=self.per_deal[:deals])

    @staticmethod
    def of(match: Match) -> PairResult:
        return PairResult(
            match.per_deal(),
            np.array([match.decisions(player) for player in range(2)], np.int64),
            np.array([match.milliseconds(player) for player in range(2)]),
        )


def names_in(text: str, least: int = 2) -> list[str]:
    """Names with commas between them; commas inside parentheses belong to a name."""
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]
    if len(names) < least or not all(names):
        count = "two" if least == 2 else "one"
        raise UserError(f"--players={text}: allowed are {count} or more names with commas between them")
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise UserError(f"--players={text}: {', '.join(sorted(repeated))} is named more than once")
    return names


def play_pair(
    game: pyspiel.Game,
    players: tuple[Player, Player],
    deals: int,
    seed: int,
    executor: Executor,
    on_progress: Callable[[int], None] | None = None,
) -> PairResult:
    return PairResult.of(play_match(game, *players, deals, seed, executor, on_progress))


def timed(
    game: pyspiel.Game, first: str, second: str, deals: int, seed: int, on_progress: Callable[[int], None]
) -> Callable[[Executor], PairResult]:
    """Finds two players and lets them play; one deal beforehand, as compilation must not count as thinking."""

    def play(executor: Executor) -> PairResult:
        pair = (find_player(first, game), find_player(second, game))
        play_pair(game, pair, 1, seed, Serial())
        return play_pair(game, pair, deals, seed, executor, on_progress)

    return play


def save_pair(path: Path, result: PairResult) -> None:
    write_arrays(path, result._asdict())


def load_pair(path: Path, deals: int) -> PairResult:
    """A match saved by `save_pair`; UserError if the file is damaged or of another number of deals."""
    try:
        arrays = read_arrays(path, "a match of a tournament")
        result = PairResult(*(arrays[name] for name in PairResult._fields))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it to play the match again") from None
    expected = (((deals,), "f"), ((2,), "i"), ((2,), "f"))
    fits = [(array.shape, array.dtype.kind) for array in result] == list(expected)
    known = fits and np.isfinite(result.per_deal).all() and not np.isinf(result.milliseconds).any()  # nan: not measured
    if not known:
        raise UserError(f"{path} is not a match of {deals:,} deals; delete it to play it again")
    return result


class Standings:
    """All pairs of a finished round robin."""

    def __init__(self, names: Sequence[str], results: dict[tuple[int, int], PairResult]) -> None:
        self.names = list(names)
        self.results = results
        deals = len(next(iter(results.values())).per_deal)
        self.points = np.zeros((deals, len(names), len(names)))  # points[d, i, j]: i ahead of j in deal d
        for (i, j), result in results.items():
            self.points[:, i, j] = result.per_deal
            self.points[:, j, i] = -result.per_deal

    def score(self, i: int, j: int) -> Estimate:
        return Estimate.of(self.points[:, i, j])

    def ratings(self) -> list[Estimate]:
        return [Estimate.of(self.points[:, i].mean(axis=1)) for i in range(len(self.names))]

    def intransitivity(self, seed: int = 0) -> tuple[float, float, float]:
        """The index, and the 95% interval of deals drawn again."""
        rng = np.random.default_rng(seed)
        deals = len(self.points)
        again = [intransitivity(self.points[rng.integers(deals, size=deals)].mean(axis=0)) for _ in range(BOOTSTRAP)]
        low, high = np.quantile(again, [0.025, 0.975])
        return intransitivity(self.points.mean(axis=0)), float(low), float(high)

    def order(self) -> list[int]:
        """Players from the best rating to the worst."""
        ratings = self.ratings()
        return sorted(range(len(self.names)), key=lambda i: -ratings[i].mean)

    def milliseconds(self, i: int) -> float:
        """The mean CPU time of a decision over the matches in which it was measured."""
        found = [(r.decisions[p.index(i)], r.milliseconds[p.index(i)]) for p, r in self.results.items() if i in p]
        known = [(decisions, time) for decisions, time in found if not np.isnan(time)]
        return sum(d * t for d, t in known) / sum(d for d, _ in known) if known else float("nan")

    def cross_table(self) -> list[dict[str, Any]]:
        """One row per player, the best first: rating, cost, and points per deal against each other player.

        Players go by their place: their names would be too wide for columns.
        """
        ratings, order = self.ratings(), self.order()
        return [
            {"player": f"{place} {self.names[i]}", "rating": str(ratings[i]), "ms a move": self.milliseconds(i)}
            | {f"v {other}": "" if i == j else str(self.score(i, j)) for other, j in enumerate(order, start=1)}
            for place, i in enumerate(order, start=1)
        ]

    def csv_rows(self) -> list[dict[str, Any]]:
        rows = []
        for (i, j), result in self.results.items():
            score = result.score
            row = {"first": self.names[i], "second": self.names[j], "mean": score.mean, "low": score.low}
            row |= {"high": score.high, "standard_error": score.standard_error, "deals": int(score.n)}
            rows.append(row | {f"ms_{name}": result.milliseconds[k] for k, name in enumerate(("first", "second"))})
        return rows

    def figure(self, title: str) -> Figure:
        """The cross table in colours, and the ratings with their intervals."""
        order, ratings = self.order(), self.ratings()
        names = [f"{place}  {self.names[i]}" for place, i in enumerate(order, start=1)]
        means = self.points.mean(axis=0)[np.ix_(order, order)]
        n = len(order)
        figure, axes = plt.subplots(1, 2, figsize=(6 + 1.2 * n, 2 + 0.5 * n), width_ratios=(1.4, 1), sharey=True)
        # One player far below all others would take up the colours: beyond most of the results they are full.
        largest = np.quantile(np.abs(means[~np.eye(n, dtype=bool)]), FULL_COLOUR) or 1.0
        axes[0].imshow(means, cmap="RdYlGn", vmin=-largest, vmax=largest, aspect="auto")
        for row, column in itertools.permutations(range(n), 2):
            colour = "white" if abs(means[row, column]) > 0.6 * largest else "black"  # on dark ground
            value = f"{means[row, column]:.3g}"
            axes[0].text(column, row, value, ha="center", va="center", fontsize=9, color=colour)
        axes[0].set_xticks(range(n), range(1, n + 1))
        axes[0].set_yticks(range(n), names)
        axes[0].set_title("points per deal, row against column")
        values = [ratings[i].mean for i in order]
        errors = [CONFIDENCE * ratings[i].standard_error for i in order]
        axes[1].errorbar(values, range(n), xerr=errors, fmt="o", capsize=3)
        axes[1].set_ylim(n - 0.5, -0.5)
        axes[1].axvline(0, color="black", linewidth=0.8)
        axes[1].grid(axis="x", alpha=0.3)
        axes[1].set(xlabel="points", title="ratings, 95% intervals")
        figure.suptitle(title)
        figure.tight_layout()
        return figure


def intransitivity(x: np.ndarray) -> float:
    """Eq. 17 for the antisymmetric matrix x of points."""
    above = below = 0.0
    for i, j, k in itertools.combinations(range(len(x)), 3):
        gap = abs(x[i, j] + x[j, k] - x[i, k])
        above += gap**2
        below += gap * (abs(x[i, j]) + abs(x[j, k]) + abs(x[i, k]))
    return above / below if below else 0.0
