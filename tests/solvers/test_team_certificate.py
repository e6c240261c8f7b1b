"""Team equilibria checked by another route: integer programs over pyspiel states, which know nothing of beliefs.

A pure plan of a team is a 0/1 sequence-form strategy x of each member. With r(h) in [0, 1] for what the team
contributes to a history h (only its members' private cards and the public actions matter),

    r(root) = 1,   sum over a of r(ha) = r(h) and r(ha) <= x(I, a) where a member acts,   r(ha) = r(h) elsewhere,

the best response to fixed opponents maximises sum over ends z of r(z) * chance * the opponents' probability * payoff.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel
import pytest
import scipy.optimize
import scipy.sparse

import cardspiel  # noqa: F401
from coinche_spiel.small import SMALL_VARIANTS
from solvers import team
from solvers.cfr import CFRSolver
from solvers.team import TeamGame
from solvers.teams.beliefs import TeamStrategy

Policy = Callable[[pyspiel.State], Mapping[int, float]]
Lottery = Sequence[tuple[float, Policy]]
TIED = "python_tied_rewards(game=python_kuhn_collab())"


class Here(NamedTuple):
    """Where the walk over the game stands."""

    weights: np.ndarray  # chance * how likely each policy of the opponents' lottery plays to here
    cards: tuple[str, ...]  # the members' private information after the deal
    actions: tuple[int, ...]  # everything since
    flow: int  # the variable r
    sequences: tuple[int, ...]  # the variable x of each member's last action


class IntegerProgram:
    """Collects variables and rows `low <= sum of coefficient * variable <= 0` while the game is walked."""

    def __init__(self, game: pyspiel.Game, members: Sequence[int], opponents: Lottery) -> None:
        self.members = tuple(members)
        self.policies = [policy for _, policy in opponents]
        self.variables: dict[tuple, int] = {("one",): 0}
        self.rows: dict[tuple, tuple[float, list[tuple[int, float]]]] = {}
        self.gain: dict[int, float] = {}
        self.deal(game.new_initial_state(), np.array([probability for probability, _ in opponents]))

    def variable(self, *name: object) -> int:
        return self.variables.setdefault(name, len(self.variables))

    def deal(self, state: pyspiel.State, weights: np.ndarray) -> None:
        if state.is_chance_node():
            for outcome, probability in state.chance_outcomes():
                self.deal(state.child(outcome), weights * probability)
            return
        cards = tuple(state.information_state_string(member) for member in self.members)
        self.walk(state, Here(weights, cards, (), 0, (0,) * len(self.members)))

    def walk(self, state: pyspiel.State, here: Here) -> None:
        if not here.weights.any():
            return
        if state.is_terminal():
            payoff = sum(state.returns()[member] for member in self.members)
            self.gain[here.flow] = self.gain.get(here.flow, 0.0) + here.weights.sum() * payoff
        elif state.current_player() in self.members:
            self.walk_own(state, here)
        else:
            chances = [policy(state) for policy in self.policies]
            for action in state.legal_actions():
                weights = here.weights * [chance.get(action, 0.0) for chance in chances]
                self.walk(state.child(action), here._replace(weights=weights, actions=(*here.actions, action)))

    def walk_own(self, state: pyspiel.State, here: Here) -> None:
        number = self.members.index(state.current_player())
        looks = state.information_state_string()
        chosen = {action: self.variable("x", looks, action) for action in state.legal_actions()}
        self.rows["x", looks] = 0.0, [(here.sequences[number], -1.0), *((x, 1.0) for x in chosen.values())]
        flows = {}
        for action, x in chosen.items():
            flows[action] = self.variable("r", here.cards, *here.actions, action)
            self.rows["below", flows[action]] = -np.inf, [(flows[action], 1.0), (x, -1.0)]
            sequences = tuple(x if i == number else old for i, old in enumerate(here.sequences))
            after = Here(here.weights, here.cards, (*here.actions, action), flows[action], sequences)
            self.walk(state.child(action), after)
        self.rows["r", here.cards, here.actions] = 0.0, [(here.flow, -1.0), *((r, 1.0) for r in flows.values())]

    def best_value(self) -> float:
        """The proven optimum."""
        low = np.array([row[0] for row in self.rows.values()])
        entries = [(i, column, value) for i, (_, terms) in enumerate(self.rows.values()) for column, value in terms]
        places, columns, values = zip(*entries, strict=True)
        size = len(self.variables)
        matrix = scipy.sparse.csr_matrix((values, (places, columns)), shape=(len(low), size))
        objective = np.zeros(size)
        for flow, gain in self.gain.items():
            objective[flow] = -gain
        lowest = np.zeros(size)
        lowest[0] = 1.0
        result = scipy.optimize.milp(
            objective,
            integrality=[name[0] == "x" for name in self.variables],
            bounds=scipy.optimize.Bounds(lowest, 1.0),
            constraints=scipy.optimize.LinearConstraint(matrix, low, 0.0),
            options={"mip_rel_gap": 1e-9},
        )
        assert result.status == 0, result.message
        return float(-result.mip_dual_bound)


def as_lottery(game: TeamGame, strategy: TeamStrategy) -> Lottery:
    """A correlated strategy as OpenSpiel players see it: plans by information-state string."""

    def policy_of(plan: TeamStrategy) -> Policy:
        told = plan.told()
        actions = {
            example.state.information_state_string(): told[example.node, example.type]
            for example in game.tree.examples
            if (example.node, example.type) in told
        }
        # Nothing is told where the plan itself never leads.
        return lambda state: {actions.get(state.information_state_string(), -1): 1.0}

    return [(probability, policy_of(plan)) for probability, plan in strategy.plans()]


@pytest.mark.parametrize(
    ("name", "teams", "value"),
    [
        pytest.param("kuhn_poker(players=4)", ((0, 1), (2, 3)), -0.0368421053, id="kuhn_poker"),
        # Cards played rule out types, and legal moves depend on them.
        pytest.param(SMALL_VARIANTS["M0"], ((0, 2), (1, 3)), 20.0, id="mini_coinche"),
        pytest.param("python_kuhn_collab", ((0, 2), (1, 3)), 0.0516054153, id="kuhn_collab", marks=pytest.mark.slow),
    ],
)
def test_integer_programs_confirm_what_the_lotteries_guarantee(name: str, teams: tuple, value: float) -> None:
    """Nobody can do better against either team's lottery, so the value is what both guarantee."""
    game = TeamGame(pyspiel.load_game(name), teams)
    equilibrium = team.solve(game)
    first, second = (as_lottery(game, strategy) for strategy in equilibrium.strategies)
    assert -IntegerProgram(game.tree.game, teams[1], first).best_value() == pytest.approx(value, abs=1e-8)
    assert IntegerProgram(game.tree.game, teams[0], second).best_value() == pytest.approx(value, abs=1e-8)


@pytest.mark.slow
def test_integer_programs_confirm_what_tied_cfr_guarantees() -> None:
    game = TeamGame(pyspiel.load_game("python_kuhn_collab"))
    solver = CFRSolver(pyspiel.load_game(TIED), "cfr", alternating=False, initial="random", seed=3)
    solver.run(1000)
    policy = solver.average_policy()
    guarantee = team.team_exploitability(game, policy).guarantees[0]
    best = IntegerProgram(game.tree.game, (1, 3), [(1.0, policy.action_probabilities)]).best_value()
    assert guarantee == pytest.approx(-best, abs=1e-8)
    assert guarantee < -0.1
