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
from typing import Literal, get_args

import numpy as np
import pyspiel
from numba import types
from open_spiel.python import policy as openspiel_policy

from cardtable import deck
from cardtable.compiled import compiled, entry_point
from cardtable.memory_hints import borrowed
from cardtable.progress import LateProgress
from cardtable.randomness import below, generators, sample_index
from cardtable.rules import CHANCE, FUNCTION_TYPES, GENERATOR, PROBABILITIES, TERMINAL, WORDS, Rules
from solvers.mccfr import SampledPolicy
from solvers.policies import SUM_TOLERANCE, TablePolicy
from solvers.sampling.hash_table import (
    MISSING,
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
        kernel = rules.compiled_kernel(resample=True)
        self._functions = (
            kernel.current_player,
            kernel.legal_actions,
            kernel.apply_action,
            kernel.chance_outcomes,
            kernel.deal,
            kernel.resample,
            kernel.returns,
            kernel.information_key,
        )
        self._settings = np.zeros(NUM_SETTINGS, np.int64)
        self._settings[[WORLDS, ROLLOUT, ASK]] = worlds, get_args(Rollout).index(rollout), self._ask
        most_moves = rules.max_game_length + rules.max_chance_nodes + 1
        most_outcomes = max(rules.num_distinct_actions, rules.max_chance_outcomes)
        self._returns = np.empty(rules.num_players)
        self._num_questions = np.zeros(1, np.int64)
        self._questions = np.empty((MOST_QUESTIONS if self._ask else 1, QUESTION_WORDS), np.int64)
        self._positions = np.empty((len(self._questions), rules.state_size), np.int64)
        self._moves = np.empty((len(self._questions), most_moves), np.int64)
        self._working_memory = (
            np.empty((4, rules.state_size), np.int64),
            np.empty((2, most_moves), np.int64),
            np.empty((2, most_outcomes), np.int64),
            np.empty(most_outcomes),
            np.empty(rules.num_distinct_actions),
            np.empty(rules.key_words, np.int64),
        )

    def play(self, responder: int, deal_stream: int, stream: int) -> np.ndarray:
        """The returns of one game; the same streams give the same game."""
        if self._ask and len(self._table) > LARGEST_TABLE:
            self._table = InformationTable(self._rules.key_words, self._rules.num_distinct_actions)
        self._settings[RESPONDER] = responder
        while True:
            table = self._table
            self._settings[LONGEST_ROW] = table.longest_row
            self._num_questions[0] = 0
            found_all = _play(
                *self._functions,
                self._rules.root,
                table.words,
                table.numbers,
                table.slots,
                table.size,
                self._settings,
                np.array([deal_stream], np.uint64),
                np.array([stream], np.uint64),
                self._returns,
                self._num_questions,
                self._questions,
                self._positions,
                self._moves,
                *self._working_memory,
            )
            if self._strict and not found_all:
                raise ValueError(f"the policy has no entry for some information states of {self._game} that came up")
            if found_all or not self._ask:
                return self._returns
            self._answer()
            if not has_room(table.words, table.slots, table.size, MOST_QUESTIONS, table.longest_row):
                table.grow(MOST_QUESTIONS)

    def _answer(self) -> None:
        table = self._table
        asked = int(self._num_questions[0])
        if hasattr(self._policy, "probabilities_at"):
            counts, probabilities = self._policy.probabilities_at(self._positions[:asked])
            _enter_answers(table.numbers, self._questions, table.key_words, counts, probabilities)
            return
        for question in range(asked):
            row, num_moves = self._questions[question]
            state = self._state(self._positions[question], self._moves[question, :num_moves])
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
def _look_up(
    information_key,
    words,
    numbers,
    slots,
    size,
    settings,
    num_questions,
    questions,
    positions,
    question_moves,
    state,
    player,
    actions,
    count,
    moves,
    num_moves,
    key,
    distribution,
):
    """Writes the policy's probabilities of the legal actions; says whether they are known (else they are uniform).

    What is not known becomes a question, if the policy can be asked and there is room. Its row is added empty, so that
    it is asked only once.
    """
    information_key(state, player, key)
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
        and num_questions[0] < len(questions)
        and has_room(words, slots, size, 1, settings[LONGEST_ROW])
    ):
        question = num_questions[0]
        num_questions[0] += 1
        questions[question, ROW] = add_row(words, numbers, slots, size, key_hash, header, key, actions)
        questions[question, NUM_MOVES] = num_moves
        for word in range(len(state)):
            positions[question, word] = state[word]
        for move in range(num_moves):
            question_moves[question, move] = moves[move]
    for action in range(count):
        distribution[action] = distribution[action] / total if total > 0.0 else 1.0 / count
    return total > 0.0


@entry_point(
    *(
        FUNCTION_TYPES[name]
        for name in (
            "current_player",
            "legal_actions",
            "apply_action",
            "chance_outcomes",
            "deal",
            "resample",
            "returns",
            "information_key",
        )
    ),
    types.Array(types.int64, 1, "C", readonly=True),
    WORDS,
    PROBABILITIES,
    WORDS,
    WORDS,
    WORDS,
    GENERATOR,
    GENERATOR,
    PROBABILITIES,
    WORDS,
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    PROBABILITIES,
    PROBABILITIES,
    WORDS,
)
def _play(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    deal,
    resample,
    returns,
    information_key,
    root,
    words,
    numbers,
    slots,
    size,
    settings,
    deal_generator,
    generator,
    outcome,
    num_questions,
    questions,
    positions,
    question_moves,
    states,
    moves,
    actions,
    distribution,
    values,
    key,
):
    """Plays one game, its returns to `outcome`; says whether all probabilities were known."""
    words = borrowed(words)
    numbers = borrowed(numbers)
    slots = borrowed(slots)
    size = borrowed(size)
    settings = borrowed(settings)
    generator = borrowed(generator)
    outcome = borrowed(outcome)
    num_questions = borrowed(num_questions)
    questions = borrowed(questions)
    positions = borrowed(positions)
    question_moves = borrowed(question_moves)
    distribution = borrowed(distribution)
    values = borrowed(values)
    key = borrowed(key)
    state = borrowed(states)[0]
    world = borrowed(states)[1]
    made = borrowed(moves)[0]
    imagined = borrowed(moves)[1]
    own_legal = borrowed(actions)[0]
    legal = borrowed(actions)[1]

    responder = settings[RESPONDER]
    _copy(root, state)
    deal(state, deal_generator)
    known = True
    num_made = 0
    while True:
        player = current_player(state)
        if player == TERMINAL:
            break
        if player == CHANCE:
            count = chance_outcomes(state, own_legal, distribution)
        else:
            count = legal_actions(state, own_legal)
        best = -1
        if player == responder and count > 1:
            total = 0.0
            for action in range(count):
                values[action] = 0.0
            for _ in range(settings[WORLDS]):
                weight, agreed = _imagine_world(
                    current_player,
                    legal_actions,
                    apply_action,
                    resample,
                    information_key,
                    root,
                    words,
                    numbers,
                    slots,
                    size,
                    settings,
                    generator,
                    num_questions,
                    questions,
                    positions,
                    question_moves,
                    borrowed(states),
                    made,
                    num_made,
                    legal,
                    distribution,
                    key,
                )
                known &= agreed
                if weight == 0.0:
                    continue
                total += weight
                for action in range(count):
                    _copy(world, borrowed(states)[2])
                    for move in range(num_made):
                        imagined[move] = made[move]
                    known &= _roll_out(
                        current_player,
                        legal_actions,
                        apply_action,
                        chance_outcomes,
                        information_key,
                        words,
                        numbers,
                        slots,
                        size,
                        settings,
                        generator,
                        num_questions,
                        questions,
                        positions,
                        question_moves,
                        borrowed(states)[2],
                        own_legal[action],
                        imagined,
                        num_made,
                        legal,
                        distribution,
                        key,
                    )
                    returns(borrowed(states)[2], outcome)
                    values[action] += weight * outcome[responder]
            if total > 0.0:
                best = 0
                for action in range(1, count):
                    if values[action] > values[best]:
                        best = action
        if best < 0:
            if player >= 0 and count > 1:  # by the policy; so does a responder whose worlds all contradict it
                known &= _look_up(
                    information_key,
                    words,
                    numbers,
                    slots,
                    size,
                    settings,
                    num_questions,
                    questions,
                    positions,
                    question_moves,
                    state,
                    player,
                    own_legal,
                    count,
                    made,
                    num_made,
                    key,
                    distribution,
                )
            best = sample_index(generator, distribution, count) if count > 1 else 0
        made[num_made] = own_legal[best]
        num_made += 1
        apply_action(state, own_legal[best])
    returns(state, outcome)
    return known


@compiled
def _imagine_world(
    current_player,
    legal_actions,
    apply_action,
    resample,
    information_key,
    root,
    words,
    numbers,
    slots,
    size,
    settings,
    generator,
    num_questions,
    questions,
    positions,
    question_moves,
    states,
    made,
    num_made,
    legal,
    distribution,
    key,
):
    """Draws a world that agrees with what the responder knows and replays the game in it, into states[1].

    Returns the probability that the others would have moved as they did, and whether all probabilities were known.
    """
    responder = settings[RESPONDER]
    world = states[1]
    dealt = states[3]
    _copy(states[0], dealt)
    resample(dealt, responder, generator)
    _copy(root, world)
    while not deck.is_dealt(world):
        apply_action(world, deck.pile_of(dealt, world[deck.NEXT_CARD]))
    weight = 1.0
    known = True
    for move in range(num_made):
        player = current_player(world)
        if player == TERMINAL:
            return 0.0, known
        if player >= 0:
            count = legal_actions(world, legal)
            position = -1
            for action in range(count):
                if legal[action] == made[move]:
                    position = action
            if position < 0:
                return 0.0, known
            if player != responder and count > 1:
                known &= _look_up(
                    information_key,
                    words,
                    numbers,
                    slots,
                    size,
                    settings,
                    num_questions,
                    questions,
                    positions,
                    question_moves,
                    world,
                    player,
                    legal,
                    count,
                    made,
                    move,
                    key,
                    distribution,
                )
                weight *= distribution[position]
                if weight == 0.0:
                    return 0.0, known
        apply_action(world, made[move])
    return weight, known


@compiled
def _roll_out(
    current_player,
    legal_actions,
    apply_action,
    chance_outcomes,
    information_key,
    words,
    numbers,
    slots,
    size,
    settings,
    generator,
    num_questions,
    questions,
    positions,
    question_moves,
    state,
    action,
    moves,
    num_moves,
    legal,
    distribution,
    key,
):
    """Plays `action` and the rest of the game, in place; says whether all probabilities were known."""
    known = True
    while True:
        apply_action(state, action)
        moves[num_moves] = action
        num_moves += 1
        player = current_player(state)
        if player == TERMINAL:
            return known
        if player == CHANCE:
            count = chance_outcomes(state, legal, distribution)
            action = legal[sample_index(generator, distribution, count)]
            continue
        count = legal_actions(state, legal)
        at_random = settings[ROLLOUT] == RANDOM_ROLLOUT
        at_random |= settings[ROLLOUT] == UNIFORM_ROLLOUT and player == settings[RESPONDER]
        if at_random or count == 1:
            action = legal[below(generator, count)]
            continue
        known &= _look_up(
            information_key,
            words,
            numbers,
            slots,
            size,
            settings,
            num_questions,
            questions,
            positions,
            question_moves,
            state,
            player,
            legal,
            count,
            moves,
            num_moves,
            key,
            distribution,
        )
        action = legal[sample_index(generator, distribution, count)]
