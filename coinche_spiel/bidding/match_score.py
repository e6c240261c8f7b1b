"""The score of a match: what a deal's points are worth on the way to the target.

Between equal teams a deal goes to either side with one chance in two and brings it what contracts and falls usually
bring. With r points missing to us and s to them, the chance of winning is

    W(r, s) = sum over amounts a of  share_a * (W(r - a, s) + W(r, s - a)) / 2,     W(r <= 0, s) = 1,  W(r, s <= 0) = 0,

in steps of ten points. Shares are those of the amounts in deals between equal bidders. How many deals may still be
played is left out: it is hardly ever what ends a match.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from coinche_spiel.match import SCORE, TARGET

STEP = 10
MOST_STEPS = 200  # who lacks more than 2,000 points is as good as at the beginning
AMOUNTS = (8, 9, 10, 11, 12, 13, 16, 18, 20, 32)  # in steps: contracts, falls, coinched ones
SHARES = (0.09, 0.14, 0.17, 0.14, 0.08, 0.04, 0.17, 0.01, 0.04, 0.12)


def _chances() -> np.ndarray:
    """W by missing steps, ours first, from 0 to MOST_STEPS."""
    chances = np.full((MOST_STEPS + 1, MOST_STEPS + 1), 0.5)
    chances[0, :] = 1.0
    chances[1:, 0] = 0.0
    width = min(AMOUNTS)  # so many neighbours do not depend on each other
    for ours in range(1, MOST_STEPS + 1):
        for first in range(1, MOST_STEPS + 1, width):
            theirs = np.arange(first, min(first + width, MOST_STEPS + 1))
            row = np.zeros(len(theirs))
            for amount, share in zip(AMOUNTS, SHARES, strict=True):
                we_score = chances[max(ours - amount, 0), theirs]
                they_score = chances[ours, np.maximum(theirs - amount, 0)]
                row += share * 0.5 * (we_score + they_score)
            chances[ours, theirs] = row
    return chances


CHANCES = _chances()


@compiled
def _steps(points):
    """Missing points as steps; nothing is missing below one."""
    return min(max((points + STEP - 1) // STEP, 0), MOST_STEPS)


@compiled
def win_chance(state, team, own, theirs):
    """The chance of a team to win the match once it has scored `own` and the others `theirs` in this deal."""
    ours_missing = state[TARGET] - state[SCORE + team] - own
    theirs_missing = state[TARGET] - state[SCORE + 1 - team] - theirs
    return CHANCES[_steps(ours_missing), _steps(theirs_missing)]


@compiled
def score_in_points(state, team, own, theirs):
    """A score of this deal as the points that would matter as much if every point mattered alike at this score."""
    now = win_chance(state, team, 0, 0)
    typical = win_chance(state, team, 10 * STEP, 0) - win_chance(state, team, 0, 10 * STEP)
    return 20 * STEP * (win_chance(state, team, own, theirs) - now) / max(typical, 1e-3)
