"""The games between two teams that the Collaborative Kuhn Poker experiments solve besides that game itself."""

from __future__ import annotations

import time
from typing import NamedTuple

import pyspiel
from rich.progress import track

import cardspiel  # noqa: F401
from cardtable.executors import Executor
from coinche_spiel.small import SMALL_VARIANTS
from experiments.kuhn.models import BASE
from experiments.running import tables
from solvers import team
from solvers.team import TeamEquilibrium, TeamGame, Teams


class TeamProblem(NamedTuple):
    name: str
    game: str
    teams: Teams | None = None  # those the game declares
    everywhere: bool = False  # see `team.solve`


class Bounds(NamedTuple):
    """What a solved problem leaves behind: the value to the first team lies between the bounds."""

    name: str
    lower: float
    upper: float
    iterations: int
    cpu_seconds: float


SHARED_CARDS = tuple(
    TeamProblem(name, f"python_partner_oracle(game={BASE},team={listening})", everywhere=listening >= 0)
    for name, listening in (
        ("North-South sees the partner's cards", 0),
        ("West-East sees the partner's cards", 1),
        ("both teams see them", -1),
    )
)
OTHER_GAMES = (
    TeamProblem("kuhn_poker(players=4), 0 and 2 against 1 and 3", "kuhn_poker(players=4)", ((0, 2), (1, 3))),
    TeamProblem("mini Coinche M0 (points)", SMALL_VARIANTS["M0"]),
)


def solve_all(problems: tuple[TeamProblem, ...], max_iterations: int, executor: Executor) -> list[Bounds]:
    """Several at once: best in processes, for much of a solution is Python, which threads cannot do together."""
    answers = executor.map(solve, problems, max_iterations)
    return list(track(answers, "other team games", total=len(problems), console=tables.console))


def solve(max_iterations: int, problem: TeamProblem) -> Bounds:
    start = time.process_time()
    game = TeamGame(pyspiel.load_game(problem.game), problem.teams)
    equilibrium = team.solve(game, tolerance=1e-8, max_iterations=max_iterations, everywhere=problem.everywhere)
    return bounds_of(problem.name, equilibrium, time.process_time() - start)


def bounds_of(name: str, equilibrium: TeamEquilibrium, cpu_seconds: float) -> Bounds:
    return Bounds(name, equilibrium.lower, equilibrium.upper, equilibrium.iterations, cpu_seconds)
