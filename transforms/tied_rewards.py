"""`python_tied_rewards(game=...)`: each player receives the sum of its team's returns.

Partners then want the same thing, which individual chips do not make them want. Teams are those the game declares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable.compiled import compiled
from cardtable.parameters import refusal
from cardtable.rules import Rules
from transforms.wrapping import TransformedGame, base_game, transform_type

NAME = "python_tied_rewards"
GAME_TYPE = transform_type(NAME, "Tied rewards", {})


class TiedRewardsGame(TransformedGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        base = base_game(NAME, params, "python_kuhn_collab")
        super().__init__(GAME_TYPE, base, tied_rules(base.rules, str(base)), base.wording, params)


def tied_rules(rules: Rules, name: str = "the game") -> Rules:
    """The same game in which partners share what they win."""
    if not rules.teams:
        raise refusal(f"{name} declares no teams", "games with teams", NAME)
    sizes = {len(team) for team in rules.teams}
    largest = max(sizes)
    team_of = np.empty(rules.num_players, np.int64)
    for number, team in enumerate(rules.teams):
        team_of[list(team)] = number
    return dataclasses.replace(
        rules,
        kernel=rules.kernel._replace(returns=_tied_returns(rules.kernel.returns, team_of)),
        min_utility=largest * rules.min_utility,
        max_utility=largest * rules.max_utility,
        # With teams of different sizes, what the larger one wins is counted more often.
        utility_sum=None if rules.utility_sum is None or len(sizes) > 1 else largest * rules.utility_sum,
    )


def _tied_returns(returns: Callable, team_of: np.ndarray) -> Callable:
    @compiled
    def tied_returns(state, out):
        returns(state, out)
        total = np.zeros(len(team_of))
        for seat in range(len(team_of)):
            total[team_of[seat]] += out[seat]
        for seat in range(len(team_of)):
            out[seat] = total[team_of[seat]]

    return tied_returns


pyspiel.register_game(GAME_TYPE, TiedRewardsGame)
