"""What a programmer may get wrong: numbers of players, actions, iterations, policies. Refused in a sentence; compiled
code, which does not look, is never asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.observation import make_observation

import cardspiel  # noqa: F401 registers our games
from cardtable.batch import Batch, play_out
from cardtable.player import find_player, policy_player
from cardtable.randomness import streams
from solvers.best_response import best_response, evaluate_probabilities, nash_conv
from solvers.cfr import CFRSolver
from solvers.mccfr import ExternalSamplingSolver
from solvers.policies import TablePolicy
from tests.variants import QUICK

WRONG_PLAYERS = (-1, -2, -4, 9, 1 << 40, 1.0, "0", True)


def first_decision(game: pyspiel.Game) -> pyspiel.State:
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    return state


def refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError, pyspiel.SpielError), match=message):
        call()


@pytest.mark.parametrize("name", QUICK)
def test_players_that_do_not_exist(name: str) -> None:
    game = pyspiel.load_game(name)
    observer = make_observation(game)
    for state in (game.new_initial_state(), first_decision(game)):
        for player in WRONG_PLAYERS:
            message = rf"player is {player!r}; allowed: 0 to {game.num_players() - 1}"
            refused(lambda: state.information_key(player), message)  # noqa: B023 called at once
            refused(lambda: state.resample_from_infostate(player, lambda: 0.5), message)  # noqa: B023
            own = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True))
            refused(lambda: own.set_from(state, player), message)  # noqa: B023
            refused(lambda: own.string_from(state, player), message)  # noqa: B023
            if isinstance(player, int) and not isinstance(player, bool):
                for ask in (
                    state.information_state_tensor,
                    state.information_state_string,
                    state.observation_tensor,
                    state.observation_string,
                    lambda player: observer.set_from(state, player),  # noqa: B023
                ):
                    refused(lambda: ask(player), "player|incompatible")  # noqa: B023
    refused(lambda: game.new_initial_state().information_key(), "player is -1")


@pytest.mark.parametrize("name", QUICK)
def test_actions_that_do_not_exist_have_no_name(name: str) -> None:
    game = pyspiel.load_game(name)
    state = first_decision(game)
    for action in (-1, game.num_distinct_actions(), 999, 1 << 40):
        refused(lambda: state.action_to_string(state.current_player(), action), rf"action is {action}; allowed: 0 to")  # noqa: B023
    refused(lambda: state.action_to_string(9, state.legal_actions()[0]), "player is 9")
    start = game.new_initial_state()
    refused(lambda: start.action_to_string(pyspiel.PlayerId.CHANCE, 999), "action is 999")
    for action in state.legal_actions():
        assert state.action_to_string(state.current_player(), action)


def test_every_action_of_every_player_has_a_name_or_is_refused() -> None:
    """Also those that are not legal now: nothing but words and sentences."""
    for name in QUICK:
        game = pyspiel.load_game(name)
        state = first_decision(game)
        for player in range(game.num_players()):
            for action in range(game.num_distinct_actions()):
                try:
                    assert isinstance(state.action_to_string(player, action), str)
                except ValueError as error:
                    assert "allowed: one that means something now" in str(error)  # noqa: PT017 either will do


def test_iterations_and_sizes() -> None:
    rules = pyspiel.load_game("python_kuhn_collab").rules
    solver = CFRSolver(pyspiel.load_game("kuhn_poker"))
    not_counts: tuple[Any, ...] = (-1, 1.5, "3", None, True, float("nan"))
    for wrong in not_counts:
        refused(lambda: solver.run(wrong), "iterations is .*allowed: 0 or more")  # noqa: B023
        refused(lambda: play_out(rules, wrong), "games is .*allowed: 0 or more")  # noqa: B023
        refused(lambda: Batch(rules, wrong), "size is .*allowed: 0 or more")  # noqa: B023
    solver.run(np.int64(2))  # type: ignore[arg-type]
    assert solver.iterations == 2


def test_bots_sit_on_seats_and_at_their_own_table() -> None:
    game, other = pyspiel.load_game("python_kuhn_collab"), pyspiel.load_game("python_gongzhu")
    player = find_player("random", game)
    no_seats: tuple[Any, ...] = (-1, 4, 1.0)
    for seat in no_seats:
        refused(lambda: player.bot(game, seat), "seat is .*allowed: 0 to 3")  # noqa: B023
    state = first_decision(other)
    heuristic = find_player("greed", other)
    bot = heuristic.bot(other, state.current_player())
    at_home = first_decision(game)
    refused(lambda: heuristic.bot(other, at_home.current_player()).step(at_home), "this bot plays python_gongzhu")
    assert bot.step(state) in state.legal_actions()


class Odd(openspiel_policy.Policy):
    """A policy that answers the same wherever it is asked."""

    def __init__(self, game: pyspiel.Game, answer: Any) -> None:
        super().__init__(game, list(range(game.num_players())))
        self.answer = answer

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> Any:
        return self.answer


ODD_ANSWERS: tuple[Any, ...] = (
    None,
    [0.5, 0.5],
    {},
    {0: 2.0},
    {0: -1.0, 1: 2.0},
    {0: float("nan"), 1: 0.5},
    {0: float("inf")},
    {0: "x", 1: 1.0},
    {0: None, 1: 1.0},
)


@pytest.mark.parametrize("name", ["random", "strong", "monte_carlo(worlds=2,rollout=random)"])
def test_players_are_asked_for_rows_that_exist(name: str) -> None:
    game = pyspiel.load_game("python_coinche")
    choose = find_player(name, game).choose_rows
    assert choose is not None
    states, generators = Batch(game.rules, 3, seed=1).states, streams(1, (0,), range(3))
    assert len(choose(states, np.arange(3), generators)) == 3
    for rows in ([3], [-1], [1 << 40], [0, 1, 7]):
        wrong = np.array(rows, np.int64)
        refused(lambda: choose(states, wrong, generators[: len(wrong)]), "rows is .*allowed: 0 to 2")  # noqa: B023
    refused(lambda: choose(states, np.zeros((1, 1), np.int64), generators[:1]), "in one dimension")
    refused(lambda: choose(states, np.arange(3), generators[:2]), "one for each of the rows")
    refused(lambda: choose(states[:, 1:], np.arange(3), generators), "the shape of states is")
    refused(lambda: choose(states[0], np.arange(1), generators[:1]), "the shape of states is")


def test_policies_of_wrong_types() -> None:
    game = pyspiel.load_game("kuhn_poker")
    wrong: tuple[Any, ...] = (None, "cfr", 7, {}, [0.5])
    for policy in wrong:
        refused(lambda: nash_conv(game, policy), "the policy is .*; allowed: policies of OpenSpiel")  # noqa: B023
    for answer in ODD_ANSWERS:
        refused(lambda: nash_conv(game, Odd(game, answer)), "the policy (gives|answers)")  # noqa: B023
        bot = policy_player("odd", game, Odd(game, answer)).bot(game, 0)
        if answer not in (None, [0.5, 0.5], {0: 2.0}):
            refused(lambda: bot.step(first_decision(game)), "probabilities|float")  # noqa: B023
    other = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("leduc_poker"))
    for foreign in (openspiel_policy.TabularPolicy(pyspiel.load_game("leduc_poker")), pyspiel.TabularPolicy({})):
        refused(lambda: nash_conv(game, foreign), "no entry for")  # noqa: B023
    assert nash_conv(game, other) > 0.0  # uniform is uniform
    refused(lambda: best_response(game, other, 2), "player is 2; allowed: 0 to 1")


def test_tables_of_wrong_lengths() -> None:
    solver = CFRSolver(pyspiel.load_game("kuhn_poker"))
    form, policy = solver.form, solver.average_policy()
    for wrong in (policy.probabilities[1:], policy.probabilities.astype(np.float32), np.ones((2, 3))):
        refused(lambda: evaluate_probabilities(form, wrong), "allowed: float64 of shape")  # noqa: B023
    parts = (policy.owner, policy.places, policy.actions)
    refused(lambda: TablePolicy(form.game, *parts, policy.probabilities[1:]), "as many of each")
    refused(lambda: TablePolicy(form.game, policy.owner[1:], *parts[1:], policy.probabilities), "as many of each")


def test_sampling_is_asked_for_players_that_exist() -> None:
    game = pyspiel.load_game("python_kuhn_collab")
    solver = ExternalSamplingSolver(game, 1)
    for player in (-1, 4):
        refused(lambda: solver.update_player(player), "player is .*; allowed: 0 to 3")  # noqa: B023
        refused(lambda: solver.numbers_of(first_decision(game), player), "player is .*; allowed: 0 to 3")  # noqa: B023
