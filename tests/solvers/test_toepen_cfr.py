"""The compact solver against the sequence form of the same quotient, and against exact values."""

from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401
from cardtable.parameters import UserError
from cardtable.player import find_player
from solvers.arrays.memory import GameTooLargeError
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import nash_conv
from solvers.cfr import CFRSolver
from solvers.toepen.card_tree import CardTree, build_card_tree
from solvers.toepen.tree_policy import save_tree_policy
from solvers.toepen_cfr import ToepenSolver

SIZES = [(2, 2, 2), (2, 3, 2), (3, 2, 2), (3, 3, 2)]
VALUES = {(2, 2, 2): 2 / 3, (2, 3, 2): 0.478252503022, (3, 2, 2): 0.534463019250}  # by linear programming


@pytest.fixture(params=SIZES, ids=lambda size: "-".join(map(str, size)), scope="module")
def solved(request: pytest.FixtureRequest) -> tuple[tuple, CardTree, ToepenSolver, SequenceForm, CFRSolver]:
    size = request.param
    tree = build_card_tree(*size)
    suits, ranks, hand_size = size
    base = f"python_toepen(suits={suits},ranks={ranks},hand_size={hand_size})"
    form = SequenceForm.from_game(pyspiel.load_game(f"python_card_isomorphism(game={base})"))
    return size, tree, ToepenSolver(tree), form, CFRSolver(form, "dcfr", threads=1)


def test_same_game_and_same_algorithm(solved: tuple) -> None:
    size, tree, solver, form, reference = solved
    assert tree.num_terminals == form.num_terminals
    assert tree.num_information_sets == form.num_information_sets
    for iterations in (1, 1):  # from the third iteration on, 32 and 64 bits may break ties differently
        solver.run(iterations)
        reference.run(iterations)
        expected = reference.evaluate()
        found = solver.evaluate()
        assert (found.first, found.second) == pytest.approx(tuple(expected.best_response_values), abs=1e-5)
    solver.run(198)
    found = solver.evaluate()
    assert 0 <= found.nash_conv < 0.002
    if size in VALUES:
        assert -found.second - 1e-6 <= VALUES[size] <= found.first + 1e-6
    reference.run(198)
    assert found.value == pytest.approx(reference.evaluate().values[0], abs=0.002)


def test_openings(solved: tuple) -> None:
    _, tree, solver, form, _ = solved
    if solver.iterations == 0:
        solver.run(50)
    openings = solver.opening()
    assert len({opening.hand for opening in openings}) == len(openings) == len(tree.first_hands)
    assert sum(opening.probability for opening in openings) == pytest.approx(1, abs=1e-5)
    mean = sum(opening.probability * opening.value for opening in openings)
    assert mean == pytest.approx(solver.evaluate().first, abs=1e-5)
    assert all(-1e-6 <= opening.bets <= 1 + 1e-6 for opening in openings)
    assert form.num_players == 2


def test_bluffs_before_the_last_card() -> None:
    """At stake a, one bet in 2 (a + 1) is a bluff, which makes a call as good as a fold; winners always bet.

    A call loses or wins a + 1 where a fold loses a: (a + 1) (2 b - 1) = -a for a share b of bluffs.
    """
    solver = ToepenSolver(build_card_tree(3, 3, 2))
    solver.run(1000)
    bets = {(bet.stake, bet.wins): bet for bet in solver.last_bets()}
    assert sum(bet.reached for bet in bets.values()) < 1
    assert bets[1, True].bets > 0.99
    shares = []
    for stake in (1, 2):
        bluffs, values = (bets[stake, wins].reached * bets[stake, wins].bets for wins in (False, True))
        shares.append(bluffs / (bluffs + values))
    assert shares == pytest.approx([1 / 4, 1 / 6], abs=0.02)


def test_three_cards_each() -> None:
    """The largest setting of the thesis: sizes known from its tree."""
    tree = build_card_tree(3, 3, 3)
    assert (tree.num_information_sets, tree.num_terminals) == (124_883, 283_557)
    solver = ToepenSolver(tree)
    solver.run(40)
    assert solver.evaluate().nash_conv < 0.06
    assert np.isfinite(solver.evaluate().value)


def test_too_large() -> None:
    with pytest.raises(GameTooLargeError, match="card tree needs about"):
        build_card_tree(3, 3, 3, max_memory_bytes=1_000_000)
    with pytest.raises(GameTooLargeError, match=r"card tree needs about .* GB of memory, 14"):  # before deals are made
        build_card_tree(4, 8, 4, max_memory_bytes=14 * 10**9)
    with pytest.raises(GameTooLargeError, match="CFR on this card tree"):
        ToepenSolver(build_card_tree(3, 3, 2), max_memory_bytes=1000)


def test_threads_give_the_same_result() -> None:
    tree = build_card_tree(3, 3, 2)
    states = []
    for threads in (1, 3):
        solver = ToepenSolver(tree, threads=threads)
        solver.run(5)
        states.append(solver.get_state())
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0] if "." in name)


def test_saved_solution_plays_as_it_was_solved(tmp_path: Path) -> None:
    """What comes back from the file has, in the game itself, the NashConv that the solver certified."""
    solver = ToepenSolver(build_card_tree(2, 3, 2, keep_keys=True))
    solver.run(100)
    game = pyspiel.load_game("python_toepen(suits=2,ranks=3,hand_size=2)")
    save_tree_policy(tmp_path, game, solver, {})
    player = find_player(str(tmp_path), game)
    assert nash_conv(game, player.policy(game)) == pytest.approx(solver.evaluate().nash_conv, abs=2e-4)
    (tmp_path / "card_tree.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match="damaged"):
        find_player(str(tmp_path), game)
