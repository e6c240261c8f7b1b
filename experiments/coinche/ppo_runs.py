"""One run of `experiments.coinche_ppo`: PPO as North and South against a fixed pair, evaluated as it goes."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_games, seated, sides_of
from cardtable.player import find_player
from cardtable.spiel import load_game
from coinche_spiel.metrics import points_ahead
from experiments.running import tables
from experiments.running.loop import Clock, Limits, Row, Run, Task
from experiments.running.match_figures import figures_of_games, figures_over_time
from solvers.environments import ME, seating_of
from solvers.ppo.players import save_player
from solvers.ppo.settings import Settings
from solvers.ppo.trainer import PPO

TRICK_REWARD = 0.1  # a card point, paid trick by trick
GROWTH = 1.5  # of the iterations between evaluations
CHECKPOINT_SECONDS = 120.0
PLAYED = "python_coinche"  # what the players are saved for: payoffs do not change what is legal or seen


class Job(NamedTuple):
    name: str  # of the setting
    game: str
    opponents: str
    settings: dict[str, Any]
    seed: int
    games: int  # of an evaluation
    path: str
    iterations: int
    resume: bool
    overwrite: bool


def train_run(quiet: bool, job: Job) -> list[Row]:
    """Not `quiet` where runs follow each other in one process; otherwise progress bars write over each other."""
    tables.console.quiet = quiet
    torch.set_num_threads(1)
    run = Run(
        ppo_task(job),
        job.path,
        Limits(iterations=job.iterations),
        resume=job.resume,
        overwrite=job.overwrite,
        checkpoint_seconds=CHECKPOINT_SECONDS,
    )
    return run.go()


def ppo_task(job: Job) -> Task:
    game = load_game(job.game)
    side = sides_of(game)[0]
    seats = [ME if seat in side else job.opponents for seat in range(game.num_players())]
    progress = functools.partial(_trick_reward, TRICK_REWARD)
    trainer = PPO(game, seating_of(game, seats), Settings(**job.settings), job.seed, progress)
    other = find_player(job.opponents, game)

    def evaluate(clock: Clock, last: bool) -> Row:
        stream = np.random.SeedSequence(job.seed, spawn_key=(9, trainer.iterations))
        games = play_games(game, seated(game, trainer.player(), other), job.games, int(stream.generate_state(1)[0]))
        found = figures_of_games(game, games, side)
        return {**trainer.metrics(), **{f"{job.opponents}: {name}": value for name, value in found.items()}}

    def save(folder: Path, made_by: Any) -> None:
        save_player(trainer.layers(), load_game(PLAYED), folder, made_by)

    def draw(rows: Sequence[Row]) -> Any:
        return figures_over_time(rows, [job.opponents], f"PPO, {job.name}, seed {job.seed}")

    return Task(
        title=f"PPO on {job.game} against {job.opponents}, seed {job.seed}",
        trainer=trainer,
        config={
            "game": job.game,
            "opponents": job.opponents,
            "seed": job.seed,
            "games": job.games,
            **{
                key: list(value) if isinstance(value, tuple) else value for key, value in vars(trainer.settings).items()
            },
        },
        evaluate=evaluate,
        remarks=lambda: [
            f"{trainer.decisions:,} decisions of the learner; a card point ahead pays {TRICK_REWARD} at once.",
            f"Estimates, each from {job.games:,} games; CPU seconds.",
        ],
        draw=draw,
        picture="learning",
        save_player=save,
        growth=GROWTH,
        timer=time.process_time,
    )


def _trick_reward(weight: float, states: np.ndarray, seat: int) -> np.ndarray:
    return weight * points_ahead(states, seat)
