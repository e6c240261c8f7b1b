"""Deep CFR on known ground: exact NashConv after given CPU seconds, three seeds, beside OpenSpiel's torch Deep CFR.

OpenSpiel's runs with the settings of its example script for the same CPU seconds (training of its strategy network,
at the end, comes on top and is not counted against it). Both are evaluated by the same exact NashConv, outside the
clock. Our strategy network's training is counted: it starts when four fifths of the seconds are over. One thread
each; with --workers=2 two runs go side by side.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import torch
from matplotlib.figure import Figure
from rich.progress import track

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Executor, Serial, Threads
from cardtable.randomness import generator
from coinche_spiel.small import SMALL_VARIANTS
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from solvers.best_response import evaluate
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.settings import Settings
from solvers.deep_cfr.trainer import TabulatedDeepCFR

try:
    from open_spiel.python.pytorch import deep_cfr as openspiel_deep_cfr
except ImportError:  # it needs dm-tree, which it does not declare
    openspiel_deep_cfr = None

TOEPEN = "python_toepen(suits=3,ranks=3,hand_size=2)"
COINCHE_D0 = SMALL_VARIANTS["D0"]
SEEDS = (1, 2, 3)
STRATEGY_SHARE = 0.8
QUICK_SHARE = 20  # a quick run has this part of the seconds
CURVE_GROWTH = 1.25  # seconds between two points of a learning curve
EXAMPLE: dict[str, Any] = {
    "policy_network_layers": (64,),
    "advantage_network_layers": (64,),
    "num_traversals": 375,
    "reinitialize_advantage_networks": True,
    "learning_rate": 1e-3,
    "batch_size_advantage": 256,
    "batch_size_strategy": 256,
    "memory_capacity": 100_000,
    "policy_network_train_steps": 2500,
    "advantage_network_train_steps": 375,
}


class Task(NamedTuple):
    name: str
    game: str
    settings: Settings
    seconds: tuple[int, ...]  # when to evaluate
    bars: dict[tuple[str, float], float]  # (average, seconds): NashConv asked for
    with_openspiel: bool = True


WIDE: dict[str, Any] = {
    "hidden_sizes": (128, 128, 128),
    "traversals": 20_000,
    "training_steps": 20,
    "strategy_training_steps": 1000,
}
TASKS = (
    Task("kuhn_poker", "kuhn_poker", Settings(), (20,), {("single", 20): 0.01, ("strategy", 20): 0.01}),
    Task(
        "leduc_poker",
        "leduc_poker",
        Settings(),
        (60, 120),
        {("single", 60): 0.06, ("single", 120): 0.035, ("strategy", 60): 0.08, ("strategy", 120): 0.06},
    ),
    Task(
        "leduc_poker, longer",  # must not get worse again
        "leduc_poker",
        Settings(),
        (60, 120, 300),
        {
            ("single", 120): 0.035,
            ("single", 300): 0.035,
            ("strategy", 60): 0.06,
            ("strategy", 120): 0.04,
            ("strategy", 300): 0.03,
        },
        with_openspiel=False,
    ),
    Task(
        "leduc_poker, a million rows",
        "leduc_poker",
        Settings(memory_rows=1_000_000, strategy_network=False),
        (60,),
        {("single", 60): 0.15},
        with_openspiel=False,
    ),
    Task(
        "Toepen 3-3-2",
        TOEPEN,
        Settings(**WIDE),
        (120, 300),
        {("single", 120): 0.14, ("single", 300): 0.10},
    ),
    Task("Coinche D0", COINCHE_D0, Settings(**WIDE), (60,), {}),
)


class Job(NamedTuple):
    """One run: a task with a seed, solved by us or by OpenSpiel."""

    task: Task
    seed: int
    by_openspiel: bool


class Outcome(NamedTuple):
    ours: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    openspiel: list[dict[str, Any]]


class TimeUpError(Exception):
    pass


class Clock:
    """CPU seconds of the process since the start, without what happens while it is stopped."""

    def __init__(self) -> None:
        self._start = time.process_time()

    def seconds(self) -> float:
        return time.process_time() - self._start

    def uncounted(self, work: Any) -> Any:
        before = time.process_time()
        result = work()
        self._start += time.process_time() - before
        return result


def ours(task: Task, seed: int, quick: bool) -> tuple[list[dict[str, Any]], list[dict[str, float]]]:
    """Trains once; one row for each of the task's times, and the learning curve of the Single Deep CFR average."""
    trainer = TabulatedDeepCFR(pyspiel.load_game(task.game), task.settings, seed)
    trainer.nash_conv(trainer.strategy)  # builds the sequence form before the clock starts
    rows: list[dict[str, Any]] = []
    curve: list[dict[str, float]] = []
    clock = Clock()

    def train_until(limit: float) -> None:
        while clock.seconds() < limit:
            trainer.run(1)
            if not curve or clock.seconds() >= CURVE_GROWTH * curve[-1]["seconds"]:
                curve.append({"seed": seed, "seconds": clock.seconds(), "nash_conv": clock.uncounted(single)})

    def single() -> float:
        return trainer.nash_conv(trainer.average_table())

    for asked in task.seconds:
        limit = asked / QUICK_SHARE if quick else asked
        strategy = trained_at = float("nan")
        if task.settings.strategy_network:
            train_until(STRATEGY_SHARE * limit)
            trainer.train_strategy_networks()
            trained_at = clock.seconds()
            strategy = clock.uncounted(lambda: trainer.nash_conv(trainer.strategy_table()))
        train_until(limit)
        found = clock.uncounted(single)
        curve.append({"seed": seed, "seconds": clock.seconds(), "nash_conv": found})
        rows.append(
            {
                "work": task.name,
                "seed": seed,
                "seconds": limit,
                "iterations": trainer.iterations,
                "nodes": trainer.nodes,
                "single": found,
                "strategy": strategy,
                "strategy after, s": trained_at,
            }
        )
    return rows, curve


def openspiels(task: Task, seconds: float, seed: int) -> dict[str, Any]:
    """OpenSpiel's solver, stopped after so many CPU seconds."""
    game = pyspiel.load_game(task.game)

    class Stopped(openspiel_deep_cfr.DeepCFRSolver):
        nodes = 0
        in_traversals = 0.0

        def _traverse_game_tree(self, state: pyspiel.State, player: int) -> float:
            self.nodes += 1
            if state is not self._root_node:
                return super()._traverse_game_tree(state, player)
            before = time.process_time()
            if before - start > seconds:
                raise TimeUpError
            value = super()._traverse_game_tree(state, player)
            self.in_traversals += time.process_time() - before
            return value

    solver = Stopped(game, num_iterations=10**9, seed=seed, **EXAMPLE)
    start = time.process_time()
    try:
        solver.solve()
    except TimeUpError:
        solver._learn_strategy_network()
    return {
        "work": task.name,
        "seed": seed,
        "seconds": time.process_time() - start,
        "iterations": solver._iteration,
        "nash_conv": evaluate(game, _Renormalised(game, solver)).nash_conv,
        "nodes/s": solver.nodes / solver.in_traversals if solver.in_traversals else float("nan"),
    }


class _Renormalised(pyspiel.Policy):
    """Its probabilities of legal actions do not sum to one; ours must."""

    def __init__(self, game: pyspiel.Game, solver: Any) -> None:
        super().__init__()
        self._solver = solver

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        found = {action: float(p) for action, p in self._solver.action_probabilities(state).items()}
        total = sum(found.values())
        return {action: p / total for action, p in found.items()}


def table_speed(seconds: float) -> float:
    """Traversal nodes per CPU second on Leduc."""
    trainer = TabulatedDeepCFR(pyspiel.load_game("leduc_poker"), Settings(strategy_network=False), 1)
    trainer.run(3)
    size = trainer.tabulated.table_size
    sums = (np.zeros(size), np.zeros(size), np.zeros(size))
    random_numbers = generator(1)
    nodes, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        nodes += trainer.tabulated.traverse(0, 20_000, trainer.strategy, random_numbers, sums, 0, 1, 0.5)
    return nodes / (time.process_time() - start)


class _Timed(LargeDeepCFR):
    """Knows how long it has been training networks, by the clock on the wall."""

    wall_training = 0.0

    def _train(self, number: int) -> float:
        start = time.perf_counter()
        loss = super()._train(number)
        self.wall_training += time.perf_counter() - start
        return loss


def coinche_speed(iterations: int, threads: int) -> dict[str, Any]:
    """The full game, level by level: nodes per second of traversals alone, and where whole iterations spend their time.

    Traversals are timed with their rows going into the reservoirs, without training; the shares are of everything.
    """
    trainer = _Timed(pyspiel.load_game("python_coinche"), large_settings(), 1, executor=Threads(threads))
    trainer.run(2)
    nodes, before = trainer.nodes, dict(trainer.seconds)
    trainer.wall_training = 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    trainer.run(iterations)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall - trainer.wall_training
    spent = {part: seconds - before[part] for part, seconds in trainer.seconds.items()}
    return {
        "nodes": trainer.nodes - nodes,
        "nodes/s": (trainer.nodes - nodes) / wall,
        "nodes/CPU s": (trainer.nodes - nodes) / (cpu - spent["training"]),
        **{f"share {part}": seconds / cpu for part, seconds in spent.items()},
    }


def jobs(tasks: tuple[Task, ...], seeds: tuple[int, ...]) -> list[Job]:
    """The longest first, so that several workers end at about the same time."""
    ours = [Job(task, seed, False) for task in tasks for seed in seeds]
    theirs = [Job(task, seed, True) for task in tasks for seed in seeds if task.with_openspiel]
    found = ours + (theirs if openspiel_deep_cfr is not None else [])
    return sorted(found, key=lambda job: -job.task.seconds[-1])


def outcome(quick: bool, job: Job) -> Outcome:
    torch.set_num_threads(1)
    if job.by_openspiel:
        seconds = job.task.seconds[-1] / (QUICK_SHARE if quick else 1)
        return Outcome([], [], [openspiels(job.task, seconds, job.seed)])
    rows, curve = ours(job.task, job.seed, quick)
    return Outcome(rows, [{"work": job.task.name, **point} for point in curve], [])


def run(directory: RunDirectory, quick: bool = False, executor: Executor | None = None) -> list[dict[str, Any]]:
    tasks = TASKS[:2] if quick else TASKS
    results: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    work = jobs(tasks, SEEDS[:1] if quick else SEEDS)
    answers = (executor or Serial()).map(outcome, work, quick)
    done = track(answers, "Deep CFR", total=len(work), console=tables.console)
    for job, found in zip(work, done, strict=True):
        for name, all_rows, rows in (
            ("ours", results, found.ours),
            ("curves", curves, found.curve),
            ("openspiel", theirs, found.openspiel),
        ):
            all_rows += rows
            if rows:
                write_csv(directory.path / f"{name}.csv", all_rows)
        nash_conv = found.openspiel[0]["nash_conv"] if job.by_openspiel else found.ours[-1]["single"]
        whose = ", OpenSpiel" if job.by_openspiel else ""
        tables.console.print(f"{job.task.name}, seed {job.seed}{whose}: NashConv {nash_conv:.4f}")
    summary = summarise(tasks, results, theirs)
    torch.set_num_threads(1)
    speed = table_speed(0.3 if quick else 3.0)
    speeds: list[dict[str, Any]] = [{"work": "Leduc traversal, nodes/CPU s", "ours": speed}]
    leduc = [row["nodes/s"] for row in theirs if row["work"] == "leduc_poker"]
    if leduc:
        speeds[0] |= {"OpenSpiel": max(leduc), "ratio": speed / max(leduc), "bar": 300.0}
    coinche = coinche_speed(1 if quick else 10, threads=2)
    tables.show("NashConv after CPU seconds, worst of the seeds", summary)
    tables.show("Traversal speed on a table", speeds)
    tables.show("Full Coinche, level by level, two threads (bar: 200,000 nodes/s)", [coinche])
    write_csv(directory.path / "summary.csv", summary)
    write_csv(directory.path / "coinche_speed.csv", [coinche])
    plot = directory.save_figure(learning_curves(tasks, curves, theirs), "learning_curves")
    parts = [tables.markdown(summary), tables.markdown(speeds), tables.markdown([coinche])]
    openspiel = tables.markdown(theirs) if theirs else "OpenSpiel's Deep CFR needs dm-tree, which is not installed.\n"
    directory.write_report(
        "# Deep CFR on known ground\n\n`python -m experiments.benchmark --suite=deep`\n\n"
        "Exact NashConv, worst of the seeds; CPU seconds of the process from the first iteration.\n\n"
        + "\n".join(parts)
        + f"\n![learning curves]({plot.name})\n\nEach seed:\n\n"
        + tables.markdown(results)
        + "\nOpenSpiel, settings of its example script:\n\n"
        + openspiel
    )
    return summary


def summarise(
    tasks: tuple[Task, ...], results: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """For each work, time and average: best and worst of the seeds, the bar, and OpenSpiel's best."""
    rows = []
    for task in tasks:
        peer = [row["nash_conv"] for row in theirs if row["work"] == task.name]
        mine = [row for row in results if row["work"] == task.name]
        for asked, seconds in zip(task.seconds, sorted({row["seconds"] for row in mine}), strict=True):
            for average in ("single", "strategy"):
                values = [row[average] for row in mine if row["seconds"] == seconds]
                if np.isnan(values).all():
                    continue
                rows.append(
                    {
                        "work": task.name,
                        "average": average,
                        "seconds": seconds,
                        "best": min(values),
                        "worst": max(values),
                        "bar": task.bars.get((average, seconds), float("nan")),
                        "OpenSpiel's best": min(peer) if peer and asked == task.seconds[-1] else float("nan"),
                    }
                )
    return rows


def learning_curves(tasks: tuple[Task, ...], curves: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> Figure:
    """NashConv against CPU seconds, a line per seed, with what was asked for and where OpenSpiel's ended."""
    columns = min(3, len(tasks))
    height = -(-len(tasks) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.2 * height), layout="constrained")
    axes = figure.subplots(height, columns, squeeze=False)
    for axis, task in zip(axes.flat, tasks, strict=False):
        for number, seed in enumerate(sorted({p["seed"] for p in curves if p["work"] == task.name})):
            curve = [p for p in curves if p["work"] == task.name and p["seed"] == seed]
            label = "Single Deep CFR, a seed each" if number == 0 else None
            axis.plot([p["seconds"] for p in curve], [p["nash_conv"] for p in curve], "C0", linewidth=1.2, label=label)
        bars = [(seconds, bar) for (average, seconds), bar in task.bars.items() if average == "single"]
        if bars:
            axis.plot(*zip(*bars, strict=True), "kv", label="asked for")
        peer = [(row["seconds"], row["nash_conv"]) for row in theirs if row["work"] == task.name]
        if peer:
            axis.plot(*zip(*peer, strict=True), "C3s", label="OpenSpiel's Deep CFR, a seed each")
        axis.set(xscale="log", yscale="log", title=task.name, xlabel="CPU seconds", ylabel="NashConv (exact)")
        axis.grid(which="major", alpha=0.4)
    for axis in list(axes.flat)[len(tasks) :]:
        axis.set_visible(False)
    axes.flat[0].legend(fontsize=8)
    return figure
