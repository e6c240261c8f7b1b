"""Collaborative Kuhn Poker; importing this package registers `python_kuhn_collab` with OpenSpiel."""

from kuhn_collab.game import KuhnCollabGame

__all__ = ["KuhnCollabGame"]
