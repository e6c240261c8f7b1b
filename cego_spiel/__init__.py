"""Cego in six sub-games; importing this package registers `python_cego` with OpenSpiel."""

from cego_spiel.game import CegoGame
from cego_spiel.rules import NAME

__all__ = ["GAMES", "CegoGame"]

GAMES = (NAME,)
