"""Sampled traversals of a game of ours, straight on its rules, with a table that holds what has been met.

No tree is built and nothing recurses. External sampling must wait for memory at every node: an information set lies
anywhere in a table much larger than the processor's caches. So nodes are visited in *batches* from the top of a stack,
and the memory a node needs is asked for well before it is used:

1. a position is advanced to its next decision, its key hashed, its slot of the table asked for; it goes on the stack;
2. when its batch is taken from the stack, the slot is read and the row it points to asked for;
3. then the row is used: the other players draw an action and move on (1), a decision of the traverser becomes one
   position per action (1).

A value that comes back is handed to the decision it came from; the last one completes that decision's own value and
updates its regrets, and so on upwards. All strategies of a traversal are those from before it (regrets of the traverser
change on the way up, and with perfect recall no information set of hers is met twice), so the order of visits changes
nothing. The stack stays small because it is a stack: a batch is finished before what lies below it.

Nodes with one legal action are passed over: there is nothing to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.memory_hints import borrowed, prefetch
from cardtable.randomness import sample_index, uniform
from cardtable.rules import (
    ADDRESSES,
    CHANCE,
    GENERATOR,
    PROBABILITIES,
    TERMINAL,
    WORDS,
    Rules,
    kernel_at,
)
from solvers.sampling.hash_table import (
    EMPTY,
    FINGERPRINT_BITS,
    TABLE_TYPE,
    InformationTable,
    TableContents,
    find_or_add,
    first_candidate,
    has_room,
    hash_key,
    header_of,
    inlined,
)

# The two groups of numbers of an information set.
CUMULATIVE_REGRETS = 0
CUMULATIVE_STRATEGY = 1

BATCH = 32
WORDS_PER_CACHE_LINE = 8

# Entries of `control`, which carries a traversal over a return to Python.
TRAVERSALS_LEFT = 0
TRAVERSER = 1
STACK_HEIGHT = 2
FREE_NODES = 3
CONTROL_SIZE = 4

# Words of a node in `nodes`.
PARENT = 0  # the traverser's decision above, NO_PARENT for the first
POSITION = 1  # which of its actions leads here
PLAYER = 2
COUNT = 3  # actions
KEY_HASH = 4
SLOT = 5  # see hash_table.first_candidate
BASE = 6  # where the numbers of its information set start
PENDING = 7  # values that are still to come
NODE_WORDS = 8

NO_PARENT = -1

# Words of a decision in `frames`, the traverser's decisions on the path of outcome sampling.
FRAME_BASE = 0
FRAME_COUNT = 1
FRAME_CHOSEN = 2
FRAME_WORDS = 3

_INTEGERS = types.Array(types.int64, 2, "C")
_NUMBERS = types.Array(types.float64, 2, "C")


class _CommonMemory(NamedTuple):
    """What both kinds of sampling write while they play."""

    outcome: np.ndarray  # returns
    chance_actions: np.ndarray
    chance_probabilities: np.ndarray


class _ExternalMemory(NamedTuple):
    """Positions of external sampling, one a row, and lists of them."""

    nodes: np.ndarray
    states: np.ndarray
    keys: np.ndarray
    actions: np.ndarray
    strategies: np.ndarray
    values: np.ndarray
    stack: np.ndarray
    free: np.ndarray
    batch: np.ndarray


class _OutcomeMemory(NamedTuple):
    """The position of outcome sampling, and the traverser's decisions on the path to it, one a row."""

    state: np.ndarray
    key: np.ndarray
    actions: np.ndarray
    frames: np.ndarray
    strategies: np.ndarray
    sampled: np.ndarray
    reaches: np.ndarray


_COMMON_TYPES = (
    ADDRESSES,
    types.Array(types.int64, 1, "C", readonly=True),  # root
    TABLE_TYPE,
    types.int64,  # longest_row
    WORDS,  # control
    GENERATOR,
    types.Tuple((PROBABILITIES, WORDS, PROBABILITIES)),
)
_EXTERNAL_TYPE = types.Tuple((*(_INTEGERS,) * 4, *(_NUMBERS,) * 2, *(WORDS,) * 3))
_OUTCOME_TYPE = types.Tuple((*(WORDS,) * 3, _INTEGERS, _NUMBERS, *(PROBABILITIES,) * 2))


class RulesSampler:
    """The table and the working memory of sampled traversals on rules.

    `information_key` and `ordered_actions` replace the functions of the rules where an abstraction wants other keys:
    the first has the type of `information_key`, the second that of `legal_actions` and writes the same actions in the
    order in which information sets with this key are to share them.
    """

    def __init__(
        self,
        rules: Rules,
        max_memory_bytes: int | None = None,
        information_key: Callable | None = None,
        ordered_actions: Callable | None = None,
        key_words: int | None = None,
    ) -> None:
        kernel = rules.compiled_kernel()
        self.rules = rules
        self.information_key = information_key or kernel.information_key
        self.ordered_actions = ordered_actions or kernel.legal_actions
        kernel = kernel._replace(legal_actions=self.ordered_actions, information_key=self.information_key)
        self._addresses = kernel.addresses()
        self.key_words = key_words or rules.key_words
        self.table = InformationTable(self.key_words, rules.num_distinct_actions, max_memory_bytes)
        self._control = np.zeros(CONTROL_SIZE, np.int64)
        self._common = _CommonMemory(
            outcome=np.empty(rules.num_players),
            chance_actions=np.empty(rules.max_chance_outcomes, np.int64),
            chance_probabilities=np.empty(rules.max_chance_outcomes),
        )
        most_actions, longest = rules.num_distinct_actions, rules.max_game_length
        # Enough for one node at a time whatever happens, and for some batches on top.
        num_nodes = longest * most_actions + 4 * BATCH * most_actions
        self._external = _ExternalMemory(
            nodes=np.empty((num_nodes, NODE_WORDS), np.int64),
            states=np.empty((num_nodes, rules.state_size), np.int64),
            keys=np.empty((num_nodes, self.key_words), np.int64),
            actions=np.empty((num_nodes, most_actions), np.int64),
            strategies=np.empty((num_nodes, most_actions)),
            values=np.empty((num_nodes, most_actions)),
            stack=np.empty(num_nodes, np.int64),
            free=np.empty(num_nodes, np.int64),
            batch=np.empty(BATCH, np.int64),
        )
        self._outcome = _OutcomeMemory(
            state=np.empty(rules.state_size, np.int64),
            key=np.empty(self.key_words, np.int64),
            actions=np.empty(most_actions, np.int64),
            frames=np.empty((longest + 1, FRAME_WORDS), np.int64),
            strategies=np.empty((longest + 1, most_actions)),
            sampled=np.empty(longest + 2),
            reaches=np.empty(rules.num_players),
        )

    def external(self, first_player: int, traversals: int, averaging: bool, generator: np.ndarray) -> None:
        """External-sampling traversals for `first_player`, the next player, and so on in turn."""
        reserve = self.rules.max_game_length * self.rules.num_distinct_actions
        self._run(_external_sampling, first_player, traversals, generator, (tuple(self._external), reserve, averaging))

    def outcome(self, first_player: int, traversals: int, epsilon: float, generator: np.ndarray) -> None:
        """Outcome-sampling episodes for `first_player`, the next player, and so on in turn."""
        self._run(_outcome_sampling, first_player, traversals, generator, (tuple(self._outcome), epsilon))

    def _run(self, sample: Callable, first_player: int, traversals: int, generator: np.ndarray, others: tuple) -> None:
        free = self._external.free
        self._control[:] = traversals, first_player, 0, len(free)
        free[:] = np.arange(len(free))[::-1]  # the first ones are used over and over
        root, table, common = self.rules.root, self.table, tuple(self._common)
        while True:
            table_arguments = (table.arrays, table.longest_row)
            sample(self._addresses, root, *table_arguments, self._control, generator, common, *others)
            if self._control[TRAVERSALS_LEFT] == 0:
                return
            table.grow(max(BATCH, self.rules.max_game_length))

    @property
    def num_information_sets(self) -> int:
        return len(self.table)

    @property
    def memory_bytes(self) -> int:
        arrays = (*self._common, *self._external, *self._outcome)
        return self.table.memory_bytes + sum(array.nbytes for array in arrays)

    @property
    def is_abstracted(self) -> bool:
        """Whether keys, or the order of actions, are others than those of the rules."""
        kernel = self.rules.kernel
        return self.information_key is not kernel.information_key or self.ordered_actions is not kernel.legal_actions

    def contents(self, group: int) -> TableContents:
        """The cumulative regrets or strategies of all information sets met so far."""
        return self.table.contents(group)

    def numbers_of(self, state: np.ndarray, player: int) -> tuple[list[int], np.ndarray, np.ndarray]:
        """(actions, cumulative regrets, cumulative strategy) of a position of the player to move."""
        actions = np.empty(self.rules.num_distinct_actions, np.int64)
        count = self.ordered_actions(state, actions)
        key = np.empty(self.key_words, np.int64)
        self.information_key(state, player, key)
        numbers = self.table.find(player, key, count) or (np.zeros(count), np.zeros(count))
        return actions[:count].tolist(), *numbers


@inlined
def match_regrets(numbers, base, count, strategy):
    """Regret matching (Hart and Mas-Colell 2000): in proportion to positive regret, uniform if there is none."""
    total = 0.0
    for action in range(count):
        regret = max(numbers[base + action], 0.0)
        strategy[action] = regret
        total += regret
    if total > 0.0:
        for action in range(count):
            strategy[action] /= total
    else:
        for action in range(count):
            strategy[action] = 1.0 / count


@inlined
def draw(strategy, count, generator):
    """An action drawn from a strategy; never one of probability zero."""
    left = uniform(generator)
    last = 0
    for action in range(count):
        if strategy[action] > 0.0:
            last = action
            left -= strategy[action]
            if left < 0.0:
                break
    return last


@inlined
def _advance(kernel, state, actions, outcomes, probabilities, generator):
    """Plays chance and forced moves; returns the player to decide, or TERMINAL, and the number of actions."""
    while True:
        player = kernel.current_player(state)
        if player >= 0:
            count = kernel.legal_actions(state, actions)
            if count > 1:
                return player, count
            kernel.apply_action(state, actions[0])
        elif player == CHANCE:
            count = kernel.chance_outcomes(state, outcomes, probabilities)
            kernel.apply_action(state, outcomes[sample_index(generator, probabilities, count)])
        else:
            return player, 0


@inlined
def _hand_up(nodes, strategies, values, numbers, free, num_free, node, value):
    """Gives a position's value to the decision above, and upwards while that completes decisions.

    Nodes that are done with become free; returns how many are free then.
    """
    while True:
        free[num_free] = node
        num_free += 1
        parent = nodes[node, PARENT]
        if parent == NO_PARENT:
            return num_free
        values[parent, nodes[node, POSITION]] = value
        nodes[parent, PENDING] -= 1
        if nodes[parent, PENDING] > 0:
            return num_free
        count = nodes[parent, COUNT]
        base = nodes[parent, BASE]
        value = 0.0
        for action in range(count):
            value += strategies[parent, action] * values[parent, action]
        for action in range(count):
            numbers[base + action] += values[parent, action] - value
        node = parent


@entry_point(*_COMMON_TYPES, _EXTERNAL_TYPE, types.int64, types.boolean)
def _external_sampling(addresses, root, table, longest_row, control, generator, common, memory, reserve, averaging):
    kernel = kernel_at(addresses)
    words, numbers, slots, size = borrowed(table)
    generator = borrowed(generator)
    outcome, chance_actions, chance_probabilities = borrowed(common)
    nodes, states, keys, actions, strategies, values, stack, free, batch = borrowed(memory)

    num_players = len(outcome)
    most_actions = actions.shape[1]
    key_words = keys.shape[1]
    traverser = control[TRAVERSER]
    height = control[STACK_HEIGHT]
    num_free = control[FREE_NODES]
    while control[TRAVERSALS_LEFT] > 0:
        if not has_room(words, slots, size, len(batch), longest_row):
            break
        averaged_player = (traverser + 1) % num_players if averaging else NO_PARENT
        if height == 0:
            # A new game: a batch of one, whose only successor is the position after the deal.
            num_free -= 1
            first = free[num_free]
            nodes[first, PARENT] = NO_PARENT
            for word in range(len(root)):
                states[first, word] = root[word]
            kernel.deal(states[first], generator)
            batch_size = 1
            batch[0] = first
        else:
            first = NO_PARENT
            batch_size = min(len(batch), height, max(1, (num_free - reserve) // most_actions))
            height -= batch_size
            for index in range(batch_size):
                node = stack[height + index]
                batch[index] = node
                slot = first_candidate(slots, nodes[node, KEY_HASH])
                nodes[node, SLOT] = slot
                if slots[slot] != EMPTY:
                    start = slots[slot] >> FINGERPRINT_BITS
                    prefetch(words, start)
                    prefetch(words, start + WORDS_PER_CACHE_LINE)

        for index in range(batch_size):
            node = batch[index]
            num_successors = 1
            own_decision = False
            if node != first:
                player = nodes[node, PLAYER]
                count = nodes[node, COUNT]
                header = header_of(player, count)
                key_hash = nodes[node, KEY_HASH]
                start = find_or_add(
                    words, numbers, slots, size, nodes[node, SLOT], key_hash, header, keys[node], actions[node]
                )
                base = start + 1 + key_words
                strategy = strategies[node]
                match_regrets(numbers, base, count, strategy)
                if player == traverser:
                    own_decision = True
                    num_successors = count
                    nodes[node, BASE] = base
                    nodes[node, PENDING] = count
                else:
                    if player == averaged_player:
                        for action in range(count):
                            numbers[base + count + action] += strategy[action]
                    kernel.apply_action(states[node], actions[node, draw(strategy, count, generator)])

            for position in range(num_successors):
                successor = node
                if own_decision:
                    num_free -= 1
                    successor = free[num_free]
                    nodes[successor, PARENT] = node
                    nodes[successor, POSITION] = position
                    for word in range(len(root)):
                        states[successor, word] = states[node, word]
                    kernel.apply_action(states[successor], actions[node, position])
                state = states[successor]
                player, count = _advance(
                    kernel,
                    state,
                    actions[successor],
                    chance_actions,
                    chance_probabilities,
                    generator,
                )
                if player == TERMINAL:
                    kernel.returns(state, outcome)
                    num_free = _hand_up(
                        nodes, strategies, values, numbers, free, num_free, successor, outcome[traverser]
                    )
                    continue
                key = keys[successor]
                kernel.information_key(state, player, key)
                key_hash = hash_key(key)
                prefetch(slots, key_hash & (len(slots) - 1))
                nodes[successor, PLAYER] = player
                nodes[successor, COUNT] = count
                nodes[successor, KEY_HASH] = key_hash
                stack[height] = successor
                height += 1
        if height == 0:
            traverser = (traverser + 1) % num_players
            control[TRAVERSALS_LEFT] -= 1
    control[TRAVERSER] = traverser
    control[STACK_HEIGHT] = height
    control[FREE_NODES] = num_free


@entry_point(*_COMMON_TYPES, _OUTCOME_TYPE, types.float64)
def _outcome_sampling(addresses, root, table, longest_row, control, generator, common, memory, epsilon):
    kernel = kernel_at(addresses)
    words, numbers, slots, size = borrowed(table)
    generator = borrowed(generator)
    outcome, chance_actions, chance_probabilities = borrowed(common)
    state, key, actions, frames, strategies, sampled, reaches = borrowed(memory)

    while control[TRAVERSALS_LEFT] > 0:
        if not has_room(words, slots, size, len(frames), longest_row):
            break
        traverser = control[TRAVERSER]
        for word in range(len(root)):
            state[word] = root[word]
        kernel.deal(state, generator)
        reaches[:] = 1.0
        sampled[0] = 1.0
        depth = 0
        while True:
            player, count = _advance(
                kernel,
                state,
                actions,
                chance_actions,
                chance_probabilities,
                generator,
            )
            if player == TERMINAL:
                break
            kernel.information_key(state, player, key)
            key_hash = hash_key(key)
            slot = first_candidate(slots, key_hash)
            header = header_of(player, count)
            start = find_or_add(words, numbers, slots, size, slot, key_hash, header, key, actions)
            base = start + 1 + len(key)
            strategy = strategies[depth]
            match_regrets(numbers, base, count, strategy)
            if player == traverser:
                chosen = explore(strategy, count, epsilon, generator)
                frames[depth, FRAME_BASE] = base
                frames[depth, FRAME_COUNT] = count
                frames[depth, FRAME_CHOSEN] = chosen
                sampled[depth + 1] = sampled[depth] * (epsilon / count + (1.0 - epsilon) * strategy[chosen])
                depth += 1
            else:
                add_to_average(numbers, base, count, strategy, sampled[depth], reaches, player)
                chosen = draw(strategy, count, generator)
                reaches[player] *= strategy[chosen]
            kernel.apply_action(state, actions[chosen])
        kernel.returns(state, outcome)
        update_episode(numbers, frames, strategies, sampled, depth, outcome[traverser])
        control[TRAVERSER] = (traverser + 1) % len(outcome)
        control[TRAVERSALS_LEFT] -= 1


@inlined
def explore(strategy, count, epsilon, generator):
    """The traverser's draw: with probability epsilon any action alike, else from the strategy."""
    if uniform(generator) < epsilon:
        return min(np.int64(uniform(generator) * count), count - 1)
    return draw(strategy, count, generator)


@inlined
def add_to_average(numbers, base, count, strategy, sampled, reaches, player):
    """Adds a player's strategy, weighted by her reach / probability of the path, in which her reach cancels.

    `reaches` are the probabilities with which players other than the traverser have played their parts of the path,
    `sampled` the one with which the traverser's part was drawn; the traverser's entry of `reaches` is one.
    """
    path = sampled
    for other in range(len(reaches)):
        if other != player:
            path *= reaches[other]
    for action in range(count):
        numbers[base + count + action] += strategy[action] / path


@inlined
def update_episode(numbers, frames, strategies, sampled, depth, value):
    """Backs the value of one sampled game up through the traverser's `depth` decisions (see solvers.mccfr)."""
    for level in range(depth - 1, -1, -1):
        base = frames[level, FRAME_BASE]
        count = frames[level, FRAME_COUNT]
        chosen = frames[level, FRAME_CHOSEN]
        action_value = value * sampled[level] / sampled[level + 1]
        value = strategies[level, chosen] * action_value
        for action in range(count):
            numbers[base + action] -= value / sampled[level]
        numbers[base + chosen] += action_value / sampled[level]
