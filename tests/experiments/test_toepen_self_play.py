"""Games of a policy against itself, beside what the solver knows of the same policy exactly."""

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401
from experiments.toepen.openings import hand_name, opening_rows
from experiments.toepen.self_play import asked, play
from solvers.toepen.card_tree import build_card_tree
from solvers.toepen_cfr import ToepenSolver
from solvers.toepen_response import hand_orbits
from toepen_spiel.state import BET, CALL


def test_a_solved_game_tells_what_it_is() -> None:
    """2-3-2: its value by linear programming is 0.478; openings and last bets are those of the solver."""
    solver = ToepenSolver(build_card_tree(2, 3, 2, keep_keys=True))
    solver.run(300)
    game = pyspiel.load_game("python_toepen(suits=2,ranks=3,hand_size=2)")
    player = solver.player()
    played = play(game, player, 3000, seed=3)
    lead, error = played.lead()
    assert lead == pytest.approx(0.478252503022, abs=4 * error)
    hands, weights = hand_orbits(2, 3, 2)
    opens = asked(game, player, hands, 0, BET)
    known = {opening.hand: opening for opening in solver.opening()}
    expected = sum(opening.probability * opening.bets for opening in known.values())
    assert np.dot(weights, opens) == pytest.approx(expected, abs=1e-4)
    rows, won = opening_rows(player, 3000, seed=3)
    by_name = {hand_name(game, hand): bets for hand, bets in zip(hands.tolist(), opens.tolist(), strict=True)}
    assert {row["hand"]: row["bets"] for row in rows} == pytest.approx(by_name)
    assert won.mean == pytest.approx(0.478252503022, abs=4 * won.standard_error)
    calls = asked(game, player, hands, 1, CALL)
    assert ((calls >= 0) & (calls <= 1)).all()
    assert calls.max() > calls.min()
    values = played.values(hands, 0)
    assert np.dot(weights, values) == pytest.approx(lead, abs=0.1)
    exact = {(bet.stake, bet.wins): bet for bet in solver.last_bets()}
    for stake, (chances, made, called) in played.last_bets.by_stake().items():
        for wins in (0, 1):
            bet = exact.get((stake, wins == 1))
            if bet is None or chances[wins] < 100:
                continue
            assert chances[wins] / 3000 == pytest.approx(bet.reached, abs=4 * (bet.reached / 3000) ** 0.5)
            assert made[wins] / chances[wins] == pytest.approx(bet.bets, abs=2 / chances[wins] ** 0.5)
            if made[wins] > 100:
                assert called[wins] / made[wins] == pytest.approx(bet.called, abs=2 / made[wins] ** 0.5)
