"""Two-player Toepen; importing this package registers `python_toepen` with OpenSpiel."""

from toepen_spiel.game import ToepenGame

__all__ = ["ToepenGame"]
