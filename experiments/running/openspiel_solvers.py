"""OpenSpiel's own solvers as trainers, so that runners treat them as they treat ours.

Checkpoints hold plain values only. The numbers of the Python solvers are taken out of and put back into the places
where those keep them; the C++ solvers write and read a text of their own, which they believe: a line that is too short
would make them read and write memory that is not theirs. So every text is read here first, and only what a solver of
the game could have written is handed on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import external_sampling_mccfr

from cardtable.player import Player, policy_player
from solvers.learning.states import MOST, require_state
from solvers.learning.trainer import CannotResumeError, game_identity, require_iterations

ROWS = ("num_actions", "numbers")  # of what meets information states as it goes
LONGEST_NUMBER = 10


class OpenSpielSolver(ABC):
    """One of OpenSpiel's solvers; `step` is the name of its method for one iteration."""

    def __init__(self, game: pyspiel.Game, solver: Any, step: str) -> None:
        self.game = game
        self.iterations = 0
        self._solver = solver
        self._step = step

    def run(self, iterations: int) -> None:
        require_iterations(iterations)
        step = getattr(self._solver, self._step)
        for _ in range(iterations):
            step()
        self.iterations += iterations

    def average_policy(self) -> openspiel_policy.Policy:
        return self._solver.average_policy()

    def player(self) -> Player:
        return policy_player("openspiel", self.game, self.average_policy())

    def metrics(self) -> dict[str, float]:
        """Nothing: the runner evaluates all policies alike."""
        return {}

    def identity(self) -> dict[str, Any]:
        kind = type(self._solver)
        return {**game_identity(self.game), "solver": f"OpenSpiel's {kind.__module__}.{kind.__qualname__}"}

    def get_state(self) -> dict[str, Any]:
        return {"identity": self.identity(), "iterations": self.iterations, **self._numbers()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        if state.get("identity") != self.identity():
            raise ValueError(f"the solver state is one of {state.get('identity')}, not of {self.identity()}")
        require_state(state, {"iterations": self.iterations})
        self._set_numbers(state)
        self.iterations = int(state["iterations"])

    @abstractmethod
    def _numbers(self) -> dict[str, Any]:
        """What the solver has added up so far."""

    @abstractmethod
    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        """Takes them back; ValueError, and nothing changed, if they cannot be those of this solver."""


class PythonCFR(OpenSpielSolver):
    """CFR and CFR+ in Python, which list the information states of the game in an order of their own."""

    def __init__(self, game: pyspiel.Game, make: type) -> None:
        super().__init__(game, make(game), "evaluate_and_update_policy")

    def _cells(self) -> list[tuple[Any, int]]:
        return [(node, action) for node in self._solver._info_state_nodes.values() for action in node.legal_actions]

    def _numbers(self) -> dict[str, Any]:
        cells = self._cells()
        return {
            "regrets": np.array([node.cumulative_regret[action] for node, action in cells]),
            "plans": np.array([node.cumulative_policy[action] for node, action in cells]),
            "strategy": self._solver._current_policy.action_probability_array.copy(),
        }

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        require_state(state, self._numbers())
        for (node, action), regret, plan in zip(self._cells(), state["regrets"], state["plans"], strict=True):
            node.cumulative_regret[action] = float(regret)
            node.cumulative_policy[action] = float(plan)
        self._solver._current_policy.action_probability_array[:] = state["strategy"]
        self._solver._iteration = int(state["iterations"])  # the weight of linear averages


class PythonExternalSampling(OpenSpielSolver):
    """External sampling in Python, which meets information states as it goes and draws from numpy's global numbers."""

    def __init__(self, game: pyspiel.Game, seed: int) -> None:
        np.random.seed(seed)
        super().__init__(game, external_sampling_mccfr.ExternalSamplingSolver(game), "iteration")

    def _numbers(self) -> dict[str, Any]:
        table = self._solver._infostates
        name, words, position, has_gauss, gauss = np.random.get_state()
        return {
            "information_states": list(table),
            "num_actions": np.array([len(regrets) for regrets, _ in table.values()], np.int64),
            "numbers": np.concatenate([np.zeros((2, 0)), *(np.stack(row) for row in table.values())], axis=1),
            "numpy": [name, position, has_gauss, gauss],
            "numpy_words": words,
        }

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        self._require_numbers(state)
        rows = np.split(state["numbers"], np.cumsum(state["num_actions"])[:-1], axis=1)
        named = zip(state["information_states"], rows, strict=False)  # none at all still splits into one empty row
        name, position, has_gauss, gauss = state["numpy"]
        np.random.set_state((name, state["numpy_words"], position, has_gauss, gauss))
        self._solver._infostates.clear()
        self._solver._infostates.update({name: [row[0].copy(), row[1].copy()] for name, row in named})

    def _require_numbers(self, state: Mapping[str, Any]) -> None:
        own = {**self._numbers(), "numbers": np.empty((0, 2))}
        require_state({**state, "numbers": np.transpose(state.get("numbers", 0))}, own, dict.fromkeys(ROWS, MOST))
        names, counts = state["information_states"], state["num_actions"].tolist()
        known = actions_of_information_states(self.game)
        if len(names) != len(counts) or sum(counts) != state["numbers"].shape[1]:
            raise ValueError("information_states, num_actions and numbers of the solver state do not fit each other")
        for name, count in zip(names, counts, strict=True):
            if not isinstance(name, str) or len(known.get(name, ())) != count:
                raise ValueError(f"the solver state has {count} actions at {name!r}; {self.game} has others")
        fits = [type(value) for value in state["numpy"]] == [str, int, int, float]
        if not fits or state["numpy"][0] != "MT19937" or not 0 <= state["numpy"][1] <= len(state["numpy_words"]):
            raise ValueError("the solver state has no state of numpy's generator")


TABLE_BEGINS = "[SolverValuesTable]\n"
SEPARATOR = "<~>"


def _without_numbers(line: str) -> str:
    """Counts and random numbers of a text change, and are as harmless as they are few."""
    return " ".join("0" if word.isdecimal() and len(word) <= LONGEST_NUMBER else word for word in line.split(" "))


def table_rows(table: str) -> list[tuple[str, list[int], list[list[float]]]] | None:
    """The rows of a C++ table: information state, actions, and three lists of numbers; None if it is no table."""
    cells = table.rstrip("\n").split(SEPARATOR) if table.strip() else []
    if len(cells) % 2 or any("\n" in cell for cell in cells[1::2]):
        return None
    try:
        rows = []
        for name, cell in zip(cells[::2], cells[1::2], strict=True):
            actions, *numbers = cell.split(";")
            if len(numbers) != 3:
                return None
            parts = [[float.fromhex(number) for number in part.split(",")] for part in numbers]
            rows.append((name, [int(action) for action in actions.split(",")], parts))
        return rows
    except (ValueError, OverflowError):
        return None


def actions_of_information_states(game: pyspiel.Game) -> dict[str, list[int]]:
    """What can be done at each information state of a game; OpenSpiel's CFR walks all of it to know that."""
    table = pyspiel.CFRSolver(game).__getstate__().partition(TABLE_BEGINS)[2]
    return {name: actions for name, actions, _ in table_rows(table) or ()}


class CppSolver(OpenSpielSolver):
    """A solver in C++, random numbers included."""

    def average_policy(self) -> openspiel_policy.Policy:
        return CppPolicy(self.game, self._solver)

    def _numbers(self) -> dict[str, Any]:
        return {"text": self._solver.__getstate__()}

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        text = state.get("text")
        problem = "it is no text" if not isinstance(text, str) else self._problem(text)
        if problem:
            raise ValueError(f"the solver state cannot be read: {problem}")
        kind: Any = type(self._solver)
        solver = kind.__new__(kind)
        try:
            solver.__setstate__(text)
        except pyspiel.SpielError as error:
            raise ValueError(f"the solver state cannot be read: {str(error).splitlines()[0]}") from None
        self._solver = solver

    def _problem(self, text: str) -> str | None:
        """What this solver cannot have written, if anything: everything in front of the table is compared with what it
        writes now, numbers apart, and every row of the table with the game."""
        head, mark, table = text.partition(TABLE_BEGINS)
        own_head = self._solver.__getstate__().partition(TABLE_BEGINS)[0]
        if not mark or [*map(_without_numbers, head.splitlines())] != [*map(_without_numbers, own_head.splitlines())]:
            return "it is not of this solver and this game"
        known = actions_of_information_states(self.game)
        rows = table_rows(table)
        if rows is None or len({name for name, _, _ in rows}) < len(rows):
            return "its table has rows that are none"
        for name, actions, numbers in rows:
            if known.get(name) != actions or any(len(part) != len(actions) for part in numbers):
                return f"its table has other actions at {name!r} than {self.game}"
            if not all(math.isfinite(number) for part in numbers for number in part):
                return "its table has entries that are no finite numbers"
        if isinstance(self._solver, pyspiel.CFRSolver) and len(rows) < len(known):
            return "its table is not whole"
        return None


class CppCFRPlus(CppSolver):
    """Read back from its own text, OpenSpiel 2.0.2's CFR+ keeps negative regrets and forgets linear averaging."""

    def _numbers(self) -> dict[str, Any]:
        raise CannotResumeError("OpenSpiel's CFRPlusSolver is plain CFR when it is read back, so it cannot be resumed")

    def _set_numbers(self, state: Mapping[str, Any]) -> None:
        self._numbers()


class CppPolicy(openspiel_policy.Policy):
    """A C++ policy as a Python one. Holds on to its solver: the policy dies with it."""

    def __init__(self, game: pyspiel.Game, solver: Any) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._solver = solver
        self._cpp = solver.average_policy()

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        return self._cpp.action_probabilities(state)
