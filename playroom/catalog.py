"""What can be chosen without typing a name: games with their variants, and for each game who is easy, medium, expert.

A message from a page can only choose from here (and among what the person who started the server named on the command
line): games of this list or of OpenSpiel by their plain name, and players of the game by name, never files, never
`module:function`.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Any

import pyspiel

import cardspiel
from cardtable import deck
from cardtable.parameters import UserError
from cardtable.player import players_of
from cardtable.spiel import CardGame, load_game
from coinche_spiel.small import SMALL_VARIANTS
from playroom import rollouts
from playroom.views import require_playable

LEVELS = ("easy", "medium", "expert")
LONGEST_PLAYER = 100  # characters of a player's name in a message
MOST_IN_OPTION = 10_000  # worlds, rollouts, milliseconds
MOST_DEALS_SOLVED = 5_000
MOST_MOVES_SOLVED = 8  # of a game that is not ours, whose tree is walked in Python
DUEL_D0, DUEL_D1 = SMALL_VARIANTS["D0"], SMALL_VARIANTS["D1"]


@dataclass(frozen=True)
class Choice:
    """A game of the menu: its variants as (key for the words, game string), and the language it is at home in."""

    key: str
    language: str
    variants: tuple[tuple[str, str], ...]


MENU = (
    Choice(
        "coinche",
        "fr",
        (
            ("coinche_deal", "python_coinche"),
            ("coinche_match", "python_coinche_match"),
            ("coinche_belote", "python_coinche_match(belote=True)"),
            ("coinche_duel_small", DUEL_D0),
            ("coinche_duel", DUEL_D1),
        ),
    ),
    Choice(
        "toepen",
        "nl",
        (
            ("toepen_full", "python_toepen"),
            ("toepen_no_betting", "python_toepen(betting=False)"),
            ("toepen_332", "python_toepen(suits=3,ranks=3,hand_size=2)"),
            ("toepen_243", "python_toepen(suits=2,ranks=4,hand_size=3)"),
        ),
    ),
    Choice(
        "cego",
        "de",
        tuple(
            (f"cego_{name}", f"python_cego(subgame={name})")
            for name in ("standard", "solo", "ultimo", "bettel", "piccolo", "raeuber")
        ),
    ),
    Choice("gongzhu", "zh", (("gongzhu_full", "python_gongzhu"), ("gongzhu_small", "python_gongzhu(suits=4,ranks=8)"))),
    Choice(
        "kuhn_collab",
        "en",
        (
            ("kuhn_collab_full", "python_kuhn_collab"),
            ("kuhn_collab_oracle", "python_partner_oracle(game=python_kuhn_collab())"),
            ("kuhn_collab_tied", "python_tied_rewards(game=python_kuhn_collab())"),
        ),
    ),
)
OTHERS = ("leduc_poker", "kuhn_poker", "tic_tac_toe", "connect_four", "hearts", "liars_dice", "oh_hell", "backgammon")

# Strengths by game: the first player of each list that this variant has. Options are those that the player takes.
STRENGTHS: dict[str, dict[str, tuple[str, ...]]] = {
    "python_coinche": {
        "easy": ("simple",),
        "medium": ("strong",),
        "expert": ("expert", "monte_carlo(worlds=60,rollout=strong)"),
    },
    "python_gongzhu": {
        "easy": ("if",),
        "medium": ("team", "monte_carlo(worlds=10)"),
        "expert": ("expert", "monte_carlo(worlds=60)"),
    },
    "python_cego": {
        "easy": ("random",),
        "medium": ("expert(level=medium)", "monte_carlo(worlds=10)"),
        "expert": ("expert", "monte_carlo(worlds=100)"),
    },
    "python_toepen": {
        "easy": ("monte_carlo(worlds=4)",),
        "medium": ("monte_carlo(worlds=40)",),
        "expert": ("expert", "monte_carlo(worlds=400)"),
    },
    "python_kuhn_collab": {
        "easy": ("random",),
        "medium": ("monte_carlo(worlds=50)",),
        "expert": ("monte_carlo(worlds=1000)",),
    },
}
STRENGTHS["python_coinche_match"] = STRENGTHS["python_coinche"] | {"expert": ("expert", "strong")}
ADVISERS = {"python_cego": ("expert(worlds=100)",)}  # says what it expects in points, and how sure it is
OURS = {"easy": ("random",), "medium": ("monte_carlo(worlds=20)",), "expert": ("monte_carlo(worlds=100)",)}
FOREIGN = {"easy": ("random",), "medium": ("rollouts(worlds=10)",), "expert": ("rollouts(worlds=100)",)}


@functools.lru_cache(maxsize=64)
def _loaded(name: str) -> pyspiel.Game:
    return load_game(name)


def original(game: pyspiel.Game) -> pyspiel.Game:
    """The game inside all transforms."""
    while hasattr(game, "base"):
        game = game.base
    return game


def known_players(game: pyspiel.Game) -> list[str]:
    """Names for a menu, the strengths left out."""
    if isinstance(game, CardGame):
        return players_of(game)
    searching = [rollouts.NAME] if _can_search(str(game)) else []
    return [*players_of(game), *searching]


@functools.lru_cache(maxsize=64)
def _can_search(name: str) -> bool:
    return rollouts.can_search(_loaded(name))


def strengths(game: pyspiel.Game) -> dict[str, str]:
    """The player that easy, medium and expert mean in this game."""
    inside = original(game)
    listed = STRENGTHS.get(inside.get_type().short_name, OURS if isinstance(game, CardGame) else FOREIGN)
    known = known_players(game)
    found = {}
    for level in LEVELS:
        fitting = [text for text in listed[level] if text.partition("(")[0] in known]
        found[level] = fitting[0] if fitting else known[-1] if level != "easy" else known[0]
    return found


def default_advisers(game: pyspiel.Game) -> list[str]:
    """Who can be asked for hints, the first one unless another is chosen; an equilibrium comes before them all."""
    known = known_players(game)
    first = strengths(game)["expert"]
    if isinstance(game, CardGame):
        rollout = strengths(game)["medium"]  # only compiled heuristics can play games out
        search = f"monte_carlo(worlds=100,rollout={rollout})" if rollout.isidentifier() else "monte_carlo(worlds=100)"
        more = ADVISERS.get(original(game).get_type().short_name, ()) if first == "expert" else ()
        listed = [*more, first, search, *(name for name in known if name != "monte_carlo")]
    else:
        listed = [first, *known]
    return list(dict.fromkeys(listed))


def stand_in(game: pyspiel.Game) -> str:
    """Who moves for a player that failed: quick, and always there."""
    plain = [text for text in strengths(game).values() if text.isidentifier() and text != "expert"]
    return plain[-1] if plain and isinstance(game, CardGame) else "random"


def worth_solving(game: pyspiel.Game) -> bool:
    """Whether a solver should look at it: for two, zero-sum, few deals. It then probes the tree itself."""
    kind = game.get_type()
    hidden = kind.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION
    if game.num_players() != 2 or kind.utility != pyspiel.GameType.Utility.ZERO_SUM or not hidden:
        return False
    if not isinstance(game, CardGame):
        return game.max_game_length() <= MOST_MOVES_SOLVED
    piles = [int(size) for size in game.rules.root[deck.ROOM : deck.ROOM + deck.MAX_PILES]]
    deals = math.factorial(sum(piles)) // math.prod(map(math.factorial, piles))
    return deals <= MOST_DEALS_SOLVED


def allowed_game(text: Any, more: tuple[str, ...] = ()) -> str:
    """The game string that a message may ask for; UserError for others."""
    menu = {game for choice in MENU for _, game in choice.variants}
    if not isinstance(text, str) or len(text) > 500:
        raise UserError("the game is no text of a reasonable length")
    if text in menu or text in more or text in OTHERS:
        return text
    if re.fullmatch(r"[a-z0-9_]+", text) and text in pyspiel.registered_names():
        kind = next(kind for kind in pyspiel.registered_games() if kind.short_name == text)
        if kind.default_loadable:
            return text
    raise UserError(f"the game {text[:100]!r} is not on the menu; others are named on the command line: --game=...")


def playable_game(text: str) -> pyspiel.Game:
    """Loads a game that a table can show."""
    game = _loaded(text)
    require_playable(game)
    return game


def allowed_player(text: Any, game: pyspiel.Game, more: tuple[str, ...] = ()) -> str:
    """The player that a message may ask for; UserError for files, modules, and what the game does not know."""
    if not isinstance(text, str) or not 0 < len(text) <= max([LONGEST_PLAYER, *map(len, more)]):
        raise UserError("a player's name is text of at most 100 characters")
    if text in LEVELS:
        return strengths(game)[text]
    if text in more:
        return text
    match = re.fullmatch(r"([a-z][a-z0-9_]*)(?:\(([a-z0-9_=,.]*)\))?", text)
    names = {*known_players(game), *pyspiel.registered_bots()}
    if match is None or match[1] not in names:
        raise UserError(
            f"there is no player {text[:50]!r} for this game; allowed: {', '.join(sorted(names))}; files and modules "
            "are named on the command line only"
        )
    if any(int(number) > MOST_IN_OPTION for number in re.findall(r"=(\d+)", match[2] or "")):
        raise UserError(f"an option of {text[:50]!r} is too large; allowed: up to {MOST_IN_OPTION:,}")
    return text


def menu(more: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The games to choose from, as plain values; `more` were named on the command line."""
    listed = [
        {
            "key": choice.key,
            "language": choice.language,
            "variants": [{"key": key, "game": game} for key, game in choice.variants],
        }
        for choice in MENU
    ]
    known = {game for choice in MENU for _, game in choice.variants} | set(OTHERS)
    own = [{"key": "", "game": game} for game in more if game not in known]
    if own:
        listed.append({"key": "command_line", "language": "en", "variants": own})
    there = [name for name in OTHERS if name in pyspiel.registered_names()]
    listed.append({"key": "others", "language": "en", "variants": [{"key": "", "game": name} for name in there]})
    return listed


def about_game(text: str) -> dict[str, Any]:
    """What a menu shows of a game: seats, strengths, players, advisers."""
    game = playable_game(text)
    return {
        "game": text,
        "title": original(game).get_type().long_name,
        "seats": game.num_players(),
        "teams": [list(team) for team in getattr(game, "teams", ())],
        "strengths": strengths(game),
        "players": known_players(game),
        "advisers": default_advisers(game),
        "ours": original(game).get_type().short_name in cardspiel.GAMES,
    }
