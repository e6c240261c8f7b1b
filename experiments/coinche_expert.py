"""Everybody who plays Coinche, against everybody: `python -m experiments.coinche_expert --deals=300`.

Our players, the paper's, flat Monte Carlo, saved players (`--saved=runs/a,runs/b`: Deep CFR, say), and `colver`'s IS-DD
where it is installed (`make peers`), on the same duplicate deals. `--scoring=points` plays colver's own score instead
of `mirror`, so that neither side need play a foreign game. Players are named as in `experiments.arena`.

The run directory holds the cross table with 95% intervals, what calls and cards cost in CPU time, how everybody bids,
a picture, and the result of every deal. A run that was interrupted goes on with --resume.
"""

from __future__ import annotations

import functools
import itertools

from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.coinche.colver_players import import_colver
from experiments.coinche.expert_table import Filed, cost_of, in_words, load, play, save, style_of
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
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
from experiments.running.round_robin import Standings, names_in

FLAGS = flags.FLAGS
OURS = (
    "random,simple,strong,monte_carlo(worlds=20,rollout=strong),bidder,cards,"
    "expert(level=easy),expert(level=medium),expert"
)
COLVER = "experiments.coinche.colver_players:isdd"
SCORINGS = {
    "mirror": "python_coinche",
    "points": "python_coinche(reward=points,belote=True,surcoinche_factor=3)",
}
QUICK_DEALS, QUICK_PLAYERS = 4, "simple,strong,expert(level=easy)"
COST_DEALS = 8

if __name__ == "__main__":
    flags.DEFINE_string("players", OURS, "players with commas between them")
    flags.DEFINE_string("saved", "", "run directories of saved players, with commas between them")
    flags.DEFINE_bool("colver", True, "whether colver's IS-DD plays too, if it is installed")
    flags.DEFINE_enum("scoring", "mirror", list(SCORINGS), "whose score: ours, or colver's")
    define_count("deals", 300, "deals of each match, each played twice", 2, bytes_each=1000, seconds_each=2e-4)
    define_seed("of the deals and of the players")
    define_executor()
    define_out(None, "runs/coinche_expert_<scoring>", resume="the matches")
    define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
    flags.DEFINE_bool("quick", False, "three players and four deals, to see that it works")


@command
def main() -> None:
    game = load_game(SCORINGS[FLAGS.scoring])
    texts = names_in(QUICK_PLAYERS if FLAGS.quick else FLAGS.players)
    texts += [path.strip() for path in FLAGS.saved.split(",") if path.strip()]
    if FLAGS.colver and not FLAGS.quick and import_colver() is not None:
        texts.append(COLVER)
    players = [find_player(text, game) for text in texts]
    deals = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    config = {"scoring": FLAGS.scoring, "players": texts, "deals": deals, "seed": FLAGS.seed}
    directory = open_directory(config, f"runs/coinche_expert_{FLAGS.scoring}")

    matches: dict[tuple[int, int], Filed] = {}
    pairs = list(itertools.combinations(range(len(players)), 2))
    with chosen_executor(directory.path) as executor, LateProgress("playing", 2 * deals * len(pairs)) as progress:
        for i, j in pairs:
            file, pair = directory.path / f"match_{i}_{j}.npz", (players[i], players[j])
            progress.advance(2 * deals * file.exists())
            playing = functools.partial(play, game, pair, deals, FLAGS.seed, on_progress=progress.advance)
            loading = functools.partial(load, deals=deals)
            matches[i, j] = played_once(file, executor, FLAGS.checkpoint_seconds, playing, save, loading)

    names = [player.label for player in players]
    standings = Standings(names, {pair: filed.result for pair, filed in matches.items()})
    order = standings.order()
    costs = [cost_of(game, players[i], 1 if FLAGS.quick else COST_DEALS, FLAGS.seed) for i in order]
    cross = [
        {key: value for key, value in row.items() if key != "ms a move"}  # threads of colver's own are not in it
        | {"ms a call": f"{cost.call:.2g}", "ms a card": f"{cost.card:.2g}"}
        for row, cost in zip(standings.cross_table(), costs, strict=True)
    ]
    styles = [
        {"player": names[i]} | {name: in_words(value) for name, value in style_of(i, matches).items()} for i in order
    ]
    title = f"Coinche, {FLAGS.scoring}: {deals:,} deals a match, each played twice"
    tables.show(title, cross)
    tables.show("How they bid, over all their matches", styles)
    write_csv(directory.path / "results.csv", standings.csv_rows())
    write_csv(directory.path / "style.csv", styles)
    plot = directory.save_figure(standings.figure(title), "cross_table")
    directory.write_report(
        f"# {title}\n\nPoints per deal of the row's player over the column's, with 95% intervals over deals; ratings "
        "are points by least squares. Costs are CPU milliseconds (process time) where there is a choice.\n\n"
        f"{tables.markdown(cross)}\n## How they bid\n\nThe paper quotes of people: attack rate .40, contracts of "
        f"100 to 120, precision 10.\n\n{tables.markdown(styles)}\n![cross table and ratings]({plot.name})\n\n"
        "`match_i_j.npz` holds what player i was ahead of player j in every deal.\n"
    )
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
