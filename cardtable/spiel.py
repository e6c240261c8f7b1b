"""The pyspiel face of a game: Game, State and Observer built from a `Rules` record and a `Wording`.

What OpenSpiel 2.0 expects here, learned by running it:

* C++ algorithms read information states only through the observer (`make_py_observer`), never through methods that a
  Python state overrides; `set_from` is also called on the initial chance state.
* `clone()` deep-copies each Python attribute of a state on its own, and `serialize()` pickles them. The whole state
  therefore hangs on one object, `Table`, whose copies are cheap.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyspiel

from cardtable import deck
from cardtable.compiled import compiling
from cardtable.parameters import UserError, bad_value, require_player, require_whole
from cardtable.randomness import generator
from cardtable.rules import CHANCE, TERMINAL, Piece, Rules

CLOSE_NAMES = 3  # that are shown to somebody who mistyped one
LONGEST_NAME = 2000  # of a game in a file or a flag: OpenSpiel's parser recurses into parentheses


class Wording(Protocol):
    """How a game names things for people. `state` is the state array.

    A game that can be drawn adds `table(state, seat)`, what lies on the table as a seat sees it (`cardtable.display`).
    A transform under which nothing is public knowledge adds `private_now(state, player)`, what the player sees now;
    one with chance nodes after the deal adds `chance(state, outcome)`.
    """

    def action(self, state: np.ndarray, action: int) -> str:
        """A player's action, such as `10♥`."""

    def card(self, state: np.ndarray, card: int) -> str:
        """A card, such as `10♥`."""

    def private(self, state: np.ndarray, player: int) -> str:
        """What only the player sees; empty before the deal."""

    def public_history(self, state: np.ndarray) -> str:
        """Everything that happened in the open, in order: what all players remember."""

    def public_now(self, state: np.ndarray) -> str:
        """What lies open at the moment."""


def card_game_type(
    short_name: str,
    long_name: str,
    num_players: int,
    parameters: Mapping[str, Any],
    *,
    utility: pyspiel.GameType.Utility = pyspiel.GameType.Utility.ZERO_SUM,
    min_num_players: int | None = None,
    default_loadable: bool = True,
) -> pyspiel.GameType:
    """The GameType of a card game: sequential, explicit chance, hidden cards, rewards at the end."""
    return pyspiel.GameType(
        short_name=short_name,
        long_name=long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=num_players,
        min_num_players=min_num_players or num_players,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=dict(parameters),
        default_loadable=default_loadable,
    )


def utility_type(rules: Rules) -> pyspiel.GameType.Utility:
    if rules.utility_sum is None:
        return pyspiel.GameType.Utility.GENERAL_SUM
    if rules.utility_sum == 0:
        return pyspiel.GameType.Utility.ZERO_SUM
    return pyspiel.GameType.Utility.CONSTANT_SUM


def load_game(name: str) -> pyspiel.Game:
    """pyspiel.load_game for a name that somebody typed; UserError, in one line, if there is no such game.

    Misspelt names are found here: OpenSpiel itself would print the names of all its games.
    """
    if len(name) > LONGEST_NAME:
        raise UserError(f"--game has {len(name):,} characters; allowed: up to {LONGEST_NAME:,}")
    try:
        _require_known_names(name, pyspiel.game_parameters_from_string(name))
        return pyspiel.load_game(name)
    except (pyspiel.SpielError, ValueError) as error:
        raise UserError(f"--game={name} cannot be loaded: {str(error).splitlines()[0]}") from None


def load_card_game(name: str) -> CardGame:
    """`load_game` for those who need the rules of a game: UserError for games that are not of this project."""
    game = load_game(name)
    if not isinstance(game, CardGame):
        raise UserError(f"--game={name} is not a card game of this project")
    return game


def _require_known_names(text: str, parameters: Mapping[str, Any]) -> None:
    """Of a game, of the games inside it, and of their parameters; UserError with those that come closest."""
    known = {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}
    name = parameters.get("name", "")
    if name not in known:
        close = difflib.get_close_matches(name, known, CLOSE_NAMES, 0.5)
        meant = f"did you mean {' or '.join(close)}?" if close else "allowed: pyspiel.registered_names()"
        raise UserError(f"--game={text}: there is no game {name!r}; {meant}")
    for parameter, value in parameters.items():
        if parameter != "name" and known[name] and parameter not in known[name]:
            raise UserError(f"--game={text}: {name} has no {parameter}; allowed: {', '.join(known[name])}")
        if isinstance(value, Mapping):
            _require_known_names(text, value)


def is_game(text: str, game: pyspiel.Game) -> bool:
    """Whether a text, as found in a file, names this game: the same name and all the same parameters, those that were
    not given included. Games that are called otherwise are not loaded to see that."""
    return _is_game_but(text, game, ())


def is_table(text: str, game: pyspiel.Game) -> bool:
    """Whether a text, as found in a file, names this game, or one that differs in nothing but what it pays."""
    return _is_game_but(text, game, game.rules.payoff_parameters if isinstance(game, CardGame) else ())


def _is_game_but(text: str, game: pyspiel.Game, but: Sequence[str]) -> bool:
    """Whether a text names this game, whatever these parameters are."""
    try:
        if len(text) > LONGEST_NAME or _called(text) != game.get_type().short_name:
            return False
        return _canonical(pyspiel.load_game(text), but) == _canonical(game, but)
    except (pyspiel.SpielError, ValueError):
        return False


def _called(text: str) -> str | None:
    return pyspiel.game_parameters_from_string(text).get("name")


def _canonical(game: pyspiel.Game, but: Sequence[str]) -> tuple[str, str]:
    parameters = {**game.get_type().parameter_specification, **game.get_parameters()}
    told = sorted((name, str(value)) for name, value in parameters.items() if name not in but)
    return game.get_type().short_name, str(told)


class CardGame(pyspiel.Game):
    """A pyspiel game made of a rules record. `rules` is what the project's own solvers drive."""

    def __init__(self, game_type: pyspiel.GameType, rules: Rules, wording: Wording, params: Mapping[str, Any]) -> None:
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.num_distinct_actions,
            max_chance_outcomes=rules.max_chance_outcomes,
            num_players=rules.num_players,
            min_utility=rules.min_utility,
            max_utility=rules.max_utility,
            utility_sum=rules.utility_sum,
            max_game_length=rules.max_game_length,
        )
        super().__init__(game_type, info, dict(params))
        self.rules = rules
        self.wording = wording
        self.name = str(self)
        with compiling(game_type.short_name):
            rules.compile_to_play()  # now, so that nobody waits for it in the middle of a game

    @property
    def teams(self) -> tuple[tuple[int, ...], ...]:
        """The seats of each team; empty if everybody plays alone."""
        return self.rules.teams

    def new_initial_state(self) -> CardState:
        return CardState(self)

    def max_chance_nodes_in_history(self) -> int:
        return self.rules.max_chance_nodes

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Mapping[str, Any] | None = None
    ) -> CardObserver:
        if isinstance(iig_obs_type, dict):  # OpenSpiel passes the parameters alone when it wants the default type
            iig_obs_type, params = None, iig_obs_type
        if params:
            raise ValueError(f"observation parameters are not supported, got {params}")
        return CardObserver(self.rules, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False))


class Table:
    """Everything that makes up a state on the Python side; copied as one."""

    __slots__ = ("_legal", "array", "game_name", "player", "rules", "wording")

    def __init__(self, game: CardGame, array: np.ndarray) -> None:
        self._place(game.rules, game.wording, game.name, array)

    def _place(self, rules: Rules, wording: Wording, game_name: str, array: np.ndarray) -> None:
        self.rules = rules
        self.wording = wording
        self.game_name = game_name
        self.array = array
        self.refresh()

    def __deepcopy__(self, memo: dict) -> Table:
        copy = Table.__new__(Table)
        copy._place(self.rules, self.wording, self.game_name, self.array.copy())
        return copy

    def __reduce__(self) -> tuple:
        """OpenSpiel serialises a Python state by pickling its attributes: the game goes by its name."""
        return _unpickle_table, (self.game_name, self.array)

    def refresh(self) -> None:
        """Looks up who is to act after the array has changed."""
        self.player = int(self.rules.kernel.current_player(self.array))
        self._legal: list[int] | None = None

    def legal(self) -> list[int]:
        """Legal actions of the seat to move, or the chance outcomes."""
        if self._legal is None:
            if self.player == CHANCE:
                self._legal = [outcome for outcome, _ in self.chance_outcomes()]
            elif self.player == TERMINAL:
                self._legal = []
            else:
                actions = np.empty(self.rules.num_distinct_actions, np.int64)
                self._legal = actions[: self.rules.kernel.legal_actions(self.array, actions)].tolist()
        return self._legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes = np.empty(self.rules.max_chance_outcomes, np.int64)
        probabilities = np.empty(self.rules.max_chance_outcomes)
        n = self.rules.kernel.chance_outcomes(self.array, outcomes, probabilities)
        return list(zip(outcomes[:n].tolist(), probabilities[:n].tolist(), strict=True))

    def resampled(self, player: int, probability_sampler: Any) -> np.ndarray:
        """The array after everything that `player` does not know was drawn again."""
        require_player(player, self.rules.num_players)
        array = self.array.copy()
        self.rules.kernel.resample(array, player, generator(int(probability_sampler() * (1 << 53))))
        return array

    def action_name(self, player: int, action: int) -> str:
        actions = self.rules.max_chance_outcomes if player == CHANCE else self.rules.num_distinct_actions
        if type(action) is not int or not 0 <= action < actions:
            require_whole("action", action, 0, actions - 1)
        if player != CHANCE:
            require_player(player, self.rules.num_players)
            try:
                return self.wording.action(self.array, action)
            except IndexError:  # where actions are places in a hand
                raise bad_value("action", action, "one that means something now") from None
        if deck.is_dealt(self.array):
            wording: Any = self.wording  # of a transform that has such chance nodes
            return wording.chance(self.array, action)
        return self._deal_name(int(self.array[deck.NEXT_CARD]), action)

    def dealt_so_far(self) -> str:
        deck_cards = int(self.array[deck.DECK_CARDS])
        cards = [card for card in range(int(self.array[deck.NEXT_CARD])) if deck_cards >> card & 1]
        return ", ".join(self._deal_name(card, int(deck.pile_of(self.array, card))) for card in cards)

    def _deal_name(self, card: int, pile: int) -> str:
        receiver = f"P{pile}" if pile < self.rules.num_players else "undealt"
        return f"{self.wording.card(self.array, card)} to {receiver}"


@functools.lru_cache(maxsize=8)
def _game_of_name(name: str) -> CardGame:
    return pyspiel.load_game(name)


def _unpickle_table(game_name: str, array: np.ndarray) -> Table:
    return Table(_game_of_name(game_name), array)


class CardState(pyspiel.State):
    """A state of a card game; `array` is what the rules kernel works on."""

    def __init__(self, game: CardGame) -> None:
        super().__init__(game)
        self.table = Table(game, game.rules.new_state())

    @property
    def array(self) -> np.ndarray:
        return self.table.array

    def current_player(self) -> int:
        return self.table.player

    def is_terminal(self) -> bool:
        return self.table.player == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.table.legal())

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if self.table.player != CHANCE:
            raise ValueError("chance_outcomes was called on a state that is not a chance node")
        return self.table.chance_outcomes()

    def _apply_action(self, action: int) -> None:
        table = self.table
        if action not in table.legal():
            raise ValueError(self._illegal(action))
        table.rules.kernel.apply_action(table.array, action)
        table.refresh()

    def _illegal(self, action: int) -> str:
        player = self.table.player
        if player == TERMINAL:
            return f"action {action} is not legal: the game is over"
        who = "chance" if player == CHANCE else f"player {player}"
        legal = ", ".join(f"{a} ({self.table.action_name(player, a)})" for a in self.table.legal())
        return f"action {action} is not legal for {who}; legal: {legal}"

    def _action_to_string(self, player: int, action: int) -> str:
        return self.table.action_name(player, action)

    def returns(self) -> list[float]:
        out = np.empty(self.table.rules.num_players)
        self.table.rules.kernel.returns(self.table.array, out)
        return out.tolist()

    def information_key(self, player: int | None = None) -> tuple[int, ...]:
        """The exact information state of `player` (default: the player to move) as integers."""
        player = self.table.player if player is None else player
        require_player(player, self.table.rules.num_players)
        words = np.empty(self.table.rules.key_words, np.int64)
        self.table.rules.kernel.information_key(self.table.array, player, words)
        return tuple(words.tolist())

    def resample_from_infostate(self, player: int, probability_sampler: Any) -> CardState:
        """A state drawn uniformly from those that look the same to `player`; the sampler gives floats in [0, 1)."""
        array = self.table.resampled(player, probability_sampler)
        state = self.get_game().new_initial_state()
        state.follow_chance(array, probability_sampler)  # deals may differ in which cards had only one pile to go to
        for move in self.full_history():
            if move.player != CHANCE:
                state.apply_action(move.action)
                state.follow_chance(array, probability_sampler)
        return state

    def follow_chance(self, array: np.ndarray, probability_sampler: Any) -> None:
        """Lets chance act as it did on the way to the kernel state `array`: the same deal; after the deal, whatever
        ends in `array`, or, where nothing does yet, a random outcome."""
        while self.is_chance_node() and not (self.array == array).all():
            if not deck.is_dealt(self.array):
                self.apply_action(int(deck.pile_of(array, self.array[deck.NEXT_CARD])))
                continue
            outcomes = self.chance_outcomes()
            ends = [outcome for outcome, _ in outcomes if (self.child(outcome).array == array).all()]
            self.apply_action(ends[0] if ends else _draw(outcomes, probability_sampler()))

    def __str__(self) -> str:
        table = self.table
        if table.array[deck.NEXT_CARD] < table.array[deck.DECK_SIZE]:
            return f"dealing {table.dealt_so_far()}".rstrip()
        hands = (f"P{seat} {table.wording.private(table.array, seat)}" for seat in range(table.rules.num_players))
        return f"{' | '.join(hands)} | {table.wording.public_history(table.array)}".rstrip(" |")


def _draw(outcomes: list[tuple[int, float]], number: float) -> int:
    """The outcome that a uniform number in [0, 1) falls on."""
    for outcome, probability in outcomes:
        number -= probability
        if number < 0:
            return outcome
    return outcomes[-1][0]


class CardObserver:
    """What one player sees (see open_spiel.python.observation): pieces of the rules' tensors, and strings."""

    def __init__(self, rules: Rules, kind: pyspiel.IIGObservationType) -> None:
        self._kind = kind
        self._num_players = rules.num_players
        self._encode = rules.kernel.information_tensor if kind.perfect_recall else rules.kernel.observation_tensor
        pieces = rules.information_pieces if kind.perfect_recall else rules.observation_pieces
        self._whole = np.zeros(sum(piece.size for piece in pieces), np.float32)
        self._chosen: list[tuple[Piece, slice]] = []
        start = 0
        for piece in pieces:
            if self._shows(piece):
                self._chosen.append((piece, slice(start, start + piece.size)))
            start += piece.size

        shapes = {piece.name: self._shape(piece) for piece, _ in self._chosen}
        self.tensor = np.zeros(sum(int(np.prod(shape)) for shape in shapes.values()), np.float32)
        self.dict = {}
        start = 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            self.dict[name] = self.tensor[start : start + size].reshape(shape)
            start += size

    @property
    def _everyones(self) -> bool:
        return self._kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS

    @property
    def _own(self) -> bool:
        return self._kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER

    def _shows(self, piece: Piece) -> bool:
        if piece.kind == "public":
            return self._kind.public_info
        return self._own or (self._everyones and piece.kind == "private")

    def _shape(self, piece: Piece) -> tuple[int, ...]:
        return (self._num_players, *piece.shape) if self._everyones and piece.kind == "private" else piece.shape

    def set_from(self, state: CardState, player: int) -> None:
        """Writes what `player` sees of `state` into `tensor` and `dict`."""
        require_player(player, self._num_players)
        self._write(state.array, player)
        for piece, where in self._chosen:
            if not (self._everyones and piece.kind == "private"):
                self.dict[piece.name][...] = self._whole[where].reshape(piece.shape)
        if self._everyones:
            for seat in range(self._num_players):
                self._write(state.array, seat)
                for piece, where in self._chosen:
                    if piece.kind == "private":
                        self.dict[piece.name][seat] = self._whole[where].reshape(piece.shape)

    def _write(self, array: np.ndarray, player: int) -> None:
        self._whole.fill(0.0)
        self._encode(array, player, self._whole)

    def string_from(self, state: CardState, player: int) -> str:
        """What `player` sees of `state`, for people and as the name of the information state."""
        require_player(player, self._num_players)
        wording, array = state.table.wording, state.table.array
        private = wording.private
        if not self._kind.perfect_recall and hasattr(wording, "private_now"):
            private = wording.private_now
        parts = []
        if self._own:
            parts.append(f"P{player} {private(array, player)}")
        elif self._everyones:
            parts += [f"P{seat} {private(array, seat)}" for seat in range(self._num_players)]
        if self._kind.public_info:
            parts.append(wording.public_history(array) if self._kind.perfect_recall else wording.public_now(array))
        return " | ".join(parts).rstrip(" |")
