"""What Cego's players do with typical hands: `python -m experiments.cego_lessons --players=expert`.

Each player plays the same deals of each sub-game in all four seats. Counted is who leads trumps and which, who gives
points to a partner, what is kept for the last trick of Ultimo, what is led against Bettel, when Piccolo takes its only
trick, and what is led and thrown off in Räuber. Writes tables, a picture and report.md. Games are filed as they are
played: --resume goes on.
"""

from __future__ import annotations

from absl import flags

import cego_spiel  # noqa: F401 registers the game
from cardtable.match import play_games
from cardtable.parameters import UserError
from cardtable.player import find_player, players_of
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.cego.lessons import LESSONS, Deal, draw_leads, read_deal
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
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
flags.DEFINE_string(
    "players", "", "players with commas between them; by default the expert, if there is one, and random"
)
flags.DEFINE_list("subgames", list(LESSONS), "which sub-games")
define_count("deals", 2000, "deals that each player plays with itself", 2, bytes_each=50_000, seconds_each=5e-3)
define_seed("of deals and players")
define_executor()
define_out("runs/cego_lessons", resume="the games")
define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
flags.DEFINE_bool("quick", False, "20 deals")

QUICK_DEALS = 20
USUAL = ("expert", "random")


@command
def main() -> None:
    texts = names_in(FLAGS.players, least=1) if FLAGS.players else []
    if not FLAGS.subgames or not set(FLAGS.subgames) <= LESSONS.keys():
        raise UserError(f"--subgames={','.join(FLAGS.subgames)}: allowed are {', '.join(LESSONS)}")
    count = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    games = {name: load_game(f"python_cego(subgame={name})") for name in FLAGS.subgames}
    chosen = {name: texts or [text for text in USUAL if text in players_of(game)] for name, game in games.items()}
    players = {name: {text: find_player(text, games[name]) for text in own} for name, own in chosen.items()}
    directory = open_directory({"players": texts, "subgames": FLAGS.subgames, "deals": count, "seed": FLAGS.seed})
    deals: dict[str, dict[str, list[Deal]]] = {}
    files = []
    with (
        chosen_executor(directory.path) as executor,
        LateProgress("playing", count * sum(map(len, players.values()))) as bar,
    ):
        for subgame, game in games.items():
            deals[subgame] = {}
            for number, (text, player) in enumerate(players[subgame].items()):
                files.append(
                    FiledGames(executor, directory.path, f"games_{subgame}_{number}", FLAGS.checkpoint_seconds)
                )
                found = play_games(game, [player] * game.num_players(), count, FLAGS.seed, files[-1], bar.advance)
                assert found.states is not None
                deals[subgame][text] = [read_deal(game.rules, state) for state in found.states]

    report = [f"# What Cego's players do: {count:,} deals, each player in all four seats\n"]
    for subgame, played in deals.items():
        for title, rows_of in LESSONS[subgame].items():
            report.append(f"## {subgame}: {title}\n")
            every = [{"player": text, **row} for text, own in played.items() for row in rows_of(own)]
            tables.show(f"{subgame}: {title}", every)
            write_csv(directory.path / f"{subgame}_{title.lower().replace(' ', '_')}.csv", every)
            report.append(tables.markdown(every))
    plot = directory.save_figure(draw_leads(deals), "leads")
    report.append(f"![who leads trumps]({plot.name})\n")
    directory.write_report("\n".join(report))
    for filed in files:
        filed.forget()
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
