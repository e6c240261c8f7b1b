"""Two teams that cannot talk: exact team best responses, team exploitability, and the team-maxmin equilibrium.

The right solution of a zero-sum game between two teams, whose members may agree on a (random) plan before the deal but
not communicate afterwards, is the *team-maxmin equilibrium with correlation* (TMECor): Celli and Gatti, "Computational
results for extensive-form adversarial team games" (2018); Farina, Celli, Gatti and Sandholm, "Ex ante coordination and
collusion in zero-sum multi-player extensive-form games" (2018). Each team plays a lottery over joint pure plans; the
lotteries are a maxmin pair of the two-player game between the teams, so they have a *value*, unlike the many Nash
equilibria of the game between the single players. CFR on the players does not find it.

`solve` computes it by a double oracle on the belief DAGs of both teams: solve the linear program on what has been
discovered (`solvers.teams.program`), let each team answer with an exact best response among everything it could do
(`solvers.teams.beliefs`), add those, repeat. The best responses bound the value from both sides; when the bounds meet,
the strategies that gave them are a certificate: whatever the other team does, they guarantee the value.

    equilibrium = team.solve(pyspiel.load_game("python_kuhn_collab"))
    equilibrium.lower, equilibrium.upper        # 0.0516..., to North and South together
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from cardtable.rules import TERMINAL
from solvers.teams.beliefs import BestValues, TeamBeliefs, TeamStrategy
from solvers.teams.program import DiscoveredDag, solve_restricted
from solvers.teams.public_tree import Policy, PublicTree

Teams = Sequence[Sequence[int]]

ZERO_SUM_TOLERANCE = 1e-9


class TeamGame:
    """A game between two teams on a public tree. A team's payoff is the sum of its members' returns.

    `teams` are those the game declares unless given. Games with tied rewards pay every member the whole team's sum: use
    the game they were made from.
    """

    def __init__(
        self, game: pyspiel.Game | PublicTree, teams: Teams | None = None, max_memory_bytes: int | None = None
    ) -> None:
        actual_game = game.game if isinstance(game, PublicTree) else game
        self.teams = _checked_teams(actual_game, teams)
        self.tree = game if isinstance(game, PublicTree) else PublicTree.from_game(game, max_memory_bytes)
        _require_zero_sum(self.tree)
        self.sides = tuple(TeamBeliefs(self.tree, team, max_memory_bytes) for team in self.teams)
        self.payoff = self.tree.chance * self.tree.returns[:, :, list(self.teams[0])].sum(axis=2)  # (nodes, deals)

    def realization(self, team: int, play: Policy | TeamStrategy) -> np.ndarray:
        """(nodes, joint types): how likely a team, or its members by their policies, makes all moves to a node."""
        if isinstance(play, TeamStrategy):
            if play.beliefs is not self.sides[team]:
                raise ValueError(f"the strategy is one of players {play.beliefs.members}, not of {self.teams[team]}")
            return play.realization()
        return self.independent_realization(team, self.tree.behaviour(play))

    def independent_realization(self, team: int, behaviour: np.ndarray) -> np.ndarray:
        """The same for a table of `PublicTree.behaviour`."""
        side = self.sides[team]
        plans = self.tree.plans(behaviour)
        result = np.ones((self.tree.num_nodes, side.num_joint_types))
        for number, member in enumerate(side.members):
            result *= plans[member][:, side.types_of_joint[:, number]]
        return result

    def best_response_to(self, team: int, others: np.ndarray) -> BestValues:
        """What `team` can get, at most, against this realization of the other team, and how."""
        own, other = self.sides[team], self.sides[1 - team]
        sign = 1.0 if team == 0 else -1.0
        weights = np.zeros((own.num_joint_types, self.tree.num_nodes))
        np.add.at(weights, own.joint_type, (sign * self.payoff * others[:, other.joint_type]).T)
        return own.best_values(np.ascontiguousarray(weights.T))

    def value(self, first: np.ndarray, second: np.ndarray) -> float:
        """Expected payoff to the first team of two realizations."""
        both = first[:, self.sides[0].joint_type] * second[:, self.sides[1].joint_type]
        return float((self.payoff * both).sum())


class TeamBestResponse(NamedTuple):
    value: float  # to the team
    strategy: TeamStrategy  # a pure plan


class TeamExploitability(NamedTuple):
    """How far two teams are from doing their best. Entry t of each pair belongs to team t."""

    values: tuple[float, float]
    best_response_values: tuple[float, float]

    @property
    def gains(self) -> tuple[float, float]:
        return self.best_response_values[0] - self.values[0], self.best_response_values[1] - self.values[1]

    @property
    def guarantees(self) -> tuple[float, float]:
        """What each team gets at least, however the other team plays, even with agreed plans."""
        return -self.best_response_values[1], -self.best_response_values[0]

    @property
    def exploitability(self) -> float:
        """The mean gain of a team; 0 for a TMECor and only then."""
        return sum(self.gains) / 2


class TeamEquilibrium(NamedTuple):
    """A TMECor: strategies that guarantee the first team at least `lower`, and the second that it pays no more than
    `upper`."""

    lower: float
    upper: float
    strategies: tuple[TeamStrategy, TeamStrategy]
    iterations: int
    seconds: float

    @property
    def value(self) -> float:
        """To the first team; exact up to half the distance of the bounds."""
        return (self.lower + self.upper) / 2


class Progress(NamedTuple):
    """Where `solve` stands after an iteration."""

    iteration: int
    lower: float
    upper: float
    prescriptions: tuple[int, int]


def team_best_response(
    game: pyspiel.Game | TeamGame, opponents: Policy | TeamStrategy, team: int, teams: Teams | None = None
) -> TeamBestResponse:
    """The exact best joint pure plan of a whole team against fixed opponents."""
    if team not in (0, 1):
        raise ValueError(f"team is {team}; allowed: 0, 1")
    team_game = _team_game(game, teams)
    best = team_game.best_response_to(team, team_game.realization(1 - team, opponents))
    return TeamBestResponse(best.value, best.strategy())


def team_exploitability(
    game: pyspiel.Game | TeamGame,
    first: Policy | TeamStrategy,
    second: Policy | TeamStrategy | None = None,
    teams: Teams | None = None,
) -> TeamExploitability:
    """What the teams win, guarantee and could win. `first` plays for team 0, `second` (or `first`) for team 1."""
    team_game = _team_game(game, teams)
    realizations = team_game.realization(0, first), team_game.realization(1, first if second is None else second)
    return exploitability_of(team_game, *realizations)


def exploitability_of(team_game: TeamGame, first: np.ndarray, second: np.ndarray) -> TeamExploitability:
    """The same for realizations."""
    value = team_game.value(first, second)
    best = team_game.best_response_to(0, second).value, team_game.best_response_to(1, first).value
    return TeamExploitability((value, -value), best)


def solve(
    game: pyspiel.Game | TeamGame,
    teams: Teams | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
    everywhere: bool = False,
    report: Callable[[Progress], None] | None = None,
) -> TeamEquilibrium:
    """The TMECor of a zero-sum game between two teams, with bounds at most `tolerance` apart.

    Stops earlier, with the bounds it has, after `max_iterations` or when neither team finds anything new.
    `everywhere` adds best answers at all beliefs known so far and not only at those the best response reaches: fewer
    iterations, larger linear programs. It pays where a team shares its cards.
    """
    start = time.monotonic()
    team_game = _team_game(game, teams)
    dags = DiscoveredDag(team_game.sides[0]), DiscoveredDag(team_game.sides[1])
    lower, upper = -np.inf, np.inf
    strategies: list[TeamStrategy | None] = [None, None]
    candidates: list[TeamStrategy | None] = [None, None]
    realizations = [team_game.independent_realization(team, team_game.tree.uniform_behaviour()) for team in (0, 1)]
    iteration = 0
    while True:
        answers = [team_game.best_response_to(team, realizations[1 - team]) for team in (0, 1)]
        if candidates[0] is not None:
            if -answers[1].value > lower:
                lower, strategies[0] = -answers[1].value, candidates[0]
            if answers[0].value < upper:
                upper, strategies[1] = answers[0].value, candidates[1]
        new = [dag.add(answer, everywhere) for dag, answer in zip(dags, answers, strict=True)]
        if report is not None:
            report(Progress(iteration, lower, upper, (len(dags[0].prescriptions), len(dags[1].prescriptions))))
        if iteration and (upper - lower <= tolerance or not any(new) or iteration >= max_iterations):
            break
        solution = solve_restricted(*dags, team_game.payoff)
        candidates = list(solution.strategies)
        realizations = [strategy.realization() for strategy in solution.strategies]
        iteration += 1
    assert strategies[0] is not None and strategies[1] is not None  # noqa: PT018
    return TeamEquilibrium(lower, upper, (strategies[0], strategies[1]), iteration, time.monotonic() - start)


def _team_game(game: pyspiel.Game | TeamGame, teams: Teams | None) -> TeamGame:
    if isinstance(game, TeamGame):
        if teams is not None and _as_tuples(teams) != game.teams:
            raise ValueError(f"teams is {teams}, but the TeamGame has teams {game.teams}")
        return game
    return TeamGame(game, teams)


def _as_tuples(teams: Teams) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(team) for team in teams)


def _checked_teams(game: pyspiel.Game, teams: Teams | None) -> tuple[tuple[int, ...], ...]:
    if teams is None:
        teams = getattr(game, "teams", ())
        if not teams:
            raise ValueError(f"{game} declares no teams; say who plays together, such as teams=((0, 2), (1, 3))")
    result = _as_tuples(teams)
    players = sorted(player for team in result for player in team)
    if len(result) != 2 or not all(result) or players != list(range(game.num_players())):
        raise ValueError(
            f"teams is {result}; allowed: two teams in which each of the players 0 to {game.num_players() - 1} "
            "sits exactly once"
        )
    return result


def _require_zero_sum(tree: PublicTree) -> None:
    there = (tree.player == TERMINAL)[:, None] & (tree.chance > 0)
    if np.abs(tree.returns.sum(axis=2)[there]).max(initial=0.0) > ZERO_SUM_TOLERANCE:
        raise ValueError(
            f"the returns of {tree.game} do not sum to zero; a team equilibrium needs a zero-sum game (of a game with "
            "tied rewards use the game it was made from)"
        )
