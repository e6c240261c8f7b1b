"""The Deep CFR experiments of the Coinche paper: `python -m experiments.coinche_deep_cfr --seconds=900 --workers=2`.

Twelve runs of the same length: self-play (the paper's Figure 1) and training against random, simple and strong players
(its Figure 3), each with the paper's Algorithm 3 as written, which is biased, with the same algorithm corrected, and
with rollouts, which are unbiased too and have less noise. Nothing else differs between the three. `--paper` uses the
paper's networks, memories and training (its Table 3). The report compares what happened with the paper's claims C1, C2
and C6 to C8; with few iterations it says so instead of judging.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from absl import flags
from matplotlib.figure import Figure
from rich.progress import track

from cardtable.executors import Serial
from experiments.coinche.all_pass import heuristic_play
from experiments.coinche.deep_runs import Job, train_run
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.deep_training import ITSELF, Options
from experiments.running.directory import holds_a_run
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    define_seed,
    open_directory,
)
from experiments.running.loop import Limits, Row

FLAGS = flags.FLAGS
define_number("seconds", 900.0, "CPU seconds of training of each of the twelve runs", 0.0)
define_seed("of networks, traversals and games")
define_out("runs/coinche_deep_cfr", resume="the runs")
flags.DEFINE_bool("quick", False, "a few iterations that only show that it works")
flags.DEFINE_bool("paper", False, "networks, memories and training of the paper's table of hyperparameters")
define_count("games", 1000, "games per evaluation", bytes_each=500, seconds_each=1e-5)
define_executor()

SELF_PLAY_GAME = "python_coinche"
GAME = "python_coinche(reward=good,trick_reward=0.1)"  # the paper's reward in its section on fixed opponents
OPPONENTS = ("random", "simple", "strong")
TRAVERSALS = {"Algorithm 3": "algorithm3_biased", "corrected": "corrected", "rollouts": "rollouts"}
# Little work in an iteration, so that there are many.
SETTINGS: dict[str, Any] = {"traversals": 32, "tries": 2, "training_steps": 50, "batch_size": 256}
QUICK_SETTINGS: dict[str, Any] = {"traversals": 1, "tries": 2}
NODE_BUDGET = 100_000_000
ENOUGH_ITERATIONS = 100  # fewer say nothing about the paper's 5,000

Curves = dict[tuple[str, str], list[Row]]  # (opponents or "itself", name of the traversal): metrics


@command
def main() -> None:
    study(FLAGS.out)


def folder(opponents: str, traversal: str) -> str:
    return f"{opponents}_{TRAVERSALS[traversal]}"


def settings(opponents: str, traversal: str) -> dict[str, Any]:
    """What distinguishes a run from the defaults of large games."""
    chosen: dict[str, Any] = {"traversal": TRAVERSALS[traversal], "node_budget": NODE_BUDGET}
    if FLAGS.quick:
        chosen |= QUICK_SETTINGS
    elif not FLAGS.paper:
        chosen |= SETTINGS
    if opponents != ITSELF:
        chosen["networks"] = "team"
    return chosen


def job(out: str, opponents: str, traversal: str) -> Job:
    path = Path(out) / folder(opponents, traversal)
    options = Options(
        game=SELF_PLAY_GAME if opponents == ITSELF else GAME,
        engine="levels",
        seed=FLAGS.seed,
        opponents="" if opponents == ITSELF else opponents,
        games=FLAGS.games,
        quick=FLAGS.quick,
        paper=FLAGS.paper,
        settings=settings(opponents, traversal),
    )
    limits = Limits(seconds=FLAGS.seconds)
    return Job(options, str(path), limits, FLAGS.resume and holds_a_run(path), FLAGS.overwrite)


def study(out: str) -> None:
    directory = open_directory({"seconds": FLAGS.seconds, "seed": FLAGS.seed, "paper": FLAGS.paper})
    runs = [(opponents, traversal) for opponents in (ITSELF, *OPPONENTS) for traversal in TRAVERSALS]
    given = [job(out, *run) for run in runs]
    with chosen_executor(directory.path) as executor:
        quiet = not isinstance(executor, Serial)
        answers = executor.map(train_run, given, quiet)
        curves = track(answers, "runs", total=len(given), disable=not quiet)
        found: Curves = dict(zip(runs, curves, strict=True))
    tables.console.quiet = False
    pictures = [
        directory.save_figure(self_play_figure(found), "self_play"),
        directory.save_figure(opponents_figure(found), "opponents"),
    ]
    rows = claims(found)
    tables.show("Claims of the paper", rows)
    last = tables.markdown(last_figures(found))
    links = "\n".join(f"* `{folder(*run)}/report.md`" for run in found)
    directory.write_report(
        f"# Deep CFR on Coinche\n\n`python -m experiments.coinche_deep_cfr --seconds={FLAGS.seconds:g}`\n\n"
        f"{tables.markdown(rows)}\n"
        f"Runs with fewer than {ENOUGH_ITERATIONS} iterations are not judged.\n\n"
        f"Last evaluation of each run, {FLAGS.games:,} games of the Single Deep CFR average:\n\n{last}\n"
        + "\n".join(f"![{picture.stem}]({picture.name})" for picture in pictures)
        + f"\n\n{links}\n"
    )


def over_time(found: Curves, opponents: str, traversal: str, figure: str) -> np.ndarray:
    return np.array([row[f"{opponents}: {figure}"] for row in found[opponents, traversal]])


def claims(found: Curves) -> list[dict[str, Any]]:
    """What each claim says, what was seen, and whether it was seen at all."""
    rows = []

    def judge(claim: str, opponents: str, traversal: str, seen: str, holds: bool) -> None:
        iterations = int(found[opponents, traversal][-1]["step"])
        enough = iterations >= ENOUGH_ITERATIONS
        rows.append(
            {
                "claim": claim,
                "traversal": traversal,
                "iterations": iterations,
                "what was seen": seen,
                "verdict": ("seen" if holds else "not seen") if enough else "too few iterations",
            }
        )

    for traversal in TRAVERSALS:
        void = over_time(found, "itself", traversal, "void rate")
        turns = over_time(found, "itself", traversal, "table turns")[-1]
        peak = int(found["itself", traversal][int(void.argmax())]["step"])
        seen = (
            f"void rate {void.min():.2f} to {void.max():.2f} (after {peak} iterations), last {void[-1]:.2f}; "
            f"{turns:.2f} table turns"
        )
        judge("C1 self-play ends in all-pass", "itself", traversal, seen, bool(void[-1] > 0.9))
    opening = heuristic_play("cautious", "strong", deals=20_000, seed=1)
    gain, width = opening["points a deal"], opening["± (95%)"]
    rows.append(
        {
            "claim": "C2 all-pass is an equilibrium",
            "traversal": "none: a cautious opening against three who pass",
            "iterations": 0,
            "what was seen": f"gains {gain:.1f} ± {width:.1f} points a deal; zero would be needed",
            "verdict": "refuted" if gain > 2 * width else "not refuted",
        }
    )
    texts = {
        "random": "C6 against random: waits, or bids reasonable contracts",
        "simple": "C7 against simple: defends, then always attacks with very high bids",
        "strong": "C8 against strong: oscillates between attacking and not",
    }
    for opponents, claim in texts.items():
        for traversal in TRAVERSALS:
            attack = over_time(found, opponents, traversal, "attack rate")
            contract = over_time(found, opponents, traversal, "contract")[-1]
            returns = over_time(found, opponents, traversal, "mean return")
            seen = (
                f"attack rate {attack.min():.2f} to {attack.max():.2f}, last {attack[-1]:.2f}; contract "
                f"{contract:.0f}; mean return {returns[0]:.0f} at first, {returns[-1]:.0f} at last"
            )
            swings = int((np.abs(np.diff(attack)) > 0.3).sum())
            holds = {
                "random": bool(attack[-1] < 0.2 or contract < 140),
                "simple": bool(attack.min() < 0.3 and attack[-1] > 0.8 and contract > 140),
                "strong": swings >= 2,
            }[opponents]
            judge(claim, opponents, traversal, seen, holds)
    return rows


def last_figures(found: Curves) -> list[dict[str, Any]]:
    """The last evaluation of each run in the figures of the paper's appendix."""
    rows = []
    for (opponents, traversal), curve in found.items():
        prefix = f"{opponents}: "
        figures = {name.removeprefix(prefix): curve[-1][name] for name in curve[-1] if name.startswith(prefix)}
        rows.append({"against": opponents, "traversal": traversal, "iterations": int(curve[-1]["step"]), **figures})
    return rows


def self_play_figure(found: Curves) -> Figure:
    return _grid(found, ["itself"], ["void rate", "table turns", "contract"])


def opponents_figure(found: Curves) -> Figure:
    return _grid(found, OPPONENTS, ["attack rate", "contract", "mean return"])


def _grid(found: Curves, opponents: Any, figures: list[str]) -> Figure:
    """A row for each opponent, a column for each figure, a line for each traversal."""
    picture = Figure(figsize=(4 * len(figures), 2.7 * len(opponents)), layout="constrained")
    axes = picture.subplots(len(opponents), len(figures), squeeze=False)
    for line, who in zip(axes, opponents, strict=True):
        for axis, figure in zip(line, figures, strict=True):
            for traversal in TRAVERSALS:
                steps = [row["step"] for row in found[who, traversal]]
                axis.plot(steps, over_time(found, who, traversal, figure), ".-", label=traversal)
            axis.set(xscale="log", title=f"{figure}, against {who}", xlabel="iterations")
            axis.grid(alpha=0.4)
    axes[0][0].legend(fontsize=8)
    return picture


if __name__ == "__main__":
    start(main)
