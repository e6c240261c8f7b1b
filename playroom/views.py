"""What one seat sees of a game, as plain JSON values: the only thing about a running game that ever leaves the server.

A view is built from what the seat knows, never by hiding parts of the full state: a game of ours says what lies on the
table (`cardtable.display`), any other sequential game of OpenSpiel is shown by its own observation string. If the
hidden cards are dealt again the view stays the same, byte for byte.

Results are no part of a view: at the end of a game cards may be shown that a seat had not seen, and who has won can
depend on them. They are sent when a game is over (`playroom.session`).
"""

from __future__ import annotations

from typing import Any

import pyspiel

from cardtable.parameters import UserError
from cardtable.spiel import CardGame, CardState

View = dict[str, Any]


def require_playable(game: pyspiel.Game) -> None:
    """UserError for games that no table can show."""
    kind = game.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise UserError(f"{kind.short_name} is not a sequential game; allowed: games in which players move in turn")
    if isinstance(game, CardGame) or _is_open(game):
        return
    if not (kind.provides_observation_string or kind.provides_information_state_string):
        raise UserError(f"{kind.short_name} does not say what a player sees; allowed: games with an observation string")


def _is_open(game: pyspiel.Game) -> bool:
    """Everybody sees everything."""
    return game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION


def view(state: pyspiel.State, seat: int) -> View:
    """What `seat` sees, and the actions it may choose from if it is to move."""
    wording = state.table.wording if isinstance(state, CardState) else None
    if wording is not None and hasattr(wording, "table"):
        shown = {"kind": "cards", **wording.table(state.table.array, seat)}
        if shown["turn"] is not None and state.is_chance_node():  # a transform may draw before somebody acts
            shown["turn"] = None
    else:
        shown = {"kind": "plain", "text": plain_text(state, seat), "turn": _turn(state)}
        shown["seats"] = [{} for _ in range(state.num_players())]
        shown["phase"] = "over" if state.is_terminal() else "play"
    shown["seat"] = seat
    shown["actions"] = actions(state) if _turn(state) == seat else []
    return shown


def open_view(state: pyspiel.State, seat: int) -> View:
    """For finished games and for those who only watch: what `seat` sees, and beside it the cards of all seats."""
    shown = view(state, seat)
    shown["actions"] = []
    shown["open"] = True
    if shown["kind"] == "cards":
        for other, of_seat in enumerate(shown["seats"]):
            own = view(state, other)
            of_seat["shown"] = own["hand"]
            for pile, cards in own["piles"].items():
                if isinstance(cards, list):
                    shown["piles"][pile] = cards
    else:
        shown["text"] = str(state)
    return shown


def plain_text(state: pyspiel.State, seat: int) -> str:
    """A game that is not ours, as it describes itself to this seat."""
    game = state.get_game()
    kind = game.get_type()
    if isinstance(state, CardState) or kind.provides_observation_string:
        text = "" if state.is_chance_node() and not isinstance(state, CardState) else state.observation_string(seat)
    elif kind.provides_information_state_string:
        text = state.information_state_string(seat)
    else:
        text = str(state)
    return text


def actions(state: pyspiel.State) -> list[list[Any]]:
    """[id, name] of what the seat to move may do."""
    seat = state.current_player()
    return [[action, state.action_to_string(seat, action)] for action in state.legal_actions()]


def _turn(state: pyspiel.State) -> int | None:
    seat = state.current_player()
    return seat if seat >= 0 else None
