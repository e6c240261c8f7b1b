"""Playing the original game with a policy made for a transformed one: `lift(policy, transform, base_game)`.

At a decision of the base game the player looks at the position as the transform shows it, asks the policy there, and
plays what the chosen action means. Where the transform made several actions one, their probability is shared equally.
NashConv of an abstraction is only worth reporting for the lifted policy. (For `method=orbit` of the card isomorphism it
is the same number; for a large game use that.)

`solvers.lifted` does the same for whole tables at once, in compiled code.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from cardtable.parameters import UserError, refusal
from cardtable.rules import Rules
from cardtable.spiel import CardGame, CardState
from transforms.wrapping import TransformedGame, play_really, real_actions


def lift(policy: Policy | pyspiel.Policy, transform: CardGame, base_game: CardGame) -> LiftedPolicy:
    """The policy of `transform` as a policy of `base_game`, a game inside it."""
    require_inside(base_game, transform)
    made_for = getattr(policy, "game", None)
    if made_for is not None and str(made_for) != str(transform):
        raise UserError(f"lift: the policy is one of {made_for}, not of the transform {transform}")
    return LiftedPolicy(policy, transform, base_game)


def require_inside(base_game: CardGame, transform: CardGame) -> None:
    """UserError unless the transform was made, in one or more steps, from the base game."""
    inside = [transform]
    while isinstance(inside[-1], TransformedGame):
        inside.append(inside[-1].base)
    if str(base_game) not in map(str, inside[1:]):
        allowed = ", ".join(map(str, inside[1:])) or "none, as it is no transform"
        raise refusal(f"base_game is {base_game}", f"games inside {transform}: {allowed}", "lift")
    if transform.rules.origin is None:
        raise UserError(f"lift: {transform} shows its players nothing but {base_game} does: there is nothing to lift")


class LiftedPolicy(Policy):
    def __init__(self, policy: Policy | pyspiel.Policy, transform: CardGame, base_game: CardGame) -> None:
        super().__init__(base_game, list(range(base_game.num_players())))
        self._policy = policy
        self._transform = transform

    def action_probabilities(self, state: CardState, player_id: int | None = None) -> dict[int, float]:
        view = self._transform.new_initial_state()
        played = real_actions(state)
        play_really(view, state.array, played)
        answer = dict(self._policy.action_probabilities(view))
        lifted = dict.fromkeys(state.legal_actions(), 0.0)
        meant = [(name_in(state, action), name_in(view, action)) for action in original_legal_actions(state)]
        names = [name for _, name in meant]
        for action, name in meant:
            lifted[action] += answer.get(name, 0.0) / names.count(name)
        return lifted


def name_in(state: CardState, action: int) -> int:
    """What an action of the original game is called in this game."""
    origin = state.table.rules.origin
    return action if origin is None else int(origin.label(state.array, action))


def original_legal_actions(state: CardState) -> list[int]:
    """The legal actions of the game inside all transforms."""
    rules: Rules = state.table.rules
    if rules.origin is None:
        return state.legal_actions()
    original = rules.origin.rules
    actions = np.empty(original.num_distinct_actions, np.int64)
    return actions[: original.kernel.legal_actions(state.array[: original.state_size], actions)].tolist()
