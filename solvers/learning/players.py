"""Networks on legal actions as players: what Deep Monte Carlo, DQN and NFSP become. They need no torch.

A player chooses the action of the highest value, or, where the network is a policy, draws from the softmax. With
`worlds` it looks ahead: in worlds in which the hidden cards are dealt again every legal action is tried, and played on
with the network in its own seat and those of its partners, everybody else at random. `thinks=own` leaves the partners'
moves to chance, too, which is right among random players, and `thinks=all` nobody's. What the network thinks of the
position counts as `trust` worlds more. `level=easy` and `level=medium` err on purpose: they draw from a softmax of the
values, wide and narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from cardtable.parameters import UserError, require
from cardtable.player import Explanation, Player, drawing_player, require_same_rules
from cardtable.rows import draw_rows
from cardtable.search.action_values import ActionValues, SeatValues, best_places
from cardtable.search.saved_values import Saved, read_values
from cardtable.spiel import CardGame, is_game
from solvers.learning.playouts import AT_RANDOM, network_values, side_by_side, sizes_of

LEVELS = {"full": 0.0, "medium": 0.35, "easy": 1.0}  # temperature of the softmax, in units of the values
THINKS = ("own", "team", "all")
MOST_WORLDS = 100_000
SEARCH_BATCH = 32
Values = ActionValues | SeatValues


def value_player(
    name: str,
    game: CardGame,
    saved: Saved,
    worlds: int = 0,
    trust: float = 10.0,
    thinks: str = "team",
    level: str = "full",
) -> Player:
    """The player that a network makes."""
    require(0 <= worlds <= MOST_WORLDS, "worlds", worlds, f"0 to {MOST_WORLDS:,}")
    require(trust >= 0.0, "trust", trust, "0 or more")
    require(thinks in THINKS, "thinks", thinks, ", ".join(THINKS))
    require(level in LEVELS, "level", level, ", ".join(LEVELS))
    values: Values = (
        ActionValues(game.rules, saved.shape, saved.weights[0], saved.tells)
        if len(saved.weights) == 1
        else SeatValues(game.rules, saved.shape, saved.weights, saved.tells)
    )
    if saved.softmax:
        if worlds:
            raise UserError(f"worlds is {worlds}, but this network is a policy and has no values to search with")
        return drawing_player(name, game, Drawing(values, max(1.0, 2.0 * LEVELS[level])).probabilities_rows)
    if LEVELS[level] > 0.0:
        drawing = Drawing(values, LEVELS[level])
        return drawing_player(name, game, drawing.probabilities_rows)
    if worlds:
        if not isinstance(values, ActionValues):
            raise UserError(f"worlds is {worlds}, but this player has a network for each seat, and a search takes one")
        search = NetworkSearch(game, values, saved.scale, worlds, trust, thinks)
        choose, explain = search.choose_rows, search.explain_rows
        return Player(name, game, choose_rows=choose, explain_rows=explain, batch_size=SEARCH_BATCH)
    greedy = Greedy(values, saved.scale)
    return Player(
        name,
        game,
        choose_rows=greedy.choose_rows,
        probabilities_rows=greedy.probabilities_rows,
        explain_rows=greedy.explain_rows,
    )


def network_of(player: Player) -> ActionValues | None:
    """The network of a player that always chooses what it values most, for playouts; None if it is none."""
    greedy = getattr(player.choose_rows, "__self__", None)
    values = greedy.values if isinstance(greedy, Greedy) else None
    return values if isinstance(values, ActionValues) else None


class Greedy:
    """Chooses the action of the highest value."""

    def __init__(self, values: Values, scale: float) -> None:
        self.values, self._scale = values, scale

    def probabilities_rows(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """One for the action it chooses: it is a policy, too, and can be judged as one."""
        chances = np.zeros((len(rows), self.values.most_actions))
        chances[np.arange(len(rows)), self.choose_rows(states, rows, rows)] = 1.0
        return chances

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        actions, counts, values = self.values(states, rows)
        return actions[np.arange(len(rows)), best_places(counts, values)]

    def explain_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        """Values relative to random play; how far they are off is not known, only that the best is the best."""
        found = []
        for actions, count, values in zip(*self.values(states, rows), strict=True):
            shown = values[:count].astype(np.float64) * self._scale
            found.append(Explanation(actions[:count].copy(), values=shown))
        return found


class Drawing:
    """Draws actions with the softmax of their values."""

    def __init__(self, values: Values, temperature: float) -> None:
        self._values, self._temperature = values, temperature

    def probabilities_rows(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        actions, counts, values = self._values(states, rows)
        listed = np.arange(values.shape[1]) < counts[:, None]
        shifted = np.where(listed, values.astype(np.float64) / self._temperature, -np.inf)
        weights = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        chances = np.zeros(weights.shape)
        chances[np.nonzero(listed)[0], actions[listed]] = weights[listed]
        return chances / chances.sum(axis=1, keepdims=True)

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        chosen = np.empty(len(rows), np.int64)
        draw_rows(self.probabilities_rows(states, rows), streams, chosen)
        return chosen


class NetworkSearch:
    """Flat Monte Carlo in which the network plays on; what it thinks itself counts as `trust` worlds."""

    def __init__(
        self, game: CardGame, values: ActionValues, scale: float, worlds: int, trust: float, thinks: str
    ) -> None:
        rules = game.rules
        self._values, self._scale, self._worlds, self._trust = values, scale, worlds, trust
        self._addresses = rules.compiled_kernel(resample=True).addresses()
        self._sizes = sizes_of(rules)
        thinking = np.eye(rules.num_players, dtype=np.bool_) | (thinks == "all")
        for side in rules.teams if thinks == "team" else ():
            thinking[np.ix_(side, side)] = True
        self._minds = np.where(thinking, 0, AT_RANDOM)
        self._networks = side_by_side([values])

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        actions, counts, found, _ = self._search(states, rows, streams)
        return actions[np.arange(len(rows)), best_places(counts, found)]

    def _search(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> tuple[np.ndarray, ...]:
        actions, counts, own = self._values(states, rows)
        sums = np.zeros((len(rows), actions.shape[1]), np.float32)
        squares = np.zeros_like(sums)
        position = (self._addresses, self._values.features, self._networks, self._minds, states, rows)
        network_values(*position, self._worlds, True, self._sizes, streams, sums, squares)
        weight = self._trust / (self._trust + self._worlds)
        mixed = weight * np.float32(self._scale) * own + (1.0 - weight) * sums
        return actions, counts, mixed.astype(np.float32), squares

    def explain_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> list[Explanation]:
        """Values with the standard error of their difference to the best one, an upper bound from the worlds alone."""
        explained = []
        for actions, count, values, squares in zip(*self._search(states, rows, streams), strict=True):
            best = int(np.argmax(values[:count]))
            spread = np.sqrt(squares[:count]) + np.sqrt(squares[best])
            errors = spread / np.sqrt(self._worlds)
            errors[best] = 0.0
            explained.append(Explanation(actions[:count].copy(), values[:count].astype(np.float64), errors))
        return explained


def saved_player(
    folder: Path,
    head: Mapping[str, Any],
    game: pyspiel.Game,
    worlds: int = 0,
    trust: float = 10.0,
    thinks: str = "team",
    level: str = "full",
) -> Player:
    """A folder with `player.json` of the kind `action_values`."""
    require_same_rules(folder, head, game)
    if not is_game(head["game"], game):
        raise UserError(f"{folder} is a player of {head['game']}, not of {game}")
    saved = read_values(folder, head)
    if len(saved.weights) not in (1, game.num_players()):
        raise UserError(f"{folder} is damaged: it has {len(saved.weights)} networks for {game.num_players()} seats")
    return value_player(str(folder), game, saved, worlds, trust, thinks, level)
