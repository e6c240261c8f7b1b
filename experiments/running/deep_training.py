"""A Deep CFR run: the engine that suits the game, what is evaluated, and what is drawn.

The library behind `experiments.deep_cfr` and `experiments.coinche_deep_cfr`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from matplotlib.figure import Figure

from cardtable.executors import Executor, Serial
from cardtable.match import play_games, seated, sides_of
from cardtable.parameters import UserError
from cardtable.player import Player, compiled_players
from cardtable.rules import Rules
from cardtable.spiel import CardGame, load_game
from experiments.running.loop import Clock, Limits, Row, Run, Task, evaluation_points
from experiments.running.match_figures import figures_of_games, figures_over_time
from experiments.running.plots import few_ticks
from solvers.arrays.memory import GameTooLargeError
from solvers.arrays.tree import estimate_size
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.players import save_player
from solvers.deep_cfr.settings import Settings
from solvers.deep_cfr.trainer import TabulatedDeepCFR

# The Coinche paper's table of hyperparameters.
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
FIRST_STRATEGY = 64  # iterations before a strategy network is fitted, other than at the end
DEFAULT_SECONDS = 60.0
QUICK_ITERATIONS, QUICK_GAMES = 3, 100
QUICK_LARGE: dict[str, Any] = {"traversals": 4, "training_steps": 10, "strategy_training_steps": 20}
ITSELF = "itself"
STRATEGY = "nash_conv of the strategy network"

Seats = list[Player | None]  # None: a seat that learns


@dataclass(frozen=True)
class Options:
    """What can be asked of a run, beside the limits and files of every run."""

    game: str
    engine: str = "auto"
    seed: int = 1
    opponents: str = ""  # who holds the seats that do not learn; empty for self-play
    pool: str = ""  # against whom, beside itself, it learns in turns; with commas
    self_play: bool = True  # whether it meets itself, beside the pool
    games: int = 1000  # per evaluation of a game that is not enumerated
    quick: bool = False
    paper: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


def train(
    options: Options,
    path: str | Path,
    limits: Limits,
    *,
    resume: bool,
    overwrite: bool,
    checkpoint_seconds: float,
    executor: Executor | None = None,
) -> list[Row]:
    """One run in a directory of its own; returns the rows of metrics.csv."""
    if options.quick:
        limits = Limits(QUICK_ITERATIONS, limits.seconds)
    elif limits.iterations is None and limits.seconds is None:
        limits = Limits(seconds=DEFAULT_SECONDS)
    try:
        task = deep_task(options, executor)
    except (ValueError, GameTooLargeError) as error:
        raise UserError(str(error)) from None
    run = Run(task, path, limits, resume=resume, overwrite=overwrite, checkpoint_seconds=checkpoint_seconds)
    return run.go()


def deep_task(options: Options, executor: Executor | None = None) -> Task:
    game = load_game(options.game)
    opponents = fixed_seats(game, options.opponents) if options.opponents else None
    trainer = make_trainer(game, options, opponents, executor)
    exact = isinstance(trainer, TabulatedDeepCFR)
    evaluation = Exact(trainer) if isinstance(trainer, TabulatedDeepCFR) else Matches(trainer, options)
    settings = {name: value for name, value in vars(trainer.settings).items() if name != "device"}
    asked = {name: getattr(options, name) for name in ("game", "seed", "opponents", "quick", "paper")}
    if options.pool:
        asked |= {"pool": options.pool} | ({} if options.self_play else {"self_play": False})
    kind = "tabulated" if exact else "level by level"
    return Task(
        title=f"Deep CFR on {options.game}, {kind}, device {trainer.settings.device}",
        trainer=trainer,
        config={**asked, **dict(sorted(settings.items()))},
        evaluate=evaluation.evaluate,
        remarks=lambda: [
            f"{trainer.nodes:,} nodes, seed {options.seed}, traversal {trainer.settings.traversal}.",
            *evaluation.remarks(),
        ],
        draw=lambda rows: evaluation.draw(rows, f"Deep CFR on {options.game}, {trainer.settings.traversal}"),
        picture="learning",
        shown=("nash_conv",),
        policy=trainer.average_policy if isinstance(trainer, TabulatedDeepCFR) else None,
        save_player=None if isinstance(trainer, TabulatedDeepCFR) else functools.partial(save_player, trainer),
        growth=GROWTH if exact else GROWTH_OF_MATCHES,
        timer=time.process_time if isinstance(trainer, TabulatedDeepCFR) else functools.partial(_cpu_seconds, trainer),
    )


def _cpu_seconds(trainer: LargeDeepCFR) -> float:
    """Of this process and of those that traverse for it."""
    return time.process_time() + trainer.seconds_elsewhere


def make_trainer(
    game: pyspiel.Game, options: Options, opponents: Seats | None, executor: Executor | None = None
) -> TabulatedDeepCFR | LargeDeepCFR:
    engine = options.engine
    if engine == "auto":
        has_rules = isinstance(getattr(game, "rules", None), Rules)
        small = not has_rules or estimate_size(game).nodes <= MOST_TABULATED_NODES
        engine = "tabulated" if small and opponents is None and not options.pool else "levels"
    if options.opponents and options.pool:
        raise UserError("--opponents sit there for good, those of --pool in turns; allowed: one of them")
    if not options.self_play and not options.pool:
        raise UserError("--self_play=false needs players to learn against, in --pool")
    if engine == "tabulated":
        if opponents is not None or options.pool:
            raise UserError(f"--{'pool' if options.pool else 'opponents'} needs --engine=levels")
        if not isinstance(executor, Serial | None):
            raise UserError("a game that is enumerated is traversed in this thread; allowed: --executor=serial")
        return TabulatedDeepCFR(game, Settings(**options.settings), options.seed)
    chosen = {**(PAPER if options.paper else {}), **(QUICK_LARGE if options.quick else {}), **options.settings}
    if options.paper and "training_steps" not in chosen:
        chosen["training_steps"] = PAPER_EPOCHS * chosen["memory_rows"] // chosen["batch_size"]
    pool = [compiled_player_of(game, name.strip(), "pool") for name in options.pool.split(",") if name.strip()]
    return LargeDeepCFR(game, large_settings(**chosen), options.seed, opponents, executor, pool, options.self_play)


# ---------------------------------------------------------------------------------------------- who sits where


def known_players(game: pyspiel.Game) -> dict[str, Player]:
    """The compiled players of a game: only they can be met in traversals."""
    return compiled_players(game) if isinstance(game, CardGame) else {}


def fixed_seats(game: pyspiel.Game, name: str) -> Seats:
    """The named player on all seats but the learner's, who has the first side."""
    other = compiled_player_of(game, name, "opponents")
    side = sides_of(game)[0]
    return [None if seat in side else other for seat in range(game.num_players())]


def compiled_player_of(game: pyspiel.Game, name: str, flag: str) -> Player:
    """The player of this name; UserError that names the flag if there is none in compiled code."""
    known = known_players(game)
    if name not in known:
        raise UserError(f"--{flag}={name}: {game} has the players {', '.join(known) or '(none)'}")
    return known[name]


# ---------------------------------------------------------------------------------------------- evaluation


def strategy_is_due(iterations: int, growth: float) -> bool:
    """Whether strategy networks are fitted at this evaluation: at the first after each doubling of the iterations.

    Says the same for a run that was interrupted as for one that was not.
    """
    wanted = FIRST_STRATEGY
    for point in evaluation_points(growth):
        if point >= iterations:
            return point == iterations >= wanted
        if point >= wanted:
            wanted = 2 * point
    raise AssertionError


class Exact:
    """NashConv of both averages, for games that are enumerated."""

    def __init__(self, trainer: TabulatedDeepCFR) -> None:
        self._trainer = trainer

    def evaluate(self, clock: Clock, last: bool) -> Row:
        trainer, strategy = self._trainer, float("nan")
        if trainer.settings.strategy_network and (last or strategy_is_due(trainer.iterations, GROWTH)):
            with clock:
                trainer.train_strategy_networks()
            strategy = trainer.nash_conv(trainer.strategy_table())
        return {**trainer.metrics(), STRATEGY: strategy}

    def remarks(self) -> list[str]:
        return ["NashConv is exact, of the Single Deep CFR average and of the strategy network."]

    def draw(self, rows: Sequence[Row], title: str) -> Figure:
        figure = Figure(figsize=(6, 4))
        axis = figure.subplots()
        axis.plot([row["seconds"] for row in rows], [row["nash_conv"] for row in rows], label="Single Deep CFR average")
        points = [(row["seconds"], row[STRATEGY]) for row in rows if not np.isnan(row[STRATEGY])]
        if points:
            axis.plot(*zip(*points, strict=True), "o", label="strategy network")
        axis.set(xscale="log", yscale="log", xlabel="CPU seconds of training", ylabel="NashConv (exact)", title=title)
        few_ticks(axis.xaxis)
        axis.grid(which="major", alpha=0.4)
        axis.legend()
        return figure


class Matches:
    """Games of the Single Deep CFR average against fixed opponents; in self-play against itself and everybody known."""

    def __init__(self, trainer: LargeDeepCFR, options: Options) -> None:
        self._trainer, self._options = trainer, options
        self._games = QUICK_GAMES if options.quick else options.games
        self._side = list(sides_of(trainer.game)[0])
        known = known_players(trainer.game)
        self._others: dict[str, Player | None] = {ITSELF: None, **known}
        if options.opponents:
            self._others = {options.opponents: known[options.opponents]}

    def evaluate(self, clock: Clock, last: bool) -> Row:
        trainer = self._trainer
        if last and trainer.settings.strategy_network:
            with clock:
                trainer.train_strategy_networks()
        row = trainer.metrics()
        stream = np.random.SeedSequence(self._options.seed, spawn_key=(9, trainer.iterations))
        seed = int(stream.generate_state(1)[0])
        mine = trainer.player()
        for name, other in self._others.items():
            games = play_games(trainer.game, seated(trainer.game, mine, other or mine), self._games, seed)
            found = figures_of_games(trainer.game, games, self._side)
            row |= {f"{name}: {figure}": value for figure, value in found.items()}
        return row

    def remarks(self) -> list[str]:
        seats = ", ".join(map(str, self._side))
        parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in self._trainer.seconds.items())
        return [
            f"Estimates, each from {self._games:,} games of the Single Deep CFR average on the seats {seats}.",
            f"CPU seconds by part: {parts}.",
        ]

    def draw(self, rows: Sequence[Row], title: str) -> Figure:
        return figures_over_time(rows, list(self._others), title)
