"""Players that search, as `cardtable.player` wants them.

`cards` bids as `strong` does and searches its cards; `expert` bids with learnt points too, in three levels.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cardtable.parameters import bad_value, require_number, require_whole
from cardtable.player import Explanation, Player, find_player
from cardtable.search.beliefs import new_past
from cardtable.search.models import Model, mixtures
from cardtable.spiel import CardGame
from coinche_spiel.bidding.simulator import WORLDS as SIMULATED_WORLDS
from coinche_spiel.cards import NUM_CARDS
from coinche_spiel.double_dummy.search import new_workspace
from coinche_spiel.expert.auctions import new_auction_room
from coinche_spiel.expert.search import (
    DRAWN,
    FULL_WINDOW,
    KEPT,
    LISTENS,
    NUM_SETTINGS,
    WINDOW,
    choose_cards,
    new_room,
)
from coinche_spiel.game import is_whole_game
from coinche_spiel.players import simple_player, strong_player
from coinche_spiel.state import MAX_TRICKS, NUM_ACTIONS, PHASE, PLAYING

BATCH = 32  # games played side by side: each of their moves is slow
MOST_WORLDS = 10_000
LEAST_DRAWN = 1000  # worlds that are weighed: some fifty of them explain the auction, and far fewer are solved at first
# With fewer cards in hand a world is solved more quickly: for hands of 0 to 8 cards, worlds solved for one of `worlds`.
GROWTH = (20.0, 20.0, 20.0, 20.0, 12.0, 6.0, 3.0, 1.5, 1.0)
WINDOW_POINTS = 10
CHUNK = 0.25  # of `worlds`, at a time, where time is the budget


def bidding_models() -> list[Model]:
    """How others may bid in games for which no bids have been learnt."""
    return [Model(player, 0.2, first=NUM_CARDS, end=NUM_ACTIONS) for player in (strong_player, simple_player)]


def playing_models() -> list[Model]:
    """How others may play their cards: by simple rules, by something a little like them, or any way at all.

    Chosen by the log score of the true deal where `strong` plays, and where four searches play.
    """
    habits = ((0.15, 1.0), (0.6, 2.0), (1.0, 1.0))
    return [Model(strong_player, noise, prior, first=0, end=NUM_CARDS) for noise, prior in habits]


class Level(NamedTuple):
    """How well an expert plays."""

    worlds: int
    listen: bool
    read: bool
    bids: str  # whose
    simulated: int  # worlds in which calls are tried; 0: calls are not simulated


LEVELS = {
    "easy": Level(1, False, False, "simple", 0),
    "medium": Level(4, True, False, "caller(worlds=0)", 0),
    "full": Level(20, True, True, "caller(worlds=0)", SIMULATED_WORLDS),
}


class CardSearch:
    """Chooses and explains cards in positions of the play."""

    def __init__(
        self,
        game: CardGame,
        worlds: int,
        models: Sequence[Model],
        power: float,
        window: int,
        milliseconds: float = 0.0,
        listens: bool = False,
    ) -> None:
        """`listens`: calls are judged as learnt bids make them likely, and not by the models."""
        self.rules, self.milliseconds = game.rules, milliseconds
        self.power = power if models or listens else 0.0
        self._addresses = (game.rules.compiled_kernel().addresses(), game.rules.recall.addresses())  # type: ignore
        self._models = mixtures(models)
        self._of_thread = threading.local()
        self.settings = np.zeros(NUM_SETTINGS, np.int64)
        self.settings[WINDOW] = window
        self.settings[LISTENS] = listens
        if milliseconds:
            worlds = max(1, round(CHUNK * worlds))
        for held in range(MAX_TRICKS + 1):
            kept = min(max(1, round(worlds * GROWTH[held])), MOST_WORLDS)
            self.settings[KEPT + held] = kept
            self.settings[DRAWN + held] = max(LEAST_DRAWN, kept) if self.power else kept

    def _arguments(self) -> tuple[Any, ...]:
        own = self._of_thread
        if not hasattr(own, "room"):
            own.past = tuple(new_past(self.rules, len(self._models.noise)))
            own.auction = tuple(new_auction_room(self.rules.state_size))
            own.work = tuple(new_workspace())
            most_drawn, most_kept = self.settings[DRAWN:KEPT].max(), self.settings[KEPT:].max()
            own.room = new_room(self.rules.state_size, int(most_drawn), int(most_kept))
        search = (*self._addresses, tuple(self._models), own.past, own.auction, self.power)
        return (*search, self.settings, own.work, tuple(own.room))

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """The best card in each of these rows of `states`."""
        if self.milliseconds:
            found = self.explain_rows(states, rows, streams)
            return np.array([each.actions[int(np.argmax(each.values))] for each in found], np.int64)  # type: ignore
        chosen = np.empty(len(rows), np.int64)
        choose_cards(*self._arguments(), states, rows, streams, chosen)
        return chosen

    def explain_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        """What each legal card earns on average, with the standard error of its difference to the best one."""
        return [self._explain(states, rows[i : i + 1], streams[i : i + 1]) for i in range(len(rows))]

    def _explain(self, states: np.ndarray, row: np.ndarray, stream: np.ndarray) -> Explanation:
        arguments = (*self._arguments(), states, row, stream, np.empty(1, np.int64))
        room = self._of_thread.room
        results, weights = [], []
        start = time.thread_time()
        while True:
            n, worlds, every = choose_cards(*arguments)
            results.append(room.results[:worlds, :n].copy())
            weights.append(room.weights[:worlds].copy())
            spent = 1000 * (time.thread_time() - start)
            if every or spent * (len(results) + 1) / len(results) >= self.milliseconds:
                break
        actions = room.actions[:n].copy()
        if worlds == 0:  # one legal card
            return Explanation(actions, values=np.zeros(1), errors=np.zeros(1))
        values, errors = weighed(np.concatenate(results), np.concatenate(weights) / len(weights), every)
        return Explanation(actions, values=values, errors=errors)


def weighed(results: np.ndarray, weights: np.ndarray, every: bool) -> tuple[np.ndarray, np.ndarray]:
    """Means of the columns, and standard errors of their differences to the best: none if these are all worlds."""
    means = weights @ results
    differences = results - results[:, [int(np.argmax(means))]]
    if every:
        return means, np.zeros(len(means))
    spread = weights @ (differences - weights @ differences) ** 2
    effective = 1 / (weights**2).sum()
    return means, np.sqrt(spread / max(effective - 1, 1.0))


def cards(
    game: CardGame,
    worlds: int = 20,
    milliseconds: float = 0.0,
    window: int = WINDOW_POINTS,
    listen: bool = True,
    read: bool = True,
    power: float = 1.0,
) -> Player:
    """Bids as `strong`, searches its cards: `worlds` in the first trick, and more as solving gets cheaper.

    `listen` says whether anything is read from the others' calls, `read` whether from their cards, `power` how far all
    that is trusted; `window` is in points.
    """
    search = card_search(game, worlds, milliseconds, window, listen, read, power)
    return searching_player("cards", game, find_player("strong", game), search)


def expert(
    game: CardGame, level: str = "full", worlds: int = 0, milliseconds: float = 0.0, simulated: int = -1
) -> Player:
    """Learnt and simulated bids, searched cards.

    `worlds` and `milliseconds` as in `cards`, 0 for what the level has; `simulated` is the number of worlds in which
    calls are tried, 0 for the fast bidder's calls as they are, -1 for what the level has.
    """
    if level not in LEVELS:
        raise bad_value("level", level, ", ".join(LEVELS))
    require_whole("worlds", worlds, 0, MOST_WORLDS)
    chosen = LEVELS[level]
    search = card_search(game, worlds or chosen.worlds, milliseconds, WINDOW_POINTS, chosen.listen, chosen.read, 1.0)
    require_whole("simulated", simulated, -1, MOST_WORLDS)
    tried = chosen.simulated if simulated < 0 else simulated
    bids = f"caller(worlds={tried})" if tried else chosen.bids
    return searching_player("expert", game, find_player(bids, game), search)


def card_search(
    game: CardGame, worlds: int, milliseconds: float, window: int, listen: bool, read: bool, power: float
) -> CardSearch:
    """The search of these settings; UserError if there is none."""
    require_whole("worlds", worlds, 1, MOST_WORLDS)
    require_number("milliseconds", milliseconds, 0.0)
    require_whole("window", window, FULL_WINDOW)
    require_number("power", power, 0.0, 1.0)
    models = playing_models() if read else []
    listens = listen and is_whole_game(game)
    if listen and not listens:
        models += bidding_models()
    return CardSearch(game, worlds, models, power, window, milliseconds, listens)


def searching_player(name: str, game: CardGame, bidder: Player, search: CardSearch) -> Player:
    """Calls of one player, cards of a search."""

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        chosen = np.empty(len(rows), np.int64)
        playing = states[rows, PHASE] == PLAYING
        for part, choose in ((playing, search.choose_rows), (~playing, bidder.choose_rows)):
            if part.any():
                own = np.ascontiguousarray(streams[part])
                chosen[part] = choose(states, np.ascontiguousarray(rows[part]), own)  # type: ignore[misc]
                streams[part] = own
        return chosen

    def explain_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        found = []
        for index, row in enumerate(rows):
            if game.rules.kernel.current_player(states[row]) < 0:
                raise ValueError("the state has no player to move")
            one = np.array([row])
            if states[row, PHASE] == PLAYING:
                found += search.explain_rows(states, one, streams[index : index + 1])
            else:
                found += explain_calls(game, bidder, states, one, streams[index : index + 1])
        return found

    return Player(
        name,
        game,
        choose_rows=choose_rows,
        explain_rows=explain_rows,
        reproducible=not search.milliseconds,
        batch_size=BATCH,
    )


def explain_calls(
    game: CardGame, bidder: Player, states: np.ndarray, rows: np.ndarray, streams: np.ndarray
) -> list[Explanation]:
    """What the bidder thinks; one that only chooses is sure of what it would call."""
    found = bidder.explain(states, rows, streams)
    if found is not None:
        return found
    assert bidder.choose_rows is not None
    chosen = bidder.choose_rows(states, rows, streams)
    actions = np.empty(NUM_ACTIONS, np.int64)
    sure = []
    for row, call in zip(rows, chosen, strict=True):
        legal = actions[: game.rules.kernel.legal_actions(states[row], actions)].copy()
        sure.append(Explanation(legal, probabilities=(legal == call).astype(float)))
    return sure
