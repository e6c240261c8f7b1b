"""What each part of the learner is worth at Cego: `python -m experiments.cego_ablation --subgame=solo --seconds=60`.

Deep Monte Carlo in self-play is trained for the same CPU seconds with its usual settings and with one thing changed at
a time, for several seeds; each is then measured against random players (S1, S2) and, which ranks them, on duplicate
deals against a reference. Rows are kept as they are found, and --resume goes on with the next one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import flags

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player
from cardtable.spiel import CardGame, load_game
from experiments.cego.agents import COLUMNS_OF_ABLATION, RANDOM_MEANS, SETUPS, measure
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import define_count, define_number, define_out, open_directory, whole_numbers
from experiments.running.kept_rows import KeptRows
from experiments.running.learner_training import Options, make_learner, train_for
from solvers.learning.game_learner import GameLearner

SETTINGS: dict[str, dict[str, Any]] = {
    "returns after distilling": {},
    "distilling alone": {"distil": 1.0},
    "improved after distilling": {"improve": True},
    "improved and learnt once": {"improve": True, "improved_passes": 1},
    "returns from the start": {"distil": 0.0},
    "returns without baseline": {"baseline_playouts": 0},
    "no running average": {"averaging": 0.0},
    "eight playouts an action": {"playouts": 8},
    "one playout an action": {"playouts": 1},
    "a wider network": {"context_sizes": (512,), "head_sizes": (128, 64)},
    "a network for each seat": {"networks": "seat"},
    "no head for actions": {"network": "plain"},
    "the published observation": {"tells": "observation"},
}

FLAGS = flags.FLAGS
flags.DEFINE_enum("subgame", "standard", list(RANDOM_MEANS), "which sub-game")
flags.DEFINE_list("only", list(SETTINGS), "which settings")
flags.DEFINE_list("seeds", ["1", "2"], "seeds of training")
flags.DEFINE_string("reference", "monte_carlo(worlds=20)", "whom all of them meet on duplicate deals")
define_number("seconds", 60.0, "CPU seconds of each training", 0.0)
define_count("games", 20_000, "games of each set-up", 10, bytes_each=1000, seconds_each=1e-5)
define_count("deals", 500, "duplicate deals against the reference", 2, bytes_each=1000, seconds_each=1e-5)
define_out("runs/cego_ablation", resume="the trainings")
flags.DEFINE_bool("quick", False, "one iteration of a few games each, looked at in 100 games and 4 deals")

QUICK = {"games": 4, "chunk_games": 4, "batch_size": 16}


@command
def main() -> None:
    seeds = whole_numbers("--seeds", FLAGS.seeds, 0)
    unknown = [name for name in FLAGS.only or [""] if name not in SETTINGS]
    if unknown:
        raise UserError(f"--only names {unknown[0]!r}; allowed: {', '.join(SETTINGS)}")
    game = load_game(f"python_cego(subgame={FLAGS.subgame})")
    find_player(FLAGS.reference, game)
    seconds, games, deals = (0.0, 100, 4) if FLAGS.quick else (FLAGS.seconds, FLAGS.games, FLAGS.deals)
    asked = {"subgame": FLAGS.subgame, "only": FLAGS.only, "seeds": list(seeds), "seconds": seconds}
    directory = open_directory({**asked, "reference": FLAGS.reference, "games": games, "deals": deals})
    kept = KeptRows(directory.path)
    rows = []
    for name in FLAGS.only:
        for seed in seeds:
            make = functools.partial(_row, game, name, seed, seconds, games, deals)
            rows.append(kept.once(f"{name}, seed {seed}", COLUMNS_OF_ABLATION, make))
        tables.show(name, rows[-len(seeds) :])
    write_csv(directory.path / "ablation.csv", rows)
    means = [_mean_of([row for row in rows if row["settings"] == name]) for name in FLAGS.only]
    tables.show("means over seeds", means)
    head = f"# What each part is worth: {FLAGS.subgame}, {seconds:g} CPU seconds, seeds {', '.join(FLAGS.seeds)}\n\n"
    directory.write_report(f"{head}{tables.markdown(means)}\n## Seed by seed\n\n{tables.markdown(rows)}")
    tables.console.print(f"written to {directory.path}")


def _row(game: CardGame, name: str, seed: int, seconds: float, games: int, deals: int) -> dict[str, Any]:
    """Trains, measures; a phase changes when its share of the seconds is over."""
    own = dict(SETTINGS[name])
    share, improve = float(own.pop("distil", 0.5)), bool(own.pop("improve", False))
    most = 10**9
    if FLAGS.quick:
        own |= QUICK

    def at(phase: dict[str, int]) -> GameLearner:
        return make_learner(Options(str(game), seed=seed, settings={**own, **phase}))

    first, later = {"distil_iterations": most}, {"distil_iterations": 0, "improve_iterations": most if improve else 0}
    learner = at(first if share > 0.0 else later)
    learner.run(0)
    spent = train_for(learner, share * seconds, f"{name}, seed {seed}")
    if 0.0 < share < 1.0:
        onward = at(later)
        onward.run(0)
        onward.set_state(learner.get_state())
        learner = onward
    train_for(learner, seconds - spent, f"{name}, seed {seed}, later")
    if FLAGS.quick:
        learner.run(1)
    player, random = learner.player(), find_player("random", game)
    row: dict[str, Any] = {"settings": name, "seed": seed, "games learnt from": learner.games}
    for setup in ("S1", "S2"):
        held = SETUPS[FLAGS.subgame][setup]
        seats = [player if seat in held else random for seat in range(4)]
        row[setup] = measure(game, FLAGS.subgame, seats, games, 991).mean.mean
    score = play_match(game, player, find_player(FLAGS.reference, game), deals, 991).score
    return {**row, "v reference": score.mean, "s.e.": score.standard_error}


def _mean_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds; the standard error is that of the deals, which all seeds share, and not that of training."""
    names = ("games learnt from", "S1", "S2", "v reference", "s.e.")
    scores = [row["v reference"] for row in rows]
    found = {name: float(np.mean([row[name] for row in rows])) for name in names}
    return {"settings": rows[0]["settings"], **found, "least": min(scores), "most": max(scores)}


if __name__ == "__main__":
    start(main)
