"""From a game tree to the arrays of its sequence form: which sequences end where, and in what order they are stored.

The order decides the speed. Inside a batch, information sets are sorted by the number of payoff entries of their
actions, so that runs are long, then by *component*: sequences that share a terminal, of whatever player, belong to one
component (in card games: what happened in the open). Both players' arrays follow the order of the components, so the
entries of one row, and of neighbouring rows, lie in the same few cache lines.
"""

from __future__ import annotations

import numpy as np

from cardtable.compiled import compiled
from cardtable.rules import CHANCE, TERMINAL
from solvers.arrays.sweeps import BATCH_ACTIONS, BATCH_SEQUENCE, BATCH_SET, BATCH_SETS, Arrays
from solvers.arrays.tree import GameTree

# A player's information sets are split into blocks, one per thread, if there are at least this many.
PARALLEL_INFORMATION_SETS = 50_000
PARALLEL_BLOCKS = 2
LONGEST_RUN = 256  # sequences; their values stay in the first-level cache while the entries are added

# Where to look for a unit of probabilities.
MOST_PROBABILITIES = 10_000
LARGEST_PART = 60

UNKNOWN = -1


class ImperfectRecallError(ValueError):
    """A player forgets an own action; `information_set` is a label of the tree."""

    def __init__(self, information_set: int) -> None:
        super().__init__(f"information set {information_set} is reached by different actions of its player")
        self.information_set = information_set


def lay_out(tree: GameTree) -> tuple[Arrays, float, np.ndarray, np.ndarray]:
    """The arrays, their probability unit, the tree's label of each information set, and the place of each sequence.

    Places are given for the empty sequences, then for the actions in the order of the tree.
    """
    parent, sequences, chance = _sequences_of_terminals(tree)
    unit = _probability_unit(chance)
    if unit < 1.0:
        chance = np.rint(chance / unit)
    num_sequences = tree.num_players + len(tree.actions)
    terminals, weights = _merge_terminals(sequences, chance, tree.returns, num_sequences)
    del chance
    row_start, row_terminal = _rows(sequences, terminals, weights, num_sequences)
    component = _components(sequences, terminals, num_sequences)
    order, batches, block_start, player_block = _order(tree, parent, row_start, component)
    new = _renumber(tree.num_players, order, batches, tree.action_offset)
    batch_runs, runs, empty_runs = _runs(tree.num_players, batches, _lengths(row_start, new))
    weight, others = _entries(runs, empty_runs, new, row_start, row_terminal, sequences, terminals, weights)
    arrays = Arrays(
        batches, batch_runs, runs, weight, others, new[parent[order]], block_start, player_block, empty_runs
    )
    return arrays, unit, order, new


def _probability_unit(chance: np.ndarray) -> float:
    """A probability of which all others are whole multiples, such as that of one deal; 1 if there is none.

    In such units weights are exact, and ties between actions, which decide what regret matching does next, stay ties.
    """
    different = np.unique(chance)
    if len(different) <= MOST_PROBABILITIES:
        for part in range(1, LARGEST_PART + 1):
            unit = different[0] / part
            multiples = different / unit
            if (np.abs(multiples - np.rint(multiples)) < 1e-12 * multiples).all():
                return float(unit)
    return 1.0


def _sequences_of_terminals(tree: GameTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parent sequence of each information set; per terminal one sequence a player, and the chance probability."""
    parent = np.full(tree.num_information_sets, UNKNOWN, np.int32)
    sequences = np.empty((tree.num_terminals, tree.num_players), np.int32)
    chance = np.empty(tree.num_terminals, np.float64)
    culprit = _follow_sequences(
        tree.player,
        tree.label,
        tree.first_child,
        tree.chance_offset,
        tree.chance_probability,
        tree.action_offset,
        parent,
        sequences,
        chance,
    )
    if culprit >= 0:
        raise ImperfectRecallError(culprit)
    return parent, sequences, chance


@compiled
def _follow_sequences(
    player, label, first_child, chance_offset, chance_probability, action_offset, parent, sequences, chance
):
    """Follows every player's last sequence down the tree. Returns an information set of imperfect recall, or -1."""
    num_players = sequences.shape[1]
    room = 1024
    stack_node = np.empty(room, np.int32)
    stack_chance = np.empty(room, np.float64)
    stack_sequences = np.empty((room, num_players), np.int32)
    current = np.arange(num_players).astype(np.int32)
    stack_node[0] = 0
    stack_chance[0] = 1.0
    stack_sequences[0] = current
    height = 1
    while height > 0:
        height -= 1
        node = stack_node[height]
        probability = stack_chance[height]
        for i in range(num_players):
            current[i] = stack_sequences[height, i]
        who = player[node]
        number = label[node]
        if who == TERMINAL:
            for i in range(num_players):
                sequences[number, i] = current[i]
            chance[number] = probability
            continue
        if who >= 0:
            if parent[number] == UNKNOWN:
                parent[number] = current[who]
            elif parent[number] != current[who]:
                return number
        offset = chance_offset if who == CHANCE else action_offset
        start = offset[number]
        count = offset[number + 1] - start
        if height + count > room:
            more = height + count
            stack_node = np.concatenate((stack_node, np.empty(more, np.int32)))
            stack_chance = np.concatenate((stack_chance, np.empty(more, np.float64)))
            stack_sequences = np.concatenate((stack_sequences, np.empty((more, num_players), np.int32)))
            room += more
        for i in range(count - 1, -1, -1):
            stack_node[height] = first_child[node] + i
            for j in range(num_players):
                stack_sequences[height, j] = current[j]
            stack_chance[height] = probability
            if who == CHANCE:
                stack_chance[height] *= chance_probability[start + i]
            else:
                stack_sequences[height, who] = num_players + start + i
            height += 1
    return -1


@compiled
def _sorted_by(values, num_values, order):
    """`order` rearranged so that values[order] ascends; equal ones stay as they are (counting sort)."""
    start = np.zeros(num_values + 1, np.int64)
    for item in order:
        start[values[item] + 1] += 1
    for value in range(num_values):
        start[value + 1] += start[value]
    result = np.empty_like(order)
    for item in order:
        result[start[values[item]]] = item
        start[values[item]] += 1
    return result


@compiled
def _merge_terminals(sequences, chance, returns, num_sequences):
    """One terminal for each combination of sequences, and the sums of chance probability * returns."""
    num_terminals, num_players = sequences.shape
    order = np.arange(num_terminals).astype(np.int32)
    for who in range(num_players - 1, -1, -1):
        order = _sorted_by(sequences[:, who], num_sequences, order)
    merged = np.empty(num_terminals, np.int32)
    weights = np.empty((num_terminals, num_players), np.float64)
    count = 0
    for terminal in order:
        same = count > 0
        for who in range(num_players):
            if same and sequences[terminal, who] != sequences[merged[count - 1], who]:
                same = False
        if not same:
            merged[count] = terminal
            for who in range(num_players):
                weights[count, who] = 0.0
            count += 1
        for who in range(num_players):
            weights[count - 1, who] += chance[terminal] * returns[terminal, who]
    return merged[:count].copy(), weights[:count].copy()


@compiled
def _rows(sequences, terminals, weights, num_sequences):
    """The merged terminals below each sequence that mean something to its owner, as one list with offsets."""
    num_players = sequences.shape[1]
    row_start = np.zeros(num_sequences + 1, np.int64)
    for i in range(len(terminals)):
        for who in range(num_players):
            if weights[i, who] != 0.0:
                row_start[sequences[terminals[i], who] + 1] += 1
    for sequence in range(num_sequences):
        row_start[sequence + 1] += row_start[sequence]
    row_terminal = np.empty(row_start[num_sequences], np.int32)
    end = row_start[:num_sequences].copy()
    for i in range(len(terminals)):
        for who in range(num_players):
            if weights[i, who] != 0.0:
                sequence = sequences[terminals[i], who]
                row_terminal[end[sequence]] = i
                end[sequence] += 1
    return row_start, row_terminal


@compiled
def _components(sequences, terminals, num_sequences):
    """The smallest sequence of each sequence's component (union-find with path halving)."""
    leader = np.arange(num_sequences).astype(np.int32)
    for terminal in terminals:
        for who in range(sequences.shape[1] - 1):
            a = sequences[terminal, who]
            b = sequences[terminal, who + 1]
            while leader[a] != a:
                leader[a] = leader[leader[a]]
                a = leader[a]
            while leader[b] != b:
                leader[b] = leader[leader[b]]
                b = leader[b]
            leader[max(a, b)] = min(a, b)
    for sequence in range(num_sequences):
        leader[sequence] = leader[leader[sequence]]  # leaders are smaller, so theirs are final already
    return leader


@compiled
def _levels_and_roots(num_players, action_offset, owner, parent):
    """How many own information sets lie above each, and the topmost of them. Labels count parents first."""
    num_sets = len(owner)
    set_of = np.empty(action_offset[num_sets], np.int32)
    level = np.zeros(num_sets, np.int32)
    root = np.empty(num_sets, np.int32)
    for number in range(num_sets):
        for position in range(action_offset[number], action_offset[number + 1]):
            set_of[position] = number
        if parent[number] < num_players:
            root[number] = number
        else:
            above = set_of[parent[number] - num_players]
            level[number] = level[above] + 1
            root[number] = root[above]
    return level, root


@compiled
def _row_pattern(num_players, action_offset, row_start):
    """A number that is the same for information sets whose actions have equally many entries (a hash, for sorting)."""
    num_sets = len(action_offset) - 1
    pattern = np.zeros(num_sets, np.int64)
    for number in range(num_sets):
        for sequence in range(num_players + action_offset[number], num_players + action_offset[number + 1]):
            length = row_start[sequence + 1] - row_start[sequence]
            pattern[number] = (pattern[number] * 1009 + length) & 0xFFFFFFFFFFFF
    return pattern


def _order(
    tree: GameTree, parent: np.ndarray, row_start: np.ndarray, component: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The order of information sets, the batches they form, and where blocks and players start."""
    num_actions = np.diff(tree.action_offset)
    level, root = _levels_and_roots(tree.num_players, tree.action_offset, tree.owner, parent)
    block = _blocks(tree, root)
    pattern = np.unique(_row_pattern(tree.num_players, tree.action_offset, row_start), return_inverse=True)[1]
    order = np.arange(tree.num_information_sets).astype(np.int64)
    first_component = _first_component(tree.num_players, tree.action_offset, row_start, component)
    for criterion in (first_component, pattern, num_actions, level, block):
        order = _sorted_by(criterion, int(criterion.max(initial=0)) + 1, order)

    kind = np.stack([block, level, num_actions], axis=1)[order]
    starts = np.flatnonzero(np.diff(kind, axis=0, prepend=-1).any(axis=1))
    batches = np.empty((len(starts), 4), np.int64)
    batches[:, BATCH_ACTIONS] = kind[starts, 2]
    batches[:, BATCH_SETS] = np.diff(starts, append=len(order))
    sizes = batches[:, BATCH_ACTIONS] * batches[:, BATCH_SETS]
    batches[:, BATCH_SEQUENCE] = tree.num_players + np.cumsum(sizes) - sizes
    batches[:, BATCH_SET] = starts
    num_blocks = int(block.max(initial=-1)) + 1
    block_start = np.searchsorted(kind[starts, 0], np.arange(num_blocks + 1)).astype(np.int64)
    block_owner = np.zeros(num_blocks, np.int64)
    block_owner[block] = tree.owner
    player_block = np.searchsorted(block_owner, np.arange(tree.num_players + 1)).astype(np.int64)
    return order, batches, block_start, player_block


def _blocks(tree: GameTree, root: np.ndarray) -> np.ndarray:
    """Splits each player's roots, with all that lies below, into about equal parts; numbered player by player."""
    block = np.zeros(tree.num_information_sets, np.int64)
    next_block = 0
    for who in range(tree.num_players):
        own = np.flatnonzero(tree.owner == who)
        if not len(own):
            continue
        _, place, sizes = np.unique(root[own], return_inverse=True, return_counts=True)
        parts = PARALLEL_BLOCKS if len(own) >= PARALLEL_INFORMATION_SETS else 1
        part = (np.cumsum(sizes) - sizes) * parts // len(own)
        part = np.unique(part, return_inverse=True)[1]
        block[own] = next_block + part[place]
        next_block += int(part.max()) + 1
    return block


@compiled
def _first_component(num_players, action_offset, row_start, component):
    """The component of the first action that has payoff entries; -1, shifted to 0, for information sets without."""
    num_sets = len(action_offset) - 1
    result = np.zeros(num_sets, np.int64)
    for number in range(num_sets):
        for sequence in range(num_players + action_offset[number], num_players + action_offset[number + 1]):
            if row_start[sequence + 1] > row_start[sequence]:
                result[number] = 1 + component[sequence]
                break
    return result


@compiled
def _renumber(num_players, order, batches, action_offset):
    """New number of each sequence in tree order."""
    new = np.empty(num_players + action_offset[len(action_offset) - 1], np.uint32)
    for player in range(num_players):
        new[player] = player
    for batch in range(len(batches)):
        size = batches[batch, BATCH_SETS]
        for i in range(size):
            start = num_players + action_offset[order[batches[batch, BATCH_SET] + i]]
            for action in range(batches[batch, BATCH_ACTIONS]):
                new[start + action] = batches[batch, BATCH_SEQUENCE] + action * size + i
    return new


def _lengths(row_start: np.ndarray, new: np.ndarray) -> np.ndarray:
    lengths = np.empty(len(new), np.int64)
    lengths[new] = np.diff(row_start)
    return lengths


@compiled
def _runs(num_players, batches, lengths):
    """Cuts each batch into runs of sequences with equally many entries, leaving out those without."""
    batch_runs = np.zeros(len(batches) + 1, np.int64)
    runs = np.empty((len(lengths) + 1, 4), np.int64)
    empty_runs = np.empty((num_players, 4), np.int64)
    entry = 0
    for player in range(num_players):
        empty_runs[player] = np.array([player, 1, lengths[player], entry])
        entry += lengths[player]
    count = 0
    for batch in range(len(batches)):
        start = batches[batch, BATCH_SEQUENCE]
        end = start + batches[batch, BATCH_ACTIONS] * batches[batch, BATCH_SETS]
        while start < end:
            stop = start + 1
            while stop < end and lengths[stop] == lengths[start] and stop - start < LONGEST_RUN:
                stop += 1
            if lengths[start] > 0:
                runs[count] = np.array([start, stop - start, lengths[start], entry])
                entry += (stop - start) * lengths[start]
                count += 1
            start = stop
        batch_runs[batch + 1] = count
    return batch_runs, runs[:count].copy(), empty_runs


@compiled
def _entries(runs, empty_runs, new, row_start, row_terminal, sequences, terminals, weights):
    """Weights and other players' sequences in the order in which the sweeps read them."""
    num_players = sequences.shape[1]
    old = np.empty(len(new), np.int64)
    for sequence in range(len(new)):
        old[new[sequence]] = sequence
    weight = np.empty(len(row_terminal), np.float64)
    others = np.empty((num_players - 1, len(row_terminal)), np.uint32)
    for table in (empty_runs, runs):
        for run in range(len(table)):
            first, size, length, entry = table[run]
            for i in range(size):
                own = old[first + i]
                who = -1
                for k in range(length):
                    terminal = row_terminal[row_start[own] + k]
                    place = sequences[terminals[terminal]]
                    if who < 0:
                        who = 0
                        while place[who] != own:
                            who += 1
                    at = entry + k * size + i
                    weight[at] = weights[terminal, who]
                    row = 0
                    for other in range(num_players):
                        if other != who:
                            others[row, at] = new[place[other]]
                            row += 1
    return weight, others
