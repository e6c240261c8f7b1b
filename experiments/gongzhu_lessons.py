"""What a player can learn from Gongzhu's players: `python -m experiments.gongzhu_lessons --players=expert,greed`.

Each player plays the same deals in all four seats. Counted is what becomes of pig, sheep and transformer by what their
holder was dealt, who leads spades while the pig is out and who risks K♠ and A♠ then, how the sheep comes to the table,
and when anybody takes all hearts. Writes tables, a picture and report.md. Games are filed as they are played: --resume
goes on.
"""

from __future__ import annotations

from absl import flags

import gongzhu_spiel  # noqa: F401 registers the game
from cardtable.match import play_games
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.gongzhu.lessons import LESSONS, draw_fates, read_deal
from experiments.running import tables
from experiments.running.command import command, start
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
from experiments.running.round_robin import names_in

FLAGS = flags.FLAGS
flags.DEFINE_string("players", "expert(worlds=100),greed", "players with commas between them")
define_count("deals", 1000, "deals that each player plays with itself", 2, bytes_each=20_000, seconds_each=2e-3)
define_seed("of deals and players")
define_executor("threads:2")
define_out("runs/gongzhu_lessons", resume="the games")
define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
flags.DEFINE_bool("quick", False, "20 deals of Mr. If and Mr. Greed")

QUICK_DEALS, QUICK_PLAYERS = 20, "if,greed"


@command
def main() -> None:
    game = load_game("python_gongzhu")
    texts = names_in(QUICK_PLAYERS if FLAGS.quick else FLAGS.players)
    players = [find_player(text, game) for text in texts]
    count = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    directory = open_directory({"players": texts, "deals": count, "seed": FLAGS.seed})
    deals, files = {}, []
    with chosen_executor(directory.path) as executor, LateProgress("playing", count * len(players)) as progress:
        for number, player in enumerate(players):
            files.append(FiledGames(executor, directory.path, f"games_{number}", FLAGS.checkpoint_seconds))
            games = play_games(game, [player] * game.num_players(), count, FLAGS.seed, files[-1], progress.advance)
            assert games.states is not None
            deals[player.label] = [read_deal(game.rules, state) for state in games.states]

    report = [f"# What a player can learn from Gongzhu's players: {count:,} deals, each player in all four seats\n"]
    for title, rows_of in LESSONS.items():
        report.append(f"## {title}\n")
        for name, played in deals.items():
            rows = rows_of(played)
            tables.show(f"{title}: {name}", rows)
            report.append(f"{name}:\n\n{tables.markdown(rows)}")
    plot = directory.save_figure(draw_fates(deals), "fates")
    report.append(f"![who takes pig, sheep and transformer]({plot.name})\n")
    directory.write_report("\n".join(report))
    for filed in files:
        filed.forget()
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
