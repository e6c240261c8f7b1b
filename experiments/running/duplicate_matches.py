"""Games between two players, and what can be said about them: the library behind `experiments.arena`.

Every deal is played twice, the second time with the sides changed, so that the luck of the cards cancels; where a game
has a dealer, the deal goes round. Games of this project between compiled players run in batches; everything else takes
the way through pyspiel. A confidence interval treats the two games of a deal as one observation.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from matplotlib.figure import Figure
from open_spiel.python.policy import Policy
from rich.progress import track

import cardspiel  # noqa: F401 registers our games
from cardtable.batch import Batch, play_on
from cardtable.bots import KernelBot, MonteCarloBot
from cardtable.parameters import UserError
from cardtable.spiel import CardGame
from experiments.running import plots, tables
from solvers.policies import load_policy

CONFIDENCE = 1.96  # standard errors on either side of a 95% interval
MONTE_CARLO = "monte_carlo"  # the name of the flat Monte Carlo player, and what it is unless told otherwise
MONTE_CARLO_DEFAULTS = {"worlds": "100", "rollout": "random"}


class Player(NamedTuple):
    """`compiled` is a compiled player (None: choose at random) if `is_compiled`; `make_bot` always works."""

    name: str
    make_bot: Callable[[pyspiel.Game, int, int], pyspiel.Bot]
    is_compiled: bool
    compiled: Callable | None = None
    knows_every_dealer: bool = True  # a policy file is for one game exactly


class PolicyBot(pyspiel.Bot):
    """Draws its actions from a policy. (OpenSpiel 2.0.2 has such a bot, but it fails where 0 is the only action.)"""

    def __init__(self, player_id: int, policy: Policy, seed: int) -> None:
        super().__init__()
        self._player_id = player_id
        self._policy = policy
        self._rng = np.random.default_rng(seed)

    def step(self, state: pyspiel.State) -> int:
        probabilities = self._policy.action_probabilities(state, self._player_id)
        weights = np.array(list(probabilities.values()))
        return int(self._rng.choice(list(probabilities), p=weights / weights.sum()))


@dataclass
class Games:
    """Finished games of one seating: row i belongs to deal i."""

    returns: np.ndarray  # (deals, players)
    states: np.ndarray | None  # final state arrays, for games of this project


class Estimate(NamedTuple):
    """A ratio of sums with its standard error; `weight` is the sum of the denominators."""

    mean: float
    error: float
    weight: float

    @property
    def low(self) -> float:
        return self.mean - CONFIDENCE * self.error

    @property
    def high(self) -> float:
        return self.mean + CONFIDENCE * self.error


def require_sequential(game: pyspiel.Game) -> None:
    kind = game.get_type()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise UserError(f"{kind.short_name} is not a sequential game")
    if game.num_players() < 2:
        raise UserError(f"{kind.short_name} has one player only")


def package_module(game: pyspiel.Game, module: str) -> Any | None:
    """The module of that name in the game's package (`coinche_spiel.players`), if the game and the module are ours."""
    if not isinstance(game, CardGame):
        return None
    name = f"{type(game).__module__.split('.')[0]}.{module}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def compiled_players(game: pyspiel.Game) -> Mapping[str, Callable]:
    """The players of the game's package; one whose players cannot play every variant has `players_for(game)`."""
    module = package_module(game, "players")
    if module is None:
        return {}
    return module.players_for(game) if hasattr(module, "players_for") else module.PLAYERS


def metrics_of(game: pyspiel.Game) -> Callable | None:
    """team_metrics(states, returns, seat) of the game's package, if it has metrics for this game."""
    module = package_module(game, "metrics")
    return module.team_metrics if module is not None and game.get_type().short_name in module.GAMES else None


def find_player(text: str, game: pyspiel.Game) -> Player:
    """The player a flag names; raises UserError if there is none."""
    own = compiled_players(game)
    if text == "random":
        return Player(text, _random_bot, True)
    if text in own:
        return Player(text, lambda g, seat, seed: KernelBot(g, seat, own[text], seed), True, own[text])
    if text.partition("(")[0] == MONTE_CARLO:
        return _monte_carlo_player(text, game)
    if Path(text).is_file():
        return _policy_player(text, game)
    if ":" in text:
        return _imported_player(text, game)
    if text in pyspiel.registered_bots():
        return Player(text, lambda g, seat, seed: pyspiel.load_bot(text, g, seat), False)
    known = ", ".join(dict.fromkeys(("random", *own, *((MONTE_CARLO,) if isinstance(game, CardGame) else ()))))
    raise UserError(
        f"there is no player {text!r} for {game.get_type().short_name}; known: {known}, a policy file, module:function,"
        f" or a bot of OpenSpiel ({', '.join(pyspiel.registered_bots())})"
    )


def _random_bot(game: pyspiel.Game, seat: int, seed: int) -> pyspiel.Bot:
    return pyspiel.make_uniform_random_bot(seat, seed % (1 << 31))


def _monte_carlo_player(text: str, game: pyspiel.Game) -> Player:
    """`monte_carlo`, or with options as in `monte_carlo(worlds=100,rollout=team)`."""
    if not isinstance(game, CardGame):
        raise UserError(f"{MONTE_CARLO} plays the games of this project only, not {game.get_type().short_name}")
    given = dict(re.findall(r"(\w+)=(\w+)", text))
    options = ",".join(f"{name}={value}" for name, value in given.items())
    if text not in (MONTE_CARLO, f"{MONTE_CARLO}({options})") or not given.keys() <= MONTE_CARLO_DEFAULTS.keys():
        raise UserError(f"the player {text!r} cannot be read; allowed: {MONTE_CARLO}(worlds=100,rollout=random)")
    worlds, rollout = (given.get(name, default) for name, default in MONTE_CARLO_DEFAULTS.items())
    if not worlds.isdecimal() or int(worlds) < 1:
        raise UserError(f"worlds is {worlds} in the player {text!r}; allowed: a whole number from 1")
    policies = {"random": None, **compiled_players(game)}
    if rollout not in policies:
        raise UserError(f"rollout is {rollout} in the player {text!r}; allowed: {', '.join(policies)}")
    return Player(text, lambda g, seat, seed: MonteCarloBot(g, seat, int(worlds), policies[rollout], seed), False)


def _policy_player(path: str, game: pyspiel.Game) -> Player:
    try:
        policy = load_policy(path, game)
    except ValueError as error:
        raise UserError(str(error)) from None
    return Player(Path(path).stem, lambda g, seat, seed: PolicyBot(seat, policy, seed), False, None, False)


def _imported_player(text: str, game: pyspiel.Game) -> Player:
    module, _, function = text.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UserError(f"the player {text!r} cannot be imported: {error}") from None
    return Player(function, lambda g, seat, seed: make(g, seat), False)


def sides_of(game: pyspiel.Game) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seats of the first and of the second side."""
    teams: tuple[tuple[int, ...], ...] = getattr(game, "teams", ())
    if len(teams) == 2:
        return tuple(teams[0]), tuple(teams[1])
    seats = range(game.num_players())
    return tuple(seats[0::2]), tuple(seats[1::2])


def dealt_around(game: pyspiel.Game) -> list[pyspiel.Game]:
    """The same game with every dealer in turn, if it has a dealer and the player has not asked for a certain one."""
    parameters = game.get_parameters()
    if parameters.get("dealer") != -1:
        return [game]
    name = game.get_type().short_name
    return [pyspiel.load_game(name, {**parameters, "dealer": seat}) for seat in range(game.num_players())]


class Arena:
    """Two players and a game; `play` gives the games of both seatings."""

    def __init__(self, game: pyspiel.Game, first: Player, second: Player, seed: int = 1) -> None:
        require_sequential(game)
        self.tables = dealt_around(game) if first.knows_every_dealer and second.knows_every_dealer else [game]
        self.sides = sides_of(game)
        self.players = (first, second)
        self.seed = seed

    @property
    def in_batches(self) -> bool:
        """Whether rules and both players are compiled."""
        return all(isinstance(game, CardGame) for game in self.tables) and all(p.is_compiled for p in self.players)

    def play(self, deals: int, show_progress: bool = False) -> tuple[Games, Games]:
        """Plays every deal with the first player on the first side, and again with the sides changed.

        Deal i has dealer i modulo the number of dealers.
        """
        return self._play_batches(deals) if self.in_batches else self._play_one_by_one(deals, show_progress)

    def _seated(self, swapped: bool) -> list[Player]:
        """The player of each seat."""
        first, second = self.players[::-1] if swapped else self.players
        return [first if seat in self.sides[0] else second for seat in range(self.tables[0].num_players())]

    def _play_batches(self, deals: int) -> tuple[Games, Games]:
        rounds = len(self.tables)
        size = self.tables[0].rules.state_size
        deal_seeds = np.random.SeedSequence([self.seed, 0]).spawn(rounds)
        played = []
        for swapped in (False, True):
            player_seeds = np.random.SeedSequence([self.seed, 1 + swapped]).spawn(rounds)
            seats = [player.compiled for player in self._seated(swapped)]
            states = np.empty((deals, size), np.int64)
            returns = np.empty((deals, self.tables[0].num_players()))
            for number, game in enumerate(self.tables):
                rows = slice(number, deals, rounds)
                batch = Batch(game.rules, len(range(deals)[rows]), deal_seeds[number])  # the same deals both times
                play_on(game.rules, batch.states, player_seeds[number], seats)
                states[rows], returns[rows] = batch.states, batch.returns()
            played.append(Games(returns, states))
        return played[0], played[1]

    def _play_one_by_one(self, deals: int, show_progress: bool) -> tuple[Games, Games]:
        num_players = self.tables[0].num_players()
        bots = [[self._bots(game, swapped) for game in self.tables] for swapped in (False, True)]
        returns = np.empty((2, deals, num_players))
        arrays: list[list[np.ndarray]] = [[], []]
        for deal in track(range(deals), "playing", console=tables.console, disable=not show_progress, transient=True):
            for seating in range(2):
                table = deal % len(self.tables)
                chance = np.random.default_rng([self.seed, deal])  # the same cards both times
                state = play_one(self.tables[table], bots[seating][table], chance)
                returns[seating, deal] = state.returns()
                if hasattr(state, "array"):
                    arrays[seating].append(state.array.copy())
        states = [np.array(rows) if rows else None for rows in arrays]
        return Games(returns[0], states[0]), Games(returns[1], states[1])

    def _bots(self, game: pyspiel.Game, swapped: bool) -> list[pyspiel.Bot]:
        seeds = np.random.SeedSequence(self.seed).generate_state(game.num_players())
        return [p.make_bot(game, seat, int(seeds[seat])) for seat, p in enumerate(self._seated(swapped))]


def play_one(game: pyspiel.Game, bots: Sequence[pyspiel.Bot], chance: np.random.Generator) -> pyspiel.State:
    """One game between bots; returns the final state."""
    state = game.new_initial_state()
    for bot in bots:
        bot.restart()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            action = outcomes[sample(probabilities, chance.random())]
            actor = -1
        else:
            actor = state.current_player()
            action = bots[actor].step(state)
        for seat, bot in enumerate(bots):
            if actor >= 0 and seat != actor:
                bot.inform_action(state, actor, action)
        state.apply_action(int(action))
    return state


def sample(probabilities: Sequence[float], at: float) -> int:
    """The index that a uniform number in [0, 1) chooses."""
    return min(int(np.searchsorted(np.cumsum(probabilities), at, side="right")), len(probabilities) - 1)


def estimate(numerators: np.ndarray, denominators: np.ndarray) -> Estimate:
    """The ratio of the sums over deals (rows) and seatings (columns), with a standard error over deals.

    Linearised ratio estimator: var = k / (k - 1) * sum (x_i - ratio * n_i)^2 / (sum n)^2 over the k deals.
    """
    x, n = numerators.sum(axis=1), denominators.sum(axis=1)
    total = float(n.sum())
    if total == 0:
        return Estimate(math.nan, math.nan, 0.0)
    ratio = float(x.sum()) / total
    deals = len(x)
    if deals < 2:
        return Estimate(ratio, math.nan, total)
    squares = float(((x - ratio * n) ** 2).sum())
    return Estimate(ratio, math.sqrt(deals / (deals - 1) * squares) / total, total)


def rewards(games: tuple[Games, Games], sides: tuple[tuple[int, ...], tuple[int, ...]], player: int) -> np.ndarray:
    """(deals, 2): the mean return of the seats of player 0 or 1 in each seating."""
    seats = (sides[player], sides[1 - player])
    return np.stack([games[seating].returns[:, list(seats[seating])].mean(axis=1) for seating in range(2)], axis=1)


def figures(game: pyspiel.Game, games: tuple[Games, Games], player: int) -> dict[str, Estimate]:
    """Everything that is measured of one player: for all games the mean return and how games ended, and more where
    the game's package has metrics of its own."""
    sides = sides_of(game)
    mine = rewards(games, sides, player)
    theirs = rewards(games, sides, 1 - player)
    one = np.ones_like(mine)
    found = {"mean return": estimate(mine, one)}
    for seating in range(2):
        side = "first" if (seating == 0) == (player == 0) else "second"
        found[f"on the {side} side"] = estimate(mine[:, [seating]], one[:, [seating]])
    found["ahead"] = estimate((mine > theirs).astype(float), one)
    found["level"] = estimate((mine == theirs).astype(float), one)
    measure = metrics_of(game)
    if measure is not None and games[0].states is not None and games[1].states is not None:
        ratios = [
            measure(games[seating].states, games[seating].returns, sides[(player + seating) % 2][0])
            for seating in range(2)
        ]
        for name in ratios[0]:
            pooled = [np.stack([ratios[seating][name][part] for seating in range(2)], axis=1) for part in range(2)]
            found[name] = estimate(*pooled)
    return found


def rows_of(names: Sequence[str], found: Sequence[Mapping[str, Estimate]]) -> list[dict[str, Any]]:
    """One row per figure, one column per player, for tables."""
    return [
        {"figure": name, **{label: readable(by_name[name]) for label, by_name in zip(names, found, strict=True)}}
        for name in found[0]
    ]


def readable(value: Estimate) -> str:
    if math.isnan(value.mean):
        return "-"
    digits = 3 if abs(value.mean) < 10 else 1
    return f"{value.mean:.{digits}f} ± {CONFIDENCE * value.error:.{digits}f}"


def csv_rows(names: Sequence[str], found: Sequence[Mapping[str, Estimate]]) -> list[dict[str, Any]]:
    return [
        {
            "player": label,
            "figure": name,
            "mean": value.mean,
            "low": value.low,
            "high": value.high,
            "standard_error": value.error,
            "weight": value.weight,
        }
        for label, by_name in zip(names, found, strict=True)
        for name, value in by_name.items()
    ]


def draw(
    title: str,
    names: Sequence[str],
    mine: np.ndarray,
    found: Sequence[Mapping[str, Estimate]],
    with_rates: bool,
) -> Figure:
    """The running mean of the first player; and the rates of both, or how its results spread."""
    figure, axes = plots.plt.subplots(1, 2, figsize=(11, 4.2))
    per_deal = mine.mean(axis=1)
    deals = np.arange(1, len(per_deal) + 1)
    running = np.cumsum(per_deal) / deals
    spread = np.sqrt(np.maximum(np.cumsum(per_deal**2) / deals - running**2, 0) / deals)
    start = min(len(per_deal) - 1, max(20, len(per_deal) // 200))
    axes[0].fill_between(
        deals[start:], (running - CONFIDENCE * spread)[start:], (running + CONFIDENCE * spread)[start:], alpha=0.25
    )
    axes[0].plot(deals[start:], running[start:])
    axes[0].axhline(0, color="black", linewidth=0.8)
    axes[0].set(xlabel="deals, each played twice", ylabel=f"mean return of {names[0]}", title="mean and 95% interval")
    axes[0].xaxis.set_major_locator(plots.plt.MaxNLocator(5))
    axes[0].grid(alpha=0.3)
    if with_rates:
        _draw_rates(axes[1], names, found)
    else:
        values, games = np.unique(mine, return_counts=True)
        if len(values) <= 40:  # a bar for each result
            axes[1].bar(values, games, 0.8 * np.diff(values).min(initial=1.0), alpha=0.7)
        else:
            axes[1].hist(mine.ravel(), bins=40, alpha=0.7)
        axes[1].set(xlabel=f"return of {names[0]} in a game", ylabel="games", title="how games ended")
        axes[1].grid(alpha=0.3)
    figure.suptitle(title)
    figure.tight_layout()
    return figure


def _draw_rates(axis: Any, names: Sequence[str], found: Sequence[Mapping[str, Estimate]]) -> None:
    """The figures that are shares, side by side."""
    shares = [name for name in found[0] if name.endswith("rate") or name.startswith("success")]
    places = np.arange(len(shares))
    for index, (label, by_name) in enumerate(zip(names, found, strict=True)):
        means = [by_name[name].mean for name in shares]
        errors = [CONFIDENCE * by_name[name].error for name in shares]
        axis.barh(places + 0.38 * index - 0.19, means, 0.36, xerr=errors, label=label, capsize=2)
    axis.set_yticks(places, shares)
    axis.invert_yaxis()
    axis.set(xlabel="share", xlim=(0, 1), title="how they play")
    axis.grid(axis="x", alpha=0.3)
    axis.legend(loc="lower right")
