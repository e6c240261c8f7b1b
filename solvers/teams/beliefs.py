"""What a team can do: its belief DAG, and best responses on it.

Partners who may agree on everything before the deal, but not talk afterwards, act like one *coordinator* who sees only
what is public and hands out prescriptions: at a node where a member acts, an action for each of her types. (Nayyar,
Mahajan and Teneketzis, "Decentralized stochastic control with partial history sharing", 2013.) When the member acts,
everybody can rule out the types that were told to act otherwise. What the coordinator knows at a public node is thus a
*belief*: for each member, the set of types that would have acted as she did. Different prescriptions lead to the same
belief, so the coordinator's decisions form a DAG and not a tree: Zhang, Farina and Sandholm, "Team belief DAG:
generalizing the sequence form to team games for fast computation of correlated team max-min equilibria via regret
minimization" (2023). For public trees it has at most nodes * 2^(types of all members) beliefs.

With weight(z, u) = sum over deals of joint type u of chance * payoff * the opponents' probability of playing to the
terminal z, the best value below node h with belief M is additive,

    V(z, M) = sum over joint types u in M of weight(z, u)                                   at terminals,
    V(h, M) = sum over children c of V(c, M)                                                where others act,
    V(h, M) = max over splits of the member's types into sets M_c, one for each child c,
              of sum over c of V(c, M with the member's types M_c)                          where a member acts.

The maximum is a max-plus subset convolution: with n types 3^n steps for each further action, not (actions)^n. That is
the exact best response of a whole team, in milliseconds where a mixed-integer program takes minutes.
Joint types that share no member's type never meet in one information set; each connected *component* of joint types has
a DAG of its own. If partners see each other's cards, or a team has one member, every component is a single joint type,
and the DAG is the ordinary sequence form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cardtable.compiled import compiled
from cardtable.rules import TERMINAL
from solvers.arrays.memory import allowed_bytes, require_memory
from solvers.teams.public_tree import PublicTree

MAX_BELIEF_BITS = 24


class Belief(NamedTuple):
    """A public node, and the types each member may have there, as a bit set over the types of a component."""

    component: int
    node: int
    types: int


Split = tuple[int, ...]  # for each child of a node at which a member acts: the types left of the belief


@dataclass(frozen=True, eq=False)
class Component:
    """Joint types that hang together through shared types of members."""

    joint_types: np.ndarray  # int64: their numbers in the team
    bits: np.ndarray  # int64: each one's types as a bit set, one bit for each member
    shift: np.ndarray  # int64 per member: where her bits start
    width: np.ndarray  # int64 per member: how many types she has here
    member_types: list[np.ndarray]  # per member: which of her types each bit means

    @property
    def num_bits(self) -> int:
        return int(self.width.sum())

    @property
    def all_types(self) -> int:
        return (1 << self.num_bits) - 1


class TeamBeliefs:
    """The belief DAG of one team, implicitly: what beliefs look like, and what lies below them."""

    def __init__(self, tree: PublicTree, members: Sequence[int], max_memory_bytes: int | None = None) -> None:
        self.tree = tree
        self.members = tuple(members)
        combinations, joint = np.unique(tree.types[list(members)], axis=1, return_inverse=True)
        self.joint_type = joint.reshape(-1)  # int64 per deal
        self.types_of_joint = combinations.T  # (joint types, members)
        self.member_at = np.full(tree.num_nodes, -1, np.int64)  # which member acts at a node; -1: none
        for number, member in enumerate(members):
            self.member_at[tree.player == member] = number
        self.components = _components(self.types_of_joint)
        self._require_memory(max_memory_bytes)
        self._allowed = [self._allowed_types(component) for component in self.components]
        self._child_offset = np.concatenate([[0], np.cumsum([len(below) for below in tree.children])]).astype(np.int64)
        self._child = np.array([child for below in tree.children for child in below], np.int64)
        self._is_terminal = tree.player == TERMINAL

    def _require_memory(self, max_memory_bytes: int | None) -> None:
        bits = max(component.num_bits for component in self.components)
        need = 8.0 * self.tree.num_nodes * 2.0**bits
        what = f"the belief DAG of players {self.members} in {self.tree.game}, with {bits} types in one component,"
        limit = min(allowed_bytes(max_memory_bytes), 8 * self.tree.num_nodes << MAX_BELIEF_BITS)
        require_memory(need, limit, what, "up to")

    @property
    def num_joint_types(self) -> int:
        return len(self.types_of_joint)

    def _allowed_types(self, component: Component) -> np.ndarray:
        """Per node: which types may move there, if a member acts above; in her bits, not shifted.

        Types that she cannot have above, such as a card that somebody else has played, move to the first child: beliefs
        may still contain them, and nothing depends on where they go.
        """
        allowed = np.zeros(self.tree.num_nodes, np.int64)
        for node in np.flatnonzero(self.member_at >= 0).tolist():
            children = self.children(node)
            types = component.member_types[self.member_at[node]]
            legal = np.stack([self.tree.is_legal(child)[types] for child in children])
            legal[0] |= ~legal.any(axis=0)
            allowed[children] = legal @ (1 << np.arange(len(types)))
        return allowed

    def roots(self) -> Iterator[Belief]:
        """The beliefs after the deal, one for each component."""
        for number, component in enumerate(self.components):
            yield Belief(number, 0, component.all_types)

    def joint_types_in(self, belief: Belief) -> np.ndarray:
        component = self.components[belief.component]
        return component.joint_types[(component.bits & ~belief.types) == 0]

    def children(self, node: int) -> list[int]:
        return self.tree.children[node]

    def best_values(self, weights: np.ndarray) -> BestValues:
        """V of every belief; `weights` is (nodes, joint types), used at terminals."""
        tables = []
        for component, allowed in zip(self.components, self._allowed, strict=True):
            table = np.empty((self.tree.num_nodes, 1 << component.num_bits))
            _fill(
                self._is_terminal,
                self.member_at,
                self._child_offset,
                self._child,
                allowed,
                component.shift,
                component.width,
                component.bits,
                np.ascontiguousarray(weights[:, component.joint_types]),
                table,
            )
            tables.append(table)
        return BestValues(self, tables)

    def best_split(self, tables: list[np.ndarray], belief: Belief) -> Split:
        """A best prescription for a belief at which a member acts."""
        component = self.components[belief.component]
        member = self.member_at[belief.node]
        start, end = self._child_offset[belief.node], self._child_offset[belief.node + 1]
        splits = np.empty(end - start, np.int64)
        _best_split(
            self._child[start:end],
            self._allowed[belief.component],
            component.shift[member],
            component.width[member],
            belief.types,
            tables[belief.component],
            splits,
        )
        return tuple(splits.tolist())

    def actions_of_split(self, belief: Belief, split: Split) -> dict[int, int]:
        """What a prescription tells each of the member's types still possible: type -> action."""
        component = self.components[belief.component]
        member = self.member_at[belief.node]
        shift = int(component.shift[member])
        told = {}
        for child, types in zip(self.children(belief.node), split, strict=True):
            for bit, own_type in enumerate(component.member_types[member].tolist()):
                if types >> shift + bit & 1:
                    told[own_type] = int(self.tree.action[child])
        return told

    def follow(self, split: Split, belief: Belief) -> Iterator[Belief]:
        """The beliefs that a prescription leads to; moves that no type was told to make are left out."""
        component = self.components[belief.component]
        member = self.member_at[belief.node]
        own_bits = ((1 << int(component.width[member])) - 1) << int(component.shift[member])
        for child, types in zip(self.children(belief.node), split, strict=True):
            if types & own_bits:
                yield Belief(belief.component, child, types)


class BestValues:
    """The tables V of a best response, and what can be read off them."""

    def __init__(self, beliefs: TeamBeliefs, tables: list[np.ndarray]) -> None:
        self.beliefs = beliefs
        self._tables = tables

    @property
    def value(self) -> float:
        return float(sum(self[root] for root in self.beliefs.roots()))

    def __getitem__(self, belief: Belief) -> float:
        return float(self._tables[belief.component][belief.node, belief.types])

    def split(self, belief: Belief) -> Split:
        return self.beliefs.best_split(self._tables, belief)

    def strategy(self) -> TeamStrategy:
        """The best response: one prescription for each belief it reaches."""
        choices: dict[Belief, list[tuple[float, Split]]] = {}
        stack = list(self.beliefs.roots())
        while stack:
            belief = stack.pop()
            if self.beliefs.member_at[belief.node] < 0:
                stack += [belief._replace(node=child) for child in self.beliefs.children(belief.node)]
            elif belief not in choices:
                split = self.split(belief)
                choices[belief] = [(1.0, split)]
                stack += self.beliefs.follow(split, belief)
        return TeamStrategy(self.beliefs, choices)


class TeamStrategy:
    """A correlated strategy of a team: at every belief that it reaches, a distribution over prescriptions.

    The team draws all prescriptions before the deal (or from random numbers that only it knows), so no member learns
    anything from another's draw that was not agreed.
    """

    def __init__(self, beliefs: TeamBeliefs, choices: dict[Belief, list[tuple[float, Split]]]) -> None:
        self.beliefs = beliefs
        self.choices = choices

    def flow(self) -> dict[Belief, float]:
        """The probability with which prescriptions lead to each belief, whatever the others do."""
        tree = self.beliefs.tree
        at: list[dict[Belief, float]] = [defaultdict(float) for _ in range(tree.num_nodes)]
        for root in self.beliefs.roots():
            at[0][root] = 1.0
        for node in range(tree.num_nodes):
            for belief, probability in at[node].items():
                if self.beliefs.member_at[node] < 0:
                    for child in self.beliefs.children(node):
                        at[child][belief._replace(node=child)] += probability
                    continue
                for share, split in self.choices[belief]:
                    for after in self.beliefs.follow(split, belief):
                        at[after.node][after] += probability * share
        return {belief: probability for flows in at for belief, probability in flows.items()}

    def realization(self) -> np.ndarray:
        """(nodes, joint types): the probability with which the team makes all its moves on the way to a node."""
        result = np.zeros((self.beliefs.tree.num_nodes, self.beliefs.num_joint_types))
        for belief, probability in self.flow().items():
            result[belief.node, self.beliefs.joint_types_in(belief)] += probability
        return result

    def plans(self) -> list[tuple[float, TeamStrategy]]:
        """The same strategy as a lottery over pure plans (one prescription a belief), likeliest plans first.

        Takes greedily the likeliest prescription everywhere, as often as the rarest of them allows, and goes on with
        what is left: each plan uses up one prescription, so there are at most as many plans as prescriptions.
        """
        flow = self.flow()
        left = {
            belief: {split: flow.get(belief, 0.0) * share for share, split in options}
            for belief, options in self.choices.items()
        }
        lottery: list[tuple[float, TeamStrategy]] = []
        remaining = 1.0
        while remaining > 1e-12:
            choices: dict[Belief, list[tuple[float, Split]]] = {}
            stack = list(self.beliefs.roots())
            amount = remaining
            while stack:
                belief = stack.pop()
                if self.beliefs.member_at[belief.node] < 0:
                    stack += [belief._replace(node=child) for child in self.beliefs.children(belief.node)]
                elif belief not in choices:
                    split = max(left[belief], key=left[belief].__getitem__)
                    choices[belief] = [(1.0, split)]
                    amount = min(amount, left[belief][split])
                    stack += self.beliefs.follow(split, belief)
            if amount <= 0.0:  # rounding has used up what is left
                break
            for belief, [(_, split)] in choices.items():
                left[belief][split] -= amount
            lottery.append((amount, TeamStrategy(self.beliefs, choices)))
            remaining -= amount
        return sorted(lottery, key=lambda entry: -entry[0])

    def told(self) -> dict[tuple[int, int], int]:
        """For a pure plan: (node, type of the member who acts) -> action."""
        return {
            (belief.node, own_type): action
            for belief, [(_, split)] in self.choices.items()
            for own_type, action in self.beliefs.actions_of_split(belief, split).items()
        }


def _components(types_of_joint: np.ndarray) -> list[Component]:
    """Joint types grouped by shared members' types."""
    group = np.arange(len(types_of_joint))
    changed = True
    while changed:
        before = group.copy()
        for types in types_of_joint.T:
            smallest = np.full(types.max() + 1, len(group))
            np.minimum.at(smallest, types, group)
            group = smallest[types]
        changed = bool((group != before).any())
    components = []
    for number in np.unique(group):
        joint_types = np.flatnonzero(group == number)
        member_types, places = [], []
        for types in types_of_joint[joint_types].T:
            present, place = np.unique(types, return_inverse=True)
            member_types.append(present)
            places.append(place)
        width = np.array([len(present) for present in member_types], np.int64)
        shift = np.cumsum(width) - width
        bits = sum(1 << (place + first) for place, first in zip(places, shift, strict=True))
        components.append(Component(joint_types, np.asarray(bits, np.int64), shift, width, member_types))
    return components


@compiled
def _fill(is_terminal, member_at, child_offset, child, allowed, shift, width, bits, weights, table):
    """V of every node and set of types, children first."""
    num_nodes, num_sets = table.shape
    for node in range(num_nodes - 1, -1, -1):
        values = table[node]
        start = child_offset[node]
        end = child_offset[node + 1]
        member = member_at[node]
        values[:] = 0.0
        if is_terminal[node]:
            for i in range(len(bits)):
                values[bits[i]] = weights[node, i]
            bit = 1
            while bit < num_sets:  # sums over all subsets
                for types in range(num_sets):
                    if types & bit:
                        values[types] += values[types ^ bit]
                bit <<= 1
        elif member < 0:
            for i in range(start, end):
                values += table[child[i]]
        else:
            _best_splits(child[start:end], allowed, shift[member], width[member], table, values)


@compiled
def _best_splits(children, allowed, shift, width, table, values):
    """Splits a member's types among the children in the best way, for all sets of types of all members at once."""
    own = ((1 << width) - 1) << shift
    best = np.empty(1 << width)
    better = np.empty(1 << width)
    for others in range(len(values)):
        if others & own:
            continue
        _take_all(children[0], allowed, shift, others, table, best)
        for i in range(1, len(children)):
            _convolve(children[i], allowed, shift, others, table, best, better)
            best[:] = better
        for types in range(len(best)):
            values[others | types << shift] = best[types]


@compiled
def _take_all(child, allowed, shift, others, table, best):
    """The value of sending a set of types to the first child."""
    for types in range(len(best)):
        best[types] = table[child, others | types << shift] if types & ~allowed[child] == 0 else -np.inf


@compiled
def _convolve(child, allowed, shift, others, table, best, better):
    """better[types] = max over subsets sent to `child` of their value there + best[the rest]."""
    for types in range(len(best)):
        largest = -np.inf
        sent = types
        while True:
            if sent & ~allowed[child] == 0:
                value = table[child, others | sent << shift] + best[types ^ sent]
                if value > largest:
                    largest = value
            if sent == 0:
                break
            sent = (sent - 1) & types
        better[types] = largest


@compiled
def _best_split(children, allowed, shift, width, belief, table, splits):
    """Follows the maximum of `_best_splits` back for one belief: writes the belief left at each child."""
    own = ((1 << width) - 1) << shift
    others = belief & ~own
    count = len(children)
    stages = np.empty((count, 1 << width))
    _take_all(children[0], allowed, shift, others, table, stages[0])
    for i in range(1, count):
        _convolve(children[i], allowed, shift, others, table, stages[i - 1], stages[i])
    left = (belief & own) >> shift
    for i in range(count - 1, 0, -1):
        largest = -np.inf
        chosen = 0
        sent = left
        while True:
            if sent & ~allowed[children[i]] == 0:
                value = table[children[i], others | sent << shift] + stages[i - 1, left ^ sent]
                if value > largest:
                    largest = value
                    chosen = sent
            if sent == 0:
                break
            sent = (sent - 1) & left
        splits[i] = others | chosen << shift
        left ^= chosen
    splits[0] = others | left << shift
