"""The study of a hand: certain hands have certain values, sampling is fair, and mistakes are told in one line."""

from __future__ import annotations

import csv
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from coinche_spiel.cards import ALL_CARDS, parse_cards
from experiments.coinche_speed import import_colver, measure
from experiments.coinche_study import parse_hand, plot, sample_worlds, study, summary
from tests import commands

ROOT = Path(__file__).parents[2]
HAND = "JS 9S AS 7S AH 10H 8C KD"


def run(*arguments: str) -> subprocess.CompletedProcess:
    return commands.run("experiments.coinche_study", *arguments)


def test_eight_trumps_always_take_everything() -> None:
    points = study(parse_cards("7H 8H 9H JH QH KH 10H AH"), worlds=6, leader=3)
    assert (points[1] == 252).all()
    row = summary(points)[1]
    assert (row["points"], row["±"], row[">=160"], row["capot"]) == (162, 0, 1, 1)


def test_worlds_are_complete_deals_and_fair() -> None:
    hand = parse_hand(HAND)
    worlds = sample_worlds(hand, 6000, seed=1)
    assert (worlds[:, 0] == hand).all()
    assert (np.bitwise_count(worlds) == 8).all()
    assert (np.bitwise_or.reduce(worlds, axis=1) == ALL_CARDS).all()
    shares = [
        ((worlds[:, seat] >> card) & 1).mean() for seat in (1, 2, 3) for card in range(32) if not hand >> card & 1
    ]
    assert max(abs(share - 1 / 3) for share in shares) < 4.5 * math.sqrt(2 / 9 / 6000)


def test_the_long_trump_suit_is_the_best_and_shares_fall_with_the_value() -> None:
    rows = summary(study(parse_hand(HAND), worlds=40, seed=2))
    means = [row["points"] for row in rows]
    assert max(means) == means[0]
    for row in rows:
        reached = [row[f">={value}"] for value in range(80, 170, 10)]
        assert reached == sorted(reached, reverse=True)


def test_plot_has_a_curve_for_every_trump() -> None:
    figure = plot(study(parse_hand(HAND), worlds=4), parse_hand(HAND))
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 4


@pytest.mark.parametrize(
    ("hand", "complaint"),
    [
        ("JS 9S AS", "a hand has 8 cards, but 'JS 9S AS' names 3"),
        ("JS 9S AS 7S AH 10H 8C 11D", "'11D' is not a card"),
        ("JS JS AS 7S AH 10H 8C KD", "J♠ is named twice"),
        ("", "names 0"),
    ],
)
def test_malformed_hands_are_refused(hand: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_hand(hand)


def test_runner_writes_its_results_and_explains_mistakes(tmp_path: Path) -> None:
    done = run(f"--hand={HAND}", "--quick", f"--out={tmp_path}")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "results.csv").open()))
    assert [row["trump"] for row in rows] == ["♠", "♥", "♣", "♦"]
    assert (tmp_path / "points_by_trump.png").stat().st_size > 10_000
    assert "20 worlds" in (tmp_path / "report.md").read_text()
    wrong = run("--hand=JS 9S", f"--out={tmp_path}")
    assert wrong.returncode == 1
    assert wrong.stderr.strip().endswith("experiments.coinche_study: --hand: a hand has 8 cards, but 'JS 9S' names 2")


@pytest.mark.slow
def test_speed_rows_compare_with_the_peer_where_it_is_installed() -> None:
    rows = measure(deals=2, seed=3)
    assert len(rows) == 5
    assert all(row["ours (µs)"] > 0 for row in rows)
    assert any(row["ratio"] > 0 for row in rows) == (import_colver() is not None)
