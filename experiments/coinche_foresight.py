"""How well what a call leads to is foretold before the cards are played: `python -m experiments.coinche_foresight`.

Three questions on which simulated calls rest (`coinche_spiel.bidding.simulation`), each asked of auctions of the fast
bidder whose cards are then played by the search of `expert`, in all four seats:

* Which forecast says best whether a contract is made: points with open cards (double dummy), points that a network
  takes which sees one hand at a time, or a mean of both? Each forecast has shift and spread of its own, fitted on one
  half of the contracts and judged on the other by its log loss, and the other way round.
* How often is a capot made that open cards promise in so many of the imagined worlds?
* What does a simulated call bring that promises so many standard errors over the fast bidder's?

An interrupted run goes on with --resume.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from absl import flags

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Executor
from cardtable.files import read_arrays, write_arrays
from cardtable.match import CONFIDENCE, Estimate
from cardtable.parameters import UserError
from cardtable.progress import LateProgress
from coinche_spiel.bidding.simulator import WORLDS
from experiments.coinche.foresight import (
    Piece,
    calls_of,
    capots_of,
    chances,
    contracts_of,
    fit_line,
    log_loss,
)
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

FLAGS = flags.FLAGS
if __name__ == "__main__":
    define_count("contracts", 2000, "deals in which the contract of four fast bidders is played", 8, seconds_each=0.1)
    define_count("capots", 2000, "deals in which a capot is called as soon as it is worth a try", 8, seconds_each=0.2)
    define_count(
        "calls", 500, "deals in which every call that simulation would change is played out", 8, seconds_each=1
    )
    define_count("worlds", WORLDS, "in which calls are tried", 2, seconds_each=0.001)
    define_seed("of the deals")
    define_executor()
    define_out("runs/coinche_foresight", resume="the three questions")
    flags.DEFINE_bool("quick", False, "eight deals of each kind, four worlds")

QUICK = {"contracts": 8, "capots": 8, "calls": 8, "worlds": 4}
PIECE = 32  # deals of one piece of work
FILED_EACH = 4  # pieces
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95, np.inf)
ERRORS = (0.0, 0.75, 1.5, 2.5, 4.0, np.inf)
FORECASTS = {"open cards": [2], "network": [3], "both": [2, 3]}  # columns of `contracts_of`
COLUMNS = {"contracts": 5, "capots": 3, "calls": 3}
WORK: dict[str, Callable[[None, Piece], np.ndarray]] = {
    "contracts": contracts_of,
    "capots": capots_of,
    "calls": calls_of,
}


def answers(what: str, config: dict[str, Any], folder: Path, executor: Executor) -> np.ndarray:
    """What came of `what`: rows that are filed as they come, and those that are filed already."""
    file, count = folder / f"{what}.npz", config[what]
    rows, deals = load_answers(file, what, count) if file.exists() else (np.empty((0, COLUMNS[what])), 0)
    starts = range(deals, count, PIECE)
    pieces = [Piece(config["seed"], first, min(first + PIECE, count), config["worlds"]) for first in starts]
    found = [rows]
    with LateProgress(what, count) as progress:
        progress.advance(deals)
        try:
            for number, new in enumerate(executor.map(WORK[what], pieces, None)):
                found.append(new.astype(np.float64))
                deals = pieces[number].last
                progress.advance(deals - pieces[number].first)
                if number % FILED_EACH == FILED_EACH - 1:
                    save_answers(file, np.concatenate(found), deals)
        finally:  # also where somebody asked to stop
            save_answers(file, np.concatenate(found), deals)
    return np.concatenate(found)


def save_answers(file: Path, rows: np.ndarray, deals: int) -> None:
    """Files rows, and of how many deals they are."""
    write_arrays(file, {"rows": rows, "count": np.array([len(rows), deals])})


def load_answers(file: Path, what: str, most: int) -> tuple[np.ndarray, int]:
    """What `save_answers` filed of at most so many deals; UserError if it is something else."""
    again = "delete it to play them again"
    found = read_arrays(file, f"answers about {what}; {again}")
    rows, count = found.get("rows", np.empty(0)), found.get("count", np.empty(0))
    sound = rows.ndim == 2 and rows.shape[1] == COLUMNS[what] and rows.dtype == np.float64 and np.isfinite(rows).all()
    if not sound or count.shape != (2,) or count.dtype.kind != "i" or count[0] != len(rows):
        raise UserError(f"{file} does not hold answers about {what}; {again}")
    deals = int(count[1])
    if deals != most and (deals % PIECE or not 0 <= deals < most):
        raise UserError(f"{file} says it is of {deals:,} deals; {again}")
    return rows, deals


def forecast_rows(contracts: np.ndarray) -> tuple[list[dict[str, str]], dict[str, np.ndarray]]:
    """A row for each forecast; and its chances for all contracts, each from a line fitted on the other half."""
    values, points = contracts[:, 0], contracts[:, 4]
    made = points >= values
    even = np.arange(len(values)) % 2 == 0
    rows, foretold = [], {}
    for name, columns in FORECASTS.items():
        forecasts = contracts[:, columns]
        found = np.empty(len(values))
        for half in (even, ~even):
            found[~half] = chances(fit_line(values[half], forecasts[half], made[half]), values[~half], forecasts[~half])
        line = fit_line(values, forecasts, made)
        error = points - forecasts @ np.array(line.weights)
        rows.append(
            {
                "forecast": name,
                "log loss": str(Estimate.of(log_loss(found, made))),
                "shift": f"{line.shift:.1f}",
                "spread": f"{line.spread:.1f}",
                "share of open cards": f"{line.weights[0]:.2f}" if len(columns) > 1 else "-",
                "points less forecast": str(Estimate.of(error)),
                "standard deviation": f"{error.std():.1f}",
            }
        )
        foretold[name] = found
    return rows, foretold


def _within(numbers: np.ndarray, edges: Sequence[float]) -> list[tuple[str, np.ndarray]]:
    """Which of the numbers lie between two neighbouring edges, with words for it."""
    parts = [
        (f"{low:g} or more" if np.isinf(high) else f"{low:g} to {high:g}", (numbers >= low) & (numbers < high))
        for low, high in itertools.pairwise(edges)
    ]
    return [(words, inside) for words, inside in parts if inside.any()]


def capot_rows(capots: np.ndarray) -> list[dict[str, str]]:
    promised, opened, made = capots.T
    return [
        {
            "promised in a share of": words,
            "capots": str(int(inside.sum())),
            "mean share": f"{promised[inside].mean():.2f}",
            "promised in this deal": f"{opened[inside].mean():.2f}",
            "made": str(Estimate.of(made[inside])),
        }
        for words, inside in _within(promised, SHARES)
    ]


def call_rows(calls: np.ndarray) -> list[dict[str, str]]:
    claimed, errors, gains = calls.T
    return [
        {
            "better by standard errors": words,
            "calls": str(int(inside.sum())),
            "promised, points": f"{claimed[inside].mean():.1f}",
            "brought": str(Estimate.of(gains[inside])),
        }
        for words, inside in _within(claimed / np.maximum(errors, 1e-9), ERRORS)
    ]


def figure(made: np.ndarray, foretold: dict[str, np.ndarray], capots: np.ndarray, calls: np.ndarray) -> Figure:
    """Foretold beside seen, three times: the nearer to the diagonal the better."""
    drawing, axes = plt.subplots(1, 3, figsize=(15, 4.8))
    for name, chance in foretold.items():
        _draw(axes[0], chance, made, np.quantile(chance, np.linspace(0, 1, 9)), name)
    axes[0].set(xlabel="foretold chance", ylabel="share made", title="Contracts, by eighths of each forecast")
    _draw(axes[1], capots[:, 0], capots[:, 2], SHARES, "capots")
    axes[1].set(xlabel="share of worlds that promise it", ylabel="share made", title="Capots")
    for axis in axes[:2]:
        axis.plot([0, 1], [0, 1], color="black", linewidth=0.8)
        axis.set_ylim(-0.02, 1.02)
        axis.legend()
    claimed, errors, gains = calls.T
    middles, means, bars = [], [], []
    for _, inside in _within(claimed / np.maximum(errors, 1e-9), ERRORS):
        found = Estimate.of(gains[inside])
        middles.append(claimed[inside].mean())
        means.append(found.mean)
        bars.append(CONFIDENCE * found.standard_error)
    axes[2].errorbar(middles, means, yerr=bars, fmt="o", capsize=3)
    top = max(middles, default=1.0)
    axes[2].plot([0, top], [0, top], color="black", linewidth=0.8)
    axes[2].axhline(0, color="grey", linewidth=0.8)
    axes[2].set(xlabel="promised, points", ylabel="brought, points", title="Calls, by standard errors of their promise")
    for axis in axes:
        axis.grid(alpha=0.3)
    drawing.suptitle("Foretold and seen, 95% intervals")
    drawing.tight_layout()
    return drawing


def _draw(axis: Any, chance: np.ndarray, seen: np.ndarray, edges: Sequence[float] | np.ndarray, label: str) -> None:
    places = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, len(edges) - 2)
    points = [(chance[places == place], Estimate.of(seen[places == place])) for place in np.unique(places)]
    axis.errorbar(
        [own.mean() for own, _ in points],
        [found.mean for _, found in points],
        yerr=[CONFIDENCE * found.standard_error for _, found in points],
        fmt="o-",
        capsize=3,
        label=label,
    )


@command
def main() -> None:
    names = ("contracts", "capots", "calls", "worlds", "seed")
    config: dict[str, Any] = {name: FLAGS[name].value for name in names} | (QUICK if FLAGS.quick else {})
    directory = open_directory(config)
    with chosen_executor(directory.path) as executor:
        found = {what: answers(what, config, directory.path, executor) for what in WORK}
    contracts, capots, calls = found["contracts"], found["capots"], found["calls"]
    forecasts, foretold = forecast_rows(contracts)
    parts = {f"Is a contract made? {len(contracts):,} contracts, log loss in nats": forecasts}
    if len(capots):
        parts["Is a capot made?"] = capot_rows(capots)
    if len(calls):
        parts["What does a simulated call bring?"] = call_rows(calls)
    report = ["# What is foretold of calls, and what comes of it\n"]
    for number, (title, rows) in enumerate(parts.items()):
        tables.show(title, rows)
        write_csv(directory.path / f"table_{number + 1}.csv", rows)
        report.append(f"## {title}\n\n{tables.markdown(rows)}")
    plot = directory.save_figure(figure(contracts[:, 4] >= contracts[:, 0], foretold, capots, calls), "foresight")
    directory.write_report("\n".join([*report, f"![foretold and seen]({plot.name})\n"]))
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
