"""Matches between Gongzhu players: the tables and figures behind `experiments.gongzhu_baselines`."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.figure import Figure

import gongzhu_spiel  # noqa: F401 registers the game
from cardtable.executors import Executor, Serial
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.plots import plt
from experiments.running.round_robin import PairResult, intransitivity, play_pair

BOOTSTRAP = 10_000
# Table 2: points of the first over the second, and their standard errors.
PUBLISHED = {("if", "random"): (194, 4), ("greed", "random"): (275, 5), ("greed", "if"): (80, 6)}
PUBLISHED |= {("scrofazero", "random"): (319, 16), ("scrofazero", "if"): (127, 8), ("scrofazero", "greed"): (60, 5)}
SEARCH = "monte carlo"
ROLLOUTS = ("random", "if", "team")


class Matches:
    """Plays matches by the names of players."""

    def __init__(self, seed: int, executor: Executor) -> None:
        self._game = load_game("python_gongzhu")
        self._seed = seed
        self._executor = executor

    def play(self, first: str, second: str, deals: int, title: str) -> PairResult:
        players = (find_player(first, self._game), find_player(second, self._game))
        play_pair(self._game, players, 2, self._seed, Serial())  # compilation must not count as thinking
        with LateProgress(title, 2 * deals) as progress:
            return play_pair(self._game, players, deals, self._seed, self._executor, progress.advance)


Points = dict[tuple[str, str], tuple[float, float]]  # first, second: mean, standard error


def table_2(runner: Matches, deals: int, search_deals: int, best_worlds: int) -> Points:
    players = {name: name for name in ("random", "if", "greed")}
    players[SEARCH] = f"monte_carlo(worlds={best_worlds},rollout=team)"
    points = {}
    for second, first in itertools.combinations(players, 2):
        number = search_deals if SEARCH in (first, second) else deals
        score = runner.play(players[first], players[second], number, f"{first} against {second}").score
        points[first, second] = (score.mean, score.standard_error)
    return points


def table_2_rows(points: Points) -> list[dict]:
    rows = []
    for (first, second), (mean, error) in points.items():
        published = PUBLISHED[first.replace(SEARCH, "scrofazero"), second]
        paper = f"{published[0]} ± {published[1]}" + (" (ScrofaZero)" if first == SEARCH else "")
        interval = f"{mean - 1.96 * error:.1f} to {mean + 1.96 * error:.1f}"
        rows.append({"match": f"{first} - {second}", "points": f"{mean:.1f}", "s.e.": f"{error:.1f}"})
        rows[-1] |= {"95% interval": interval, "paper": paper}
    return rows


def _matrix(points: dict[tuple[str, str], float], players: list[str]) -> np.ndarray:
    x = np.zeros((len(players), len(players)))
    for (first, second), mean in points.items():
        i, j = players.index(first), players.index(second)
        x[i, j], x[j, i] = mean, -mean
    return x


def describe_transitivity(points: Points) -> str:
    parts = []
    rng = np.random.default_rng(0)
    for players in (["random", "if", "greed"], ["random", "if", "greed", SEARCH]):
        own = {pair: value for pair, value in points.items() if set(pair) <= set(players)}
        estimate = intransitivity(_matrix({pair: mean for pair, (mean, _) in own.items()}, players))
        redrawn = [
            intransitivity(_matrix({pair: rng.normal(mean, error) for pair, (mean, error) in own.items()}, players))
            for _ in range(BOOTSTRAP)
        ]
        parts.append(f"{', '.join(players)}: {estimate:.3f} ± {np.std(redrawn):.3f}")
    return f"Intransitivity (eq. 17) of {'; of '.join(parts)} (published, with ScrofaZero as the fourth: 0.03 ± 0.02)."


def search_rows(runner: Matches, worlds: list[int], deals: int) -> list[dict]:
    rows = []
    for rollout in ROLLOUTS:
        for number in worlds:
            player = f"monte_carlo(worlds={number},rollout={rollout})"
            result = runner.play(player, "greed", deals, f"{number} worlds, {rollout} rollouts")
            rows.append({"rollouts": rollout, "worlds": number, "points": round(result.score.mean, 1)})
            cost = round(float(result.milliseconds[0]), 2)
            rows[-1] |= {"s.e.": round(result.score.standard_error, 1), "ms a move": cost}
    return rows


def search_figure(rows: list[dict]) -> Figure:
    figure, axis = plt.subplots(figsize=(7, 4.5))
    for rollout in ROLLOUTS:
        chosen = [row for row in rows if row["rollouts"] == rollout]
        axis.errorbar(
            [row["worlds"] for row in chosen],
            [row["points"] for row in chosen],
            yerr=[1.96 * row["s.e."] for row in chosen],
            marker="o",
            capsize=3,
            label=f"{rollout} rollouts",
        )
    axis.axhline(0, color="black", linewidth=0.8)
    axis.axhline(73.9, color="grey", linestyle="--", linewidth=1, label="ScrofaZero, best published (73.9)")
    worlds = sorted({row["worlds"] for row in rows})
    axis.set(
        xscale="log", xlabel="worlds", ylabel="points over Mr. Greed", title="Flat Monte Carlo player, 95% intervals"
    )
    axis.set_xticks(worlds, [str(number) for number in worlds])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def report(table: list[dict], words: str, search: list[dict], deals: int, search_deals: int, best_worlds: int) -> str:
    return (
        "# Gongzhu: players of the literature\n\n"
        f"Points of the first player's team over the second's. Matches of {deals:,} duplicate deals ({search_deals:,} "
        f"with the Monte Carlo player, which has {best_worlds} worlds and rolls out with Mr. Team). Standard errors "
        "are over deals. Published: Shi, Li and Sun, Table 2.\n\n"
        f"{tables.markdown(table)}\n{words}\n\n## Flat Monte Carlo player over Mr. Greed\n\n"
        "CPU time is that of the Monte Carlo player, for a decision between two or more cards.\n\n"
        f"{tables.markdown(search)}\n![](monte_carlo.png)\n"
    )
