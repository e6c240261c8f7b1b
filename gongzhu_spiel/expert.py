"""The expert of Gongzhu: worlds weighed by what the others did, played out by a small network, endings solved exactly.

For each decision

1. `worlds` deals of the hidden cards are kept out of two and a half times as many, by how likely the cards that the
   others have played are in each (`cardtable.search.worlds`): every seat plays by one of the `models`, the expert's own
   network (`own`) or a clone of Mr. Greed (`greed`), whichever explains it better.
2. Every card is tried in them, and the network plays all four hands to the end. Worlds come in four stages; after each,
   the worse half of the cards is dropped (sequential halving: Karnin, Koren and Somekh, "Almost optimal exploration in
   multi-armed bandits", 2013).
3. With four cards in the hand or fewer, open-hand alpha-beta (`gongzhu_spiel.endings`) takes the place of the network.

`level=medium` has a sixth of the worlds and no endings, `level=easy` plays the network's first thought. `network` is
that first thought as a player of its own. The networks are made by `python -m experiments.gongzhu_expert`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cardtable import bits
from cardtable.parameters import require, require_whole
from cardtable.player import Explanation, Player
from cardtable.search.worlds import BehaviourModel, Worlds
from cardtable.spiel import CardGame
from gongzhu_spiel.endings import solve_worlds
from gongzhu_spiel.inference import CardModel
from gongzhu_spiel.network import load_network, value_rows
from gongzhu_spiel.rollouts import try_worlds
from gongzhu_spiel.rules import legal_cards
from gongzhu_spiel.state import FULL_DECK, HAND, TURN

WEIGHTS_FOLDER = "weights"
LEVELS = ("easy", "medium", "full")
MODELS = ("none", "own", "greed", "own+greed")
MOST_WORLDS = 100_000
DRAWN_FOR_KEPT = 2.5
STAGES = 4
EXACT_CARDS = 4  # in the hand: from here on worlds are solved
POINTS = 100.0  # of one unit of the network
# Of the models, by log score on games of the expert against Mr. Greed and against itself (docs/gongzhu.md).
OWN_TEMPERATURE, OWN_NOISE, OWN_PRIOR = 0.4, 0.1, 0.6
GREED_TEMPERATURE, GREED_NOISE, GREED_PRIOR = 1.0, 0.05, 0.4
POWER = 0.85
BATCH = 16  # games side by side: each of their moves is slow


@functools.cache
def shipped(name: str) -> np.ndarray:
    """The matrix of one of the networks that come with the package."""
    return load_network(Path(__file__).parent / WEIGHTS_FOLDER / f"{name}.safetensors")


def expert(
    game: CardGame,
    worlds: int = 400,
    milliseconds: int = 0,
    level: str = "full",
    models: str = "own+greed",
    endings: bool = True,
) -> Player:
    """The player; with `milliseconds` of CPU time a move in the place of a number of worlds."""
    require_whole("worlds", worlds, 4, MOST_WORLDS)
    require_whole("milliseconds", milliseconds, 0, 600_000)
    require(level in LEVELS, "level", level, ", ".join(LEVELS))
    require(models in MODELS, "models", models, ", ".join(MODELS))
    if level == "easy":
        return network_player(game, shipped("network"))
    if level == "medium":
        worlds, endings = max(4, worlds // 6), False
    settings = SearchSettings(worlds, milliseconds / 1000, models, EXACT_CARDS if endings else 0)
    search = ExpertSearch(game, settings)
    return Player(
        "expert",
        game,
        choose_rows=search.choose_rows,
        explain_rows=search.explain_rows,
        reproducible=milliseconds == 0,
        batch_size=BATCH,
    )


def network(game: CardGame) -> Player:
    """The network's first thought, without any search."""
    return network_player(game, shipped("network"))


def network_player(game: CardGame, weights: np.ndarray) -> Player:
    """Whoever plays the card that a network values most."""

    def values_of(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        values = np.full((len(rows), FULL_DECK), -np.inf, np.float32)
        value_rows(weights, states, rows, values)
        return values

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        return np.argmax(values_of(states, rows), axis=1)

    def explain_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        found = []
        for values in values_of(states, rows):
            cards = np.flatnonzero(np.isfinite(values))
            found.append(Explanation(cards, POINTS * values[cards].astype(np.float64)))
        return found

    return Player("network", game, choose_rows=choose_rows, explain_rows=explain_rows)


def own_model() -> CardModel:
    """Somebody who wants what the expert wants."""
    return CardModel(shipped("network"), OWN_TEMPERATURE, OWN_NOISE, OWN_PRIOR)


def greed_model() -> CardModel:
    """A clone of Mr. Greed."""
    return CardModel(shipped("greed"), GREED_TEMPERATURE, GREED_NOISE, GREED_PRIOR)


def behaviour_models(text: str) -> list[BehaviourModel]:
    """The models of the others that a text such as `own+greed` names."""
    known: dict[str, Callable[[], BehaviourModel]] = {"own": own_model, "greed": greed_model}
    return [known[name]() for name in text.split("+") if name in known]


class SearchSettings(NamedTuple):
    worlds: int = 400  # kept
    seconds: float = 0.0  # of CPU time for a decision; 0: as long as the worlds take
    models: str = "own+greed"
    exact_cards: int = EXACT_CARDS
    halving: bool = True
    power: float = POWER


class Tried(NamedTuple):
    """What a search found out: results (worlds, cards), NaN where a card was out, and how often each world counts."""

    cards: np.ndarray
    results: np.ndarray
    counts: np.ndarray
    alive: np.ndarray  # cards that were in it to the end

    def values(self) -> np.ndarray:
        known = np.isfinite(self.results)
        weights = known * self.counts[:, None]
        return np.where(known, self.results, 0.0).T @ self.counts / np.maximum(weights.sum(axis=0), 1)

    def best(self) -> int:
        """The place of the best card, the lowest of equal ones."""
        return int(np.argmax(np.where(self.alive, self.values(), -np.inf)))

    def errors(self) -> np.ndarray:
        """The standard error of each card's difference to the best one, over the worlds in which both were tried."""
        differences = self.results - self.results[:, [self.best()]]
        found = np.zeros(len(self.cards))
        for place in range(len(self.cards)):
            known = np.isfinite(differences[:, place])
            weights = self.counts[known] / max(self.counts[known].sum(), 1)
            centred = differences[known, place] - weights @ differences[known, place]
            found[place] = np.sqrt((weights * weights * centred * centred).sum())
        return found


class ExpertSearch:
    """Chooses and explains."""

    def __init__(
        self,
        game: CardGame,
        settings: SearchSettings,
        weights: np.ndarray | None = None,
        models: Sequence[BehaviourModel] | None = None,
    ) -> None:
        self.settings = settings
        self.weights = shipped("network") if weights is None else weights
        self._models = behaviour_models(settings.models) if models is None else list(models)
        rounds = self._stage_worlds() if settings.seconds else settings.worlds
        drawn = int(DRAWN_FOR_KEPT * rounds) if self._models else rounds
        self._worlds = Worlds(game, self._models, drawn=drawn, kept=rounds, power=settings.power)

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """The best card in each of these rows of `states`."""
        chosen = np.empty(len(rows), np.int64)
        for index, row in enumerate(rows):
            legal = int(legal_cards(states[row]))
            if legal & (legal - 1) == 0:
                chosen[index] = bits.lowest(legal)
            else:
                tried = self.search(states[row], streams[index])
                chosen[index] = tried.cards[tried.best()]
        return chosen

    def explain_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        """The mean result of each legal card, with the standard error of its difference to the best one."""
        found = []
        for row, stream in zip(rows, streams, strict=True):
            tried = self.search(states[row], stream)
            values, best = tried.values(), tried.best()
            # A card that was dropped early keeps its few worlds; it must not look better than what was preferred to it.
            values = np.where(tried.alive, values, np.minimum(values, values[best]))
            errors = tried.errors()
            errors[int(np.argmax(values))] = 0.0
            found.append(Explanation(tried.cards, values, errors))
        return found

    def search(self, state: np.ndarray, stream: np.ndarray) -> Tried:
        """Tries all legal cards of the seat to move."""
        seat = int(state[TURN])
        legal = int(legal_cards(state))
        cards = np.array([card for card in range(FULL_DECK) if legal >> card & 1], np.int64)
        alive = np.ones(len(cards), np.bool_)
        tried = Tried(cards, np.empty((0, len(cards))), np.empty(0, np.int64), alive)
        exact = int(state[HAND + seat]).bit_count() <= self.settings.exact_cards
        halving = self.settings.halving and not exact
        if self.settings.seconds:
            return self._by_time(state, seat, stream, tried, exact, halving)
        worlds, counts = self._worlds.draw_counted(state, seat, stream)
        stages = STAGES if halving else 1
        borders = np.searchsorted(np.cumsum(counts), np.arange(1, stages) * self.settings.worlds / stages)
        for part in np.split(np.arange(len(worlds)), borders):
            if len(part):
                tried = self._tried_in(worlds[part], counts[part], seat, tried, exact)
                if halving:
                    _drop_half(tried)
        return tried

    def _by_time(
        self, state: np.ndarray, seat: int, stream: np.ndarray, tried: Tried, exact: bool, halving: bool
    ) -> Tried:
        """Stages of a fixed size until the time is over; half of the cards go after each quarter of it."""
        start, dropped = time.thread_time(), 0
        while True:
            worlds, counts = self._worlds.draw_counted(state, seat, stream)
            tried = self._tried_in(worlds, counts, seat, tried, exact)
            share = (time.thread_time() - start) / self.settings.seconds
            if share >= 1.0:
                return tried
            if halving and int(share * STAGES) > dropped:
                dropped = int(share * STAGES)
                _drop_half(tried)

    def _stage_worlds(self) -> int:
        return max(4, min(50, self.settings.worlds // STAGES))

    def _tried_in(self, worlds: np.ndarray, counts: np.ndarray, seat: int, tried: Tried, exact: bool) -> Tried:
        """The cards that are still in it, tried in some more worlds."""
        chosen = sum(1 << int(card) for card in tried.cards[tried.alive])
        found = np.empty((len(worlds), int(tried.alive.sum())))
        worlds = np.ascontiguousarray(worlds)
        if exact:
            solve_worlds(worlds, seat, chosen, found)
        else:
            try_worlds(self.weights, worlds, seat, chosen, found)
        results = np.full((len(worlds), len(tried.cards)), np.nan)
        results[:, tried.alive] = found
        return tried._replace(
            results=np.concatenate([tried.results, results]), counts=np.concatenate([tried.counts, counts])
        )


def _drop_half(tried: Tried) -> None:
    """The worse half of the cards is out; one always stays."""
    values = np.where(tried.alive, tried.values(), -np.inf)
    keep = max(1, (int(tried.alive.sum()) + 1) // 2)
    order = np.argsort(-values, kind="stable")
    tried.alive[order[keep:]] = False
