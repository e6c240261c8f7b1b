"""Cego's agents beside the published ones: `python -m experiments.cego_agents --agents=expert,random`.

Oeschger, "Applying Deep Reinforcement Learning to the Card Game Cego", Tables V to VII:

* Tables V and VII: every agent in the paper's set-ups against random players, in all six sub-games; `won %` of S1 in
  Standard-Cego is Table V's.
* Table VI: in Standard-Cego, every agent in seat 0 with every other in seat 1.
* A yardstick that ranks, for random players do not: a round robin of all agents on duplicate deals.
* --exploit_seconds: learners trained against each agent, which stays as it is, first in seat 0, then in the three
  others: lower bounds on how far it can be exploited.

Agents are any players: `expert`, `expert(worlds=20)`, run directories of `experiments.train`. The tables say whom each
has learnt from. An agent is measured in the sub-games it can play. Writes tables as csv and report.md; rows are kept as
they are found, and --resume goes on with the next one.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from pathlib import Path
from typing import Any

import pyspiel
from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.match import Estimate, play_games
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.progress import LateProgress
from cardtable.spiel import CardGame
from experiments.cego.agents import RANDOM_MEANS, Tables, table_5, unit
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
from experiments.running.kept_rows import KeptRows
from experiments.running.round_robin import Standings, load_pair, names_in, play_pair, save_pair

EXPLOIT_DEALS = 4000
ALL_ITERATIONS = 10**9
# With networks everywhere a playout leaves nothing to chance but the hidden cards: one for each card, many positions,
# and large minibatches, as what can be gained is small beside the noise.
TRYING = {
    "distil_iterations": 0,
    "improve_iterations": ALL_ITERATIONS,
    "improved_share": 1.0,
    "improved_passes": 1,
    "batch_size": 4096,
    "later_learning_rate": 1e-4,
}

FLAGS = flags.FLAGS
flags.DEFINE_list("subgames", list(RANDOM_MEANS), "which sub-games")
flags.DEFINE_string("agents", "expert,random", "players with commas between them")
define_count("games", 250_000, "games of each set-up", 10, bytes_each=1000, seconds_each=1e-5)
define_count("deals", 1000, "duplicate deals of each match of the round robin", 2, bytes_each=1000, seconds_each=1e-5)
define_number("exploit_seconds", 0.0, "CPU seconds of training against each agent; 0: none", 0.0)
define_seed("of all games")
define_executor()
define_out("runs/cego_agents", resume="the tables")
define_number("checkpoint_seconds", 30.0, "seconds after which games of the round robin are filed", 0.0)
flags.DEFINE_bool("quick", False, "only 100 games and 4 deals")


@command
def main() -> None:
    texts = names_in(FLAGS.agents, least=1)
    if not FLAGS.subgames or not set(FLAGS.subgames) <= RANDOM_MEANS.keys():
        raise UserError(f"--subgames={','.join(FLAGS.subgames)}: allowed are {', '.join(RANDOM_MEANS)}")
    games, deals = (100, 4) if FLAGS.quick else (FLAGS.games, FLAGS.deals)
    config = {"subgames": FLAGS.subgames, "agents": texts, "games": games, "deals": deals, "seed": FLAGS.seed}
    config["exploit_seconds"] = FLAGS.exploit_seconds
    players = {name: _players(name, texts) for name in FLAGS.subgames}
    directory = open_directory(config)
    kept = KeptRows(directory.path)
    found: dict[str, list[dict[str, Any]]] = {}

    def add(title: str, file: str, rows: list[dict[str, Any]]) -> None:
        found.setdefault(file, []).extend(rows)
        tables.show(title, rows)
        write_csv(directory.path / f"{file}.csv", found[file])

    with chosen_executor(directory.path) as executor:
        for subgame in FLAGS.subgames:
            game, agents = _game(subgame), players[subgame]
            learnt = [name for name in agents if name != "random"]
            measured = Tables(game, subgame, games, FLAGS.seed, kept, executor)
            if learnt:
                rows = measured.table_7(learnt)
                add(f"{subgame}: Table VII", "table_7", rows)
            if subgame == "standard" and learnt:
                add("Table V", "table_5", table_5(rows))
            if subgame == "standard" and len(learnt) > 1:
                add("Table VI", "table_6", measured.table_6(learnt))
            if len(agents) > 1:
                robin = _round_robin(game, subgame, agents, deals, directory.path, executor)
                add(f"{subgame}: round robin", "round_robin", robin)
            if FLAGS.exploit_seconds > 0.0 and learnt:
                rows = [row for name in learnt for row in _exploited(game, subgame, name, kept)]
                add(f"{subgame}: exploited", "exploited", rows)
    parts = [f"## {file}\n\n{tables.markdown(rows)}" for file, rows in found.items() if rows]
    head = f"# Cego: agents\n\n{games:,} games of each set-up, seed {FLAGS.seed}.\n\n"
    directory.write_report(head + "\n".join(parts))
    tables.console.print(f"written to {directory.path}")


def _game(subgame: str) -> CardGame:
    return pyspiel.load_game("python_cego", {"subgame": subgame})


def _players(subgame: str, texts: list[str]) -> list[str]:
    """The agents that can play a sub-game; UserError for a name that no sub-game knows."""
    found, complaint = [], ""
    for text in texts:
        try:
            find_player(text, _game(subgame))
            found.append(text)
        except UserError as error:
            complaint = str(error)
            if not any(_can_play(other, text) for other in RANDOM_MEANS):
                raise UserError(complaint) from None
    return found


def _can_play(subgame: str, text: str) -> bool:
    try:
        return find_player(text, _game(subgame)) is not None
    except UserError:
        return False


def _round_robin(
    game: CardGame, subgame: str, texts: list[str], deals: int, folder: Path, executor: Any
) -> list[dict[str, Any]]:
    players = [find_player(text, game) for text in texts]
    results = {}
    pairs = list(itertools.combinations(range(len(players)), 2))
    with LateProgress(f"{subgame}: round robin", 2 * deals * len(pairs)) as progress:
        for i, j in pairs:
            two, seed = (players[i], players[j]), FLAGS.seed + 1
            play = functools.partial(play_pair, game, two, deals, seed, on_progress=progress.advance)
            load = functools.partial(load_pair, deals=deals)
            file = folder / f"match_{subgame}_{i}_{j}.npz"
            progress.advance(2 * deals * file.exists())
            results[i, j] = played_once(file, executor, FLAGS.checkpoint_seconds, play, save_pair, load)
    rows = Standings([player.label for player in players], results).cross_table()
    return [{"sub-game": subgame, **row} for row in rows]


EXPLOITED: dict[str, type] = {
    **dict.fromkeys(("sub-game", "agent", "learner in", "began as", "seat 0, agent everywhere"), str),
    **dict.fromkeys(("seat 0, learner there", "change"), str),
    "games learnt from": int,
    "CPU seconds": str,
}


def _exploited(game: CardGame, subgame: str, text: str, kept: KeptRows) -> list[dict[str, Any]]:
    """What learners reach against an agent that stays as it is."""
    return [
        kept.once(
            f"exploited, {subgame}, {text}, {seats}",
            EXPLOITED,
            functools.partial(_exploit, game, subgame, text, seats),
        )
        for seats in ((0,), (1, 2, 3))
    ]


def _exploit(game: CardGame, subgame: str, text: str, seats: tuple[int, ...]) -> dict[str, Any]:
    """Starts from the agent where it is a network of the usual shape, with the agent in playouts; or from nothing."""
    from experiments.running.learner_training import Options, make_learner, train_for  # needs torch

    agent = find_player(text, game)
    options = Options(str(game), seed=FLAGS.seed, opponents=(text,), seats=(seats,))
    try:
        learner = make_learner(dataclasses.replace(options, start=text, settings=TRYING))
        start = "the agent"
    except UserError:
        learner, start = make_learner(options), "nothing"
    learner.run(0)
    train_for(learner, FLAGS.exploit_seconds, f"{subgame}: seats {seats} against {agent.label}")
    mine = learner.player()
    table = [mine if seat in seats else agent for seat in range(4)]
    against, itself = (
        play_games(game, who, EXPLOIT_DEALS, FLAGS.seed + 2).returns[:, 0] * unit(subgame)
        for who in (table, [agent] * 4)
    )
    return {
        "sub-game": subgame,
        "agent": agent.label,
        "learner in": ",".join(map(str, seats)),
        "began as": start,
        "seat 0, agent everywhere": f"{itself.mean():.3f}",
        "seat 0, learner there": f"{against.mean():.3f}",
        "change": str(Estimate.of(against - itself)),
        "games learnt from": learner.games,
        "CPU seconds": f"{sum(learner.seconds.values()):.0f}",
    }


if __name__ == "__main__":
    start(main)
