"""What a hand is worth: `python -m experiments.coinche_study --hand="JS 9S AS 7S AH 10H 8C KD"`.

Deals the other cards at random, many times, and asks the double-dummy solver what the hand's side takes with each suit
as trump when everybody plays with open cards. The table gives, for each trump: the mean with its 95% confidence
interval, and how often the side takes at least the 80, 90, ... points that a contract asks for, or all tricks. Open
cards are an estimate of real play: nobody ever has to guess.

The player is North; --leader says who leads the first trick. Writes results.csv, a plot and report.md.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib
import numpy as np
from absl import flags
from rich.progress import track

from cardtable.executors import Executor, Serial
from cardtable.parameters import UserError
from coinche_spiel.cards import (
    ALL_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    SEAT_NAMES,
    SUIT_NAMES,
    TOTAL_POINTS,
    cards_text,
    list_cards,
    parse_cards,
)
from experiments.coinche.open_cards import BATCH, Part, solve_part
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_out,
    define_seed,
    open_directory,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

FLAGS = flags.FLAGS
EXAMPLE = "JS 9S AS 7S AH 10H 8C KD"
if __name__ == "__main__":
    flags.DEFINE_string("hand", None, f'eight cards, such as "{EXAMPLE}"; needed')
    define_count("worlds", 1000, "random deals of the other cards", 2, bytes_each=500, seconds_each=1e-4)
    flags.DEFINE_enum("leader", "N", list(SEAT_NAMES), "who leads the first trick; the hand is North's")
    define_seed("of the deals")
    define_executor("threads:2")
    define_out("runs/coinche_study")
    flags.DEFINE_bool("quick", False, "only 20 worlds")

QUICK_WORLDS = 20
VALUES = range(80, 170, 10)
SHOWN = (80, 90, 100, 120, 140, 160)  # as many as a terminal has room for
CONFIDENCE = 1.96


def parse_hand(text: str) -> int:
    """Eight different cards; raises ValueError that says what is wrong."""
    hand = parse_cards(text)
    count = hand.bit_count()
    if count != NUM_RANKS:
        raise ValueError(f"a hand has {NUM_RANKS} cards, but {text!r} names {count}")
    return hand


def sample_worlds(hand: int, worlds: int, seed: int) -> np.ndarray:
    """(worlds, 4) card sets: the hand is North's, the other cards are dealt at random."""
    rng = np.random.default_rng(seed)
    others = np.array(list_cards(ALL_CARDS ^ hand))
    dealt = rng.permuted(np.tile(others, (worlds, 1)), axis=1).reshape(worlds, 3, NUM_RANKS)
    return np.column_stack([np.full(worlds, hand), (1 << dealt).sum(axis=2)])


def study(
    hand: int,
    worlds: int,
    leader: int = 0,
    seed: int = 1,
    executor: Executor | None = None,
    show_progress: bool = False,
) -> np.ndarray:
    """(4, worlds) points of North and South by trump; 252 where they take all tricks."""
    deals = sample_worlds(hand, worlds, seed)
    parts = [
        Part(deals[first : first + BATCH], trump, leader)
        for trump in range(NUM_SUITS)
        for first in range(0, worlds, BATCH)
    ]
    answers = (executor or Serial()).map(solve_part, parts, None)
    solved = list(track(answers, "solving", total=len(parts), disable=not show_progress))
    return np.concatenate(solved).reshape(NUM_SUITS, worlds)


def summary(points: np.ndarray) -> list[dict[str, Any]]:
    """One row per trump: mean points, half the width of the 95% interval, how often each contract is within reach."""
    rows = []
    for trump in range(NUM_SUITS):
        taken = np.minimum(points[trump], TOTAL_POINTS)
        row: dict[str, Any] = {"trump": SUIT_NAMES[trump], "points": float(taken.mean())}
        row["±"] = float(CONFIDENCE * taken.std(ddof=1) / math.sqrt(len(taken)))
        row |= {f">={value}": float((taken >= value).mean()) for value in VALUES}
        row["capot"] = float((points[trump] > TOTAL_POINTS).mean())
        rows.append(row)
    return rows


def short(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The rows for a narrow table."""
    shown = []
    for row in rows:
        line = {"trump": row["trump"], "points": f"{row['points']:.1f}", "±": f"{row['±']:.1f}"}
        line |= {f">={value}": f"{row[f'>={value}']:.0%}" for value in SHOWN}
        shown.append(line | {"capot": f"{row['capot']:.0%}"})
    return shown


def plot(points: np.ndarray, hand: int) -> Figure:
    """For each trump: how often the side takes at least so many points."""
    figure, axis = plt.subplots(figsize=(8, 4.5))
    colours = ("tab:blue", "tab:red", "tab:green", "tab:orange")
    wanted = np.arange(TOTAL_POINTS + 1)
    for trump in range(NUM_SUITS):
        taken = np.minimum(points[trump], TOTAL_POINTS)
        reached = (taken[:, None] >= wanted).mean(axis=0)
        label = f"{SUIT_NAMES[trump]}  mean {taken.mean():.0f}"
        axis.step(wanted, reached, where="post", color=colours[trump], label=label)
    axis.axvline(VALUES[0], color="grey", linewidth=0.8, linestyle=":")
    axis.text(VALUES[0] + 1, 0.02, "80", color="grey")
    axis.set(xlabel="points of the hand's side, cards open", ylabel="share of worlds with at least so many")
    axis.set(xlim=(0, TOTAL_POINTS), ylim=(0, 1.02), title=f"{cards_text(hand)}: {points.shape[1]:,} worlds")
    axis.legend(title="trump", frameon=False)
    axis.grid(alpha=0.3)
    figure.tight_layout()
    return figure


@command
def main() -> None:
    if FLAGS.hand is None:
        raise UserError(f'which hand? Say it with eight cards, as in --hand="{EXAMPLE}"')
    try:
        hand = parse_hand(FLAGS.hand)
    except ValueError as error:
        raise UserError(f"--hand: {error}") from None
    worlds = QUICK_WORLDS if FLAGS.quick else FLAGS.worlds
    leader = SEAT_NAMES.index(FLAGS.leader)
    config = {"hand": cards_text(hand), "worlds": worlds, "leader": FLAGS.leader, "seed": FLAGS.seed}
    directory = open_directory(config)
    with chosen_executor(directory.path) as executor:
        points = study(hand, worlds, leader, FLAGS.seed, executor, show_progress=True)
    rows = summary(points)
    title = f"{cards_text(hand)}: {worlds:,} worlds, {FLAGS.leader} leads, points with open cards"
    tables.show(title, short(rows))
    write_csv(directory.path / "results.csv", rows)
    directory.save_figure(plot(points, hand), "points_by_trump")
    directory.write_report(f"# {title}\n\n{tables.markdown(short(rows))}\n![points by trump](points_by_trump.png)\n")


if __name__ == "__main__":
    start(main)
