"""What trick-taking games share."""

from __future__ import annotations

from cardtable.compiled import compiled


@compiled
def following(hand, suit):
    """The cards of `hand` that follow the led suit (both are card sets), or the whole hand if there are none."""
    same_suit = hand & suit
    return same_suit if same_suit else hand
