"""Players against players: `python -m experiments.arena --game=python_coinche --north_south=strong --east_west=simple`.

Every deal is played twice, the second time with the sides changed, so that the luck of the cards cancels; where a game
has a dealer, the deal goes round. A player is

* `random`, or a player of the game's own package, such as `simple` and `strong` for Coinche, `if` and `greed` for
  Gongzhu;
* in games of this project, `monte_carlo` or, with its options, `monte_carlo(worlds=100,rollout=random)`: it deals the
  unseen cards again so many times and tries every action, with a player of the package (or `random`) in the rollouts;
* a policy file as written by `experiments.solve`;
* a bot that OpenSpiel has registered;
* `module:function`, where function(game, player_id) makes an OpenSpiel bot.

--north_south sits on the first side: the first team of a game with teams, the even seats of a game without. Games of
this project between compiled players run in batches; everything else takes the way through pyspiel.

The mean of a player is per deal; its 95% confidence interval treats the two games of a deal as one observation.
"""

from __future__ import annotations

import sys

from absl import app, flags

from cardtable.parameters import UserError
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv
from experiments.running.duplicate_matches import (
    Arena,
    csv_rows,
    draw,
    figures,
    find_player,
    metrics_of,
    require_sequential,
    rewards,
    rows_of,
    sides_of,
)

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_coinche", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_string("north_south", "strong", "the player of the first side; see the top of this module")
flags.DEFINE_string("east_west", "simple", "the player of the second side")
flags.DEFINE_integer("deals", 20_000, "deals, each played twice", 1)
flags.DEFINE_integer("seed", 1, "of the deals and of the players")
flags.DEFINE_string("out", None, "run directory; default runs/arena_<game>_<north_south>_<east_west>")
flags.DEFINE_bool("quick", False, "only 200 deals")

QUICK_DEALS = 200


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        sys.exit(f"unexpected arguments {argv[1:]}; see --help")
    try:
        run()
    except UserError as error:
        sys.exit(f"experiments.arena: {error}")


def run() -> None:
    game = load_game(FLAGS.game)
    require_sequential(game)
    players = [find_player(text, game) for text in (FLAGS.north_south, FLAGS.east_west)]
    arena = Arena(game, players[0], players[1], FLAGS.seed)
    deals = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    names = [players[0].name, players[1].name]
    if names[0] == names[1]:
        names = [f"{names[0]} (1)", f"{names[1]} (2)"]
    config = {name: getattr(FLAGS, name) for name in ("game", "north_south", "east_west", "seed")} | {"deals": deals}
    stem = FLAGS.game.replace("/", "_")
    directory = RunDirectory(FLAGS.out or f"runs/arena_{stem}_{players[0].name}_{players[1].name}", config)

    games = arena.play(deals, show_progress=True)
    found = [figures(game, games, player) for player in range(2)]
    title = f"{FLAGS.game}: {names[0]} against {names[1]}, {deals:,} deals, each played twice"
    rows = rows_of(names, found)
    tables.show(title, rows)
    write_csv(directory.path / "results.csv", csv_rows(names, found))
    mine = rewards(games, sides_of(game), 0)
    plot = directory.save_figure(draw(title, names, mine, found, metrics_of(game) is not None), "arena")
    command = (
        f"python -m experiments.arena --game='{FLAGS.game}' --north_south={FLAGS.north_south}"
        f" --east_west={FLAGS.east_west} --deals={deals} --seed={FLAGS.seed}"
    )
    directory.write_report(
        f"# {title}\n\n`{command}`\n\nEstimates with 95% confidence intervals; the two games of a deal count as one"
        f" observation.\n\n{tables.markdown(rows)}\n![results]({plot.name})\n"
    )
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    app.run(main)
