"""Cego's learning agents beside the published ones: the tables behind `experiments.cego_agents`.

Published: Oeschger, "Applying Deep Reinforcement Learning to the Card Game Cego", Tables V to VII. In the set-ups of
Table VII agents sit in seat 0 (S1), in seat 1 (S2), in both (S3) or everywhere (S4), random players in the other seats;
the result is always that of seat 0. In Räuber the set-ups are S1 (seat 0), S2 (seats 0 and 1) and S3 (all). In Table VI
A has seat 0, B seat 1, and random players the others.

Against random players the best reply is a planning problem: the others are chance with known probabilities. Agents that
learnt against random players (or search with random ones) have that easier task; those from self-play have not, and the
tables keep them apart by their names.

Means use a control variate where it helps: the mean of some random playouts of the same deal, whose own mean is known
from 10^6 random games (Table III as we measured it). Its uncertainty is part of the standard error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cardtable.executors import Executor
from cardtable.match import Estimate, card_streams, play_games
from cardtable.player import Player, find_player
from cardtable.randomness import streams
from cardtable.rows import deal_rows
from cardtable.spiel import CardGame, load_game
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
    played = play_games(game, seats, games, seed, executor)
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


def table_7(
    game: CardGame, subgame: str, agents: Sequence[str], games: int, seed: int, executor: Executor | None = None
) -> list[dict[str, Any]]:
    """One row for each agent and set-up."""
    random, rows = find_player("random", game), []
    for name in agents:
        agent = find_player(name, game)
        for setup, held in SETUPS[subgame].items():
            seats = [agent if seat in held else random for seat in range(4)]
            mean, plain, won = measure(game, subgame, seats, games, seed, executor)
            rows.append(
                {
                    "sub-game": subgame,
                    "set-up": setup,
                    "agent": agent.label,
                    "seat 0": f"{mean.mean:.3f}",
                    "s.e.": f"{mean.standard_error:.3f}",
                    "without control": f"{plain.mean:.3f}",
                    "won %": f"{100 * won:.2f}",
                    "paper": f"{TABLE_7[subgame][setup]:.3f}",
                    "games": games,
                }
            )
    return rows


def table_6(
    game: CardGame, agents: Sequence[str], games: int, seed: int, executor: Executor | None = None
) -> list[dict[str, Any]]:
    """Standard-Cego, all pairs: A in seat 0, B in seat 1."""
    random, rows = find_player("random", game), []
    for first in agents:
        for second in agents:
            if first == second:
                continue
            one, other = find_player(first, game), find_player(second, game)
            mean, _, won = measure(game, "standard", [one, other, random, random], games, seed, executor)
            kinds = (kind_of(one.label), kind_of(other.label))
            rows.append(
                {
                    "A": one.label,
                    "B": other.label,
                    "seat 0": f"{mean.mean:.3f}",
                    "s.e.": f"{mean.standard_error:.3f}",
                    "won %": f"{100 * won:.2f}",
                    "paper": f"{TABLE_6[kinds]:.3f}" if kinds in TABLE_6 else "",
                }
            )
    return rows


def kind_of(label: str) -> str:
    """Which of the published agents an agent is like, by its name."""
    return next((kind for kind in ("nfsp", "dqn") if kind in label), "dmc")
