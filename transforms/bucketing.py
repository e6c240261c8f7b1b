"""`python_bucketing(game=...,hand=exact|bucket|none,history=exact|ante|none)`: players who forget.

For games that say how they can be made coarser (by a `Forgetting`). The information state of a player is the seat, the
number of legal actions, and what is kept of the hand and of the public history. Decisions that can no longer be told
apart share one strategy, so actions are called by their position: for Toepen, bet 0 and check 1, call 0 and fold 1,
cards grouped by suit, the suit with the weakest card first.

Around `python_card_isomorphism(...,method=orbit)` the player forgets first, and suits are renamed in what is left.

These are games of imperfect recall: they have no sequence form, and NashConv inside them means little. Solve them on
the tree or by sampling, lift the policy (`transforms.lifting`) and evaluate it in the original game.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable.compiled import compiled
from cardtable.parameters import refusal, require_one_of
from cardtable.rules import CHANCE, Forgetting, Kernel, Origin, Piece, Rules
from cardtable.spiel import Wording
from transforms.card_isomorphism import MAX_LEGAL_ACTIONS
from transforms.wrapping import TransformedGame, base_game, original_game, transform_type

NAME = "python_bucketing"
DEFAULTS = {"hand": "exact", "history": "exact"}
GAME_TYPE = transform_type(NAME, "Bucketing", DEFAULTS)

# The last slots of the state.
HAND_SLOT = -2
HISTORY_SLOT = -1
NUM_SLOTS = 2


class BucketingGame(TransformedGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        base = base_game(NAME, params, "python_toepen")
        kept = {**DEFAULTS, **{name: params[name] for name in DEFAULTS if name in params}}
        rules = bucketed_rules(base.rules, kept["hand"], kept["history"], str(base))
        wording = BucketedWording(base.wording, base.rules, original_game(base).wording)
        super().__init__(GAME_TYPE, base, rules, wording, params)


def bucketed_rules(rules: Rules, hand: str, history: str, name: str = "the game") -> Rules:
    """The same game played by players who keep only this much of hand and history."""
    forgetting = rules.forgetting
    if forgetting is None:
        raise refusal(f"{name} does not say what can be forgotten", "games that do", NAME)
    kept = (
        require_one_of("hand", hand, forgetting.hands, NAME),
        require_one_of("history", history, forgetting.histories, NAME),
    )
    kernel, label = _functions(rules.kernel, forgetting, rules.origin.label if rules.origin else _same_action)
    pieces = (*forgetting.pieces(rules, *kept), Piece("choices", (forgetting.most_actions + 1,), "private"))
    deals = rules.weighted_deals
    return dataclasses.replace(
        rules,
        kernel=kernel,
        root=np.append(rules.root, kept),
        num_distinct_actions=forgetting.most_actions,
        key_words=1 + forgetting.key_words,
        information_pieces=pieces,
        observation_pieces=pieces,
        symmetry=None,
        forgetting=None,
        features=None,  # they tell what is to be forgotten
        moves=None,
        moves_inside=rules.moves or rules.moves_inside,
        recall=None,
        origin=Origin(rules.origin.rules if rules.origin else rules, label),
        weighted_deals=None if deals is None else deals._replace(make=functools.partial(_with_slots, deals.make, kept)),
    )


def _with_slots(
    make: Callable[[], tuple[np.ndarray, np.ndarray]], kept: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    states, probabilities = make()
    slots = np.tile(np.array(kept, np.int64), (len(states), 1))
    return np.concatenate([states, slots], axis=1), probabilities


@compiled
def _same_action(state, action):
    return action


@functools.cache  # games that differ only in size share their compiled functions
def _functions(kernel: Kernel, forgetting: Forgetting, base_label: Callable) -> tuple[Kernel, Callable]:
    """The kernel, whose state is the base's and two more slots: how much is kept of hand and history."""
    assert forgetting is not None, "checked by the caller"
    (
        base_player,
        base_legal_actions,
        base_apply_action,
        base_chance_outcomes,
        base_deal,
        base_resample,
        base_returns,
    ) = kernel[:7]
    base_key, base_tensor, sort_actions = forgetting.key, forgetting.tensor, forgetting.sort_actions
    most_actions = forgetting.most_actions

    @compiled
    def current_player(state):
        return base_player(state[:-NUM_SLOTS])

    @compiled
    def sorted_actions(state, out):
        base = state[:-NUM_SLOTS]
        count = base_legal_actions(base, out)
        sort_actions(base, state[HAND_SLOT], out, count)
        return count

    @compiled
    def label(state, action):
        """The position of an action of the original game."""
        base = state[:-NUM_SLOTS]
        actions = np.empty(MAX_LEGAL_ACTIONS, np.int64)
        sorted_actions(state, actions)
        name = base_label(base, action)
        position = 0
        while actions[position] != name:
            position += 1
        return position

    @compiled
    def legal_actions(state, out):
        actions = np.empty(MAX_LEGAL_ACTIONS, np.int64)
        count = base_legal_actions(state[:-NUM_SLOTS], actions)
        for position in range(count):
            out[position] = position
        return count

    @compiled
    def apply_action(state, action):
        base = state[:-NUM_SLOTS]
        if base_player(base) == CHANCE:
            base_apply_action(base, action)
            return
        actions = np.empty(MAX_LEGAL_ACTIONS, np.int64)
        sorted_actions(state, actions)
        base_apply_action(base, actions[action])

    @compiled
    def chance_outcomes(state, outcomes, probabilities):
        return base_chance_outcomes(state[:-NUM_SLOTS], outcomes, probabilities)

    @compiled
    def deal(state, generator):
        base_deal(state[:-NUM_SLOTS], generator)

    @compiled
    def resample(state, player, generator):
        """Redeals as if the player had not forgotten: uniform over deals that fit her exact information."""
        base_resample(state[:-NUM_SLOTS], player, generator)

    @compiled
    def returns(state, out):
        base_returns(state[:-NUM_SLOTS], out)

    @compiled
    def choices(base, player):
        """How many legal actions the player has; 0 if it is not her turn."""
        if base_player(base) != player:
            return 0
        return base_legal_actions(base, np.empty(MAX_LEGAL_ACTIONS, np.int64))

    @compiled
    def information_key(state, player, out):
        base = state[:-NUM_SLOTS]
        out[0] = choices(base, player) | player << 8
        base_key(base, player, state[HAND_SLOT], state[HISTORY_SLOT], out[1:])

    @compiled
    def information_tensor(state, player, out):
        base = state[:-NUM_SLOTS]
        base_tensor(base, player, state[HAND_SLOT], state[HISTORY_SLOT], out)
        out[len(out) - most_actions - 1 + choices(base, player)] = 1.0

    return kernel._replace(
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        chance_outcomes=chance_outcomes,
        deal=deal,
        resample=resample,
        returns=returns,
        information_key=information_key,
        information_tensor=information_tensor,
        observation_tensor=information_tensor,
    ), label


class BucketedWording:
    """What the player keeps; nothing of it is public, because players may keep different things."""

    def __init__(self, base: Any, rules: Rules, original: Wording) -> None:
        self._base = base
        self._rules = rules
        self._forgetting: Any = rules.forgetting
        self._original = original

    def _sorted_actions(self, state: np.ndarray) -> list[int]:
        base = state[:-NUM_SLOTS]
        actions = np.empty(MAX_LEGAL_ACTIONS, np.int64)
        count = self._rules.kernel.legal_actions(base, actions)
        self._forgetting.sort_actions(base, state[HAND_SLOT], actions, count)
        return actions[:count].tolist()

    def action(self, state: np.ndarray, action: int) -> str:
        return self._base.action(state[:-NUM_SLOTS], self._sorted_actions(state)[action])

    def card(self, state: np.ndarray, card: int) -> str:
        return self._base.card(state, card)

    def chance(self, state: np.ndarray, outcome: int) -> str:
        return self._base.chance(state[:-NUM_SLOTS], outcome)

    def private(self, state: np.ndarray, player: int) -> str:
        base = state[:-NUM_SLOTS]
        kept = self._forgetting.describe(self._original, base, player, int(state[HAND_SLOT]), int(state[HISTORY_SLOT]))
        if self._rules.kernel.current_player(base) != player:
            return kept
        return f"{len(self._sorted_actions(state))} choices | {kept}"

    def public_history(self, state: np.ndarray) -> str:
        return ""

    def public_now(self, state: np.ndarray) -> str:
        return ""


pyspiel.register_game(GAME_TYPE, BucketingGame)
