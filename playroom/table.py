"""One game at a table: the cards, who is to move, and what each seat sees. No input and no output.

Deal number n of a seed is the deal that a match of this seed has at this place (`cardtable.match`), dealer included, so
what was played here can be compared with what players do there. `rotate=False` keeps the dealer of the game, for
players that were made for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from cardtable.match import card_streams, dealt_around, dealt_state, let_chance_act
from cardtable.parameters import UserError
from cardtable.spiel import CardState
from playroom.views import View, open_view, view


class Table:
    """A game that was dealt and is being played. Chance acts by itself; `play` is for the seat to move."""

    def __init__(self, game: pyspiel.Game, seed: int, deal: int, rotate: bool = True) -> None:
        around = dealt_around(game) if rotate else [game]
        self.game = around[deal % len(around)]
        self.seed = seed
        self.deal = deal
        self._cards = card_streams(seed, range(deal, deal + 1))[0]
        self.state = dealt_state(self.game, self._cards)
        self.actions: list[int] = []  # of the players, chance left out
        self._finished: np.ndarray | None = None  # the end of the deal before this one, in a game of several deals
        self._let_chance_act()

    @property
    def moves(self) -> int:
        """How many actions players have taken: tells a late click from a new one."""
        return len(self.actions)

    @property
    def turn(self) -> int | None:
        """The seat to move; None when the game is over."""
        return None if self.state.is_terminal() else int(self.state.current_player())

    @property
    def is_over(self) -> bool:
        return bool(self.state.is_terminal())

    def returns(self) -> list[float]:
        return [float(number) for number in self.state.returns()]

    def history(self) -> list[int]:
        """All actions, those of chance included: what a record holds."""
        return [int(action) for action in self.state.history()]

    def play(self, action: int) -> str:
        """The seat to move plays; returns what that is called. UserError, and nothing changed, if it may not."""
        seat = self.turn
        if seat is None:
            raise UserError("the game is over")
        legal = self.state.legal_actions()
        if action not in legal:
            raise UserError(f"action {action} is not legal now; allowed: {', '.join(map(str, legal))}")
        name = str(self.state.action_to_string(seat, action))
        wording: Any = self.state.table.wording if isinstance(self.state, CardState) else None
        if hasattr(wording, "finished_deal"):
            ended = wording.finished_deal(self.state.array, action)
            self._finished = self._finished if ended is None else ended
        self.state.apply_action(action)
        self.actions.append(action)
        self._let_chance_act()
        return name

    def _let_chance_act(self) -> None:
        while self.state.is_chance_node():
            let_chance_act(self.state, self._cards)

    def view(self, seat: int | None) -> View:
        """What a seat sees; for None, who only watches, everything."""
        shown = open_view(self.state, 0) if seat is None else view(self.state, seat)
        shown["moves"] = self.moves
        if self._finished is not None and isinstance(self.state, CardState):
            wording: Any = self.state.table.wording
            shown["previous"] = wording.table(self._finished, seat or 0)
            shown["previous"]["hand"] = []  # nothing, or, after an auction that nobody won, what need not be shown
        return shown
