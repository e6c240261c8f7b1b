"""Counterfactual regrets by walking pyspiel states in plain Python: the truth for sampled ones."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyspiel

Strategy = Callable[[pyspiel.State], dict[int, float]]


def exact_regrets(
    game: pyspiel.Game, player: int, strategy: Strategy, own_uniform: bool = False
) -> dict[str, dict[int, float]]:
    """sum over histories of I of (reach of everyone but `player`) * (value of the action - value of the history).

    Only information states of `player` with a choice are listed. With `own_uniform` the reach has a factor 1 / n for
    each earlier decision of the player with n actions, which is the same for all histories of I.
    """
    regrets: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))

    def walk(state: pyspiel.State, others_reach: float) -> float:
        if state.is_terminal():
            return state.returns()[player]
        if state.is_chance_node():
            return sum(p * walk(state.child(a), others_reach * p) for a, p in state.chance_outcomes())
        legal = state.legal_actions()
        chosen = strategy(state) if len(legal) > 1 else {legal[0]: 1.0}
        mine = state.current_player() == player
        own = 1.0 / len(legal) if own_uniform else 1.0
        values = {a: walk(state.child(a), others_reach * (own if mine else chosen[a])) for a in legal}
        value = sum(chosen[a] * values[a] for a in legal)
        if mine and len(legal) > 1:
            for a in legal:
                regrets[state.information_state_string()][a] += others_reach * (values[a] - value)
        return value

    walk(game.new_initial_state(), 1.0)
    return regrets


def random_strategy(seed: int) -> Strategy:
    """A fixed strategy that differs between information states; some actions have probability zero."""

    def choose(state: pyspiel.State) -> dict[int, float]:
        text = f"{seed} {state.current_player()} {state.information_state_string()}"
        random = np.random.default_rng(list(text.encode()))
        weights = np.maximum(random.random(len(state.legal_actions())) - 0.2, 0.0)
        weights[random.integers(len(weights))] += 0.1
        return dict(zip(state.legal_actions(), (weights / weights.sum()).tolist(), strict=True))

    return choose
