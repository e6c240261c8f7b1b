"""What the Coinche paper says of PPO (its Figures 2 and 4), the settings that show it, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.running.loop import Row


class Setting(NamedTuple):
    game: str
    opponents: str


SETTINGS = {
    "against random": Setting("python_coinche(reward=good)", "random"),
    "against simple": Setting("python_coinche(reward=good)", "simple"),
    "against strong": Setting("python_coinche(reward=good)", "strong"),
    "mirror": Setting("python_coinche(reward=mirror)", "strong"),
    "no_defense": Setting("python_coinche(reward=no_defense)", "strong"),
    "classic": Setting("python_coinche(reward=classic)", "strong"),
    # As in the paper's program, where the coincher becomes the attacker.
    "classic taking over": Setting("python_coinche(reward=classic,coinche_takes_over=True)", "strong"),
    "no capot": Setting("python_coinche(reward=good,capot_value=0)", "strong"),
    "bids up to 120": Setting("python_coinche(reward=good,capot_value=0,max_bid=120)", "strong"),
}
ENOUGH_DECISIONS = 500_000  # fewer say nothing: the paper names no number
SHOWN = ("attack rate", "contract", "precision without capot", "success defending", "coinche rate", "mean return")

Curves = dict[tuple[str, int], list[Row]]  # (setting, seed): metrics


def curve(found: Curves, name: str, what: str) -> np.ndarray:
    """(seeds, evaluations) of one figure, after the decisions at which all seeds were looked at."""
    opponents = SETTINGS[name].opponents
    runs = [{row["decisions"]: row for row in run} for (setting, _), run in found.items() if setting == name]
    common = sorted(set.intersection(*(set(run) for run in runs)))
    return np.array([[run[decisions][f"{opponents}: {what}"] for decisions in common] for run in runs])


def claims(found: Curves) -> list[dict[str, Any]]:
    """What each claim says, what was seen of it by every seed, and whether all, some or none show it."""
    rows: list[dict[str, Any]] = []
    have = {name for name, _ in found}

    def judge(claim: str, names: Sequence[str], seen: str, holds: np.ndarray) -> None:
        decisions = min(int(run[-1]["decisions"]) for (name, _), run in found.items() if name in names)
        share = float(np.mean(holds))
        words = "seen" if share == 1.0 else "not seen" if share == 0.0 else f"seen by {share:.0%} of the seeds"
        verdict = words if decisions >= ENOUGH_DECISIONS else "too few decisions"
        rows.append({"claim": claim, "decisions": decisions, "what was seen": seen, "verdict": verdict})

    def shown(name: str, what: str, digits: int = 2) -> str:
        values = curve(found, name, what)
        ends = ", ".join(f"{run[0]:.{digits}f} to {run[-1]:.{digits}f}" for run in values)
        return f"{what} {ends}"

    if "against random" in have:
        capot, contract = curve(found, "against random", "capot rate"), curve(found, "against random", "contract")
        lowest = np.nanmin(capot, axis=1)
        rises = contract[:, -1] > np.nanmin(contract, axis=1) + 5
        judge(
            "C3 against random: capots get fewer at first, then bids rise again",
            ["against random"],
            f"{shown('against random', 'capot rate')}; {shown('against random', 'contract', 0)}",
            (lowest < capot[:, 0] - 0.05) & rises,
        )
    if {"against simple", "against strong"} <= have:
        for name in ("against simple", "against strong"):
            contract, attack = curve(found, name, "contract"), curve(found, name, "attack rate")
            judge(
                f"C4 {name}: bids get lower, few attacks",
                [name],
                f"{shown(name, 'contract', 0)}; {shown(name, 'attack rate')}",
                (contract[:, -1] < contract[:, 0]) & (attack[:, -1] < 0.4),
            )
        defending = curve(found, "against simple", "success defending")[:, -1]
        attack = curve(found, "against simple", "attack rate")[:, -1]
        judge(
            "C4 against simple: in the end almost only defends, with success in 75%",
            ["against simple"],
            f"{shown('against simple', 'attack rate')}; {shown('against simple', 'success defending')}",
            (attack < 0.1) & (abs(defending - 0.75) < 0.1),
        )
        more = curve(found, "against strong", "attack rate")[:, -1]
        precise = curve(found, "against strong", "precision without capot")[:, -1]
        loose = curve(found, "against simple", "precision without capot")[:, -1]
        judge(
            "C5 against strong: attacks more than against simple, bids more precisely, defends in 70%",
            ["against simple", "against strong"],
            f"{shown('against strong', 'attack rate')}; {shown('against strong', 'precision without capot', 0)}; "
            f"{shown('against strong', 'success defending')}",
            (more > attack) & ~(precise >= loose),
        )
    for name in ("mirror", "no_defense", "against strong"):
        if name in have:
            attack, coinche = curve(found, name, "attack rate")[:, -1], curve(found, name, "coinche rate")[:, -1]
            judge(
                f"C9 {name if name in ('mirror', 'no_defense') else 'good'}: wins by defending",
                [name],
                f"{shown(name, 'attack rate')}; {shown(name, 'coinche rate')}",
                (attack < 0.4) & (coinche < 0.9),
            )
    for name in ("classic", "classic taking over"):
        if name in have:
            judge(
                f"C9 {name}: coinches nearly everything",
                [name],
                f"{shown(name, 'coinche rate')}; {shown(name, 'attack rate')}",
                curve(found, name, "coinche rate")[:, -1] > 0.9,
            )
    for name in ("no capot", "bids up to 120"):
        if name in have:
            judge(
                f"C10 {name}: masking extreme bids does not give good precision (humans: about 10)",
                [name],
                shown(name, "precision without capot", 0),
                ~(curve(found, name, "precision without capot")[:, -1] < 15),
            )
    return rows


def last_figures(found: Curves) -> list[dict[str, Any]]:
    rows = []
    for (name, seed), run in found.items():
        prefix = f"{SETTINGS[name].opponents}: "
        figures = {key.removeprefix(prefix): value for key, value in run[-1].items() if key.startswith(prefix)}
        rows.append({"setting": name, "seed": seed, "decisions": int(run[-1]["decisions"]), **figures})
    return rows


def figure(found: Curves, names: Sequence[str]) -> Figure:
    """A plot for each figure, a colour for each setting, a line for each seed."""
    picture = Figure(figsize=(12, 6), layout="constrained")
    axes = picture.subplots(2, 3)
    present = [name for name in names if any(setting == name for setting, _ in found)]
    for axis, what in zip(axes.flat, SHOWN, strict=True):
        for colour, name in enumerate(present):
            runs = [run for (setting, _), run in found.items() if setting == name]
            for number, run in enumerate(runs):
                values = [row[f"{SETTINGS[name].opponents}: {what}"] for row in run]
                label = name if number == 0 else None
                axis.plot([row["decisions"] for row in run], values, ".-", color=f"C{colour}", label=label)
        axis.set(title=what, xscale="log")
        axis.grid(alpha=0.4)
    for axis in axes[1]:
        axis.set_xlabel("decisions of the learner")
    axes.flat[0].legend(fontsize=8)
    return picture
