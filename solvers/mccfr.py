"""Monte Carlo counterfactual regret minimisation: external and outcome sampling.

Lanctot, Waugh, Zinkevich and Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009);
Lanctot's thesis (2013) for the averages. For player i and an information set I let pi(h) be the probability that chance
and the players other than i play towards history h, and

    v(I, a) = sum over h in I of pi(h) * expected return of i after action a in h,
    r(I, a) = v(I, a) - sum over actions b of strategy(b | I) * v(I, b),          the counterfactual regret.

A traversal for player i adds an unbiased estimate of r(I, a) to the cumulative regret of every information set of i
that it meets; regret matching turns cumulative regrets into the strategy of the next traversal.

*External sampling* tries all actions of i; chance and the other players draw from their distributions. A history is
then met with probability pi(h), so what comes back can be used as it is:

    estimate = value of a in the sampled rest of the game - strategy-weighted mean of those values.

*Outcome sampling* plays one game. Player i draws with probability q(a) = epsilon / n + (1 - epsilon) * strategy(a), the
others from their strategies. With u the value that comes back from below (at the end of the game, i's return),

    value of a = u / q(a) if a was played, else 0;       value handed up = strategy(a) * u / q(a) for the a played;
    estimate = (value of a - value handed up) / (product of i's q on the way to I).

*Averages.* The average strategy weights a strategy by the reach of its own player. External sampling with
`average="simple"` adds the strategy at the nodes of the player next to the traverser, wherever they are met: with two
players they are met in proportion to that player's own reach, as wanted; with more, also to the reach of the remaining
players, as in OpenSpiel. With `average="full"` it walks the whole tree after each iteration and adds strategy * own
reach at every node.

Outcome sampling adds strategy * own reach / probability of the path, at the nodes of all players but the traverser
(stochastically weighted averaging). The traverser explores, so with two players every node to which its own player
plays is met. OpenSpiel does the same at the traverser's nodes; those to which the *others* do not play at present are
then never met, and their averages are off: on Toepen with 2 suits, 2 ranks and 2 cards, NashConv stays above 0.2 for
five million iterations, where this way it falls to 0.0005. Chance is left out of the probability: it is the same in
every iteration, so it would only scale the sums of an information set, with more noise.

An *iteration* updates every player once. Games of ours are played on their rules, with a table of exact keys for the
information sets met so far; other games, and the full average, use the game's tree. Decisions with a single legal
action have no information set anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from cardtable.compiled import compiled
from cardtable.parameters import require_player
from cardtable.player import Player, policy_player
from cardtable.randomness import generator
from cardtable.rules import Rules
from solvers.arrays.sequence_form import SequenceForm
from solvers.arrays.tree import refuse_unsuitable
from solvers.learning.states import MOST, require_state
from solvers.learning.trainer import game_identity, require_iterations
from solvers.policies import TablePolicy
from solvers.sampling.hash_table import InformationTable
from solvers.sampling.on_rules import CUMULATIVE_STRATEGY, RulesSampler
from solvers.sampling.on_tree import TreeSampler
from solvers.sampling.players import average_player

Average = Literal["simple", "full"]
Where = Literal["rules", "tree"]


class _SamplingSolver:
    """What both solvers share: where the numbers are, policies, checkpoints."""

    def __init__(
        self,
        game: pyspiel.Game,
        seed: int | np.random.SeedSequence | None,
        where: Where,
        max_memory_bytes: int | None,
        information_key: Callable | None = None,
        ordered_actions: Callable | None = None,
        key_words: int | None = None,
    ) -> None:
        refuse_unsuitable(game)
        self.game = game
        self.iterations = 0
        self._generator = generator(seed)
        self._sampler: RulesSampler | TreeSampler
        if where == "rules":
            self._sampler = RulesSampler(game.rules, max_memory_bytes, information_key, ordered_actions, key_words)
        else:
            self._sampler = TreeSampler(game, max_memory_bytes)

    def run(self, iterations: int) -> None:
        """Runs iterations, each an update of every player, in compiled code without coming back in between."""
        require_iterations(iterations)
        self._run(iterations)
        self.iterations += iterations

    def update_player(self, player: int) -> None:
        """One traversal for one player: an iteration is one of these for each."""
        require_player(player, self.game.num_players())
        self._traverse(player, 1)

    def _run(self, iterations: int) -> None:
        self._traverse(0, iterations * self.game.num_players())

    def _traverse(self, first_player: int, traversals: int) -> None:
        raise NotImplementedError

    def _name(self) -> str:
        raise NotImplementedError

    @property
    def num_information_sets(self) -> int:
        """Information sets with two or more actions: those met so far on the rules, all of them on the tree."""
        return self._sampler.num_information_sets

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        return self._sampler.memory_bytes

    @property
    def table(self) -> InformationTable:
        """The information sets met so far and their numbers; only of a solver that works on rules."""
        if not isinstance(self._sampler, RulesSampler):
            raise ValueError("the numbers are those of the game's tree; a solver with where='rules' has a table")
        return self._sampler.table

    @property
    def is_abstracted(self) -> bool:
        """Whether information sets have the keys, or the order of actions, of an abstraction."""
        return isinstance(self._sampler, RulesSampler) and self._sampler.is_abstracted

    def average_policy(self) -> SampledPolicy:
        """The average strategy, which is what converges; a view that follows the solver."""
        return SampledPolicy(self.game, self, _average)

    def current_policy(self) -> SampledPolicy:
        """The strategy of the next iteration; a view that follows the solver."""
        return SampledPolicy(self.game, self, _match_regrets)

    def player(self) -> Player:
        """Draws its actions from the average strategy: straight from the solver's table where it works on rules."""
        if isinstance(self._sampler, RulesSampler) and not self.is_abstracted:
            return average_player("sampling", self.game, self.table)
        return policy_player("sampling", self.game, self.average_policy())

    def numbers_of(self, state: pyspiel.State, player: int | None = None) -> tuple[list[int], np.ndarray, np.ndarray]:
        """(actions, cumulative regrets, cumulative strategy) of the player to move; zeros if nothing is known."""
        where = state.array if isinstance(self._sampler, RulesSampler) else state
        player = state.current_player() if player is None else player
        require_player(player, self.game.num_players())
        return self._sampler.numbers_of(where, player)

    def average_table(self, form: SequenceForm | None = None) -> TablePolicy:
        """The average strategy now, as a table to save, or in the order of `form`, which is the fast way to NashConv.

        Information sets that the solver has not met are uniform.
        """
        if self.is_abstracted:
            raise ValueError("keys or actions are those of an abstraction; use average_policy(), which translates them")
        sampler = self._sampler
        if isinstance(sampler, RulesSampler):
            contents, strings = sampler.contents(CUMULATIVE_STRATEGY), None
            owner = contents.keys[:, 0]
        else:
            contents, strings, owner = sampler.contents(CUMULATIVE_STRATEGY), sampler.strings, sampler.owner
        first, count = contents.offsets[:-1], np.diff(contents.offsets)
        places = (count, first, np.ones_like(count))
        if form is None:
            _normalise(contents.weights, *places)
            keys = contents.keys if strings is None else None
            return TablePolicy(
                self.game,
                owner.astype(np.int8),
                places,
                contents.actions,
                contents.weights,
                keys=keys,
                strings=strings,
                missing="uniform",
            )
        places_in_form = (form.num_actions, form.first_sequence, form.stride)
        weights = np.zeros(form.num_sequences)
        if strings is None:
            table = sampler.table if isinstance(sampler, RulesSampler) else InformationTable.of_contents(contents)
            assert form.keys is not None  # the game has keys, so its form has
            table.gather(CUMULATIVE_STRATEGY, form.keys, places_in_form, weights)
        else:
            numbers = {name: number for number, name in enumerate(zip(owner.tolist(), strings, strict=True))}
            order = [numbers[name] for name in zip(form.owner.tolist(), form.strings or [], strict=True)]
            _copy_in_order(contents.weights, first[order], weights, *places_in_form)
        _normalise(weights, *places_in_form)
        return TablePolicy.of_form(form, weights)

    def metrics(self) -> dict[str, float]:
        """How many information sets it knows; how good its average is takes the whole game to say."""
        return {"information_sets": self.num_information_sets}

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with."""
        return {**game_identity(self.game), "solver": self._description()}

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything a solver with the same settings needs to go on, bit for bit; copies."""
        state = self._state()
        if isinstance(self._sampler, RulesSampler):
            state["rows"] = self._sampler.table.rows()
        return {name: array.copy() for name, array in state.items()}

    def _state(self) -> dict[str, np.ndarray]:
        """What a state looks like; the rows of a table, which has other rows all the time, are none here."""
        state = {
            "settings": np.array(self._description()),
            "iterations": np.array(self.iterations, np.int64),
            "generator": self._generator,
        }
        if isinstance(self._sampler, RulesSampler):
            num_rows = np.array(self.num_information_sets, np.int64)
            return state | {"rows": np.empty(0, np.int64), "num_rows": num_rows}
        return state | {"numbers": self._sampler.numbers}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Goes back to a state of `get_state`; ValueError, and nothing changed, if it does not fit this solver."""
        require_state(state, self._state(), {"rows": MOST})
        if str(state["settings"]) != self._description():
            raise ValueError(f"the solver state is one of {state['settings']}, not of {self._description()}")
        if isinstance(self._sampler, RulesSampler):
            num_actions = self.game.num_distinct_actions()
            self._sampler.table.set_rows(state["rows"], int(state["num_rows"]), num_actions)
        else:
            self._sampler.numbers[:] = state["numbers"]
        self.iterations = int(state["iterations"])
        self._generator[:] = state["generator"]

    def _description(self) -> str:
        where = "rules" if isinstance(self._sampler, RulesSampler) else "tree"
        return f"{self._name()} on the {where} of {self.game}"


class ExternalSamplingSolver(_SamplingSolver):
    """External-sampling MCCFR.

    `where="rules"` (for games of ours with the simple average, their default) needs memory only for the information
    sets that it meets; `where="tree"` needs the whole tree and is faster when that fits. An abstraction of a game of
    ours passes its own `information_key` (with `key_words`, how many words it writes) and `ordered_actions`, typed as
    `information_key` and `legal_actions` of the rules.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        seed: int | np.random.SeedSequence | None = None,
        average: Average = "simple",
        where: Where | None = None,
        max_memory_bytes: int | None = None,
        information_key: Callable | None = None,
        ordered_actions: Callable | None = None,
        key_words: int | None = None,
    ) -> None:
        if average not in ("simple", "full"):
            raise ValueError(f"average is {average!r}; allowed: 'simple', 'full'")
        where = _choose_where(game, where, needs_tree="the full average" if average == "full" else None)
        self.average = average
        functions = _abstraction(where, information_key, ordered_actions, key_words)
        super().__init__(game, seed, where, max_memory_bytes, *functions)

    def _run(self, iterations: int) -> None:
        if isinstance(self._sampler, TreeSampler) and self.average == "full":
            for _ in range(iterations):
                self._traverse(0, self.game.num_players())
                self._sampler.add_to_full_average()
        else:
            super()._run(iterations)

    def _traverse(self, first_player: int, traversals: int) -> None:
        self._sampler.external(first_player, traversals, self.average == "simple", self._generator)

    def _name(self) -> str:
        return f"external sampling ({self.average} average)"


class OutcomeSamplingSolver(_SamplingSolver):
    """Outcome-sampling MCCFR; `epsilon` is the share of exploration in the traverser's draws. The rest is as above."""

    def __init__(
        self,
        game: pyspiel.Game,
        seed: int | np.random.SeedSequence | None = None,
        epsilon: float = 0.6,
        where: Where | None = None,
        max_memory_bytes: int | None = None,
        information_key: Callable | None = None,
        ordered_actions: Callable | None = None,
        key_words: int | None = None,
    ) -> None:
        if not 0.0 < epsilon <= 1.0:
            raise ValueError(f"epsilon is {epsilon}; allowed: above 0, so that every action is tried, up to 1")
        where = _choose_where(game, where)
        self.epsilon = float(epsilon)
        functions = _abstraction(where, information_key, ordered_actions, key_words)
        super().__init__(game, seed, where, max_memory_bytes, *functions)

    def _traverse(self, first_player: int, traversals: int) -> None:
        self._sampler.outcome(first_player, traversals, self.epsilon, self._generator)

    def _name(self) -> str:
        return f"outcome sampling (epsilon {self.epsilon})"


def _choose_where(game: pyspiel.Game, where: str | None, needs_tree: str | None = None) -> Where:
    if where not in (None, "rules", "tree"):
        raise ValueError(f"where is {where!r}; allowed: 'rules', 'tree', or None to choose")
    has_rules = isinstance(getattr(game, "rules", None), Rules)
    if where == "rules" and not has_rules:
        raise ValueError(f"where is 'rules', but {game} has no compiled rules; allowed: 'tree'")
    if where == "rules" and needs_tree:
        raise ValueError(f"where is 'rules', but {needs_tree} walks the whole tree; allowed: 'tree'")
    if where is None:
        return "rules" if has_rules and not needs_tree else "tree"
    return "rules" if where == "rules" else "tree"


def _abstraction(where: str, information_key: Callable | None, *others: Any) -> tuple:
    if where == "tree" and (information_key, *others) != (None, None, None):
        raise ValueError("information_key, ordered_actions and key_words change the keys of rules: use where='rules'")
    return information_key, *others


class SampledPolicy(Policy):
    """A solver's strategy as an OpenSpiel policy that looks information sets up as they are asked for.

    Where the solver knows nothing, the policy is uniform.
    """

    def __init__(
        self, game: pyspiel.Game, solver: _SamplingSolver, probabilities: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._solver = solver
        self._probabilities = probabilities

    def table(self) -> TablePolicy | None:
        """The policy now as a table of its own, if it is an average and not an abstraction's."""
        if self._probabilities is not _average or self._solver.is_abstracted:
            return None
        return self._solver.average_table()

    def in_order_of(self, form: SequenceForm) -> TablePolicy | None:
        """The same in the order of a sequence form of its game: the fast way to NashConv."""
        if self._probabilities is not _average or self._solver.is_abstracted or str(form.game) != str(self.game):
            return None
        return self._solver.average_table(form)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        if len(legal) <= 1:
            return dict.fromkeys(legal, 1.0)
        actions, regrets, cumulative_strategy = self._solver.numbers_of(state, player)
        return dict(zip(actions, self._probabilities(regrets, cumulative_strategy).tolist(), strict=True))


def _average(regrets: np.ndarray, cumulative_strategy: np.ndarray) -> np.ndarray:
    return _normalised(cumulative_strategy)


def _match_regrets(regrets: np.ndarray, cumulative_strategy: np.ndarray) -> np.ndarray:
    return _normalised(np.maximum(regrets, 0.0))


def _normalised(weights: np.ndarray) -> np.ndarray:
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))


@compiled
def _normalise(weights, count, first, stride):
    """Makes the weights of each information set sum to one, in place; uniform where they are all zero."""
    for index in range(len(count)):
        total = 0.0
        for action in range(count[index]):
            total += weights[first[index] + action * stride[index]]
        for action in range(count[index]):
            place = first[index] + action * stride[index]
            weights[place] = weights[place] / total if total > 0.0 else 1.0 / count[index]


@compiled
def _copy_in_order(source, source_first, target, count, first, stride):
    for index in range(len(count)):
        for action in range(count[index]):
            target[first[index] + action * stride[index]] = source[source_first[index] + action]
