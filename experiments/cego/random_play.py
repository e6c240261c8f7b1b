"""Cego between random players: the tables and figures behind `experiments.cego_baselines`."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from cardtable.batch import play_out
from cardtable.executors import Executor
from cardtable.progress import LateProgress
from cego_spiel.card_strength import LOW_SHARE, low_cards
from cego_spiel.cards import LOW, NUM_CARDS, card_name
from cego_spiel.rules import cego_rules
from experiments.running import tables
from experiments.running.plots import plt

PORTION = 50_000  # games of one piece of work
PUBLISHED_GAMES = 1_000_000
# Table III: average points per game, or won games in percent, of seats 0 to 3.
PUBLISHED = {
    "standard": ("points", [40.795, 38.205, 38.205, 38.205]),
    "solo": ("points", [48.996, 30.004, 30.004, 30.004]),
    "ultimo": ("won %", [8.42, 91.58, 91.58, 91.58]),
    "bettel": ("won %", [73.081, 26.919, 26.919, 26.919]),
    "piccolo": ("won %", [39.275, 60.725, 60.725, 60.725]),
    "raeuber": ("won %", [73.848, 74.839, 75.425, 75.887]),
}
PUBLISHED_LOW_SHARE = 18.28  # percent of all tricks


class Portion(NamedTuple):
    """Random games of a sub-game."""

    subgame: str
    games: int
    seed: np.random.SeedSequence


def returns_of(shared: None, portion: Portion) -> np.ndarray:
    return play_out(cego_rules(portion.subgame), portion.games, portion.seed, threads=1).returns


def table_3(games: int, seed: int, executor: Executor) -> list[dict]:
    """One row per sub-game and seat."""
    rows = []
    seeds = np.random.SeedSequence(seed).spawn(len(PUBLISHED))
    count = math.ceil(games / PORTION)
    portions = [
        Portion(subgame, min(PORTION, games - number * PORTION), stream)
        for subgame, own in zip(PUBLISHED, seeds, strict=True)
        for number, stream in enumerate(own.spawn(count))
    ]
    with LateProgress("random games", games * len(PUBLISHED)) as progress:
        answers = executor.map(returns_of, portions, None)
        for subgame, (measure, published) in PUBLISHED.items():
            parts = []
            for found in itertools.islice(answers, count):
                parts.append(found)
                progress.advance(len(found))
            returns = np.concatenate(parts) * (1 if measure == "points" else 100)
            rows += [row(subgame, measure, seat, returns[:, seat], published[seat]) for seat in range(4)]
    return rows


def row(subgame: str, measure: str, seat: int, values: np.ndarray, published: float) -> dict:
    spread = values.std(ddof=1)
    error = spread / math.sqrt(len(values))
    error_of_difference = spread * math.sqrt(1 / len(values) + 1 / PUBLISHED_GAMES)
    return {
        "game": subgame,
        "measure": measure,
        "seat": seat,
        "mean": f"{values.mean():.3f}",
        "s.e.": f"{error:.3f}",
        "95% interval": f"{values.mean() - 1.96 * error:.3f} {values.mean() + 1.96 * error:.3f}",
        "paper": f"{published:.3f}",
        "z": f"{(values.mean() - published) / error_of_difference:+.2f}",
    }


def figure_2_rows(wins: np.ndarray) -> list[dict]:
    """The cards from the strongest to the weakest, with their share of all tricks."""
    low = set(low_cards(wins))
    order = np.argsort(-wins, kind="stable").tolist()
    return [
        {
            "place": place,
            "card": card_name(card),
            "share": wins[card] / wins.sum(),
            "class": "low" if card in low else "high",
        }
        for place, card in enumerate(order, start=1)
    ]


def figure_2(rows: list[dict]) -> Figure:
    figure, axis = plt.subplots(figsize=(11, 4))
    for name, colour in (("high", "tab:purple"), ("low", "tab:blue")):
        chosen = [row for row in rows if row["class"] == name]
        total = sum(row["share"] for row in chosen)
        label = f"{len(chosen)} {name} cards, {100 * total:.2f} % of all tricks"
        axis.bar([row["place"] for row in chosen], [100 * row["share"] for row in chosen], color=colour, label=label)
    axis.set_xticks([row["place"] for row in rows], [row["card"] for row in rows], rotation=90, fontsize=7)
    axis.set(
        ylabel="share of all tricks won, %", title="Figure 2: how often a card wins a trick in random games of Solo"
    )
    axis.margins(x=0.01)
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def describe_low_cards(wins: np.ndarray) -> str:
    low = low_cards(wins)
    ascending = np.sort(wins)
    shares = 100 * np.cumsum(ascending) / wins.sum()
    rules_low = [card for card in range(NUM_CARDS) if LOW >> card & 1]
    agreement = "exactly those of the rules" if low == rules_low else "NOT those of the rules"
    return (
        f"The {len(low)} weakest cards win {shares[len(low) - 1]:.2f} % of all tricks (published: 30 cards, "
        f"{PUBLISHED_LOW_SHARE} %), one more {shares[len(low)]:.2f} %, which is over {100 * LOW_SHARE:.0f} %. "
        f"They are {agreement}."
    )


def report(table: list[dict], words: str, games: int, seconds: float) -> str:
    worst = max(abs(float(row["z"])) for row in table)
    return (
        "# Cego: random players\n\n"
        f"{games:,} games per sub-game, {seconds:.0f} s in all. Published: Oeschger, Table III, 10^6 games. "
        f"The largest difference is {worst:.2f} standard errors of a difference of two such means.\n\n"
        f"{tables.markdown(table)}\n## High and low cards (Figure 2)\n\n{words}\n\n![](figure_2.png)\n"
    )
