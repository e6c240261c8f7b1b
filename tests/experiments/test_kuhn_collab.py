"""The Collaborative Kuhn Poker runner: definitions against the published rows, tables against direct evaluation."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import UniformRandomPolicy

from cardtable.executors import Threads
from experiments.kuhn.claims import (
    NORTH_CHECKS,
    PUBLISHED_VALUES,
    Study,
    claims,
    groups_of,
    spread,
    transfers,
    verdict,
)
from experiments.kuhn.models import MODELS, UPDATES, Laboratory, Player
from experiments.kuhn.signals import _signal, independent_signal, opening_rows, opening_signals
from solvers import team
from solvers.best_response import evaluate
from solvers.cfr import CFRSolver
from tests import commands


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory()


@pytest.fixture(scope="module")
def players(laboratory: Laboratory) -> list[Player]:
    return laboratory.train(starts=2, iterations=5, seed=3, executor=Threads(2))


@pytest.mark.parametrize(
    ("model", "inter", "intra"),
    [("CFR", 0.008, 0.270), ("tied", 0.105, 0.181), ("oracle", 0.086, 0.102), ("oracle-p", 0.10, 0.15)],
)
def test_transfers_are_defined_as_the_published_rows_are(model: str, inter: float, intra: float) -> None:
    assert transfers(np.array(PUBLISHED_VALUES[model])) == pytest.approx((inter, intra), abs=0.006)


def test_every_model_is_trained_from_every_start(players: list[Player]) -> None:
    keys = {(player.model.name, player.updates, player.start) for player in players}
    assert len(keys) == len(players) == len(MODELS) * len(UPDATES) * 2


def test_values_are_those_of_the_solver(laboratory: Laboratory, players: list[Player]) -> None:
    """The table of moves by deal gives what the sequence form gives, for plain and for oracle players."""
    seeds = np.random.SeedSequence(3).spawn(6 * 2 * 2)
    jobs = [(m, u, s) for m in MODELS if not m.fed_noise for u in UPDATES for s in range(2)]
    for name in ("CFR", "oracle"):
        number = next(i for i, (model, *_) in enumerate(jobs) if model.name == name)
        model, updates, start = jobs[number]
        solver = CFRSolver(
            pyspiel.load_game(model.game),
            "cfr",
            alternating=updates == "alternating",
            initial="random",
            seed=seeds[number],
            threads=1,
        )
        solver.run(5)
        player = next(p for p in players if (p.model, p.updates, p.start) == (model, updates, start))
        assert laboratory.values(player) == pytest.approx(solver.values(), abs=1e-12)


def test_probabilities_of_all_models_sum_to_one(laboratory: Laboratory, players: list[Player]) -> None:
    for player in players:
        for node in np.flatnonzero(laboratory.tree.player >= 0):
            total = player.play[laboratory.tree.children[node]].sum(axis=0)
            assert np.abs(total - 1.0).max() < 1e-12


def test_advantages_are_team_chips_over_both_seatings(laboratory: Laboratory, players: list[Player]) -> None:
    first, second = players[0], players[5]
    mixed = []
    for north_south, west_east in ((second, first), (first, second)):
        play = first.play.copy()
        for node in range(1, laboratory.tree.num_nodes):
            seat = laboratory.tree.player[laboratory.tree.parent[node]]
            play[node] = (north_south if seat % 2 == 0 else west_east).play[node]
        mixed.append(laboratory.values(Player(first.model, first.updates, 0, play, None)))
    expected = mixed[0][[0, 2]].sum() + mixed[1][[1, 3]].sum()
    assert laboratory.advantages([first], [second])[0, 0] == pytest.approx(expected, abs=1e-12)
    assert laboratory.advantages([first], [first])[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_noise_changes_nothing_for_a_player_who_does_not_listen(laboratory: Laboratory) -> None:
    """Uniform play does not depend on the signal, so feeding it noise leaves it as it is."""
    oracle = laboratory.oracle_tree
    behaviour = oracle.behaviour(UniformRandomPolicy(oracle.game))
    fed = laboratory.noisy.behaviour(laboratory._by_cards(behaviour))
    assert fed == pytest.approx(laboratory._by_deal(oracle, behaviour))


def test_guarantees_are_below_the_value_and_single_deviations(laboratory: Laboratory, players: list[Player]) -> None:
    """Nobody guarantees more than the TMECor value, and a best joint plan beats a best single deviation."""
    player = next(p for p in players if p.model.name == "tied")
    result = laboratory.exploitability(player)
    assert result.guarantees[0] <= 0.0516055
    assert result.guarantees[1] <= -0.0516054
    values = laboratory.values(player)
    solver = CFRSolver(
        pyspiel.load_game(player.model.game),
        "cfr",
        alternating=False,
        initial="random",
        seed=np.random.SeedSequence(3).spawn(24)[4],
        threads=1,
    )
    solver.run(5)
    single = evaluate(solver.form, solver.average_policy())
    assert single.values[0] == pytest.approx(values[0] + values[2])
    assert result.best_response_values[0] >= single.best_response_values[[0, 2]].max() - 1e-12
    assert result.best_response_values[1] >= single.best_response_values[[1, 3]].max() - 1e-12


@pytest.mark.parametrize(
    ("bets", "probabilities", "partner", "opponents"),
    [
        ([[1, 1, 1, 0, 0, 0]], [1.0], 1.0, 1.0),  # one plan: everybody hears the same bit
        ([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], [0.5, 0.5], 1.0, 0.0),  # a secret code
        ([[0, 0, 0, 0, 0, 0]], [1.0], 0.0, 0.0),
    ],
)
def test_signal_bits_of_known_lotteries(bets: list, probabilities: list, partner: float, opponents: float) -> None:
    signal = _signal(0, np.array(bets, float), np.array(probabilities), None)
    assert signal.partner_bits == pytest.approx(partner, abs=1e-12)
    assert signal.opponent_bits == pytest.approx(opponents, abs=1e-12)


def test_signals_count_plans_as_often_as_they_lead_there() -> None:
    """Under the first plan the partner checks with all cards, under the second with Q♥ only, under the third never."""
    bets = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1]], float)
    partner_checks = np.array([[1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], float)
    signal = _signal(2, bets, np.array([0.1, 0.6, 0.3]), partner_checks)
    assert [share for share, _ in signal.kinds()] == pytest.approx([0.5, 0.5])  # 0.1 * 30 deals and 0.6 * 5 deals
    assert signal.weights[1] * 10 == pytest.approx([0, 1, 1, 1, 1, 1])
    # Halves of the six cards, or one of the five that the partner's Q♥ leaves.
    assert signal.partner_bits == pytest.approx(0.5 * 1.0 + 0.5 * 0.7219280949)


def test_marginals_play_as_the_lottery_does_on_average(laboratory: Laboratory) -> None:
    equilibrium = team.solve(laboratory.team_game, max_iterations=6)
    marginal = laboratory.marginal_behaviour(equilibrium.strategies)
    for signal in opening_signals(laboratory, equilibrium.strategies[0]):
        by_card = signal.weights.sum(axis=0)
        often = (signal.weights * signal.bets).sum(axis=0) / by_card
        alone = independent_signal(laboratory, marginal, signal.seat)
        assert alone.bets[0] == pytest.approx(often, abs=1e-9)
        shares = [float(row["how often"].rstrip("%")) for row in opening_rows(signal)]
        assert sum(shares) == pytest.approx(100, abs=0.5)
        assert shares == sorted(shares, reverse=True)


def test_tables_and_claims(laboratory: Laboratory, players: list[Player]) -> None:
    study = Study(laboratory, players)
    assert len(study.table_1()) == 2 * len(MODELS) + len(PUBLISHED_VALUES)
    assert len(study.table_1_csv()) == len(players)
    assert len(study.table_2()) == 2 * (len(MODELS) - 1) + 2 * (len(MODELS) - 2)
    assert len(study.guarantee_csv()) == 2 * 2 * 2
    advantage = study.advantages["CFR", "tied", "alternating"]
    assert advantage.shape == (2, 2)
    assert study.advantages["tied", "CFR", "alternating"] == pytest.approx(-advantage.T)


def test_verdicts_follow_the_numbers(laboratory: Laboratory, players: list[Player]) -> None:
    study = Study(laboratory, players)

    def verdicts() -> dict[str, str]:
        return {claim.claim: claim.verdict for claim in claims(study)}

    for key in study.advantages:
        study.advantages[key] = np.full((2, 2), 0.9)
    for table in study.transfers:
        study.transfers[table] = np.array([[0.001, 0.2], [0.002, 0.3]])  # between, within
    found = verdicts()
    assert found["Tied rewards dominate CFR (+0.788)"] == "holds"
    assert found["CFR on all hands: less than 0.01 chips between teams, so no collaboration"] == "holds"
    assert found["CFR moves more chips within teams than between them"] == "holds"
    assert found["A noisy oracle is always dominated (-1.1, -1.8)"] == (
        "trained on the noise: does not hold; fed noise only at play: does not hold"
    )
    for updates in UPDATES:
        study.advantages["CFR", "tied", updates] = np.array([[0.3, 0.3], [0.3, -0.1]])
        study.advantages["tied", "oracle", updates] = np.array([[-0.3, -0.3], [-0.3, 0.1]])
        for row in ("CFR", "tied"):
            study.advantages[row, "oracle fed noise", updates] = np.full((2, 2), -1.0)
        study.transfers["CFR", updates] = np.array([[0.2, 0.1], [0.3, 0.1]])
    found = verdicts()
    assert found["Tied rewards dominate CFR (+0.788)"] == "holds in most cases, by much less"
    assert found["CFR on all hands: less than 0.01 chips between teams, so no collaboration"] == "does not hold"
    assert found["CFR moves more chips within teams than between them"] == "does not hold"
    assert found["A perfect oracle beats CFR (+0.335) and tied rewards (+0.498)"] == (
        "individual rewards: does not hold; tied rewards: holds"
    )
    assert found["A noisy oracle is always dominated (-1.1, -1.8)"] == (
        "trained on the noise: does not hold; fed noise only at play: holds"
    )


def test_who_checks_only_with_queens(laboratory: Laboratory) -> None:
    """One start in which North checks with Queens alone, one in which she checks with Kings too."""
    tied = next(model for model in MODELS if model.name == "tied")
    starts: list[Player] = []
    for cards in ((0, 1), (0, 1, 2, 3)):
        behaviour = laboratory.tree.uniform_behaviour()
        checks = np.isin(laboratory.card_of_type[0], cards)
        behaviour[laboratory.node(0)], behaviour[laboratory.node(1)] = checks, ~checks
        starts.append(Player(tied, UPDATES[0], len(starts), laboratory._by_deal(laboratory.tree, behaviour), behaviour))
    study = Study.__new__(Study)
    study.laboratory, study.groups = laboratory, groups_of(starts)
    assert study.by_rank("tied", UPDATES[0], NORTH_CHECKS).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert study.checks_only_with_queens("tied", UPDATES[0]).tolist() == [True, False]


def test_words() -> None:
    assert spread(np.array([1.0, 3.0])) == "+2.000 ± 1.000 [+1.000, +3.000]"
    assert [verdict(share) for share in (1.0, 0.8, 0.5, 0.1)] == [
        "holds",
        "holds in most cases",
        "sometimes true, sometimes not",
        "does not hold",
    ]


def run(*arguments: str) -> subprocess.CompletedProcess:
    return commands.run("experiments.kuhn_collab", *arguments)


@pytest.mark.slow
def test_quick_run_writes_everything(tmp_path: Path) -> None:
    result = run("--quick", "--executor=serial", f"--out={tmp_path}")
    assert result.returncode == 0, result.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"config.json", "metrics.csv", "report.md", "table_1.csv", "table_2.csv", "guarantees.csv"}
    assert names >= {"claims.csv", "equilibria.csv", "plans.csv", "transfers.png", "advantages.png", "opening.png"}
    assert names >= {"team_value.png", "signals.png"}
    with (tmp_path / "plans.csv").open() as file:
        plans = list(csv.DictReader(file))
    weights = {(row["team"], row["plan"]): float(row["probability"]) for row in plans}
    for side in ("0", "1"):
        assert sum(weight for (number, _), weight in weights.items() if number == side) == pytest.approx(1.0, abs=1e-6)
    report = (tmp_path / "report.md").read_text()
    assert report.count("published: CFR") == 4
    assert "nan" not in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--starts=1",), "flag --starts=1: allowed: 2 or more"),
        (("fast",), "unexpected arguments fast"),
    ],
)
def test_typos_are_told_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.returncode != 0
    assert message in result.stderr + result.stdout
    assert "Traceback" not in result.stderr
