"""A modest search for games of OpenSpiel that are not ours, where `monte_carlo` does not play: flat Monte Carlo.

For each of `worlds` worlds, drawn with `resample_from_infostate` (the position itself, if everybody sees everything),
every legal action is tried and the game played to its end at random. The value of an action is its mean return; worlds
are common to all actions, so the standard error is that of the difference to the best one. (Ginsberg, "GIB: imperfect
information in a computationally challenging game", 2001, without the solver at the leaves.)
"""

from __future__ import annotations

import random

import numpy as np
import pyspiel

from cardtable.parameters import UserError, require_whole
from cardtable.player import Explanation, Player

NAME = "rollouts"
WORLDS = 50
MOST_WORLDS = 10_000


def can_search(game: pyspiel.Game) -> bool:
    """Whether the game can deal again what a player does not see. OpenSpiel does not say: it must be tried."""
    if game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION:
        return True
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    try:
        state.resample_from_infostate(state.current_player(), random.Random(1).random)
    except Exception:  # C++ raises what it likes
        return False
    return True


def rollouts(game: pyspiel.Game, worlds: int = WORLDS) -> Player:
    """The player of this module."""
    require_whole("worlds", worlds, 1, MOST_WORLDS)
    if not can_search(game):
        raise UserError(f"{game.get_type().short_name} cannot deal again what a player does not see")

    def make_bot(table: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
        return RolloutBot(seat, worlds, seed)

    return Player(NAME, game, make_bot=make_bot)


class RolloutBot(pyspiel.Bot):
    def __init__(self, seat: int, worlds: int, seed: int) -> None:
        super().__init__()
        self._seat = seat
        self._worlds = worlds
        self._random = random.Random(seed)

    def player_id(self) -> int:
        return self._seat

    def restart(self) -> None:
        pass

    def step(self, state: pyspiel.State) -> int:
        found = self.explain(state)
        assert found.values is not None
        return int(found.actions[int(np.argmax(found.values))])

    def explain(self, state: pyspiel.State) -> Explanation:
        """Mean returns, and the standard errors of their differences to the best."""
        legal = state.legal_actions()
        returns = np.empty((self._worlds, len(legal)))
        for row in returns:
            world = _world(state, self._seat, self._random)
            for place, action in enumerate(legal):
                row[place] = _played_out(world.child(action), self._seat, self._random)
        values = returns.mean(axis=0)
        differences = returns - returns[:, [int(np.argmax(values))]]
        errors = differences.std(axis=0, ddof=1) / np.sqrt(self._worlds) if self._worlds > 1 else values * np.nan
        return Explanation(np.array(legal), values=values, errors=errors)


def _world(state: pyspiel.State, seat: int, rng: random.Random) -> pyspiel.State:
    if state.get_game().get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION:
        return state
    return state.resample_from_infostate(seat, rng.random)


def _played_out(state: pyspiel.State, seat: int, rng: random.Random) -> float:
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, weights = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, weights)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
    return float(state.returns()[seat])
