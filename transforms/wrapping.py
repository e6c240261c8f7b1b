"""What all transforms share: a game made from a game, as rules made from rules.

A transform is a function from one `Rules` record to another, whose compiled functions are closures over those of the
base game. So a transformed game is a game like any other: it has a pyspiel face, a kernel that compiled solvers drive,
and can be transformed again. Its name nests: `python_tied_rewards(game=python_kuhn_collab())`; a nested game keeps its
parentheses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.parameters import bad_value, refusal
from cardtable.rules import CHANCE, Rules
from cardtable.spiel import CardGame, CardState, Wording, card_game_type, utility_type

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


def base_game(transform: str, params: Mapping[str, Any], example: str) -> CardGame:
    """The game named by the parameter `game`; UserError if it is missing or not one that can be transformed.

    `example` is a game that this transform takes, for those who named none.
    """
    description = dict(params.get("game") or {})
    name = description.pop("name", None)
    if name is None:
        raise refusal("the parameter game is missing", f"a game, as in {transform}(game={example}())", transform)
    game = pyspiel.load_game(name, description)
    if not isinstance(game, CardGame):
        raise bad_value("game", name, "games and transforms of CardSpiel, made of a rules record", transform)
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

    def new_initial_state(self) -> TransformedState:
        return TransformedState(self)


def original_game(game: CardGame) -> CardGame:
    """The game inside all transforms."""
    while isinstance(game, TransformedGame):
        game = game.base
    return game


class TransformedState(CardState):
    """A state of a transformed game. Where players name actions in their own way, it knows what was really played."""

    def resample_from_infostate(self, player: int, probability_sampler: Any) -> CardState:
        origin = self.table.rules.origin
        if origin is None:
            return super().resample_from_infostate(player, probability_sampler)
        array = self.table.resampled(player, probability_sampler)
        state = self.get_game().new_initial_state()
        play_really(state, array, real_actions(self))
        return state


def real_actions(state: CardState) -> list[int]:
    """What was played, as actions of the original game."""
    rules, kernel = state.table.rules, state.table.rules.kernel
    if rules.origin is None:
        return [move.action for move in state.full_history() if move.player != CHANCE]
    original = rules.origin.rules
    array, before = rules.new_state(), None
    played = []
    for move in state.full_history():
        if move.player != CHANCE:
            before = array[: original.state_size].copy()
        kernel.apply_action(array, move.action)
        now = array[: original.state_size]
        if before is not None and (now != before).any():
            played.append(next(a for a in _legal(original, before) if (_after(original, before, a) == now).all()))
            before = None
    return played


def play_really(state: CardState, dealt: np.ndarray, actions: Iterable[int]) -> None:
    """Deals the cards of the array `dealt` in a new state, then plays actions of the original game."""
    while state.is_chance_node():
        state.apply_action(int(deck.pile_of(dealt, state.array[deck.NEXT_CARD])))
    origin = state.table.rules.origin
    for action in actions:
        if origin is None:
            state.apply_action(action)
            continue
        size = origin.rules.state_size
        goal = _after(origin.rules, state.array[:size], action)
        state.apply_action(int(origin.label(state.array, action)))
        while state.is_chance_node():
            state.apply_action(
                next(
                    o for o in state.legal_actions() if (_after(state.table.rules, state.array, o)[:size] == goal).all()
                )
            )


def _legal(rules: Rules, array: np.ndarray) -> list[int]:
    actions = np.empty(rules.num_distinct_actions, np.int64)
    return actions[: rules.kernel.legal_actions(array, actions)].tolist()


def _after(rules: Rules, array: np.ndarray, action: int) -> np.ndarray:
    after = array.copy()
    rules.kernel.apply_action(after, action)
    return after
