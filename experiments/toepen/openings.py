"""What the first player does before the first card, hand by hand: tables and a picture for players."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.match import Estimate, play_games
from cardtable.player import Player
from experiments.toepen.self_play import asked
from toepen_spiel.game import ToepenWording
from toepen_spiel.state import BET, HAND, RANKS, SUITS

TENTHS = 10


def hand_name(game: pyspiel.Game, hand: int) -> str:
    """A card set in words."""
    state = game.rules.new_state()
    state[HAND] = hand
    return ToepenWording().private(state, 0)


def opening_rows(profile: Player, games: int, seed: int) -> tuple[list[dict[str, Any]], Estimate]:
    """The first player's hands up to renaming of suits, from games of the profile against itself; and her score."""
    game = profile.game
    rules = game.rules
    suits, ranks = int(rules.root[SUITS]), int(rules.root[RANKS])
    played = play_games(game, [profile, profile], games, seed)
    assert played.states is not None, "games of ours leave their final states"
    hands, points = played.states[:, deck.DEALT], played.returns[:, 0]
    patterns = np.sort(np.stack([hands >> suit * ranks & (1 << ranks) - 1 for suit in range(suits)], axis=1), axis=1)
    kinds, which, counts = np.unique(patterns[:, ::-1], axis=0, return_inverse=True, return_counts=True)
    values = np.bincount(which.reshape(-1), points) / counts
    sets = [sum(pattern << suit * ranks for suit, pattern in enumerate(kind)) for kind in kinds.tolist()]
    bets = asked(game, profile, np.array(sets), 0, BET)
    columns = zip(sets, counts.tolist(), values.tolist(), bets.tolist(), strict=True)
    rows = [
        {"hand": hand_name(game, hand), "probability": count / games, "value": value, "bets": share}
        for hand, count, value, share in columns
    ]
    return rows, Estimate.of(points)


def by_strength(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hands from the weakest to the strongest in ten groups of equal probability: mean value and betting."""
    ordered = sorted(rows, key=lambda row: row["value"])
    probability = np.array([row["probability"] for row in ordered])
    middle = (np.cumsum(probability) - probability / 2) / probability.sum()
    group = np.minimum((TENTHS * middle).astype(int), TENTHS - 1)
    found = []
    for number in np.unique(group).tolist():
        own = [row for row, where in zip(ordered, group, strict=True) if where == number]
        weights = [row["probability"] for row in own]
        found.append(
            {
                "tenth": number + 1,
                "value": float(np.average([row["value"] for row in own], weights=weights)),
                "bets": float(np.average([row["bets"] for row in own], weights=weights)),
                "weakest": own[0]["hand"],
                "strongest": own[-1]["hand"],
            }
        )
    return found


def tenths(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Openings by what hands are worth to the first player, answers by what they are worth to the second.

    A hand that is dealt often fills more than a tenth: where it does in one seat and not in the other, that seat has
    nothing to say of the tenth.
    """
    second_rows = [{**row, "value": row["value_second"], "bets": row["calls"]} for row in rows]
    first, second = ({row["tenth"]: row for row in by_strength(own)} for own in (rows, second_rows))
    nothing = {"value": np.nan, "bets": np.nan, "strongest": ""}
    return [
        {
            "tenth": tenth,
            "worth leading": one["value"],
            "opens with a bet": one["bets"],
            "strongest of them": one["strongest"],
            "worth second": two["value"],
            "calls an opening bet": two["bets"],
        }
        for tenth in sorted(first | second)
        for one, two in [(first.get(tenth, nothing), second.get(tenth, nothing))]
    ]


def plot(rows: list[dict[str, Any]], title: str) -> Any:
    """How often each hand bets, by its value; the area of a point is the hand's probability."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.5))
    value, bets, probability = (np.array([row[name] for row in rows]) for name in ("value", "bets", "probability"))
    axes.scatter(value, bets, s=np.clip(12_000 * probability, 2, 150), color="#1f77b4", alpha=0.35, linewidth=0)
    groups = by_strength(rows)
    axes.plot(
        [row["value"] for row in groups],
        [row["bets"] for row in groups],
        "o-",
        color="#222222",
        ms=4,
        label="mean of each tenth of the hands",
    )
    axes.set_xlabel("value of the hand to the first player, points")
    axes.set_ylabel("probability of a bet before the first card")
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    return figure
