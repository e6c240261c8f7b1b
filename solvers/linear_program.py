"""Exact equilibria of two-player zero-sum games by one linear program.

Koller, Megiddo and von Stengel (1994). Player 0's plan x maximises what player 1's best response leaves of it. With
payoff matrix A over pairs of sequences and one variable q per information set of player 1 (and one for the root):

    maximise q(root)   subject to   x a plan,   and for every sequence s of player 1
    q(information set of s) - sum of q over the information sets below s  <=  sum over r of A[r, s] * x(r).

The multipliers of the inequalities are player 1's plan. Solved by HiGHS through scipy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyspiel
import scipy.optimize
import scipy.sparse

from solvers.arrays.sequence_form import SequenceForm, sequence_form
from solvers.arrays.sweeps import normalise
from solvers.best_response import evaluate_probabilities
from solvers.policies import TablePolicy

TOLERANCE = 1e-10  # HiGHS's smallest


class Equilibrium(NamedTuple):
    """The value to player 0, a policy with both players' equilibrium strategies, and the NashConv it really has."""

    value: float
    policy: TablePolicy
    nash_conv: float


def solve(game: pyspiel.Game | SequenceForm) -> Equilibrium:
    """An exact equilibrium, up to the tolerance of the LP solver (1e-10)."""
    form = sequence_form(game)
    kind = form.game.get_type().utility
    if form.num_players != 2 or kind != pyspiel.GameType.Utility.ZERO_SUM:
        raise ValueError(
            f"{form.game} has {form.num_players} players and utility {kind}; "
            "the linear program solves two-player zero-sum games"
        )
    own, other = (_Player(form, player) for player in (0, 1))
    payoff = payoff_matrix(form, 0)[own.sequences][:, other.sequences]
    # Variables: player 0's plan, then q of the root and of player 1's information sets.
    num_plan, num_q = len(own.sequences), other.flow.shape[0]
    solution = scipy.optimize.linprog(
        c=np.concatenate([np.zeros(num_plan), [-1.0], np.zeros(num_q - 1)]),
        A_ub=scipy.sparse.hstack([-payoff.T, other.flow.T], format="csr"),
        b_ub=np.zeros(len(other.sequences)),
        A_eq=scipy.sparse.hstack([own.flow, scipy.sparse.csr_matrix((own.flow.shape[0], num_q))], format="csr"),
        b_eq=np.concatenate([[1.0], np.zeros(own.flow.shape[0] - 1)]),
        bounds=[(0.0, None)] * num_plan + [(None, None)] * num_q,
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if solution.status != 0:
        raise RuntimeError(f"HiGHS did not solve the linear program of {form.game}: {solution.message}")
    plan = np.zeros(form.num_sequences)
    plan[own.sequences] = solution.x[:num_plan]
    plan[other.sequences] = -solution.ineqlin.marginals
    probabilities = np.ones(form.num_sequences)
    normalise(form.arrays.batches, plan, probabilities)
    return Equilibrium(
        float(solution.x[num_plan]),
        TablePolicy.of_form(form, probabilities),
        evaluate_probabilities(form, probabilities).nash_conv,
    )


class _Player:
    """A player's sequences, the empty one first, and the matrix F of the plan constraints F x = (1, 0, 0, ...)."""

    def __init__(self, form: SequenceForm, player: int) -> None:
        sets = np.flatnonzero(form.owner == player)
        per_set = [np.arange(form.num_sequences)[form.sequences(number)] for number in sets.tolist()]
        self.sequences = np.concatenate([[player], *per_set]).astype(np.int64)
        place = np.full(form.num_sequences, -1)
        place[self.sequences] = np.arange(len(self.sequences))
        row_of = np.repeat(np.arange(1, len(sets) + 1), form.num_actions[sets])
        parents = place[form.parent[sets].astype(np.int64)]
        rows = np.concatenate([[0], row_of, np.arange(1, len(sets) + 1)])
        columns = np.concatenate([[0], np.arange(1, len(self.sequences)), parents])
        signs = np.concatenate([np.ones(len(self.sequences)), -np.ones(len(sets))])
        self.flow = scipy.sparse.csr_matrix((signs, (rows, columns)), shape=(len(sets) + 1, len(self.sequences)))


def payoff_matrix(form: SequenceForm, player: int) -> scipy.sparse.csr_matrix:
    """Chance probability * utility to `player` of each pair of sequences, in a two-player game."""
    own = form.row_of_entry()
    entries = np.flatnonzero(form.owner_of_sequence()[own] == player)
    return scipy.sparse.csr_matrix(
        (
            form.probability_unit * form.arrays.weight[entries],
            (own[entries], form.arrays.others[0, entries].astype(np.int64)),
        ),
        shape=(form.num_sequences, form.num_sequences),
    )
