"""Tree search on open hands: finds what minimax finds, and asks its evaluator for nothing but what it may know."""

from typing import Literal

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.parameters import UserError
from cardtable.search.tree import TreeSearch

NAME = "python_gongzhu(suits=2,ranks=4)"


def dealt(seed: int) -> pyspiel.State:
    state, rng = pyspiel.load_game(NAME).new_initial_state(), np.random.default_rng(seed)
    while state.is_chance_node():
        state.apply_action(int(rng.choice([outcome for outcome, _ in state.chance_outcomes()])))
    return state


def minimax(state: pyspiel.State) -> float:
    """For seats 0 and 2."""
    if state.is_terminal():
        return state.returns()[0]
    values = [minimax(state.child(action)) for action in state.legal_actions()]
    return max(values) if state.current_player() % 2 == 0 else min(values)


def nothing_known(states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.full((len(rows), 8), 1 / 8), np.zeros((len(rows), 4))


@pytest.mark.parametrize("formula", ["uct", "puct"])
def test_it_approaches_minimax(formula: Literal["uct", "puct"]) -> None:
    states = [dealt(seed) for seed in range(6)]
    search = TreeSearch(states[0].get_game().rules, nothing_known, 60.0, formula)
    found = search.search(np.stack([state.array for state in states]), np.full(6, 3000))
    for number, state in enumerate(states):
        legal = state.legal_actions()
        assert found.visits[number].sum() == 3000
        assert np.isfinite(found.values[number][legal]).all()
        most = int(np.argmax(found.visits[number]))
        sign = 1 if state.current_player() % 2 == 0 else -1
        best = sign * minimax(state)
        assert sign * minimax(state.child(most)) == best
        assert found.values[number][most] == pytest.approx(best, abs=0.15 * 200)
        assert found.outcomes[number, most] == pytest.approx(
            found.values[number][most] * np.array([1, -1, 1, -1]) * sign
        )


def test_budgets_are_each_positions_own() -> None:
    states = np.stack([dealt(seed).array for seed in range(3)])
    search = TreeSearch(pyspiel.load_game(NAME).rules, nothing_known, 30.0)
    assert search.search(states, np.array([2, 5, 9])).visits.sum(axis=1).tolist() == [2, 5, 9]


def test_leaves_are_worth_what_the_evaluator_says() -> None:
    """With one iteration for each action, values are just those of the evaluator, seen by the one to move."""

    def evaluator(states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        last = np.array([[int(state[-1]) % 97] for state in states[rows]], float)
        return np.full((len(rows), 8), 1 / 8), last * np.array([[1.0, -1.0, 1.0, -1.0]])

    state = dealt(1)
    legal = state.legal_actions()
    found = TreeSearch(state.get_game().rules, evaluator, 30.0).search(state.array[None, :], np.array([len(legal)]))
    for action in legal:
        assert found.values[0, action] == int(state.child(action).array[-1]) % 97
        assert found.visits[0, action] == 1


def test_what_is_solved_is_not_searched() -> None:
    """All positions but the first are solved, each once: values are those of minimax, however often one is visited."""
    asked: list[bytes] = []

    def solver(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.extend(bytes(one) for one in states)
        values = np.array([minimax(state.child(by_array[bytes(one)])) for one in states])
        return np.ones(len(states), np.bool_), values[:, None] * np.array([[1.0, -1.0, 1.0, -1.0]])

    def surprised(states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert (states[rows] == state.array).all()
        return nothing_known(states, rows)

    state = dealt(2)
    by_array = {bytes(state.child(action).array): action for action in state.legal_actions()}
    search = TreeSearch(state.get_game().rules, surprised, 30.0, solver=solver)
    found = search.search(state.array[None, :], np.array([40]))
    sign = 1 if state.current_player() % 2 == 0 else -1
    for action in state.legal_actions():
        assert found.values[0, action] == sign * minimax(state.child(action))
    assert found.visits.sum() == 40
    assert sorted(asked) == sorted(by_array)


def test_bad_settings() -> None:
    rules = pyspiel.load_game(NAME).rules
    with pytest.raises(UserError, match="formula is 'best'"):
        TreeSearch(rules, nothing_known, 1.0, "best")  # type: ignore[arg-type]
