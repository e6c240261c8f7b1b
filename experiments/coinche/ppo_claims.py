"""What the Coinche paper says of PPO (its Figures 2 and 4), the settings that show it, and what was seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


def common_decisions(found: Curves, names: Collection[str]) -> list[int]:
    """After how many decisions all runs of these settings were looked at."""
    looked = [{int(row["decisions"]) for row in run} for (name, _), run in found.items() if name in names]
    return sorted(set.intersection(*looked))


def curve(found: Curves, name: str, what: str, beside: Collection[str] = ()) -> np.ndarray:
    """(seeds, evaluations) of one figure, where all seeds, and those of settings `beside` it, were looked at."""
    key = f"{SETTINGS[name].opponents}: {what}"
    runs = [{row["decisions"]: row[key] for row in run} for (setting, _), run in found.items() if setting == name]
    return np.array([[run[decisions] for decisions in common_decisions(found, {name, *beside})] for run in runs])


def last_known(values: np.ndarray) -> np.ndarray:
    """Of each seed the last number: who attacks no more has no contracts, and no precision."""
    known = np.isfinite(values)
    last = values.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    return values[np.arange(len(values)), last]


def claims(found: Curves) -> list[dict[str, Any]]:
    """What each claim says, what was seen of it by every seed, and whether all, some or none show it."""
    rows: list[dict[str, Any]] = []
    have = {name for name, _ in found}

    def judge(claim: str, names: Collection[str], seen: str, holds: np.ndarray) -> None:
        decisions = common_decisions(found, names)[-1]
        share = float(np.mean(holds))
        words = "seen" if share == 1.0 else "not seen" if share == 0.0 else f"seen by {share:.0%} of the seeds"
        verdict = words if decisions >= ENOUGH_DECISIONS else "too few decisions"
        rows.append({"claim": claim, "decisions": decisions, "what was seen": seen, "verdict": verdict})

    def shown(name: str, what: str, digits: int = 2, beside: Collection[str] = ()) -> str:
        values = curve(found, name, what, beside)
        ends = zip(values[:, 0], last_known(values), strict=True)
        return f"{what} " + ", ".join(f"{first:.{digits}f} to {last:.{digits}f}" for first, last in ends)

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
    both = ("against simple", "against strong")
    if have.issuperset(both):
        for name in both:
            contract, attack = curve(found, name, "contract"), curve(found, name, "attack rate")
            judge(
                f"C4 {name}: bids get lower, few attacks",
                [name],
                f"{shown(name, 'contract', 0)}; {shown(name, 'attack rate')}",
                (last_known(contract) < contract[:, 0]) & (attack[:, -1] < 0.4),
            )
        defending = curve(found, "against simple", "success defending")[:, -1]
        attack = curve(found, "against simple", "attack rate")[:, -1]
        judge(
            "C4 against simple: in the end almost only defends, with success in 75%",
            ["against simple"],
            f"{shown('against simple', 'attack rate')}; {shown('against simple', 'success defending')}",
            (attack < 0.1) & (abs(defending - 0.75) < 0.1),
        )
    if have.issuperset(both) and common_decisions(found, both):
        less, more = (curve(found, name, "attack rate", both)[:, -1] for name in both)
        loose, precise = (last_known(curve(found, name, "precision without capot", both)) for name in both)
        figures = (("attack rate", 2), ("precision without capot", 0), ("success defending", 2))
        judge(
            "C5 against strong: attacks more than against simple, bids more precisely, defends in 70%",
            both,
            "; ".join(shown("against strong", what, digits, both) for what, digits in figures),
            (more > less) & (precise < loose),
        )
    for name in ("mirror", "no_defense", "against strong"):
        if name in have:
            figures = (("attack rate", 2), ("coinche rate", 2), ("mean return", 0))
            attack, coinche, wins = (curve(found, name, what)[:, -1] for what, _ in figures)
            judge(
                f"C9 {name if name in ('mirror', 'no_defense') else 'good'}: wins by defending",
                [name],
                "; ".join(shown(name, what, digits) for what, digits in figures),
                (attack < 0.4) & (coinche < 0.9) & (wins > 0.0),
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
                last_known(curve(found, name, "precision without capot")) >= 15,
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
