"""Coinche metrics: what a finished deal says about its teams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
import pytest

from coinche_spiel.metrics import deal_facts, team_metrics
from tests.coinche_spiel.helpers import dealt, load, move

HANDS = ["AH JS", "7H 8H", "10H 9S", "9H KH"]  # North and South take 11 + 10 + 4, 20 + 14, and der 10 with spades: 69


def finished(*calls: str, **parameters: Any) -> pyspiel.State:
    state = move(dealt(load(hand_size=2, min_bid=60, max_bid=90, **parameters), HANDS), *calls)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[-1])
    return state


def test_deal_facts() -> None:
    states = [
        finished("60♠", "pass", "pass", "pass"),
        finished("70♠", "coinche", "pass", "pass", "pass"),
        finished("pass", "60♠", "pass", "capot♠", "coinche", "surcoinche"),
        finished("pass", "pass", "pass", "pass"),
    ]
    facts = deal_facts(np.array([state.array for state in states]))
    assert facts.attack.tolist() == [0, 0, 1, -1]
    assert facts.value.tolist() == [60, 70, 250, 0]
    assert facts.is_capot.tolist() == [0, 0, 1, 0]
    assert facts.level.tolist() == [0, 1, 2, 0]
    assert facts.points.tolist() == [69, 69, 0, 0]
    assert facts.made.tolist() == [1, 0, 0, 0]
    assert facts.coincher.tolist() == [-1, 1, 0, -1]
    assert facts.bids_0.tolist() == [1, 1, 0, 0]
    assert facts.bids_1.tolist() == [0, 0, 1, 0]
    assert facts.calls.tolist() == [4, 5, 6, 4]
    assert facts.cards.tolist() == [8, 8, 8, 0]


def test_team_metrics() -> None:
    """North and South: 60 made with 69 points (+60), 70 coinched and failed (-320), a capot against them failed."""
    states = [
        finished("60♠", "pass", "pass", "pass"),
        finished("70♠", "coinche", "pass", "pass", "pass"),
        finished("pass", "60♠", "pass", "capot♠", "coinche", "pass", "pass", "pass"),
        finished("pass", "pass", "pass", "pass"),
    ]
    arrays = np.array([state.array for state in states])
    returns = np.array([state.returns() for state in states])
    ratios = {
        seat: {
            name: float(x.sum() / n.sum()) for name, (x, n) in team_metrics(arrays, returns, seat).items() if n.sum()
        }
        for seat in (0, 1)
    }
    assert ratios[0] == pytest.approx(
        {
            "mean return": (60 - 320 + 500) / 4,
            "reward attacking": (60 - 320) / 2,
            "reward defending": 500,
            "attack rate": 2 / 4,
            "success attacking": 1 / 2,
            "success defending": 1,
            "contract": 65,
            "precision": 9,  # of the deal that was not coinched
            "precision without capot": 9,
            "capot rate": 0,
            "coinche rate": 1,
            "void rate": 1 / 4,
            "table turns": (12 + 13 + 16 + 4) / 4 / 4,
        }
    )
    assert ratios[1]["capot rate"] == 1
    assert ratios[1]["coinche rate"] == 1 / 2
    assert ratios[1]["success attacking"] == 0
    assert "precision" not in ratios[1]
