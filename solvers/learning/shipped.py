"""Players that come with a game: networks that were trained once and lie in the game's package, in `experts/`.

Coinche, whose expert is a search, has one named after its learner, in `deep_monte_carlo/`.

Registered as text by the games themselves; numpy and compiled code are all they need.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from cardtable.parameters import UserError
from cardtable.player import PLAYER_FILE, Player, read_player_file, require_same_rules
from cardtable.search.saved_values import KIND, Saved, read_values
from cardtable.spiel import CardGame, is_game
from solvers.learning.players import saved_player, value_player

FOLDER = "experts"


def expert(game: CardGame, worlds: int = 0, trust: float = 10.0, thinks: str = "team", level: str = "full") -> Player:
    """The network that was trained for just this game; see `solvers.learning.players` for the options."""
    folder = expert_folder(game)
    return saved_player(folder, read_player_file(folder), game, worlds, trust, thinks, level)


def deep_monte_carlo(game: CardGame, level: str = "full") -> Player:
    """Coinche's network, in any whole game of Coinche: what it is told and can do is the same whatever pays."""
    folder = _package_folder(game) / "deep_monte_carlo"
    head = read_player_file(folder)
    require_same_rules(folder, head, game)
    return value_player("deep_monte_carlo", game, read_values(folder, head), level=level)


def expert_folder(game: CardGame) -> Path:
    """Where its files are; UserError if there is none."""
    for file in sorted((_package_folder(game) / FOLDER).glob(f"*/{PLAYER_FILE}")):
        if is_game(read_player_file(file.parent)["game"], game):
            return file.parent
    raise UserError(f"there is no expert for {game}")


def _package_folder(game: CardGame) -> Path:
    package = importlib.import_module(type(game).__module__.partition(".")[0])
    assert package.__file__ is not None
    return Path(package.__file__).parent


def saved_network(text: str, game: CardGame) -> Saved:
    """The network of a saved player, or of the `expert`, to learn on from; UserError if it is none of this game."""
    folder = expert_folder(game) if text == "expert" else Path(text)
    head = read_player_file(folder)
    require_same_rules(folder, head, game)
    if head["kind"] != KIND or not is_game(head["game"], game):
        raise UserError(f"{folder} is a player of the kind {head['kind']} for {head['game']}, no network for {game}")
    return read_values(folder, head)
