"""Players of `colver`, an independent program in Rust, as OpenSpiel bots: `experiments.coinche.colver_players:isdd`.

Those that need none of its downloadable networks; all bid by rules (`improved_v2`). `isdd` solves worlds double dummy,
drawn uniformly. Its usual budget is wall clock, which starves it on a busy machine; here worlds are counted instead, so
many for each size of the hand (`WORLDS`); what that costs is in docs/coinche.md. One of its agents has one number of
worlds, so a seat has an agent for each size of the hand, and all of them follow the deal. It works on one thread if
RAYON_NUM_THREADS=1 is set before it is imported; then the same seed plays the same cards. `heuristic` plays its cards
by rules too. `smart_ismcts`, a tree search over weighed worlds, knows no budget but wall clock: a match of it is not
played the same way twice.
"""

from __future__ import annotations

import os
from typing import Any

import pyspiel

from cardtable import deck
from cardtable.parameters import UserError
from cardtable.randomness import generator
from cardtable.replay import moves_of
from coinche_spiel import state as slots
from coinche_spiel.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, list_cards
from coinche_spiel.players import strong_player

SUIT_THERE = (0, 1, 3, 2)  # colver orders suits S H D C; the same map leads back
# For hands of 2 to 8 cards: each at least what our search for a card costs. With all eight cards it took two even with
# a budget of 20 ms, and these two cost more than ours.
WORLDS = {2: 50, 3: 50, 4: 64, 5: 36, 6: 12, 7: 3, 8: 2}
FEWEST_WORLDS = 2
WITH_CALLS = 3.0  # times as many worlds: what the expert spends on its calls too, colver spends on cards
SLOW = 4.0
MILLISECONDS = 60  # by the clock, for the first card of a tree search; less as hands get shorter
SPEC = """
[play]
method = "{method}"
time_ms = {milliseconds}
determinizations = {worlds}
[bid]
strategy = "improved_v2"
[worlds]
source = "uniform"
"""


def import_colver() -> Any:
    """The package, on one thread, or None if it is not installed."""
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    try:
        import colver
    except ImportError:
        return None
    return colver


def card_there(card: int) -> int:
    """The number of a card in colver, and back."""
    return SUIT_THERE[card // NUM_RANKS] * NUM_RANKS + card % NUM_RANKS


def action_there(action: int) -> int:
    """An action of ours in colver: calls are counted from 0 there."""
    if action < NUM_CARDS:
        return card_there(action)
    call = action - slots.PASS
    if not slots.FIRST_BID <= action < slots.COINCHE:
        return call
    value, suit = divmod(action - slots.FIRST_BID, NUM_SUITS)
    return 1 + NUM_SUITS * value + SUIT_THERE[suit]


class ColverBot(pyspiel.Bot):
    """One seat of `python_coinche`, played by an agent of colver; `bids` may be a compiled player of ours."""

    def __init__(
        self,
        game: pyspiel.Game,
        seat: int,
        seed: int,
        budget: float = 1.0,
        bids: Any = None,
        method: str = "isdd",
        milliseconds: int = 0,
    ) -> None:
        """`budget` is a multiple of `WORLDS`; `milliseconds`, by the clock, are for methods that do not count."""
        super().__init__()
        colver = import_colver()
        if colver is None:
            raise UserError("colver is not installed; `make peers` installs it")
        self._rules, self._colver, self._bids = game.rules, colver, bids
        self._agents = {
            held: colver.Agent(
                SPEC.format(
                    method=method, milliseconds=milliseconds, worlds=max(FEWEST_WORLDS, round(budget * worlds))
                ),
                seat,
                seed,
            )
            for held, worlds in (WORLDS.items() if method == "isdd" else [(max(WORLDS), 1)])
        }
        self.restart()

    def restart(self) -> None:
        self._env: Any = None
        self._seen = 0

    def step(self, state: pyspiel.State) -> int:
        array = state.array
        if array[slots.PHASE] == slots.BIDDING and self._bids is not None:
            return int(self._bids(array, generator(0)))
        if len(state.legal_actions()) == 1:
            return int(state.legal_actions()[0])
        self._follow(array)
        held = int(array[slots.HAND + state.current_player()]).bit_count()
        there = self._agents.get(held, self._agents[max(WORLDS)]).action(self._env)
        return next(action for action in state.legal_actions() if action_there(action) == there)

    def _follow(self, array: Any) -> None:
        """Brings colver's table to the present position, telling the agents of every move."""
        if self._env is None:
            hands = [[card_there(card) for card in list_cards(int(array[deck.DEALT + seat]))] for seat in range(4)]
            self._env = self._colver.Env.deal_with_hands(int(array[slots.DEALER]), hands)
            for agent in self._agents.values():
                agent.init_deal(self._env)
        moves = moves_of(self._rules, array)
        for action in moves[self._seen :]:
            there = action_there(int(action))
            for agent in self._agents.values():
                agent.observe(self._env, there)
            self._env.step(there)
        self._seen = len(moves)


def isdd(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
    """IS-DD with its own bids, which cost nothing, and worlds for the time of a whole deal of our expert."""
    return ColverBot(game, seat, seed, WITH_CALLS)


def isdd_slow(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
    """IS-DD with its own bids and four times the worlds of `WORLDS`."""
    return ColverBot(game, seat, seed, SLOW)


def isdd_cards(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
    """The cards of IS-DD with as many worlds as `WORLDS` says, and the bids of `strong`."""
    return ColverBot(game, seat, seed, bids=strong_player)


def smart_ismcts(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
    """Its tree search over worlds weighed by its heuristic beliefs, with its own bids."""
    return ColverBot(game, seat, seed, method="smart_ismcts", milliseconds=MILLISECONDS)


def heuristic(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
    """Cards by its rules, which cost nothing, with its own bids."""
    return ColverBot(game, seat, seed, method="heuristic")
