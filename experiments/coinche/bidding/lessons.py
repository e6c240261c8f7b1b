"""What a person can learn from the fast bidder: its decisions in auctions with itself, told in points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from cardtable import deck
from coinche_spiel.auction import apply_call, start_auction
from coinche_spiel.bidding.calls import OWN_POINTS, VALUES_SIZE, call_values
from coinche_spiel.bidding.contexts import CONTEXT_SIZE, write_context
from coinche_spiel.bidding.numbers import Numbers
from coinche_spiel.bidding.outcomes import PLAY_SHIFT, PLAY_SPREAD, SEARCHED
from coinche_spiel.cards import TOTAL_POINTS
from coinche_spiel.state import (
    BIDDING,
    BIDS,
    CAPOT,
    COINCHE,
    COINCHER,
    DECLARER,
    FIRST_BID,
    HAND,
    NONE,
    NUM_CALLS,
    PASS,
    PASSES,
    PHASE,
    TRUMP,
    TURN,
    VALUE,
    contract_value,
    level,
)
from experiments.coinche.bidding.deals import SEATS, Deals

# What is worth how much, in the words of a player; the features whose weights add up to it.
HOLDINGS = {
    "jack of trumps, with another": ("jack", "each_trump"),
    "jack third": ("jack", "each_trump", "third_trump", "jack_and_third_trump"),
    "nine, with another": ("nine", "guarded_nine", "each_trump"),
    "jack and nine": ("jack", "nine", "guarded_nine", "jack_and_nine", "each_trump", "each_trump"),
    "ace of trumps": ("ace", "each_trump"),
    "ten of trumps": ("ten", "each_trump"),
    "one more small trump": ("each_trump",),
    "the third trump, small": ("each_trump", "third_trump"),
    "the fourth trump, small": ("each_trump", "fourth_trump"),
    "ace of a side suit": ("side_ace",),
    "ace and ten of a side suit": ("side_ace", "side_ten", "side_ace_and_ten"),
    "ten of a side suit, guarded": ("side_ten", "guarded_side_ten"),
    "void, with three trumps": ("void", "void_and_three_trumps"),
    "void, with four trumps": ("void", "void_and_three_trumps", "void_and_four_trumps"),
    "leading": ("i_lead",),
    "partner leads": ("partner_leads",),
}
SHOWN = {"fresh": "own suit", "partners": "partner's suit", "theirs": "their suit"}


class Decision(NamedTuple):
    """What somebody expected and called."""

    kind: str  # opening, answer, overcall, ...
    points: float  # expected in the suit that matters: of the call, of the partner, of the opponents
    call: str
    seat: int  # counted from the first


def holding_rows(numbers: Numbers) -> list[dict[str, str]]:
    """Learnt points by holding and by what has been said about the suit."""
    return [
        {"holding": name}
        | {
            shown: f"{sum(numbers.weights[situation][feature] for feature in features):+.0f}"
            for situation, shown in SHOWN.items()
        }
        for name, features in HOLDINGS.items()
    ]


def decisions(root: np.ndarray, deals: Deals, numbers: np.ndarray) -> tuple[list[Decision], list[dict[str, Any]]]:
    """All decisions of the fast bidder against itself, and the contracts that came of them."""
    context, values = np.empty(CONTEXT_SIZE), np.empty(VALUES_SIZE)
    found, contracts = [], []
    for hands, points in zip(deals.hands, deals.points, strict=True):
        state = root.copy()
        state[HAND : HAND + SEATS] = state[deck.DEALT : deck.DEALT + SEATS] = hands
        start_auction(state)
        while state[PHASE] == BIDDING:
            write_context(state, numbers, context)
            call_values(state[HAND + state[TURN]], context, numbers, values)
            call = int(np.argmax(values[:NUM_CALLS]))
            kind = _kind(state)
            if kind:
                found.append(_decision(state, kind, call, values))
            apply_call(state, PASS + call)
        if state[VALUE] != NONE:
            contracts.append(_contract(state, int(points[int(state[DECLARER]) & 1, state[TRUMP]])))
    return found, contracts


def _kind(state: np.ndarray) -> str:
    if state[COINCHER] != NONE:
        return "coinched" if (int(state[DECLARER]) ^ int(state[TURN])) & 1 == 0 else ""
    if state[VALUE] == NONE:
        return "opening"
    called = [value for value in range(CAPOT + 1) if state[BIDS] >> 5 * value & 31]
    if len(called) > 1:
        return "later"
    ours = (int(state[DECLARER]) ^ int(state[TURN])) & 1 == 0
    if ours:
        return "answer" if state[DECLARER] != state[TURN] else ""
    return "overcall" if state[PASSES] == 0 else "later"


def _decision(state: np.ndarray, kind: str, call: int, values: np.ndarray) -> Decision:
    first = FIRST_BID - PASS
    seat = int(state[PASSES]) if kind == "opening" else 0
    if kind == "opening":
        suit = (call - first) % 4 if call else int(np.argmax(values[OWN_POINTS:]))
    else:
        suit = int(state[TRUMP])
    if call == 0:
        name = "pass"
    elif call >= COINCHE - PASS:
        name = "coinche" if call == COINCHE - PASS else "surcoinche"
    else:
        index = (call - first) // 4
        height = "capot" if index == CAPOT else str(80 + 10 * index)
        same = kind == "opening" or (call - first) % 4 == int(state[TRUMP])
        name = height if kind == "opening" else ("raise" if same else "another suit")
    return Decision(kind, float(values[OWN_POINTS + suit]), name, seat)


def _contract(state: np.ndarray, north_south: int) -> dict[str, Any]:
    attack = int(state[DECLARER]) & 1
    points = min(north_south, TOTAL_POINTS) if attack == 0 else TOTAL_POINTS - min(north_south, TOTAL_POINTS)
    value = int(contract_value(state))
    chance = 1 / (1 + np.exp(-(points + SEARCHED[PLAY_SHIFT] + 0.5 - value) / SEARCHED[PLAY_SPREAD]))
    return {"value": value, "level": int(level(state)), "chance": float(chance), "points": points}


def decision_rows(found: list[Decision], kind: str) -> list[dict[str, str]]:
    """How often each call is made in a kind of decision, and with how many expected points."""
    own = [decision for decision in found if decision.kind == kind]
    calls = sorted({decision.call for decision in own}, key=lambda name: (len(name) > 3, name))
    rows = []
    for call in calls:
        points = np.array([decision.points for decision in own if decision.call == call])
        low, middle, high = np.percentile(points, (10, 50, 90))
        rows.append(
            {
                "call": call,
                "share": f"{len(points) / len(own):.1%}",
                "expected points": f"{middle:.0f} ({low:.0f} to {high:.0f})",
            }
        )
    return rows


def contract_rows(contracts: list[dict[str, Any]]) -> list[dict[str, str]]:
    """By value: how often it is the last word, how often it is made, how often it is coinched."""
    rows = []
    for value in sorted({contract["value"] for contract in contracts if contract["value"] <= 160}):
        own = [contract for contract in contracts if contract["value"] == value]
        coinched = [contract["chance"] for contract in own if contract["level"]]
        rows.append(
            {
                "contract": str(value),
                "share": f"{len(own) / len(contracts):.1%}",
                "made": f"{np.mean([contract['chance'] for contract in own]):.0%}",
                "coinched": f"{len(coinched) / len(own):.0%}",
                "made if coinched": f"{np.mean(coinched):.0%}" if coinched else "-",
            }
        )
    return rows


def draw_holdings(numbers: Numbers) -> Figure:
    figure, axis = plt.subplots(figsize=(8, 6.5))
    names = list(HOLDINGS)[::-1]
    height = 0.26
    for place, (situation, shown) in enumerate(SHOWN.items()):
        weights = numbers.weights[situation]
        points = [sum(weights[feature] for feature in HOLDINGS[name]) for name in names]
        where = np.arange(len(names)) + (1 - place) * height
        axis.barh(where, points, height, label=f"in {shown}", color=("tab:green", "tab:blue", "tab:red")[place])
    axis.set_yticks(np.arange(len(names)), names)
    axis.set(xlabel="points for the own side, cards open", title="What a holding is worth")
    axis.axvline(0, color="black", linewidth=0.8)
    axis.grid(axis="x", alpha=0.3)
    axis.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    return figure


def draw_openings(found: list[Decision]) -> Figure:
    """How common hands are by expected points, and what is called with them, first to speak."""
    own = [decision for decision in found if decision.kind == "opening" and decision.seat == 0]
    calls = ["pass", *(str(value) for value in range(80, 170, 10)), "capot"]
    calls = [call for call in calls if any(decision.call == call for decision in own)]
    colours = ["lightgrey", *plt.get_cmap("plasma")(np.linspace(0.0, 0.9, len(calls) - 1))]
    points = [[decision.points for decision in own if decision.call == call] for call in calls]
    weights = [np.full(len(part), 1 / len(own)) for part in points]
    figure, axis = plt.subplots(figsize=(8, 4.2))
    labels = [f"{call}: {len(part) / len(own):.1%}" for call, part in zip(calls, points, strict=True)]
    axis.hist(points, list(range(50, 186, 3)), weights=weights, stacked=True, label=labels, color=colours)
    axis.set(xlabel="expected points in the best suit", ylabel="share of hands")
    axis.set_title("First to speak: what is called with how much")
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def draw_contracts(contracts: list[dict[str, Any]]) -> Figure:
    rows = [value for value in range(80, 170, 10) if any(contract["value"] == value for contract in contracts)]
    made = [np.mean([one["chance"] for one in contracts if one["value"] == value]) for value in rows]
    share = [np.mean([one["value"] == value for one in contracts]) for value in rows]
    figure, axis = plt.subplots(figsize=(8, 4.2))
    axis.bar(np.array(rows) - 2, share, 4, color="tab:blue", label="share of all contracts")
    axis.bar(np.array(rows) + 2, made, 4, color="tab:green", label="made")
    axis.set(xlabel="contract", ylabel="share", ylim=(0, 1), title="Contracts of four equal bidders")
    axis.set_xticks(rows)
    axis.legend(frameon=False)
    axis.grid(axis="y", alpha=0.3)
    figure.tight_layout()
    return figure
