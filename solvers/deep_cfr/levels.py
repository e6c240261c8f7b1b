"""Traversals of games too large to enumerate, level by level.

A chunk of traversals advances together. All nodes of a level are moved on to their next real decision (chance, forced
moves and fixed opponents are played on the way), encoded by compiled code, moved to the device in one copy, evaluated
in one batch for each network, moved back in one copy, and expanded: some or all actions where the traverser decides,
one drawn action elsewhere. On the way back, values and regrets are computed level by level, and rows are collected
for the reservoirs. A level that is too wide continues in pieces, so memory stays bounded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numba import types

from cardtable.batch import Batch
from cardtable.compiled import compiled, entry_point
from cardtable.parameters import UserError
from cardtable.randomness import generator, sample_index
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    GENERATOR,
    PROBABILITIES,
    TERMINAL,
    WORDS,
    Rules,
    kernel_at,
    player_addresses,
    player_at,
)
from solvers.deep_cfr.reservoir import Rows, pack
from solvers.deep_cfr.sampling import (
    choose_tries,
    estimate,
    regret_matching,
    share_weight,
    tries_several,
)
from solvers.learning.networks import Learner

PARTS = ("rules", "encoding", "network", "sampling")

_STATES = types.Array(types.int64, 2, "C")
_FLAGS = types.Array(types.boolean, 1, "C")
_SHORTS = types.Array(types.int16, 1, "C")
_TENSORS = types.Array(types.float32, 2, "C")


class NodeBudgetError(UserError):
    """A traversal visits more nodes than allowed."""


class Collected(NamedTuple):
    """What a chunk of traversals found."""

    regrets: list[tuple[int, Rows]]  # of the traverser, with the network they are for
    strategies: list[tuple[int, Rows]]  # of the others' decisions, with the network they are for
    value: float  # of the game to the traverser, summed over traversals
    decisions: int  # with a choice, evaluated by a network
    nodes: int  # decisions, terminals, and moves without a choice or by fixed opponents
    seconds: dict[str, float]  # CPU seconds of each part
    is_elsewhere: bool = False  # found by another process


class _Level(NamedTuple):
    """The nodes of a level, and what happens at each legal action of theirs."""

    players: np.ndarray
    values: np.ndarray
    offsets: np.ndarray
    legal: np.ndarray
    strategy: np.ndarray
    factor: np.ndarray


@compiled
def _no_player(state, generator):
    return -1


class LevelTraverser:
    """Traverses a game of ours; one object may serve several threads.

    `opponents` has, for each seat, a compiled player who sits there for good, or None for a seat that learns.
    `network_of_seat` says which of the learners evaluates it. The `pool` are compiled players who may hold the seats of
    the traverser's opponents for one chunk: chunks of company 0 are played among `opponents` and learners, those of
    company k against the k-th of the pool.
    """

    def __init__(
        self,
        rules: Rules,
        learners: Sequence[Learner],
        network_of_seat: Sequence[int],
        opponents: Sequence[Callable | None] | None = None,
        traversal: int = 0,
        tries: int = 4,
        epsilon: float = 0.5,
        node_budget: int = 1_000_000,
        width: int = 16_384,
        binary: bool | None = None,
        pool: Sequence[Callable] = (),
    ) -> None:
        seats = list(opponents) if opponents is not None else [None] * rules.num_players
        if len(seats) != rules.num_players:
            raise ValueError(f"opponents has {len(seats)} entries; allowed: one for each of {rules.num_players} seats")
        self.rules = rules
        self.learners = list(learners)
        self.network_of_seat = np.asarray(network_of_seat, np.int64)
        self.is_fixed = np.array([seat is not None for seat in seats], np.bool_)
        self._addresses = rules.compiled_kernel().addresses()
        for function in (_deal, _settle, _encode, _expand):
            function.compile()  # now, before several threads ask for it at once
        self._companies = [[_company(seats)] * rules.num_players]
        for other in pool:
            against = [[None if ours else other for ours in _is_partner(rules, seat)] for seat in range(len(seats))]
            self._companies.append([_company(sitting) for sitting in against])
        self._traversal = traversal
        self._tries = tries
        self._epsilon = epsilon
        self.node_budget = node_budget
        self.width = width
        self.binary = has_binary_features(rules) if binary is None else binary

    def deal(self, count: int, random_numbers: np.ndarray) -> np.ndarray:
        states = np.empty((count, self.rules.state_size), np.int64)
        _deal(self._addresses, self.rules.root, states, random_numbers)
        return states

    def traverse(self, player: int, count: int, random_numbers: np.ndarray, company: int = 0) -> Collected:
        """Runs `count` traversals for one seat. NodeBudgetError if they visit more nodes than the budget allows."""
        return self.traverse_from(self.deal(count, random_numbers), player, random_numbers, company)

    def traverse_from(self, states: np.ndarray, player: int, random_numbers: np.ndarray, company: int = 0) -> Collected:
        """The same from given states, which are changed."""
        chunk = _Chunk(self, player, random_numbers, len(states), company)
        values = chunk.descend(states, np.ones(len(states)))
        return Collected(
            chunk.regrets, chunk.strategies, float(values.sum()), chunk.decisions, chunk.nodes, chunk.seconds
        )

    def settle(
        self, states: np.ndarray, player: int, random_numbers: np.ndarray, company: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
        """Moves every state on to a learner's next real decision, or to the end, in the traverser's company.

        Returns who decides, the returns of `player` where the game is over, where each row's legal actions start, those
        actions, and how many moves were made.
        """
        rows, rules = len(states), self.rules
        players, values = np.empty(rows, np.int64), np.zeros(rows)
        offsets = np.empty(rows + 1, np.int64)
        legal = np.empty(rows * rules.num_distinct_actions, np.int16)
        most = max(rules.num_distinct_actions, rules.max_chance_outcomes)
        choosers, is_fixed = self._companies[company][player]
        moves = _settle(
            self._addresses,
            choosers,
            is_fixed,
            states,
            random_numbers,
            player,
            (players, values, offsets, legal),
            (np.empty(most, np.int64), np.empty(most), np.empty(rules.num_players)),
        )
        return players, values, offsets, legal[: offsets[-1]].copy(), int(moves)

    def encode(self, states: np.ndarray, players: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features of all rows where somebody decides, grouped by network: their rows, group starts, features."""
        order, starts = _group(players, self.network_of_seat, len(self.learners))
        features = np.zeros((len(order), self.rules.information_size), np.float32)
        _encode(self._addresses, states, players, order, features)
        return order, starts, features

    def outputs(self, features: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """What the networks say: features go to the device in one copy, outputs come back in one."""
        with torch.inference_mode():
            there = self.learners[0].to_device(features)
            parts = [
                learner.forward(there[starts[number] : starts[number + 1]])
                for number, learner in enumerate(self.learners)
                if starts[number + 1] > starts[number]
            ]
            return torch.cat(parts).cpu().numpy()

    def act(
        self,
        states: np.ndarray,
        outputs: np.ndarray,
        order: np.ndarray,
        offsets: np.ndarray,
        legal: np.ndarray,
        softmax: bool,
        random_numbers: np.ndarray,
    ) -> None:
        """Plays one drawn action wherever a learner decides; outputs are advantages, or logits if `softmax`."""
        _act(self._addresses, states, outputs, order, offsets, legal, softmax, random_numbers)

    def returns(self, states: np.ndarray) -> np.ndarray:
        """(states, players): what finished games paid."""
        paid = np.empty((len(states), self.rules.num_players))
        for state, row in zip(states, paid, strict=True):
            self.rules.kernel.returns(state, row)
        return paid


class _Chunk:
    """The traversals of one call: collects rows and counts nodes."""

    def __init__(
        self, traverser: LevelTraverser, player: int, random_numbers: np.ndarray, traversals: int, company: int
    ) -> None:
        self._t = traverser
        self._player = player
        self._company = company
        self._generator = random_numbers
        self._traversals = traversals
        self.regrets: list[tuple[int, Rows]] = []
        self.strategies: list[tuple[int, Rows]] = []
        self.decisions = 0
        self.nodes = 0
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def descend(self, states: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Values of these nodes to the traverser; everything below is visited, and collected if it weighs something."""
        t, player = self._t, self._player
        clock = time.thread_time()
        players, values, offsets, legal, moves = t.settle(states, player, self._generator, self._company)
        clock = self._spent("rules", clock)
        self.nodes += moves + len(states)
        if self.nodes > t.node_budget:
            raise NodeBudgetError(
                f"{self._traversals} traversal(s) of seat {player} visit more than node_budget = {t.node_budget:,} "
                "nodes: try fewer actions (traversal 'corrected' with small tries), a smaller game, or a larger budget"
            )
        if len(legal) == 0:
            return values
        order, starts, features = t.encode(states, players)
        self.decisions += len(order)
        packed = pack(features) if t.binary else features
        clock = self._spent("encoding", clock)
        outputs = t.outputs(features, starts)
        clock = self._spent("network", clock)
        del features
        strategy, factor, share = (np.empty(len(legal)) for _ in range(3))
        plan = (player, t._traversal, t._tries, t._epsilon)
        children = _choose(
            outputs, order, players, offsets, legal, weights, plan, self._generator, strategy, factor, share
        )
        clock = self._spent("sampling", clock)
        child_states = np.empty((children, states.shape[1]), np.int64)
        child_weights = np.empty(children)
        _expand(
            t._addresses,
            states,
            offsets,
            legal,
            factor,
            share,
            weights,
            child_states,
            child_weights,
        )
        clock = self._spent("rules", clock)
        del states
        pieces = [slice(start, start + t.width) for start in range(0, children, t.width)]
        child_values = np.concatenate([self.descend(child_states[piece], child_weights[piece]) for piece in pieces])
        clock = time.thread_time()
        level = _Level(players, values, offsets, legal, strategy, factor)
        self._collect(level, order, starts, packed, weights, child_values)
        self._spent("sampling", clock)
        return values

    def _spent(self, part: str, since: float) -> float:
        now = time.thread_time()
        self.seconds[part] += now - since
        return now

    def _collect(
        self,
        level: _Level,
        order: np.ndarray,
        starts: np.ndarray,
        packed: np.ndarray,
        weights: np.ndarray,
        child_values: np.ndarray,
    ) -> None:
        """Computes values and regrets of a level, and files the rows of each network."""
        targets = np.full((len(order), self._t.rules.num_distinct_actions), np.nan, np.float32)
        t = self._t
        plan = (self._player, t._traversal, t._tries, t._epsilon)
        _backward(tuple(level), order, weights, child_values, plan, targets)
        own = level.players[order] == self._player
        row_weights = weights[order].astype(np.float32)
        counts = row_weights > 0.0
        for number in range(len(starts) - 1):
            here = np.arange(starts[number], starts[number + 1])
            here = here[counts[here]]
            for chosen, pile in ((here[own[here]], self.regrets), (here[~own[here]], self.strategies)):
                if len(chosen):
                    pile.append((number, Rows(packed[chosen], targets[chosen], row_weights[chosen])))


def _company(seats: Sequence[Callable | None]) -> tuple[np.ndarray, np.ndarray]:
    """Who plays for good in these seats, as addresses, and where."""
    fixed = np.array([seat is not None for seat in seats], np.bool_)
    return player_addresses([seat or _no_player for seat in seats]), fixed


def _is_partner(rules: Rules, seat: int) -> list[bool]:
    """For each seat whether it plays on the side of this one, as itself does."""
    team = next((team for team in rules.teams if seat in team), (seat,))
    return [other in team for other in range(rules.num_players)]


def has_binary_features(rules: Rules, games: int = 200) -> bool:
    """Whether the information tensors met in random games hold only zeros and ones."""
    batch = Batch(rules, games, seed=0)
    choose = np.random.default_rng(0)
    while (batch.current_players() >= 0).any():
        tensors = batch.information_tensors()
        if not np.isin(tensors, (0.0, 1.0)).all():
            return False
        mask = batch.legal_mask()
        scores = np.where(mask, choose.random(mask.shape), -1.0)
        batch.step(scores.argmax(axis=1))
    return True


@entry_point(ADDRESSES, types.Array(types.int64, 1, "C", readonly=True), _STATES, GENERATOR, nogil=True)
def _deal(addresses, root, states, generator):
    kernel = kernel_at(addresses)
    for row in range(len(states)):
        states[row] = root
        kernel.deal(states[row], generator)


@entry_point(
    ADDRESSES,
    ADDRESSES,
    _FLAGS,
    _STATES,
    GENERATOR,
    types.int64,
    types.Tuple((WORDS, PROBABILITIES, WORDS, _SHORTS)),
    types.Tuple((WORDS, PROBABILITIES, PROBABILITIES)),
    nogil=True,
)
def _settle(addresses, choosers, is_fixed, states, generator, observer, found, memory):
    """See `LevelTraverser.settle`; `found` are players, values, offsets and legal actions. Returns how many moves."""
    kernel = kernel_at(addresses)
    players, values, offsets, legal = found
    actions, probabilities, outcome = memory
    total = 0
    moves = 0
    for row in range(len(states)):
        state = states[row]
        offsets[row] = total
        while True:
            seat = kernel.current_player(state)
            if seat == TERMINAL:
                kernel.returns(state, outcome)
                values[row] = outcome[observer]
                break
            if seat == CHANCE:
                count = kernel.chance_outcomes(state, actions, probabilities)
                kernel.apply_action(state, actions[sample_index(generator, probabilities, count)])
                continue
            if is_fixed[seat]:
                action = player_at(choosers, seat)(state, generator)
            else:
                count = kernel.legal_actions(state, actions)
                if count > 1:
                    for i in range(count):
                        legal[total + i] = actions[i]
                    total += count
                    break
                action = actions[0]
            kernel.apply_action(state, action)
            moves += 1
        players[row] = seat
    offsets[len(states)] = total
    return moves


@compiled(nogil=True)
def _group(players, network_of_seat, num_networks):
    """Rows where somebody decides, those of network 0 first; where each network's rows start."""
    starts = np.zeros(num_networks + 1, np.int64)
    for row in range(len(players)):
        if players[row] >= 0:
            starts[network_of_seat[players[row]] + 1] += 1
    for number in range(num_networks):
        starts[number + 1] += starts[number]
    order = np.empty(starts[num_networks], np.int64)
    place = starts.copy()
    for row in range(len(players)):
        if players[row] >= 0:
            number = network_of_seat[players[row]]
            order[place[number]] = row
            place[number] += 1
    return order, starts


@entry_point(ADDRESSES, _STATES, WORDS, WORDS, _TENSORS, nogil=True)
def _encode(addresses, states, players, order, features):
    kernel = kernel_at(addresses)
    for i in range(len(order)):
        kernel.information_tensor(states[order[i]], players[order[i]], features[i])


@compiled(nogil=True)
def _choose(outputs, order, players, offsets, legal, weights, plan, generator, strategy, factor, share):
    """Regret matching, then which actions are tried, with which factor, and what share of a row's weight goes below.

    `plan` is who traverses and how: traverser, traversal, tries, epsilon. Returns how many children there are.
    """
    traverser, traversal, tries, epsilon = plan
    children = 0
    for i in range(len(order)):
        row = order[i]
        start = offsets[row]
        end = offsets[row + 1]
        for place in range(start, end):
            strategy[place] = outputs[i, legal[place]]
        regret_matching(strategy[start:], end - start)
        if players[row] == traverser and tries_several(traversal, weights[row]):
            choose_tries(traversal, tries, epsilon, strategy[start:], end - start, generator, factor[start:])
            share_weight(traversal, epsilon, strategy[start:], factor[start:], end - start, generator, share[start:])
            for place in range(start, end):
                if factor[place] > 0.0:
                    children += 1
        else:
            factor[start:end] = 0.0
            share[start:end] = 1.0
            factor[start + sample_index(generator, strategy[start:], end - start)] = 1.0
            children += 1
    return children


@entry_point(
    ADDRESSES,
    _STATES,
    WORDS,
    _SHORTS,
    PROBABILITIES,
    PROBABILITIES,
    PROBABILITIES,
    _STATES,
    PROBABILITIES,
    nogil=True,
)
def _expand(addresses, states, offsets, legal, factor, share, weights, child_states, child_weights):
    kernel = kernel_at(addresses)
    child = 0
    for row in range(len(states)):
        for place in range(offsets[row], offsets[row + 1]):
            if factor[place] > 0.0:
                child_states[child] = states[row]
                kernel.apply_action(child_states[child], np.int64(legal[place]))
                child_weights[child] = weights[row] * share[place]
                child += 1


@entry_point(ADDRESSES, _STATES, _TENSORS, WORDS, WORDS, _SHORTS, types.boolean, GENERATOR, nogil=True)
def _act(addresses, states, outputs, order, offsets, legal, softmax, generator):
    kernel = kernel_at(addresses)
    weights = np.empty(outputs.shape[1])
    for i in range(len(order)):
        start = offsets[order[i]]
        count = offsets[order[i] + 1] - start
        for a in range(count):
            weights[a] = outputs[i, legal[start + a]]
        if softmax:
            weights[:count] = np.exp(weights[:count] - weights[:count].max())
        regret_matching(weights, count)  # which only normalises what a softmax made
        kernel.apply_action(states[order[i]], np.int64(legal[start + sample_index(generator, weights, count)]))


@compiled(nogil=True)
def _backward(level, order, weights, child_values, plan, targets):
    """Values of all rows; regrets of the traverser's actions, strategies of the others, as targets in `order`."""
    players, values, offsets, legal, strategy, factor = level
    traverser, traversal, tries, epsilon = plan
    place_of_row = np.empty(len(players), np.int64)
    for i in range(len(order)):
        place_of_row[order[i]] = i
    most = 1
    for row in range(len(players)):
        most = max(most, offsets[row + 1] - offsets[row])
    regrets = np.empty(most)
    found = np.empty(most)
    child = 0
    for row in range(len(players)):
        start = offsets[row]
        count = offsets[row + 1] - start
        if count == 0:
            continue
        target = targets[place_of_row[row]]
        if players[row] == traverser and tries_several(traversal, weights[row]):
            for i in range(count):
                if factor[start + i] > 0.0:
                    found[i] = child_values[child]
                    child += 1
            values[row] = estimate(traversal, tries, epsilon, strategy[start:], found, factor[start:], count, regrets)
            for i in range(count):
                target[legal[start + i]] = regrets[i]
        else:
            values[row] = child_values[child]
            child += 1
            for i in range(count):
                target[legal[start + i]] = strategy[start + i]


def chunk_generator(seed: int, *path: int) -> np.ndarray:
    """A generator of its own for each chunk, so that results do not depend on how chunks are spread over threads."""
    return generator(np.random.SeedSequence(seed, spawn_key=path))
