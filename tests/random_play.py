"""A random game through pyspiel, asking everything that players and algorithms ask along the way."""

from __future__ import annotations

import numpy as np
import pyspiel


def play_randomly(game: pyspiel.Game, rng: np.random.Generator) -> pyspiel.State:
    """Plays a game to its end: copies, keys, tensors, strings and redeals at every decision."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(outcomes, p=np.array(probabilities) / sum(probabilities))))
            continue
        player = state.current_player()
        state.clone()
        state.information_state_tensor(player)
        state.observation_tensor(player)
        state.information_state_string(player)
        state.resample_from_infostate(player, rng.random)
        state.apply_action(int(rng.choice(state.legal_actions())))
    return state
