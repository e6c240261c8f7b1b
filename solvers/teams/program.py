"""The part of two belief DAGs that has been discovered so far, and the linear program of the game played on it.

A team's correlated strategy is a flow through its belief DAG: 1 at every root; the flow x of a prescription arrives at
each belief it leads to, and prescriptions share out what arrives at their belief. Where others act, the flow goes on to
every child undivided. The chance that team A plays to a terminal z with joint type u is linear in it,

    y(z, u) = sum of the flows of all beliefs at z that contain u,

and so is what each belief of team B is then worth. B answers with the best prescription everywhere:

    maximise   sum over B's roots of worth(root)
    subject to worth(belief) <= sum over beliefs after it of worth, for each prescription of B    (multiplier: B's flow)
               worth(z, M) = sum over deals with B's types in M of chance * payoff to A * y(z, A's joint type)

The solution is an equilibrium of the game in which both teams may use only discovered prescriptions. McMahan, Gordon
and Blum, "Planning in the presence of cost functions controlled by an adversary" (2003), call adding best responses and
solving again a double oracle. Here what is added are prescriptions and not whole plans, so that a handful of best
responses already combine to very many plans.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse

from cardtable.rules import TERMINAL
from solvers.teams.beliefs import Belief, BestValues, Split, TeamBeliefs, TeamStrategy

TOLERANCE = 1e-9
ROUNDING = 1e-12  # flows below it are taken for zero


class DiscoveredDag:
    """Beliefs and prescriptions of one team that take part in the linear program."""

    def __init__(self, beliefs: TeamBeliefs) -> None:
        self.beliefs = beliefs
        self._stops = _stops(beliefs)
        # An *arrival* is a belief right after the deal or after a member's move; a *decision* one where a member acts.
        self.arrivals: dict[Belief, int] = {}
        self.decisions: dict[Belief, int] = {}
        self.prescriptions: dict[tuple[Belief, Split], int] = {}
        self.decisions_after: list[tuple[int, int]] = []  # (arrival, decision it leads to)
        self.arrivals_after: list[tuple[int, int]] = []  # (prescription, arrival it leads to)
        self._ends: list[tuple[int, int, np.ndarray]] = []  # (arrival, terminal it leads to, joint types in the belief)
        for root in beliefs.roots():
            self._arrive(root)
        self.num_roots = len(self.arrivals)

    def _arrive(self, belief: Belief) -> int:
        if belief in self.arrivals:
            return self.arrivals[belief]
        number = self.arrivals[belief] = len(self.arrivals)
        joint_types = self.beliefs.joint_types_in(belief)
        for stop in self._stops[belief.node]:
            if self.beliefs.member_at[stop] < 0:
                self._ends.append((number, stop, joint_types))
            else:
                decision = self.decisions.setdefault(belief._replace(node=stop), len(self.decisions))
                self.decisions_after.append((number, decision))
        return number

    def add(self, response: BestValues, everywhere: bool) -> int:
        """Adds the best prescriptions of the beliefs that a best response reaches, or of all beliefs known so far, and
        of the beliefs those lead to; says how many are new."""
        before = len(self.prescriptions)
        waiting = list(self.decisions) if everywhere else list(self.beliefs.roots())
        seen = set()
        while waiting:
            belief = waiting.pop()
            if belief in seen:
                continue
            seen.add(belief)
            if self.beliefs.member_at[belief.node] < 0:
                waiting += [belief._replace(node=stop) for stop in self._decisions_below(belief.node)]
                continue
            split = response.split(belief)
            if (belief, split) not in self.prescriptions:
                number = self.prescriptions[belief, split] = len(self.prescriptions)
                for after in self.beliefs.follow(split, belief):
                    self.arrivals_after.append((number, self._arrive(after)))
            waiting += self.beliefs.follow(split, belief)
        return len(self.prescriptions) - before

    def _decisions_below(self, node: int) -> list[int]:
        return [stop for stop in self._stops[node] if self.beliefs.member_at[stop] >= 0]

    def decision_of_prescription(self) -> np.ndarray:
        return np.array([self.decisions[belief] for belief, _ in self.prescriptions], np.int64)

    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Arrival, terminal and joint type of everything that ends without a further decision."""
        sizes = [len(joint_types) for _, _, joint_types in self._ends]
        arrival = np.repeat([arrival for arrival, _, _ in self._ends], sizes)
        terminal = np.repeat([terminal for _, terminal, _ in self._ends], sizes)
        return arrival, terminal, np.concatenate([joint_types for _, _, joint_types in self._ends])

    def strategy(self, flow: np.ndarray) -> TeamStrategy:
        """The strategy with these flows of prescriptions, cleaned of what rounding has left."""
        options: dict[Belief, list[tuple[float, Split]]] = defaultdict(list)
        for (belief, split), number in self.prescriptions.items():
            options[belief].append((float(flow[number]), split))
        choices = {}
        for belief, weighted in options.items():
            kept = [(share, split) for share, split in weighted if share > ROUNDING] or [(1.0, weighted[0][1])]
            total = sum(share for share, _ in kept)
            choices[belief] = [(share / total, split) for share, split in kept]
        return TeamStrategy(self.beliefs, choices)


def _stops(beliefs: TeamBeliefs) -> list[list[int]]:
    """Per node: the first nodes at or below it at which a member acts or the game ends."""
    tree = beliefs.tree
    stops: list[list[int]] = [[] for _ in range(tree.num_nodes)]
    for node in range(tree.num_nodes - 1, -1, -1):
        if beliefs.member_at[node] >= 0 or tree.player[node] == TERMINAL:
            stops[node] = [node]
        else:
            stops[node] = [stop for child in tree.children[node] for stop in stops[child]]
    return stops


class RestrictedEquilibrium(NamedTuple):
    value: float  # to the first team
    strategies: tuple[TeamStrategy, TeamStrategy]


class _Equations:
    """Collects the entries of a sparse matrix, a block of rows at a time."""

    def __init__(self) -> None:
        self.num_rows = 0
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def block(self, num_rows: int) -> int:
        """Reserves rows; returns the first."""
        self.num_rows += num_rows
        return self.num_rows - num_rows

    def add(self, rows: np.ndarray, columns: np.ndarray, value: float | np.ndarray) -> None:
        self._entries.append((rows, columns, np.broadcast_to(value, rows.shape)))

    def matrix(self, num_columns: int) -> scipy.sparse.csr_matrix:
        rows, columns, values = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        return scipy.sparse.csr_matrix((values, (rows, columns)), shape=(self.num_rows, num_columns))


def solve_restricted(first: DiscoveredDag, second: DiscoveredDag, payoff: np.ndarray) -> RestrictedEquilibrium:
    """An equilibrium among discovered prescriptions; `payoff` is (nodes, deals): chance * payoff to the first team."""
    tree = first.beliefs.tree
    terminals = np.flatnonzero(tree.player == TERMINAL)
    place = np.full(tree.num_nodes, -1)
    place[terminals] = np.arange(len(terminals))
    first_types, second_types = first.beliefs.num_joint_types, second.beliefs.num_joint_types

    # Variables: flows of arrivals and of prescriptions and y of the first team; payoff to every terminal and joint
    # type, worth of arrivals and of decisions of the second.
    sizes = (
        len(first.arrivals),
        len(first.prescriptions),
        len(terminals) * first_types,
        len(terminals) * second_types,
        len(second.arrivals),
        len(second.decisions),
    )
    starts = np.cumsum([0, *sizes]).tolist()
    arrival_flow, flow, reach, reward, arrival_worth, worth, num_variables = starts

    equations = _Equations()
    row = equations.block(len(first.arrivals))  # what arrives = what prescriptions send
    right_side = [np.zeros(len(first.arrivals))]
    right_side[0][: first.num_roots] = 1.0
    equations.add(row + np.arange(len(first.arrivals)), arrival_flow + np.arange(len(first.arrivals)), 1.0)
    sent = np.array(first.arrivals_after, np.int64).reshape(-1, 2)
    equations.add(row + sent[:, 1], flow + sent[:, 0], -1.0)

    row = equations.block(len(first.decisions))  # prescriptions share out what arrives
    equations.add(row + first.decision_of_prescription(), flow + np.arange(len(first.prescriptions)), 1.0)
    came = np.array(first.decisions_after, np.int64).reshape(-1, 2)
    equations.add(row + came[:, 1], arrival_flow + came[:, 0], -1.0)

    row = equations.block(sizes[2])  # y
    equations.add(row + np.arange(sizes[2]), reach + np.arange(sizes[2]), 1.0)
    arrival, terminal, joint_type = first.ends()
    equations.add(row + place[terminal] * first_types + joint_type, arrival_flow + arrival, -1.0)

    row = equations.block(sizes[3])  # what y is worth at each terminal to each joint type of the second team
    equations.add(row + np.arange(sizes[3]), reward + np.arange(sizes[3]), 1.0)
    index, deal = np.nonzero(payoff[terminals])
    equations.add(
        row + index * second_types + second.beliefs.joint_type[deal],
        reach + index * first_types + first.beliefs.joint_type[deal],
        -payoff[terminals][index, deal],
    )

    row = equations.block(len(second.arrivals))  # worth of arrivals
    equations.add(row + np.arange(len(second.arrivals)), arrival_worth + np.arange(len(second.arrivals)), 1.0)
    came = np.array(second.decisions_after, np.int64).reshape(-1, 2)
    equations.add(row + came[:, 0], worth + came[:, 1], -1.0)
    arrival, terminal, joint_type = second.ends()
    equations.add(row + arrival, reward + place[terminal] * second_types + joint_type, -1.0)
    right_side.append(np.zeros(equations.num_rows - len(right_side[0])))

    answers = _Equations()  # no decision is worth more than any of its prescriptions gives away
    answers.block(len(second.prescriptions))
    answers.add(np.arange(len(second.prescriptions)), worth + second.decision_of_prescription(), 1.0)
    sent = np.array(second.arrivals_after, np.int64).reshape(-1, 2)
    answers.add(sent[:, 0], arrival_worth + sent[:, 1], -1.0)

    objective = np.zeros(num_variables)
    objective[arrival_worth : arrival_worth + second.num_roots] = -1.0
    lowest = np.full(num_variables, -np.inf)
    lowest[:reward] = 0.0
    solution = scipy.optimize.linprog(
        objective,
        A_ub=answers.matrix(num_variables),
        b_ub=np.zeros(len(second.prescriptions)),
        A_eq=equations.matrix(num_variables),
        b_eq=np.concatenate(right_side),
        bounds=np.stack([lowest, np.full(num_variables, np.inf)], axis=1),
        method="highs-ipm",  # faster here than simplex, and it ends with a vertex as well
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if solution.status != 0:
        raise RuntimeError(f"HiGHS did not solve the linear program of {tree.game}: {solution.message}")
    return RestrictedEquilibrium(
        float(-solution.fun),
        (
            first.strategy(solution.x[flow : flow + len(first.prescriptions)]),
            second.strategy(-solution.ineqlin.marginals),
        ),
    )
