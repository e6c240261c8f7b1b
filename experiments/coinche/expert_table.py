"""The cross table of Coinche: matches with their figures, and what every player's calls and cards cost.

A match is filed as what the first player is ahead in each deal, so that others can compare in pairs, and as the figures
of the literature for both players. Costs are process time, all threads included, of two players' bots at one table:
some players work on threads of their own, which a match does not see.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from cardtable.executors import Executor
from cardtable.files import read_arrays, write_arrays
from cardtable.match import CONFIDENCE, Estimate, card_streams, dealt_around, play_match
from cardtable.parameters import UserError
from cardtable.player import Player
from cardtable.randomness import uniform
from coinche_spiel.state import BIDDING, PHASE
from experiments.running.match_figures import figures
from experiments.running.round_robin import PairResult

COLVER = "experiments.coinche.colver_players:isdd"
COLVER_CARDS = "experiments.coinche.colver_players:isdd_cards"
COLVER_AGENTS = (COLVER, "experiments.coinche.colver_players:heuristic")  # those whose work is counted
# Matches that most is told of, and their deals, by scoring.
LONGER = {
    "mirror": {
        ("bidder", "strong"): 4000,
        ("cards", "strong"): 1000,
        ("expert", "strong"): 1000,
        ("expert", "simple"): 1000,
        ("expert", COLVER): 600,
        ("cards", COLVER_CARDS): 600,
    },
    "points": {("expert", COLVER): 600},
}
# The figures of the paper, and what it quotes of people.
PEOPLE = {"attack rate": "0.40", "contract": "100 to 120", "precision": "10"}
FIGURES = ("attack rate", "contract", "success attacking", "coinche rate", "precision", "capot rate", "void rate")


class Filed(NamedTuple):
    """One match: the result for cross tables, and (2 players, figures, 3) mean, standard error, weight."""

    result: PairResult
    figures: np.ndarray

    def seen_by_the_second(self) -> Filed:
        result = self.result
        turned = PairResult(-result.per_deal, result.decisions[::-1], result.milliseconds[::-1])
        return Filed(turned, self.figures[::-1])


def play(
    game: pyspiel.Game,
    pair: tuple[Player, Player],
    deals: int,
    seed: int,
    executor: Executor,
    on_progress: Callable[[int], None] | None = None,
) -> Filed:
    match = play_match(game, *pair, deals, seed, executor, on_progress)
    found = [figures(game, match, player) for player in range(2)]
    return Filed(PairResult.of(match), np.array([[by_name[name] for name in FIGURES] for by_name in found], np.float64))


def save(path: Path, filed: Filed) -> None:
    write_arrays(path, filed.result._asdict() | {"figures": filed.figures})


def load(path: Path, deals: int) -> Filed:
    """A match saved by `save`; UserError if the file is damaged or of another number of deals."""
    again = "delete it to play the match again"
    try:
        arrays = read_arrays(path, "a match of the cross table")
        filed = Filed(PairResult(*(arrays[name] for name in PairResult._fields)), arrays["figures"])
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged ({error}); {again}") from None
    shapes = [array.shape for array in (*filed.result, filed.figures)]
    kinds = [array.dtype.kind for array in (*filed.result, filed.figures)]
    if shapes != [(deals,), (2,), (2,), (2, len(FIGURES), 3)] or kinds != ["f", "i", "f", "f"]:
        raise UserError(f"{path} is not a match of {deals:,} deals; {again}")
    if not np.isfinite(filed.result.per_deal).all() or np.isinf(filed.result.milliseconds).any():
        raise UserError(f"{path} has results that are no numbers; {again}")
    return filed


def longer_rows(
    matches: dict[tuple[str, str], Filed],
    players: Mapping[str, Player],
    costs: Mapping[tuple[str, str], tuple[Cost, Cost]],
) -> list[dict[str, Any]]:
    """One row a match: who was ahead, what both of them cost, and how the first bid."""
    return [
        {
            "first": players[first].label,
            "second": players[second].label,
            "points a deal": str(filed.result.score),
            "deals": len(filed.result.per_deal),
        }
        | {
            f"ms a {what}": " / ".join(f"{getattr(cost, what):.2g}" for cost in costs[first, second])
            for what in Cost._fields
        }
        | {name: in_words(Estimate(*filed.figures[0, place])) for place, name in enumerate(FIGURES)}
        for (first, second), filed in matches.items()
    ]


def pooled(rows: Sequence[np.ndarray]) -> Estimate:
    """One figure over several matches, each (mean, standard error, weight): their weighed mean."""
    known = np.array([row for row in rows if row[2] > 0 and np.isfinite(row[:2]).all()])
    if len(known) == 0:
        return Estimate(float("nan"), float("nan"), 0.0)
    weights = known[:, 2] / known[:, 2].sum()
    error = float(np.sqrt(((weights * known[:, 1]) ** 2).sum()))
    return Estimate(float(weights @ known[:, 0]), error, float(known[:, 2].sum()))


def style_of(player: int, matches: dict[tuple[int, int], Filed]) -> dict[str, Estimate]:
    """How a player plays, over all its matches."""
    mine = [filed.figures[pair.index(player)] for pair, filed in matches.items() if player in pair]
    return {name: pooled([rows[place] for rows in mine]) for place, name in enumerate(FIGURES)}


class Cost(NamedTuple):
    """CPU milliseconds of a call and of a card, where there is a choice, and of all that a team decides in a game."""

    call: float
    card: float
    game: float


def cost_of(game: pyspiel.Game, pair: tuple[Player, Player], deals: int, seed: int) -> tuple[Cost, Cost]:
    """What decisions of two players cost at one table, each deal in both seatings; the first compiles, uncounted."""
    seconds, counts = np.zeros((2, 2)), np.zeros((2, 2), np.int64)
    tables = dealt_around(game)
    for deal, seating in [(deals, 0), *itertools.product(range(deals), range(2))]:
        table = tables[deal % len(tables)]
        of_seat = [(seat + seating) % 2 for seat in range(4)]
        bots = [pair[side].bot(table, seat, seed) for seat, side in enumerate(of_seat)]
        for bot in bots:
            bot.restart()
        state = table.new_initial_state()
        dealt = table.rules.new_state()
        cards = card_streams(seed, range(deal, deal + 1))[0]
        table.rules.kernel.deal(dealt, cards)
        state.follow_chance(dealt, lambda cards=cards: uniform(cards))
        while not state.is_terminal():
            seat = state.current_player()
            choice = len(state.legal_actions()) > 1
            before = time.process_time()
            action = bots[seat].step(state)
            if deal < deals and choice:
                kind = 0 if state.array[PHASE] == BIDDING else 1
                seconds[of_seat[seat], kind] += time.process_time() - before
                counts[of_seat[seat], kind] += 1
            for other, bot in enumerate(bots):
                if other != seat:
                    bot.inform_action(state, seat, action)
            state.apply_action(action)
    each = 1000 * seconds / np.maximum(counts, 1)
    games = 1000 * seconds.sum(axis=1) / (2 * deals)
    first, second = (Cost(*map(float, (*each[side], games[side]))) for side in range(2))
    return first, second


def in_words(estimate: Estimate) -> str:
    """A figure with its 95% interval, short."""
    if not np.isfinite(estimate.mean):
        return "-"
    digits = 2 if abs(estimate.mean) < 2 else 0
    return f"{estimate.mean:.{digits}f} ± {CONFIDENCE * estimate.standard_error:.{digits}f}"
