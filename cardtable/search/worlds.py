"""Worlds: deals of the hidden cards that fit what a seat has seen, weighed by what the others did with them.

A world is drawn uniformly by the rules' `resample` and weighed by how likely each other seat's past moves are in it.
Nobody knows how the others play, so each seat plays by one of several *models*, whichever it is, all the time:

    weight = ( prod over other seats of  sum over models m of  prior_m * prod over its moves a of  p_m(a) ) ** power

Models may judge some moves only, calls say, or cards: then each kind of moves has a mixture of its own, and the
weight is the product of these.

No weight is ever zero: a model that is sure and wrong is worse than none (`cardtable.search.models`). From many weighed
worlds fewer are kept, by systematic resampling, so that a search need not know of weights. `power` below one trusts the
models less.

How good a belief is says its *log score*: the mean log of the true deal's weight over the mean weight of uniform deals;
0 is what knowing nothing has. It is far cheaper to measure than matches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cardtable.compiled import entry_point
from cardtable.parameters import refusal, require_number, require_whole
from cardtable.randomness import uniform
from cardtable.recall import recall_at
from cardtable.redeal import MAX_PILES
from cardtable.rules import ADDRESSES, GENERATOR, INTEGER, PROBABILITIES, STATE, STATES, kernel_at
from cardtable.search.beliefs import (
    MODELS_TYPE,
    PAST_TYPE,
    Models,
    Past,
    judging_hands,
    movers,
    new_past,
    nothing_more,
    remember,
)
from cardtable.search.models import NOISE, BehaviourModel, Model, kinds_of_moves, mixtures, models_of
from cardtable.spiel import CardGame

__all__ = ["DRAWN", "KEPT", "NOISE", "BehaviourModel", "Model", "Worlds", "models_of"]

DRAWN, KEPT = 1000, 400
MOST_WORLDS = 1_000_000

judge_hand = judging_hands(nothing_more)


class Worlds:
    """Draws worlds of a game; without models all that fit are equally likely."""

    def __init__(
        self,
        game: CardGame,
        models: Sequence[BehaviourModel] = (),
        drawn: int = DRAWN,
        kept: int = KEPT,
        power: float = 1.0,
    ) -> None:
        require_whole("drawn", drawn, 1, MOST_WORLDS)
        require_whole("kept", kept, 1, drawn)
        require_number("power", power, 0.0, 1.0)
        for model in models:
            require_number("noise", model.noise, 1e-6, 1.0)
            require_number("prior", model.prior, 1e-6)
        if models and game.rules.moves is None and game.rules.recall is None:
            raise refusal(f"{game} does not list its moves", "games, not transforms that rename or add moves")
        self.rules, self.drawn, self.kept, self.power = game.rules, drawn, kept, power
        self._addresses = game.rules.compiled_kernel(resample=True).addresses()
        self._models = tuple(models)

    def draw(self, state: np.ndarray, seat: int, generator: np.ndarray) -> np.ndarray:
        """Worlds that the seat may be in, one a row: `kept` of those drawn, with the chances that the models give."""
        return np.repeat(*self.draw_counted(state, seat, generator), axis=0)

    def draw_counted(self, state: np.ndarray, seat: int, generator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, each world once, with how often it would be there: who plays them out need not do it twice."""
        if not self._models:
            return self.uniform(state, seat, generator, self.kept), np.ones(self.kept, np.int64)
        worlds = self.uniform(state, seat, generator, self.drawn)
        chances = np.exp(self.log_weights(worlds, seat))  # the largest is one
        steps = (np.arange(self.kept) + uniform(generator)) / self.kept
        totals = np.cumsum(chances / chances.sum())
        chosen = np.minimum(np.searchsorted(totals, steps, side="right"), self.drawn - 1)
        numbers, counts = np.unique(chosen, return_counts=True)
        return worlds[numbers], counts

    def uniform(self, state: np.ndarray, seat: int, generator: np.ndarray, count: int) -> np.ndarray:
        """So many worlds, each as likely as any other."""
        worlds = np.empty((count, len(state)), np.int64)
        _draw_uniformly(self._addresses, state, seat, generator, worlds)
        return worlds

    def log_weights(self, worlds: np.ndarray, seat: int) -> np.ndarray:
        """Logarithms of the weights of worlds that look alike to the seat, up to a constant: the largest is zero."""
        if not self._models:
            return np.zeros(len(worlds))
        compiled = [model for model in self._models if isinstance(model, Model)]
        if self.rules.recall is not None and len(compiled) == len(self._models):
            found = self._weighed_by_hands(worlds, seat, mixtures(compiled))
        else:
            found = np.zeros(len(worlds))
            for mixture in kinds_of_moves(self._models):
                priors = np.array([model.prior for model in mixture])
                logs = [model.log_likelihoods(self.rules, worlds, seat) for model in mixture]
                found += np.logaddexp.reduce(np.stack(logs, axis=2) + np.log(priors / priors.sum()), axis=2).sum(axis=1)
        found *= self.power
        return found - found.max()

    def _weighed_by_hands(self, worlds: np.ndarray, seat: int, models: Models) -> np.ndarray:
        """The quick way, for games that recall their deal."""
        assert self.rules.recall is not None
        found, past = np.zeros(len(worlds)), new_past(self.rules, len(models.noise))
        recall = self.rules.recall.addresses()
        _weigh_hands(self._addresses, recall, tuple(models), tuple(past), worlds, seat, found)
        return found

    def log_score(self, state: np.ndarray, seat: int, generator: np.ndarray, count: int = 150) -> float:
        """The log of the true deal's weight over the mean weight of `count` uniform deals."""
        worlds = np.vstack([state[None, :], self.uniform(state, seat, generator, count)])
        weights = self.log_weights(worlds, seat)
        return float(weights[0] - np.log(np.exp(weights[1:]).mean()))


@entry_point(ADDRESSES, STATE, INTEGER, GENERATOR, STATES, nogil=True)
def _draw_uniformly(addresses, state, seat, generator, worlds):
    kernel = kernel_at(addresses)
    for number in range(len(worlds)):
        worlds[number] = state
        kernel.resample(worlds[number], seat, generator)


@entry_point(ADDRESSES, ADDRESSES, MODELS_TYPE, PAST_TYPE, STATES, INTEGER, PROBABILITIES, nogil=True)
def _weigh_hands(addresses, recall_addresses, models_tuple, past_tuple, worlds, seat, out):
    """Asks compiled models about the hand of every other seat in every world."""
    kernel = kernel_at(addresses)
    recall = recall_at(recall_addresses)
    models = Models(*models_tuple)
    past = Past(*past_tuple)
    remember(kernel, recall, worlds[0], past)
    seats = movers(past)
    for number in range(len(worlds)):
        out[number] = 0.0
        for mover in range(MAX_PILES):
            if mover != seat and seats >> mover & 1:
                hand = recall.hand(worlds[number], mover)
                out[number] += judge_hand(kernel, recall, models, past, 0, mover, hand)
