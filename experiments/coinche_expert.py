"""Everybody who plays Coinche, against everybody: `python -m experiments.coinche_expert --deals=300`.

Our players, the paper's, flat Monte Carlo, saved players (`--saved=runs/a,runs/b`: Deep CFR, PPO), and of `colver`,
where it is installed (`make peers`), IS-DD and its rules, on the same duplicate deals. `--scoring=points` plays its
own score instead of `mirror`, so that neither side need play a foreign game. Players are named as in
`experiments.arena`. Some matches are played on more deals, and first (`LONGER` in `experiments.coinche.expert_table`);
`--longer=false` leaves them out.

The run directory holds the cross table with 95% intervals, the longer matches, what calls and cards cost in CPU time,
how everybody bids, a picture, and the result of every deal. A run that was interrupted goes on with --resume, and so
does one to which players are added.
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
from experiments.coinche.expert_table import (
    COLVER_AGENTS,
    COLVER_CARDS,
    FIGURES,
    LONGER,
    PEOPLE,
    Filed,
    cost_of,
    in_words,
    load,
    longer_rows,
    play,
    save,
    style_of,
)
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
from experiments.running.round_robin import Standings, names_in

FLAGS = flags.FLAGS
OURS = (
    "random,simple,strong,monte_carlo(worlds=20,rollout=strong),bidder,cards,"
    "expert(level=easy),expert(level=medium),expert"
)
SCORINGS = {
    "mirror": "python_coinche",
    "points": "python_coinche(reward=points,belote=True,surcoinche_factor=3)",
}
QUICK_DEALS, QUICK_PLAYERS = 4, "simple,strong,expert(level=easy)"

if __name__ == "__main__":
    flags.DEFINE_string("players", OURS, "players with commas between them")
    flags.DEFINE_string("saved", "", "run directories of saved players, with commas between them")
    flags.DEFINE_bool("colver", True, "whether colver's IS-DD and its rules play too, if it is installed")
    flags.DEFINE_bool("longer", True, "whether the matches that are told most of are played on more deals, and first")
    flags.DEFINE_enum("scoring", "mirror", list(SCORINGS), "whose score: ours, or colver's")
    define_count("deals", 300, "deals of each match, each played twice", 2, bytes_each=1000, seconds_each=2e-4)
    define_count("cost_deals", 16, "deals on which CPU time is measured, in both seatings", 1, seconds_each=2e-3)
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
    has_colver = FLAGS.colver and not FLAGS.quick and import_colver() is not None
    if has_colver:
        texts += COLVER_AGENTS
    deals = QUICK_DEALS if FLAGS.quick else FLAGS.deals
    longer = {} if FLAGS.quick or not FLAGS.longer else LONGER[FLAGS.scoring]
    at_table = {*texts, *([COLVER_CARDS] if has_colver else [])}
    longer = {pair: count for pair, count in longer.items() if at_table.issuperset(pair)}
    players = {text: find_player(text, game) for text in dict.fromkeys([*texts, *itertools.chain(*longer)])}
    directory = open_directory(
        {"scoring": FLAGS.scoring, "deals": deals, "seed": FLAGS.seed}, f"runs/coinche_expert_{FLAGS.scoring}"
    )

    wanted = dict(longer)
    for pair in itertools.combinations(texts, 2):
        pair = pair[::-1] if pair[::-1] in longer else pair
        wanted[pair] = max(deals, wanted.get(pair, 0))
    found: dict[tuple[str, str], Filed] = {}
    total = 2 * sum(wanted.values())
    with chosen_executor(directory.path) as executor, LateProgress("playing", total) as progress:
        for pair, count in wanted.items():
            file = directory.path / f"{file_name(f'match {pair[0]} v {pair[1]}')}.npz"
            progress.advance(2 * count * file.exists())
            two = (players[pair[0]], players[pair[1]])
            playing = functools.partial(play, game, two, count, FLAGS.seed, on_progress=progress.advance)
            loading = functools.partial(load, deals=count)
            found[pair] = played_once(file, executor, FLAGS.checkpoint_seconds, playing, save, loading)

    matches = {
        (i, j): found[one, two] if (one, two) in found else found[two, one].seen_by_the_second()
        for (i, one), (j, two) in itertools.combinations(enumerate(texts), 2)
    }
    names = [players[text].label for text in texts]
    standings = Standings(names, {pair: filed.result.first(deals) for pair, filed in matches.items()})
    order = standings.order()
    strong = find_player("strong", game)
    cost_deals = 1 if FLAGS.quick else FLAGS.cost_deals
    costs = [cost_of(game, (players[texts[i]], strong), cost_deals, FLAGS.seed)[0] for i in order]
    head_to_head = {
        pair: cost_of(game, (players[pair[0]], players[pair[1]]), cost_deals, FLAGS.seed) for pair in longer
    }
    cross = [
        {key: value for key, value in row.items() if key != "ms a move"}  # threads of colver's own are not in it
        | {f"ms a {what}": f"{value:.2g}" for what, value in cost._asdict().items()}
        for row, cost in zip(standings.cross_table(), costs, strict=True)
    ]
    styles = [
        {"player": names[i]} | {name: in_words(value) for name, value in style_of(i, matches).items()} for i in order
    ]
    styles.append({"player": "people, as the paper quotes them"} | dict.fromkeys(FIGURES, "-") | PEOPLE)
    told = longer_rows({pair: found[pair] for pair in longer}, players, head_to_head)
    title = f"Coinche, {FLAGS.scoring}: {deals:,} deals a match, each played twice"
    tables.show(title, cross)
    if told:
        tables.show("Longer matches", told)
        write_csv(directory.path / "longer.csv", told)
    tables.show("How they bid, over all their matches", styles)
    write_csv(directory.path / "results.csv", standings.csv_rows())
    write_csv(directory.path / "style.csv", styles)
    plot = directory.save_figure(standings.figure(title), "cross_table")
    directory.write_report(
        f"# {title}\n\nPoints per deal of the row's player over the column's, with 95% intervals over deals; ratings "
        "are points by least squares. Costs are CPU milliseconds (process time) of a call and of a card, where there "
        "is a choice, and of all that a team decides in a game: against strong, in longer matches of both players.\n\n"
        f"{tables.markdown(cross)}\n"
        + (f"## Longer matches\n\n{tables.markdown(told)}\n" if told else "")
        + f"## How they bid\n\n{tables.markdown(styles)}\n![cross table and ratings]({plot.name})\n\n"
        "`match ... v ....npz` holds what the first player was ahead of the second in every deal.\n"
    )
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
