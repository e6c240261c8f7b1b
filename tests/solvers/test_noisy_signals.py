import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401
from cardtable import deck
from solvers.cfr import CFRSolver
from solvers.noisy_signals import NoisySignals, NoisySignalSolver
from solvers.teams.public_tree import PublicTree


def oracle(accuracy: float, step: float = 0.0, tied: bool = False, team: int = -1) -> pyspiel.Game:
    base = "python_tied_rewards(game=python_kuhn_collab())" if tied else "python_kuhn_collab()"
    return pyspiel.load_game(f"python_partner_oracle(game={base},accuracy={accuracy},step={step},team={team})")


@pytest.mark.parametrize(
    ("accuracy", "team", "alternating", "tied"),
    [
        pytest.param(1.0, -1, True, True, marks=pytest.mark.slow),
        (1.0, 1, False, False),
        (0.0, -1, True, False),
        pytest.param(0.0, -1, False, True, marks=pytest.mark.slow),
    ],
)
def test_extremes_are_ordinary_cfr(accuracy: float, team: int, alternating: bool, tied: bool) -> None:
    """Perfect signals: CFR on the game with a perfect oracle. Worthless ones: CFR on the game without.

    From a random start: where regrets are exactly zero, as after a uniform one, rounding decides what is played next.
    """
    game = oracle(accuracy, tied=tied, team=team)
    known = game if accuracy == 1.0 else game.base
    reference = CFRSolver(known, variant="cfr", alternating=alternating, initial="random", seed=7)
    tree = PublicTree.from_game(known)
    signals = NoisySignals(game)
    start = tree.behaviour(reference.current_policy())
    weights = np.ones(signals.table_shape)
    for node in range(1, tree.num_nodes):
        who = tree.player[tree.parent[node]]
        told = signals.partner_cards[who] if accuracy == 1.0 else slice(None)
        weights[node, signals.cards[who], told] = start[node, tree.types[who]].reshape(-1, *[1] * (accuracy == 0.0))

    reference.run(12)
    expected = tree.behaviour(reference.average_policy())
    solver = NoisySignalSolver(signals, alternating=alternating, initial=weights)
    solver.run(10)
    solver.run(2)
    behaviour = signals.behaviour(solver.average_strategy())
    assert np.abs(solver.average_strategy() - weights).max() > 0.1
    for node in range(1, tree.num_nodes):
        who = tree.player[tree.parent[node]]
        assert behaviour[node] == pytest.approx(expected[node, tree.types[who]], abs=1e-9)


def test_averaged_behaviour_is_that_of_explicit_signals() -> None:
    """A late part of the hand played with explicit chance, all signals and actions, and the same part averaged."""
    game = oracle(0.6, step=0.1)
    signals = NoisySignals(game)
    tree = signals.tree
    solver = NoisySignalSolver(signals, initial="random", seed=1)
    strategy = solver.current_strategy()
    behaviour = signals.behaviour(strategy)

    start = [0, 0, 0, 1, 3, 3, 4]  # k k k b c c r
    node = 0
    for action in start:
        node = next(child for child in tree.children[node] if tree.action[child] == action)

    def averaged(at: int, deal: int) -> np.ndarray:
        if not tree.children[at]:
            return tree.returns[at, deal]
        return sum(behaviour[child, deal] * averaged(child, deal) for child in tree.children[at])

    def explicit(state: pyspiel.State, at: int) -> np.ndarray:
        if state.is_terminal():
            return np.array(state.returns())
        if state.is_chance_node():
            return sum(share * explicit(state.child(signal), at) for signal, share in state.chance_outcomes())
        who = state.current_player()
        own = int(state.array[deck.DEALT + who]).bit_length() - 1
        told = state.information_key(who)[1] - 1
        return sum(
            strategy[child, own, told] * explicit(state.child(int(tree.action[child])), child)
            for child in tree.children[at]
        )

    for deal in (0, 77, 359):
        state = game.new_initial_state()
        while state.array[deck.NEXT_CARD] < state.array[deck.DECK_SIZE]:
            card = int(state.array[deck.NEXT_CARD])
            holder = np.flatnonzero(signals.cards[:, deal] == card)
            state.apply_action(int(holder[0]) if len(holder) else 4)
        for action in start:
            state.apply_action(0)  # a signal that will be forgotten
            state.apply_action(action)
        assert explicit(state, node) == pytest.approx(averaged(node, deal), abs=1e-12)


def test_random_starts_are_reproducible_and_differ() -> None:
    signals = NoisySignals(oracle(0.9, step=0.25))
    averages = []
    for seed in (1, 1, 2):
        solver = NoisySignalSolver(signals, initial="random", seed=seed)
        solver.run(3)
        averages.append(solver.average_strategy())
    assert (averages[0] == averages[1]).all()
    assert np.abs(averages[0] - averages[2]).max() > 0.1
    children = signals.tree.children[0]
    assert averages[0][children].sum(axis=0) == pytest.approx(np.ones((6, 6)))


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"allowed: python_partner_oracle\(game=...\), outermost"):
        NoisySignals(pyspiel.load_game("python_kuhn_collab"))
    with pytest.raises(ValueError, match="initial is 'zero'; allowed: uniform, random"):
        NoisySignalSolver(oracle(0.5), initial="zero")  # type: ignore[arg-type]
