"""Games whose players forget: who can solve them, and that they are judged in the game they were made from."""

import csv
import time
from pathlib import Path
from typing import Literal

import pyspiel
import pytest
from absl import flags
from absl.testing import flagsaver

import cardspiel  # noqa: F401 registers our games
from experiments import solve
from experiments.running.judging import Judge, judged_in
from experiments.running.loop import Clock
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import nash_conv
from solvers.cfr import CFRSolver
from solvers.policies import load_policy
from tests.solvers.games import ForgetfulGame
from transforms.lifting import lift

BASE = "python_toepen(suits=2,ranks=3,hand_size=2)"
BUCKETED = f"python_bucketing(game={BASE},hand=bucket,history=ante)"


def run(out: Path, **settings: object) -> None:
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
    with flagsaver.flagsaver(out=str(out), **settings):
        solve.main(["solve"])


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "solver",
    ["tree_cfr", "external", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tree_pcfr_plus", "outcome"))],
)
def test_forgetful_players_are_judged_in_the_base_game(solver: str, tmp_path: Path) -> None:
    """The saved policy, lifted decision by decision through pyspiel, is as exploitable as metrics.csv says."""
    run(tmp_path, game=BUCKETED, solver=solver, iterations=40)
    game, base = pyspiel.load_game(BUCKETED), pyspiel.load_game(BASE)
    missing: Literal["error", "uniform"] = "error" if solver.startswith("tree") else "uniform"
    policy = load_policy(tmp_path / "policy.npz", game, missing=missing)
    last = rows(tmp_path)[-1]
    assert float(last["nash_conv"]) == pytest.approx(nash_conv(base, lift(policy, game, base)), abs=1e-9)
    assert float(last["exploitability"]) == pytest.approx(float(last["nash_conv"]) / 2)
    assert "lifted to python_toepen" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("solver", ["tree_dcfr", pytest.param("outcome", marks=pytest.mark.slow)])
def test_stop_and_resume_equals_one_go(solver: str, tmp_path: Path) -> None:
    settings = {"game": BUCKETED, "solver": solver, "seed": 3}
    run(tmp_path / "whole", **settings, iterations=30)
    run(tmp_path / "parts", **settings, iterations=12)
    run(tmp_path / "parts", **settings, iterations=30, resume=True)
    first, second = (load_policy(tmp_path / part / "policy.npz") for part in ("whole", "parts"))
    assert (first.probabilities == second.probabilities).all()
    assert rows(tmp_path / "whole")[-1]["nash_conv"] == rows(tmp_path / "parts")[-1]["nash_conv"]


@pytest.mark.parametrize("solver", ["cfr_plus", "openspiel_cfr"])
def test_who_needs_perfect_recall_names_those_who_do_not(solver: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"--solver={solver} cannot solve it; allowed: tree_cfr, .*external, outcome"):
        run(tmp_path / "run", game=BUCKETED, solver=solver)
    assert not (tmp_path / "run").exists()


def test_on_the_tree_with_perfect_recall_it_is_cfr(tmp_path: Path) -> None:
    for solver in ("cfr_plus", "tree_cfr_plus"):
        run(tmp_path / solver, game="leduc_poker", solver=solver, iterations=20)
    first, second = (float(rows(tmp_path / solver)[-1]["nash_conv"]) for solver in ("cfr_plus", "tree_cfr_plus"))
    assert first == pytest.approx(second, abs=1e-9)


def test_a_target_is_one_of_the_base_game(tmp_path: Path) -> None:
    run(tmp_path, game=BUCKETED, solver="tree_cfr_plus", target_exploitability=0.5)
    values = [float(row["exploitability"]) for row in rows(tmp_path)]
    assert values[-1] <= 0.5 < min(values[:-1])


def test_forgetting_that_is_no_abstraction_is_not_judged() -> None:
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
    solution = solve.Solution(ForgetfulGame(), "tree_cfr", 1)
    assert solution.judge is None
    assert "means little inside" in solution.not_judged
    solution.trainer.run(3)
    assert solution.evaluate(Clock(time.perf_counter), False) == {"information_sets": 2}
    with flagsaver.flagsaver(target_exploitability=0.1), pytest.raises(ValueError, match="needs exact evaluation"):
        solve.Solution(ForgetfulGame(), "tree_cfr", 1)


def test_where_games_are_judged() -> None:
    quotient = f"python_card_isomorphism(game={BASE})"
    for name, where in (
        (BASE, BASE),
        ("kuhn_poker", "kuhn_poker"),
        (quotient, quotient),
        (f"python_card_isomorphism(game={BASE},method=thesis)", BASE),
        (BUCKETED, BASE),
        (f"python_bucketing(game={quotient},hand=bucket,history=ante)", quotient),
        ("python_tied_rewards(game=python_kuhn_collab())", "python_tied_rewards(game=python_kuhn_collab())"),
    ):
        assert str(judged_in(pyspiel.load_game(name))) == str(pyspiel.load_game(where))


def test_the_judge_agrees_with_lifting_decision_by_decision() -> None:
    """A thesis isomorphism has perfect recall: CFR's own NashConv is that of the quotient, and not what counts."""
    game = pyspiel.load_game(f"python_card_isomorphism(game={BASE},method=thesis)")
    base = pyspiel.load_game(BASE)
    solver = CFRSolver(game)
    solver.run(25)
    policy = solver.average_policy()
    found = Judge(game, SequenceForm.from_game(base)).evaluate(policy).nash_conv
    assert found == pytest.approx(nash_conv(base, lift(policy, game, base)), abs=1e-9)
