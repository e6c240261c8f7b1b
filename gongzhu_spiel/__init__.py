"""Gongzhu; importing this package registers `python_gongzhu` with OpenSpiel."""

from gongzhu_spiel.game import GongzhuGame

__all__ = ["GongzhuGame"]
