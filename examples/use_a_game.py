"""Use a game in your own OpenSpiel code: load it, look at a position, and let OpenSpiel's algorithms run on it.

python examples/use_a_game.py
"""

import numpy as np
import pyspiel
from open_spiel.python.algorithms import cfr, exploitability

import cardspiel  # registers every game and transform with OpenSpiel

print("games:", ", ".join(cardspiel.GAMES))

# A position of the full game of Coinche, reached by random play.
game = pyspiel.load_game("python_coinche")
rng = np.random.default_rng(1)
state = game.new_initial_state()
while state.is_chance_node() or len(state.history()) < 40:
    state.apply_action(rng.choice(state.legal_actions()))
player = state.current_player()
print(f"\nwhat player {player} knows: {state.information_state_string(player)}")
print("legal:", ", ".join(state.action_to_string(player, action) for action in state.legal_actions()))

# OpenSpiel's own CFR on a small game of ours, unchanged.
small = pyspiel.load_game("python_toepen(suits=2,ranks=2,hand_size=2,betting=False)")
solver = cfr.CFRPlusSolver(small)
for _ in range(20):
    solver.evaluate_and_update_policy()
print(f"\nexploitability after 20 iterations: {exploitability.exploitability(small, solver.average_policy()):.4f}")
