"""The public tree: games in which everything but the deal happens in the open.

Chance first deals, once and for all, every player some private information (her *type*: a card, a die, a hand). After
that every action, and every further chance outcome, is seen by all. A game's tree then is the product of a small tree
of public histories with the deals: node h and deal d together are one history of the game, and an information set of a
player is a node at which she acts together with one of her types. Poker games, liar's dice and trick-taking games are
of this kind.

Types are not declared anywhere; they are read off the information sets. Two deals are the same to a player if some
information set of hers holds both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from cardtable.rules import CHANCE, TERMINAL, Rules
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.arrays.tree import estimate_size, refuse_unsuitable

Policy = openspiel_policy.Policy | pyspiel.Policy

WALK_BYTES = 300  # a state in the memory of Python, while the tree is walked


@dataclass(frozen=True, eq=False)
class PublicTree:
    """A game as public nodes times deals. Nodes count parents first; node 0 is the one after the deal."""

    game: pyspiel.Game
    player: np.ndarray  # int64 per node: a seat, CHANCE or TERMINAL
    parent: np.ndarray  # int64 per node; -1 at the root
    action: np.ndarray  # int64 per node: the action or chance outcome that leads to it; -1 at the root
    chance: np.ndarray  # float64 (nodes, deals): probability of the deal and the open chance so far; 0: cannot be here
    returns: np.ndarray  # float64 (nodes, deals, players); zeros where a node is not terminal or the deal not there
    types: np.ndarray  # int64 (players, deals): each player's type in each deal

    @property
    def num_players(self) -> int:
        return len(self.types)

    @property
    def num_nodes(self) -> int:
        return len(self.player)

    @property
    def num_deals(self) -> int:
        return self.types.shape[1]

    @functools.cached_property
    def num_types(self) -> np.ndarray:
        """int64 per player."""
        return self.types.max(axis=1) + 1

    @functools.cached_property
    def children(self) -> list[list[int]]:
        """The children of each node, by ascending action."""
        children: list[list[int]] = [[] for _ in range(self.num_nodes)]
        for node in range(1, self.num_nodes):
            children[self.parent[node]].append(node)
        return children

    @functools.cached_property
    def depth(self) -> np.ndarray:
        """How many players' actions lie before each node."""
        depth = np.zeros(self.num_nodes, np.int64)
        for node in range(1, self.num_nodes):
            above = self.parent[node]
            depth[node] = depth[above] + (self.player[above] >= 0)
        return depth

    def is_legal(self, child: int) -> np.ndarray:
        """Which types of the player who acts above `child` may go there, as booleans."""
        who = self.player[self.parent[child]]
        legal = np.zeros(self.num_types[who], np.bool_)
        legal[self.types[who][self.chance[child] > 0]] = True
        return legal

    @staticmethod
    def from_game(game: pyspiel.Game, max_memory_bytes: int | None = None) -> PublicTree:
        """The public tree of a game; ValueError if it has none, GameTooLargeError if it does not fit in memory."""
        refuse_unsuitable(game)
        size = estimate_size(game)
        require_memory(WALK_BYTES * size.nodes, allowed_bytes(max_memory_bytes), f"the public tree of {game}", "about")
        return _Walk(game).tree()

    @functools.cached_property
    def examples(self) -> list[Example]:
        """One pyspiel state of every information set."""
        needed = np.full((self.num_nodes, self.num_deals), False)
        examples: list[tuple[int, int, int]] = []
        for node in np.flatnonzero(self.player >= 0):
            present = np.flatnonzero(self.chance[node] > 0)
            types, first = np.unique(self.types[self.player[node]][present], return_index=True)
            for own_type, deal in zip(types.tolist(), present[first].tolist(), strict=True):
                examples.append((int(node), own_type, deal))
                above = int(node)
                while above >= 0 and not needed[above, deal]:
                    needed[above, deal] = True
                    above = int(self.parent[above])
        states: dict[tuple[int, int], pyspiel.State] = {}
        for deal, (state, _) in enumerate(_deals(self.game)):
            for node in np.flatnonzero(needed[:, deal]):
                above = int(self.parent[node])
                states[int(node), deal] = states[above, deal].child(int(self.action[node])) if above >= 0 else state
        return [Example(node, own_type, states[node, deal]) for node, own_type, deal in examples]

    def behaviour(self, policy: openspiel_policy.Policy) -> np.ndarray:
        """(nodes, types) table of a profile: the probability with which the player above a node, if she is of that
        type, moves to the node; 1 below chance and at the root."""
        table = np.ones((self.num_nodes, int(self.num_types.max())))
        for node, own_type, state in self.examples:
            answer: Any = policy.action_probabilities(state, state.current_player())
            for child in self.children[node]:
                table[child, own_type] = answer.get(int(self.action[child]), 0.0)
        return table

    def uniform_behaviour(self) -> np.ndarray:
        """The same table for players who choose among all their legal actions alike."""
        table = np.ones((self.num_nodes, int(self.num_types.max())))
        for node in np.flatnonzero(self.player >= 0):
            children = self.children[node]
            legal = np.stack([self.is_legal(child) for child in children])  # (children, types)
            count = legal.sum(axis=0)
            table[children, : len(count)] = np.where(count > 0, legal / np.maximum(count, 1), 1.0)
        return table

    def plans(self, behaviour: np.ndarray) -> np.ndarray:
        """(players, nodes, types): the probability with which a player of a type plays all her moves up to a node."""
        plans = np.ones((self.num_players, *behaviour.shape))
        for node in range(1, self.num_nodes):
            above = self.parent[node]
            plans[:, node] = plans[:, above]
            if self.player[above] >= 0:
                plans[self.player[above], node] *= behaviour[node]
        return plans

    def values(self, behaviour: np.ndarray) -> np.ndarray:
        """Expected return of each player."""
        plans = self.plans(behaviour)
        reach = self.chance.copy()
        for player in range(self.num_players):
            reach *= plans[player][:, self.types[player]]
        return np.einsum("nd,ndp->p", reach, self.returns)


class Example(NamedTuple):
    """A state of the information set of one type of the player to move at a node."""

    node: int
    type: int
    state: pyspiel.State


def _deals(game: pyspiel.Game) -> Iterator[tuple[pyspiel.State, float]]:
    """The states after the first chance nodes, and their probabilities."""
    stack = [(game.new_initial_state(), 1.0)]
    while stack:
        state, probability = stack.pop()
        if not state.is_chance_node():
            yield state, probability
            continue
        for outcome, share in reversed(state.chance_outcomes()):
            if share > 0:
                stack.append((state.child(outcome), probability * share))


class _Face(NamedTuple):
    """How states are walked: through pyspiel, or, much faster, as arrays of a rules kernel."""

    start: Callable[[pyspiel.State], Any]
    player: Callable[[Any], int]
    legal: Callable[[Any], list[int]]
    chance: Callable[[Any], list[tuple[int, float]]]
    child: Callable[[Any, int], Any]
    information: Callable[[Any, int], Hashable]
    returns: Callable[[Any], Any]


def _face(game: pyspiel.Game) -> _Face:
    rules = getattr(game, "rules", None)
    if isinstance(rules, Rules):
        return _kernel_face(rules)
    return _Face(
        start=lambda state: state,
        player=lambda state: state.current_player(),
        legal=lambda state: state.legal_actions(),
        chance=lambda state: state.chance_outcomes(),
        child=lambda state, action: state.child(action),
        information=lambda state, player: state.information_state_string(player),
        returns=lambda state: state.returns(),
    )


def _kernel_face(rules: Rules) -> _Face:
    kernel = rules.compiled_kernel()
    moves = np.empty(max(rules.num_distinct_actions, rules.max_chance_outcomes), np.int64)
    probabilities = np.empty(rules.max_chance_outcomes)
    words = np.empty(rules.key_words, np.int64)
    returns = np.empty(rules.num_players)

    def legal(state: np.ndarray) -> list[int]:
        return moves[: kernel.legal_actions(state, moves)].tolist()

    def chance(state: np.ndarray) -> list[tuple[int, float]]:
        count = kernel.chance_outcomes(state, moves, probabilities)
        return list(zip(moves[:count].tolist(), probabilities[:count].tolist(), strict=True))

    def child(state: np.ndarray, action: int) -> np.ndarray:
        after = state.copy()
        kernel.apply_action(after, action)
        return after

    def information(state: np.ndarray, player: int) -> bytes:
        kernel.information_key(state, player, words)
        return words.tobytes()

    def returns_of(state: np.ndarray) -> np.ndarray:
        kernel.returns(state, returns)
        return returns

    return _Face(
        lambda state: state.array, lambda state: int(kernel.current_player(state)), legal, chance, child, information,
        returns_of,
    )  # fmt: skip


class _Walk:
    """Walks all deals side by side down the public histories."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._game = game
        self._face = _face(game)
        deals = list(_deals(game))
        self._states = [self._face.start(state) for state, _ in deals]
        self._probability = np.array([probability for _, probability in deals])
        self._player: list[int] = []
        self._parent: list[int] = []
        self._action: list[int] = []
        self._chance: list[np.ndarray] = []
        self._returns: list[np.ndarray] = []
        # Per node at which a player acts: the deals that can be there, and what they look like to her.
        self._looks: list[tuple[int, list[int], list[Hashable]]] = []
        self._node_of: dict[tuple[int, Hashable], int] = {}

    def tree(self) -> PublicTree:
        stack = [(-1, -1, list(range(len(self._states))), self._states, self._probability)]
        while stack:
            parent, action, deals, states, chance = stack.pop()
            node = len(self._player)
            who = self._mover(states)
            self._player.append(who)
            self._parent.append(parent)
            self._action.append(action)
            self._chance.append(chance)
            self._returns.append(self._returns_of(deals, states) if who == TERMINAL else self._no_returns)
            if who == TERMINAL:
                continue
            if who >= 0:
                self._look(node, who, deals, states)
            moves: dict[int, tuple[list[int], list[Any], np.ndarray]] = {}
            for deal, state in zip(deals, states, strict=True):
                for move, share in self._moves(state, who):
                    at = moves.setdefault(move, ([], [], np.zeros(len(self._states))))
                    at[0].append(deal)
                    at[1].append(self._face.child(state, move))
                    at[2][deal] = chance[deal] * share
            stack += [(node, move, *moves[move]) for move in sorted(moves, reverse=True)]
        return PublicTree(
            game=self._game,
            player=np.array(self._player, np.int64),
            parent=np.array(self._parent, np.int64),
            action=np.array(self._action, np.int64),
            chance=np.array(self._chance),
            returns=np.array(self._returns),
            types=self._types(),
        )

    @functools.cached_property
    def _no_returns(self) -> np.ndarray:
        return np.zeros((len(self._states), self._game.num_players()))

    def _mover(self, states: list[Any]) -> int:
        movers = {int(self._face.player(state)) for state in states}
        if len(movers) > 1:
            raise ValueError(f"{self._game} has no public tree: who acts next depends on the private cards")
        return movers.pop()

    def _moves(self, state: Any, who: int) -> list[tuple[int, float]]:
        if who == CHANCE:
            return [(outcome, share) for outcome, share in self._face.chance(state) if share > 0]
        return [(action, 1.0) for action in self._face.legal(state)]

    def _returns_of(self, deals: list[int], states: list[Any]) -> np.ndarray:
        returns = self._no_returns.copy()
        for deal, state in zip(deals, states, strict=True):
            returns[deal] = self._face.returns(state)
        return returns

    def _look(self, node: int, who: int, deals: list[int], states: list[Any]) -> None:
        looks = [self._face.information(state, who) for state in states]
        for look in set(looks):
            if self._node_of.setdefault((who, look), node) != node:
                raise ValueError(
                    f"{self._game} has no public tree: an information set of player {who} holds different public "
                    "histories, so that actions or chance outcomes after the deal are not seen by all"
                )
        self._looks.append((who, deals, looks))

    def _types(self) -> np.ndarray:
        types = np.empty((self._game.num_players(), len(self._states)), np.int64)
        for player in range(len(types)):
            leader = list(range(len(self._states)))
            own = [(deals, looks) for who, deals, looks in self._looks if who == player]
            for deals, looks in own:
                first: dict[Hashable, int] = {}
                for deal, look in zip(deals, looks, strict=True):
                    a, b = _find(leader, deal), _find(leader, first.setdefault(look, deal))
                    leader[max(a, b)] = min(a, b)
            types[player] = np.unique([_find(leader, deal) for deal in range(len(leader))], return_inverse=True)[1]
            for deals, looks in own:
                if len(set(looks)) != len(set(types[player][deals].tolist())):
                    raise ValueError(
                        f"{self._game} has no public tree: player {player} learns private things after the deal"
                    )
        return types


def _find(leader: list[int], item: int) -> int:
    while leader[item] != item:
        leader[item] = leader[leader[item]]
        item = leader[item]
    return item
