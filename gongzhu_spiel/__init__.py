"""Gongzhu; importing this package registers `python_gongzhu` with OpenSpiel."""

from gongzhu_spiel.game import GongzhuGame
from gongzhu_spiel.rules import NAME

__all__ = ["GAMES", "GongzhuGame"]

GAMES = (NAME,)
