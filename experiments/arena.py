"""Players against players: `python -m experiments.arena --game=python_coinche --north_south=strong --east_west=simple`.

Every deal is played twice, the second time with the sides changed, so that the luck of the cards cancels; where a game
has a dealer, the deal goes round. A player is

* `random`, or a player of the game's own package, such as `simple` and `strong` for Coinche, `if` and `greed` for
  Gongzhu; on transforms of these games too;
* in games of this project, `monte_carlo` or, with its options, `monte_carlo(worlds=100,rollout=random)`: it deals the
  unseen cards again so many times and tries every action, with a player of the package (or `random`) in the rollouts;
* the run directory of `experiments.solve` or `experiments.deep_cfr`, any other saved player, or a policy file;
* a bot that OpenSpiel has registered;
* `module:function`, where function(game, player_id) or function(game, player_id, seed) makes an OpenSpiel bot.

--north_south sits on the first side: the first team of a game with teams, the even seats of a game without. In Cego a
player so takes the single seat, then the three others.

Games are filed as they are played: a match that was interrupted goes on with --resume.

The mean of a player is per deal; its 95% confidence interval treats the two games of a deal as one observation.
"""

from __future__ import annotations

import math

from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_match, require_sequential
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import file_name, write_csv
from experiments.running.filed_games import FiledGames
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    define_seed,
    open_directory,
)
from experiments.running.match_figures import csv_rows, draw, figures, metrics_of, rows_of

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_coinche", "any sequential game OpenSpiel can load, ours included")
flags.DEFINE_string("north_south", "strong", "the player of the first side; see the top of this module")
flags.DEFINE_string("east_west", "simple", "the player of the second side")
define_count("deals", 20_000, "deals, each played twice", bytes_each=1000, seconds_each=2e-6)
define_seed("of the deals and of the players")
define_executor()
define_out(None, "runs/arena_<game>_<north_south>_<east_west>", resume="the match")
define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
flags.DEFINE_bool("quick", False, "only 200 deals")

QUICK_DEALS = 200


@command
def main() -> None:
    game = load_game(FLAGS.game)
    require_sequential(game)
    players = [find_player(text, game) for text in (FLAGS.north_south, FLAGS.east_west)]
    deals = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    names = [player.label for player in players]
    config = {name: getattr(FLAGS, name) for name in ("game", "north_south", "east_west", "seed")} | {"deals": deals}
    stem = file_name(f"arena_{FLAGS.game}_{names[0]}_{names[1]}")
    directory = open_directory(config, f"runs/{stem}")
    if names[0] == names[1]:
        names = [f"{names[0]} (1)", f"{names[1]} (2)"]

    with chosen_executor(directory.path) as executor, LateProgress("playing", 2 * deals) as progress:
        filed = FiledGames(executor, directory.path, "games", FLAGS.checkpoint_seconds)
        match = play_match(game, players[0], players[1], deals, FLAGS.seed, filed, progress.advance)
    found = [figures(game, match, player) for player in range(2)]
    title = f"{FLAGS.game}: {names[0]} against {names[1]}, {deals:,} deals, each played twice"
    rows = rows_of(names, found)
    tables.show(title, rows)
    write_csv(directory.path / "results.csv", csv_rows(names, found))
    plot = directory.save_figure(draw(title, names, match.rewards(0), found, metrics_of(game) is not None), "arena")
    command = (
        f"python -m experiments.arena --game='{FLAGS.game}' --north_south='{FLAGS.north_south}'"
        f" --east_west='{FLAGS.east_west}' --deals={deals} --seed={FLAGS.seed}"
    )
    thinking = _thinking(names, [match.milliseconds(player) for player in range(2)])
    directory.write_report(
        f"# {title}\n\n`{command}`\n\nEstimates with 95% confidence intervals; the two games of a deal count as one"
        f" observation.\n\n{tables.markdown(rows)}\n{thinking}![results]({plot.name})\n"
    )
    filed.forget()
    if thinking:
        tables.console.print(thinking.strip())
    tables.console.print(f"written to {directory.path}")


def _thinking(names: list[str], milliseconds: list[float]) -> str:
    """CPU time for a decision, where players take turns in Python; compiled ones take microseconds."""
    if any(math.isnan(time) for time in milliseconds):
        return ""
    parts = (f"{name} {time:.3g} ms" for name, time in zip(names, milliseconds, strict=True))
    return f"CPU time a decision: {', '.join(parts)}.\n\n"


if __name__ == "__main__":
    start(main)
