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
    names = ("precision without capot", "success defending", "coinche rate", "capot rate", "mean return")
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


def test_who_only_defends_and_loses_does_not_win_by_defending() -> None:
    won, lost = (run_of("strong", [0.9, 0.1], [230, 100], 1_000_000) for _ in range(2))
    lost[1]["strong: mean return"] = -60.0
    verdicts = {row["claim"]: row["verdict"] for row in claims({("mirror", 1): won, ("no_defense", 1): lost})}
    assert verdicts == {"C9 mirror: wins by defending": "seen", "C9 no_defense: wins by defending": "not seen"}


def test_who_attacks_no_more_is_judged_by_its_last_contracts() -> None:
    run = run_of("strong", [0.9, 0.0], [230, 100], 1_000_000)
    silent = {**run[1], "strong: contract": np.nan, "strong: precision without capot": np.nan, "decisions": 2_000_000}
    found: Curves = {
        ("against simple", 1): run_of("simple", [0.9, 0.2], [230, 90], 1_000_000),
        ("against strong", 1): [*run, silent],
    }
    by_claim = {row["claim"]: row for row in claims(found)}
    fewer = by_claim["C4 against strong: bids get lower, few attacks"]
    assert (fewer["decisions"], fewer["verdict"]) == (2_000_000, "seen")
    assert "contract 230 to 100" in fewer["what was seen"]


def test_settings_are_compared_after_as_many_decisions() -> None:
    """Against strong it attacked more after a million decisions, and no more after two."""
    strong = run_of("strong", [0.9, 0.5], [230, 100], 1_000_000)
    strong[1]["strong: precision without capot"] = 0.4
    later = {**strong[1], "decisions": 2_000_000, "strong: attack rate": 0.0}
    found: Curves = {
        ("against simple", 1): run_of("simple", [0.9, 0.2], [230, 90], 1_000_000),
        ("against strong", 1): [*strong, later],
    }
    row = next(row for row in claims(found) if row["claim"].startswith("C5"))
    assert (row["decisions"], row["verdict"]) == (1_000_000, "seen")
