"""Openings against three who pass, played out in three ways: the library behind `experiments.coinche_all_pass`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from numba import types
from rich.progress import track

import coinche_spiel  # noqa: F401 registers the game
from cardtable import bits
from cardtable.batch import Batch
from cardtable.compiled import compiled, entry_point
from cardtable.executors import Executor
from cardtable.match import finish_games
from cardtable.player import find_player
from coinche_spiel.cards import (
    ALL_CARDS,
    JACK,
    NINE,
    NUM_RANKS,
    NUM_SUITS,
    ONE_SUIT,
    PLAIN_ORDER,
    TRUMP_ORDER,
)
from coinche_spiel.players import NO_BID, simple_opening, strong_opening
from coinche_spiel.state import FIRST_BID, HAND, PASS
from experiments.coinche.open_cards import BATCH, Contracts, are_made
from experiments.running import tables

CONFIDENCE = 1.96
CAPOT_GAIN = 250
FALL_POINTS = 160
LOWEST_BID = 80
SEATS = 4

_TRUMP_ORDER = np.array(TRUMP_ORDER, np.int64)
_PLAIN_ORDER = np.array(PLAIN_ORDER, np.int64)


@compiled
def top_run(cards, order):
    """How many of the highest cards of a suit a hand holds without a gap; `order` lists ranks from weak to strong."""
    run = 0
    while run < NUM_RANKS and bits.contains(cards, order[NUM_RANKS - 1 - run]):
        run += 1
    return run


@compiled
def is_sure_capot(hand, trump):
    """Whether the leader takes all eight tricks, alone against three.

    Each card of an unbroken run from the top wins, and takes a card of the suit from everybody who has one. Others hold
    8 - length of a suit, so a run that long leaves them none: all trumps must be drawn so; in a side suit the run may
    also be all there is.
    """
    for suit in range(NUM_SUITS):
        cards = hand >> NUM_RANKS * suit & ONE_SUIT
        length = bits.count(cards)
        run = top_run(cards, _TRUMP_ORDER if suit == trump else _PLAIN_ORDER)
        if run < NUM_RANKS - length and (suit == trump or run < length):
            return False
    return True


@entry_point(types.Array(types.int64, 1, "C"))
def count_sure_capots(counts):
    """counts[0]: all hands; counts[1]: hands with a sure capot in some suit."""
    hand = (1 << NUM_RANKS) - 1
    while hand <= ALL_CARDS:
        counts[0] += 1
        for trump in range(NUM_SUITS):
            if is_sure_capot(hand, trump):
                counts[1] += 1
                break
        smallest = hand & -hand  # the next larger number with eight bits set
        ripple = hand + smallest
        hand = ripple | ((hand ^ ripple) >> bits.count(smallest - 1) + 2)


@compiled
def cautious_opening(hand):
    """80 with J, 9 and a third trump, the longest such suit, then the first; as value * 4 + suit like the others."""
    best = NO_BID
    most = 2
    for suit in range(NUM_SUITS):
        cards = hand >> NUM_RANKS * suit & ONE_SUIT
        if bits.contains(cards, JACK) and bits.contains(cards, NINE) and bits.count(cards) > most:
            most = bits.count(cards)
            best = NUM_SUITS * 80 + suit
    return best


OPENINGS: dict[str, Callable] = {"simple": simple_opening, "strong": strong_opening, "cautious": cautious_opening}
CARD_PLAYERS = ("random", "simple", "strong")


def after_the_auction(opening: str, deals: int, seed: int) -> tuple[Batch, np.ndarray, np.ndarray]:
    """Dealt games where North has opened (or not) and the others have passed; the four hands; the bids."""
    batch = Batch(pyspiel.load_game("python_coinche").rules, deals, seed)
    hands = batch.states[:, HAND : HAND + SEATS].copy()
    bids = np.array([OPENINGS[opening](int(hand)) for hand in hands[:, 0]])
    value, suit = bids // NUM_SUITS, bids % NUM_SUITS
    batch.step(np.where(bids == NO_BID, PASS, FIRST_BID + NUM_SUITS * (value - LOWEST_BID) // 10 + suit))
    for _ in range(SEATS - 1):
        batch.step(np.full(deals, PASS))
    return batch, hands, bids


def heuristic_play(opening: str, player: str, deals: int, seed: int) -> dict[str, Any]:
    batch, _, bids = after_the_auction(opening, deals, seed)
    game = pyspiel.load_game("python_coinche")
    finish_games(game, batch.states, [find_player(player, game)] * SEATS, seed)
    return _row(opening, player, bids != NO_BID, batch.returns()[:, 0])


def open_play(opening: str, deals: int, seed: int, executor: Executor) -> dict[str, Any]:
    """Everybody plays perfectly with open cards."""
    _, hands, bids = after_the_auction(opening, deals, seed)
    returns = np.zeros(deals)
    opened = np.flatnonzero(bids != NO_BID)
    parts = [opened[start : start + BATCH] for start in range(0, len(opened), BATCH)]
    contracts = [Contracts(bids[part] // NUM_SUITS, hands[part], bids[part] % NUM_SUITS) for part in parts]
    answers = executor.map(are_made, contracts, None)
    title = f"{opening} opening, open cards"
    for part, made in zip(parts, track(answers, title, total=len(parts), console=tables.console), strict=True):
        returns[part] = np.where(made, bids[part] // NUM_SUITS, -FALL_POINTS)
    return _row(opening, "perfect, open cards", bids != NO_BID, returns)


def _row(opening: str, play: str, opened: np.ndarray, returns: np.ndarray) -> dict[str, Any]:
    return {
        "opening": opening,
        "all play": play,
        "deals": len(returns),
        "opens": float(opened.mean()),
        "made": float((returns[opened] > 0).mean()) if opened.any() else math.nan,
        "points a deal": float(returns.mean()),
        "± (95%)": float(CONFIDENCE * returns.std(ddof=1) / math.sqrt(len(returns))),
    }
