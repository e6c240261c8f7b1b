"""Matches between Gongzhu players: the tables and figures behind `experiments.gongzhu_baselines`."""

from __future__ import annotations

import itertools
import time

import numpy as np
from matplotlib.figure import Figure

from cardtable.montecarlo import Contender, MatchResult, duplicate_match
from cardtable.progress import LateProgress
from experiments.running import tables
from experiments.running.plots import plt
from gongzhu_spiel.players import PLAYERS
from gongzhu_spiel.rules import gongzhu_rules

BOOTSTRAP = 10_000
# Table 2: points of the first over the second, and their standard errors.
PUBLISHED = {("if", "random"): (194, 4), ("greed", "random"): (275, 5), ("greed", "if"): (80, 6)}
PUBLISHED |= {("scrofazero", "random"): (319, 16), ("scrofazero", "if"): (127, 8), ("scrofazero", "greed"): (60, 5)}
SEARCH = "monte carlo"
ROLLOUTS = ("random", "if", "team")


class Matches:
    """Plays matches; remembers their CPU time."""

    def __init__(self, seed: int, threads: int) -> None:
        self._rules = gongzhu_rules(suits=4, ranks=13, leader=0)
        self._seed = seed
        self._threads = threads

    def play(self, first: Contender, second: Contender, deals: int, title: str) -> tuple[MatchResult, float]:
        """The result, and milliseconds of CPU time per decision of the first contender (its opponent's included)."""
        duplicate_match(self._rules, first, second, 2, self._seed)  # compilation must not count as thinking
        done = 0
        with LateProgress(title, deals) as progress:

            def on_progress(finished: int) -> None:
                nonlocal done
                done += finished
                progress.update(done)

            start = time.process_time()
            result = duplicate_match(self._rules, first, second, deals, self._seed, self._threads, on_progress)
            seconds = time.process_time() - start
        return result, 1000 * seconds / max(result.moves, 1)


Points = dict[tuple[str, str], tuple[float, float]]  # first, second: mean, standard error


def table_2(runner: Matches, deals: int, search_deals: int, best_worlds: int) -> Points:
    players = {"random": Contender(), "if": Contender(PLAYERS["if"]), "greed": Contender(PLAYERS["greed"])}
    players[SEARCH] = Contender(PLAYERS["team"], best_worlds)
    points = {}
    for second, first in itertools.combinations(players, 2):
        number = search_deals if SEARCH in (first, second) else deals
        result, _ = runner.play(players[first], players[second], number, f"{first} against {second}")
        points[first, second] = (result.mean, result.standard_error)
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


def intransitivity(points: dict[tuple[str, str], float], players: list[str]) -> float:
    """Eq. 17 of the paper; points[i, j] is what i wins against j."""

    def x(i: str, j: str) -> float:
        return points[i, j] if (i, j) in points else -points[j, i]

    above = below = 0.0
    for i, j, k in itertools.combinations(players, 3):
        gap = abs(x(i, j) + x(j, k) - x(i, k))
        above += gap**2
        below += gap * (abs(x(i, j)) + abs(x(j, k)) + abs(x(i, k)))
    return above / below if below else 0.0


def describe_transitivity(points: Points) -> str:
    parts = []
    rng = np.random.default_rng(0)
    for players in (["random", "if", "greed"], ["random", "if", "greed", SEARCH]):
        own = {pair: value for pair, value in points.items() if set(pair) <= set(players)}
        estimate = intransitivity({pair: mean for pair, (mean, _) in own.items()}, players)
        redrawn = [
            intransitivity({pair: rng.normal(mean, error) for pair, (mean, error) in own.items()}, players)
            for _ in range(BOOTSTRAP)
        ]
        parts.append(f"{', '.join(players)}: {estimate:.3f} ± {np.std(redrawn):.3f}")
    return f"Intransitivity (eq. 17) of {'; of '.join(parts)} (published, with ScrofaZero as the fourth: 0.03 ± 0.02)."


def search_rows(runner: Matches, worlds: list[int], deals: int) -> list[dict]:
    rows = []
    greed = Contender(PLAYERS["greed"])
    for rollout in ROLLOUTS:
        for number in worlds:
            contender = Contender(PLAYERS.get(rollout), number)
            result, milliseconds = runner.play(contender, greed, deals, f"{number} worlds, {rollout} rollouts")
            rows.append({"rollouts": rollout, "worlds": number, "points": round(result.mean, 1)})
            rows[-1] |= {"s.e.": round(result.standard_error, 1), "ms a move": round(milliseconds, 2)}
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
        "CPU time is that of the whole match divided by the Monte Carlo player's decisions.\n\n"
        f"{tables.markdown(search)}\n![](monte_carlo.png)\n"
    )
