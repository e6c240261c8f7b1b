"""OpenSpiel's own learning agents on our games: `python -m experiments.rl_agents --agent=dqn --game=python_cego`.

Trains the DQN or NFSP agent of OpenSpiel's torch package in seat 0 against uniformly random players, through
`rl_environment` and the game's observation tensor, and measures it against random players before and after. Training
is as slow as OpenSpiel's environment; measuring runs on the compiled rules, thousands of games at once.

Writes metrics.csv, learning.png and report.md into the run directory. Meant as an example to start from: a few
thousand steps show that the agents learn, not how far they get.
"""

from __future__ import annotations

import importlib.util

from absl import flags

from cardtable.parameters import UserError
from cardtable.spiel import load_card_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import file_name
from experiments.running.flags import define_count, define_out, define_seed, open_directory

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_cego", "any card game of the project")
flags.DEFINE_enum("agent", "dqn", ["dqn", "nfsp"], "which of OpenSpiel's agents")
define_count("episodes", 2000, "games to train on", seconds_each=1e-3)
define_count("measurements", 4, "how often to measure while training", bytes_each=1000)
define_count("evaluation_games", 10_000, "games per measurement", 100, bytes_each=1000, seconds_each=1e-5)
define_seed("of agent, opponents and games")
define_out(None, "runs/rl_agents_<agent>_<game>")
flags.DEFINE_bool("quick", False, "only 40 games of training and 500 of evaluation")


@command
def main() -> None:
    if importlib.util.find_spec("tree") is None:
        raise UserError("OpenSpiel's torch agents need dm-tree, which it does not install: pip install dm-tree")
    import torch

    from experiments.cego.rl_training import LEARNER, learning_figure, train

    torch.set_num_threads(1)  # with networks this small more threads only wait for each other
    game = load_card_game(FLAGS.game)
    episodes = 40 if FLAGS.quick else FLAGS.episodes
    evaluation_games = 500 if FLAGS.quick else FLAGS.evaluation_games
    config = {"game": FLAGS.game, "agent": FLAGS.agent, "episodes": episodes, "seed": FLAGS.seed}
    config |= {"evaluation_games": evaluation_games}
    directory = open_directory(config, f"runs/{file_name(f'rl_agents_{FLAGS.agent}_{FLAGS.game}')}")

    rows = train(game, FLAGS.agent, episodes, FLAGS.measurements, evaluation_games, FLAGS.seed, directory)
    title = f"{FLAGS.agent} in seat {LEARNER} of {FLAGS.game} against random players"
    tables.show(title, rows)
    directory.save_figure(learning_figure(rows, title), "learning")
    directory.write_report(
        f"# {title}\n\n{tables.markdown(rows)}\nReturns are means with standard errors.\n\n![](learning.png)\n"
    )
    print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
