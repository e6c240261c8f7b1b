"""How a team signals: what an action tells the partner, and what it tells everybody.

Before the deal the team draws a plan from its lottery. Partners know the plan, opponents only the lottery. So the same
action says more to the partner: with card C, plan P and action A at a public node,

    partner hears I(C; A | P) bits,    opponents hear I(C; A) bits,

both given that the partner's own moves have led to the node (what anybody knows from her own card is left out).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.kuhn.models import SEATS, Laboratory
from kuhn_collab import state as slots
from kuhn_collab.game import ACTION_NAMES, CARD_NAMES
from solvers.teams.beliefs import TeamStrategy

CHECK, BET = ACTION_NAMES.index("check"), ACTION_NAMES.index("bet")
BAR_COLOURS = {"to the partner": "tab:blue", "to opponents": "tab:orange"}


class Signal(NamedTuple):
    """The first action of a seat after everybody before her has checked."""

    seat: int
    bets: np.ndarray  # (plans, cards): how likely a card bets
    weights: np.ndarray  # (plans, cards): how likely the plan is drawn, the card held and the node reached; sums to 1

    @property
    def partner_bits(self) -> float:
        return float(sum(_bits(bets, weights) for bets, weights in zip(self.bets, self.weights, strict=True)))

    @property
    def opponent_bits(self) -> float:
        by_card = self.weights.sum(axis=0)
        return _bits((self.bets * self.weights).sum(axis=0) / by_card, by_card)

    def kinds(self) -> list[tuple[float, np.ndarray]]:
        """Plans that act alike here, taken together: how often, and which cards bet; likeliest first."""
        rows, place = np.unique(self.bets, axis=0, return_inverse=True)
        shares = np.bincount(place.ravel(), weights=self.weights.sum(axis=1))
        return sorted(((share, row) for share, row in zip(shares, rows, strict=True) if share > 0), key=lambda k: -k[0])


def _bits(bets: np.ndarray, weights: np.ndarray) -> float:
    """weights.sum() * I(C; A) of cards with these weights that bet with these probabilities."""
    total = weights.sum()
    if total == 0.0:
        return 0.0
    return float(total * _entropy(bets @ weights / total) - _entropy(bets) @ weights)


def _entropy(p: np.ndarray | float) -> np.ndarray:
    p = np.clip(p, 1e-300, 1.0)
    q = np.clip(1.0 - p, 1e-300, 1.0)
    return -(p * np.log2(p) + q * np.log2(q))


def opening_signals(laboratory: Laboratory, strategy: TeamStrategy) -> list[Signal]:
    """What the team's members say with their first action, when all before them have checked."""
    lottery = strategy.plans()
    plans = [plan.told() for _, plan in lottery]

    def acts(seat: int, action: int) -> np.ndarray:
        """(plans, cards): whether the plan tells a card so."""
        node = laboratory.node(*[CHECK] * seat)
        told = np.array([[plan.get((node, own)) == action for own in range(slots.NUM_CARDS)] for plan in plans])
        return laboratory.by_card(seat, told.astype(float))

    probabilities = np.array([probability for probability, _ in lottery])
    return [
        _signal(seat, acts(seat, BET), probabilities, acts(seat - 2, CHECK) if seat >= 2 else None)
        for seat in strategy.beliefs.members
    ]


def independent_signal(laboratory: Laboratory, behaviour: np.ndarray, seat: int) -> Signal:
    """The same for seats that draw their actions alone: a lottery with one plan, known to all."""

    def acts(who: int, action: int) -> np.ndarray:
        return laboratory.by_card(who, behaviour[[laboratory.node(*[CHECK] * who, action)]])

    return _signal(seat, acts(seat, BET), np.ones(1), acts(seat - 2, CHECK) if seat >= 2 else None)


def _signal(seat: int, bets: np.ndarray, probabilities: np.ndarray, partner_checks: np.ndarray | None) -> Signal:
    """`partner_checks` is (plans, cards), for seats whose partner has acted before."""
    if partner_checks is None:
        partner_checks = np.ones_like(bets)
    others = partner_checks.sum(axis=1, keepdims=True) - partner_checks  # the partner holds any other card
    weights = probabilities[:, None] * others
    return Signal(seat, bets, weights / weights.sum())


def signals_figure(signals: list[Signal]) -> Figure:
    """Which cards bet under which plans, for each opening; and what the action says to whom."""
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplot_mosaic([["North", "South", "bits"], ["West", "East", "bits"]])
    for signal in signals:
        axis = panels[SEATS[signal.seat]]
        kinds = signal.kinds()
        rows = np.array([row for _, row in kinds])
        axis.imshow(rows, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
        for row, card in np.ndindex(rows.shape):
            word, colour = ("bet", "white") if rows[row, card] else ("check", "0.6")
            axis.text(card, row, word, ha="center", va="center", color=colour, fontsize=8)
        axis.set_xticks(range(len(CARD_NAMES)), CARD_NAMES)
        axis.set_yticks(range(len(kinds)), [f"{100 * share:.1f}%" for share, _ in kinds])
        axis.set_title(f"{SEATS[signal.seat]}, first action" + ("" if signal.seat == 0 else " after checks"))
        axis.set_xlabel("card held")
        axis.set_ylabel("how often")
    axis = panels["bits"]
    place = np.arange(len(signals))
    for shift, (label, colour) in zip((-0.2, 0.2), BAR_COLOURS.items(), strict=True):
        heights = [s.partner_bits if label == "to the partner" else s.opponent_bits for s in signals]
        bars = axis.bar(place + shift, heights, 0.4, label=label, color=colour)
        axis.bar_label(bars, fmt="%.2f", fontsize=8)
    axis.set_xticks(place, [SEATS[s.seat] for s in signals])
    axis.set_ylabel("bits about the card")
    axis.set_title("What bet or check says")
    axis.set_ylim(0, 1.3)
    axis.legend(frameon=False, loc="upper left")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    return figure


def opening_rows(signal: Signal) -> list[dict[str, str]]:
    """The same as a table for the report."""
    return [
        {
            "how often": f"{100 * share:.1f}%",
            "bets with": " ".join(CARD_NAMES[card] for card in np.flatnonzero(row)) or "nothing",
            "checks with": " ".join(CARD_NAMES[card] for card in np.flatnonzero(row == 0)) or "nothing",
        }
        for share, row in signal.kinds()
    ]
