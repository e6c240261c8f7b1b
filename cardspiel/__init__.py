"""CardSpiel: `import cardspiel` registers every game and transform of the project with OpenSpiel.

import cardspiel, pyspiel
game = pyspiel.load_game("python_toepen(suits=3,ranks=3,hand_size=2)")
"""

import cego_spiel.game
import coinche_spiel.game
import coinche_spiel.match
import gongzhu_spiel.game
import kuhn_collab.game
import toepen_spiel.game
import transforms.bucketing
import transforms.card_isomorphism
import transforms.partner_oracle
import transforms.tied_rewards

__all__ = ["GAMES", "TRANSFORMS"]


def _names(*modules) -> tuple[str, ...]:
    return tuple(module.GAME_TYPE.short_name for module in modules)


# Names that pyspiel.load_game now knows; a transform needs a game to work on, as in
# python_tied_rewards(game=python_kuhn_collab()).
GAMES = _names(
    cego_spiel.game,
    coinche_spiel.game,
    coinche_spiel.match,
    gongzhu_spiel.game,
    kuhn_collab.game,
    toepen_spiel.game,
)
TRANSFORMS = _names(
    transforms.bucketing, transforms.card_isomorphism, transforms.partner_oracle, transforms.tied_rewards
)
