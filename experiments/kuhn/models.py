"""The players of the Collaborative Kuhn Poker experiments: trained from random starts, evaluated exactly.

Whatever a model knows, it boils down to one table: how likely each move is in each deal (`play`, nodes times deals of
the public tree). So models that see different things can meet, and every number here is exact for its start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyspiel

import cardspiel  # noqa: F401
from cardtable.executors import Executor
from kuhn_collab import state as slots
from solvers.arrays.sequence_form import SequenceForm
from solvers.cfr import CFRSolver
from solvers.noisy_signals import NoisySignals, NoisySignalSolver
from solvers.team import TeamExploitability, TeamGame, exploitability_of
from solvers.teams.beliefs import TeamStrategy
from solvers.teams.public_tree import PublicTree

NORTH_SOUTH, WEST_EAST = 0, 1
SEATS = ("North", "West", "South", "East")
RANKS = ("Q", "K", "A")
UPDATES = ("simultaneous", "alternating")

BASE = "python_kuhn_collab()"
TIED = f"python_tied_rewards(game={BASE})"
NOISE = "accuracy=0.9,step=0.25"  # the paper's oracle-p


@dataclass(frozen=True)
class Model:
    """What is trained. `sees`: nothing, the partner's card (oracle), or noisy signals of it (noisy)."""

    name: str
    sees: str
    tied: bool
    fed_noise: bool = False  # trained with a perfect oracle, but told noisy signals at play
    published: str | None = None  # its name in the paper

    @property
    def game(self) -> str:
        base = TIED if self.tied else BASE
        return {
            "nothing": base,
            "oracle": f"python_partner_oracle(game={base})",
            "noisy": f"python_partner_oracle(game={base},{NOISE})",
        }[self.sees]


MODELS = (
    Model("CFR", "nothing", tied=False, published="CFR"),
    Model("tied", "nothing", tied=True, published="CFR-tied-r"),
    Model("oracle", "oracle", tied=False, published="CFR+oracle"),
    Model("oracle tied", "oracle", tied=True),
    Model("oracle-p", "noisy", tied=False, published="CFR+oracle-p"),
    Model("oracle-p tied", "noisy", tied=True),
    Model("oracle fed noise", "oracle", tied=False, fed_noise=True),
    Model("oracle tied fed noise", "oracle", tied=True, fed_noise=True),
)


@dataclass(frozen=True, eq=False)
class Player:
    """One trained model of one start."""

    model: Model
    updates: str
    start: int
    play: np.ndarray  # (nodes, deals): probability of the move that leads to a node
    behaviour: np.ndarray | None  # the table of `PublicTree.behaviour`, for models that see their own card only


class Job(NamedTuple):
    """One run of CFR."""

    model: Model
    updates: str
    start: int
    seed: np.random.SeedSequence
    iterations: int


def train_one(laboratory: Laboratory, job: Job) -> list[Player]:
    return laboratory.train_one(job)


class Laboratory:
    """Trains and evaluates; holds what all models share."""

    def __init__(self) -> None:
        self.game = pyspiel.load_game(BASE)
        self.team_game = TeamGame(self.game)
        self.tree = self.team_game.tree
        self.noisy = NoisySignals(pyspiel.load_game(f"python_partner_oracle(game={BASE},{NOISE})"))
        self.noisy_tied = NoisySignals(pyspiel.load_game(f"python_partner_oracle(game={TIED},{NOISE})"))
        self.oracle_tree = PublicTree.from_game(pyspiel.load_game(f"python_partner_oracle(game={BASE})"))
        self._forms = {
            model.game: SequenceForm.from_game(pyspiel.load_game(model.game))
            for model in MODELS
            if model.sees != "noisy"
        }
        self.cards = self.noisy.cards  # (seats, deals)
        self._asking = threading.Lock()  # a state of pyspiel does not bear two threads
        self.card_of_type = np.empty((slots.NUM_SEATS, slots.NUM_CARDS), np.int64)
        for seat in range(slots.NUM_SEATS):
            self.card_of_type[seat, self.tree.types[seat]] = self.cards[seat]

    def train(
        self,
        starts: int,
        iterations: int,
        seed: int,
        executor: Executor,
        advance: Callable[[], None] = lambda: None,
    ) -> list[Player]:
        """Every model, both kinds of updates, from `starts` random initial strategies (the same number for all)."""
        trained = [model for model in MODELS if not model.fed_noise]
        kinds = [(model, updates, start) for model in trained for updates in UPDATES for start in range(starts)]
        seeds = np.random.SeedSequence(seed).spawn(len(kinds))
        jobs = [Job(*kind, own, iterations) for kind, own in zip(kinds, seeds, strict=True)]
        players: list[Player] = []
        for found in executor.map(train_one, jobs, self):
            players += found
            advance()
        return players

    def train_one(self, job: Job) -> list[Player]:
        learner = self._learner(job.model, job.updates, job.seed, job.iterations)
        with self._asking:
            return list(self._players(job.model, job.updates, job.start, learner))

    def __reduce__(self) -> tuple:
        """Another process builds its own."""
        return Laboratory, ()

    def _learner(
        self, model: Model, updates: str, seed: np.random.SeedSequence, iterations: int
    ) -> CFRSolver | NoisySignalSolver:
        alternating = updates == "alternating"
        learner: CFRSolver | NoisySignalSolver
        if model.sees == "noisy":
            learner = NoisySignalSolver(self._signals(model), alternating, "random", seed)
        else:
            learner = CFRSolver(self._forms[model.game], "cfr", alternating, "random", seed, threads=1)
        learner.run(iterations)
        return learner

    def _signals(self, model: Model) -> NoisySignals:
        return self.noisy_tied if model.tied else self.noisy

    def _players(
        self, model: Model, updates: str, start: int, learner: CFRSolver | NoisySignalSolver
    ) -> Iterator[Player]:
        if isinstance(learner, NoisySignalSolver):
            play = self._signals(model).behaviour(learner.average_strategy())
            yield Player(model, updates, start, play, None)
            return
        policy = learner.average_policy()
        if model.sees == "nothing":
            behaviour = self.tree.behaviour(policy)
            yield Player(model, updates, start, self._by_deal(self.tree, behaviour), behaviour)
            return
        behaviour = self.oracle_tree.behaviour(policy)
        yield Player(model, updates, start, self._by_deal(self.oracle_tree, behaviour), None)
        fed = next(other for other in MODELS if other.fed_noise and other.tied == model.tied)
        yield Player(fed, updates, start, self.noisy.behaviour(self._by_cards(behaviour)), None)

    def _by_deal(self, tree: PublicTree, behaviour: np.ndarray) -> np.ndarray:
        play = np.ones((tree.num_nodes, tree.num_deals))
        for node, who in self._moves():
            play[node] = behaviour[node, tree.types[who]]
        return play

    def _by_cards(self, oracle_behaviour: np.ndarray) -> np.ndarray:
        """(nodes, own card, named card) of a player trained with a perfect oracle. It never named her own card; told
        so by a noisy one, she plays uniformly."""
        table = np.ones(self.noisy.table_shape)
        for node, who in self._moves():
            table[node] = 1.0 / len(self.tree.children[self.tree.parent[node]])
            partner = (who + 2) % slots.NUM_SEATS
            table[node, self.cards[who], self.cards[partner]] = oracle_behaviour[node, self.oracle_tree.types[who]]
        return table

    def _moves(self) -> Iterator[tuple[int, int]]:
        """Every node but the root, and who moves there."""
        for node in range(1, self.tree.num_nodes):
            yield node, int(self.tree.player[self.tree.parent[node]])

    def team_play(self, play: np.ndarray, team: int) -> np.ndarray:
        """(nodes, deals): how likely a team makes all its moves up to a node."""
        result = np.ones_like(play)
        for node, who in self._moves():
            result[node] = result[self.tree.parent[node]]
            if who % 2 == team:
                result[node] *= play[node]
        return result

    def values(self, player: Player) -> np.ndarray:
        """Expected chips of each seat when the model sits everywhere."""
        both = self.team_play(player.play, NORTH_SOUTH) * self.team_play(player.play, WEST_EAST)
        return np.einsum("nd,ndp->p", both * self.tree.chance, self.tree.returns)

    def advantages(self, rows: list[Player], columns: list[Player]) -> np.ndarray:
        """(rows, columns): team chips of the column player against the row player, summed over both seatings."""

        def sides(players: list[Player]) -> tuple[np.ndarray, np.ndarray]:
            first = np.stack([self.team_play(p.play, NORTH_SOUTH).ravel() for p in players])
            return first, np.stack([self.team_play(p.play, WEST_EAST).ravel() for p in players])

        row_first, row_second = sides(rows)
        column_first, column_second = sides(columns)
        payoff = self.team_game.payoff.ravel()
        return (row_second * payoff) @ column_first.T - (row_first * payoff) @ column_second.T

    def exploitability(self, player: Player) -> TeamExploitability:
        """Guarantees against opponents who agree on the best joint plan."""
        assert player.behaviour is not None
        first, second = (self.team_game.independent_realization(team, player.behaviour) for team in (0, 1))
        return exploitability_of(self.team_game, first, second)

    def node(self, *actions: int) -> int:
        """The public node after these actions."""
        node = 0
        for action in actions:
            node = next(child for child in self.tree.children[node] if self.tree.action[child] == action)
        return node

    def by_card(self, seat: int, by_type: np.ndarray) -> np.ndarray:
        """Numbers for each type of a seat, in the last axis, put in the order of cards."""
        result = np.empty_like(by_type)
        result[..., self.card_of_type[seat]] = by_type
        return result

    def by_rank(self, player: Player, *actions: int) -> np.ndarray:
        """How likely the last of these actions is after the others, for a Queen, a King and an Ace."""
        assert player.behaviour is not None
        node = self.node(*actions)
        seat = int(self.tree.player[self.tree.parent[node]])
        return self.by_card(seat, player.behaviour[node]).reshape(len(RANKS), -1).mean(axis=1)

    def marginal_behaviour(self, strategies: tuple[TeamStrategy, TeamStrategy]) -> np.ndarray:
        """How often each seat acts how under correlated strategies: the same play without the common lottery."""
        weight = np.full((self.tree.num_nodes, slots.NUM_CARDS), 1e-15)  # never reached: as good as uniform
        realizations = [strategy.realization() for strategy in strategies]
        for node, who in self._moves():
            beliefs = strategies[who % 2].beliefs
            own_type = beliefs.types_of_joint[:, beliefs.members.index(who)]
            np.add.at(weight[node], own_type, realizations[who % 2][node])
        behaviour = np.ones_like(weight)
        for children in self.tree.children:
            behaviour[children] = weight[children] / weight[children].sum(axis=0)
        return behaviour
