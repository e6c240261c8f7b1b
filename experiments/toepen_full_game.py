"""The full game of Toepen (4 suits, 8 ranks, 4 cards), learned by external sampling under different abstractions.

python -m experiments.toepen_full_game

The game is out of reach of exact solvers. Profiles are trained with equal processor time, play each other, and are
bounded from below by a local best response. What the best of them does before the first card is told hand by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspiel
from absl import flags

import cardspiel  # noqa: F401
from cardtable.executors import Executor
from cardtable.match import Estimate, play_match
from cardtable.parameters import UserError
from cardtable.player import Player
from cardtable.spiel import CardGame
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import write_csv
from experiments.running.flags import (
    chosen_executor,
    define_count,
    define_executor,
    define_number,
    define_out,
    define_seed,
    open_directory,
)
from experiments.toepen import openings
from experiments.toepen.profiles import ABSTRACTIONS, GIGABYTE, MOST_GIGABYTES, abstracted, require_here, train
from experiments.toepen.training import toepen
from solvers.arrays.memory import readable_bytes
from solvers.bounds import local_best_response
from solvers.mccfr import ExternalSamplingSolver
from solvers.sampling.hash_table import InformationTable
from solvers.sampling.players import average_player
from transforms.lifting import lifted_player
from transforms.wrapping import original_game

FLAGS = flags.FLAGS

SIZE = (4, 8, 4)
QUICK_SIZE = (2, 3, 2)
UNIFORM = "uniform"
CONFIDENCE = 1.96


def profile_player(name: str, game: CardGame, table: InformationTable) -> Player:
    """What was learned in an abstraction, as a player of the original game."""
    return lifted_player(average_player(name, game, table), game, original_game(game))


def train_all(base: str, minutes: float, memory: int) -> tuple[dict[str, Player], list[dict[str, Any]]]:
    profiles, rows = {}, []
    for name in FLAGS.profiles:
        game = abstracted(base, *ABSTRACTIONS[name])
        solver = ExternalSamplingSolver(game, seed=FLAGS.seed, max_memory_bytes=memory // len(FLAGS.profiles))
        trained = train(solver, 60 * minutes, name)
        profiles[name] = profile_player(name, game, solver.table)
        rows.append(
            {
                "profile": name,
                "iterations": trained.iterations,
                "information_sets": solver.num_information_sets,
                "memory": readable_bytes(solver.memory_bytes),
                "cpu_seconds": trained.seconds,
                "ended_by": trained.ended_by,
            }
        )
    game = abstracted(base, "orbit", "exact", "exact")
    nothing = InformationTable(game.rules.key_words, game.num_distinct_actions())
    profiles[UNIFORM] = profile_player(UNIFORM, game, nothing)
    return profiles, rows


def tournament(
    base: str, profiles: dict[str, Player], games: int, executor: Executor
) -> dict[tuple[str, str], Estimate]:
    from rich.progress import track

    names = list(profiles)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    scores = {}
    for one, other in track(pairs, description="matches"):
        match = play_match(pyspiel.load_game(base), profiles[one], profiles[other], games // 2, FLAGS.seed, executor)
        score = match.score
        scores[one, other], scores[other, one] = score, score._replace(mean=-score.mean)
    return scores


def readable_score(score: Estimate) -> str:
    return f"{score.mean:+.3f} ± {CONFIDENCE * score.standard_error:.3f}"


def best_of(profiles: dict[str, Player], scores: dict[tuple[str, str], Estimate]) -> str:
    """The profile that does best in its worst match."""
    return max(profiles, key=lambda name: min(scores[name, other].mean for other in profiles if other != name))


def bounds(base: str, profiles: dict[str, Player], deals: int, worlds: int) -> list[dict[str, Any]]:
    """Local best responses to all profiles: lower bounds of NashConv."""
    game = pyspiel.load_game(base)
    rows = []
    for name, profile in profiles.items():
        bound = local_best_response(game, profile.policy(game), deals=deals, worlds=worlds, seed=FLAGS.seed)
        low, high = bound.confidence_interval
        rows.append({"profile": name, "lower_bound": bound.value, "from": low, "to": high, "deals": deals})
    return rows


@command
def main() -> None:
    unknown = [name for name in FLAGS.profiles if name not in ABSTRACTIONS]
    if unknown or not FLAGS.profiles:
        raise UserError(f"--profiles has {', '.join(unknown) or 'nothing'}; allowed: {', '.join(ABSTRACTIONS)}")
    quick = FLAGS.quick
    size = QUICK_SIZE if quick else SIZE
    minutes, games = (0.02, 2_000) if quick else (FLAGS.minutes, FLAGS.games)
    deals, worlds = (20, 5) if quick else (FLAGS.deals, FLAGS.worlds)
    base = toepen(*size, True, True)
    settings = {
        "size": size,
        "profiles": FLAGS.profiles,
        "minutes": minutes,
        "games": games,
        "deals": deals,
        "worlds": worlds,
        "seed": FLAGS.seed,
    }
    executor = chosen_executor(Path(FLAGS.out))
    require_here(executor)
    run = open_directory(settings)
    profiles, training = train_all(base, minutes, int(FLAGS.memory * GIGABYTE))
    tables.show("Training", training)
    write_csv(run.path / "training.csv", training)
    scores = tournament(base, profiles, games, executor)
    best = best_of(profiles, scores)
    matrix = [
        {"profile": one} | {two: readable_score(scores[one, two]) if one != two else "" for two in profiles}
        for one in profiles
    ]
    tables.show("Points per game against the others", matrix)
    write_csv(
        run.path / "scores.csv",
        [
            {"profile": one, "opponent": two, "mean": score.mean, "error": score.standard_error}
            for (one, two), score in scores.items()
        ],
    )
    bounded = bounds(base, profiles, deals, worlds)
    tables.show("Local best response", bounded)
    write_csv(run.path / "bounds.csv", bounded)
    hands, lead = openings.opening_rows(profiles[best], 10 * games, FLAGS.seed)
    write_csv(run.path / "openings.csv", hands)
    groups = openings.by_strength(hands)
    name = "-".join(map(str, size))
    run.save_figure(openings.plot(hands, f"Toepen {name}: betting before the first card"), "openings")
    run.write_report(
        f"# Toepen {name} by external sampling\n\n{tables.markdown(training)}\n"
        f"Points per game of the row's profile against the column's, {games:,} games, each deal in both seats, with "
        f"95 % confidence.\n\n{tables.markdown(matrix)}\n"
        f"The profile that does best in its worst match is **{best}**.\n\n"
        f"Lower bounds of NashConv by local best response ({worlds} worlds), with 95 % confidence.\n\n"
        f"{tables.markdown(bounded)}\n"
        f"Against itself, the first player of {best} wins {readable_score(lead)} points a game: what the lead is "
        "worth. Before the first card, by tenths of the hands from weak to strong (values are estimates from those "
        f"games):\n\n{tables.markdown(groups)}\n![openings](openings.png)\n"
    )
    tables.console.print(f"best profile: {best}; the lead is worth {readable_score(lead)}; report in {run.path}")


def define_flags() -> None:
    define_out("runs/toepen_full_game")
    flags.DEFINE_list("profiles", list(ABSTRACTIONS), "abstractions to train")
    define_number("memory", 8.0, "gigabytes that all profiles together may use", 0.01, MOST_GIGABYTES)
    define_number("minutes", 4.0, "processor time to train each profile", 0.0)
    define_count("games", 200_000, "games of each match", 100, bytes_each=1000, seconds_each=1e-5)
    define_count("deals", 500, "deals of the local best response", 2, bytes_each=100, seconds_each=1e-3)
    define_count("worlds", 30, "worlds it imagines at each decision", bytes_each=1000, seconds_each=1e-2)
    define_seed("of everything")
    define_executor()
    flags.DEFINE_bool("quick", False, "a small game, a short run that only shows that everything works")


if __name__ == "__main__":
    define_flags()
    start(main)
