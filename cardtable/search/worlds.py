"""Worlds: deals of the hidden cards that fit what a seat has seen, weighed by what the others did with them.

A world is drawn uniformly by the rules' `resample` and weighed by how likely each other seat's past moves are in it.
Nobody knows how the others play, so each seat plays by one of several *models*, whichever it is, all the time:

    weight = ( prod over other seats of  sum over models m of  prior_m * prod over its moves a of  p_m(a) ) ** power

    p_m(a) = noise / (number of legal moves) + (1 - noise) * [the model would have played a]

Models may judge some moves only, calls say, or cards: then each kind of moves has a mixture of its own, and the
weight is the product of these.

No weight is ever zero: a model that is sure and wrong is worse than none. From many weighed worlds fewer are kept, by
systematic resampling, so that a search need not know of weights. `power` below one trusts the models less.

How good a belief is says its *log score*: the mean log of the true deal's weight over the mean weight of uniform deals;
0 is what knowing nothing has. It is far cheaper to measure than matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.parameters import bad_value, refusal, require_number, require_whole
from cardtable.player import compiled_players
from cardtable.randomness import uniform
from cardtable.recall import recall_at
from cardtable.redeal import MAX_PILES
from cardtable.replay import ROOT, deal_again, moves_of
from cardtable.rules import (
    ADDRESSES,
    GENERATOR,
    INTEGER,
    INTEGERS,
    PROBABILITIES,
    STATE,
    STATES,
    kernel_at,
    player_addresses,
    player_at,
)
from cardtable.search.beliefs import (
    MODELS_TYPE,
    PAST_TYPE,
    Models,
    Past,
    judging_hands,
    log_of_mixtures,
    movers,
    new_past,
    nothing_more,
    remember,
)
from cardtable.spiel import CardGame

DRAWN, KEPT = 1000, 400
NOISE = 0.1
MOST_WORLDS = 1_000_000
MATRIX = types.Array(types.float64, 2, "C")

judge_hand = judging_hands(nothing_more)


class Model(NamedTuple):
    """How somebody may play: as a compiled player does, but for a share of moves that are anything legal."""

    choose: Callable
    noise: float = NOISE
    prior: float = 1.0
    first: int = 0  # judges moves with action ids from first to end - 1
    end: int = 1 << 62


class Worlds:
    """Draws worlds of a game; without models all that fit are equally likely."""

    def __init__(
        self, game: CardGame, models: Sequence[Model] = (), drawn: int = DRAWN, kept: int = KEPT, power: float = 1.0
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
        self._models = mixtures(models) if models else None

    def draw(self, state: np.ndarray, seat: int, generator: np.ndarray) -> np.ndarray:
        """Worlds that the seat may be in, one a row: `kept` of those drawn, with the chances that the models give."""
        if self._models is None:
            return self.uniform(state, seat, generator, self.kept)
        worlds = self.uniform(state, seat, generator, self.drawn)
        chances = np.exp(self.log_weights(worlds, seat))  # the largest is one
        steps = (np.arange(self.kept) + uniform(generator)) / self.kept
        totals = np.cumsum(chances / chances.sum())
        return worlds[np.minimum(np.searchsorted(totals, steps, side="right"), self.drawn - 1)]

    def uniform(self, state: np.ndarray, seat: int, generator: np.ndarray, count: int) -> np.ndarray:
        """So many worlds, each as likely as any other."""
        worlds = np.empty((count, len(state)), np.int64)
        _draw_uniformly(self._addresses, state, seat, generator, worlds)
        return worlds

    def log_weights(self, worlds: np.ndarray, seat: int) -> np.ndarray:
        """Logarithms of the weights of worlds that look alike to the seat, up to a constant: the largest is zero."""
        found = np.zeros(len(worlds))
        if self._models is not None and self.rules.recall is not None:
            past = new_past(self.rules, len(self._models.noise))
            weigh_hands(
                self._addresses, self.rules.recall.addresses(), tuple(self._models), tuple(past), worlds, seat, found
            )
        elif self._models is not None:
            likelihoods = np.empty((self.rules.num_players, len(self._models.noise)))
            actions = moves_of(self.rules, worlds[0])
            sizes = np.array([self.rules.num_distinct_actions], np.int64)
            models = tuple(self._models)
            _weigh(self._addresses, models, sizes, self.rules.root, worlds, seat, actions, likelihoods, found)
        found *= self.power
        return found - found.max()

    def log_score(self, state: np.ndarray, seat: int, generator: np.ndarray, count: int = 150) -> float:
        """The log of the true deal's weight over the mean weight of `count` uniform deals."""
        worlds = np.vstack([state[None, :], self.uniform(state, seat, generator, count)])
        weights = self.log_weights(worlds, seat)
        return float(weights[0] - np.log(np.exp(weights[1:]).mean()))


def mixtures(models: Sequence[Model]) -> Models:
    """Models laid out for compiled code, those of one mixture side by side."""
    kinds = list(dict.fromkeys((model.first, model.end) for model in models))
    models = sorted(models, key=lambda model: kinds.index((model.first, model.end)))
    mixture = np.array([kinds.index((model.first, model.end)) for model in models], np.int64)
    priors = np.array([model.prior for model in models], np.float64)
    return Models(
        player_addresses(tuple(model.choose for model in models)),
        np.array([model.noise for model in models], np.float64),
        np.log(priors / np.bincount(mixture, priors)[mixture]) if len(models) else priors,
        np.array([model.first for model in models], np.int64),
        np.array([model.end for model in models], np.int64),
        mixture,
    )


def models_of(game: CardGame, names: Sequence[str], noise: float = NOISE) -> list[Model]:
    """Compiled players of a game as models, equally likely."""
    known = compiled_players(game)
    for name in names:
        if name not in known or known[name].compiled is None:
            raise bad_value("models", name, ", ".join(known))
    return [Model(known[name].compiled, noise) for name in names]  # type: ignore[arg-type]


@entry_point(ADDRESSES, STATE, INTEGER, GENERATOR, STATES, nogil=True)
def _draw_uniformly(addresses, state, seat, generator, worlds):
    kernel = kernel_at(addresses)
    for number in range(len(worlds)):
        worlds[number] = state
        kernel.resample(worlds[number], seat, generator)


@entry_point(ADDRESSES, MODELS_TYPE, INTEGERS, ROOT, STATES, INTEGER, INTEGERS, MATRIX, PROBABILITIES, nogil=True)
def _weigh(addresses, models_tuple, sizes, root, worlds, seat, actions, likelihoods, out):
    """Replays the moves in every world and asks every model about those of the other seats."""
    kernel = kernel_at(addresses)
    models = Models(*models_tuple)
    position = np.empty(worlds.shape[1], np.int64)
    legal = np.empty(sizes[0], np.int64)
    generator = np.zeros(1, np.uint64)
    for number in range(len(worlds)):
        deal_again(kernel, root, worlds[number], position)
        likelihoods[:] = 0.0
        for action in actions:
            mover = kernel.current_player(position)
            if mover != seat:
                n = kernel.legal_actions(position, legal)
                if n > 1:
                    for model in range(len(models.noise)):
                        if models.first[model] <= action < models.end[model]:
                            played = player_at(models.addresses, model)(position, generator) == action
                            noise = models.noise[model]
                            likelihoods[mover, model] += np.log(noise / n + (1.0 - noise) * played)
            kernel.apply_action(position, action)
        out[number] = 0.0
        for mover in range(len(likelihoods)):
            out[number] += log_of_mixtures(models, likelihoods[mover])


@entry_point(ADDRESSES, ADDRESSES, MODELS_TYPE, PAST_TYPE, STATES, INTEGER, PROBABILITIES, nogil=True)
def weigh_hands(addresses, recall_addresses, models_tuple, past_tuple, worlds, seat, out):
    """The same for games that recall their deal."""
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
