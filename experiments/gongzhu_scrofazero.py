"""ScrofaZero in our own words: `python -m experiments.gongzhu_scrofazero` trains, then plays Tables 2 to 8.

    python -m experiments.gongzhu_scrofazero --iterations=1000                       # trains; --resume goes on
    python -m experiments.gongzhu_scrofazero --tables=runs/gongzhu_scrofazero        # Tables 2 to 8 with that network

Training is from nothing, on open hands: 64 games of self-play an iteration by UCT with the network's value at the
leaves, two iterations of search for each legal card. `--paper` has the paper's width, for who has a GPU's patience. The
curve is that of Figure 2: points over Mr. Greed, five worlds, one search for each legal card.

Tables: 2 (cross table), 3 (US, SS, IEC, both; naive Bayes beside it), 4 (values of cards), 5 (sizes of networks, given
by --others), 6 and 7 (gammas), 8 (policy head alone), each beside the published figures; --only=3 plays Table 3 alone,
and --resume the others later. Where differences are claimed, in Table 3, variants are also compared deal by deal. With
2,048 deals the standard error is 3.5 points: differences below 7 cannot be told from none.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from absl import flags
from matplotlib.figure import Figure

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Executor
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player, read_player_file
from cardtable.progress import LateProgress
from cardtable.spiel import CardGame, load_card_game
from experiments.gongzhu.scrofazero import Match, differences, gamma_examples, matches, transitivity, values_of_cards
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import RunDirectory, file_name, write_csv
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
from experiments.running.round_robin import PairResult, load_pair, save_pair, timed
from solvers.alpha_zero.players import open_player, save_alpha_zero, uniform_belief
from solvers.alpha_zero.settings import AlphaZeroSettings
from solvers.alpha_zero.trainer import AlphaZeroTrainer

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_gongzhu", "any game of this project can be trained on; tables are of Gongzhu")
define_settings(AlphaZeroSettings)
define_run("runs/gongzhu_scrofazero")
define_count("deals", 64, "duplicate deals against --opponent in each evaluation", 2, seconds_each=1e-3)
flags.DEFINE_string("opponent", "greed", "whom the curve is measured against")
flags.DEFINE_string("tables", "", "a run directory: play the tables with its network instead of training")
flags.DEFINE_list("others", [], "run directories of networks of other sizes, for Table 5")
flags.DEFINE_list("only", [], "just these tables, such as 3,8")
define_count("table_deals", 2048, "duplicate deals of each match of Table 3", 2, seconds_each=1e-3)
define_count("other_deals", 512, "duplicate deals of each match of the other tables", 2, seconds_each=1e-3)
define_executor()
flags.DEFINE_bool("paper", False, "the paper's size: width 512 and ten blocks behind the input, 5.6 million parameters")
flags.DEFINE_bool("quick", False, "a few small iterations, or a few deals")

QUICK: dict[str, Any] = {"width": 16, "blocks": 1, "games": 4}
PAPER: dict[str, Any] = {
    "width": 512,
    "blocks": 10,
    "batch_size": 64,
    "learning_rate": 0.0001,
    "averaging": 0.0,
    "result_share": 0.0,
}
TABLES = ("2", "3", "4", "5", "6", "7", "8")
CLAIMS = "3"  # the table whose lines are compared
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
        belief = uniform_belief(game, RAW_WORLDS)
        raw = open_player(game, trainer.view, trainer.tensors, belief, fewest=0, each=1, endings=settings.endings)
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
    unknown = [name for name in FLAGS.only if name not in TABLES]
    if unknown:
        raise UserError(f"--only={unknown[0]}; allowed: {', '.join(TABLES)}, with commas between them")
    deals = Deals(3, 2) if FLAGS.quick else Deals(FLAGS.table_deals, FLAGS.other_deals)
    config = {"tables": FLAGS.tables, "others": FLAGS.others, "deals": list(deals), "seed": FLAGS.seed}
    directory = open_directory(config, "runs/gongzhu_scrofazero_tables")
    parts = []
    for title, rows in _tables(game, folder, head, directory, deals):
        tables.show(title, rows)
        stem = title.partition(":")[0].lower().replace(" ", "_")
        write_csv(directory.path / f"{stem}.csv", rows)
        parts.append(f"## {title}\n\n{tables.markdown(rows)}")
    error = 160 / np.sqrt(deals.claims)
    directory.write_report(
        f"# Tables of the ScrofaZero paper, network of {FLAGS.tables}\n\nDuplicate deals, 95% intervals. The standard "
        f"error of n deals is about 160 / sqrt(n): {error:.1f} points in Table 3, so that differences below "
        f"{2 * error:.0f} are not told from none.\n\n" + "\n".join(parts)
    )
    tables.console.print(f"written to {directory.path}")


class Deals(NamedTuple):
    claims: int  # of each match of Table 3
    others: int


def _tables(
    game: CardGame, folder: Path, head: Mapping[str, Any], directory: RunDirectory, deals: Deals
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The tables that are wanted: titles and rows."""
    wanted = FLAGS.only or TABLES
    planned = matches(FLAGS.tables, {Path(path).name: path for path in FLAGS.others})
    claimed = {match.players for match in planned if match.table == CLAIMS}
    results: dict[str, PairResult] = {}
    rows: list[dict[str, Any]] = []
    with chosen_executor(directory.path) as executor:
        for match in planned:
            if match.table in wanted:
                number = deals.claims if match.players in claimed else deals.others
                result = _played(game, match, number, directory, executor)
                results[match.what] = result
                rows.append(_row(match, result))
                tables.show(match.what, rows[-1:])
                write_csv(directory.path / "matches.csv", rows)
    if rows:
        yield "Matches", rows
    if "2" in wanted:
        yield "Table 2: eq. 17", [transitivity(results, min(deals))]
    if CLAIMS in wanted:
        yield "Table 3: deal by deal", differences(results)
    if "4" in wanted:
        yield "Table 4: values of cards", values_of_cards(game, folder, 20 if FLAGS.quick else 2000, FLAGS.seed)
    gammas = gamma_examples(game, folder, float(head["settings"].get("temperature", 5.0)))
    for table in ("6", "7"):
        if table in wanted:
            yield f"Table {table}: gammas", [row for row in gammas if row["table"] == table]


def _played(game: CardGame, match: Match, deals: int, directory: RunDirectory, executor: Executor) -> PairResult:
    """A match of some tables; what stands in two of them is played once."""
    file = directory.path / f"{file_name(' '.join(match.players))}.npz"
    with LateProgress(f"Table {match.table}: {match.what}", 2 * deals) as progress:
        play = timed(game, *match.players, deals, FLAGS.seed, progress.advance)
        load = functools.partial(load_pair, deals=deals)
        return played_once(file, executor, FLAGS.checkpoint_seconds, play, save_pair, load)


def _row(match: Match, result: PairResult) -> dict[str, Any]:
    won, drawn = (result.per_deal > 0).mean(), (result.per_deal == 0).mean()
    return {
        "table": match.table,
        "match": match.what,
        "points": str(result.score),
        "published": match.published,
        "deals": len(result.per_deal),
        "won (drawn) deals": f"{won:.1%} (+{drawn:.1%})",
        "ms a move": round(float(result.milliseconds[0]), 2),
    }


if __name__ == "__main__":
    start(main)
