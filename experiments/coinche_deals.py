"""Deals in which two players of Coinche part, told with their cards: `python -m experiments.coinche_deals --deals=200`.

A match on duplicate deals; then the deals in which the first player gained most by its calls, by a coinche, and by its
cards (the same contract at both tables): hands, auctions and tricks of both tables, and every decision of the first
player that the second would have made otherwise, with what the first thought of both. The match is filed, and goes
on with --resume.
"""

from __future__ import annotations

from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.match import Match, play_match
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import load_game
from experiments.coinche.told_deals import chosen_kinds, tell, telling_deals
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

FLAGS = flags.FLAGS
if __name__ == "__main__":
    flags.DEFINE_string("first", "expert", "whose deals are told")
    flags.DEFINE_string("second", "strong", "against whom, and who would have decided otherwise")
    define_count("deals", 200, "deals of the match, each played twice", 2, bytes_each=1000, seconds_each=2e-4)
    define_count("each", 2, "deals that are told of each kind", 1, highest=100)
    define_seed("of the deals and of the players")
    define_executor()
    define_out("runs/coinche_deals", resume="the match")
    define_number("checkpoint_seconds", 30.0, "seconds after which games that were played are filed", 0.0)
    flags.DEFINE_bool("quick", False, "four deals, of the easy expert if --first names nobody")

QUICK_DEALS = 4


@command
def main() -> None:
    game = load_game("python_coinche")
    deals = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    easy = FLAGS.quick and FLAGS["first"].using_default_value
    texts = ("expert(level=easy)" if easy else FLAGS.first, FLAGS.second)
    players = (find_player(texts[0], game), find_player(texts[1], game))
    directory = open_directory({"first": texts[0], "second": texts[1], "deals": deals, "seed": FLAGS.seed})
    with chosen_executor(directory.path) as executor, LateProgress("playing", 2 * deals) as progress:
        filed = FiledGames(executor, directory.path, "games", FLAGS.checkpoint_seconds)
        match: Match = play_match(game, *players, deals, FLAGS.seed, filed, progress.advance)
    report = [f"# {texts[0]} against {texts[1]}\n\n{deals:,} deals, points a deal {match.score}.\n"]
    for told in chosen_kinds(telling_deals(match, FLAGS.each)):
        text, decisions = tell(game, players, told, FLAGS.seed)
        report.append(text)
        for seating, rows in enumerate(decisions):
            if rows:
                seats = ("North and South", "East and West")[seating]
                report.append(f"Decisions of {texts[0]} as {seats}:\n\n{tables.markdown(rows)}\n")
    write_csv(
        directory.path / "gains.csv", [{"deal": i, "gain": float(gain)} for i, gain in enumerate(match.per_deal())]
    )
    directory.write_report("\n".join(report))
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
