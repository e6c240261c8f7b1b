"""A lower bound on exploitability where the exact value is out of reach: local best response.

Lisý and Bowling, "Equilibrium approximation quality of current no-limit poker bots" (2017). One player at a time, the
*responder*, leaves the policy under examination; the others keep to it. At each of her decisions she

1. imagines `worlds` ways in which the hidden cards may lie: the rules' `resample` draws them uniformly from everything
   that agrees with what she has seen;
2. weights each world by the probability that the others, by the policy, would have moved in it as they did, so that
   the worlds are an importance sample of what she should believe;
3. plays every action in every world to the end of the game by some fixed way of playing on (`rollout`), and takes the
   action with the best weighted mean.

Why this is a lower bound. What she plays depends only on her own information and on dice of her own: it is *some*
policy, and no policy earns more against the others than a best response does. So, for player p,

    expected return of the responder - expected return of the policy itself  <=  best-response gain of p.

Both expectations are taken over games that are really dealt and played against the policy; imagined worlds only choose
actions and never enter the result. Few worlds or a poor rollout make the responder play worse and the bound weaker,
never wrong. The mean over independent deals is thus an unbiased estimate of a number that is at most the gain, and the
confidence interval is that of a mean: its lower end is the number to quote. The sum over players bounds NashConv. A
negative result is no contradiction (the responder then plays worse than the policy); it only says nothing.

The games of one deal are the policy's own and one with each player as the responder; their differences are less noisy
than their returns.

Probabilities come from a table in compiled code. Tables of ours and uniform play are there from the start. Any other
policy is asked, once for each information state that comes up: a game is played with a guess where the answer is
missing, all missing answers are fetched, and the game is played again with the same random numbers, until nothing had
to be guessed.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyspiel
from numba import types
from open_spiel.python import policy as openspiel_policy

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.memory_hints import borrowed
from cardtable.progress import LateProgress
from cardtable.randomness import below, generators, sample_index
from cardtable.rules import ADDRESSES, CHANCE, GENERATOR, PROBABILITIES, TERMINAL, WORDS, Rules, kernel_at
from solvers.mccfr import SampledPolicy
from solvers.policies import SUM_TOLERANCE, TablePolicy
from solvers.sampling.hash_table import (
    MISSING,
    TABLE_TYPE,
    InformationTable,
    TableContents,
    add_row,
    find_row,
    first_candidate,
    has_room,
    hash_key,
    header_of,
    inlined,
)

Rollout = Literal["policy", "uniform", "random"]

NOBODY = -1  # no responder: everybody keeps to the policy
MOST_QUESTIONS = 4096  # unanswered information states of one game
LARGEST_TABLE = 2_000_000  # answers that are remembered; beyond that, memory starts afresh

# Entries of `settings`.
RESPONDER = 0
WORLDS = 1
ROLLOUT = 2
ASK = 3
LONGEST_ROW = 4
NUM_SETTINGS = 5

# Words of a question beside its position: where the answer belongs, and how many moves were made after the deal.
ROW = 0
NUM_MOVES = 1
QUESTION_WORDS = 2

UNIFORM_ROLLOUT = 1  # positions in `Rollout`
RANDOM_ROLLOUT = 2

# Rows of `states`.
PLAYED, IMAGINED, ROLLED_OUT, DEALT = range(4)
NUM_STATES = 4


class _Questions(NamedTuple):
    """What the policy has to be asked; one question a row."""

    number: np.ndarray  # one entry: how many there are
    words: np.ndarray
    positions: np.ndarray
    moves: np.ndarray


class _Memory(NamedTuple):
    """What a game is played in."""

    states: np.ndarray
    moves: np.ndarray  # made and imagined
    actions: np.ndarray  # legal in the game and in an imagined one
    distribution: np.ndarray
    values: np.ndarray  # of the responder's actions
    key: np.ndarray


class _Policy(NamedTuple):
    """The policy as compiled code sees it: its table, and where to put questions that the table does not answer."""

    words: np.ndarray
    numbers: np.ndarray
    slots: np.ndarray
    size: np.ndarray
    settings: np.ndarray
    questions: _Questions
    key: np.ndarray
    distribution: np.ndarray  # the answer


@dataclass(frozen=True)
class Estimate:
    """A mean over independent deals, with its standard error and confidence interval."""

    value: float
    standard_error: float
    confidence_interval: tuple[float, float]


@dataclass(frozen=True)
class PlayerBound(Estimate):
    """What one player gains as the local best responder: an estimate of a lower bound of the best-response gain."""

    player: int
    response_value: float  # mean return of the local best responder
    policy_value: float  # mean return of the policy itself, on the same deals


@dataclass(frozen=True)
class LowerBound(Estimate):
    """The sum of the players' gains: an estimate of a lower bound of NashConv (of one player's gain, if only one)."""

    per_player: tuple[PlayerBound, ...]
    deals: int
    worlds: int
    rollout: str


def local_best_response(
    game: pyspiel.Game,
    policy: openspiel_policy.Policy,
    player: int | None = None,
    deals: int = 1000,
    worlds: int = 50,
    seed: int | np.random.SeedSequence | None = None,
    rollout: Rollout = "policy",
    confidence: float = 0.95,
) -> LowerBound:
    """A lower bound, by sampling, of what `player` (default: each in turn) could gain against a policy.

    `game` is any game of ours, `policy` any OpenSpiel policy. `rollout` says how games are imagined to go on after an
    action: everybody by the policy ("policy"); the responder at random and the others by the policy ("uniform");
    everybody at random ("random", which asks a slow policy least).

    A policy with a method `probabilities_at(arrays)` is asked about many positions at once, which is much faster: from
    arrays of states, one a row, to the numbers of legal actions and a row of probabilities for each, in their order.
    """
    rules = getattr(game, "rules", None)
    if not isinstance(rules, Rules):
        raise ValueError(f"{game} has no compiled rules, which local_best_response plays on")
    players = range(rules.num_players) if player is None else [player]
    if player is not None and not 0 <= player < rules.num_players:
        raise ValueError(f"player is {player}; allowed: from 0 to {rules.num_players - 1}, or None for all")
    if deals < 2:
        raise ValueError(f"deals is {deals}; allowed: 2 or more")
    if worlds < 1:
        raise ValueError(f"worlds is {worlds}; allowed: 1 or more")
    if rollout not in get_args(Rollout):
        raise ValueError(f"rollout is {rollout!r}; allowed: {', '.join(get_args(Rollout))}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence is {confidence}; allowed: between 0 and 1")

    table = _Table(game, rules, policy, worlds, rollout)
    streams = generators(seed, deals * (2 + rules.num_players)).reshape(deals, 2 + rules.num_players)
    policy_returns = np.empty((deals, rules.num_players))
    response_returns = np.empty((deals, len(players)))
    with LateProgress("local best response", deals) as progress:
        for index, (deal_stream, policy_stream, *player_streams) in enumerate(streams):
            policy_returns[index] = table.play(NOBODY, deal_stream, policy_stream)
            for column, responder in enumerate(players):
                returns = table.play(responder, deal_stream, player_streams[responder])
                response_returns[index, column] = returns[responder]
            progress.update(index + 1)

    gains = response_returns - policy_returns[:, list(players)]
    per_player = tuple(
        PlayerBound(
            *_estimate(gains[:, column], confidence),
            responder,
            float(response_returns[:, column].mean()),
            float(policy_returns[:, responder].mean()),
        )
        for column, responder in enumerate(players)
    )
    return LowerBound(*_estimate(gains.sum(axis=1), confidence), per_player, deals, worlds, rollout)


def _estimate(samples: np.ndarray, confidence: float) -> tuple[float, float, tuple[float, float]]:
    mean = float(samples.mean())
    error = float(samples.std(ddof=1) / np.sqrt(len(samples)))
    reach = statistics.NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return mean, error, (mean - reach, mean + reach)


class _Table:
    """The policy as a table, answers fetched where it has to be asked, and the working memory of the compiled games."""

    def __init__(
        self, game: pyspiel.Game, rules: Rules, policy: openspiel_policy.Policy, worlds: int, rollout: Rollout
    ) -> None:
        self._game = game
        self._rules = rules
        self._policy = policy
        complete = _complete_table(rules, policy)
        self._ask = complete is None
        self._table = complete or InformationTable(rules.key_words, rules.num_distinct_actions)
        self._strict = isinstance(policy, TablePolicy) and policy.missing == "error"
        self._addresses = rules.compiled_kernel(resample=True).addresses()
        self._settings = np.zeros(NUM_SETTINGS, np.int64)
        self._settings[[WORLDS, ROLLOUT, ASK]] = worlds, get_args(Rollout).index(rollout), self._ask
        most_moves = rules.max_game_length + rules.max_chance_nodes + 1
        most_outcomes = max(rules.num_distinct_actions, rules.max_chance_outcomes)
        self._returns = np.empty(rules.num_players)
        num_questions = MOST_QUESTIONS if self._ask else 1
        self._questions = _Questions(
            number=np.zeros(1, np.int64),
            words=np.empty((num_questions, QUESTION_WORDS), np.int64),
            positions=np.empty((num_questions, rules.state_size), np.int64),
            moves=np.empty((num_questions, most_moves), np.int64),
        )
        self._memory = _Memory(
            states=np.empty((NUM_STATES, rules.state_size), np.int64),
            moves=np.empty((2, most_moves), np.int64),
            actions=np.empty((2, most_outcomes), np.int64),
            distribution=np.empty(most_outcomes),
            values=np.empty(rules.num_distinct_actions),
            key=np.empty(rules.key_words, np.int64),
        )

    def play(self, responder: int, deal_stream: int, stream: int) -> np.ndarray:
        """The returns of one game; the same streams give the same game."""
        if self._ask and len(self._table) > LARGEST_TABLE:
            self._table = InformationTable(self._rules.key_words, self._rules.num_distinct_actions)
        self._settings[RESPONDER] = responder
        while True:
            table = self._table
            self._settings[LONGEST_ROW] = table.longest_row
            self._questions.number[0] = 0
            found_all = _play(
                self._addresses,
                self._rules.root,
                table.arrays,
                self._settings,
                np.array([deal_stream], np.uint64),
                np.array([stream], np.uint64),
                self._returns,
                tuple(self._questions),
                tuple(self._memory),
            )
            if self._strict and not found_all:
                raise ValueError(f"the policy has no entry for some information states of {self._game} that came up")
            if found_all or not self._ask:
                return self._returns
            self._answer()
            if not has_room(table.words, table.slots, table.size, MOST_QUESTIONS, table.longest_row):
                table.grow(MOST_QUESTIONS)

    def _answer(self) -> None:
        table, questions = self._table, self._questions
        asked = int(questions.number[0])
        if hasattr(self._policy, "probabilities_at"):
            counts, probabilities = self._policy.probabilities_at(questions.positions[:asked])
            _enter_answers(table.numbers, questions.words, table.key_words, counts, probabilities)
            return
        for question in range(asked):
            row, num_moves = questions.words[question]
            state = self._state(questions.positions[question], questions.moves[question, :num_moves])
            answer = self._policy.action_probabilities(state)
            legal = state.legal_actions()
            probabilities = [answer.get(action, 0.0) for action in legal]
            if min(probabilities) < 0.0 or not abs(sum(probabilities) - 1.0) <= SUM_TOLERANCE:
                raise ValueError(f"the policy answers {answer} at {state}, where the legal actions are {legal}")
            first = row + 1 + table.key_words + len(legal)
            table.numbers[first : first + len(legal)] = probabilities

    def _state(self, position: np.ndarray, moves: np.ndarray) -> pyspiel.State:
        """The pyspiel state after the deal of `position` and these moves of players and chance."""
        state = self._game.new_initial_state()
        while not deck.is_dealt(state.array):
            state.apply_action(int(deck.pile_of(position, state.array[deck.NEXT_CARD])))
        for move in moves.tolist():
            state.apply_action(move)
        return state


def _complete_table(rules: Rules, policy: openspiel_policy.Policy) -> InformationTable | None:
    """A table that need not be asked for more, if the policy can be read as one; what it lacks is uniform."""
    if type(policy) is openspiel_policy.UniformRandomPolicy:
        return InformationTable(rules.key_words, rules.num_distinct_actions)
    if isinstance(policy, SampledPolicy):
        policy = policy.table() or policy
    if not isinstance(policy, TablePolicy) or policy.keys is None:
        return None
    count, first, stride = (part.astype(np.int64) for part in policy.places)
    offsets = np.concatenate([[0], np.cumsum(count)])
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
    order = np.repeat(first, count) + np.repeat(stride, count) * inside
    contents = TableContents(policy.keys, offsets, policy.actions[order], policy.probabilities[order])
    return InformationTable.of_contents(contents)


@compiled
def _enter_answers(numbers, questions, key_words, counts, probabilities):
    for question in range(len(counts)):
        first = questions[question, ROW] + 1 + key_words + counts[question]
        for action in range(counts[question]):
            numbers[first + action] = probabilities[question, action]


_INTEGERS = types.Array(types.int64, 2, "C")


@inlined
def _copy(source, target):
    for word in range(len(source)):
        target[word] = source[word]


@compiled
def _look_up(kernel, policy, state, player, actions, count, moves, num_moves):
    """Writes the policy's probabilities of the legal actions; says whether they are known (else they are uniform).

    `moves` are those made so far, `num_moves` of them.

    What is not known becomes a question, if the policy can be asked and there is room. Its row is added empty, so that
    it is asked only once.
    """
    words, numbers, slots, size = policy.words, policy.numbers, policy.slots, policy.size
    settings, questions, key, distribution = policy.settings, policy.questions, policy.key, policy.distribution
    kernel.information_key(state, player, key)
    key_hash = hash_key(key)
    header = header_of(player, count)
    row = find_row(words, slots, first_candidate(slots, key_hash), key_hash, header, key)
    total = 0.0
    if row != MISSING:
        second = row + 1 + len(key) + count
        for action in range(count):
            distribution[action] = numbers[second + action]
            total += distribution[action]
    elif (
        settings[ASK] == 1
        and questions.number[0] < len(questions.words)
        and has_room(words, slots, size, 1, settings[LONGEST_ROW])
    ):
        question = questions.number[0]
        questions.number[0] += 1
        questions.words[question, ROW] = add_row(words, numbers, slots, size, key_hash, header, key, actions)
        questions.words[question, NUM_MOVES] = num_moves
        for word in range(len(state)):
            questions.positions[question, word] = state[word]
        for move in range(num_moves):
            questions.moves[question, move] = moves[move]
    for action in range(count):
        distribution[action] = distribution[action] / total if total > 0.0 else 1.0 / count
    return total > 0.0


@entry_point(
    ADDRESSES,
    types.Array(types.int64, 1, "C", readonly=True),
    TABLE_TYPE,
    WORDS,
    GENERATOR,
    GENERATOR,
    PROBABILITIES,
    types.Tuple((WORDS, *(_INTEGERS,) * 3)),
    types.Tuple((*(_INTEGERS,) * 3, PROBABILITIES, PROBABILITIES, WORDS)),
)
def _play(addresses, root, table, settings, deal_generator, generator, outcome, questions, memory):
    """Plays one game, its returns to `outcome`; says whether all probabilities were known."""
    kernel = kernel_at(addresses)
    settings = borrowed(settings)
    generator = borrowed(generator)
    outcome = borrowed(outcome)
    states, moves, actions, distribution, values, key = borrowed(memory)
    words, numbers, slots, size = borrowed(table)
    policy = _Policy(words, numbers, slots, size, settings, _Questions(*borrowed(questions)), key, distribution)
    state = states[PLAYED]
    world = states[IMAGINED]
    rolled_out = states[ROLLED_OUT]
    made = moves[0]
    imagined = moves[1]
    own_legal = actions[0]
    legal = actions[1]

    responder = settings[RESPONDER]
    _copy(root, state)
    kernel.deal(state, deal_generator)
    known = True
    num_made = 0
    while True:
        player = kernel.current_player(state)
        if player == TERMINAL:
            break
        if player == CHANCE:
            count = kernel.chance_outcomes(state, own_legal, distribution)
        else:
            count = kernel.legal_actions(state, own_legal)
        best = -1
        if player == responder and count > 1:
            total = 0.0
            for action in range(count):
                values[action] = 0.0
            for _ in range(settings[WORLDS]):
                weight, agreed = _imagine_world(kernel, root, policy, generator, states, made, num_made, legal)
                known &= agreed
                if weight == 0.0:
                    continue
                total += weight
                for action in range(count):
                    _copy(world, rolled_out)
                    for move in range(num_made):
                        imagined[move] = made[move]
                    known &= _roll_out(
                        kernel, policy, generator, rolled_out, own_legal[action], imagined, num_made, legal
                    )
                    kernel.returns(rolled_out, outcome)
                    values[action] += weight * outcome[responder]
            if total > 0.0:
                best = 0
                for action in range(1, count):
                    if values[action] > values[best]:
                        best = action
        if best < 0:
            if player >= 0 and count > 1:  # by the policy; so does a responder whose worlds all contradict it
                known &= _look_up(kernel, policy, state, player, own_legal, count, made, num_made)
            best = sample_index(generator, distribution, count) if count > 1 else 0
        made[num_made] = own_legal[best]
        num_made += 1
        kernel.apply_action(state, own_legal[best])
    kernel.returns(state, outcome)
    return known


@compiled
def _imagine_world(kernel, root, policy, generator, states, made, num_made, legal):
    """Draws a world that agrees with what the responder knows and replays the game in it, into states[IMAGINED].

    Returns the probability that the others would have moved as they did, and whether all probabilities were known.
    """
    responder = policy.settings[RESPONDER]
    world = states[IMAGINED]
    dealt = states[DEALT]
    _copy(states[PLAYED], dealt)
    kernel.resample(dealt, responder, generator)
    _copy(root, world)
    while not deck.is_dealt(world):
        kernel.apply_action(world, deck.pile_of(dealt, world[deck.NEXT_CARD]))
    weight = 1.0
    known = True
    for move in range(num_made):
        player = kernel.current_player(world)
        if player == TERMINAL:
            return 0.0, known
        if player >= 0:
            count = kernel.legal_actions(world, legal)
            position = -1
            for action in range(count):
                if legal[action] == made[move]:
                    position = action
            if position < 0:
                return 0.0, known
            if player != responder and count > 1:
                known &= _look_up(kernel, policy, world, player, legal, count, made, move)
                weight *= policy.distribution[position]
                if weight == 0.0:
                    return 0.0, known
        kernel.apply_action(world, made[move])
    return weight, known


@compiled
def _roll_out(kernel, policy, generator, state, action, moves, num_moves, legal):
    """Plays `action` and the rest of the game, in place; says whether all probabilities were known."""
    settings, distribution = policy.settings, policy.distribution
    known = True
    while True:
        kernel.apply_action(state, action)
        moves[num_moves] = action
        num_moves += 1
        player = kernel.current_player(state)
        if player == TERMINAL:
            return known
        if player == CHANCE:
            count = kernel.chance_outcomes(state, legal, distribution)
            action = legal[sample_index(generator, distribution, count)]
            continue
        count = kernel.legal_actions(state, legal)
        at_random = settings[ROLLOUT] == RANDOM_ROLLOUT
        at_random |= settings[ROLLOUT] == UNIFORM_ROLLOUT and player == settings[RESPONDER]
        if at_random or count == 1:
            action = legal[below(generator, count)]
            continue
        known &= _look_up(kernel, policy, state, player, legal, count, moves, num_moves)
        action = legal[sample_index(generator, distribution, count)]
