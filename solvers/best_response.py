"""Exact best responses, NashConv and exploitability, for any number of players.

Against fixed plans of the others, player i's best response chooses at every information set, from the leaves up, an
action of the highest counterfactual value (the formula in `solvers.arrays.sequence_form`, with a maximum in the place
of the strategy). With u_i(policy) the expected return of player i,

    gain_i = max over policies of i of u_i - u_i(policy),     NashConv = sum of gains,
    exploitability = NashConv / number of players                                    (OpenSpiel's definitions).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from cardtable.parameters import UserError, require_player
from cardtable.progress import LateProgress
from solvers.arrays.sequence_form import SequenceForm, sequence_form
from solvers.arrays.sweeps import evaluate_plans, plans_of
from solvers.policies import TablePolicy
from solvers.sampling.keys import KeyIndex

Policy: TypeAlias = "openspiel_policy.Policy | pyspiel.Policy"

# Policies of neural networks are only as normalised as 32-bit floats are.
SUM_TOLERANCE = 1e-4


class Evaluation(NamedTuple):
    """What a profile is worth to each player, and what a best response to it would be worth."""

    values: np.ndarray
    best_response_values: np.ndarray
    best_actions: np.ndarray  # per information set: the index of a best action

    @property
    def gains(self) -> np.ndarray:
        return self.best_response_values - self.values

    @property
    def nash_conv(self) -> float:
        return float(self.gains.sum())

    @property
    def exploitability(self) -> float:
        return self.nash_conv / len(self.values)


class BestResponse(NamedTuple):
    """A best response of one player: its value, and the profile in which the player follows it."""

    value: float
    policy: TablePolicy


@overload
def nash_conv(
    game: pyspiel.Game | SequenceForm, policy: Policy, return_per_player: Literal[False] = False
) -> float: ...


@overload
def nash_conv(
    game: pyspiel.Game | SequenceForm, policy: Policy, return_per_player: Literal[True]
) -> tuple[float, np.ndarray]: ...


def nash_conv(
    game: pyspiel.Game | SequenceForm, policy: Policy, return_per_player: bool = False
) -> float | tuple[float, np.ndarray]:
    """Exact NashConv of any OpenSpiel policy; with `return_per_player` also each player's gain."""
    result = evaluate(game, policy)
    return (result.nash_conv, result.gains) if return_per_player else result.nash_conv


def exploitability(game: pyspiel.Game | SequenceForm, policy: Policy) -> float:
    """NashConv divided by the number of players."""
    return evaluate(game, policy).exploitability


def best_response(game: pyspiel.Game | SequenceForm, policy: Policy, player: int) -> BestResponse:
    """An exact best response of `player` to what the others do in `policy`."""
    form = sequence_form(game)
    require_player(player, form.num_players)
    probabilities = probabilities_of(form, policy)
    result = evaluate_probabilities(form, probabilities)
    for information_set in np.flatnonzero(form.owner == player).tolist():
        where = form.sequences(information_set)
        probabilities[where] = 0.0
        probabilities[where.start + where.step * result.best_actions[information_set]] = 1.0
    return BestResponse(float(result.best_response_values[player]), TablePolicy.of_form(form, probabilities))


def evaluate(game: pyspiel.Game | SequenceForm, policy: Policy) -> Evaluation:
    """Values, best-response values and best actions against a policy."""
    form = sequence_form(game)
    return evaluate_probabilities(form, probabilities_of(form, policy))


def evaluate_probabilities(form: SequenceForm, probabilities: np.ndarray) -> Evaluation:
    """The same for a table of behaviour probabilities over the sequences of `form`."""
    if probabilities.shape != (form.num_sequences,) or probabilities.dtype != np.float64:
        raise UserError(
            f"probabilities are {probabilities.dtype} of shape {probabilities.shape}; "
            f"allowed: float64 of shape ({form.num_sequences},), one for each sequence of {form.game}"
        )
    plan = form.empty_plan()
    plans_of(form.arrays.batches, form.arrays.parent, probabilities, plan)
    return Evaluator(form)(plan)


class Evaluator:
    """Evaluates many plans of one game without allocating anything but the results."""

    def __init__(self, form: SequenceForm) -> None:
        self._arrays = tuple(form.arrays)
        self._num_players = form.num_players
        self._unit = form.probability_unit
        self._values = np.zeros(form.num_sequences)
        self._scratch = form.scratch()[0]
        self._best_actions = np.zeros(form.num_information_sets, np.int32)

    def __call__(self, plan: np.ndarray, scale: float = 1.0) -> Evaluation:
        """`plan` may be a multiple of a plan, such as a sum; `scale` is one over that multiple."""
        best_values, plan_values = np.empty(self._num_players), np.empty(self._num_players)
        evaluate_plans(
            self._arrays, plan, scale, self._values, self._best_actions, self._scratch, best_values, plan_values
        )
        return Evaluation(plan_values * self._unit, best_values * self._unit, self._best_actions)


def probabilities_of(form: SequenceForm, policy: Policy) -> np.ndarray:
    """A policy as a table over the sequences of `form`.

    Tables are read by their keys or strings, policies that offer `in_order_of(form)` make a table themselves; any other
    policy is asked once for every information set.
    """
    if not hasattr(policy, "action_probabilities") and not isinstance(policy, pyspiel.Policy):
        raise UserError(f"the policy is {policy!r}; allowed: policies of OpenSpiel, with action_probabilities(state)")
    in_order = policy.in_order_of(form) if hasattr(policy, "in_order_of") else None
    policy = policy if in_order is None else in_order
    if isinstance(policy, TablePolicy) and policy.actions is form.actions:
        return policy.probabilities.copy()
    probabilities = np.ones(form.num_sequences)
    if isinstance(policy, TablePolicy) and (policy.keys is None) == (form.keys is None):
        _copy_table(form, policy, probabilities)
        return probabilities
    ask = _table_reader(form, policy)
    if ask is not None:
        for information_set in range(form.num_information_sets):
            _enter(form, information_set, ask(information_set), probabilities)
        return probabilities
    with LateProgress("asking the policy", form.num_information_sets) as progress:
        for done, (information_set, state) in enumerate(form.representative_states()):
            _enter(form, information_set, policy.action_probabilities(state), probabilities)
            if done % 1000 == 0:
                progress.update(done)
    return probabilities


def _copy_table(form: SequenceForm, policy: TablePolicy, probabilities: np.ndarray) -> None:
    """Reads a table of the same game in another order, all information sets with equally many actions at once."""
    if form.keys is not None and policy.keys is not None:
        found = KeyIndex(policy.keys).find_all(form.keys)
    else:
        numbers = {name: i for i, name in enumerate(zip(policy.owner.tolist(), policy.strings or [], strict=True))}
        names = zip(form.owner.tolist(), form.strings or [], strict=True)
        found = np.fromiter((numbers.get(name, -1) for name in names), np.int64, form.num_information_sets)
    if policy.missing == "error" and (found < 0).any():
        raise ValueError(
            f"the policy has no entry for {(found < 0).sum()} of {form.num_information_sets} information sets of "
            f"{form.game}; load it with missing='uniform' to play those at random"
        )
    count, first, stride = policy.places
    for number in np.unique(form.num_actions):
        ours = np.flatnonzero(form.num_actions == number)
        theirs = found[ours]
        known = theirs >= 0
        for action in range(number):
            target = form.first_sequence[ours] + action * form.stride[ours]
            probabilities[target] = 1.0 / number
            source = first[theirs[known]] + action * stride[theirs[known]]
            if (count[theirs[known]] != number).any() or (policy.actions[source] != form.actions[target[known]]).any():
                raise ValueError(f"the policy's legal actions are not those of {form.game}")
            probabilities[target[known]] = policy.probabilities[source]


def _table_reader(form: SequenceForm, policy: Policy) -> Callable[[int], dict[int, float]] | None:
    """A function from information sets to {action: probability}, for policies that can be read without a state."""
    if type(policy) is openspiel_policy.TabularPolicy and form.strings is not None:
        strings, numbers, table = form.strings, policy.state_lookup, policy.action_probability_array

        def read(information_set: int) -> dict[int, float]:
            row = table[_entry(numbers, strings[information_set], form.game)]
            return {action: row[action] for action in form.legal_actions(information_set).tolist()}

        return read
    if isinstance(policy, pyspiel.TabularPolicy) and form.strings is not None:
        entries, names = policy.policy_table(), form.strings
        return lambda information_set: dict(_entry(entries, names[information_set], form.game))
    return None


def _entry(table: Mapping[str, Any], name: str, game: pyspiel.Game) -> Any:
    if name not in table:
        raise UserError(f"the policy has no entry for {name!r} of {game}")
    return table[name]


def _enter(form: SequenceForm, information_set: int, answer: dict[int, float], probabilities: np.ndarray) -> None:
    actions = form.legal_actions(information_set)
    if not isinstance(answer, Mapping):
        raise UserError(f"the policy answers {answer!r}; allowed: a dict from actions to probabilities")
    row = [answer.get(action, 0.0) for action in actions.tolist()]
    if (
        not all(isinstance(chance, numbers.Real) for chance in row)
        or min(row) < 0.0
        or not abs(sum(row) - 1.0) <= SUM_TOLERANCE
    ):
        name = form.name(information_set)
        raise ValueError(
            f"the policy gives the legal actions {actions.tolist()} at {name} the probabilities {row}; "
            "they must not be negative and sum to one"
        )
    probabilities[form.sequences(information_set)] = row
