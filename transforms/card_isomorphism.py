"""`python_card_isomorphism(game=...,method=orbit|thesis)`: positions that differ only in the names of suits are one.

For games whose suits are interchangeable (they say so by a `Symmetry`). Each player sees cards under canonical names,
and names actions accordingly; the cards on the table keep their real names.

`method=orbit` loses nothing. The information state of a player is the orbit of (hand, public history) under renamings
of suits. It is represented by naming suits in the order of their *signatures*: all that hand and history say about a
suit but its name. Suits with equal signatures are exactly those that a renaming can exchange without changing hand and
history; it may then map one legal action onto another. Such actions get the same name, the smallest that the exchanges
give: they are one action of this game, followed by a chance node that picks one of them uniformly, as nobody could want
to prefer one. The chance outcome is the position of the action among them.

`method=thesis` is the mapping of a 2021 thesis on Toepen: the player sorts her initial hand by rank, weakest first,
then by suit, and names suits in the order of their appearance; suits she does not hold follow in their usual order. It
tells apart positions that are alike (ties, suits not held) and is not lossless: an equilibrium of this game need not be
one of the original game.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel

from cardtable import bits, deck
from cardtable.compiled import compiled
from cardtable.display import Table
from cardtable.parameters import refusal, require_one_of
from cardtable.rules import CHANCE, Forgetting, Kernel, Origin, Piece, Rules, Symmetry, WeightedDeals
from cardtable.spiel import Wording
from transforms.wrapping import TransformedGame, base_game, transform_type

NAME = "python_card_isomorphism"
METHODS = ("orbit", "thesis")
DEFAULTS = {"method": METHODS[0]}
GAME_TYPE = transform_type(NAME, "Card isomorphism", DEFAULTS)

MAX_SUITS = 4
MAX_LEGAL_ACTIONS = 64
NOTHING = -1  # in the last slot of a state: no action waits for a chance node

# Row i: a renaming of MAX_SUITS suits. The first n! rows rename only the first n suits.
RENAMINGS = np.array(sorted(itertools.permutations(range(MAX_SUITS)), key=lambda names: names[::-1], reverse=True))
NUM_RENAMINGS = np.array([math.factorial(suits) for suits in range(MAX_SUITS + 1)])


class CardIsomorphismGame(TransformedGame):
    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        params = dict(params or {})
        base = base_game(NAME, params, "python_toepen")
        method = params.get("method", DEFAULTS["method"])
        rules, canonical = isomorphic_rules(base.rules, method, str(base))
        wording = IsomorphicWording(base.wording, canonical, method == "orbit")
        super().__init__(GAME_TYPE, base, rules, wording, params)


def isomorphic_rules(rules: Rules, method: str = "orbit", name: str = "the game") -> tuple[Rules, Callable]:
    """The rules under canonical names, and the compiled function `canonical(state, player, out)` that renames.

    `canonical` takes a state of the base game.
    """
    require_one_of("method", method, METHODS, NAME)
    if rules.symmetry is None:
        raise refusal(f"{name} does not declare interchangeable suits", "games that do", NAME)
    suits = len(rules.interchangeable_suits)
    if suits > MAX_SUITS:
        raise refusal(f"{name} has {suits} interchangeable suits", f"at most {MAX_SUITS}", NAME)
    common: dict[str, Any] = {
        # Canonical names are one player's own: nothing is common knowledge under them.
        "information_pieces": tuple(map(_private, rules.information_pieces)),
        "observation_pieces": tuple(map(_private, rules.observation_pieces)),
        "symmetry": None,
        "features": None,  # actions have other names now
        "moves": None,
        "moves_inside": rules.moves or rules.moves_inside,
        "recall": None,
    }
    if method == "thesis":
        kernel, canonical, label, forgetting = _thesis_functions(rules.kernel, rules.symmetry, rules.forgetting)
        common |= {"kernel": kernel, "forgetting": forgetting, "origin": _origin(rules, label)}
        return dataclasses.replace(rules, **common), canonical
    kernel, canonical, label, forgetting = _orbit_functions(rules.kernel, rules.symmetry, rules.forgetting)
    root = np.append(rules.root, NOTHING)
    quotient = dataclasses.replace(
        rules,
        **common,
        kernel=kernel,
        root=root,
        max_chance_outcomes=max(rules.max_chance_outcomes, int(NUM_RENAMINGS[suits])),
        max_chance_nodes=rules.max_chance_nodes + rules.max_game_length,
        forgetting=forgetting,
        origin=_origin(rules, label),
        weighted_deals=_weighted_deals(root, rules.interchangeable_suits, kernel.deal),
    )
    return quotient, canonical


def _private(piece: Piece) -> Piece:
    return piece if piece.kind == "observer" else piece._replace(kind="private")


def _origin(rules: Rules, label: Callable) -> Origin:
    if rules.origin is None:
        return Origin(rules, label)
    return Origin(rules.origin.rules, _label_of_label(label, rules.origin.label, rules.state_size))


def _label_of_label(label: Callable, base_label: Callable, base_size: int) -> Callable:
    @compiled
    def composed(state, action):
        return label(state, base_label(state[:base_size], action))

    return composed


# ---------------------------------------------------------------------------------------------- method=thesis


@compiled
def _sort(values, count):
    """Sorts the first few values in place (numpy's sort takes long to compile)."""
    for end in range(1, count):
        value = values[end]
        place = end
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@functools.cache  # games that differ only in size share their compiled functions
def _thesis_functions(
    kernel: Kernel, symmetry: Symmetry, forgetting: Forgetting | None
) -> tuple[Kernel, Callable, Callable, Forgetting | None]:
    num_suits, suit_cards, rename, rename_action = symmetry[:4]
    current_player, base_legal_actions, base_apply_action = kernel[:3]
    sort = _sort

    @compiled
    def names_of(state, player, new_suit):
        """Names suits in the order of their weakest cards in the hand that was dealt."""
        suits = num_suits(state)
        hand = state[deck.DEALT + player]
        new_suit[:] = -1
        named = 0
        for rank in range(bits.count(suit_cards(state, 0))):
            for suit in range(suits):
                if new_suit[suit] < 0 and bits.contains(hand, bits.nth(suit_cards(state, suit), rank)):
                    new_suit[suit] = named
                    named += 1
        for suit in range(suits):
            if new_suit[suit] < 0:
                new_suit[suit] = named
                named += 1

    @compiled
    def canonical(state, player, out):
        new_suit = np.empty(MAX_SUITS, np.int64)
        names_of(state, player, new_suit)
        rename(state, new_suit, out)

    @compiled
    def label(state, action):
        new_suit = np.empty(MAX_SUITS, np.int64)
        names_of(state, current_player(state), new_suit)
        return rename_action(state, action, new_suit)

    @compiled
    def legal_actions(state, out):
        new_suit = np.empty(MAX_SUITS, np.int64)
        names_of(state, current_player(state), new_suit)
        count = base_legal_actions(state, out)
        for index in range(count):
            out[index] = rename_action(state, out[index], new_suit)
        sort(out, count)
        return count

    @compiled
    def apply_action(state, action):
        player = current_player(state)
        if player == CHANCE:
            base_apply_action(state, action)
            return
        new_suit = np.empty(MAX_SUITS, np.int64)
        old_suit = np.empty(MAX_SUITS, np.int64)
        names_of(state, player, new_suit)
        for suit in range(num_suits(state)):
            old_suit[new_suit[suit]] = suit
        base_apply_action(state, rename_action(state, action, old_suit))

    wrapped = kernel._replace(
        legal_actions=legal_actions,
        apply_action=apply_action,
        information_key=_renamed(canonical, kernel.information_key),
        information_tensor=_renamed(canonical, kernel.information_tensor),
        observation_tensor=_renamed(canonical, kernel.observation_tensor),
    )
    if forgetting is None:
        return wrapped, canonical, label, None
    base_sort = forgetting.sort_actions

    @compiled
    def sort_actions(state, hand, actions, count):
        own = np.empty_like(state)
        canonical(state, current_player(state), own)
        base_sort(own, hand, actions, count)

    wrapped_forgetting = forgetting._replace(
        sort_actions=sort_actions,
        key=_renamed_forgetting(canonical, forgetting.key),
        tensor=_renamed_forgetting(canonical, forgetting.tensor),
        describe=functools.partial(_describe_renamed, canonical, forgetting.describe),
    )
    return wrapped, canonical, label, wrapped_forgetting


def _renamed(canonical: Callable, function: Callable) -> Callable:
    """function(state, player, out) of the state under the player's names."""

    @compiled
    def renamed(state, player, out):
        own = np.empty_like(state)
        canonical(state, player, own)
        function(own, player, out)

    return renamed


def _renamed_forgetting(canonical: Callable, function: Callable) -> Callable:
    @compiled
    def renamed(state, player, hand, history, out):
        own = np.empty_like(state)
        canonical(state, player, own)
        function(own, player, hand, history, out)

    return renamed


def _describe_renamed(
    canonical: Callable, describe: Callable, wording: Wording, state: np.ndarray, player: int, hand: int, history: int
) -> str:
    own = np.empty_like(state)
    canonical(state, player, own)
    return describe(wording, own, player, hand, history)


# ---------------------------------------------------------------------------------------------- method=orbit


@functools.cache
def _orbit_functions(
    kernel: Kernel, symmetry: Symmetry, forgetting: Forgetting | None
) -> tuple[Kernel, Callable, Callable, Forgetting | None]:
    """The kernel of the quotient: its state is the base's and one more slot, the name of an action being drawn."""
    rename, rename_action, num_suits = symmetry.rename, symmetry.rename_action, symmetry.num_suits
    base_player, base_legal_actions, base_apply_action, base_chance_outcomes, base_deal, base_resample, base_returns = (
        kernel[:7]
    )
    sort = _sort
    name_suits = _suit_namer(symmetry)

    @compiled
    def canonical(state, player, out):
        """Writes the state under the player's names."""
        names = np.empty((3, MAX_SUITS), np.int64)
        name_suits(state, player, True, True, names)
        rename(state, names[0], out)

    @compiled
    def name_of(state, action, names, unique):
        """What the player to move calls an action: the smallest of its names."""
        if unique:
            return rename_action(state, action, names[0])
        suits = num_suits(state)
        smallest = -1
        for row in range(NUM_RENAMINGS[suits]):
            possible = True
            for suit in range(suits):
                possible &= names[1, suit] <= RENAMINGS[row, suit] <= names[2, suit]
            if possible:
                name = rename_action(state, action, RENAMINGS[row])
                if smallest < 0 or name < smallest:
                    smallest = name
        return smallest

    @compiled
    def members(state, name, out):
        """The legal actions of the base game that go by this name; returns how many."""
        actions = np.empty(MAX_LEGAL_ACTIONS, np.int64)
        names = np.empty((3, MAX_SUITS), np.int64)
        unique = name_suits(state, base_player(state), True, True, names)
        found = 0
        for index in range(base_legal_actions(state, actions)):
            if name_of(state, actions[index], names, unique) == name:
                out[found] = actions[index]
                found += 1
        return found

    @compiled
    def label(state, action):
        base = state[:-1]
        names = np.empty((3, MAX_SUITS), np.int64)
        unique = name_suits(base, base_player(base), True, True, names)
        return name_of(base, action, names, unique)

    @compiled
    def current_player(state):
        return CHANCE if state[-1] != NOTHING else base_player(state[:-1])

    @compiled
    def legal_actions(state, out):
        base = state[:-1]
        names = np.empty((3, MAX_SUITS), np.int64)
        unique = name_suits(base, base_player(base), True, True, names)
        count = base_legal_actions(base, out)
        for index in range(count):
            out[index] = name_of(base, out[index], names, unique)
        sort(out, count)
        if unique:
            return count
        different = 1
        for index in range(1, count):
            if out[index] != out[different - 1]:
                out[different] = out[index]
                different += 1
        return different

    @compiled
    def apply_action(state, action):
        base = state[:-1]
        if state[-1] == NOTHING and base_player(base) == CHANCE:
            base_apply_action(base, action)
            return
        actions = np.empty(len(RENAMINGS), np.int64)
        if state[-1] != NOTHING:
            members(base, state[-1], actions)
            state[-1] = NOTHING
            base_apply_action(base, actions[action])
        elif members(base, action, actions) == 1:
            base_apply_action(base, actions[0])
        else:
            state[-1] = action

    @compiled
    def chance_outcomes(state, outcomes, probabilities):
        base = state[:-1]
        if state[-1] == NOTHING:
            return base_chance_outcomes(base, outcomes, probabilities)
        count = members(base, state[-1], outcomes)
        for index in range(count):
            outcomes[index] = index
            probabilities[index] = 1.0 / count
        return count

    @compiled
    def deal(state, generator):
        base_deal(state[:-1], generator)

    @compiled
    def resample(state, player, generator):
        """Redeals under the real names of the cards; renaming them as well would change nothing."""
        base_resample(state[:-1], player, generator)

    @compiled
    def returns(state, out):
        base_returns(state[:-1], out)

    wrapped = Kernel(
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        chance_outcomes=chance_outcomes,
        deal=deal,
        resample=resample,
        returns=returns,
        information_key=_orbit_view(canonical, kernel.information_key),
        information_tensor=_orbit_view(canonical, kernel.information_tensor),
        observation_tensor=_orbit_view(canonical, kernel.observation_tensor),
    )
    return wrapped, canonical, label, _orbit_forgetting(kernel, symmetry, forgetting) if forgetting else None


def _suit_namer(symmetry: Symmetry) -> Callable:
    """A compiled function that names suits in the order of their signatures."""
    num_suits, signatures, words = symmetry.num_suits, symmetry.signatures, symmetry.signature_words

    @compiled
    def name_suits(state, player, hand, history, names):
        """Rows of `names`: a name for each suit, and the first and last name of those that cannot be told apart.

        Returns whether all can.
        """
        suits = num_suits(state)
        rows = np.empty((MAX_SUITS, words), np.int64)
        signatures(state, player, hand, history, rows)
        unique = True
        for suit in range(suits):
            smaller = 0
            alike_before = 0
            alike = 0
            for other in range(suits):
                order = 0
                for word in range(words):
                    if order == 0 and rows[other, word] != rows[suit, word]:
                        order = -1 if rows[other, word] < rows[suit, word] else 1
                if order < 0:
                    smaller += 1
                elif order == 0:
                    alike += 1
                    if other < suit:
                        alike_before += 1
            names[0, suit] = smaller + alike_before
            names[1, suit] = smaller
            names[2, suit] = smaller + alike - 1
            unique &= alike == 1
        return unique

    return name_suits


def _orbit_view(canonical: Callable, function: Callable) -> Callable:
    @compiled
    def viewed(state, player, out):
        base = state[:-1]
        own = np.empty_like(base)
        canonical(base, player, own)
        function(own, player, out)

    return viewed


def _orbit_forgetting(kernel: Kernel, symmetry: Symmetry, forgetting: Forgetting) -> Forgetting:
    """Forgets first and takes the orbit of what is left: only what is kept in full gives suits their names."""
    rename, base_key, base_tensor, base_sort = (
        symmetry.rename,
        forgetting.key,
        forgetting.tensor,
        forgetting.sort_actions,
    )
    base_player = kernel.current_player
    name_suits = _suit_namer(symmetry)
    shows_hand, shows_history = forgetting.shows_hand, forgetting.shows_history

    @compiled
    def canonical(state, player, hand, history, out):
        base = state[:-1]
        names = np.empty((3, MAX_SUITS), np.int64)
        name_suits(base, player, shows_hand(hand), shows_history(history), names)
        rename(base, names[0], out)

    @compiled
    def key(state, player, hand, history, out):
        own = np.empty(len(state) - 1, np.int64)
        canonical(state, player, hand, history, own)
        base_key(own, player, hand, history, out)

    @compiled
    def tensor(state, player, hand, history, out):
        own = np.empty(len(state) - 1, np.int64)
        canonical(state, player, hand, history, own)
        base_tensor(own, player, hand, history, out)

    @compiled
    def sort_actions(state, hand, actions, count):
        base = state[:-1]
        own = np.empty_like(base)
        names = np.empty((3, MAX_SUITS), np.int64)
        name_suits(base, base_player(base), True, True, names)  # actions are named by all that the player knows
        rename(base, names[0], own)
        base_sort(own, hand, actions, count)

    return forgetting._replace(
        key=key,
        tensor=tensor,
        sort_actions=sort_actions,
        describe=functools.partial(_describe_orbit, canonical, forgetting.describe),
    )


def _describe_orbit(
    canonical: Callable, describe: Callable, wording: Wording, state: np.ndarray, player: int, hand: int, history: int
) -> str:
    own = np.empty(len(state) - 1, np.int64)
    canonical(state, player, hand, history, own)
    return describe(wording, own, player, hand, history)


# ---------------------------------------------------------------------------------------------- dealing


def _weighted_deals(root: np.ndarray, suits: tuple[tuple[int, ...], ...], deal: Callable) -> WeightedDeals | None:
    """Deals up to renaming, for decks that are made of interchangeable suits only."""
    room = root[deck.ROOM : deck.ROOM + root[deck.NUM_PILES]].tolist()
    if sum(map(len, suits)) != sum(room):
        return None
    deals = math.factorial(sum(room)) // math.prod(map(math.factorial, room))
    return WeightedDeals(deals / math.factorial(len(suits)), functools.partial(weighted_deals, root, suits, deal))


def weighted_deals(
    root: np.ndarray, suits: tuple[tuple[int, ...], ...], deal: Callable
) -> tuple[np.ndarray, np.ndarray]:
    """One dealt state for each orbit of deals, and the share of all deals that are in the orbit.

    A deal gives every suit a pattern: the pile of each of its cards. Orbits of deals are multisets of patterns, and an
    orbit has suits! / (product of multiplicities!) deals.
    """
    num_piles = int(root[deck.NUM_PILES])
    room = root[deck.ROOM : deck.ROOM + num_piles]
    ranks = len(suits[0])
    patterns = np.array(list(itertools.product(range(num_piles), repeat=ranks)), np.int64)
    takes = np.stack([(patterns == pile).sum(axis=1) for pile in range(num_piles)], axis=1)
    possible = (takes <= room).all(axis=1)
    patterns, takes = patterns[possible], takes[possible]
    chosen = _multisets(takes, room, len(suits))

    weights = np.full(len(chosen), float(math.factorial(len(suits))))
    run = np.ones(len(chosen))
    for suit in range(1, len(suits)):
        run = np.where(chosen[:, suit] == chosen[:, suit - 1], run + 1, 1)
        weights /= run
    states = np.repeat(root[None, :], len(chosen), axis=0)
    states[:, deck.NEXT_CARD] = root[deck.DECK_SIZE]
    states[:, deck.ROOM : deck.ROOM + num_piles] = 0
    for suit, cards in enumerate(suits):
        piles = patterns[chosen[:, suit]]
        for rank, card in enumerate(cards):
            for pile in range(num_piles):
                states[:, deck.DEALT + pile] |= (piles[:, rank] == pile).astype(np.int64) << card
    generator = np.zeros(1, np.uint64)
    for state in states:
        deal(state, generator)  # nothing is left to deal: this starts the play
    return states, weights / weights.sum()


@compiled
def _multisets(takes, room, size):
    """All ascending choices of `size` patterns that together fill the piles, as rows."""
    num_piles = len(room)
    found = np.empty((1024, size), np.int64)
    count = 0
    chosen = np.zeros(size, np.int64)
    left = np.empty((size + 1, num_piles), np.int64)
    left[0] = room
    depth = 0
    while depth >= 0:
        if chosen[depth] == len(takes):
            depth -= 1
            if depth >= 0:
                chosen[depth] += 1
            continue
        fits = True
        for pile in range(num_piles):
            left[depth + 1, pile] = left[depth, pile] - takes[chosen[depth], pile]
            if left[depth + 1, pile] < 0:
                fits = False
        if fits and depth + 1 < size:
            depth += 1
            chosen[depth] = chosen[depth - 1]
            continue
        if fits:  # every card has a pile, so the piles are full
            if count == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            found[count] = chosen
            count += 1
        chosen[depth] += 1
    return found[:count].copy()


# ---------------------------------------------------------------------------------------------- names for people


class IsomorphicWording:
    """The base game's wording of the position as the player sees it; all of it is the player's own view."""

    def __init__(self, base: Wording, canonical: Callable, orbit: bool) -> None:
        self._base = base
        self._canonical = canonical
        self._orbit = orbit

    def _view(self, state: np.ndarray, player: int) -> np.ndarray:
        state = state[:-1] if self._orbit else state
        own = np.empty_like(state)
        self._canonical(state, player, own)
        return own

    def action(self, state: np.ndarray, action: int) -> str:
        return self._base.action(state, action)

    def card(self, state: np.ndarray, card: int) -> str:
        return self._base.card(state, card)

    def chance(self, state: np.ndarray, outcome: int) -> str:
        return f"number {outcome} of those alike"

    def private(self, state: np.ndarray, player: int) -> str:
        own = self._view(state, player)
        text = f"{self._base.private(own, player)} | {self._base.public_history(own)}".rstrip(" |")
        return text + self._pending(state)

    def private_now(self, state: np.ndarray, player: int) -> str:
        own = self._view(state, player)
        return f"{self._base.private(own, player)} | {self._base.public_now(own)}".rstrip(" |") + self._pending(state)

    def table(self, state: np.ndarray, seat: int) -> Table:
        """The base game's table, under the names that suits have for this seat now."""
        base: Any = self._base
        return base.table(self._view(state, seat), seat)

    def _pending(self, state: np.ndarray) -> str:
        if not self._orbit or state[-1] == NOTHING:
            return ""
        return f" | drawing one of those like {self._base.action(state, int(state[-1]))}"

    def public_history(self, state: np.ndarray) -> str:
        return ""

    def public_now(self, state: np.ndarray) -> str:
        return ""


pyspiel.register_game(GAME_TYPE, CardIsomorphismGame)
