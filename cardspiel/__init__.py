"""CardSpiel: `import cardspiel` registers every game and transform of the project with OpenSpiel.

import cardspiel, pyspiel
game = pyspiel.load_game("python_toepen(suits=3,ranks=3,hand_size=2)")
"""

import kuhn_collab
import toepen_spiel

__all__ = ["GAME_PACKAGES"]

GAME_PACKAGES = (kuhn_collab, toepen_spiel)
