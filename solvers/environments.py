"""Games as environments for reinforcement learning: many at once, straight on the compiled rules.

    env = vector_env("python_coinche", ["me", "strong", "me", "strong"], num_envs=64, seed=1)  # a gymnasium VectorEnv
    observations, info = env.reset()
    observations, rewards, terminated, truncated, info = env.step(actions)      # info["action_mask"]: what is legal

One learner has one seat, or all seats of a team; players sit in the others. An environment is a game after the other:
it shows what the seat to move knows whenever it has a choice (forced moves are played for it), pays the team's return
at the end, and deals the next game in the same step. Deal k of environment i is deal i + k * num_envs of the seed, with
the dealer going round, as `cardtable.match` counts deals.

`Environment` knows neither gymnasium nor stable-baselines3. The latter's VecEnv is in `solvers.ppo`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cardtable.match import CARDS_PATH, MOST_DEALS, dealt_around
from cardtable.parameters import UserError, require, require_whole
from cardtable.player import find_player, player_path
from cardtable.randomness import streams_of_paths
from cardtable.rows import deal_rows, encode_rows, mask_rows, returns_of_rows, step_rows
from cardtable.rules import TERMINAL
from cardtable.spiel import CardGame, load_game
from solvers.learning.company import Company, Seating, require_seating
from solvers.learning.states import require_numbers, require_state

if TYPE_CHECKING:  # an extra of the installation
    from gymnasium.vector import VectorEnv

ME = "me"
KINDS = {"information": True, "observation": False}  # what is shown: all that a player knows, or what she sees now
MOST_ENVS = 1_000_000

Progress = Callable[[np.ndarray, int], np.ndarray]  # (states, seat) -> how well the seat's team is doing, for each row


class Environment:
    """`num_envs` games in lock step, in which one learner has the seats that are None in `seating`.

    `progress` is paid as it changes, beside the return of the game: rewards in the middle of a game.
    """

    def __init__(
        self,
        game: CardGame,
        seating: Seating,
        num_envs: int,
        seed: int = 1,
        shows: str = "information",
        progress: Progress | None = None,
    ) -> None:
        require_whole("num_envs", num_envs, 1, MOST_ENVS)
        require(shows in KINDS, "shows", shows, ", ".join(KINDS))
        require_seating(game, seating)
        self.game, self.rules, self.num_envs, self.seed = game, game.rules, num_envs, seed
        self.seat = _learning_seat(game, seating)
        self._everything, self._progress = KINDS[shows], progress
        self._company = Company(game.rules, seating)
        self._addresses = game.rules.compiled_kernel().addresses()
        self._sizes = np.array([game.rules.num_distinct_actions, game.rules.max_chance_outcomes], np.int64)
        self._num_players = game.num_players()
        self._paths = [CARDS_PATH, *map(player_path, range(self._num_players))]
        self._everywhere = np.arange(num_envs)
        self._roots = _roots(game) if all(p is None or p.every_dealer for p in seating) else [game.rules.root]
        self.reset()

    @property
    def observation_size(self) -> int:
        return self.rules.information_size if self._everything else self.rules.observation_size

    def reset(self, seed: int | None = None) -> None:
        """Starts all environments anew, at the first deals of the seed."""
        self.seed = self.seed if seed is None else seed
        self._states = np.empty((self.num_envs, self.rules.state_size), np.int64)
        self._cards = np.empty((self.num_envs, 2), np.uint64)
        self._own = np.empty((self.num_envs, self.rules.num_players, 2), np.uint64)
        self._deals = np.arange(self.num_envs)
        self._paid = np.zeros(self.num_envs)
        self._chosen = np.full((self.num_envs, self.rules.max_game_length), -1)  # by the learner, in the present games
        self._moves = np.zeros(self.num_envs, np.int64)
        self._begin(self._everywhere)
        self._mask = self._legal(self._everywhere)

    def _begin(self, rows: np.ndarray) -> None:
        """Deals new games until the learner has a choice in each of these rows."""
        while len(rows):
            deals = self._deals[rows]
            streams = streams_of_paths(self.seed, self._paths, deals)
            self._cards[rows], self._own[rows] = streams[0], streams[1:].swapaxes(0, 1)
            for number, root in enumerate(self._roots):
                dealt = rows[deals % len(self._roots) == number]
                deal_rows(self._addresses, root, self._states, dealt, self._cards)
            self._paid[rows], self._moves[rows], self._chosen[rows] = 0.0, 0, -1
            over = rows[self._play_on(rows) == TERMINAL]
            self._deals[over] += self.num_envs
            rows = over

    def _play_on(self, rows: np.ndarray) -> np.ndarray:
        if len(rows) == self.num_envs:
            return self._company.play_on(self._states, self._cards, self._own)
        states, cards, own = self._states[rows], self._cards[rows], self._own[rows]
        turn = self._company.play_on(states, cards, own)
        self._states[rows], self._cards[rows], self._own[rows] = states, cards, own
        return turn

    def observations(self) -> np.ndarray:
        """(num_envs, observation_size): what the seat to move knows."""
        shown = np.zeros((self.num_envs, self.observation_size), np.float32)
        encode_rows(self._addresses, self._states, self._everywhere, self._everything, shown)
        return shown

    def _legal(self, rows: np.ndarray) -> np.ndarray:
        mask = np.zeros((len(rows), self.rules.num_distinct_actions), np.bool_)
        mask_rows(self._addresses, self._states, rows, mask)
        return mask

    def masks(self) -> np.ndarray:
        """(num_envs, actions): which actions are legal."""
        return self._mask.copy()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moves on; returns rewards, and where a game ended. UserError for an illegal action; nothing changes."""
        chosen = np.ascontiguousarray(actions, np.int64).reshape(self.num_envs)
        over = self._move(self._everywhere, chosen, self._mask) == TERMINAL
        rewards = self._rewards(over)
        ended = np.flatnonzero(over)
        self._deals[ended] += self.num_envs
        self._begin(ended)
        self._mask = self._legal(self._everywhere)
        return rewards, over

    def _move(self, rows: np.ndarray, chosen: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """The learner moves in these rows, then everybody else; returns whose turn it is."""
        choices = legal.shape[1]
        known = len(rows) == 0 or (chosen.min() >= 0 and chosen.max() < choices)
        if not (known and legal.ravel()[self._everywhere[: len(rows)] * choices + chosen].all()):
            bad = next(row for row, action in enumerate(chosen) if action not in np.flatnonzero(legal[row]))
            allowed = ", ".join(map(str, np.flatnonzero(legal[bad])))
            raise UserError(f"the action of environment {rows[bad]} is {chosen[bad]}; allowed: {allowed}")
        step_rows(self._addresses, self._states, rows, chosen, self._sizes)
        self._chosen[rows, self._moves[rows]] = chosen
        self._moves[rows] += 1
        return self._play_on(rows)

    def _rewards(self, over: np.ndarray) -> np.ndarray:
        rewards = np.zeros(self.num_envs)
        if over.any():
            returns = np.empty((int(over.sum()), self._num_players))
            returns_of_rows(self._addresses, self._states[over], returns)
            rewards[over] = returns[:, self.seat]
        if self._progress is not None:
            now = self._progress(self._states, self.seat)
            rewards += now - self._paid
            self._paid = now
        return rewards

    def get_state(self) -> dict[str, np.ndarray]:
        """Which deals are being played, and what the learner has done in them: the rest follows from the seed."""
        return {"env.deals": self._deals.copy(), "env.chosen": self._chosen.copy()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from `get_state` of an environment like this one; ValueError if it comes from something else.

        The games are played again: a file cannot put a position on the table that play does not lead to.
        """
        require_state(state, self.get_state())
        require_numbers("env.deals", state["env.deals"], 0, MOST_DEALS)
        kept = self.get_state()
        try:
            self._replay(state["env.deals"], state["env.chosen"])
        except UserError as error:
            self._replay(kept["env.deals"], kept["env.chosen"])
            raise ValueError(str(error)) from None

    def _replay(self, deals: np.ndarray, chosen: np.ndarray) -> None:
        self._deals = deals.copy()
        self._begin(self._everywhere)
        for move in range(chosen.shape[1]):
            rows = np.flatnonzero(chosen[:, move] >= 0)
            legal = self._legal(rows)
            if len(rows) and (self._move(rows, chosen[rows, move], legal) == TERMINAL).any():
                raise UserError("a game of the environments is over; allowed: games in which the learner has a choice")
        if self._progress is not None:
            self._paid = self._progress(self._states, self.seat)
        self._mask = self._legal(self._everywhere)
        if not (np.array_equal(self._deals, deals) and np.array_equal(self._chosen, chosen)):
            raise UserError("the games of the environments cannot have been played like this")


def _learning_seat(game: CardGame, seating: Seating) -> int:
    """The first of the seats that learn: all of them have its return."""
    seats = {seat for seat, player in enumerate(seating) if player is None}
    if len(seats) > 1 and not any(seats <= set(team) for team in game.rules.teams):
        raise UserError(f"the seats {sorted(seats)} learn; allowed: one seat, or seats of one team")
    return min(seats)


def _roots(game: CardGame) -> list[np.ndarray]:
    """The positions before the deal with every dealer in turn, where these are positions of the same compiled game."""
    tables = dealt_around(game)
    same = all(table.rules.kernel is game.rules.kernel for table in tables)
    return [table.rules.root for table in tables] if same else [game.rules.root]


def seating_of(game: CardGame, seats: Sequence[str]) -> Seating:
    """Names of players, with `me` where the learner sits."""
    found = {name: None if name == ME else find_player(name, game) for name in dict.fromkeys(seats)}
    return tuple(found[name] for name in seats)


def vector_env(
    game: str | CardGame, seats: Sequence[str], num_envs: int = 64, seed: int = 1, shows: str = "information"
) -> VectorEnv:
    """The game as a gymnasium VectorEnv; `seats` names a player for each seat, `me` for the learner."""
    from solvers.learning.gymnasium_env import GameVectorEnv

    loaded = load_game(game) if isinstance(game, str) else game
    if not isinstance(loaded, CardGame):
        raise UserError(f"{loaded.get_type().short_name} is not a game of this project; allowed: those that are")
    return GameVectorEnv(Environment(loaded, seating_of(loaded, seats), num_envs, seed, shows))
