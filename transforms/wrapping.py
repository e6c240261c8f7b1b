"""What all transforms share: a game made from a game, as rules made from rules.

A transform is a function from one `Rules` record to another, whose compiled functions are closures over those of the
base game. So a transformed game is a game like any other: it has a pyspiel face, a kernel that compiled solvers drive,
and can be transformed again. Its name nests: `python_tied_rewards(game=python_kuhn_collab())`; a nested game keeps its
parentheses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyspiel

from cardtable.rules import Rules
from cardtable.spiel import CardGame, Wording, card_game_type

MAX_PLAYERS = 10


def transform_type(short_name: str, long_name: str, parameters: Mapping[str, Any]) -> pyspiel.GameType:
    """The type a transform is registered with. It cannot be loaded without saying which game to transform."""
    return card_game_type(
        short_name,
        long_name,
        MAX_PLAYERS,
        {"game": {}, **parameters},
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        min_num_players=1,
        default_loadable=False,
    )


def base_game(transform: str, params: Mapping[str, Any]) -> CardGame:
    """The game named by the parameter `game`; ValueError if it is missing or not one that can be transformed."""
    description = dict(params.get("game") or {})
    name = description.pop("name", None)
    if name is None:
        raise ValueError(f"{transform}: the parameter game is missing; write {transform}(game=python_toepen())")
    game = pyspiel.load_game(name, description)
    if not isinstance(game, CardGame):
        raise ValueError(
            f"{transform}: game is {name}; allowed: games and transforms of CardSpiel, made of a rules record"
        )
    return game


class TransformedGame(CardGame):
    """A pyspiel game around `base`, with rules made from the base's rules."""

    def __init__(
        self, registered: pyspiel.GameType, base: CardGame, rules: Rules, wording: Wording, params: Mapping[str, Any]
    ) -> None:
        base_type = base.get_type()
        game_type = card_game_type(
            registered.short_name,
            f"{registered.long_name} of {base_type.long_name}",
            rules.num_players,
            registered.parameter_specification,
            utility=utility_type(rules),
            default_loadable=False,
        )
        self.base = base
        super().__init__(game_type, rules, wording, params)


def utility_type(rules: Rules) -> pyspiel.GameType.Utility:
    if rules.utility_sum is None:
        return pyspiel.GameType.Utility.GENERAL_SUM
    if rules.utility_sum == 0:
        return pyspiel.GameType.Utility.ZERO_SUM
    return pyspiel.GameType.Utility.CONSTANT_SUM
