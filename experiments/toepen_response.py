"""How much a strategy of Toepen can lose: exact best responses, hand by hand.

python -m experiments.toepen_response --player=expert --hands=50        an estimate with an interval
python -m experiments.toepen_response --player=runs/toepen_expert --exact --executor=processes:2
python -m experiments.toepen_response --player=places --minutes=2 --hands=50
python -m experiments.toepen_response --player="advanced history" --minutes=2 --hands=12      one of toepen_full_game
python -m experiments.toepen_response --player=runs/deep_cfr --size=4-8-3 --hands=12        a network, asked everywhere

The value of a hand is exact. `--exact` takes one hand of each orbit of suits in both seats, weighted by the orbit's
size (2,262 a seat in the full game): NashConv itself; all hands of a policy that tells suits apart. `--hands` draws
hands at random: an unbiased estimate. A trained policy and values are filed as they come; --resume goes on.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from absl import flags

import cardspiel  # noqa: F401
from cardtable.files import read_arrays, write_arrays
from cardtable.match import Estimate
from cardtable.parameters import UserError
from cardtable.player import find_player, read_player_file
from cardtable.spiel import is_game, load_game
from experiments.running import tables
from experiments.running.command import command, start
from experiments.running.directory import RunDirectory, write_csv
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
from experiments.toepen.frontier import sizes_of
from experiments.toepen.profiles import (
    ABSTRACTIONS,
    GIGABYTE,
    MEMORY,
    MOST_GIGABYTES,
    PLACES,
    Trained,
    abstracted,
    require_here,
    train,
    train_again,
)
from experiments.toepen.training import toepen
from solvers.mccfr import ExternalSamplingSolver
from solvers.toepen.block_player import load_blocks
from solvers.toepen.blocks import FREE, SLOT_WORDS, START, Blocks
from solvers.toepen.histories import betting_histories
from solvers.toepen.places_table import blocks_of_table
from solvers.toepen_response import (
    AskedPlayer,
    Question,
    SampledTable,
    all_hands,
    hand_orbits,
    hand_value,
    random_hands,
    require_walkable,
)
from toepen_spiel.game import EXPERT
from transforms.lifting import transform_of

FLAGS = flags.FLAGS
CONFIDENCE = 1.96
SECONDS_BETWEEN_FILES = 20.0
VALUES, TRAINED = "values.npz", "trained.npz"
UNIFORM, SHIPPED = "uniform", "expert"


def policy(game: pyspiel.Game, hand_size: int, run: RunDirectory) -> Blocks | SampledTable | AskedPlayer:
    """The policy that the flags name. What is trained here is filed: trained again, it would be another."""
    if FLAGS.player == UNIFORM:
        return Blocks.nothing()
    file = run.path / TRAINED
    if FLAGS.player == PLACES:
        if FLAGS.resume and file.exists():
            return load_trained(file)
        solver = new_solver(game)
        tell(solver, train(solver, 60 * FLAGS.minutes, PLACES))
        blocks = blocks_of_table(solver.table, betting_histories(hand_size, FLAGS.betting), FLAGS.follow_suit)
        write_arrays(file, {"slots": blocks.slots, "numbers": blocks.numbers}, compress=True)
        return blocks
    if FLAGS.player in ABSTRACTIONS:
        solver = new_solver(game)
        if FLAGS.resume and file.exists():
            train_again(solver, *load_length(file))
        else:
            trained = train(solver, 60 * FLAGS.minutes, FLAGS.player)
            tell(solver, trained)
            filled = trained.ended_by == MEMORY
            write_arrays(file, {"iterations": np.array(trained.iterations), "filled": np.array(filled)})
        return SampledTable(solver.game, solver.table)
    folder = EXPERT if FLAGS.player == SHIPPED else Path(FLAGS.player)
    if not folder.is_dir():
        folder = Path(FLAGS.player.partition("(")[0])  # options may follow
    if not folder.is_dir():  # a policy file, or a player of the game
        try:
            find_player(FLAGS.player, game)
        except UserError as error:
            raise UserError(f"{error}; here also {UNIFORM}, {', '.join(ABSTRACTIONS)}") from None
        return AskedPlayer(FLAGS.player, str(game))
    head = read_player_file(folder)
    if head["kind"] == "toepen_views":
        return load_blocks(folder, game, head)
    return saved_player(game, folder, head)


def saved_player(game: pyspiel.Game, folder: Path, head: dict[str, Any]) -> AskedPlayer:
    """A saved player that is asked position by position; it may have learned a transform of the game."""
    made_for = game if is_game(head["game"], game) else transform_of(head["game"], game)
    if made_for is None:
        raise UserError(f"{folder} was made for {head['game']}; it cannot play {game}")
    text, shapes = FLAGS.player, head["settings"].get("shapes")
    if head["kind"] == "deep_cfr" and Path(text).is_dir() and isinstance(shapes, dict) and "strategy" in shapes:
        # What a snapshot drawn for the whole hand does has no probabilities of single positions.
        text = f"{folder}(average=strategy)"
        tables.console.print(f"{folder}: its strategy network is judged, {text}")
    return AskedPlayer(text, str(made_for))


def new_solver(game: pyspiel.Game) -> ExternalSamplingSolver:
    memory = int(FLAGS.memory * GIGABYTE)
    return ExternalSamplingSolver(
        abstracted(str(game), *ABSTRACTIONS[FLAGS.player]), FLAGS.seed, max_memory_bytes=memory
    )


def tell(solver: ExternalSamplingSolver, trained: Trained) -> None:
    tables.console.print(
        f"{FLAGS.player}: {trained.iterations:,} iterations, {len(solver.table):,} information sets, "
        f"{trained.seconds:.0f} s, ended by {trained.ended_by}"
    )


def load_length(file: Path) -> tuple[int, bool]:
    """How long the training was, of a run that is to go on: iterations, and whether it filled the memory."""
    found = read_arrays(file, "the length of a training")
    nothing = np.empty(0)
    iterations, filled = (found.get(name, nothing) for name in ("iterations", "filled"))
    if iterations.shape or filled.shape or iterations.dtype != np.int64 or filled.dtype != np.bool_ or iterations < 1:
        raise UserError(f"{file} is damaged; delete it and {VALUES} to begin anew")
    return int(iterations), bool(filled)


def load_trained(file: Path) -> Blocks:
    found = read_arrays(file, "a trained policy")
    nothing = np.empty((0, 0))
    slots, numbers = (found.get(name, nothing) for name in ("slots", "numbers"))
    sound = numbers.ndim == 1 and slots.ndim == 2 and slots.shape[1] == SLOT_WORDS and slots.dtype == np.int64
    sound = sound and numbers.dtype == np.float32 and bool(np.isfinite(numbers).all())
    if not sound or (slots[:, START] < FREE).any() or (slots[:, START] > len(numbers)).any():
        raise UserError(f"{file} is damaged; delete it and {VALUES} to begin anew")
    return Blocks(slots, numbers)


def walk_all(run: RunDirectory, question: Question, hands: np.ndarray) -> np.ndarray:
    """[hand, seat, (best response, own)]; filed in the run directory."""
    items = [(int(hand), seat) for hand in hands.tolist() for seat in (0, 1)]
    file = run.path / VALUES
    values = load_values(file, len(items)) if FLAGS.resume and file.exists() else []
    filed, begin, done_before = time.monotonic(), time.monotonic(), len(values)
    with chosen_executor(run.path) as executor:
        for value in executor.map(hand_value, itertools.islice(items, len(values), None), question):
            values.append((value.best_response, value.own))
            if time.monotonic() - filed > SECONDS_BETWEEN_FILES:
                filed = time.monotonic()
                write_arrays(file, {"values": np.array(values)})
                left = (filed - begin) / (len(values) - done_before) * (len(items) - len(values))
                gains = np.array(values[: len(values) // 2 * 2]).reshape(-1, 2, 2)
                so_far = float((gains[..., 0] - gains[..., 1]).sum(axis=1).mean()) if len(gains) else 0.0
                tables.console.print(
                    f"  {len(values)} of {len(items)} walks, gain so far {so_far:.3f}, {left / 60:.0f} minutes left"
                )
    write_arrays(file, {"values": np.array(values)})
    return np.array(values).reshape(len(hands), 2, 2)


def load_values(file: Path, most: int) -> list[tuple[float, float]]:
    found = read_arrays(file, "a file of values").get("values", np.empty(0))
    sound = found.ndim == 2 and found.shape[1] == 2 and found.dtype == np.float64
    if not sound or len(found) > most or not np.isfinite(found).all():
        raise UserError(f"{file} is damaged; delete it to begin anew")
    return [(float(best), float(own)) for best, own in found]


@command
def main() -> None:
    sizes = sizes_of(FLAGS.size)
    game = load_game(toepen(*sizes, FLAGS.betting, FLAGS.follow_suit))
    require_walkable(sizes[2])
    if FLAGS.player in ABSTRACTIONS and FLAGS.player != PLACES:
        require_here(chosen_executor(Path(FLAGS.out)))
    names = ("player", "size", "betting", "follow_suit", "hands", "exact", "seed", "minutes", "memory")
    run = open_directory({name: FLAGS[name].value for name in names})
    question = Question(sizes, FLAGS.betting, FLAGS.follow_suit, policy(game, sizes[2], run))
    suits_alike = True
    if isinstance(question.policy, AskedPlayer):
        question.response()  # says in a sentence why it cannot be walked
        suits_alike = question.policy.suits_alike
    question.prepare()
    if FLAGS.exact:
        hands, weights = hand_orbits(*sizes) if suits_alike else all_hands(*sizes)
    else:
        hands = random_hands(*sizes, FLAGS.hands, FLAGS.seed)
        weights = np.full(len(hands), 1 / len(hands))
    begin = time.process_time()
    values = walk_all(run, question, hands)
    gains = values[..., 0] - values[..., 1]
    rows = [
        {"hand": openings.hand_name(game, hand), "probability": weight}
        | {
            f"{name}_{seat}": float(values[index, seat, which])
            for seat in (0, 1)
            for which, name in enumerate(("best", "own"))
        }
        for index, (hand, weight) in enumerate(zip(hands.tolist(), weights.tolist(), strict=True))
    ]
    write_csv(run.path / "hands.csv", rows)
    found: list[dict[str, Any]] = []
    for name, numbers in (
        ("gain, seat 0", gains[:, 0]),
        ("gain, seat 1", gains[:, 1]),
        ("NashConv", gains.sum(axis=1)),
    ):
        estimate = Estimate.of(numbers)
        row = {"": name, "value": float(np.dot(weights, numbers))}
        if not FLAGS.exact:
            row["95 % interval"] = CONFIDENCE * estimate.standard_error
        found.append(row | {"smallest": float(numbers.min()), "largest": float(numbers.max())})
    write_csv(run.path / "nash_conv.csv", found)
    tables.show(f"{FLAGS.player} in Toepen {FLAGS.size}", found)
    how = f"{len(hands)} random hands, the same in both seats"
    if FLAGS.exact:
        how = "all hands up to suits: exact" if suits_alike else "all hands: exact"
    seconds = (time.process_time() - begin) / (2 * len(hands))
    text = f"{how}; {seconds:.2f} processor seconds of this process a hand and seat"
    run.write_report(
        f"# Best responses to {FLAGS.player} in Toepen {FLAGS.size}\n\n{text}.\n\n{tables.markdown(found)}\n"
    )
    tables.console.print(f"{text}; written to {run.path}")


def define_flags() -> None:
    define_out("runs/toepen_response", resume="the hands")
    flags.DEFINE_string(
        "player",
        SHIPPED,
        f"{UNIFORM}, {SHIPPED}, a folder of toepen_expert or any other player with probabilities, or trained here: "
        f"{', '.join(ABSTRACTIONS)}",
    )
    flags.DEFINE_string("size", "4-8-4", "suits-ranks-hand size")
    flags.DEFINE_bool("betting", True, "whether there is betting")
    flags.DEFINE_bool("follow_suit", True, "whether suit must be followed")
    define_count("hands", 40, "random hands, each in both seats", 2, seconds_each=1e-3)
    flags.DEFINE_bool("exact", False, "all hands up to suits instead")
    define_number("minutes", 2.0, "processor time to train what is trained here", 0.0)
    define_number("memory", 1.6, "gigabytes that it may use", 0.01, MOST_GIGABYTES)
    define_seed("of hands and training")
    define_executor()


if __name__ == "__main__":
    define_flags()
    start(main)
