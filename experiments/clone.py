"""Clones a player from its own play: `python -m experiments.clone --game=python_coinche --player=strong`.

Plays games of the player against itself, a share of the moves being anything legal so that the clone also knows
positions the player would have avoided, and fits a small network to what it does. The run directory is a saved player:
`experiments.arena` and the others take it as one, and `experiments.inference` as a model of behaviour. The report says
how often the clone's first choice is the player's, on games it did not learn from.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.executors import Threads
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.search.clones import save_clone
from cardtable.spiel import load_card_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import file_name
from experiments.running.flags import (
    define_count,
    define_number,
    define_out,
    define_seed,
    define_settings,
    given_settings,
    open_directory,
)
from solvers.imitation.examples import Teacher, taught
from solvers.imitation.fitting import FitSettings, fit, require_room_to_fit

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_gongzhu", "a game of this project")
flags.DEFINE_string("player", "greed", "who is cloned")
define_count("games", 4000, "that are played", 8, seconds_each=1e-4)
define_number("exploration", 0.08, "share of moves that are anything legal", 0.0, 1.0)
define_count("threads", 2, "that play games", 1, 64)
define_seed()
define_settings(FitSettings)
define_out(None, "runs/clone_<game>_<player>")
flags.DEFINE_bool("quick", False, "64 games")


@command
def main() -> None:
    torch.set_num_threads(1)
    game = load_card_game(FLAGS.game)
    player = find_player(FLAGS.player, game)
    if player.choose_rows is None:
        raise UserError(f"--player={FLAGS.player}: a bot cannot be cloned; allowed: players of the game")
    games = 64 if FLAGS.quick else FLAGS.games
    settings = FitSettings(**given_settings(FitSettings))
    require_room_to_fit(game, settings)
    config = {"game": FLAGS.game, "player": FLAGS.player, "games": games, "exploration": FLAGS.exploration}
    config |= {"seed": FLAGS.seed, **vars(settings)}
    directory = open_directory(config, f"runs/{file_name(f'clone_{FLAGS.game}_{FLAGS.player}')}")
    begin = time.process_time()
    teacher = Teacher(game, player, exploration=FLAGS.exploration, seed=FLAGS.seed)
    with Threads(FLAGS.threads) as executor:
        examples = taught(teacher, range(games), executor, f"games of {FLAGS.player}")
    played = time.process_time()
    tensors, known = fit(game, examples, "choices", settings, FLAGS.seed)
    save_clone(directory.path, game, tensors, config)
    row: dict[str, Any] = {"decisions": len(examples.states), "CPU seconds of play": played - begin}
    row |= {"CPU seconds of fitting": time.process_time() - played, **known}
    title = f"A clone of {FLAGS.player} at {FLAGS.game}"
    tables.show(title, [row])
    directory.write_report(f"# {title}\n\n{tables.markdown([row])}")
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
