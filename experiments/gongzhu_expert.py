"""Makes the networks that Gongzhu's expert plays with: `python -m experiments.gongzhu_expert`.

Distils the values that flat Monte Carlo finds for all legal cards into a network of 24,000 parameters, improves it by
iterations with its own rollouts, and clones Mr. Greed as a model of others. Eight to ten CPU minutes; --resume goes on
where a run was interrupted. The run directory holds the networks (safetensors), what every stage cost and how good the
bare network is at that stage: points over Mr. Greed on duplicate deals, without any search. --ship puts the networks
into the package, from where the player `expert` takes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from absl import flags

import gongzhu_spiel  # registers the game
from cardtable.executors import Threads
from cardtable.files import read_json, write_atomically, write_tensors
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.spiel import load_game
from experiments.gongzhu.expert import ExpertSettings, Workshop
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import (
    define_count,
    define_out,
    define_seed,
    define_settings,
    given_settings,
    open_directory,
)
from experiments.running.kept_rows import require_rows
from gongzhu_spiel.expert import WEIGHTS_FOLDER, network_player
from gongzhu_spiel.network import load_network

FLAGS = flags.FLAGS
define_settings(ExpertSettings)
define_seed()
define_count("threads", 2, "that play games", 1, 64)
define_count("deals", 1024, "duplicate deals against Mr. Greed after every stage", 2, bytes_each=1000)
define_out("runs/gongzhu_expert", resume="the run")
flags.DEFINE_bool("ship", False, "put the networks into the package")
flags.DEFINE_bool("quick", False, "a few games that only show that it works")

QUICK = {"games": 64, "iteration_games": 64, "iterations": 1, "clone_games": 64, "worlds": 2, "epochs": 1}
STAGES = "results.json"
MATCH = ("points over Mr. Greed", "s.e.")
COLUMNS: dict[str, type] = {
    "stage": str,
    "decisions": int,
    **dict.fromkeys(("play_seconds", "fit_seconds", "loss", "held_out_loss", "held_out_accuracy"), float),
}
DEALS_SEED = 90_000  # of the matches after a stage: none of those that are reported elsewhere


@command
def main() -> None:
    torch.set_num_threads(1)
    settings = ExpertSettings(**(QUICK if FLAGS.quick else {}) | given_settings(ExpertSettings))
    deals = 16 if FLAGS.quick else FLAGS.deals
    config = {"settings": vars(settings), "seed": FLAGS.seed, "deals": deals}
    directory = open_directory(config)
    game = load_game("python_gongzhu")
    file = directory.path / STAGES
    stages: list[dict[str, Any]] = read_json(file, "the stages of a run") if file.exists() else []
    if not isinstance(stages, list) or not all(isinstance(row, dict) for row in stages):
        raise UserError(f"{file} is damaged: it does not say which stages are done; --overwrite starts anew")
    for row in stages:  # the clone has met nobody
        require_rows([row], COLUMNS | dict.fromkeys(MATCH, str if row.get(MATCH[0]) == "" else float), file)
    told = {row["stage"] for row in stages}

    def tell(name: str, known: dict[str, Any]) -> None:
        row: dict[str, Any] = {"stage": name, **known, **dict.fromkeys(MATCH, "")}
        path = directory.path / f"{name}.safetensors"
        if path.exists():
            bare = network_player(game, load_network(path))
            score = play_match(game, bare, find_player("greed", game), deals, DEALS_SEED).score
            row |= dict(zip(MATCH, (round(score.mean, 1), round(score.standard_error, 1)), strict=True))
        place = next((i for i, former in enumerate(stages) if former["stage"] == name), len(stages))
        stages[place : place + 1] = [row]  # a stage whose network was lost is made and told again
        write_atomically(file, lambda temporary: temporary.write_text(json.dumps(stages, indent=2)))
        tables.show(name, [row])

    with Threads(FLAGS.threads) as executor:
        networks = Workshop(game, directory.path, settings, FLAGS.seed, executor).make(tell, told)
    for name, tensors in networks.items():
        write_tensors(directory.path / name, tensors)
        if FLAGS.ship:
            write_tensors(Path(gongzhu_spiel.__file__).parent / WEIGHTS_FOLDER / name, tensors)
    write_csv(directory.path / "stages.csv", stages)
    directory.write_report(
        "# The networks of Gongzhu's expert\n\nPoints over Mr. Greed are those of the bare network, without search, on "
        f"{deals:,} duplicate deals.\n\n{tables.markdown(stages)}"
    )
    tables.console.print(f"written to {directory.path}")


if __name__ == "__main__":
    start(main)
