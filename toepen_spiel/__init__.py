"""Two-player Toepen; importing this package registers `python_toepen` with OpenSpiel."""

from toepen_spiel.game import ToepenGame
from toepen_spiel.rules import NAME

__all__ = ["GAMES", "ToepenGame"]

GAMES = (NAME,)
