"""Cego's learning agents beside the published ones: the tables behind `experiments.cego_agents`.

Published: Oeschger, "Applying Deep Reinforcement Learning to the Card Game Cego", Tables V to VII. In the set-ups of
Table VII agents sit in seat 0 (S1), in seat 1 (S2), in both (S3) or everywhere (S4), random players in the other seats;
the result is always that of seat 0. In Räuber the set-ups are S1 (seat 0), S2 (seats 0 and 1) and S3 (all). In Table VI
A has seat 0, B seat 1, and random players the others.

Against random players the best reply is a planning problem: the others are chance with known probabilities. Agents that
learnt against random players (or search with random ones) have that easier task; those from self-play have not, and the
tables keep them apart: they say whom an agent has learnt from.

Means use a control variate where it helps: the mean of some random playouts of the same deal, whose own mean is known
from 10^6 random games (Table III as we measured it). Its uncertainty is part of the standard error.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardtable.executors import Executor
from cardtable.match import Estimate, card_streams, play_games
from cardtable.player import PLAYER_FILE, Player, find_player, read_player_file
from cardtable.progress import LateProgress
from cardtable.randomness import streams
from cardtable.rows import deal_rows
from cardtable.spiel import CardGame, load_game
from experiments.running.kept_rows import KeptRows
from solvers.learning.playouts import random_baselines, sizes_of

PLAYOUTS = 32
CONTROL_PATH = 7  # of the random numbers of the control variate
# Table III as `experiments.cego_baselines` measured it: seat 0's mean and its standard error.
RANDOM_MEANS = {
    "standard": (40.799, 0.012),
    "solo": (48.992, 0.010),
    "ultimo": (8.457, 0.028),
    "bettel": (73.002, 0.044),
    "piccolo": (39.202, 0.049),
    "raeuber": (73.839, 0.044),
}
TEAM_SETUPS = {"S1": (0,), "S2": (1,), "S3": (0, 1), "S4": (0, 1, 2, 3)}
SETUPS = dict.fromkeys(RANDOM_MEANS, TEAM_SETUPS) | {"raeuber": {"S1": (0,), "S2": (0, 1), "S3": (0, 1, 2, 3)}}
# Table VII, Deep Monte Carlo: seat 0's points or won %.
TABLE_7 = {
    "standard": {"S1": 46.4758, "S2": 38.0164, "S3": 43.1990, "S4": 37.9745},
    "solo": {"S1": 54.2618, "S2": 46.0147, "S3": 51.4224, "S4": 44.9287},
    "ultimo": {"S1": 94.7372, "S2": 7.6148, "S3": 88.0632, "S4": 69.4232},
    "bettel": {"S1": 78.9352, "S2": 67.3024, "S3": 75.7864, "S4": 60.7752},
    "piccolo": {"S1": 47.6496, "S2": 34.3216, "S3": 43.7628, "S4": 28.7628},
    "raeuber": {"S1": 85.7044, "S2": 82.9392, "S3": 74.4596},
}
# Table V: points and won % of seat 0 against random players; Table VI: of A in seat 0 with B in seat 1.
TABLE_5 = {"dmc": (46.462, 69.958), "dqn": (43.843, 62.761), "nfsp": (42.509, 57.658)}
TABLE_6 = {
    ("dqn", "dmc"): 42.133,
    ("dqn", "nfsp"): 44.033,
    ("dmc", "dqn"): 46.540,
    ("dmc", "nfsp"): 46.787,
    ("nfsp", "dqn"): 42.520,
    ("nfsp", "dmc"): 40.771,
}


class Measured(NamedTuple):
    """Seat 0's mean, in points or percent, with and without the control variate, and what share of games she won."""

    mean: Estimate
    plain: Estimate
    won: float


def unit(subgame: str) -> float:
    """Wins are told in percent."""
    return 1.0 if subgame in ("standard", "solo") else 100.0


def measure(
    game: CardGame, subgame: str, seats: Sequence[Player], games: int, seed: int, executor: Executor | None = None
) -> Measured:
    """What seat 0 wins in so many games."""
    with LateProgress(f"{subgame}: games", games) as progress:
        played = play_games(game, seats, games, seed, executor, progress.advance)
    found = played.returns[:, 0] * unit(subgame)
    control = _control(str(game), games, seed) * unit(subgame)
    limit = 39.5 if unit(subgame) == 1.0 else 50.0
    mean = controlled(found, control, *RANDOM_MEANS[subgame])
    return Measured(mean, Estimate.of(found), float(np.mean(found > limit)))


@functools.lru_cache(maxsize=1)  # all set-ups of a sub-game are played on the same deals
def _control(name: str, games: int, seed: int) -> np.ndarray:
    """The mean of some random playouts of each deal; seat 0 always leads, so they are hers."""
    rules = load_game(name).rules
    addresses = rules.compiled_kernel().addresses()
    states, rows = np.empty((games, rules.state_size), np.int64), np.arange(games)
    deal_rows(addresses, rules.root, states, rows, card_streams(seed, range(games)))
    found = np.empty(games, np.float32)
    random = streams(seed, (CONTROL_PATH,), range(games))
    random_baselines(addresses, states, rows, PLAYOUTS, sizes_of(rules), random, found)
    return found.astype(np.float64)


def controlled(found: np.ndarray, control: np.ndarray, mean: float, error: float) -> Estimate:
    """The mean of `found` less what its regression on a control variate of known mean explains.

    estimate = mean(x - b (c - mu)),  var = var(x - b c) / n + b^2 var(mu).
    """
    if len(found) < 3 or control.std() == 0.0:
        return Estimate.of(found)
    slope = float(np.cov(found, control)[0, 1] / control.var(ddof=1))
    rest = Estimate.of(found - slope * (control - mean))
    return Estimate(rest.mean, math.hypot(rest.standard_error, slope * error), rest.n)


COLUMNS_7: dict[str, type] = {
    **dict.fromkeys(("sub-game", "learnt from", "agent", "set-up", "seat 0", "s.e."), str),
    **dict.fromkeys(("without control", "won %", "paper"), str),
    "games": int,
}
COLUMNS_6: dict[str, type] = dict.fromkeys(("A", "B", "seat 0", "s.e.", "won %", "paper"), str)
COLUMNS_OF_ABLATION: dict[str, type] = {
    "settings": str,
    "seed": int,
    "games learnt from": int,
    **dict.fromkeys(("S1", "S2", "v reference", "s.e."), float),
}


class Tables:
    """Measures agents in the set-ups of a sub-game, row by row; rows that `kept` has are not measured again."""

    def __init__(
        self, game: CardGame, subgame: str, games: int, seed: int, kept: KeptRows, executor: Executor | None = None
    ) -> None:
        self._game, self._subgame, self._games, self._seed = game, subgame, games, seed
        self._kept, self._executor = kept, executor
        self._random = find_player("random", game)

    def _measure(self, seats: Sequence[Player]) -> Measured:
        return measure(self._game, self._subgame, seats, self._games, self._seed, self._executor)

    def table_7(self, agents: Sequence[str]) -> list[dict[str, Any]]:
        """One row for each agent and set-up; those that learnt from the same company stand together."""
        return [
            self._kept.once(
                f"table 7, {self._subgame}, {setup}, {name}", COLUMNS_7, functools.partial(self._row_7, name, setup)
            )
            for name in sorted(agents, key=learnt_from)
            for setup in SETUPS[self._subgame]
        ]

    def _row_7(self, name: str, setup: str) -> dict[str, Any]:
        agent, held = find_player(name, self._game), SETUPS[self._subgame][setup]
        mean, plain, won = self._measure([agent if seat in held else self._random for seat in range(4)])
        return {
            "sub-game": self._subgame,
            "learnt from": learnt_from(name),
            "agent": agent.label,
            "set-up": setup,
            "seat 0": f"{mean.mean:.3f}",
            "s.e.": f"{mean.standard_error:.3f}",
            "without control": f"{plain.mean:.3f}",
            "won %": f"{100 * won:.2f}",
            "paper": f"{TABLE_7[self._subgame][setup]:.3f}",
            "games": self._games,
        }

    def table_6(self, agents: Sequence[str]) -> list[dict[str, Any]]:
        """Standard-Cego, all pairs: A in seat 0, B in seat 1."""
        return [
            self._kept.once(f"table 6, {one}, {other}", COLUMNS_6, functools.partial(self._row_6, one, other))
            for one, other in itertools.permutations(agents, 2)
        ]

    def _row_6(self, first: str, second: str) -> dict[str, Any]:
        one, other = find_player(first, self._game), find_player(second, self._game)
        mean, _, won = self._measure([one, other, self._random, self._random])
        kinds = (kind_of(one.label), kind_of(other.label))
        return {
            "A": one.label,
            "B": other.label,
            "seat 0": f"{mean.mean:.3f}",
            "s.e.": f"{mean.standard_error:.3f}",
            "won %": f"{100 * won:.2f}",
            "paper": f"{TABLE_6[kinds]:.3f}" if kinds in TABLE_6 else "",
        }


def table_5(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points and won games of S1 in Standard-Cego, out of the rows of Table VII, beside the agent of the same kind."""
    return [
        {
            "agent": row["agent"],
            "learnt from": row["learnt from"],
            "points": row["seat 0"],
            "s.e.": row["s.e."],
            "won %": row["won %"],
            "paper: points": f"{TABLE_5[kind_of(row['agent'])][0]:.3f}",
            "paper: won %": f"{TABLE_5[kind_of(row['agent'])][1]:.3f}",
        }
        for row in rows
        if row["set-up"] == "S1"
    ]


def learnt_from(text: str) -> str:
    """Whom an agent has learnt from, by its file: those that met random players have had the easier task."""
    name, _, options = text.partition("(")
    search = ", with search" if "worlds=" in options else ""
    if name == "expert":
        return f"self-play{search}"
    folder = next((Path(path) for path in (text, name) if (Path(path) / PLAYER_FILE).exists()), None)
    if folder is None:
        return f"nothing{search}"
    made_by = read_player_file(folder).get("made_by")
    found = made_by.get("opponents") if isinstance(made_by, dict) else None
    opponents = found if isinstance(found, list) else ["itself"]
    return f"{'self-play' if opponents == ['itself'] else ' and '.join(map(str, opponents))}{search}"


def kind_of(label: str) -> str:
    """Which of the published agents an agent is like, by its name."""
    return next((kind for kind in ("nfsp", "dqn") if kind in label), "dmc")
