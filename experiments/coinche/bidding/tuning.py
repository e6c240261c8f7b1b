"""Tunes the judgement of a bidder by playing auctions on solved deals: the cross-entropy method.

In each generation candidates are drawn around a centre, all play the same deals against every opponent of a
population, and the centre and the spread of the next generation are those of the best fifth (Rubinstein 1999; de
Boer, Kroese, Mannor and Rubinstein 2005). The population holds the literature's bidders and earlier versions of the
bidder itself: who is tuned against one kind of opponent learns that opponent's faults by heart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coinche_spiel.bidding.calls import JUDGEMENT
from coinche_spiel.bidding.contexts import JUDGEMENT_AT, SITUATIONS
from experiments.coinche.bidding.auctions import Setting, match_by_deal
from experiments.coinche.bidding.deals import Deals

ELITE = 0.2
PART = 1500  # deals that a generation plays
SMOOTHING = 0.7  # of the step towards the best
LOGISTIC = float(np.sqrt(3.0) / np.pi)  # spread of a logistic variable with standard deviation one
PLAY_SPREAD = 12.0

# Where the search begins, how far it looks, and what it may not leave.
START = {
    "shift": (-2.0, 4.0),
    "kappa": (1.2, 0.15),
    "pass_first": (10.0, 8.0),
    "pass_second": (5.0, 8.0),
    "pass_third": (0.0, 8.0),
    "let_them": (10.0, 8.0),
    "let_them_last": (0.0, 6.0),
    "margin_raise": (10.0, 8.0),
    "margin_change": (15.0, 10.0),
    "margin_compete": (5.0, 8.0),
    "jump": (0.0, 1.5),
    "margin_coinche": (30.0, 12.0),
    "margin_surcoinche": (40.0, 20.0),
    "capot_at": (170.0, 10.0),
    "capot_spread": (8.0, 2.0),
}
LIMITS = {"kappa": (0.5, 3.0), "capot_spread": (3.0, 30.0)}
TEMPERATURE = 8.0
SPREADS = (8.0, 60.0)


class Opponent(NamedTuple):
    who: int  # a row of the population, or one of the literature's
    weight: float


def first_judgement(residuals: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Centre and spread to begin with; what is not known about a suit is the residual of its points."""
    spreads = [float(np.hypot(LOGISTIC * residuals[name], PLAY_SPREAD)) for name in SITUATIONS]
    centre = [*spreads, *(START[name][0] for name in JUDGEMENT[len(SITUATIONS) : -1]), TEMPERATURE]
    spread = [
        *(0.15 * spread for spread in spreads),
        *(START[name][1] for name in JUDGEMENT[len(SITUATIONS) : -1]),
        0.0,
    ]
    return np.array(centre), np.array(spread)


def limited(judgement: np.ndarray) -> np.ndarray:
    found = judgement.copy()
    for place, name in enumerate(JUDGEMENT):
        low, high = SPREADS if name.startswith("spread_") else LIMITS.get(name, (-200.0, 300.0))
        found[place] = min(max(found[place], low), high)
    return found


def scores(
    setting: Setting,
    deals: Deals,
    weights: np.ndarray,
    judgement: np.ndarray,
    population: np.ndarray,
    opponents: list[Opponent],
) -> list[float]:
    """The gain of a bidder on each opponent. `weights` are its flat numbers but for the judgement."""
    own = weights.copy()
    own[JUDGEMENT_AT:] = judgement
    table = np.ascontiguousarray(np.vstack([population, own]))
    mine = len(population)
    return [float(match_by_deal(setting, deals, table, mine, opponent.who).mean()) for opponent in opponents]


def tune(
    setting: Setting,
    deals: Deals,
    weights: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    population: np.ndarray,
    opponents: list[Opponent],
    generations: int,
    candidates: int,
    seed: int,
    on_generation: Callable[[float], None] = lambda score: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Centre and spread after so many generations; each plays another part of the deals."""
    rng = np.random.default_rng(seed)
    centre, spread = start
    share = np.array([opponent.weight for opponent in opponents])
    share /= share.sum()
    size = min(PART, len(deals.hands))
    for generation in range(generations):
        first = generation % (len(deals.hands) // size) * size
        part = deals.part(first, first + size)
        drawn = centre + spread * rng.standard_normal((candidates, len(centre)))
        drawn = np.stack([limited(row) for row in drawn])
        found = [share @ scores(setting, part, weights, row, population, opponents) for row in drawn]
        best = drawn[np.argsort(found)[::-1][: max(2, round(ELITE * candidates))]]
        centre = centre + SMOOTHING * (best.mean(axis=0) - centre)
        spread = spread + SMOOTHING * (best.std(axis=0) - spread)
        on_generation(float(np.mean(sorted(found)[-len(best) :])))
    return limited(centre), spread
