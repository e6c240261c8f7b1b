"""The PPO study: runs on disk, players that sit down in the arena, claims that are judged by what was seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import commands

pytest.importorskip("sb3_contrib")

from experiments.coinche.ppo_claims import Curves, claims, curve


def test_a_setting_is_run_and_its_player_sits_down(tmp_path: Path) -> None:
    done = commands.run(
        "experiments.coinche_ppo", "--quick", "--only=against simple", "--seeds=1", f"--out={tmp_path / 'study'}"
    )
    assert done.returncode == 0, done.stderr
    assert "against simple" in (tmp_path / "study" / "report.md").read_text()
    player = tmp_path / "study" / "against_simple_1"
    done = commands.run(
        "experiments.arena",
        "--game=python_coinche",
        f"--north_south={player}",
        "--east_west=simple",
        "--deals=4",
        f"--out={tmp_path / 'arena'}",
    )
    assert done.returncode == 0, done.stderr


def test_a_finished_study_takes_another_seed(tmp_path: Path) -> None:
    asked = ("experiments.coinche_ppo", "--quick", "--only=mirror", f"--out={tmp_path / 'study'}")
    assert commands.run(*asked, "--seeds=1").returncode == 0
    first = (tmp_path / "study" / "mirror_1" / "metrics.csv").read_text()
    done = commands.run(*asked, "--seeds=2", "--resume")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "study" / "mirror_1" / "metrics.csv").read_text() == first
    assert (tmp_path / "study" / "mirror_2" / "metrics.csv").exists()


def test_curves_are_compared_where_all_seeds_were_looked_at() -> None:
    """A run that was lengthened has an evaluation more."""
    longer = run_of("simple", [0.9, 0.2], [230, 90], 1000)
    found: Curves = {
        ("against simple", 1): [longer[0], {**longer[0], "decisions": 700}, longer[1]],
        ("against simple", 2): run_of("simple", [0.8, 0.1], [230, 90], 1000),
    }
    np.testing.assert_array_equal(curve(found, "against simple", "attack rate"), [[0.9, 0.2], [0.8, 0.1]])


def test_an_unknown_setting_is_refused() -> None:
    done = commands.run("experiments.coinche_ppo", "--quick", "--only=against humans")
    assert done.returncode == 1
    assert "against humans; allowed: against random" in done.stderr


def run_of(opponents: str, attack: list[float], contract: list[float], decisions: int) -> list[dict[str, float]]:
    """A made-up curve: two evaluations."""
    names = ("attack rate", "contract", "precision without capot", "success defending", "coinche rate", "capot rate")
    rows = []
    for number in range(2):
        values = dict.fromkeys(names, 0.5) | {"attack rate": attack[number], "contract": contract[number]}
        rows.append(
            {
                "decisions": decisions * (number + 1) // 2,
                **{f"{opponents}: {name}": value for name, value in values.items()},
            }
        )
    return rows


def test_verdicts_follow_what_was_seen() -> None:
    found: Curves = {
        ("against simple", 1): run_of("simple", [0.9, 0.05], [230, 90], 1_000_000),
        ("against simple", 2): run_of("simple", [0.9, 0.95], [230, 240], 1_000_000),
        ("against strong", 1): run_of("strong", [0.9, 0.2], [230, 100], 100),
        ("against strong", 2): run_of("strong", [0.9, 0.2], [230, 100], 100),
    }
    verdicts = {row["claim"]: row["verdict"] for row in claims(found)}
    assert verdicts["C4 against simple: bids get lower, few attacks"] == "seen by 50% of the seeds"
    assert verdicts["C4 against strong: bids get lower, few attacks"] == "too few decisions"
    assert verdicts["C4 against simple: in the end almost only defends, with success in 75%"] == "not seen"
