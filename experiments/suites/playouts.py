"""Random games and steps per second on one core, beside OpenSpiel's C++ hearts and euchre.

The contestants take turns in short rounds, so that whatever else the machine does slows all of them alike. CPU time is
measured, and the best round of each counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyspiel

import cardspiel
from cardtable.batch import play_out
from experiments.running import tables
from experiments.running.directory import RunDirectory, write_csv

ROUNDS = 5
ROUND_SECONDS = 0.4
OPENSPIEL_GAMES = ("hearts", "euchre")
VARIANTS = ("python_cego(subgame=solo)",)  # beside the games as they come


@dataclass
class Contestant:
    name: str
    engine: str
    play: Callable[[int], int]  # plays so many games, returns the number of player moves
    games_per_round: int = 0
    games_per_second: list[float] = field(default_factory=list)
    steps_per_second: list[float] = field(default_factory=list)

    def run(self, games: int) -> float:
        start = time.process_time()
        steps = self.play(games)
        seconds = time.process_time() - start
        self.games_per_second.append(games / seconds)
        self.steps_per_second.append(steps / seconds)
        return seconds


def ours(name: str) -> Contestant:
    rules = pyspiel.load_game(name).rules
    return Contestant(name, "CardSpiel", lambda games: play_out(rules, games, seed=1).steps)


def openspiels(name: str) -> Contestant:
    """Uniform C++ bots in OpenSpiel's C++ match loop; moves are counted in a sample, outside the clock's way."""
    game = pyspiel.load_game(name)
    bots = [pyspiel.make_uniform_random_bot(player, player) for player in range(game.num_players())]

    def one_game(seed: int) -> pyspiel.State:
        state = game.new_initial_state()
        pyspiel.evaluate_bots(state, bots, seed)
        return state

    sample = 200
    moves = sum(move.player >= 0 for seed in range(sample) for move in one_game(seed).full_history()) / sample

    def play(games: int) -> int:
        for seed in range(games):
            one_game(seed)
        return round(games * moves)

    return Contestant(name, "OpenSpiel C++", play)


def run(directory: RunDirectory, quick: bool = False) -> list[dict]:
    contestants = [*map(openspiels, OPENSPIEL_GAMES), *map(ours, (*cardspiel.GAMES, *VARIANTS))]
    round_seconds = 0.02 if quick else ROUND_SECONDS
    for contestant in contestants:
        contestant.run(10)  # compiles
        seconds = contestant.run(100)
        contestant.games_per_round = max(100, int(100 * round_seconds / max(seconds, 1e-6)))
        contestant.games_per_second.clear()
        contestant.steps_per_second.clear()
    for _ in range(1 if quick else ROUNDS):
        for contestant in contestants:
            contestant.run(contestant.games_per_round)

    hearts = max(contestants[0].steps_per_second)
    rows = [
        {
            "game": contestant.name,
            "engine": contestant.engine,
            "games/s": round(max(contestant.games_per_second)),
            "steps/s": round(max(contestant.steps_per_second)),
            "steps/s v C++ hearts": max(contestant.steps_per_second) / hearts,
        }
        for contestant in contestants
    ]
    start_up = start_up_costs(["python_toepen"] if quick else cardspiel.GAMES)

    write_csv(directory.path / "playouts.csv", rows)
    write_csv(directory.path / "start_up.csv", start_up)
    directory.write_report(
        "# Random games per second, one core\n\n"
        + tables.markdown(rows)
        + "\n# Start-up\n\n"
        + tables.markdown(start_up)
    )
    tables.show("Random games, one core, best of several rounds", rows)
    tables.show("Start-up, CPU seconds of a whole process", start_up)
    tables.console.print(f"Written to {directory.path}")
    return rows


PLAY_ONCE = """, pyspiel, random
state = pyspiel.load_game({name!r}).new_initial_state()
while not state.is_terminal():
    state.apply_action(random.choice(state.legal_actions()))
state.returns()
"""


def start_up_costs(names: Sequence[str]) -> list[dict]:
    """CPU seconds of processes that load a game and play it once at random through pyspiel, cold and warm.

    Cold is with an empty compilation cache, warm with the one that the cold process has filled.
    """
    rows = []
    for name in names:
        package = next(game.__module__.split(".")[0] for game in [type(pyspiel.load_game(name))])
        import_only = f"import {package}"
        play = f"{import_only}{PLAY_ONCE.format(name=name)}"
        with tempfile.TemporaryDirectory() as cache:
            row = {"game": name, "one game, cold cache": cpu_seconds(play, cache)}
            row["one game, warm cache"] = cpu_seconds(play, cache)
            row["import only"] = cpu_seconds(import_only, cache)
        rows.append(row)
    return rows


def cpu_seconds(code: str, cache: str) -> float:
    program = f"{code}\nimport time; print(time.process_time())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return float(result.stdout)
