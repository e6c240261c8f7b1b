"""A strong strategy for Toepen of any size, above all for the full game: CFR by deals.

python -m experiments.toepen_expert --seconds=1500          a saved player in runs/toepen_expert_4-8-4
python -m experiments.toepen_expert --resume --seconds=1500 --install      ... which is the player `expert` from now on

What is kept of the game is told in `solvers.toepen.views`; how much the result can lose,
`experiments.toepen_response --player=<run directory>` tells exactly. Seconds are processor time.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from absl import flags
from matplotlib.figure import Figure

import cardspiel  # noqa: F401
from cardtable.parameters import UserError
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.flags import define_count, define_run
from experiments.running.loop import Clock, Limits, Row, Run, Task
from experiments.toepen.frontier import sizes_of
from experiments.toepen.training import toepen
from solvers.arrays.memory import readable_bytes
from solvers.toepen.block_player import rounded, save_blocks
from solvers.toepen.blocks import Blocks
from solvers.toepen.views import MEMORIES, Abstraction
from solvers.toepen_deals import DealSolver
from solvers.toepen_response import HandResponse, random_hands
from toepen_spiel.game import EXPERT

FLAGS = flags.FLAGS
DEFAULT_SECONDS = 1500.0
FULL = "4-8-4"


class Expert:
    """A solver by deals, and how it is looked at on the way."""

    def __init__(self, game: pyspiel.Game, abstraction: Abstraction, hands: int) -> None:
        self.game = game
        self.solver = DealSolver(game, abstraction, FLAGS.seed, FLAGS.plus)
        # Other hands than those a study draws by default.
        self.hands = random_hands(*sizes_of(FLAGS.size), hands, FLAGS.seed + 1000).tolist()

    def task(self) -> Task:
        config = {
            name: FLAGS[name].value for name in ("size", "memory", "classes", "plus", "arithmetic", "hands", "seed")
        }
        return Task(
            title=f"{self.game}, CFR by deals",
            trainer=self.solver,
            config=config,
            evaluate=self.evaluate,
            remarks=self.remarks,
            draw=self.draw,
            picture="training",
            shown=("views", "nash_conv"),
            save_player=self.save,
            growth=2.0,
            timer=time.process_time,
        )

    def evaluate(self, clock: Clock, last: bool) -> Mapping[str, float]:
        """The size of the table; at the end, or where asked, NashConv on a few hands."""
        found: dict[str, float] = dict(self.solver.metrics())
        if self.hands and (last or (FLAGS.judge_from is not None and self.solver.iterations >= FLAGS.judge_from)):
            response = HandResponse(self.game.rules, rounded(self.game, self.blocks()))
            gains = np.array([[response.value(hand, seat).gain for seat in (0, 1)] for hand in self.hands]).sum(axis=1)
            found |= {"nash_conv": float(gains.mean()), "error": float(1.96 * gains.std(ddof=1) / len(gains) ** 0.5)}
        else:
            found |= {"nash_conv": float("nan"), "error": float("nan")}
        return found

    def save(self, folder: Path, made_by: Mapping[str, Any]) -> None:
        save_blocks(folder, self.game, self.blocks(), made_by)

    def blocks(self) -> Blocks:
        """The policy as it is saved."""
        return dataclasses.replace(self.solver.blocks(FLAGS.most_views), arithmetic=FLAGS.arithmetic)

    def remarks(self) -> list[str]:
        return [
            f"{self.solver.num_views:,} views in {readable_bytes(self.solver.memory_bytes)}.",
            f"NashConv by exact best responses on {len(self.hands)} random hands, the same at all points, with 95 % "
            "confidence; of the policy as it is saved."
            if self.hands
            else "NashConv was not asked for.",
        ]

    def draw(self, rows: Sequence[Row]) -> Figure | None:
        from matplotlib import pyplot as plt

        shown = [row for row in rows if np.isfinite(row["nash_conv"])]
        if len(shown) < 2:
            return None
        figure, axes = plt.subplots(figsize=(7.5, 4))
        axes.errorbar(
            [row["seconds"] / 60 for row in shown],
            [row["nash_conv"] for row in shown],
            [row["error"] for row in shown],
            fmt="o-",
        )
        axes.set_xscale("log")
        axes.set_xlabel("processor minutes")
        axes.set_ylabel("NashConv")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        return figure


@command
def main() -> None:
    abstraction = Abstraction(FLAGS.memory, FLAGS.classes)
    abstraction.arrays()
    if FLAGS.install and FLAGS.size != FULL:
        raise UserError(f"--install is for the full game, --size={FULL}, not for {FLAGS.size}")
    game = load_game(toepen(*sizes_of(FLAGS.size), True, True))
    expert = Expert(game, abstraction, FLAGS.hands)
    seconds = DEFAULT_SECONDS if FLAGS.seconds is None and FLAGS.iterations is None else FLAGS.seconds
    run = Run(
        expert.task(),
        FLAGS.out or f"runs/toepen_expert_{FLAGS.size}",
        Limits(FLAGS.iterations, seconds),
        resume=FLAGS.resume,
        overwrite=FLAGS.overwrite,
        checkpoint_seconds=FLAGS.checkpoint_seconds,
    )
    run.go()
    if FLAGS.install:
        EXPERT.mkdir(exist_ok=True)
        made_by = {**expert.task().config, "deals": expert.solver.iterations}
        save_blocks(EXPERT, game, expert.blocks(), made_by)
        tables.console.print(f"the player `expert` of {game} is now this one ({EXPERT})")


def define_flags() -> None:
    define_run("runs/toepen_expert_<size>", "stop after so many deals")
    flags.DEFINE_string("size", FULL, "suits-ranks-hand size")
    flags.DEFINE_enum("memory", "other", list(MEMORIES), "whose cards are remembered")
    flags.DEFINE_string("classes", "00000011", "how ranks are remembered: a digit for each, from the jack to the ten")
    flags.DEFINE_bool("install", False, "make the result the player `expert` of python_toepen")
    flags.DEFINE_bool("plus", True, "regrets do not become negative")
    flags.DEFINE_bool("arithmetic", True, "make the last bet by arithmetic from the policy's own ranges")
    define_count("most_views", None, "save only so many views, those of most weight; all if not given", 1)
    define_count("hands", 10, "random hands on which NashConv is estimated", 0, seconds_each=1e-3)
    define_count("judge_from", None, "estimate NashConv at all evaluations from this deal on, not only at the end")


if __name__ == "__main__":
    define_flags()
    start(main)
