"""What Deep CFR has learned on a large game, as a player: in batches, as a bot, as an OpenSpiel policy, and as files.

Which network plays is called the *average*:

* `single`, Single Deep CFR (Steinberger 2019): for each game, each seat plays one stored snapshot of its network, drawn
  once and kept for the game;
* `strategy`: the strategy network, a softmax over the legal actions;
* `current`: the last iterate, which does not converge.

A `greedy` player plays the likeliest action instead of drawing one; with `single` that is the likeliest in the mean of
all snapshots. Networks give actions that are never right a little probability, and a player who draws plays them; what
is lost is the bluffs of a mixed strategy.

Players need numpy only; torch is for training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspiel
from numba import types
from open_spiel.python.policy import Policy

from cardtable.compiled import compiled, entry_point
from cardtable.files import read_arrays, write_arrays
from cardtable.parameters import UserError, require
from cardtable.player import Player, drawing_player, original_game, require_same_rules, write_player_file
from cardtable.randomness import lot
from cardtable.rows import FLOATS, TENSORS, draw_rows, encode_rows, seats_of_rows
from cardtable.rules import ADDRESSES, INTEGERS, STATES, kernel_at
from cardtable.spiel import CardGame, is_table
from solvers.deep_cfr.sampling import regret_matching
from solvers.learning.inference import FrozenNetwork, number_of_weights
from transforms.lifting import lifted_player, transform_of

if TYPE_CHECKING:
    from solvers.deep_cfr.large import LargeDeepCFR

AVERAGES = ("single", "strategy", "current")
WEIGHTS_FILE = "networks.npz"


@dataclass(frozen=True)
class Networks:
    """The networks of one average: for each of them its shape and its snapshots, and which one each seat plays.

    The first words of a snapshot's row are its weights. Where there is a single network, it is its only snapshot.
    `places` has the snapshot in each place of the list that Single Deep CFR draws from.
    """

    average: str
    network_of_seat: tuple[int, ...]
    shape: dict[str, Any]
    snapshots: tuple[np.ndarray, ...]  # for each network: (distinct snapshots, weights)
    places: tuple[np.ndarray, ...]  # for each network: the snapshot of each place

    @property
    def softmax(self) -> bool:
        return self.average == "strategy"


def networks_of(trainer: LargeDeepCFR, average: str) -> Networks:
    """The networks that an average of a trainer is made of; UserError if there are none yet."""
    require(average in AVERAGES, "average", average, ", ".join(AVERAGES))
    if average == "strategy" and not trainer.strategy_learners:
        raise UserError("average is 'strategy', but the trainer's settings have no strategy network")
    if average == "single" and trainer.iterations == 0:
        raise UserError("average is 'single', but no network has been trained yet")
    learners = trainer.strategy_learners if average == "strategy" else trainer.learners
    snapshots, places = [], []
    for number, learner in enumerate(learners):
        if average == "single" and number in trainer.used_networks:
            kept = trainer.snapshots[number]
            _, first, which = np.unique(kept.iteration, return_index=True, return_inverse=True)
            snapshots.append(kept.weights[first].copy())
            places.append(which.astype(np.int64))
        else:
            snapshots.append(learner.weights()[None, :])
            places.append(np.zeros(1, np.int64))
    seats = tuple(trainer.network_of_seat)
    return Networks(average, seats, dict(learners[0].shape), tuple(snapshots), tuple(places))


def network_player(name: str, game: CardGame, networks: Networks, greedy: bool = False) -> Player:
    """The player that these networks make."""
    table = NetworkTable(game, networks)
    # A network that all seats share has met every dealer.
    shared = len(networks.snapshots) == 1
    if greedy:
        return drawing_player(name, game, table.likeliest_rows, every_dealer=shared)
    others: dict[str, Any] = {"make_policy": lambda g: NetworkPolicy(g, networks), "every_dealer": shared}
    if networks.average == "single":  # its probabilities depend on how the position came about
        return Player(name, game, choose_rows=table.choose_rows, **others)
    return drawing_player(name, game, table.probabilities_rows, **others)


class NetworkTable:
    """Evaluates the networks for rows of states of a game."""

    def __init__(self, game: CardGame, networks: Networks) -> None:
        self._rules = game.rules
        self._kernel = game.rules.compiled_kernel().addresses()
        self._networks = networks
        self._frozen = [[FrozenNetwork(networks.shape, row) for row in rows] for rows in networks.snapshots]

    def choose_rows(self, states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """Single Deep CFR: the snapshot of a game comes from the part of its stream that does not change."""
        places = np.zeros(len(rows), np.int64)
        seats = self._seats(states, rows)
        for seat in np.unique(seats):
            held = np.flatnonzero(seats == seat)
            list_of_places = self._networks.places[self._networks.network_of_seat[seat]]
            places[held] = list_of_places[lot(streams[held], len(list_of_places))]
        chances = self._chances(states, rows, seats, places)
        chosen = np.empty(len(rows), np.int64)
        draw_rows(chances, streams, chosen)
        return chosen

    def probabilities_rows(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self._chances(states, rows, self._seats(states, rows), np.zeros(len(rows), np.int64))

    def likeliest_rows(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Probability one for the action that is the likeliest in the mean of all snapshots."""
        seats = self._seats(states, rows)
        number = np.array(self._networks.network_of_seat, np.int64)[seats]
        features = self._features(states, rows)
        total = np.zeros((len(rows), self._rules.num_distinct_actions))
        for network in np.unique(number).tolist():
            asked = np.flatnonzero(number == network)
            counts = np.bincount(self._networks.places[network], minlength=len(self._frozen[network]))
            for place in np.flatnonzero(counts).tolist():
                outputs = np.ascontiguousarray(self._frozen[network][place](features[asked]), np.float32)
                chances = np.zeros(outputs.shape)
                _match(self._kernel, states, rows[asked], outputs, self._networks.softmax, chances)
                total[asked] += counts[place] * chances
        likeliest = np.zeros(total.shape)
        likeliest[np.arange(len(rows)), total.argmax(axis=1)] = 1.0
        return likeliest

    def _seats(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        seats = np.empty(len(rows), np.int64)
        seats_of_rows(self._kernel, states, rows, seats)
        return seats

    def _features(self, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        features = np.zeros((len(rows), self._rules.information_size), np.float32)
        encode_rows(self._kernel, states, rows, True, features)
        return features

    def _chances(self, states: np.ndarray, rows: np.ndarray, seats: np.ndarray, snapshot: np.ndarray) -> np.ndarray:
        features = self._features(states, rows)
        outputs = np.empty((len(rows), self._rules.num_distinct_actions), np.float32)
        number = np.array(self._networks.network_of_seat, np.int64)[seats]
        for network, place in {*zip(number.tolist(), snapshot.tolist(), strict=True)}:
            asked = np.flatnonzero((number == network) & (snapshot == place))
            outputs[asked] = self._frozen[network][place](features[asked])
        chances = np.zeros(outputs.shape)
        _match(self._kernel, states, rows, outputs, self._networks.softmax, chances)
        return chances


@entry_point(ADDRESSES, STATES, INTEGERS, TENSORS, types.boolean, FLOATS, nogil=True)
def _match(addresses, states, rows, outputs, softmax, chances):
    """Probabilities of the legal actions, by regret matching or softmax."""
    kernel = kernel_at(addresses)
    actions = np.empty(outputs.shape[1], np.int64)
    values = np.empty(outputs.shape[1])
    for index in range(len(rows)):
        n = kernel.legal_actions(states[rows[index]], actions)
        for place in range(n):
            values[place] = outputs[index, actions[place]]
        if softmax:
            soften(values, n)
        else:
            regret_matching(values, n)
        for place in range(n):
            chances[index, actions[place]] = values[place]


@compiled
def soften(values, n):
    """Softmax of the first n values, in place."""
    highest = values[:n].max()
    total = 0.0
    for place in range(n):
        values[place] = np.exp(values[place] - highest)
        total += values[place]
    for place in range(n):
        values[place] /= total


class NetworkPolicy(Policy):
    """An average as an OpenSpiel policy, which looks at information states as they are asked for.

    The behaviour of Single Deep CFR at an information state is the mean over snapshots of their strategies, each
    weighted by how likely it would have been to get there: the history is replayed for that.
    """

    def __init__(self, game: CardGame, networks: Networks) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._networks = networks
        self._frozen = [[FrozenNetwork(networks.shape, row) for row in rows] for rows in networks.snapshots]

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        if len(legal) <= 1:
            return dict.fromkeys(legal, 1.0)
        number = self._networks.network_of_seat[player]
        earlier, choices = _own_decisions(state, player)
        features = self._features([*earlier, state], player)
        counts = np.bincount(self._networks.places[number], minlength=len(self._frozen[number]))
        weighted, plain = np.zeros(len(legal)), np.zeros(len(legal))
        for network, count in zip(self._frozen[number], counts.tolist(), strict=True):
            outputs = network(features)
            reach = float(count)
            for row, (before, action) in enumerate(zip(earlier, choices, strict=True)):
                options = before.legal_actions()
                reach *= self._probabilities(outputs[row], options)[options.index(action)]
            now = self._probabilities(outputs[-1], legal)
            weighted += reach * now
            plain += count * now
        # Where no snapshot would have come, any behaviour will do.
        found = weighted / weighted.sum() if weighted.sum() > 0.0 else plain / plain.sum()
        return dict(zip(legal, found.tolist(), strict=True))

    def _features(self, states: Sequence[pyspiel.State], player: int) -> np.ndarray:
        rules = self.game.rules
        features = np.zeros((len(states), rules.information_size), np.float32)
        for row, state in zip(features, states, strict=True):
            rules.kernel.information_tensor(state.array, player, row)
        return features

    def _probabilities(self, outputs: np.ndarray, legal: Sequence[int]) -> np.ndarray:
        found = np.asarray(outputs, np.float64)[list(legal)]
        if self._networks.softmax:
            soften(found, len(found))
        else:
            regret_matching(found, len(found))
        return found


def _own_decisions(state: pyspiel.State, player: int) -> tuple[list[pyspiel.State], list[int]]:
    """The earlier states in which `player` had a choice, and what was chosen."""
    walk = state.get_game().new_initial_state()
    states, actions = [], []
    for action in state.history():
        if walk.current_player() == player and len(walk.legal_actions()) > 1:
            states.append(walk.clone())
            actions.append(action)
        walk.apply_action(action)
    return states, actions


# ------------------------------------------------------------------------------------------------ files


def save_player(trainer: LargeDeepCFR, folder: Path, made_by: Mapping[str, Any]) -> None:
    """Writes the averages of a trainer as a saved player: `player.json` and the networks."""
    kept = ["single"] + (["strategy"] if trainer.strategy_learners else [])
    arrays: dict[str, np.ndarray] = {"network_of_seat": np.array(trainer.network_of_seat, np.int64)}
    shapes = {}
    for average in kept:
        networks = networks_of(trainer, average)
        shapes[average] = networks.shape
        for number, (snapshots, places) in enumerate(zip(networks.snapshots, networks.places, strict=True)):
            arrays[f"{average}.{number}.snapshots"] = snapshots
            arrays[f"{average}.{number}.places"] = places

    write_arrays(folder / WEIGHTS_FILE, arrays)
    settings = {"shapes": shapes, "networks": len(trainer.learners)}
    write_player_file(folder, "deep_cfr", trainer.game, settings, made_by)


def saved_player(
    folder: Path, head: Mapping[str, Any], game: pyspiel.Game, average: str = "single", greedy: bool = False
) -> Player:
    """A folder with `player.json` of the kind `deep_cfr`."""
    require_same_rules(folder, head, game)
    made_for = game if is_table(head["game"], game) else transform_of(head["game"], game)
    if made_for is None:
        raise UserError(f"{folder} is a player of {head['game']}, not of {game}")
    player = network_player(str(folder), made_for, load_networks(folder, head, made_for, average), greedy)
    return player if made_for is game else lifted_player(player, made_for, original_game(made_for))


def load_networks(folder: Path, head: Mapping[str, Any], game: CardGame, average: str) -> Networks:
    """The networks in a folder; UserError if they are not of this game, or damaged. Half precision is welcome."""
    shapes = head["settings"].get("shapes")
    count = head["settings"].get("networks")
    if (
        not isinstance(shapes, dict)
        or not all(isinstance(shape, dict) for shape in shapes.values())
        or not isinstance(count, int)
        or not 1 <= count <= 10
    ):
        raise UserError(f"{folder} is damaged: its settings name no networks")
    require(average in shapes, "average", average, ", ".join(shapes))
    file = folder / WEIGHTS_FILE
    try:
        arrays = read_arrays(file, "networks of Deep CFR")
        seats = arrays["network_of_seat"]
        snapshots = [arrays[f"{average}.{number}.snapshots"] for number in range(count)]
        places = [arrays[f"{average}.{number}.places"] for number in range(count)]
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"{file} is damaged or has no networks: {error}") from None
    problem = _problem(game, shapes[average], seats, snapshots, places)
    if problem:
        raise UserError(f"{file} does not fit {game}: {problem}")
    whole = tuple(rows.astype(np.float32, copy=False) for rows in snapshots)
    return Networks(average, tuple(seats.tolist()), dict(shapes[average]), whole, tuple(places))


def _problem(
    game: pyspiel.Game,
    shape: Mapping[str, Any],
    seats: np.ndarray,
    snapshots: Sequence[np.ndarray],
    places: Sequence[np.ndarray],
) -> str | None:
    """What is wrong with the contents, if anything."""
    size = number_of_weights(shape)
    if shape["inputs"] != game.rules.information_size or shape["outputs"] != game.num_distinct_actions():
        return "its networks have other inputs or outputs"
    if seats.dtype != np.int64 or seats.shape != (game.num_players(),):
        return "it has another number of seats"
    if not ((seats >= 0) & (seats < len(snapshots))).all():
        return "a seat has no network"
    for rows, order in zip(snapshots, places, strict=True):
        is_float = rows.dtype in (np.float16, np.float32)
        if not is_float or rows.ndim != 2 or rows.shape[1] != size or not np.isfinite(rows).all():
            return f"a network has not {size} finite weights"
        if (
            order.dtype != np.int64
            or order.ndim != 1
            or not len(order)
            or not ((order >= 0) & (order < len(rows))).all()
        ):
            return "its list of snapshots names some that are not there"
    return None
