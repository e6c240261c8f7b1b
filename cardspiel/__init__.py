"""CardSpiel: `import cardspiel` registers every game and transform of the project with OpenSpiel.

import cardspiel, pyspiel
game = pyspiel.load_game("python_toepen(suits=3,ranks=3,hand_size=2)")
"""

import cego_spiel
import coinche_spiel
import gongzhu_spiel
import kuhn_collab
import toepen_spiel
import transforms

__all__ = ["GAMES", "PACKAGES", "TRANSFORMS"]

# A package registers its games when it is imported, and says in GAMES or TRANSFORMS what they are called.
PACKAGES = (cego_spiel, coinche_spiel, gongzhu_spiel, kuhn_collab, toepen_spiel, transforms)

# Names that pyspiel.load_game now knows; a transform needs a game to work on, as in
# python_tied_rewards(game=python_kuhn_collab()).
GAMES: tuple[str, ...] = tuple(name for package in PACKAGES for name in getattr(package, "GAMES", ()))
TRANSFORMS: tuple[str, ...] = tuple(name for package in PACKAGES for name in getattr(package, "TRANSFORMS", ()))
