"""Learnt points: ridge regression of double dummy points on features of hand and auction, one for each situation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coinche_spiel.bidding.contexts import ALL_FEATURES, SITUATIONS
from coinche_spiel.bidding.holdings import HOLDINGS, joint_features, plain_features, trump_features
from coinche_spiel.cards import NUM_RANKS, NUM_SUITS, ONE_SUIT
from experiments.coinche.bidding.auctions import Samples

RIDGE = 30.0  # samples' worth of pull towards no effect
CHUNK = 50_000
_TRUMP = np.array([trump_features(ranks) for ranks in range(HOLDINGS)], float)
_PLAIN = np.array([plain_features(ranks) for ranks in range(HOLDINGS)], float)
_LENGTH = np.array([ranks.bit_count() for ranks in range(HOLDINGS)])


class Fit(NamedTuple):
    """Weights by situation and feature, and how far off they are: the standard deviation of the residuals."""

    weights: dict[str, dict[str, float]]
    residuals: dict[str, float]
    samples: dict[str, int]


def design(samples: Samples, rows: np.ndarray) -> np.ndarray:
    """The features of these samples, in the order of ALL_FEATURES."""
    hands, suits = samples.hands[rows], samples.suits[rows]
    holdings = np.stack([hands >> NUM_RANKS * suit & ONE_SUIT for suit in range(NUM_SUITS)], axis=1)
    order = (suits[:, None] + np.arange(NUM_SUITS)) % NUM_SUITS  # trumps first
    holdings = np.take_along_axis(holdings, order, axis=1)
    lengths = _LENGTH[holdings]
    joint = np.array([joint_features(*shape) for shape in np.ndindex(9, 4, 4)], float)[
        (lengths[:, 0] * 4 + (lengths[:, 1:] == 0).sum(axis=1)) * 4 + (lengths[:, 1:] == 1).sum(axis=1)
    ]
    return np.hstack([_TRUMP[holdings[:, 0]], _PLAIN[holdings[:, 1:]].sum(axis=1), joint, samples.auctions[rows]])


def fit_points(samples: Samples) -> Fit:
    """Least squares with a little ridge in every situation; one that hardly occurs keeps what `fresh` has."""
    weights: dict[str, dict[str, float]] = {}
    residuals: dict[str, float] = {}
    counts: dict[str, int] = {}
    for place, situation in enumerate(SITUATIONS):
        rows = np.flatnonzero(samples.situations == place)
        size = len(ALL_FEATURES)
        gram, moment, square = np.zeros((size, size)), np.zeros(size), 0.0
        for first in range(0, len(rows), CHUNK):
            part = rows[first : first + CHUNK]
            features, points = design(samples, part), samples.points[part]
            gram += features.T @ features
            moment += features.T @ points
            square += float(points @ points)
        solution = np.linalg.solve(gram + RIDGE * np.eye(size), moment)
        error = float(square - 2 * solution @ moment + solution @ gram @ solution)
        weights[situation] = {name: round(float(w), 3) for name, w in zip(ALL_FEATURES, solution, strict=True)}
        residuals[situation] = float(np.sqrt(max(error, 0.0) / max(len(rows), 1)))
        counts[situation] = len(rows)
    return Fit(weights, residuals, counts)
