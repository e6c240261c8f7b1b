"""Players that come with a game: networks that were trained once and lie in the game's package, in `experts/`.

Registered as text by the games themselves; numpy and compiled code are all they need.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from cardtable.parameters import UserError
from cardtable.player import PLAYER_FILE, Player, read_player_file
from cardtable.spiel import CardGame, is_game
from solvers.learning.players import saved_player

FOLDER = "experts"


def expert(game: CardGame, worlds: int = 0, trust: float = 10.0, others: str = "random", level: str = "full") -> Player:
    """The network that was trained for just this game; see `solvers.learning.players` for the options."""
    package = importlib.import_module(type(game).__module__.partition(".")[0])
    assert package.__file__ is not None
    for file in sorted((Path(package.__file__).parent / FOLDER).glob(f"*/{PLAYER_FILE}")):
        head = read_player_file(file.parent)
        if is_game(head["game"], game):
            return saved_player(file.parent, head, game, worlds, trust, others, level)
    raise UserError(f"there is no expert for {game}")
