"""ScrofaZero in our own words: `python -m experiments.gongzhu_scrofazero` trains, then plays Tables 2 to 8.

    python -m experiments.gongzhu_scrofazero --iterations=1000                       # trains; --resume goes on
    python -m experiments.gongzhu_scrofazero --tables=runs/gongzhu_scrofazero        # Tables 2 to 8 with that network

Training is from nothing, on open hands: 64 games of self-play an iteration by UCT with the network's value at the
leaves, two iterations of search for each legal card. `--paper` has the paper's width, for who has a GPU's patience. The
curve is that of Figure 2: points over Mr. Greed, five worlds, one search for each legal card.

Tables: 2 (cross table), 3 (US, SS, IEC, both; naive Bayes beside it), 4 (values of cards), 5 (sizes of networks, given
by --others), 6 and 7 (gammas), 8 (policy head alone), each beside the published figures. With 2,048 deals the standard
error is 3.5 points: differences below 7 cannot be told from none; paired differences of one network's variants have
about the same.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from absl import flags
from matplotlib.figure import Figure

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_match
from cardtable.player import find_player, read_player_file
from cardtable.progress import LateProgress
from cardtable.spiel import CardGame, load_card_game
from experiments.gongzhu.scrofazero import gamma_examples, matches, values_of_cards
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.filed_games import played_once
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_run,
    define_settings,
    given_settings,
    open_directory,
)
from experiments.running.loop import Clock, Limits, Row, Run, Task
from experiments.running.plots import plt
from experiments.running.round_robin import load_pair, save_pair, timed
from solvers.alpha_zero.players import open_player, save_alpha_zero, uniform_belief
from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.alpha_zero.trainer import AlphaZeroTrainer
from solvers.alpha_zero.views import view_of

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_gongzhu", "any game of this project can be trained on; tables are of Gongzhu")
define_settings(AlphaZeroSettings)
define_run("runs/gongzhu_scrofazero")
define_count("deals", 64, "duplicate deals against --opponent in each evaluation", 2, seconds_each=1e-3)
flags.DEFINE_string("opponent", "greed", "whom the curve is measured against")
flags.DEFINE_string("tables", "", "a run directory: play the tables with its network instead of training")
flags.DEFINE_list("others", [], "run directories of networks of other sizes, for Table 5")
define_count("table_deals", 2048, "duplicate deals of each match of the tables", 2, seconds_each=1e-3)
define_executor()
flags.DEFINE_bool("paper", False, "the paper's size: width 512 and ten blocks behind the input, 5.6 million parameters")
flags.DEFINE_bool("quick", False, "a few small iterations, or a few deals")

QUICK: dict[str, Any] = {"width": 16, "blocks": 1, "games": 4}
PAPER: dict[str, Any] = {"width": 512, "blocks": 10, "learning_rate": 0.0001}
RAW_WORLDS = 5  # of the "raw network" of Figure 2, with one search for each legal card
TUNING_SEED = 70_000


@command
def main() -> None:
    torch.set_num_threads(1)
    game = load_card_game(FLAGS.game)
    if FLAGS.tables:
        play_tables(game)
    else:
        train(game)


# ------------------------------------------------------------------------------------------------ training


def train(game: CardGame) -> None:
    chosen = (PAPER if FLAGS.paper else {}) | (QUICK if FLAGS.quick else {})
    settings = AlphaZeroSettings(**chosen | given_settings(AlphaZeroSettings))
    trainer = AlphaZeroTrainer(game, settings, FLAGS.seed)
    deals = 2 if FLAGS.quick else FLAGS.deals
    opponent = find_player(FLAGS.opponent, game)

    def evaluate(clock: Clock, last: bool) -> Mapping[str, float]:
        raw = open_player(game, view_of(game), trainer.tensors, uniform_belief(game, RAW_WORLDS), fewest=0, each=1)
        score = play_match(game, raw, opponent, deals, TUNING_SEED).score
        return {**trainer.metrics(), "points": score.mean, "standard_error": score.standard_error}

    def save(path: Path, made_by: Mapping[str, Any]) -> None:
        save_alpha_zero(path, game, trainer.tensors, vars(settings), made_by)

    config = {"game": FLAGS.game, "seed": FLAGS.seed, "deals": deals, "opponent": FLAGS.opponent, **vars(settings)}
    task = Task(
        title=f"AlphaZero-like learning of {FLAGS.game}, {trainer.metrics()['parameters']:,} parameters",
        trainer=trainer,
        config=config,
        evaluate=evaluate,
        remarks=lambda: [f"Points of the raw network over {FLAGS.opponent}, {deals} duplicate deals."],
        draw=_curve,
        picture="curve",
        shown=("points", "value_loss"),
        save_player=save,
        growth=1.3,
    )
    limits = Limits(3 if FLAGS.quick else FLAGS.iterations, FLAGS.seconds)
    Run(
        task,
        FLAGS.out or "runs/gongzhu_scrofazero",
        limits,
        resume=FLAGS.resume,
        overwrite=FLAGS.overwrite,
        checkpoint_seconds=FLAGS.checkpoint_seconds,
    ).go()


def _curve(rows: Sequence[Row]) -> Figure:
    figure, axis = plt.subplots(figsize=(7, 4.5))
    errors = [1.96 * row["standard_error"] for row in rows]
    axis.errorbar([row["step"] for row in rows], [row["points"] for row in rows], yerr=errors, marker="o", capsize=3)
    published = {1: -265, 80: -106, 240: -70, 480: -54, 960: -44, 1280: -24, 1600: -3, 1920: 6}
    axis.plot(*zip(*published.items(), strict=True), "--", color="grey", label="the authors' log, eleven million")
    axis.set(xscale="log", xlabel="iterations", ylabel="points over Mr. Greed", title="Raw network, 95% intervals")
    axis.axhline(0, color="black", linewidth=0.8)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


# ------------------------------------------------------------------------------------------------ tables


def play_tables(game: CardGame) -> None:
    folder = Path(FLAGS.tables)
    head = read_player_file(folder)
    deals = 2 if FLAGS.quick else FLAGS.table_deals
    others = {Path(path).name: path for path in FLAGS.others}
    config = {"tables": FLAGS.tables, "others": FLAGS.others, "deals": deals, "seed": FLAGS.seed}
    directory = open_directory(config, "runs/gongzhu_scrofazero_tables")
    rows: list[dict[str, Any]] = []
    with chosen_executor(directory.path) as executor:
        for number, match in enumerate(matches(FLAGS.tables, others)):
            file = directory.path / f"match_{number}.npz"
            with LateProgress(f"Table {match.table}: {match.what}", 2 * deals) as progress:
                play = timed(game, match.first, match.second, deals, FLAGS.seed, progress.advance)
                load = functools.partial(load_pair, deals=deals)
                result = played_once(file, executor, FLAGS.checkpoint_seconds, play, save_pair, load)
            won, drawn = (result.per_deal > 0).mean(), (result.per_deal == 0).mean()
            rows.append({"table": match.table, "match": match.what, "points": str(result.score)})
            rows[-1] |= {"won (drawn) deals": f"{won:.1%} (+{drawn:.1%})", "published": match.published}
            rows[-1]["ms a move"] = round(float(result.milliseconds[0]), 2)
            tables.show(f"Table {match.table}", rows[-1:])
            write_csv(directory.path / "matches.csv", rows)
    cards = values_of_cards(game, folder, 20 if FLAGS.quick else 2000, FLAGS.seed)
    gammas = gamma_examples(game, folder, float(head["settings"].get("temperature", 5.0)))
    write_csv(directory.path / "table_4.csv", cards)
    write_csv(directory.path / "tables_6_7.csv", gammas)
    tables.show("Table 4", cards)
    tables.show("Tables 6 and 7", gammas)
    error = 160 / np.sqrt(deals)
    directory.write_report(
        f"# Tables of the ScrofaZero paper, network of {FLAGS.tables}\n\n{deals:,} duplicate deals a match, 95% "
        f"intervals; the standard error is about {error:.1f}, so that differences below {2 * error:.0f} points are "
        f"not told from none.\n\n{tables.markdown(rows)}\n## Table 4: values of cards\n\n{tables.markdown(cards)}\n"
        f"## Tables 6 and 7: gammas\n\n{tables.markdown(gammas)}"
    )
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
