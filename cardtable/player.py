"""Player: the one noun for whoever chooses actions, found by one function from one text.

    player = find_player("strong", pyspiel.load_game("python_coinche"))
    player.bot(game, seat=0, seed=1)     # a pyspiel bot
    players_of(game)                     # the names that `find_player` knows for a game

A text is a name, with options where the player has some, as in `monte_carlo(worlds=100,rollout=team)`; the path of a
saved player (a folder with `player.json`) or of a policy file; a bot that OpenSpiel has registered; or
`module:function`, where function(game, player_id) or function(game, player_id, seed) makes an OpenSpiel bot. Names
work on transforms of a game too: the player then looks at the game inside.

A player answers in up to three ways, always alike: `choose_rows` for many positions at once, `compiled` inside
compiled code, `bot` through pyspiel. What it draws comes from a stream that its seed, the number of the deal and its
seat determine (`player_streams`), so any order and any split of the work gives the same games.

Kinds of players that live in higher packages are registered as text, `module:function`, and imported when one is asked
for: this module imports nothing above it, and torch only comes with a player that needs it.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyspiel

from cardtable.bots import DrawingBot, RowBot
from cardtable.compiled import compiled
from cardtable.files import read_json, write_atomically
from cardtable.parameters import UserError, require_whole
from cardtable.randomness import below, streams
from cardtable.rows import choose_rows, draw_rows, mask_rows, require_rows
from cardtable.rules import PLAYER_SIGNATURE, Rules, compile_for, player_addresses
from cardtable.spiel import CardGame, is_game, load_game

if TYPE_CHECKING:  # importing OpenSpiel's policies takes as long as everything else on the way to a game
    from open_spiel.python.policy import Policy

ANY_GAME = "any"  # the name under which players of all our games are registered
RANDOM = "random"
PLAYER_FILE = "player.json"
FORMAT = "cardspiel-player"
FORMAT_VERSION = 1
# How saved players of each kind are read, (folder, game, head, **options) -> Player.
KINDS = {
    "policy": "solvers.policies:saved_player",
    "action_values": "solvers.learning.players:saved_player",
    "alpha_zero": "solvers.alpha_zero.players:saved_player",
    "clone": "cardtable.search.clones:saved_player",
    "deep_cfr": "solvers.deep_cfr.players:saved_player",
    "ppo": "solvers.ppo.players:saved_player",
    "toepen_card_tree": "solvers.toepen.tree_policy:saved_player",
    "toepen_views": "solvers.toepen.block_player:saved_player",
}
POLICY_FILE = "solvers.policies:file_player"  # (path, game) -> Player
_CLOSE = 5  # names that a message suggests

ChooseRows = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
ProbabilitiesRows = Callable[[np.ndarray, np.ndarray], np.ndarray]
Factory = Callable[..., "Player"]


class Explanation(NamedTuple):
    """What a player thinks of the legal actions of one position.

    A search has `values` and `errors`, the standard error of each action's difference to the best one (0 for that one
    itself; None if nobody knows); a policy has `probabilities`. Where a search looked at some of the actions only,
    `tried` says which: the others have the lowest value, which nobody should take for an estimate.
    """

    actions: np.ndarray
    values: np.ndarray | None = None
    errors: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    tried: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Player:
    """Somebody who can sit in any seat of `game`.

    `choose_rows(states, rows, streams)` gives the actions of the players to move in some rows of a (games, state_size)
    array; `streams` has a generator for each of these rows, which moves on in place. Those who exist as bots only, and
    those of games that are not ours, have `make_bot` instead.
    """

    name: str  # as typed
    game: pyspiel.Game
    choose_rows: ChooseRows | None = None
    compiled: Callable | None = None  # choose(state, generator) in compiled code
    probabilities_rows: ProbabilitiesRows | None = None  # (states, rows) -> (rows, num_distinct_actions)
    explain_rows: Callable[[np.ndarray, np.ndarray, np.ndarray], list[Explanation]] | None = None
    make_bot: Callable[[pyspiel.Game, int, int], pyspiel.Bot] | None = None
    make_policy: Callable[[pyspiel.Game], Policy] | None = None
    reproducible: bool = True  # the same answers from the same seed; not where time is the budget
    stateful: bool = False  # remembers between deals
    every_dealer: bool = True  # plays the same game with another dealer too; a policy file is for one game exactly
    batch_size: int = 1024  # positions it likes to be asked for at once
    found: bool = False  # by `find_player`, which then finds it again in another process

    @property
    def label(self) -> str:
        """A short name for tables and file names: without folders, endings and modules."""
        if ":" in self.name:
            return self.name.partition(":")[2]
        return Path(self.name).stem if "/" in self.name or self.name.endswith(".npz") else self.name

    def bot(self, game: pyspiel.Game, seat: int, seed: int = 0) -> pyspiel.Bot:
        """This player in one seat, for OpenSpiel. The n-th game it plays (each starts with `restart`) is deal n."""
        require_whole("seat", seat, 0, game.num_players() - 1)
        if self.make_bot is not None:
            return self.make_bot(game, seat, seed)
        assert self.choose_rows is not None, "a player has choose_rows or make_bot"
        return RowBot(self.choose_rows, game, seat, functools.partial(player_streams, seed, seat))

    def policy(self, game: pyspiel.Game) -> Policy:
        """This player as an OpenSpiel policy; UserError if it is none."""
        if self.make_policy is not None:
            return self.make_policy(game)
        if self.probabilities_rows is None:
            raise UserError(f"the player {self.name!r} chooses actions, but has no probabilities for them")
        from cardtable.row_policy import RowPolicy

        return RowPolicy(game, self.probabilities_rows)

    def explain(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation] | None:
        """What it thinks of the legal actions in these rows: values, or else probabilities; None if it cannot say."""
        if self.explain_rows is not None:
            return self.explain_rows(states, rows, streams)
        if self.probabilities_rows is None:
            return None
        chances = self.probabilities_rows(states, rows)
        legal = [np.flatnonzero(mask) for mask in legal_mask(self.game.rules, states, rows)]
        return [Explanation(actions, probabilities=row[actions]) for actions, row in zip(legal, chances, strict=True)]

    def __reduce__(self) -> tuple:
        if not self.found:
            raise UserError(f"the player {self.name!r} was not made by find_player and cannot go to another process")
        return _find_again, (self.name, str(self.game))


@functools.lru_cache(maxsize=64)
def _find_again(text: str, game_name: str) -> Player:
    return find_player(text, load_game(game_name))


def player_streams(seed: int, seat: int, deals: np.ndarray | range) -> np.ndarray:
    """The random numbers of the player in this seat, one generator for each deal."""
    return streams(seed, player_path(seat), deals)


def player_path(seat: int) -> tuple[int, ...]:
    """Where the random numbers of the player in this seat are among those of a seed."""
    return (1, seat)


def legal_mask(rules: Rules, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(rows, num_distinct_actions): which actions are legal."""
    mask = np.zeros((len(rows), rules.num_distinct_actions), np.bool_)
    mask_rows(rules.compiled_kernel().addresses(), states, rows, mask)
    return mask


# ------------------------------------------------------------------------------------------------ the registry


class Registration(NamedTuple):
    factory: Factory | str
    fits: Callable[[pyspiel.Game], bool]
    is_compiled: bool = False


_REGISTERED: dict[str, dict[str, Registration]] = {}


def register_player(
    game: str, name: str, factory: Factory | str, fits: Callable[[pyspiel.Game], bool] = lambda game: True
) -> None:
    """Makes a player known for the game of this short name, or for all games of ours (`ANY_GAME`).

    `factory(game, **options)` makes the player; its parameters after the game are the options, which need defaults and
    the type int, float, bool or str. As text, `module:function`, it is imported when the player is asked for. `fits`
    says whether the player can play this variant of the game.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"a player's name is {name!r}; allowed: small letters, digits and _, a letter first")
    _REGISTERED.setdefault(game, {})[name] = Registration(factory, fits)


def register_compiled(
    game: str, name: str, function: str | Callable, fits: Callable[[pyspiel.Game], bool] = lambda game: True
) -> None:
    """Registers a compiled player, choose(state, generator): the function itself, or `module:function`."""

    def factory(game: CardGame) -> Player:
        return compiled_player(name, game, _imported(function) if isinstance(function, str) else function)

    register_player(game, name, factory, fits)
    _REGISTERED[game][name] = Registration(factory, fits, is_compiled=True)


def players_of(game: pyspiel.Game) -> list[str]:
    """The names of the players that can play this game, `random` first."""
    return [RANDOM, *_registrations(game)]


def _registrations(game: pyspiel.Game) -> dict[str, Registration]:
    if not isinstance(game, CardGame):
        return {}
    own = _REGISTERED.get(original_game(game).get_type().short_name, {})
    fitting = {name: entry for name, entry in own.items() if entry.fits(original_game(game))}
    return {**fitting, **_REGISTERED.get(ANY_GAME, {})}


def original_game(game: CardGame) -> CardGame:
    """The game inside all transforms."""
    while hasattr(game, "base"):
        game = game.base
    return game


def compiled_players(game: CardGame) -> dict[str, Player]:
    """All players of a game that exist in compiled code, by name: for rollouts, and as opponents in training."""
    names = [RANDOM, *(name for name, entry in _registrations(game).items() if entry.is_compiled)]
    return {name: find_player(name, game) for name in names}


def find_player(text: str, game: pyspiel.Game) -> Player:
    """The player that a text names, for this game; UserError, in one sentence, if there is none."""
    found = _find(text, game)
    answers = {name: getattr(found, name) for name in ("choose_rows", "probabilities_rows", "explain_rows")}
    checked: dict[str, Any] = {name: _checked(ask, game) for name, ask in answers.items() if ask is not None}
    return dataclasses.replace(found, name=text, found=True, **checked)


def _checked(ask: Callable, game: CardGame) -> Callable:
    """The same answers; positions that are none are refused. Compiled code does not look: it would read memory that
    belongs to something else."""

    @functools.wraps(ask)
    def answer(states: np.ndarray, rows: np.ndarray, *streams: np.ndarray) -> Any:
        require_rows(states, rows, *streams, size=game.rules.state_size)
        return ask(states, rows, *streams)

    return answer


def _find(text: str, game: pyspiel.Game) -> Player:
    if text == RANDOM:
        return random_player(game)
    if text and Path(text).exists():  # Path("") is the folder we are in
        return _from_path(Path(text), game, {})
    name, options = _parse(text)
    known = _registrations(game)
    if name in known:
        factory = known[name].factory
        make = _imported(factory) if isinstance(factory, str) else factory
        inside = game if name in _REGISTERED.get(ANY_GAME, {}) else original_game(game)
        player = _call(make, inside, text, options)
        return player if inside is game else _lifted(player, game)
    if name in _REGISTERED[ANY_GAME]:
        raise UserError(f"{name} plays the games of this project only, not {game.get_type().short_name}")
    if options and Path(name).exists():
        return _from_path(Path(name), game, options)
    if ":" in text:
        return _imported_bot(text, game)
    if text in pyspiel.registered_bots():
        return Player(text, game, make_bot=lambda g, seat, seed: pyspiel.load_bot(text, g, seat), reproducible=False)
    raise UserError(_unknown(text, game))


def _unknown(text: str, game: pyspiel.Game) -> str:
    names = players_of(game)
    others = pyspiel.registered_bots()
    close = difflib.get_close_matches(text.partition("(")[0], [*names, *others], _CLOSE)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return (
        f"there is no player {text!r} for {game.get_type().short_name}; {hint}known: {', '.join(names)}, a saved "
        f"player or policy file, module:function, or a bot of OpenSpiel ({', '.join(others)})"
    )


def _parse(text: str) -> tuple[str, dict[str, str]]:
    """`name(option=value,...)` as the name and its options; commas inside parentheses belong to a value."""
    match = re.fullmatch(r"(.+?)\((.*)\)", text)
    if match is None:
        return text, {}
    options: dict[str, str] = {}
    for part in re.split(r",(?![^()]*\))", match[2]) if match[2] else []:
        option, equals, value = part.partition("=")
        if not equals or not re.fullmatch(r"\w+", option) or option in options:
            raise UserError(f"the player {text!r} cannot be read; allowed: name(option=value,option=value)")
        options[option] = value
    return match[1], options


def _call(make: Factory, game: pyspiel.Game, text: str, options: Mapping[str, str], *before: Any) -> Player:
    """Calls a factory with options as text, each converted to the type of the parameter's default."""
    parameters = list(inspect.signature(make).parameters.values())[len(before) + 1 :]
    allowed = {parameter.name: parameter.default for parameter in parameters}
    described = ", ".join(f"{name}={_shown(default)}" for name, default in allowed.items()) or "no options"
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name not in allowed:
            raise UserError(f"the player {text!r} has no option {name!r}; allowed: {described}")
        try:
            values[name] = _converted(value, allowed[name])
        except ValueError:
            raise UserError(
                f"{name} is {value} in the player {text!r}; allowed: {_wanted(allowed[name])}, such as "
                f"{_shown(allowed[name])}"
            ) from None
    try:
        return make(*before, game, **values)
    except UserError as error:
        raise UserError(f"the player {text!r}: {error}") from None


def _converted(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text not in ("True", "False", "true", "false"):
            raise ValueError
        return text in ("True", "true")
    if isinstance(default, float):
        number = float(text)
        if not np.isfinite(number):
            raise ValueError
        return number
    return int(text) if isinstance(default, int) else text


def _wanted(default: Any) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number"}
    return kinds.get(type(default), "text")


def _shown(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _imported(text: str) -> Any:
    module, _, function = text.partition(":")
    return getattr(importlib.import_module(module), function)


# ------------------------------------------------------------------------------------------------ kinds of players


def compiled_player(name: str, game: CardGame, choose: Callable) -> Player:
    """A player from compiled code, choose(state, generator)."""
    choose = compile_for(choose, PLAYER_SIGNATURE)
    address = player_addresses((choose,))

    def answer(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        chosen = np.empty(len(rows), np.int64)
        choose_rows(address, states, rows, streams, chosen)
        return chosen

    return Player(name, game, choose_rows=answer, compiled=choose)


def drawing_player(name: str, game: CardGame, probabilities_rows: ProbabilitiesRows, **others: Any) -> Player:
    """A player that draws its actions with the probabilities that `probabilities_rows` gives all action ids."""

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        chosen = np.empty(len(rows), np.int64)
        draw_rows(np.ascontiguousarray(probabilities_rows(states, rows), np.float64), streams, chosen)
        return chosen

    return Player(name, game, choose_rows=choose_rows, probabilities_rows=probabilities_rows, **others)


def policy_player(name: str, game: pyspiel.Game, policy: Policy) -> Player:
    """Any OpenSpiel policy of a game, through pyspiel."""

    def make_bot(table: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
        return DrawingBot(policy.action_probabilities, seat, functools.partial(player_streams, seed, seat))

    return Player(name, game, make_bot=make_bot, make_policy=lambda table: policy, every_dealer=False)


def random_player(game: pyspiel.Game) -> Player:
    """Chooses uniformly among the legal actions, in any game."""
    if not isinstance(game, CardGame):

        def make_bot(table: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
            return DrawingBot(_even, seat, functools.partial(player_streams, seed, seat))

        return Player(RANDOM, game, make_bot=make_bot, make_policy=_uniform_policy)
    player = compiled_player(RANDOM, game, choose_at_random(game.rules))
    return dataclasses.replace(player, probabilities_rows=functools.partial(_even_rows, game.rules))


def _uniform_policy(game: pyspiel.Game) -> Policy:
    from open_spiel.python.policy import UniformRandomPolicy

    return UniformRandomPolicy(game)


def _even(state: pyspiel.State, seat: int) -> dict[int, float]:
    legal = state.legal_actions(seat)
    return dict.fromkeys(legal, 1.0 / len(legal))


def _even_rows(rules: Rules, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
    mask = legal_mask(rules, states, rows)
    return mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)


def choose_at_random(rules: Rules) -> Callable:
    """The compiled player that chooses uniformly among the legal actions."""
    return _choose_at_random(rules.kernel.legal_actions, rules.num_distinct_actions)


@functools.cache
def _choose_at_random(legal_actions: Callable, most_actions: int) -> Callable:
    @compiled
    def choose(state, generator):
        actions = np.empty(most_actions, np.int64)
        return actions[below(generator, legal_actions(state, actions))]

    return choose


def _lifted(player: Player, game: CardGame) -> Player:
    """A player of the game inside a transform: sees the position inside, and names its action as the transform does."""
    original = original_game(game).rules
    origin = game.rules.origin
    label = None if origin is None else origin.label
    size = original.state_size
    if player.compiled is not None:
        return compiled_player(player.name, game, _choose_inside(player.compiled, size, label))
    assert player.choose_rows is not None, "players of our games answer in rows"

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        inside = np.ascontiguousarray(states[rows, :size])
        chosen = player.choose_rows(inside, np.arange(len(rows)), streams)  # type: ignore[misc]
        if label is None:
            return chosen
        return np.array([label(states[row], action) for row, action in zip(rows, chosen, strict=True)], np.int64)

    return Player(player.name, game, choose_rows=choose_rows, batch_size=player.batch_size)


@functools.cache
def _choose_inside(choose: Callable, size: int, label: Callable | None) -> Callable:
    if label is None:

        @compiled
        def choose_inside(state, generator):
            return choose(state[:size], generator)

    else:

        @compiled
        def choose_inside(state, generator):
            return label(state, choose(state[:size], generator))

    return choose_inside


def _imported_bot(text: str, game: pyspiel.Game) -> Player:
    """`module:function`, where function(game, player_id) or function(game, player_id, seed) makes a bot."""
    try:
        make = _imported(text)
        takes_seed = len(inspect.signature(make).parameters) > 2
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(f"the player {text!r} cannot be imported: {error}") from None

    def make_bot(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
        try:
            bot = make(game, seat, seed) if takes_seed else make(game, seat)
        except Exception as error:  # somebody else's code: whatever it raises, it made no bot
            raise UserError(f"the player {text!r} makes no bot: {type(error).__name__}: {error}") from error
        if not isinstance(bot, pyspiel.Bot):
            raise UserError(
                f"the player {text!r} made {type(bot).__name__}; allowed: functions that make a pyspiel.Bot"
            )
        return bot

    return Player(text, game, make_bot=make_bot, reproducible=takes_seed)


# ------------------------------------------------------------------------------------------------ saved players


def _from_path(path: Path, game: pyspiel.Game, options: Mapping[str, str]) -> Player:
    """A policy file, or a folder with `player.json`."""
    if path.is_file():
        return _call(_imported(POLICY_FILE), game, str(path), options, path)
    head = read_player_file(path)
    inside = game
    while not is_game(head["game"], inside) and hasattr(inside, "base"):
        inside = inside.base
    if not is_game(head["game"], inside):  # a policy may be of a transform of the game: its kind knows
        inside = game
    player = _call(_imported(KINDS[head["kind"]]), inside, str(path), options, path, head)
    return player if inside is game else _lifted(player, game)


def read_player_file(folder: Path) -> dict[str, Any]:
    """The contents of a saved player's `player.json`, checked; UserError if it is none."""
    file = folder / PLAYER_FILE
    try:
        head = read_json(file, "the head of a saved player")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder} is no saved player: it has no {PLAYER_FILE}") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("format_version") != FORMAT_VERSION:
        raise UserError(f"{file} is not a saved player of this version of CardSpiel ({FORMAT} {FORMAT_VERSION})")
    if not isinstance(head.get("kind"), str) or head["kind"] not in KINDS:
        raise UserError(f"{file}: kind is {head.get('kind')!r}; allowed: {', '.join(KINDS)}")
    for name, kind in (("game", str), ("rules_version", int), ("settings", dict)):
        if not isinstance(head.get(name), kind) or isinstance(head[name], bool):
            raise UserError(f"{file}: {name} is missing or not of the kind {kind.__name__}")
    return head


def write_player_file(
    folder: Path, kind: str, game: pyspiel.Game, settings: Mapping[str, Any], made_by: Mapping[str, Any]
) -> None:
    """Writes `player.json`; the weights lie beside it in files that the kind knows."""
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "game": str(game),
        "rules_version": rules_version(game),
        "settings": dict(settings),
        "made_by": dict(made_by),
    }
    text = json.dumps(head, indent=2) + "\n"
    write_atomically(folder / PLAYER_FILE, lambda file: file.write_text(text))


def rules_version(game: pyspiel.Game) -> int:
    """The version of the rules of a game of ours; 0 for others."""
    rules = getattr(game, "rules", None)
    return int(getattr(rules, "version", 1)) if rules is not None else 0


def require_same_rules(where: Path, head: Mapping[str, Any], game: pyspiel.Game) -> None:
    """UserError if what was saved belongs to another version of the rules."""
    if head["rules_version"] != rules_version(game):
        raise UserError(
            f"{where} was made for version {head['rules_version']} of the rules of {game.get_type().short_name}; "
            f"this is version {rules_version(game)}"
        )


register_player(ANY_GAME, "monte_carlo", "cardtable.search.flat:monte_carlo")
