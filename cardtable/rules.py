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

Solvers and engines take these functions as arguments: such compiled code is built once, cached on disk, and serves
every game (closures over the functions would be compiled anew in every process). A whole kernel is one argument, the
array of the addresses of its machine code:

    @entry_point(ADDRESSES, ...)
    def solve(addresses, ...):
        kernel = kernel_at(addresses)
        player = kernel.current_player(state)

    solve(rules.compiled_kernel().addresses(), ...)

This costs nothing. A single function can also be an argument of a type in `FUNCTION_TYPES`, for which numba takes 15 to
50 microseconds at each call from Python.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from cardtable.compiled import JIT_DISABLED, compiled, compiling

if TYPE_CHECKING:
    from cardtable.recall import Recall

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

# Where the machine code of some functions is; see `Kernel.addresses` and `player_addresses`.
ADDRESSES = types.Array(types.int64, 1, "C", readonly=True)

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

    def addresses(self) -> Any:
        """All functions, compiled, as one argument for compiled code, which begins with `kernel_at`."""
        return self if JIT_DISABLED else addresses_of(tuple(self), tuple(SIGNATURES.values()))


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


class Features(NamedTuple):
    """What a network is told of a position: the seat to move sees it from her own chair, suits in a canonical order.

    Compiled functions; numbers arrive zeroed, and nothing depends on what the seat to move cannot know:

        context(state, out)                    `context_size` numbers on the position
        actions(state, actions, count, out)    row i of `out`, `action_size` numbers: the i-th of `count` legal actions

    The sizes are those of the full deck, also in games with fewer cards.
    """

    context_size: int
    action_size: int
    context: Callable
    actions: Callable


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
    features: Features | None = None  # what networks are told; None: the information tensor, and actions by number
    origin: Origin | None = None  # transforms: the game they were made from
    # moves(state, out) -> int, compiled: all actions of the players since the deal, in order; returns how many. With
    # the piles of the dealing block that is the whole game: `cardtable.replay`. None: a transform that renames or adds.
    moves: Callable | None = None
    # The same where `moves` is None: of the game inside, or of the present deal. `cardtable.ways` finds a way by them.
    moves_inside: Callable | None = None
    # Games of several deals, of which the state knows only the present one. begin(state, out), compiled, makes `out`, a
    # root, the position before that deal; `forgotten` are the slots in which it may differ from the root, each with
    # the lowest and the highest value that it has there.
    begin: Callable | None = None
    forgotten: tuple[tuple[int, int, int], ...] = ()
    # Games in which all that is private is a dealt hand: how to imagine another one. None: the slow way is taken.
    recall: Recall | None = None
    weighted_deals: WeightedDeals | None = None  # None: who walks the whole game deals card by card
    # Parameters that change what a game pays and nothing else: who plays one such game can sit down at another.
    payoff_parameters: tuple[str, ...] = ()

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


def player_addresses(players: Sequence[Callable]) -> Any:
    """Compiled players as one argument for compiled code, which calls `player_at`."""
    return players if JIT_DISABLED else addresses_of(tuple(players), (PLAYER_SIGNATURE,) * len(players))


@functools.cache  # which also keeps the functions, and so their machine code, for good
def addresses_of(functions: tuple[Any, ...], signatures: tuple[Any, ...]) -> np.ndarray:
    found = np.empty(len(functions), np.int64)
    for index, (function, signature) in enumerate(zip(functions, signatures, strict=True)):
        result = compile_for(function, signature).get_compile_result(signature)
        found[index] = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    found.setflags(write=False)
    return found


# These belong in this file: machine code that uses them is compiled anew when the contract above changes.
def functions_at(record: Any, signatures: Sequence[Any]) -> Any:
    """Makes what compiled code calls to turn the addresses of functions (`addresses_of`) back into their record."""
    if JIT_DISABLED:
        return lambda addresses: addresses
    # Names and types are a tuple that `at` mentions, so that they are part of the stamp of machine code that uses it.
    functions = tuple(zip(record._fields, map(types.FunctionType, signatures), strict=True))

    @intrinsic
    def at(typing_context, addresses):
        record_type = types.NamedTuple(tuple(function_type for _, function_type in functions), record)

        def build(context, builder, signature, arguments):
            data = arrayobj.make_array(addresses)(context, builder, arguments[0]).data
            values = [
                _function_value(context, builder, function_type, data, cgutils.intp_t(index))
                for index, (_, function_type) in enumerate(functions)
            ]
            return context.make_tuple(builder, record_type, values)

        return record_type(addresses), build

    return at


def _function_value(context: Any, builder: Any, function_type: Any, addresses: Any, index: Any) -> Any:
    """A first-class function of which only the address is known, which is all that a call needs."""
    function = cgutils.create_struct_proxy(function_type)(context, builder)
    address = builder.load(builder.gep(addresses, [index]))
    function.jit_addr = builder.inttoptr(address, cgutils.voidptr_t)
    return function._getvalue()


kernel_at = functions_at(Kernel, tuple(SIGNATURES.values()))

if JIT_DISABLED:

    def player_at(addresses, index):
        return addresses[index]

else:

    @intrinsic
    def player_at(typing_context, addresses, index):
        """The player at this place of `player_addresses`, for compiled code."""

        def build(context, builder, signature, arguments):
            data = arrayobj.make_array(addresses)(context, builder, arguments[0]).data
            return _function_value(context, builder, PLAYER_TYPE, data, arguments[1])

        return PLAYER_TYPE(addresses, types.int64), build
