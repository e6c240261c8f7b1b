"""Everybody against everybody: `python -m experiments.tournament --game=python_gongzhu --players=random,if,greed`.

A round robin on duplicate deals, the same for all pairs: every deal is played twice, the second time with the sides
changed. In Cego a player takes the single seat, then the three others. Players are named as in `experiments.arena`.

The run directory holds a cross table with 95% intervals, ratings (least squares on points; see
`experiments.running.round_robin`), how intransitive the players are, a picture, and the results of every deal. A
tournament that was interrupted goes on with --resume, and more players may join it so: matches are filed by name.
"""

from __future__ import annotations

import functools
import itertools

from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.match import require_sequential
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import file_name, write_csv
from experiments.running.filed_games import played_once
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    define_seed,
    open_directory,
)
from experiments.running.round_robin import PairResult, Standings, load_pair, names_in, play_pair, save_pair

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_gongzhu", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_string("players", "random,if,greed", "players with commas between them")
define_count("deals", 1000, "deals of each match, each played twice", 2, bytes_each=1000, seconds_each=2e-6)
define_seed("of the deals and of the players")
define_executor()
define_out(None, "runs/tournament_<game>", resume="the tournament")
define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
flags.DEFINE_bool("quick", False, "only 50 deals")

QUICK_DEALS = 50


@command
def main() -> None:
    game = load_game(FLAGS.game)
    require_sequential(game)
    texts = names_in(FLAGS.players)
    players = [find_player(text, game) for text in texts]
    deals = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    config = {"game": FLAGS.game, "deals": deals, "seed": FLAGS.seed}
    directory = open_directory(config, f"runs/{file_name(f'tournament_{FLAGS.game}')}")

    results: dict[tuple[int, int], PairResult] = {}
    pairs = list(itertools.combinations(range(len(players)), 2))
    with chosen_executor(directory.path) as executor, LateProgress("playing", 2 * deals * len(pairs)) as progress:
        for i, j in pairs:
            file = directory.path / f"{file_name(f'{texts[i]} {texts[j]}')}.npz"
            pair = players[i], players[j]
            progress.advance(2 * deals * file.exists())
            play = functools.partial(play_pair, game, pair, deals, FLAGS.seed, on_progress=progress.advance)
            load = functools.partial(load_pair, deals=deals)
            results[i, j] = played_once(file, executor, FLAGS.checkpoint_seconds, play, save_pair, load)

    labels = [player.label for player in players]
    names = labels if len(set(labels)) == len(labels) else texts
    standings = Standings(names, results)
    title = f"{FLAGS.game}: {deals:,} deals a match, each played twice"
    rows = standings.cross_table()
    tables.show(title, rows)
    words = describe(standings)
    tables.console.print(words)
    write_csv(directory.path / "results.csv", standings.csv_rows())
    ratings = standings.ratings()
    write_csv(
        directory.path / "ratings.csv",
        [
            {"player": names[i], "rating": ratings[i].mean, "low": ratings[i].low, "high": ratings[i].high}
            for i in standings.order()
        ],
    )
    plot = directory.save_figure(standings.figure(title), "tournament")
    directory.write_report(
        f"# {title}\n\nPoints per deal of the row's player over the column's: half the difference of what their seats "
        "win on average, with 95% intervals over deals. Ratings are points by least squares, "
        "r_i = sum_j x_ij / n; CPU milliseconds for a decision where it was measured.\n\n"
        f"{tables.markdown(rows)}\n{words}\n\n![cross table and ratings]({plot.name})\n"
    )
    tables.console.print(f"written to {directory.path}")


def describe(standings: Standings) -> str:
    if len(standings.names) < 3:
        return "Intransitivity needs three players."
    index, low, high = standings.intransitivity()
    return f"Intransitivity (0 transitive, 1 rock-paper-scissors): {index:.3f}, 95% interval {low:.3f} to {high:.3f}."


if __name__ == "__main__":
    start(main)
