"""Trains Deep CFR: `python -m experiments.deep_cfr --game=leduc_poker --seconds=60`.

Games that can be enumerated are tabulated (the default where it is possible); large games of this project are traversed
level by level on their rules. Coinche, self-play and against a heuristic player:

    python -m experiments.deep_cfr --game=python_coinche --seconds=3600
    python -m experiments.deep_cfr --game=python_coinche --opponents=simple --traversal=algorithm3_biased --paper

The run directory holds config.json, metrics.csv, TensorBoard events, plots, a report and a checkpoint with networks,
optimisers, memories and random states. A run that was killed goes on with --resume; on the CPU the result is, bit by
bit, that of a run that was never interrupted. Seconds are CPU seconds of the process, evaluation not counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import torch
from absl import app, flags
from open_spiel.python import games as _openspiel_python_games  # noqa: F401 registers OpenSpiel's Python games
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import cardspiel  # noqa: F401 registers ours
from cardtable.parameters import UserError
from cardtable.rules import Rules
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.checkpoints import load_checkpoint, save_checkpoint
from experiments.running.directory import RunDirectory
from experiments.running.duplicate_matches import compiled_players, metrics_of
from experiments.running.flags import define_settings, given_settings
from solvers.arrays.memory import GameTooLargeError
from solvers.arrays.tree import estimate_size
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.levels import NodeBudgetError
from solvers.deep_cfr.policies import play_games
from solvers.deep_cfr.settings import Settings
from solvers.deep_cfr.trainer import TabulatedDeepCFR
from solvers.policies import save_policy

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "leduc_poker", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_enum("engine", "auto", ["auto", "tabulated", "levels"], "enumerate the game, or traverse its rules")
flags.DEFINE_integer("iterations", None, "stop after so many iterations", 1)
flags.DEFINE_float("seconds", None, "stop after so many CPU seconds of training", 0.0)
flags.DEFINE_integer("seed", 1, "of networks and traversals")
flags.DEFINE_string("out", None, "run directory; default runs/deep_cfr_<game>")
flags.DEFINE_bool("resume", False, "go on with the run in --out")
flags.DEFINE_bool("quick", False, "a few iterations that only show that it works")
flags.DEFINE_bool("paper", False, "networks, memories and training of the Coinche paper's table of hyperparameters")
flags.DEFINE_string(
    "opponents", "", "who holds the other team's seats for good: a player of the game, or empty for self-play"
)
flags.DEFINE_integer("games", 1000, "games per evaluation of a game that is not enumerated", 1)
flags.DEFINE_float("checkpoint_seconds", 60.0, "CPU seconds between checkpoints", 0.0)
define_settings(Settings)

PAPER: dict[str, Any] = {
    "traversals": 256,
    "tries": 4,
    "hidden_sizes": (64, 64),
    "negative_slope": 0.0,
    "strategy_hidden_sizes": (64, 64),
    "learning_rate": 3e-4,
    "strategy_learning_rate": 3e-4,
    "batch_size": 256,
    "strategy_batch_size": 256,
    "memory_rows": 100_000,
    "strategy_memory_rows": 500_000,
    "warm_start": False,
    "node_budget": 100_000_000,
}
PAPER_EPOCHS = 4  # passes over the memory
MOST_TABULATED_NODES = 20_000_000
GROWTH, GROWTH_OF_MATCHES = 1.25, 1.6  # of the iterations between evaluations: exact ones, and games played
QUICK: dict[str, Any] = {"iterations": 3, "games": 100}
QUICK_LARGE: dict[str, Any] = {"traversals": 4, "training_steps": 10, "strategy_training_steps": 20}


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        Run(options()).go()
    except (UserError, NodeBudgetError) as error:
        sys.exit(f"experiments.deep_cfr: {error}")


def options() -> dict[str, Any]:
    """The flags as a plain dictionary, which other runners may fill themselves."""
    names = ("game", "engine", "iterations", "seconds", "seed", "resume", "quick", "paper", "opponents", "games")
    found = {name: getattr(FLAGS, name) for name in names}
    out = FLAGS.out or f"runs/deep_cfr_{FLAGS.game}"
    return {**found, "out": out, "checkpoint_seconds": FLAGS.checkpoint_seconds, "settings": given_settings(Settings)}


def evaluation_points(start: int, growth: float) -> Iterator[int]:
    """1, 2, 3, ... with growing distances; the same whatever interrupts a run."""
    point = 1
    while True:
        if point > start:
            yield point
        point = max(point + 1, int(point * growth))


class Run:
    """One training run from options as `options()` makes them."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.options = given = {**given, **(QUICK if given["quick"] else {})}
        self.game = load_game(given["game"])
        self.limit = given["iterations"]
        self.seconds_limit = given["seconds"]
        if self.limit is None and self.seconds_limit is None:
            self.seconds_limit = 60.0
        self.opponents = self._opponents(given["opponents"])
        try:
            self.trainer = self._trainer(given)
        except (ValueError, GameTooLargeError) as error:
            raise UserError(str(error)) from None
        self.tabulated = isinstance(self.trainer, TabulatedDeepCFR)
        self.seconds = 0.0
        self.strategy_trained_at = 32  # strategy networks are fitted at the end, and each time iterations have doubled
        self.path = Path(given["out"])
        self.checkpoint = self.path / "checkpoint.npz"
        settings = {**vars(self.trainer.settings)}
        self.config = {
            **{name: given[name] for name in ("game", "seed", "opponents", "quick", "paper")},
            **{name: settings[name] for name in sorted(settings) if name not in ("device", "threads")},
        }
        state = self._stored_state() if given["resume"] else None
        try:
            self.directory = RunDirectory(self.path, self.config, resume=given["resume"])
            if state is not None:
                self.seconds, self.strategy_trained_at = state.pop("run_seconds"), state.pop("run_strategy_trained_at")
                self.trainer.set_state(state)
                self.directory.forget_after(self.trainer.iterations)
        except ValueError as error:
            raise UserError(str(error)) from None
        self.saved_at = self.seconds

    def _opponents(self, name: str) -> list[Callable | None] | None:
        """The second team's seats, or the odd ones, are held by the named player."""
        if not name:
            return None
        known = compiled_players(self.game)
        if name not in known:
            raise UserError(f"--opponents={name}: {self.game} has the players {', '.join(known) or '(none)'}")
        return [known[name] if seat % 2 else None for seat in range(self.game.num_players())]

    def _trainer(self, given: dict[str, Any]) -> TabulatedDeepCFR | LargeDeepCFR:
        engine = given["engine"]
        if engine == "auto":
            has_rules = isinstance(getattr(self.game, "rules", None), Rules)
            small = not has_rules or estimate_size(self.game).nodes <= MOST_TABULATED_NODES
            engine = "tabulated" if small and self.opponents is None else "levels"
        if engine == "tabulated":
            if self.opponents is not None:
                raise UserError("--opponents needs --engine=levels")
            return TabulatedDeepCFR(self.game, Settings(**given["settings"]), given["seed"])
        chosen = {**(PAPER if given["paper"] else {}), **(QUICK_LARGE if given["quick"] else {}), **given["settings"]}
        if given["paper"] and "training_steps" not in chosen:
            chosen["training_steps"] = PAPER_EPOCHS * chosen["memory_rows"] // chosen["batch_size"]
        return LargeDeepCFR(self.game, large_settings(**chosen), given["seed"], self.opponents)

    def _stored_state(self) -> dict[str, Any] | None:
        """The checkpoint to go on from; None if the run was killed before its first one."""
        if not self.path.exists():
            raise UserError(f"there is no run to resume in {self.path}")
        if not self.checkpoint.exists():
            return None
        try:
            return load_checkpoint(self.checkpoint, {"game": self.config["game"], "seed": self.config["seed"]})
        except ValueError as error:
            raise UserError(str(error)) from None

    # ------------------------------------------------------------------------------------------ running

    def go(self) -> list[dict[str, float]]:
        """Trains, evaluates and writes everything; returns the metrics."""
        kind = "tabulated" if self.tabulated else "level by level"
        tables.console.print(f"Deep CFR on {self.options['game']}, {kind}, device {self.trainer.settings.device}")
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[shown]}"))
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=tables.console) as progress:
            task = progress.add_task("training", total=1.0, shown="")
            growth = GROWTH if self.tabulated else GROWTH_OF_MATCHES
            for point in evaluation_points(self.trainer.iterations, growth):
                if self._share_done() >= 1.0:
                    break
                while self.trainer.iterations < point and self._share_done() < 1.0:
                    self._step()
                    progress.update(task, completed=self._share_done(), shown=f"iteration {self.trainer.iterations:,}")
                if self._share_done() < 1.0:
                    self._evaluate(self.trainer.iterations >= 2 * self.strategy_trained_at)
        logged = self.directory.metrics()
        if not logged or logged[-1]["step"] < self.trainer.iterations:  # otherwise a finished run was resumed
            self._save()
            self._evaluate(with_strategy=True)
        return self._write_results()

    def _share_done(self) -> float:
        shares = [0.0]
        if self.limit is not None:
            shares.append(self.trainer.iterations / self.limit)
        if self.seconds_limit is not None:
            shares.append(self.seconds / max(self.seconds_limit, 1e-9))
        return min(max(shares), 1.0)

    def _step(self) -> None:
        start = time.process_time()
        self.trainer.run(1)
        self.seconds += time.process_time() - start
        if self.seconds - self.saved_at > self.options["checkpoint_seconds"]:
            self._save()

    def _save(self) -> None:
        run = {"run_seconds": self.seconds, "run_strategy_trained_at": self.strategy_trained_at}
        save_checkpoint(self.checkpoint, self.config, {**self.trainer.get_state(), **run})
        self.saved_at = self.seconds

    # ------------------------------------------------------------------------------------------ evaluation

    def _evaluate(self, with_strategy: bool) -> None:
        with_strategy = with_strategy and self.trainer.settings.strategy_network
        if with_strategy:
            start = time.process_time()
            self.trainer.train_strategy_networks()
            self.seconds += time.process_time() - start
            self.strategy_trained_at = self.trainer.iterations
        metrics: dict[str, float] = {"seconds": self.seconds, "nodes": self.trainer.nodes}
        if isinstance(self.trainer, TabulatedDeepCFR):
            metrics |= self._exact(self.trainer, with_strategy)
        else:
            metrics |= self._matches(self.trainer)
        self.directory.log(self.trainer.iterations, metrics)

    def _exact(self, trainer: TabulatedDeepCFR, with_strategy: bool) -> dict[str, float]:
        nash_conv = trainer.nash_conv(trainer.average_table())
        strategy = trainer.nash_conv(trainer.strategy_table()) if with_strategy else float("nan")
        return {
            "nash_conv": nash_conv,
            "exploitability": nash_conv / self.game.num_players(),
            "nash_conv of the strategy network": strategy,
        }

    def _matches(self, trainer: LargeDeepCFR) -> dict[str, float]:
        """Figures of games against the fixed opponents, or in self-play against itself and the game's own players."""
        metrics = {"advantage loss": trainer.loss}
        seed = int(np.random.SeedSequence(self.options["seed"], spawn_key=(9, trainer.iterations)).generate_state(1)[0])
        for name, seats in self._evaluation_opponents().items():
            games = play_games(trainer, self.options["games"], seed, "single", seats)
            describe = metrics_of(self.game)
            if describe is None:
                found = {"mean return": (games.returns[:, 0], np.ones(len(games.returns)))}
            else:
                found = describe(games.states, games.returns, 0)
            for figure, (numerator, denominator) in found.items():
                total = denominator.sum()
                metrics[f"{name}: {figure}"] = float(numerator.sum() / total) if total > 0 else float("nan")
        return metrics

    def _evaluation_opponents(self) -> dict[str, list[Callable | None]]:
        seats = range(self.game.num_players())
        if self.opponents is not None:
            return {self.options["opponents"]: self.opponents}
        found: dict[str, list[Callable | None]] = {"itself": [None for _ in seats]}
        for name, player in compiled_players(self.game).items():
            if name in ("random", "simple", "strong"):
                found[name] = [player if seat % 2 else None for seat in seats]
        return found

    # ------------------------------------------------------------------------------------------ results

    def _write_results(self) -> list[dict[str, float]]:
        rows = self.directory.metrics()
        if isinstance(self.trainer, TabulatedDeepCFR):
            save_policy(self.path / "policy.npz", self.trainer.average_policy())
        figure = self._figure(rows)
        plot = self.directory.save_figure(figure, "learning")
        plt.close(figure)
        shown = [
            row for index, row in enumerate(rows) if index % max(1, len(rows) // 12) == 0 or index == len(rows) - 1
        ]
        as_table = [{**row, "step": int(row["step"]), "nodes": int(row["nodes"])} for row in shown]
        if self.tabulated:
            tables.show(f"Deep CFR on {self.options['game']}", as_table)
            table = tables.markdown(as_table)
        else:
            table = _last_figures(rows)
            tables.console.print(table)
        trainer = self.trainer
        lines = [
            f"# Deep CFR on {self.options['game']}",
            "",
            f"{trainer.iterations:,} iterations, {trainer.nodes:,} nodes, {self.seconds:.0f} CPU seconds of training "
            f"(evaluation not counted), seed {self.options['seed']}, traversal {trainer.settings.traversal}.",
            "NashConv is exact, of the Single Deep CFR average and of the strategy network."
            if self.tabulated
            else f"Estimates, each from {self.options['games']:,} games of the Single Deep CFR average on side one.",
            "",
            table,
            f"![learning]({plot.name})",
        ]
        if isinstance(trainer, LargeDeepCFR):
            parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in trainer.seconds.items())
            lines.insert(4, f"CPU seconds of this process by part: {parts}.")
        self.directory.write_report("\n".join(lines) + "\n")
        tables.console.print(f"Written to {self.path}: metrics.csv, report.md, plot and checkpoint")
        return rows

    def _figure(self, rows: list[dict[str, float]]) -> Any:
        steps = [row["step"] for row in rows]
        if self.tabulated:
            figure, axis = plt.subplots(figsize=(6, 4))
            seconds = [row["seconds"] for row in rows]
            axis.plot(seconds, [row["nash_conv"] for row in rows], label="Single Deep CFR average")
            name = "nash_conv of the strategy network"
            points = [(row["seconds"], row[name]) for row in rows if not np.isnan(row[name])]
            if points:
                axis.plot(*zip(*points, strict=True), "o", label="strategy network")
            axis.set(xscale="log", yscale="log", xlabel="CPU seconds of training", ylabel="NashConv (exact)")
            axis.grid(which="major", alpha=0.4)
            axis.legend()
            axis.set_title(f"Deep CFR on {self.options['game']}")
            return figure
        figures = sorted({name.split(": ")[1] for name in rows[-1] if ": " in name})
        names = list(dict.fromkeys(name.split(": ")[0] for name in rows[-1] if ": " in name))
        columns = min(3, len(figures))
        height = -(-len(figures) // columns)
        figure, axes = plt.subplots(height, columns, figsize=(4 * columns, 2.6 * height), squeeze=False, sharex=True)
        for axis, what in zip(axes.flat, figures, strict=False):
            for name in names:
                axis.plot(steps, [row.get(f"{name}: {what}", np.nan) for row in rows], label=f"against {name}")
            axis.set_title(what, fontsize=10)
            axis.grid(alpha=0.4)
        for axis in list(axes.flat)[len(figures) :]:
            axis.set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel("iterations")
        axes.flat[0].legend(fontsize=8)
        figure.suptitle(f"Deep CFR on {self.options['game']}, {self.trainer.settings.traversal}")
        figure.tight_layout()
        return figure


def _last_figures(rows: list[dict[str, float]]) -> str:
    """First and last evaluation side by side."""
    chosen = [{"figure": name, "first": rows[0][name], "last": rows[-1][name]} for name in rows[-1]]
    return tables.markdown(chosen)


if __name__ == "__main__":
    app.run(main)
