"""A run of a learner on the batched actor: who learns, who sits with it, what is measured and drawn.

The library behind `experiments.train` and `experiments.cego_agents`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from matplotlib.figure import Figure

from cardtable.executors import Executor
from cardtable.match import play_match, sides_of
from cardtable.parameters import UserError, require
from cardtable.player import Player, compiled_players, find_player
from cardtable.progress import LateProgress
from cardtable.spiel import CardGame, load_game
from experiments.running.loop import Clock, Limits, Row, Run, Task
from solvers.arrays.tree import estimate_size
from solvers.best_response import nash_conv
from solvers.deep_monte_carlo.settings import Settings as MonteCarloSettings
from solvers.deep_monte_carlo.trainer import DeepMonteCarlo
from solvers.learning.actor import Seating
from solvers.learning.game_learner import GameLearner
from solvers.learning.shipped import saved_network
from solvers.q_learning.settings import Settings as QSettings
from solvers.q_learning.trainer import QLearning

LEARNERS: dict[str, type] = {"dmc": MonteCarloSettings, "dqn": QSettings, "nfsp": QSettings}
NAMES = {"dmc": "Deep Monte Carlo", "dqn": "Double DQN", "nfsp": "NFSP"}
ITSELF = "itself"
GROWTH = 1.6  # of the iterations between evaluations
DEFAULT_SECONDS = 60.0
QUICK: dict[str, Any] = {"games": 8, "chunk_games": 4, "context_sizes": (8,), "head_sizes": (8,), "batch_size": 16}
QUICK_ITERATIONS, QUICK_DEALS = 3, 20
MOST_NODES_JUDGED = 200_000  # of games whose NashConv is computed at every evaluation
LAST_PLAYERS = ("monte_carlo(worlds=20)",)  # too slow for every evaluation


@dataclass(frozen=True)
class Options:
    """What can be asked of a run, beside the limits and files of every run."""

    game: str
    learner: str = "dmc"
    seed: int = 1
    opponents: tuple[str, ...] = (ITSELF,)  # who holds the seats that do not learn, in turn
    seats: tuple[tuple[int, ...], ...] = ()  # that learn where there are opponents, in turn; none: the first side's
    deals: int = 1000  # of each match in an evaluation
    quick: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""  # a saved network to start from, or `expert`


def seatings_of(game: CardGame, opponents: Sequence[str], seats: Sequence[Sequence[int]]) -> list[Seating]:
    """One seating for each of the opponents and each group of seats that learn together; `itself` is self-play."""
    groups = [tuple(group) for group in seats] or [tuple(sides_of(game)[0])]
    everybody = range(game.num_players())
    for group in groups:
        require(set(group) <= set(everybody), "seats", list(group), f"0 to {game.num_players() - 1}")
    found: list[Seating] = []
    for name in opponents:
        if name == ITSELF:
            found.append((None,) * len(everybody))
        else:
            other = find_player(name, game)
            found += [tuple(None if seat in group else other for seat in everybody) for group in groups]
    return found


def make_learner(options: Options, executor: Executor | None = None) -> GameLearner:
    """The trainer that the options ask for; UserError if there is none.

    It works on one thread: with networks this small torch's others only wait for each other, on CPU time that counts.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    require(options.learner in LEARNERS, "learner", options.learner, ", ".join(LEARNERS))
    game = load_game(options.game)
    if not isinstance(game, CardGame):
        raise UserError(f"{options.game} is not a game of this project; allowed: those, and transforms of them")
    kind = LEARNERS[options.learner]
    fields = {entry.name for entry in dataclasses.fields(kind)}
    foreign = sorted(set(options.settings) - fields)
    if foreign:
        raise UserError(f"{NAMES[options.learner]} has no setting {', '.join(foreign)}")
    if options.start and options.learner != "dmc":
        raise UserError(f"start is for Deep Monte Carlo; {NAMES[options.learner]} begins with nothing")
    small = {name: value for name, value in QUICK.items() if options.quick}
    settings = kind(**{**small, **options.settings})
    seatings = seatings_of(game, options.opponents, options.seats)
    try:
        if options.learner == "dmc":
            trainer = DeepMonteCarlo(game, settings, options.seed, seatings, executor)
            if options.start:
                trainer.start_from(saved_network(options.start, game))
            return trainer
        return QLearning(game, options.learner, settings, options.seed, seatings, executor)  # type: ignore[arg-type]
    except ValueError as error:
        raise UserError(str(error)) from None


def train_for(learner: GameLearner, seconds: float, title: str) -> float:
    """Trains for so many CPU seconds, the last iteration whole; returns how many they were."""
    spent = 0.0
    with LateProgress(title, seconds) as progress:
        while spent < seconds:
            before = sum(learner.seconds.values())
            learner.run(1)
            spent += sum(learner.seconds.values()) - before
            progress.update(spent)
    return spent


class Evaluation:
    """Duplicate matches against the game's players; exact NashConv where the game is small enough."""

    def __init__(self, trainer: GameLearner, options: Options) -> None:
        self._trainer = trainer
        self._deals = QUICK_DEALS if options.quick else options.deals
        self._quick = options.quick
        self._others: dict[str, Player] = compiled_players(trainer.game)
        small = trainer.game.num_players() == 2 and estimate_size(trainer.game).nodes <= MOST_NODES_JUDGED
        self._is_judged = small

    def evaluate(self, clock: Clock, last: bool) -> Row:
        trainer, player = self._trainer, self._trainer.player()
        row = trainer.metrics()
        others = dict(self._others)
        if last and not self._quick:
            others |= {name: find_player(name, trainer.game) for name in LAST_PLAYERS}
        for name, other in others.items():
            slow = name in LAST_PLAYERS
            score = play_match(trainer.game, player, other, max(self._deals // 5, 2) if slow else self._deals, 1001)
            row[f"v {name}"] = score.score.mean
            row[f"v {name}, s.e."] = score.score.standard_error
        if self._is_judged:
            row["nash_conv"] = float(nash_conv(trainer.game, player.policy(trainer.game)))
        return row

    def remarks(self) -> list[str]:
        trainer = self._trainer
        parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in trainer.seconds.items())
        return [
            f"Scores are what a deal brings against the named player, estimates from {self._deals:,} duplicate deals "
            "(a fifth of them against searches), with standard errors; NashConv, where there is one, is exact.",
            f"CPU seconds by part: {parts}; {trainer.games:,} games, {trainer.decisions:,} decisions.",
        ]

    def draw(self, rows: Sequence[Row], title: str) -> Figure:
        figure = Figure(figsize=(7, 4), layout="constrained")
        axis = figure.subplots()
        for name in self._others:
            seconds = [row["seconds"] for row in rows]
            errors = [1.96 * row[f"v {name}, s.e."] for row in rows]
            axis.errorbar(seconds, [row[f"v {name}"] for row in rows], yerr=errors, marker=".", label=f"against {name}")
        axis.axhline(0.0, color="grey", linewidth=0.8)
        axis.set(xlabel="CPU seconds of training", ylabel="score per deal, 95% intervals", title=title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
        return figure


def learner_task(options: Options, executor: Executor | None = None) -> Task:
    trainer = make_learner(options, executor)
    evaluation = Evaluation(trainer, options)
    settings = {name: value for name, value in vars(trainer.settings).items() if name != "device"}
    asked = {name: getattr(options, name) for name in ("game", "learner", "seed", "quick", "start")}
    asked |= {"opponents": list(options.opponents), "seats": [list(group) for group in options.seats]}
    title = f"{NAMES[options.learner]} on {options.game}"
    return Task(
        title=f"{title}, device {trainer.settings.device}",
        trainer=trainer,
        config={**asked, **dict(sorted(settings.items()))},
        evaluate=evaluation.evaluate,
        remarks=evaluation.remarks,
        draw=lambda rows: evaluation.draw(rows, title),
        picture="learning",
        shown=("v random",),
        save_player=trainer.save_player,
        growth=GROWTH,
        timer=time.process_time,
    )


def train(
    options: Options,
    path: str,
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
    task = learner_task(options, executor)
    run = Run(task, path, limits, resume=resume, overwrite=overwrite, checkpoint_seconds=checkpoint_seconds)
    return run.go()
