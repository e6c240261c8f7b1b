"""What is foretold of calls: fits that find known lines, answers that do not depend on how the work is cut, the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cardtable.executors import Serial
from cardtable.parameters import UserError
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.double_dummy import solve_value
from coinche_spiel.state import DECLARER, HAND, TRUMP, VALUE
from experiments.coinche.foresight import (
    Line,
    Piece,
    calls_of,
    capots_of,
    chances,
    contracts_of,
    fit_line,
    log_loss,
    open_points,
)
from experiments.coinche_foresight import COLUMNS, WORK, answers, save_answers
from tests.coinche_spiel.test_simulated_calls import north
from tests.commands import run


def test_a_fit_finds_the_line_that_made_the_contracts() -> None:
    rng = np.random.default_rng(1)
    values = rng.choice(np.arange(80, 140, 10), 40_000).astype(float)
    forecasts = rng.normal(100, 25, (40_000, 2))
    line = Line(4.0, 9.0, (0.7, 0.3))
    made = rng.random(40_000) < chances(line, values, forecasts)
    found = fit_line(values, forecasts, made)
    assert abs(found.shift - 4) < 1
    assert abs(found.spread - 9) < 0.6
    assert abs(found.weights[0] - 0.7) < 0.03
    assert sum(found.weights) == pytest.approx(1)
    alone = fit_line(values, forecasts[:, :1], made)
    worse = log_loss(chances(alone, values, forecasts[:, :1]), made).mean()
    assert log_loss(chances(found, values, forecasts), made).mean() < worse - 0.05


def test_chances_are_those_of_the_formula() -> None:
    line = Line(-2.0, 10.0, (1.0,))
    found = chances(line, np.array([100.0, 100.0]), np.array([[101.5], [111.5]]))
    assert found == pytest.approx([0.5, 1 / (1 + np.exp(-1))])
    assert log_loss(found, np.array([True, False])) == pytest.approx([np.log(2), np.log(1 + np.e)])


def test_open_points_are_those_of_the_solver() -> None:
    state = north("", "JS 9S AS 7S AH 7H 8C 9D")
    state[[VALUE, DECLARER, TRUMP]] = 0, 0, 0
    assert open_points(state) == solve_value(state[HAND : HAND + 4].tolist(), 0, sweep_bonus=True)


def test_contracts_say_what_they_are() -> None:
    found = contracts_of(None, Piece(5, 0, 12, 4))
    values, levels, opened, network, played = found.T
    assert set(values) <= set(range(80, 170, 10))
    assert set(levels) <= {0, 1, 2}
    for points in (opened, network, played):
        assert ((points >= 0) & (points <= TOTAL_POINTS)).all()
    assert (opened != network).any()
    assert (opened != played).any()


@pytest.mark.parametrize("what", list(WORK))
def test_answers_do_not_depend_on_how_the_work_is_cut(what: str) -> None:
    whole = WORK[what](None, Piece(6, 0, 2, 2))
    parts = [WORK[what](None, Piece(6, first, first + 1, 2)) for first in (0, 1)]
    assert whole.shape[1] == COLUMNS[what]
    if what == "calls":  # of the others there may be none
        assert len(parts[0])
        assert len(parts[1])
    foretold = slice(0, -1)  # what is played depends on the random numbers of the deal's place in its piece
    assert np.array_equal(whole[:, foretold], np.concatenate(parts)[:, foretold])


def test_sure_capots_are_made_and_others_are_shares() -> None:
    found = capots_of(None, Piece(31, 0, 40, 6))
    assert len(found)
    promised, opened, made = found.T
    assert ((promised >= 0) & (promised <= 1)).all()
    assert set(opened) | set(made) <= {0.0, 1.0}


def test_calls_have_claims() -> None:
    claimed, errors, gains = calls_of(None, Piece(7, 0, 2, 4)).T
    assert (claimed > 0).all()
    assert (errors >= 0).all()
    assert (gains != 0).any()


def test_what_was_begun_is_finished(tmp_path: Path) -> None:
    config = {"contracts": 40, "seed": 8, "worlds": 2}
    whole = answers("contracts", config, tmp_path, Serial())
    file = tmp_path / "contracts.npz"
    of_first = contracts_of(None, Piece(8, 0, 32, 2)).astype(float)
    save_answers(file, of_first + 1000, 32)
    finished = answers("contracts", config, tmp_path, Serial())
    assert np.array_equal(finished[: len(of_first)], whole[: len(of_first)] + 1000)  # read, not played again
    assert np.array_equal(finished[len(of_first) :], whole[len(of_first) :])
    assert np.array_equal(answers("contracts", config, tmp_path, Serial()), finished)
    with pytest.raises(UserError, match="says it is of 40 deals"):
        answers("contracts", config | {"contracts": 39}, tmp_path, Serial())


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = run("experiments.coinche_foresight", "--quick", f"--out={out}")
    assert "written to" in first.stdout
    assert (out / "foresight.png").exists()
    again = run("experiments.coinche_foresight", "--quick", f"--out={out}", "--resume")
    assert again.stdout == first.stdout
    (out / "calls.npz").write_bytes(b"nonsense")
    refused = run("experiments.coinche_foresight", "--quick", f"--out={out}", "--resume")
    assert refused.returncode == 1
    assert "delete it to play them again" in refused.stderr
