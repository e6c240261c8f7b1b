"""Coinche (belote contrée); importing this package registers `python_coinche` and `python_coinche_match`."""

from coinche_spiel import match, rules
from coinche_spiel.game import CoincheGame
from coinche_spiel.match import CoincheMatchGame

__all__ = ["GAMES", "CoincheGame", "CoincheMatchGame"]

GAMES = (rules.NAME, match.NAME)
