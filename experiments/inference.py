"""What models know about hidden cards: `python -m experiments.inference --game=python_gongzhu --players=network,greed`.

The first of the players looks at positions of games against the second (or against itself if there is only one), from
the third trick on, and weighs the true deal and 150 uniform ones by how likely each model finds what the others have
played. *Log score*: the mean log of the true deal's weight over the mean weight of the uniform ones, in nats. 0 is what
knowing nothing has, and what is below it is worse than knowing nothing.

Models are compiled players (`greed`), saved clones (a run directory of `experiments.clone`), or `module:function`,
which makes one. Without --models, clones of the players are made first. Each model is scored alone, and all of them
as a mixture. Writes scores.csv, by_trick.csv and a picture by trick.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags
from matplotlib.figure import Figure

import cardspiel  # noqa: F401 registers our games
from cardtable.match import CONFIDENCE, Estimate, play_games, seated
from cardtable.parameters import UserError
from cardtable.player import Player, compiled_players, find_player
from cardtable.progress import LateProgress
from cardtable.randomness import generator
from cardtable.replay import past
from cardtable.search.clones import load_model
from cardtable.search.models import BehaviourModel, Model
from cardtable.search.worlds import Worlds
from cardtable.spiel import CardGame, load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import file_name, write_csv
from experiments.running.flags import define_count, define_number, define_out, define_seed, open_directory
from experiments.running.match_figures import ratio
from experiments.running.plots import plt

FLAGS = flags.FLAGS
flags.DEFINE_string("game", "python_gongzhu", "a trick-taking game of this project")
flags.DEFINE_list("players", ["network", "greed"], "who plays: one name, or two with a comma between them")
flags.DEFINE_list("models", [], "of the others; without any, clones of the players are made")
define_count("positions", 1000, "at which beliefs are judged", 10, seconds_each=1e-3)
define_count("deals", 150, "uniform deals of each position", 2, seconds_each=1e-6)
define_count("from_trick", 3, "the first trick that counts", 1)
define_number("power", 1.0, "to which weights are raised", 0.0, 1.0)
define_count("clone_games", 1000, "to make a clone from", 8, seconds_each=1e-4)
define_seed()
define_out(None, "runs/inference_<game>_<players>")
flags.DEFINE_bool("quick", False, "20 positions, 20 deals")

EACH_GAME = 8  # positions of a game


@command
def main() -> None:
    game = load_game(FLAGS.game)
    if not isinstance(game, CardGame) or game.rules.moves is None:
        raise UserError(f"--game={FLAGS.game}: allowed are games of this project that list their moves")
    if not 1 <= len(FLAGS.players) <= 2:
        raise UserError(f"--players={','.join(FLAGS.players)}: allowed are one or two")
    players = [find_player(name, game) for name in FLAGS.players]
    bots = [name for name, player in zip(FLAGS.players, players, strict=True) if player.choose_rows is None]
    if bots:
        raise UserError(f"--players={bots[0]}: a bot's positions cannot be told again; allowed: players of the game")
    count, deals = (20, 20) if FLAGS.quick else (FLAGS.positions, FLAGS.deals)
    config = {"game": FLAGS.game, "players": FLAGS.players, "models": FLAGS.models, "positions": count}
    config |= {"deals": deals, "seed": FLAGS.seed, "power": FLAGS.power, "from_trick": FLAGS.from_trick}
    where = file_name(f"inference_{FLAGS.game}_{'_'.join(FLAGS.players)}")
    directory = open_directory(config, f"runs/{where}")
    models = _models(game, players)
    positions, tricks, games = _positions(game, players, count)
    sets = {name: [model] for name, model in models.items()}
    if len(models) > 1:
        sets["mixture"] = list(models.values())
    scores = {name: np.empty(len(positions)) for name in sets}
    with LateProgress("weighing", len(positions) * len(sets)) as progress:
        for name, some in sets.items():
            worlds = Worlds(game, some, power=FLAGS.power)
            for number, state in enumerate(positions):
                seat = int(game.rules.kernel.current_player(state))
                scores[name][number] = worlds.log_score(state, seat, generator(FLAGS.seed + number), deals)
                progress.advance(1)
    rows = [_row(name, found, games) for name, found in scores.items()]
    by_trick = [
        {"model": name, "trick": int(trick), **_by_trick(found[tricks == trick], games[tricks == trick])}
        for name, found in scores.items()
        for trick in np.unique(tricks)
    ]
    title = f"{FLAGS.game}: what {FLAGS.players[0]} could know against {FLAGS.players[-1]}"
    tables.show(title, rows)
    write_csv(directory.path / "scores.csv", rows)
    write_csv(directory.path / "by_trick.csv", by_trick)
    directory.save_figure(_figure(title, by_trick), "by_trick")
    directory.write_report(
        f"# {title}\n\nLog score in nats at {len(positions):,} positions from trick {FLAGS.from_trick} on, against "
        f"{deals} uniform deals each; 95% intervals.\n\n{tables.markdown(rows)}\n![](by_trick.png)\n"
    )
    tables.console.print(f"written to {directory.path}")


def _models(game: CardGame, players: Sequence[Player]) -> dict[str, BehaviourModel]:
    known = compiled_players(game)
    found: dict[str, BehaviourModel] = {}
    for text in FLAGS.models:
        if text in known:
            found[text] = Model(known[text].compiled)  # type: ignore[arg-type]
        elif ":" in text:
            module, _, function = text.partition(":")
            try:
                found[function] = getattr(importlib.import_module(module), function)()
            except (ImportError, AttributeError, TypeError) as error:
                raise UserError(f"--models={text}: no model can be made: {error}") from None
        else:
            found[Path(text).name] = load_model(Path(text), game)
    if not FLAGS.models:
        for player in dict.fromkeys(players):
            found[f"clone of {player.label}"] = _new_clone(game, player)
    return found


def _new_clone(game: CardGame, player: Player) -> BehaviourModel:
    from cardtable.search.clones import NOISE
    from cardtable.search.models import NetworkModel
    from solvers.imitation.examples import Teacher, taught
    from solvers.imitation.fitting import FitSettings, fit

    games = 64 if FLAGS.quick else FLAGS.clone_games
    teacher = Teacher(game, player, exploration=0.08, seed=FLAGS.seed + 1)
    examples = taught(teacher, range(games), title=f"games of {player.label}")
    tensors, _ = fit(game, examples, "choices", FitSettings(), FLAGS.seed)
    return NetworkModel(tensors, noise=NOISE)


def _positions(game: CardGame, players: Sequence[Player], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decisions of the first player, a few of every game, with the trick each is in, and the number of its game."""
    slots = importlib.import_module(f"{type(game).__module__.split('.')[0]}.state")
    if not hasattr(slots, "CARDS_PLAYED"):
        raise UserError(f"--game={FLAGS.game}: no tricks are played in it")
    seats = seated(game, players[0], players[-1])
    rng = np.random.default_rng(FLAGS.seed)
    found: list[np.ndarray] = []
    tricks: list[int] = []
    games: list[int] = []
    batch = 0
    while len(found) < count:
        if batch > 100:
            raise UserError(
                f"no {count:,} positions from trick {FLAGS.from_trick} on were found in {64 * batch:,} games"
            )
        states = play_games(game, seats, 64, FLAGS.seed + 10_000 + batch).states
        assert states is not None, "our games are played on rows"
        batch += 1
        for number, state in enumerate(states):
            positions, _ = past(game.rules, state)
            numbers = positions[:-1, slots.CARDS_PLAYED] // game.num_players() + 1
            movers = np.array([game.rules.kernel.current_player(position) for position in positions[:-1]])
            own = [seats[mover] is players[0] if mover >= 0 else False for mover in movers]
            usable = np.flatnonzero((numbers >= FLAGS.from_trick) & np.array(own, bool))
            for place in sorted(rng.permutation(usable)[:EACH_GAME]):
                found.append(positions[place].copy())
                tricks.append(int(numbers[place]))
                games.append(64 * batch + number)
    return np.stack(found[:count]), np.array(tricks[:count]), np.array(games[:count])


def _estimate(values: np.ndarray, games: np.ndarray) -> Estimate:
    """The mean over positions; those of one game hang together, so games are what it is sure by."""
    _, places = np.unique(games, return_inverse=True)
    totals, counts = np.bincount(places, values), np.bincount(places)
    return ratio(totals[:, None], counts[:, None])


def _by_trick(values: np.ndarray, games: np.ndarray) -> dict[str, float]:
    estimate = _estimate(values, games)
    return {"log score": estimate.mean, "standard error": estimate.standard_error, "positions": len(values)}


def _row(name: str, values: np.ndarray, games: np.ndarray) -> dict[str, Any]:
    worse = float((values < 0).mean())
    return {
        "model": name,
        "log score, nats": str(_estimate(values, games)),
        "positions where it misleads": f"{worse:.0%}",
    }


def _figure(title: str, rows: list[dict[str, Any]]) -> Figure:
    figure, axis = plt.subplots(figsize=(8, 4.5))
    for name in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == name]
        axis.errorbar(
            [row["trick"] for row in own],
            [row["log score"] for row in own],
            yerr=[CONFIDENCE * row["standard error"] for row in own],
            marker="o",
            capsize=3,
            label=name,
        )
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(xlabel="trick", ylabel="log score, nats", title=title)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    start(main)
