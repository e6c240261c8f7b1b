"""Players that misbehave, for `module:function`."""

import random
import time

import pyspiel


class Careless(pyspiel.Bot):
    """Does what it is told to do wrong after its first few moves."""

    def __init__(self, seat: int, sins: str) -> None:
        super().__init__()
        self._seat = seat
        self._sins = sins

    def player_id(self) -> int:
        return self._seat

    def restart(self) -> None:
        pass

    def inform_action(self, state: pyspiel.State, player: int, action: int) -> None:
        pass

    def step(self, state: pyspiel.State) -> int:
        if len([move for move in state.full_history() if move.player >= 0]) >= 1:
            if self._sins == "busy":
                end = time.process_time() + 60.0
                while time.process_time() < end:
                    pass
            if self._sins == "raises":
                raise RuntimeError("nobody told me the rules")
            if self._sins == "illegal":
                return 10_000
        return random.choice(state.legal_actions())


def busy(game: pyspiel.Game, seat: int) -> pyspiel.Bot:
    return Careless(seat, "busy")


def raises(game: pyspiel.Game, seat: int) -> pyspiel.Bot:
    return Careless(seat, "raises")


def illegal(game: pyspiel.Game, seat: int) -> pyspiel.Bot:
    return Careless(seat, "illegal")


def heavy(game: pyspiel.Game, seat: int) -> pyspiel.Bot:
    """Takes long to load."""
    end = time.process_time() + 4.0
    while time.process_time() < end:
        pass
    return Careless(seat, "none")
