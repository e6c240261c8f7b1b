"""Collaborative Kuhn Poker; importing this package registers `python_kuhn_collab` with OpenSpiel."""

from kuhn_collab.game import KuhnCollabGame
from kuhn_collab.rules import NAME

__all__ = ["GAMES", "KuhnCollabGame"]

GAMES = (NAME,)
