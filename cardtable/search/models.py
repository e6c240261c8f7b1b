"""Behaviour models: how likely is what somebody did, had she held this hand?

A model tells, for worlds that look alike to a seat, how likely the past moves of each other seat are in each of them:

    log_likelihoods(rules, worlds, seat) -> (worlds, seats), sums of log p(move) over a seat's moves

* `Model`: a compiled player, who does what she does but for a share of moves that are anything legal,
  p(a) = noise / (number of legal moves) + (1 - noise) * [she would have played a].
* `NetworkModel`: a network over actions (`cardtable.search.networks`), such as a clone of a player,
  p(a) = noise / (number of legal moves) + (1 - noise) * softmax(outputs / temperature)(a).

A model may judge some moves only: those with action ids from `first` to `end` - 1. Games may have faster ones of their
own. No likelihood is ever zero. Forced moves tell nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numba import types

from cardtable.compiled import entry_point
from cardtable.parameters import bad_value, require_number
from cardtable.player import compiled_players
from cardtable.replay import ROOT, deal_again, moves_of
from cardtable.rules import (
    ADDRESSES,
    INTEGER,
    INTEGERS,
    STATES,
    Rules,
    kernel_at,
    player_addresses,
    player_at,
)
from cardtable.search.beliefs import Models
from cardtable.search.networks import chances_of, context_kernel, context_size, outputs_of
from cardtable.spiel import CardGame

NOISE = 0.1
EVERY_MOVE = 1 << 62  # an end that no action id reaches
MOST_NUMBERS = 1 << 24  # of contexts at once
MATRIX = types.Array(types.float64, 2, "C")


class BehaviourModel(Protocol):
    """What `Worlds` asks; `prior` is how likely a seat plays by this model, before anything is seen."""

    @property
    def noise(self) -> float: ...

    @property
    def prior(self) -> float: ...

    @property
    def first(self) -> int: ...

    @property
    def end(self) -> int: ...

    def log_likelihoods(self, rules: Rules, worlds: np.ndarray, seat: int) -> np.ndarray: ...


class Model(NamedTuple):
    """How somebody may play: as a compiled player does, but for a share of moves that are anything legal."""

    choose: Callable
    noise: float = NOISE
    prior: float = 1.0
    first: int = 0
    end: int = EVERY_MOVE

    def log_likelihoods(self, rules: Rules, worlds: np.ndarray, seat: int) -> np.ndarray:
        found = np.zeros((len(worlds), rules.num_players))
        actions = moves_of(rules, worlds[0])
        sizes = np.array([rules.num_distinct_actions, self.first, self.end], np.int64)
        who = (rules.compiled_kernel().addresses(), player_addresses((self.choose,)), self.noise)
        _ask_player(*who, sizes, rules.root, worlds, seat, actions, found)
        return found


class NetworkModel(NamedTuple):
    """How somebody may play: with the chances that a network gives her actions."""

    tensors: Mapping[str, np.ndarray]
    temperature: float = 1.0
    noise: float = NOISE
    prior: float = 1.0
    first: int = 0
    end: int = EVERY_MOVE

    def log_likelihoods(self, rules: Rules, worlds: np.ndarray, seat: int) -> np.ndarray:
        require_number("temperature", self.temperature, 1e-6)
        actions = moves_of(rules, worlds[0])
        found = np.zeros((len(worlds), rules.num_players))
        if len(actions) == 0:
            return found
        addresses = context_kernel(rules).addresses()
        size = len(actions) * context_size(rules)
        step = max(1, MOST_NUMBERS // size)
        for start in range(0, len(worlds), step):
            some = worlds[start : start + step]
            contexts = np.zeros((len(some) * len(actions), context_size(rules)), np.float32)
            legal = np.zeros((len(contexts), rules.num_distinct_actions), np.bool_)
            movers = np.empty(len(contexts), np.int64)
            _past_contexts(addresses, rules.root, some, seat, actions, contexts, legal, movers)
            judged = (actions >= self.first) & (actions < self.end)
            asked = np.flatnonzero((movers >= 0) & np.tile(judged, len(some)))
            if len(asked) == 0:
                continue
            chances = chances_of(outputs_of(self.tensors, contexts[asked]), legal[asked], self.temperature, self.noise)
            played = np.log(chances[np.arange(len(asked)), actions[asked % len(actions)]])
            np.add.at(found[start : start + step], (asked // len(actions), movers[asked]), played)
        return found


def kinds_of_moves(models: Sequence[BehaviourModel]) -> list[list[BehaviourModel]]:
    """Models that judge the same moves together: each list is one mixture."""
    found: dict[tuple[int, int], list[BehaviourModel]] = {}
    for model in models:
        found.setdefault((model.first, model.end), []).append(model)
    return list(found.values())


def mixtures(models: Sequence[Model]) -> Models:
    """Compiled models laid out for compiled code, those of one mixture side by side."""
    groups = kinds_of_moves(models)
    ordered = [model for group in groups for model in group]
    mixture = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    priors = np.array([model.prior for model in ordered], np.float64)
    return Models(
        player_addresses(tuple(model.choose for model in ordered)),  # type: ignore[attr-defined]
        np.array([model.noise for model in ordered], np.float64),
        np.log(priors / np.bincount(mixture, priors)[mixture]) if len(ordered) else priors,
        np.array([model.first for model in ordered], np.int64),
        np.array([model.end for model in ordered], np.int64),
        mixture,
    )


def models_of(game: CardGame, names: Sequence[str], noise: float = NOISE) -> list[Model]:
    """Compiled players of a game as models, equally likely."""
    known = compiled_players(game)
    for name in names:
        if name not in known or known[name].compiled is None:
            raise bad_value("models", name, ", ".join(known))
    return [Model(known[name].compiled, noise) for name in names]  # type: ignore[arg-type]


@entry_point(ADDRESSES, ADDRESSES, types.float64, INTEGERS, ROOT, STATES, INTEGER, INTEGERS, MATRIX, nogil=True)
def _ask_player(addresses, player, noise, sizes, root, worlds, seat, actions, out):
    """Replays the moves in every world and asks a compiled player about those of the other seats."""
    kernel = kernel_at(addresses)
    position = np.empty(worlds.shape[1], np.int64)
    legal = np.empty(sizes[0], np.int64)
    generator = np.zeros(1, np.uint64)
    for number in range(len(worlds)):
        deal_again(kernel, root, worlds[number], position)
        for action in actions:
            mover = kernel.current_player(position)
            if mover != seat and sizes[1] <= action < sizes[2]:
                n = kernel.legal_actions(position, legal)
                if n > 1:
                    played = player_at(player, 0)(position, generator) == action
                    out[number, mover] += np.log(noise / n + (1.0 - noise) * played)
            kernel.apply_action(position, action)


@entry_point(
    ADDRESSES,
    ROOT,
    STATES,
    INTEGER,
    INTEGERS,
    types.Array(types.float32, 2, "C"),
    types.Array(types.boolean, 2, "C"),
    INTEGERS,
    nogil=True,
)
def _past_contexts(addresses, root, worlds, seat, actions, contexts, legal, movers):
    """What a network is told at each past decision in each world; mover -1 where it is the seat's own, or forced."""
    kernel = kernel_at(addresses)
    position = np.empty(worlds.shape[1], np.int64)
    found = np.empty(legal.shape[1], np.int64)
    row = 0
    for number in range(len(worlds)):
        deal_again(kernel, root, worlds[number], position)
        for action in actions:
            mover = kernel.current_player(position)
            movers[row] = -1
            if mover != seat:
                n = kernel.legal_actions(position, found)
                if n > 1:
                    movers[row] = mover
                    kernel.information_tensor(position, mover, contexts[row])
                    for place in range(n):
                        legal[row, found[place]] = True
            row += 1
            kernel.apply_action(position, action)
