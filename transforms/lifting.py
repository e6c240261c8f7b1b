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
from numba import types
from open_spiel.python.policy import Policy

from cardtable.compiled import entry_point
from cardtable.parameters import UserError, refusal
from cardtable.player import Player, drawing_player, original_game
from cardtable.rows import draw_rows
from cardtable.rules import (
    ADDRESSES,
    INTEGERS,
    LABEL_SIGNATURE,
    LABEL_TYPE,
    STATES,
    Rules,
    compile_for,
    kernel_at,
)
from cardtable.spiel import LONGEST_NAME, CardGame, CardState, is_game
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


def transform_of(text: str, game: pyspiel.Game) -> TransformedGame | None:
    """The transform that a text, as found in a file, names, if it was made from this game."""
    try:
        if len(text) > LONGEST_NAME:
            return None
        found = pyspiel.load_game(text)
    except (pyspiel.SpielError, ValueError):
        return None
    return found if isinstance(found, TransformedGame) and is_game(str(original_game(found)), game) else None


def lifted_player(player: Player, transform: CardGame, base_game: CardGame) -> Player:
    """A player of `transform` as a player of `base_game`, the game inside it, in batches.

    A state of the transform begins with that of the game inside; at a decision, what follows is as at the root.
    """
    require_inside(base_game, transform)
    origin, see, choose = transform.rules.origin, player.probabilities_rows, player.choose_rows
    if origin is None or choose is None or base_game.rules.origin is not None:
        raise UserError(
            f"{player.name} plays {transform}; it can be lifted to the original game only, not to {base_game}"
        )
    label = compile_for(origin.label, LABEL_SIGNATURE)
    rules, kernel = base_game.rules, base_game.rules.compiled_kernel().addresses()

    def shared_out(states: np.ndarray, rows: np.ndarray, views: np.ndarray, named: np.ndarray) -> np.ndarray:
        chances = np.zeros((len(rows), rules.num_distinct_actions))
        _share_out(kernel, label, states, rows, views, np.ascontiguousarray(named, np.float64), chances)
        return chances

    def seen(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        views = np.repeat(transform.rules.root[None, :], len(rows), axis=0)
        views[:, : rules.state_size] = states[rows]
        return views

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        views = seen(states, rows)
        return shared_out(states, rows, views, see(views, np.arange(len(rows))))  # type: ignore[misc]

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """What is chosen there, drawn from the actions that it stands for."""
        views = seen(states, rows)
        names = choose(views, np.arange(len(rows)), streams)
        named = np.zeros((len(rows), transform.num_distinct_actions()))
        named[np.arange(len(rows)), names] = 1.0
        chosen = np.empty(len(rows), np.int64)
        draw_rows(shared_out(states, rows, views, named), streams, chosen)
        return chosen

    if see is None:
        return Player(player.name, base_game, choose_rows=choose_rows, every_dealer=player.every_dealer)
    return drawing_player(player.name, base_game, probabilities_rows, every_dealer=player.every_dealer)


_CHANCES = types.Array(types.float64, 2, "C")


@entry_point(ADDRESSES, LABEL_TYPE, STATES, INTEGERS, STATES, _CHANCES, _CHANCES, nogil=True)
def _share_out(addresses, label, states, rows, views, named, chances):
    """Gives each action of the base game its equal share of the probability of its name in the transform."""
    kernel = kernel_at(addresses)
    actions = np.empty(chances.shape[1], np.int64)
    names = np.empty(chances.shape[1], np.int64)
    members = np.empty(named.shape[1], np.int64)
    for index in range(len(rows)):
        count = kernel.legal_actions(states[rows[index]], actions)
        members[:] = 0
        for place in range(count):
            names[place] = label(views[index], actions[place])
            members[names[place]] += 1
        for place in range(count):
            chances[index, actions[place]] = named[index, names[place]] / members[names[place]]


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
