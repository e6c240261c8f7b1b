"""Matches: the one engine that plays games between players, on duplicate deals.

In a match every deal is played twice, the second time with the sides changed, so that the luck of the cards cancels;
where a game has a dealer, the deal goes round. Every deal has its own random numbers, for the cards and for the player
of each seat, so the result does not depend on how the deals are split over workers. Players with compiled code play in
a compiled loop; those who answer in rows play many games in lock step; everybody else takes the way through pyspiel.
All three ways play the same games.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from cardtable.bots import SeatBot
from cardtable.executors import Executor, Serial
from cardtable.parameters import UserError, require_whole
from cardtable.player import Player, player_streams
from cardtable.randomness import sample_index, streams, uniform
from cardtable.rows import deal_rows, finish_rows, returns_of_rows, settle_rows, step_rows
from cardtable.rules import TERMINAL, Rules, player_addresses
from cardtable.spiel import CardGame

CONFIDENCE = 1.96  # standard errors on either side of a 95% interval
COMPILED_PART = 1024  # deals of one piece of work between compiled players
BOT_PART = 16  # through pyspiel; bots that draw their own random numbers are made anew for each piece
MOST_DEALS = 10**9
CARDS_PATH = (0,)  # where the random numbers of the cards are among those of a seed


class Estimate(NamedTuple):
    """A mean with its standard error; `n` is the number of observations, or the sum of a ratio's denominators."""

    mean: float
    standard_error: float
    n: float

    @property
    def low(self) -> float:
        """The lower end of the 95% interval."""
        return self.mean - CONFIDENCE * self.standard_error

    @property
    def high(self) -> float:
        return self.mean + CONFIDENCE * self.standard_error

    @staticmethod
    def of(values: np.ndarray) -> Estimate:
        """The mean of independent observations: s.e. = sqrt(sum (x - mean)^2 / (n - 1) / n)."""
        n = len(values)
        error = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return Estimate(float(values.mean()) if n else math.nan, error, n)

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "-"
        digits = 3 if abs(self.mean) < 10 else 1
        return f"{self.mean:.{digits}f} ± {CONFIDENCE * self.standard_error:.{digits}f}"


@dataclass
class Games:
    """Finished games of one seating: row i belongs to deal i."""

    returns: np.ndarray  # (deals, players)
    states: np.ndarray | None  # final state arrays, for games of this project
    decisions: np.ndarray  # for each seat: how often it had a choice
    seconds: np.ndarray  # for each seat: CPU seconds it thought, where that can be told apart; nan otherwise


@dataclass
class Match:
    """Two players on the same deals, in both seatings."""

    sides: tuple[tuple[int, ...], tuple[int, ...]]
    games: tuple[Games, Games]

    def rewards(self, player: int) -> np.ndarray:
        """(deals, 2): the mean return of the seats of player 0 or 1 in each seating."""
        held = [self.seats(player, seating) for seating in range(2)]
        return np.stack([self.games[k].returns[:, list(held[k])].mean(axis=1) for k in range(2)], axis=1)

    def seats(self, player: int, seating: int) -> tuple[int, ...]:
        return self.sides[(player + seating) % 2]

    def per_deal(self) -> np.ndarray:
        """What the first player is ahead of the second, per deal: half the difference of their mean returns.

        Where the sides are of one size and their returns sum to zero, this is just the first player's mean return.
        """
        return (self.rewards(0) - self.rewards(1)).mean(axis=1) / 2

    @property
    def score(self) -> Estimate:
        return Estimate.of(self.per_deal())

    def decisions(self, player: int) -> int:
        return int(sum(self.games[k].decisions[list(self.seats(player, k))].sum() for k in range(2)))

    def milliseconds(self, player: int) -> float:
        """CPU time of a decision; nan where it was not measured (two compiled players)."""
        seconds = sum(self.games[k].seconds[list(self.seats(player, k))].sum() for k in range(2))
        return 1000 * float(seconds) / max(self.decisions(player), 1)


def require_sequential(game: pyspiel.Game) -> None:
    kind = game.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise UserError(f"{kind.short_name} is not a sequential game")
    if game.num_players() < 2:
        raise UserError(f"{kind.short_name} has one player only")


def sides_of(game: pyspiel.Game) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seats of the first and of the second side: the two teams, or else even and odd seats."""
    teams: tuple[tuple[int, ...], ...] = getattr(game, "teams", ())
    if len(teams) == 2:
        return tuple(teams[0]), tuple(teams[1])
    seats = range(game.num_players())
    return tuple(seats[0::2]), tuple(seats[1::2])


def seated(game: pyspiel.Game, first: Player, second: Player) -> list[Player]:
    """The player of each seat when the first player has the first side."""
    sides = sides_of(game)
    return [first if seat in sides[0] else second for seat in range(game.num_players())]


def dealt_around(game: pyspiel.Game) -> list[pyspiel.Game]:
    """The same game with every dealer in turn, if it has a dealer and nobody has asked for a certain one."""
    parameters = game.get_parameters()
    if parameters.get("dealer") != -1:
        return [game]
    name = game.get_type().short_name
    return [pyspiel.load_game(name, {**parameters, "dealer": seat}) for seat in range(game.num_players())]


def play_match(
    game: pyspiel.Game,
    first: Player,
    second: Player,
    deals: int,
    seed: int = 1,
    executor: Executor | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Match:
    """Plays every deal with the first player on the first side, and again with the sides changed.

    `on_progress` is called with the number of games just finished, of 2 * deals.
    """
    # What players draw in one seating tells nothing of what they draw in the other, even if they are the same.
    again = int(np.random.SeedSequence(seed, spawn_key=(3,)).generate_state(1)[0])
    one = play_games(game, seated(game, first, second), deals, seed, executor, on_progress)
    two = play_games(game, seated(game, second, first), deals, seed, executor, on_progress, player_seed=again)
    return Match(sides_of(game), (one, two))


def play_games(
    game: pyspiel.Game,
    seats: Sequence[Player],
    deals: int,
    seed: int = 1,
    executor: Executor | None = None,
    on_progress: Callable[[int], None] | None = None,
    player_seed: int | None = None,
) -> Games:
    """Plays `deals` games, with one player for each seat. Deal i has dealer i modulo the number of dealers.

    The players have the same seed as the cards unless they are given one of their own.
    """
    require_sequential(game)
    require_whole("deals", deals, 1, MOST_DEALS)
    if len(seats) != game.num_players():
        raise ValueError(f"{game.num_players()} players are needed, one for each seat, not {len(seats)}")
    task = Task(game, tuple(seats), seed, seed if player_seed is None else player_seed)
    size = deals if any(player.stateful for player in seats) else task.part_size
    parts = [(start, min(start + size, deals)) for start in range(0, deals, size)]
    task.prepare()  # compiles here, so that workers do not do it all at once
    played = []
    for (start, end), games in zip(parts, (executor or Serial()).map(play_part, parts, task), strict=True):
        played.append(games)
        if on_progress is not None:
            on_progress(end - start)
    states = [games.states for games in played]
    return Games(
        np.concatenate([games.returns for games in played]),
        None if states[0] is None else np.concatenate(states),  # type: ignore[arg-type]
        np.sum([games.decisions for games in played], axis=0),
        np.sum([games.seconds for games in played], axis=0),
    )


@dataclass
class Task:
    """What all parts of a match share: the game, who sits where, and the seeds of the cards and of the players."""

    game: pyspiel.Game
    seats: tuple[Player, ...]
    seed: int
    player_seed: int
    tables: list[pyspiel.Game] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        everywhere = all(player.every_dealer for player in self.seats)
        self.tables = dealt_around(self.game) if everywhere else [self.game]

    def __reduce__(self) -> tuple:
        return _task_of_name, (str(self.game), self.seats, self.seed, self.player_seed)

    @property
    def is_compiled(self) -> bool:
        return isinstance(self.game, CardGame) and all(player.compiled is not None for player in self.seats)

    @property
    def in_rows(self) -> bool:
        return isinstance(self.game, CardGame) and all(player.choose_rows is not None for player in self.seats)

    @property
    def part_size(self) -> int:
        """Deals of one piece of work: never a matter of how many workers there are."""
        if self.is_compiled:
            return COMPILED_PART
        return min(player.batch_size for player in self.seats) if self.in_rows else BOT_PART

    def prepare(self) -> None:
        if isinstance(self.game, CardGame):
            self.game.rules.compiled_kernel()


def _task_of_name(game_name: str, *rest: Any) -> Task:
    return Task(pyspiel.load_game(game_name), *rest)


def card_streams(seed: int, deals: np.ndarray | range) -> np.ndarray:
    """The random numbers of the cards, one generator for each deal."""
    return streams(seed, CARDS_PATH, deals)


def play_part(task: Task, part: tuple[int, int]) -> Games:
    """Plays the deals from part[0] to part[1] - 1."""
    deals = range(*part)
    if not task.in_rows:
        return _play_bots(task, deals)
    count, players = len(deals), task.game.num_players()
    cards = card_streams(task.seed, deals)
    own = np.stack([player_streams(task.player_seed, seat, deals) for seat in range(players)], axis=1)
    states = np.empty((count, task.game.rules.state_size), np.int64)
    returns = np.empty((count, players))
    decisions, seconds = np.zeros(players, np.int64), np.zeros(players)
    for number, table in enumerate(task.tables):
        rows = np.arange((number - part[0]) % len(task.tables), count, len(task.tables))
        if len(rows) == 0:
            continue
        rules = table.rules
        dealt = np.empty((len(rows), rules.state_size), np.int64)
        table_cards, table_own = cards[rows], own[rows]
        deal_rows(rules.compiled_kernel().addresses(), rules.root, dealt, np.arange(len(rows)), table_cards)
        decisions += _finish(rules, task, dealt, table_cards, table_own, seconds)
        states[rows] = dealt
        finished = np.empty((len(rows), players))
        returns_of_rows(rules.compiled_kernel().addresses(), dealt, finished)
        returns[rows] = finished
    return Games(returns, states, decisions, seconds)


def finish_games(
    game: CardGame, states: np.ndarray, seats: Sequence[Player], seed: int = 1, first_deal: int = 0
) -> None:
    """Plays games that have been dealt, one for each row of `states`, to their end, in place."""
    deals = range(first_deal, first_deal + len(states))
    own = np.stack([player_streams(seed, seat, deals) for seat in range(game.num_players())], axis=1)
    _finish(
        game.rules,
        Task(game, tuple(seats), seed, seed),
        states,
        card_streams(seed, deals),
        own,
        np.zeros(game.num_players()),
    )


def _finish(
    rules: Rules, task: Task, states: np.ndarray, cards: np.ndarray, own: np.ndarray, seconds: np.ndarray
) -> np.ndarray:
    """Plays all rows to the end; returns how often each seat had a choice, and adds up the seconds it thought."""
    addresses = rules.compiled_kernel().addresses()
    sizes = np.array([rules.num_distinct_actions, rules.max_chance_outcomes], np.int64)
    decisions = np.zeros(rules.num_players, np.int64)
    if task.is_compiled:
        choosers = [player.compiled for player in task.seats if player.compiled is not None]
        finish_rows(addresses, player_addresses(choosers), states, cards, own, sizes, decisions)
        seconds += math.nan
        return decisions
    turn = np.empty(len(states), np.int64)
    while True:
        settle_rows(addresses, states, cards, sizes, turn)
        if (turn == TERMINAL).all():
            return decisions
        for rows, held, player in _asked(task.seats, turn):
            before = time.thread_time()
            asked = own[rows, turn[rows]]
            chosen = np.ascontiguousarray(player.choose_rows(states, rows, asked), np.int64)  # type: ignore[misc]
            own[rows, turn[rows]] = asked
            seats = np.bincount(turn[rows], minlength=rules.num_players)
            decisions += seats
            # A player may hold several seats: each gets its share of the time.
            seconds[held] += (time.thread_time() - before) * seats[held] / len(rows)
            bad = step_rows(addresses, states, rows, chosen, sizes)
            if bad >= 0:
                raise ValueError(f"the player {player.name!r} chose action {chosen[bad]}, which is not legal")


def _asked(seats: Sequence[Player], turn: np.ndarray) -> Iterator[tuple[np.ndarray, list[int], Player]]:
    """The rows in which each player is to move, with the seats it holds."""
    for player in dict.fromkeys(seats):
        held = [seat for seat, other in enumerate(seats) if other is player]
        rows = np.flatnonzero(np.isin(turn, held))
        if len(rows):
            yield rows, held, player


# ------------------------------------------------------------------------------------------------ through pyspiel


def _play_bots(task: Task, deals: range) -> Games:
    players = task.game.num_players()
    returns = np.empty((len(deals), players))
    arrays: dict[int, np.ndarray] = {}
    decisions, seconds = np.zeros(players, np.int64), np.zeros(players)
    for number, table in enumerate(task.tables):
        bots = [_seat_bot(task, table, seat, deals[0]) for seat in range(players)]
        for deal in deals:
            if deal % len(task.tables) != number:
                continue
            for bot in bots:
                if isinstance(bot, SeatBot):
                    bot.start(deal)
                else:
                    bot.restart()
            state = _play_one(table, bots, card_streams(task.seed, range(deal, deal + 1))[0], decisions, seconds)
            returns[deal - deals[0]] = state.returns()
            if isinstance(table, CardGame):
                arrays[deal] = state.array.copy()
    states = np.stack([arrays[deal] for deal in deals]) if arrays else None
    return Games(returns, states, decisions, seconds)


def _seat_bot(task: Task, table: pyspiel.Game, seat: int, first_deal: int) -> pyspiel.Bot:
    """Bots that draw random numbers in their own way get a seed of their own in every piece of work."""
    player = task.seats[seat]
    if player.make_bot is None:
        return player.bot(table, seat, task.player_seed)
    own = streams(task.player_seed, (2, seat), range(first_deal, first_deal + 1))
    return player.bot(table, seat, int(own[0, 0] >> np.uint64(33)))


def dealt_state(game: pyspiel.Game, cards: np.ndarray) -> pyspiel.State:
    """A new game, dealt with a row of `card_streams`: the deal that every way of playing a match makes of it."""
    state = game.new_initial_state()
    if isinstance(game, CardGame):
        dealt = game.rules.new_state()
        game.rules.kernel.deal(dealt, cards)
        state.follow_chance(dealt, functools.partial(uniform, cards))
    return state


def let_chance_act(state: pyspiel.State, cards: np.ndarray) -> None:
    """Draws the outcome of a chance node."""
    outcomes, chances = zip(*state.chance_outcomes(), strict=True)
    state.apply_action(outcomes[sample_index(cards, np.array(chances), len(chances))])


def _play_one(
    game: pyspiel.Game, bots: Sequence[pyspiel.Bot], cards: np.ndarray, decisions: np.ndarray, seconds: np.ndarray
) -> pyspiel.State:
    """One game between bots; returns the final state."""
    state = dealt_state(game, cards)
    while not state.is_terminal():
        if state.is_chance_node():
            let_chance_act(state, cards)
            continue
        seat = state.current_player()
        before = time.thread_time()
        action = int(bots[seat].step(state))
        seconds[seat] += time.thread_time() - before
        decisions[seat] += len(state.legal_actions()) > 1
        for other, bot in enumerate(bots):
            if other != seat:
                bot.inform_action(state, seat, action)
        state.apply_action(action)
    return state
