"""A bidder's numbers from scratch: rounds of auctions, regression and tuning, each filed when it is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cardtable.files import read_arrays, write_arrays
from cardtable.match import Estimate
from cardtable.parameters import UserError
from coinche_spiel.bidding.calls import JUDGEMENT, NUMBERS_SIZE
from coinche_spiel.bidding.contexts import ALL_FEATURES, SITUATIONS
from coinche_spiel.bidding.numbers import Numbers
from coinche_spiel.bidding.outcomes import AS_PLAYED, SEARCHED
from coinche_spiel.rules import coinche_rules
from experiments.coinche.bidding.auctions import SIMPLE, STRONG, Setting, collect, match_by_deal, play_auctions
from experiments.coinche.bidding.deals import Deals
from experiments.coinche.bidding.fitting import fit_points
from experiments.coinche.bidding.tuning import Opponent, first_judgement, tune

RECENT = 3  # own versions among the opponents
OWN_SHARE, STRONG_SHARE, SIMPLE_SHARE = 2.0, 1.0, 0.5
RESTLESS = 0.5  # of the first spread is what a new round looks around with at least


class Round(NamedTuple):
    """A version of the bidder."""

    weights: np.ndarray  # (situations, features)
    judgement: np.ndarray
    spread: np.ndarray  # of the search for the judgement
    residuals: np.ndarray  # by situation

    def numbers(self) -> Numbers:
        weights = {
            situation: dict(zip(ALL_FEATURES, row.round(2).tolist(), strict=True))
            for situation, row in zip(SITUATIONS, self.weights, strict=True)
        }
        return Numbers(weights, dict(zip(JUDGEMENT, self.judgement.round(2).tolist(), strict=True)))


def setting_of(kind: str) -> Setting:
    """What is played for, by the kind of numbers (`coinche_spiel.bidding.numbers.KINDS`)."""
    if kind == "points":
        return Setting(coinche_rules(reward="points", belote=True, surcoinche_factor=3).root, SEARCHED)
    return Setting(coinche_rules().root, AS_PLAYED if kind == "plain_cards" else SEARCHED)


def make_rounds(
    setting: Setting,
    deals: Deals,
    rounds: int,
    generations: int,
    candidates: int,
    seed: int,
    folder: Path,
    on_progress: Callable[[int], None] = lambda generations: None,
) -> list[Round]:
    """All versions of a bidder, the last one the best. Rounds that are filed in the folder are not made again."""
    made: list[Round] = []
    while len(made) < rounds:
        number = len(made)
        file = folder / f"round_{number}.npz"
        if file.exists():
            made.append(_read(file))
            on_progress(generations)
            continue
        population = np.stack([one.numbers().flat() for one in made]) if made else np.zeros((1, NUMBERS_SIZE))
        newest = [len(made) - 1] * 4 + [max(len(made) - 2, 0)] * 2 if made else []
        samples = collect(setting, deals, population, np.array([STRONG, SIMPLE, *newest]), seed + 100 * number)
        fit = fit_points(samples)
        weights = np.array([[fit.weights[name][feature] for feature in ALL_FEATURES] for name in SITUATIONS])
        first, around = first_judgement(fit.residuals)
        start = (made[-1].judgement, np.maximum(made[-1].spread, RESTLESS * around)) if made else (first, around)
        residuals = np.array([fit.residuals[name] for name in SITUATIONS])
        flat = Round(weights, start[0], start[1], residuals).numbers().flat()
        if not made:
            population = flat[None, :]
        own = [*range(max(0, len(population) - RECENT), len(population))]
        opponents = [Opponent(STRONG, STRONG_SHARE), Opponent(SIMPLE, SIMPLE_SHARE)]
        opponents += [Opponent(row, OWN_SHARE / len(own)) for row in own]
        judgement, spread = tune(
            setting,
            deals,
            flat,
            start,
            population,
            opponents,
            generations,
            candidates,
            seed + 100 * number + 1,
            lambda score: on_progress(1),
        )
        made.append(Round(weights, judgement, spread, residuals))
        write_arrays(file, made[-1]._asdict())
    return made


def _read(file: Path) -> Round:
    found = read_arrays(file, "a round of a bidder; delete it to make it again")
    shapes = {
        "weights": (len(SITUATIONS), len(ALL_FEATURES)),
        "judgement": (len(JUDGEMENT),),
        "spread": (len(JUDGEMENT),),
        "residuals": (len(SITUATIONS),),
    }
    fits = set(found) == set(shapes) and all(found[name].shape == shape for name, shape in shapes.items())
    if not fits or not all(found[name].dtype.kind == "f" and np.isfinite(found[name]).all() for name in shapes):
        raise UserError(f"{file} is damaged or of another version; delete it to make the round again")
    return Round(**found)


def judged(setting: Setting, deals: Deals, rounds: list[Round]) -> list[dict[str, object]]:
    """A row for each version: what it gains on strong, on simple and on the first version; contracts in self-play."""
    population = np.ascontiguousarray(np.stack([one.numbers().flat() for one in rounds]))
    rows: list[dict[str, object]] = []
    for number in range(len(rounds)):
        row: dict[str, object] = {"round": number + 1}
        for name, who in (("strong", STRONG), ("simple", SIMPLE), ("round 1", 0)):
            row[name] = str(Estimate.of(match_by_deal(setting, deals, population, number, who)))
        contracts = play_auctions(setting, deals, population, (number,) * 4).contracts
        played = contracts[contracts[:, 0] >= 0]
        row["void"] = f"{1 - len(played) / len(contracts):.1%}"
        row["contract"] = f"{played[:, 2].mean():.1f}"
        row["coinched"] = f"{(played[:, 3] > 0).mean():.0%}"
        rows.append(row)
    return rows
