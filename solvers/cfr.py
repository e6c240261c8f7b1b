"""Counterfactual regret minimisation on the sequence form.

Zinkevich, Johanson, Bowling and Piccione, "Regret minimization in games with incomplete information" (2007). In each
iteration every information set I plays regret matching on its regrets, strategy(a) = max(R(a), 0) / sum of max(R, 0)
(uniform if that is 0/0), and then adds the counterfactual values it missed: R(a) += value(I, a) - value(I). The average
of the plans used converges to an equilibrium of a two-player zero-sum game. The variants differ in how old regrets are
discounted before an iteration and in how much its plan weighs in the average; nothing else (`VARIANTS` below).

One iteration updates every player once. With alternating updates, which are the default, a player already answers the
new strategies of the players before; averages accumulate the plan used in the iteration, before it is updated. All this
is what OpenSpiel's solvers do, and the averages agree with theirs.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numba
import numpy as np
import pyspiel

from cardtable.player import Player
from solvers.arrays import sweeps
from solvers.arrays.sequence_form import SequenceForm, sequence_form
from solvers.best_response import Evaluation, Evaluator
from solvers.learning.states import require_state
from solvers.learning.trainer import game_identity, require_iterations
from solvers.policies import TablePolicy, table_player

Discounts = tuple[Any, Any, Any]
PAGE = 4096  # iterations whose discounts are worked out at a time


class Variant(NamedTuple):
    """How iteration t = 1, 2, ... treats the past: discounts(t, **parameters) gives the factors kept of positive and of
    negative regrets before the iteration, and the weight of its plan in the average."""

    discounts: Callable[..., Discounts]
    parameters: Mapping[str, float] = {}
    predictive: bool = False


def _cfr(t: np.ndarray) -> Discounts:
    """Zinkevich et al. 2007: sums of regrets, plain average."""
    return 1.0, 1.0, 1.0


def _cfr_plus(t: np.ndarray) -> Discounts:
    """Tammelin, "Solving large imperfect information games using CFR+" (2014): no negative regrets, weights t."""
    return 1.0, 0.0, t


def _linear_cfr(t: np.ndarray) -> Discounts:
    """Brown and Sandholm, "Solving imperfect-information games via discounted regret minimization" (2019), Linear CFR:
    regrets and plans weigh t; dividing the regrets by t changes no strategy and keeps them small."""
    return (t - 1) / t, (t - 1) / t, t


def _dcfr(t: np.ndarray, alpha: float, beta: float, gamma: float) -> Discounts:
    """Brown and Sandholm 2019, DCFR: after iteration t positive regrets are multiplied by t^alpha / (t^alpha + 1),
    negative ones by t^beta / (t^beta + 1), and sums of plans by (t / (t+1))^gamma, that is, plans weigh t^gamma."""
    previous = np.maximum(t - 1, 1)
    return previous**alpha / (previous**alpha + 1), previous**beta / (previous**beta + 1), t**gamma


def _pcfr_plus(t: np.ndarray) -> Discounts:
    """Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell approachability" (2021): the strategy
    answers the regrets of CFR+ plus a prediction of the next ones, the last ones; plans weigh t^2."""
    return 1.0, 0.0, t**2


VARIANTS = {
    "cfr": Variant(_cfr),
    "cfr_plus": Variant(_cfr_plus),
    "linear_cfr": Variant(_linear_cfr),
    "dcfr": Variant(_dcfr, {"alpha": 1.5, "beta": 0.0, "gamma": 2.0}),
    "pcfr_plus": Variant(_pcfr_plus, predictive=True),
}


class TabularSolver(ABC):
    """What the solvers on the sequence form and on the tree have in common: tables of regrets and sums of plans.

    Policies that are handed out are snapshots; they do not change when the solver goes on.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        num_cells: int,
        variant: str,
        alternating: bool,
        initial: Literal["uniform", "random"],
        seed: int | np.random.SeedSequence | None,
        parameters: Mapping[str, float],
    ) -> None:
        if variant not in VARIANTS:
            raise ValueError(f"variant is {variant!r}; allowed: {', '.join(VARIANTS)}")
        if initial not in ("uniform", "random"):
            raise ValueError(f"initial is {initial!r}; allowed: uniform, random")
        unknown = set(parameters) - set(VARIANTS[variant].parameters)
        if unknown:
            allowed = ", ".join(VARIANTS[variant].parameters) or "none"
            raise ValueError(f"{variant} has no parameter {', '.join(sorted(unknown))}; allowed: {allowed}")
        self.game = game
        self.variant = variant
        self.alternating = alternating
        self._parameters = {**VARIANTS[variant].parameters, **parameters}
        self._predictive = VARIANTS[variant].predictive
        self.iterations = 0
        self._page, self._discounts = -1, np.empty((PAGE, 3))
        self._average = np.zeros(num_cells)
        self._banked = np.zeros(num_cells if self._predictive else 0)
        self._regret = np.zeros(num_cells)
        if initial == "random":
            # Regret matching turns independent exponential numbers into Dirichlet(1, ..., 1); iteration 1 forgets them.
            self._regret[:] = np.random.default_rng(seed).standard_exponential(num_cells)

    def evaluate_and_update_policy(self) -> None:
        """One iteration."""
        self.run(1)

    def run(self, iterations: int) -> None:
        """Many iterations in one go; none at all only compiles."""
        require_iterations(iterations)
        end = self.iterations + iterations
        while True:
            page, first = divmod(self.iterations, PAGE)
            last = min(first + end - self.iterations, PAGE)
            self._iterate(first, last, self._schedule(page))
            self.iterations += last - first
            if self.iterations == end:
                return

    def _schedule(self, page: int) -> np.ndarray:
        """The discounts of the iterations on a page: whole pages, so that it does not matter where a run was cut."""
        if page != self._page:
            t = np.arange(PAGE * page + 1, PAGE * (page + 1) + 1, dtype=np.float64)
            kept = self._discounts
            kept[:, 0], kept[:, 1], kept[:, 2] = VARIANTS[self.variant].discounts(t, **self._parameters)
            if page == 0:
                kept[0, :2] = 0.0  # what the regrets held before iteration 1 was only the initial strategy
            self._page = page
        return self._discounts

    @abstractmethod
    def _iterate(self, first: int, last: int, schedule: np.ndarray) -> None:
        """The iterations of rows first .. last-1 of the schedule."""

    @abstractmethod
    def _policy(self, weights: np.ndarray) -> TablePolicy:
        """The policy with probabilities proportional to the positive weights."""

    @abstractmethod
    def _fingerprint(self) -> int:
        """A checksum of the order of the tables, so that states of other games or layouts are not taken for ours."""

    def average_policy(self) -> TablePolicy:
        """The average of the plans used so far: what converges."""
        return self._policy(self._average)

    def current_policy(self) -> TablePolicy:
        """What the next iteration plays."""
        return self._policy(self._regret)

    def player(self) -> Player:
        """Draws its actions from the average policy."""
        return table_player(self.average_policy(), self.variant)

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """What the solver can say of itself now."""

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with."""
        return {**game_identity(self.game), "solver": self._description(), "fingerprint": self._fingerprint()}

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything a solver of the same game and variant needs to go on, bit for bit."""
        return {name: array.copy() for name, array in self._state().items()}

    def _state(self) -> dict[str, np.ndarray]:
        return {
            "variant": np.array(self._description()),
            "fingerprint": np.array(self._fingerprint(), np.int64),
            "iteration": np.array(self.iterations, np.int64),
            "regret": self._regret,
            "banked": self._banked,
            "average": self._average,
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Goes back to a state of `get_state`; ValueError if it belongs to another game or variant."""
        own = self._state()
        require_state(state, {name: array for name, array in own.items() if array.ndim == 0})
        if str(state["variant"]) != self._description():
            raise ValueError(f"the solver state is one of {state['variant']}, not of {self._description()}")
        if int(state["fingerprint"]) != self._fingerprint():
            raise ValueError(f"the solver state belongs to another game, or to another version of {self.game}")
        require_state(state, own)
        for name in ("regret", "banked", "average"):
            own[name][:] = state[name]
        self.iterations = int(state["iteration"])

    def _description(self) -> str:
        parameters = ", ".join(f"{name}={value:g}" for name, value in self._parameters.items())
        return f"{self.variant}({parameters}), {'alternating' if self.alternating else 'simultaneous'} updates"


class CFRSolver(TabularSolver):
    """CFR and its variants for perfect-recall games.

    `threads`: by default two where the game is large enough to gain and the machine has them, else one. The results
    are the same.
    """

    def __init__(
        self,
        game: pyspiel.Game | SequenceForm,
        variant: str = "cfr_plus",
        alternating: bool = True,
        initial: Literal["uniform", "random"] = "uniform",
        seed: int | np.random.SeedSequence | None = None,
        threads: int | None = None,
        **parameters: float,
    ) -> None:
        self.form = sequence_form(game)
        super().__init__(self.form.game, self.form.num_sequences, variant, alternating, initial, seed, parameters)
        self._scratch = self.form.scratch()
        self._tables = sweeps.Tables(
            plan=self.form.empty_plan(),
            regret=self._regret,
            banked=self._banked,
            average=self._average,
            values=np.zeros(self.form.num_sequences),
        )
        self._root_average = self._average[: self.form.num_players]  # of the empty sequences
        self._make_plan()
        most_blocks = int(np.diff(self.form.arrays.player_block).max(initial=1))
        self.threads = min(most_blocks, os.cpu_count() or 1) if threads is None else threads
        if self.threads < 1:
            raise ValueError(f"threads is {threads}; allowed: 1 or more")
        self._evaluator = Evaluator(self.form)
        self._fixed = (alternating, self._predictive, tuple(self.form.arrays), tuple(self._tables), self._scratch)

    def _make_plan(self) -> None:
        """The plan of regret matching on the regrets, without touching the average."""
        arrays = self.form.arrays
        sweeps.plan_sweep(0, len(arrays.batches), arrays, self._tables, 0.0, self._scratch[0])

    def _iterate(self, first: int, last: int, schedule: np.ndarray) -> None:
        total = self._root_average[0]
        if self.threads == 1:
            sweeps.iterate(first, last, schedule, *self._fixed)
        else:
            before = numba.get_num_threads()
            numba.set_num_threads(min(self.threads, numba.config.NUMBA_NUM_THREADS))
            try:
                sweeps.iterate_in_parallel(first, last, schedule, *self._fixed)
            finally:
                numba.set_num_threads(before)
        if last > first:
            self._root_average.fill(np.cumsum([total, *schedule[first:last, 2]])[-1])

    def _policy(self, weights: np.ndarray) -> TablePolicy:
        probabilities = np.ones(self.form.num_sequences)
        sweeps.normalise(self.form.arrays.batches, weights, probabilities)
        return TablePolicy.of_form(self.form, probabilities)

    def evaluate(self) -> Evaluation:
        """Values and best-response values of the average policy, straight from the tables: as cheap as an iteration."""
        if self.iterations == 0:
            plan = self.form.empty_plan()
            sweeps.plans_of(self.form.arrays.batches, self.form.parent, self.average_policy().probabilities, plan)
            return self._evaluator(plan)
        return self._evaluator(self._average, 1.0 / self._average[0])

    def metrics(self) -> dict[str, float]:
        """Exact, of the average policy."""
        found = self.evaluate()
        return {
            "exploitability": found.exploitability,
            "nash_conv": found.nash_conv,
            "information_sets": self.form.num_information_sets,
        }

    def nash_conv(self) -> float:
        """Exact NashConv of the average policy."""
        return self.evaluate().nash_conv

    def exploitability(self) -> float:
        """NashConv of the average policy divided by the number of players."""
        return self.evaluate().exploitability

    def values(self) -> np.ndarray:
        """Expected return of each player under the average policy."""
        return self.evaluate().values

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().set_state(state)
        self._make_plan()

    def _fingerprint(self) -> int:
        checksum = zlib.crc32(str(self.game).encode())
        for part in (self.form.actions, self.form.parent, self.form.arrays.batches):
            checksum = zlib.crc32(part.tobytes(), checksum)
        return checksum
