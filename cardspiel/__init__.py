"""CardSpiel: `import cardspiel` registers every game and transform of the project with OpenSpiel.

    import cardspiel, pyspiel
    game = pyspiel.load_game("python_toepen(suits=3,ranks=3,hand_size=2)")
"""

import kuhn_collab.game
import toepen_spiel.game

__all__ = ["GAMES"]

# Names that pyspiel.load_game now knows.
GAMES = tuple(
    module.GAME_TYPE.short_name
    for module in (
        kuhn_collab.game,
        toepen_spiel.game,
    )
)
