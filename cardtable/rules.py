"""The rules contract: what a game hands over so that everything else can be built on it.

A game state is one contiguous `int64` array. It starts with the dealing block (`cardtable.deck`) and holds the
variant's parameters in further slots, so that compiled code never depends on anything outside the array. A game
exports ten compiled functions (`Kernel`) and wraps them, with what OpenSpiel wants to know about sizes and bounds, in
a `Rules` record:

    current_player(state) -> int                       a seat, CHANCE or TERMINAL
    legal_actions(state, out) -> int                   ascending action ids into out; returns how many
    apply_action(state, action)                        in place, player's action or chance outcome; never validates
    chance_outcomes(state, outcomes, probs) -> int     ascending outcomes and their probabilities; returns how many
    deal(state, generator)                             samples the chance nodes at the root in one go
    resample(state, player, generator)                 redeals what `player` cannot see, uniformly over all deals
                                                       consistent with the player's information; in place
    returns(state, out)                                one number per seat
    information_key(state, player, out)                the information state of `player`, exactly, in `key_words` words
    information_tensor(state, player, out)             the same as numbers, laid out as `information_pieces` says
    observation_tensor(state, player, out)             what the player sees now, laid out as `observation_pieces` says

`player` is any seat, not only the one to move. Tensors arrive zeroed.

Solvers and engines take these functions as arguments of the types in `FUNCTION_TYPES`: such compiled code is built
once, cached on disk, and serves every game (closures over the functions would be compiled anew in every process).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import JIT_DISABLED, compiled, compiling

# Who acts, as pyspiel.PlayerId says it.
CHANCE = -1
TERMINAL = -4

INTEGER = types.int64
STATE = types.Array(types.int64, 1, "C")
WORDS = types.Array(types.int64, 1, "C")
PROBABILITIES = types.Array(types.float64, 1, "C")
TENSOR = types.Array(types.float32, 1, "C")
GENERATOR = types.Array(types.uint64, 1, "C")
# Many of them, one a row.
STATES = types.Array(types.int64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
STREAMS = types.Array(types.uint64, 2, "C")

SIGNATURES = {
    "current_player": INTEGER(STATE),
    "legal_actions": INTEGER(STATE, WORDS),
    "apply_action": types.void(STATE, INTEGER),
    "chance_outcomes": INTEGER(STATE, WORDS, PROBABILITIES),
    "deal": types.void(STATE, GENERATOR),
    "resample": types.void(STATE, INTEGER, GENERATOR),
    "returns": types.void(STATE, PROBABILITIES),
    "information_key": types.void(STATE, INTEGER, WORDS),
    "information_tensor": types.void(STATE, INTEGER, TENSOR),
    "observation_tensor": types.void(STATE, INTEGER, TENSOR),
}
PLAYING = ("current_player", "legal_actions", "apply_action", "chance_outcomes", "returns")
FUNCTION_TYPES = {name: types.FunctionType(signature) for name, signature in SIGNATURES.items()}
# A whole kernel as one argument of an entry point. Pass `tuple(kernel)`, and begin with `kernel = Kernel(*functions)`.
# (As a declared NamedTuple it would not be accepted, and undeclared tuples never hit the cache.)
KERNEL_TYPE = types.Tuple(tuple(FUNCTION_TYPES.values()))

# A compiled player: choose(state, generator) -> one of the legal actions of the seat to move.
PLAYER_SIGNATURE = INTEGER(STATE, GENERATOR)
PLAYER_TYPE = types.FunctionType(PLAYER_SIGNATURE)
# label(state, action) of an `Origin`: what an action of the original game is called in a transform of it.
LABEL_SIGNATURE = INTEGER(STATE, INTEGER)
LABEL_TYPE = types.FunctionType(LABEL_SIGNATURE)


class Kernel(NamedTuple):
    """A game's compiled functions, in the order of `SIGNATURES`."""

    current_player: Callable
    legal_actions: Callable
    apply_action: Callable
    chance_outcomes: Callable
    deal: Callable
    resample: Callable
    returns: Callable
    information_key: Callable
    information_tensor: Callable
    observation_tensor: Callable


class Symmetry(NamedTuple):
    """Compiled functions of a game whose suits are interchangeable: renaming suits gives the same game.

    `new_suit` is an int64 array: suit s is renamed new_suit[s]. Inside a suit ranks ascend with the card id.

        num_suits(state) -> int
        suit_cards(state, suit) -> int                     all cards of a suit, as a set
        rename(state, new_suit, out)                       the same position under the new names
        rename_action(state, action, new_suit) -> int      the same action of the player to move
        signatures(state, player, hand, history, out)      row s of `out`, `signature_words` words: what tells suit s
                                                           from the others in the hand of the player (if `hand`) and
                                                           in the public history (if `history`), but for its name
    """

    num_suits: Callable
    suit_cards: Callable
    rename: Callable
    rename_action: Callable
    signatures: Callable
    signature_words: int


class Forgetting(NamedTuple):
    """How a game can forget part of what a player knows: `hand` and `history` say how much is kept of either.

    They are positions in `hands` and `histories`; 0 keeps everything. Compiled functions:

        key(state, player, hand, history, out)             what is kept, exactly, in `key_words` words
        tensor(state, player, hand, history, out)          the same as numbers, laid out as `pieces` says
        shows_hand(hand) -> bool                           whether what is kept of the hand names suits
        shows_history(history) -> bool                     whether what is kept of the history does
        sort_actions(state, hand, actions, count)          puts legal actions in the order in which positions that
                                                           are no longer told apart share them; in place; the state
                                                           has the names that the actions have
    and plain ones:

        pieces(rules, hand, history) -> tuple of Piece
        describe(wording, state, player, hand, history) -> str
    """

    hands: tuple[str, ...]
    histories: tuple[str, ...]
    most_actions: int  # legal at any decision
    key_words: int
    key: Callable
    tensor: Callable
    shows_hand: Callable
    shows_history: Callable
    sort_actions: Callable
    pieces: Callable
    describe: Callable


class WeightedDeals(NamedTuple):
    """Dealt positions that stand for all deals up to symmetry, for those who walk the whole game."""

    number: float  # about how many there are
    make: Callable[[], tuple[np.ndarray, np.ndarray]]  # -> states, one a row, and their probabilities


class Origin(NamedTuple):
    """Where a transformed game comes from: its state starts with the state of `rules`, which has the same moves.

    `label(state, action) -> int`, compiled: what the player to move calls an action of the original game.
    """

    rules: Rules
    label: Callable


class Piece(NamedTuple):
    """A named part of a tensor. `public` is common knowledge, `private` one seat's own, `observer` who is looking."""

    name: str
    shape: tuple[int, ...]
    kind: Literal["observer", "public", "private"]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Rules:
    """One variant of one game: its kernel, its root state, and its sizes and bounds."""

    kernel: Kernel
    root: np.ndarray  # the state before the deal, with the variant's parameters; copy it, do not change it
    # Of the game's rules, raised when positions, action ids or information keys change: policies, checkpoints and saved
    # players carry it. A transform hands on that of the game inside.
    version: int
    num_players: int
    num_distinct_actions: int
    max_chance_outcomes: int
    max_game_length: int  # player moves in the longest game
    max_chance_nodes: int  # chance nodes in the longest game
    min_utility: float
    max_utility: float
    utility_sum: float | None  # None: the returns do not have a constant sum
    key_words: int
    information_pieces: tuple[Piece, ...]
    observation_pieces: tuple[Piece, ...]
    teams: tuple[tuple[int, ...], ...] = ()  # empty: everybody plays alone
    # Suit permutations that change nothing but names: the cards of one suit after the other, ranks in the same order.
    interchangeable_suits: tuple[tuple[int, ...], ...] = ()
    symmetry: Symmetry | None = None  # games with interchangeable suits: how to rename them
    forgetting: Forgetting | None = None  # games that can be made coarser
    origin: Origin | None = None  # transforms: the game they were made from
    weighted_deals: WeightedDeals | None = None  # None: who walks the whole game deals card by card

    def __post_init__(self) -> None:
        self.root.setflags(write=False)

    @property
    def state_size(self) -> int:
        return len(self.root)

    @property
    def information_size(self) -> int:
        return sum(piece.size for piece in self.information_pieces)

    @property
    def observation_size(self) -> int:
        return sum(piece.size for piece in self.observation_pieces)

    def new_state(self) -> np.ndarray:
        return self.root.copy()

    def compile_to_play(self) -> None:
        """Compiles what playing through pyspiel takes; keys, tensors and redeals come when they are first asked for."""
        for name in PLAYING:
            compile_for(getattr(self.kernel, name), SIGNATURES[name])

    def compiled_kernel(self, resample: bool = False) -> Kernel:
        """The kernel with every function compiled for its declared signature, ready to be passed to a solver.

        An exact redeal takes longer to compile than all the rest, and most never call it: unless it is asked for, a
        stand-in that raises an error takes its place.
        """
        kernel = self.kernel if resample else self.kernel._replace(resample=_no_resample)
        _compile(kernel)
        return kernel


@compiled
def _no_resample(state, player, generator):
    raise RuntimeError("this kernel cannot resample; ask for rules.compiled_kernel(resample=True)")


@functools.cache
def _compile(kernel: Kernel) -> None:
    with compiling(kernel.current_player.__module__.partition(".")[0]):
        for name, signature in SIGNATURES.items():
            compile_for(getattr(kernel, name), signature)


def compile_for(function: Any, signature: Any) -> Any:
    """Compiles (or loads from the cache) a function for exactly this signature, as a first-class function needs it."""
    if not JIT_DISABLED:
        function.compile(signature)
        actual = function.overloads[signature.args].signature.return_type
        if actual != signature.return_type:
            raise TypeError(f"{function.__name__} returns {actual}, the contract says {signature.return_type}")
    return function
