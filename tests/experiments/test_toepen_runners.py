"""The Toepen studies: quick runs from the command line, bad flags, and what their parts compute."""

import csv
import subprocess
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import Policy

import cardspiel  # noqa: F401
from cardtable.match import play_match
from cardtable.player import find_player
from experiments.toepen.counts import THESIS, hand_configurations, upper_bound
from experiments.toepen.training import Judge, Lift, Sampler, Training, normalised, toepen, under_isomorphism
from experiments.toepen_full_game import profile_player
from solvers.arrays.sequence_form import SequenceForm
from solvers.best_response import evaluate, nash_conv, probabilities_of
from solvers.bounds import local_best_response
from solvers.mccfr import ExternalSamplingSolver
from solvers.sampling.hash_table import InformationTable
from solvers.sampling.players import average_player
from tests import commands
from transforms.lifting import lift, lifted_player


def run(module: str, *flags: str, cwd: Path) -> subprocess.CompletedProcess:
    return commands.run(f"experiments.{module}", *flags, cwd=cwd)


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


@pytest.mark.slow
def test_counts(tmp_path: Path) -> None:
    result = run("toepen_counts", "--quick", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = rows_of(tmp_path / "run" / "counts.csv")
    assert len(rows) == 13
    orbits = {(row["setting"], row["betting"], row["follow_suit"]): int(row["orbits"]) for row in rows}
    assert orbits["3-3-2", "True", "False"] == 3807
    losses = {row["setting"]: row for row in rows_of(tmp_path / "run" / "losses.csv")}
    assert max(float(row["orbits"]) for row in losses.values()) < 1e-9
    assert float(losses["3-3-2"]["thesis_isomorphism"]) > 0.002
    assert "13 of 13" in (tmp_path / "run" / "report.md").read_text()
    assert (tmp_path / "run" / "counts.png").stat().st_size > 10_000


@pytest.mark.slow
def test_mccfr(tmp_path: Path) -> None:
    result = run("toepen_mccfr", "--quick", "--workers=1", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = rows_of(tmp_path / "run" / "summary.csv")
    assert len(rows) == 6
    assert all(0 < float(row["nash_conv"]) < 0.5 * float(row["first_nash_conv"]) for row in rows)
    assert "Claims of the thesis" in (tmp_path / "run" / "report.md").read_text()
    assert (tmp_path / "run" / "betting.png").stat().st_size > 10_000


@pytest.mark.slow
def test_abstraction_as_the_thesis_did_it(tmp_path: Path) -> None:
    flags = ("--quick", "--workers=1", "--algorithm=thesis", "--isomorphism=thesis", "--nofollow_suit", "--out=run")
    result = run("toepen_abstraction", *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = {row["rule"]: row for row in rows_of(tmp_path / "run" / "summary.csv")}
    assert len(rows) == 8  # seven of the thesis, and one of ours
    assert int(rows["none"]["information_sets"]) == 954  # 3-2-2 without the duty, after the thesis's isomorphism
    assert float(rows["naive"]["nash_conv"]) > float(rows["none"]["nash_conv"]) > 0


@pytest.mark.slow
def test_frontier(tmp_path: Path) -> None:
    result = run("toepen_frontier", "--quick", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    solved = {row["size"]: float(row["value"]) for row in rows_of(tmp_path / "run" / "frontier.csv")}
    assert solved["2-3-2"] == pytest.approx(0.478252503022, abs=0.01)


@pytest.mark.slow
def test_full_game(tmp_path: Path) -> None:
    result = run("toepen_full_game", "--quick", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = rows_of(tmp_path / "run" / "scores.csv")
    scores = {(row["profile"], row["opponent"]): float(row["mean"]) for row in rows}
    assert len(scores) == 30
    assert scores["suit orbits only", "uniform"] > 0
    hands = rows_of(tmp_path / "run" / "openings.csv")
    assert sum(float(row["probability"]) for row in hands) == pytest.approx(1)


@pytest.mark.parametrize(
    ("module", "flag", "complaint"),
    [
        ("toepen_mccfr", "--isomorphism=suits", "isomorphism"),
        ("toepen_abstraction", "--seeds=0", "seeds"),
        ("toepen_frontier", "--sizes=4-8", "allowed: suits-ranks-hand size"),
        ("toepen_frontier", "--sizes=4-2-5", "hand_size"),
        ("toepen_full_game", "--profiles=place", "allowed: suit orbits only"),
        ("toepen_counts", "more", "unexpected arguments"),
    ],
)
def test_bad_flags(tmp_path: Path, module: str, flag: str, complaint: str) -> None:
    result = run(module, flag, cwd=tmp_path)
    assert result.returncode != 0
    assert complaint in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_formulas_of_the_thesis() -> None:
    for setting, (hands, bound, _, _) in THESIS.items():
        assert hand_configurations(*setting[:3]) == hands
        assert upper_bound(*setting) == bound


SETTING = (2, 3, 2, True, True)


@pytest.fixture(scope="module")
def prepared() -> tuple[Sampler, Judge, Lift]:
    game = pyspiel.load_game(under_isomorphism(toepen(*SETTING), "orbit"))
    sampler = Sampler(game)
    form = SequenceForm.from_game(pyspiel.load_game(toepen(*SETTING)))
    return sampler, Judge(form), Lift(game, sampler.tree, form)


def test_training_converges_and_the_thesis_version_does_not(prepared: tuple[Sampler, Judge, Lift]) -> None:
    sampler, judge, lifted = prepared
    exact = {}
    for thesis in (False, True):
        training = Training(sampler, 1, thesis)
        training.run(20_000)
        exact[thesis] = judge.evaluate(lifted(training.average()))
    assert exact[False].nash_conv < 0.12
    assert exact[False].values[0] == pytest.approx(0.478252503022, abs=0.05)
    assert exact[True].nash_conv > 4 * exact[False].nash_conv


def test_training_agrees_with_the_library(prepared: tuple[Sampler, Judge, Lift]) -> None:
    """Another implementation of the same algorithm comes equally far."""
    sampler, judge, lifted = prepared
    solver = ExternalSamplingSolver(pyspiel.load_game(under_isomorphism(toepen(*SETTING), "orbit")), seed=2)
    solver.run(5000)
    game = solver.game
    theirs = evaluate(SequenceForm.from_game(game), solver.average_policy()).nash_conv
    ours = []
    for seed in range(4):
        training = Training(sampler, seed)
        training.run(5000)
        ours.append(judge.evaluate(lifted(training.average())).nash_conv)
    assert 0.6 * np.mean(ours) < theirs < 1.6 * np.mean(ours)


def test_the_measure_of_the_thesis_is_a_lower_bound(prepared: tuple[Sampler, Judge, Lift]) -> None:
    sampler, judge, lifted = prepared
    training = Training(sampler, 3)
    training.run(300)
    average = training.average()
    exact = judge.evaluate(lifted(average))
    best = exact.best_response_values.copy()
    for player in (0, 1):
        value = judge.evaluate(lifted(training.approximate_response(player, average, 20_000))).values[player]
        assert exact.values[player] < value <= best[player] + 1e-9


def test_score_is_balanced(prepared: tuple[Sampler, Judge, Lift]) -> None:
    sampler, judge, lifted = prepared
    training = Training(sampler, 4)
    training.run(2000)
    trained = lifted(training.average())
    uniform = lifted(normalised(sampler.tree.action_offset, np.zeros(len(sampler.tree.actions))))
    assert judge.score(trained, trained) == pytest.approx(0, abs=1e-12)
    assert judge.score(trained, uniform) == pytest.approx(-judge.score(uniform, trained))
    assert judge.score(trained, uniform) > 0.1


def test_matches_agree_with_exact_scores() -> None:
    """Sampled games between a profile and uniform play, against the exact score; and the two kinds of policy agree."""
    base = toepen(2, 3, 2, True, True)
    game = pyspiel.load_game(f"python_bucketing(game={under_isomorphism(base, 'orbit')},hand=bucket,history=ante)")
    solver = ExternalSamplingSolver(game, seed=5)
    solver.run(2000)
    profile = profile_player("trained", game, solver.table)
    nothing = InformationTable(game.rules.key_words, game.num_distinct_actions())
    nobody = profile_player("uniform", game, nothing)
    form = SequenceForm.from_game(pyspiel.load_game(base))
    quick = probabilities_of(form, profile.policy(form.game))
    np.testing.assert_allclose(
        quick, probabilities_of(form, lift(solver.average_policy(), game, form.game)), atol=1e-12
    )
    judge = Judge(form)
    exact = judge.score(quick, probabilities_of(form, nobody.policy(form.game)))
    score = play_match(form.game, profile, nobody, 20_000, seed=6).score
    assert abs(score.mean - exact) < 5 * score.standard_error
    assert score.standard_error < 0.02


class Plain(Policy):
    """A profile's policy without the quick way to ask it."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy.game, [0, 1])
        self._policy = policy

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        return self._policy.action_probabilities(state)


@pytest.mark.slow
def test_local_best_response_asks_profiles_in_either_way() -> None:
    game = pyspiel.load_game("python_bucketing(game=python_toepen(suits=2,ranks=3,hand_size=2),hand=places)")
    solver = ExternalSamplingSolver(game, seed=8)
    solver.run(200)
    profile = profile_player("trained", game, solver.table)
    policy = profile.policy(profile.game)
    quick, slow = (local_best_response(policy.game, one, deals=20, worlds=4, seed=9) for one in (policy, Plain(policy)))
    assert quick == slow


def test_profiles_are_of_transforms() -> None:
    base = pyspiel.load_game(toepen(2, 2, 2, True, True))
    with pytest.raises(ValueError, match="none, as it is no transform"):
        profile_player("uniform", base, InformationTable(base.rules.key_words, base.num_distinct_actions()))
    with pytest.raises(ValueError, match="where='rules' has a table"):
        _ = ExternalSamplingSolver(base, where="tree").table
    orbits, others = (
        pyspiel.load_game(under_isomorphism(toepen(*size, True, True), "orbit")) for size in [(2, 2, 2), (2, 3, 2)]
    )
    nothing = InformationTable(orbits.rules.key_words, orbits.num_distinct_actions())
    with pytest.raises(ValueError, match="allowed: games inside"):
        lifted_player(average_player("uniform", orbits, nothing), orbits, others.base)


@pytest.mark.slow
def test_best_responses_go_on_with_the_policy_that_was_trained(tmp_path: Path) -> None:
    flags = ("--player=places", "--minutes=0.01", "--size=3-2-2", "--exact", "--out=run")
    result = run("toepen_response", *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    before = rows_of(tmp_path / "run" / "hands.csv")
    (tmp_path / "run" / "values.npz").unlink()
    result = run("toepen_response", *flags, "--resume", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert rows_of(tmp_path / "run" / "hands.csv") == before
    for name in ("values.npz", "trained.npz"):
        kept = (tmp_path / "run" / name).read_bytes()
        (tmp_path / "run" / name).write_bytes(b"nothing")
        result = run("toepen_response", *flags, "--resume", cwd=tmp_path)
        assert result.returncode != 0
        assert "Traceback" not in result.stderr
        assert name in result.stderr
        (tmp_path / "run" / name).write_bytes(kept)


@pytest.mark.slow  # compiles Deep CFR, Deep Monte Carlo and the walk that asks
def test_best_responses_to_networks(tmp_path: Path) -> None:
    """Run directories as they are: of Deep CFR in suit orbits, and of Deep Monte Carlo, for which suits have names."""
    game = pyspiel.load_game(toepen(3, 2, 2, True, True))
    for module, learns, player in (
        ("deep_cfr", ["--engine=levels", f"--game={under_isomorphism(str(game), 'orbit')}"], "{}(average=strategy)"),
        ("train", ["--learner=dmc", f"--game={game}", "--deals=10"], "{}"),
    ):
        result = run(module, *learns, "--quick", f"--out={module}", cwd=tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr
        judged = (f"--player={module}", "--size=3-2-2", "--exact", f"--out=judged_{module}")
        result = run("toepen_response", *judged, cwd=tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr
        (found,) = (row for row in rows_of(tmp_path / f"judged_{module}" / "nash_conv.csv") if row[""] == "NashConv")
        expected = nash_conv(game, find_player(player.format(tmp_path / module), game).policy(game))
        assert float(found["value"]) == pytest.approx(expected, abs=1e-5)
    for flags, complaint in (
        (("--player=deep_cfr", "--size=3-3-2"), "was made for"),
        (("--player=deep_cfr(average=single)", "--size=3-2-2"), "has no probabilities"),
        (("--player=nobody", "--size=3-2-2"), "advanced history"),
    ):
        result = run("toepen_response", *flags, "--out=refused", "--overwrite", cwd=tmp_path)
        assert result.returncode != 0
        assert complaint in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_solutions_that_cannot_be(tmp_path: Path) -> None:
    """A size that does not fit says what it needs; a broken checkpoint and another variant's policy are refused."""
    result = run("toepen_frontier", "--sizes=4-4-3", "--memory=0.01", "--out=run", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    (row,) = rows_of(tmp_path / "run" / "frontier.csv")
    assert row["solved"] == "no"
    assert "needs about" in row["note"]
    for size in ("3-3-2", "3-2-2"):
        result = run("toepen_frontier", f"--sizes={size}", "--save", f"--out={size}", cwd=tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr
    (tmp_path / "3-3-2" / "solved_3-3-2.json").unlink()
    (tmp_path / "3-3-2" / "solving_3-3-2.npz").write_bytes(b"nothing")
    result = run("toepen_frontier", "--sizes=3-3-2", "--out=3-3-2", "--resume", cwd=tmp_path)
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert "solving_3-3-2.npz" in result.stderr
    player = f"--player={tmp_path / '3-2-2' / 'player_3-2-2'}"
    result = run("toepen_advice", player, "--size=3-3-2", "--out=advice", cwd=tmp_path)
    assert result.returncode != 0
    assert "was made for" in result.stderr
    result = run("toepen_advice", player, "--size=3-2-2", "--games=200", "--out=advice", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {row["hands with"] for row in rows_of(tmp_path / "advice" / "tens_and_suits.csv")} >= {"1 suits", "2 suits"}
