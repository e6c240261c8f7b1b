"""Cego in six sub-games; importing this package registers `python_cego` with OpenSpiel."""

from cego_spiel.game import CegoGame

__all__ = ["CegoGame"]
