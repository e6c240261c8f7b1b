"""How well contracts, capots and the gains of calls are foretold before the cards are played; and fits of forecasts.

A contract of value V with `p` points foretold is taken to be made with probability

    P = 1 / (1 + exp(-(p + shift + 1/2 - V) / spread)),

shift and spread by maximum likelihood (`coinche_spiel.bidding.outcomes`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from cardtable.match import finish_games
from cardtable.player import find_player
from cardtable.randomness import streams
from cardtable.spiel import CardGame, load_game
from coinche_spiel.bidding.players import bidder_call
from coinche_spiel.bidding.simulator import Simulator
from coinche_spiel.bidding.tricks import points_played_out
from coinche_spiel.cards import NUM_SUITS, TOTAL_POINTS
from coinche_spiel.double_dummy import solve_batch
from coinche_spiel.state import (
    BIDDING,
    CAPOT,
    FIRST_BID,
    HAND,
    HAND_SIZE,
    MAX_PLAYERS,
    NONE,
    NUM_TEAMS,
    PASS,
    PHASE,
    POINTS,
    STATE_SIZE,
    TRICKS,
    TRUMP,
    TURN,
    VALUE,
    attacking_team,
    contract_value,
    first_seat,
    level,
)

GAME = "python_coinche"
CARDS = "expert(simulated=0)"  # whose cards are foretold
LEAST_CHANCE = 1e-9  # that a forecast is taken to give
FIRST_CAPOT = FIRST_BID + NUM_SUITS * CAPOT


class Piece(NamedTuple):
    """Some deals."""

    seed: int
    first: int
    last: int
    worlds: int  # of simulated calls


def contracts_of(shared: None, piece: Piece) -> np.ndarray:
    """(contracts, 5): value, level, and the points of the attack by open cards, by the network, and in play."""
    game = load_game(GAME)
    states = [_bid(game, state) for state in _dealt(game, piece)]
    states = [state for state in states if state[VALUE] not in (NONE, CAPOT)]
    if not states:
        return np.empty((0, 5), np.int64)
    values = [contract_value(state) for state in states]
    opened = [_of_attack(state, min(open_points(state), TOTAL_POINTS)) for state in states]
    network = [_of_attack(state, points_played_out(state)) for state in states]
    played = [_of_attack(state, state[POINTS]) for state in _played(game, states, piece)]
    levels = [level(state) for state in states]
    return np.column_stack([values, levels, opened, network, played]).astype(np.int64)


def capots_of(shared: None, piece: Piece) -> np.ndarray:
    """(capots, 3): the share of worlds that promises them, whether open cards do, and whether they are made.

    Of each auction the first position from which a capot in some suit is worth a try, and the likeliest of these.
    """
    game = load_game(GAME)
    simulator = Simulator(STATE_SIZE, worlds=piece.worlds)
    states: list[np.ndarray] = []
    promised, opened = [], []
    draws = streams(piece.seed, (1,), range(piece.first, piece.last))
    for state, stream in zip(_dealt(game, piece), draws, strict=True):
        while state[PHASE] == BIDDING:
            shares = simulator.promised_capots(state, stream)
            if shares:
                suit = max(shares, key=lambda suit: shares[suit])
                _call(game, state, FIRST_CAPOT + suit)
                while state[PHASE] == BIDDING:
                    _call(game, state, PASS)
                states.append(state)
                promised.append(shares[suit])
                opened.append(_swept(state, open_points(state)))
                break
            _call(game, state, bidder_call(state))
    if not states:
        return np.empty((0, 3))
    made = [state[TRICKS + attacking_team(state)] == state[HAND_SIZE] for state in _played(game, states, piece)]
    return np.column_stack([promised, opened, made]).astype(np.float64)


def calls_of(shared: None, piece: Piece) -> np.ndarray:
    """(calls, 3): what a simulated call promises over the fast bidder's, its standard error, and what it brings.

    Of every position of an auction of fast bidders in which the best simulated call is another one. After either call
    fast bidders go on, and everybody searches for cards.
    """
    game = load_game(GAME)
    simulator = Simulator(STATE_SIZE, worlds=piece.worlds, caution=0.0)
    claims, ends, sides = [], [], []
    draws = streams(piece.seed, (2,), range(piece.first, piece.last))
    for state, stream in zip(_dealt(game, piece), draws, strict=True):
        while state[PHASE] == BIDDING:
            fast, (best, gain, error) = bidder_call(state), simulator.best_change(state, stream)
            if best != fast:
                claims.append((gain, error))
                sides.append(1 if state[TURN] % NUM_TEAMS == 0 else -1)
                for call in (fast, best):
                    after = state.copy()
                    _call(game, after, call)
                    ends.append(_bid(game, after))
            _call(game, state, fast)
    if not claims:
        return np.empty((0, 3))
    payoffs, returns = [], np.empty(MAX_PLAYERS)
    for state in _played(game, ends, piece):
        game.rules.kernel.returns(state, returns)
        payoffs.append(returns[0])
    pairs = np.array(payoffs).reshape(-1, 2)
    return np.column_stack([np.array(claims), (pairs[:, 1] - pairs[:, 0]) * np.array(sides)])


def open_points(state: np.ndarray) -> int:
    """Of North and South if nobody errs; 252 if they take all tricks."""
    hands = state[None, HAND : HAND + MAX_PLAYERS].copy()
    return int(solve_batch(hands, int(state[TRUMP]), int(first_seat(state)), sweep_bonus=True)[0])


def _swept(state: np.ndarray, north_south: int) -> bool:
    return north_south > TOTAL_POINTS if attacking_team(state) == 0 else north_south <= 0


def _of_attack(state: np.ndarray, north_south: int) -> int:
    return int(north_south) if attacking_team(state) == 0 else TOTAL_POINTS - int(north_south)


def _dealt(game: CardGame, piece: Piece) -> list[np.ndarray]:
    states = []
    for stream in streams(piece.seed, (0,), range(piece.first, piece.last)):
        state = game.rules.new_state()
        game.rules.kernel.deal(state, stream)
        states.append(state)
    return states


def _call(game: CardGame, state: np.ndarray, call: int) -> None:
    game.rules.kernel.apply_action(state, int(call))


def _bid(game: CardGame, state: np.ndarray) -> np.ndarray:
    while state[PHASE] == BIDDING:
        _call(game, state, bidder_call(state))
    return state


def _played(game: CardGame, states: list[np.ndarray], piece: Piece) -> np.ndarray:
    """The same deals at their end, everybody searching for cards."""
    rows = np.stack(states)
    finish_games(game, rows, [find_player(CARDS, game)] * MAX_PLAYERS, piece.seed, piece.first)
    return rows


# ---------------------------------------------------------------------------------------------------- fits


class Line(NamedTuple):
    """P(made) = 1 / (1 + exp(-(weights . (forecasts - value) + shift + 1/2) / spread)), weights adding up to one."""

    shift: float
    spread: float
    weights: tuple[float, ...]


def chances(line: Line, values: np.ndarray, forecasts: np.ndarray) -> np.ndarray:
    """How likely these contracts are made; one column of forecasts for each weight."""
    margins = (forecasts - values[:, None]) @ np.array(line.weights) + line.shift + 0.5
    return expit(margins / line.spread)


def log_loss(chance: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Of each forecast, in nats."""
    return -np.log(np.clip(np.where(made, chance, 1 - chance), LEAST_CHANCE, None))


def fit_line(values: np.ndarray, forecasts: np.ndarray, made: np.ndarray) -> Line:
    """By maximum likelihood."""
    columns = forecasts.shape[1]

    def line_of(x: np.ndarray) -> Line:
        rest = [float(weight) for weight in x[2:]]
        return Line(float(x[0]), float(np.exp(x[1])), (1 - sum(rest), *rest))

    start = np.concatenate([[0.0, np.log(12.0)], np.full(columns - 1, 1 / columns)])

    def loss(x: np.ndarray) -> float:
        return float(log_loss(chances(line_of(x), values, forecasts), made).mean())

    return line_of(minimize(loss, start, method="BFGS").x)
