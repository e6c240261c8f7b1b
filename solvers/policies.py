"""Tables of probabilities as OpenSpiel policies, and the file format in which they are published.

File format, version 1: an uncompressed or compressed `.npz` archive, readable with numpy alone (`numpy.load(path)`).
For N information sets with M legal actions in all:

    metadata            a JSON text: {"format": "cardspiel-policy", "version": 1, "game": the game's string,
                        "rules_version": of our games' rules, 0 for others, ...}
    players             int8 (N)         who decides
    offsets             int64 (N + 1)    information set i has the actions offsets[i] .. offsets[i+1]-1
    actions             int32 (M)        legal action ids, ascending in each information set
    probabilities       float64 (M)
    information_states  bytes (N)        UTF-8 information_state_string(player), for games of OpenSpiel; or
    keys                int64 (N, W)     (player, exact key words), for games with a rules kernel (cardtable.rules)

Information sets with a single legal action are not listed; their action has probability one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from cardtable.files import parse_json, read_arrays, write_arrays
from cardtable.parameters import UserError
from cardtable.player import Player, drawing_player, legal_mask, policy_player, require_same_rules, rules_version
from cardtable.rows import keys_of_rows, seats_of_rows
from cardtable.spiel import LONGEST_NAME, is_game
from solvers.arrays.sequence_form import SequenceForm, finder
from solvers.sampling.keys import KeyIndex
from transforms.lifting import lifted_player
from transforms.wrapping import TransformedGame

FORMAT = "cardspiel-policy"
VERSION = 1
SUM_TOLERANCE = 1e-6
POLICY_FILE = "policy.npz"  # of a saved player


class TablePolicy(openspiel_policy.Policy):
    """Probabilities looked up by information state when asked for; nothing is built for the whole game.

    `places` gives, per information set, (number of actions, first position, distance between positions) in the arrays
    `actions` and `probabilities`. `missing` says what happens at information sets that are not in the table.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        owner: np.ndarray,
        places: tuple[np.ndarray, np.ndarray, np.ndarray],
        actions: np.ndarray,
        probabilities: np.ndarray,
        *,
        keys: np.ndarray | None = None,
        strings: list[str] | None = None,
        find: Callable[[pyspiel.State, int], int] | None = None,
        missing: Literal["error", "uniform"] = "error",
    ) -> None:
        super().__init__(game, list(range(game.num_players())))
        if len(actions) != len(probabilities) or {len(owner)} != {len(part) for part in places}:
            raise UserError(
                f"a table of {len(owner)} information sets has {len(actions)} actions and {len(probabilities)} "
                f"probabilities in places {[len(part) for part in places]}; allowed: as many of each"
            )
        self.owner = owner
        self.places = places
        self.actions = actions
        self.probabilities = probabilities
        self.keys = keys
        self.strings = strings
        self.missing = missing
        self._find = find

    @staticmethod
    def of_form(form: SequenceForm, probabilities: np.ndarray) -> TablePolicy:
        """The policy that a table over the sequences of `form` describes."""
        return TablePolicy(
            form.game,
            form.owner,
            (form.num_actions, form.first_sequence, form.stride),
            form.actions,
            probabilities,
            keys=form.keys,
            strings=form.strings,
            find=form.find,
        )

    @property
    def num_information_sets(self) -> int:
        return len(self.owner)

    def find(self, state: pyspiel.State, player: int) -> int:
        """The information set of `player` in `state`, or -1."""
        if self._find is None:
            self._find = finder(self.game, self.owner, self.keys, self.strings)
        return self._find(state, player)

    def distribution(self, information_set: int) -> tuple[np.ndarray, np.ndarray]:
        """Actions and probabilities of one information set."""
        count, first, stride = (int(part[information_set]) for part in self.places)
        where = slice(first, first + (count - 1) * stride + 1, stride)
        return self.actions[where], self.probabilities[where]

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        if not legal:
            return {0: 1.0}  # as OpenSpiel's policies answer
        if len(legal) == 1:
            return {legal[0]: 1.0}
        information_set = self.find(state, player)
        if information_set >= 0:
            actions, probabilities = self.distribution(information_set)
            return dict(zip(actions.tolist(), probabilities.tolist(), strict=True))
        if self.missing == "uniform":
            return dict.fromkeys(legal, 1.0 / len(legal))
        raise ValueError(
            f"the policy has no entry for player {player} at {state.information_state_string(player)!r}; "
            f"it has {self.num_information_sets} information sets of {self.game}"
        )

    def to_pyspiel(self) -> pyspiel.TabularPolicy:
        """The same as a policy for OpenSpiel's C++ algorithms. Walks the whole game."""
        if self.strings is None:
            return openspiel_policy.python_policy_to_pyspiel_policy(self.to_tabular())
        table = dict(pyspiel.GetRandomPolicy(self.game, 0).policy_table())  # names all states, forced ones too
        for information_set, text in enumerate(self.strings):
            actions, probabilities = self.distribution(information_set)
            table[text] = list(zip(actions.tolist(), probabilities.tolist(), strict=True))
        return pyspiel.TabularPolicy(table)


def table_player(policy: TablePolicy, name: str = "policy") -> Player:
    """The player that draws its actions from the table."""
    if policy.keys is None:
        return policy_player(name, policy.game, policy)
    index = KeyIndex(policy.keys)
    rules = policy.game.rules
    kernel = rules.compiled_kernel().addresses()
    count, first, stride = (np.ascontiguousarray(part, np.int64) for part in policy.places)

    def probabilities_rows(states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        seats, keys = np.empty(len(rows), np.int64), np.empty((len(rows), rules.key_words), np.int64)
        seats_of_rows(kernel, states, rows, seats)
        keys_of_rows(kernel, states, rows, keys)
        mask = legal_mask(rules, states, rows)
        choices = mask.sum(axis=1)
        chances = mask / np.maximum(choices, 1)[:, None]
        found = index.find_all(np.column_stack([seats, keys]))
        missing = (found < 0) & (choices > 1)
        if missing.any() and policy.missing == "error":
            raise ValueError(
                f"the policy has no entry for player {seats[missing][0]} in one of the positions; it has "
                f"{policy.num_information_sets} information sets of {policy.game}"
            )
        for row in np.flatnonzero((found >= 0) & (choices > 1)):
            chances[row] = 0.0
            place = first[found[row]] + stride[found[row]] * np.arange(count[found[row]])
            chances[row, policy.actions[place]] = policy.probabilities[place]
        return chances

    return drawing_player(name, policy.game, probabilities_rows, make_policy=lambda table: policy, every_dealer=False)


def file_player(path: Path, game: pyspiel.Game) -> Player:
    """The player of a policy file, for the game it is of, or for a game that this one was made from by transforms."""
    try:
        policy = load_policy(path, missing="uniform")  # tables of sampling solvers have not been everywhere
        if is_game(str(policy.game), game):
            return table_player(policy, path.stem)
        if not isinstance(policy.game, TransformedGame):
            raise UserError(f"{path} is a policy for {policy.game}, not for {game}")
        return lifted_player(table_player(policy, path.stem), policy.game, game)
    except (pyspiel.SpielError, ValueError) as error:
        raise UserError(str(error).splitlines()[0]) from None


def saved_player(folder: Path, head: Mapping[str, Any], game: pyspiel.Game) -> Player:
    """A folder with `player.json` of the kind `policy`."""
    require_same_rules(folder, head, game)
    return file_player(folder / POLICY_FILE, game)


def save_policy(
    path: str | os.PathLike, policy: TablePolicy, metadata: Mapping[str, Any] | None = None, compress: bool = False
) -> None:
    """Writes a policy so that a crash leaves either the old file or the new one. `metadata` must be JSON."""
    count, first, stride = (part.astype(np.int64) for part in policy.places)
    offsets = np.concatenate([[0], np.cumsum(count)])
    position = np.repeat(first, count) + np.repeat(stride, count) * (
        np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
    )
    made_for = {"game": str(policy.game), "rules_version": rules_version(policy.game)}
    head = {**(metadata or {}), "format": FORMAT, "version": VERSION, **made_for}
    arrays = {
        "metadata": np.array(json.dumps(head)),
        "players": policy.owner.astype(np.int8),
        "offsets": offsets,
        "actions": policy.actions[position].astype(np.int32),
        "probabilities": policy.probabilities[position],
    }
    if policy.keys is not None:
        arrays["keys"] = policy.keys
    else:
        arrays["information_states"] = np.array([text.encode() for text in policy.strings or []], np.bytes_)

    write_arrays(Path(path), arrays, compress)


def load_policy(
    path: str | os.PathLike, game: pyspiel.Game | None = None, missing: Literal["error", "uniform"] = "error"
) -> TablePolicy:
    """Reads a policy; the game is loaded by its string unless given, and then it must be the same one."""
    arrays, metadata = _read(path)
    if game is None:
        try:
            game = pyspiel.load_game(metadata["game"])
        except (pyspiel.SpielError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"{path} is a policy for {metadata['game']}, which cannot be loaded: {reason}") from None
    elif not is_game(metadata["game"], game):
        raise UserError(f"{path} is a policy for {metadata['game']}, not for {game}")
    require_same_rules(Path(path), {"rules_version": metadata.get("rules_version", rules_version(game))}, game)
    problem = _problem_in_game(arrays, game)
    if problem:
        raise UserError(f"{path} does not fit {game}: {problem}")
    offsets = arrays["offsets"]
    strings = arrays.get("information_states")
    return TablePolicy(
        game,
        arrays["players"],
        (np.diff(offsets), offsets[:-1], np.ones(len(offsets) - 1, np.int64)),
        arrays["actions"],
        arrays["probabilities"],
        keys=arrays.get("keys"),
        strings=None if strings is None else [text.decode() for text in strings.tolist()],
        missing=missing,
    )


def load_metadata(path: str | os.PathLike) -> dict[str, Any]:
    """What was written beside the policy: at least the game's string."""
    return _read(path)[1]


def _read(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    arrays = read_arrays(path, "a policy file")
    try:
        metadata = parse_json(str(arrays.get("metadata", "")))
        problem = _problem(arrays, metadata)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise UserError(f"{path} is damaged or not a policy file: {problem}")
    return arrays, metadata


def _problem_in_game(arrays: Mapping[str, np.ndarray], game: pyspiel.Game) -> str | None:
    """What is in the arrays and cannot be in the game, if anything."""
    for name, most in (("players", game.num_players()), ("actions", game.num_distinct_actions())):
        if arrays[name].size and (arrays[name].min() < 0 or arrays[name].max() >= most):
            return f"its {name} are not all from 0 to {most - 1}"
    rules = getattr(game, "rules", None)
    if "keys" in arrays:
        if rules is None or arrays["keys"].shape[1] != 1 + rules.key_words:
            return "its keys are not those of the game"
        if not np.array_equal(arrays["keys"][:, 0], arrays["players"]):
            return "its keys are not those of its players"
    return None


def _problem(arrays: Mapping[str, np.ndarray], metadata: Any) -> str | None:
    """What is wrong with the contents, if anything."""
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        return f"its metadata do not say that the format is {FORMAT!r}"
    if metadata.get("version") != VERSION:
        return f"its version is {metadata.get('version')!r}, readable is {VERSION}"
    if not isinstance(metadata.get("game"), str) or len(metadata["game"]) > LONGEST_NAME:
        return "its metadata do not name a game"
    for name, kind, dimensions in (
        ("players", "i", 1),
        ("offsets", "i", 1),
        ("actions", "i", 1),
        ("probabilities", "f", 1),
    ):
        if name not in arrays or arrays[name].dtype.kind != kind or arrays[name].ndim != dimensions:
            return f"array {name!r} is missing or of the wrong type"
    offsets, count = arrays["offsets"], len(arrays["players"])
    if len(offsets) != count + 1 or offsets[0] != 0 or (np.diff(offsets) < 1).any():
        return "its offsets do not fit its players"
    if len(arrays["actions"]) != offsets[-1] or len(arrays["probabilities"]) != offsets[-1]:
        return "its actions and probabilities do not fit its offsets"
    if "keys" in arrays:
        if arrays["keys"].dtype != np.int64 or arrays["keys"].ndim != 2 or len(arrays["keys"]) != count:
            return "its keys are not one row of 64-bit words for each player entry"
    elif (
        "information_states" not in arrays
        or arrays["information_states"].shape != (count,)
        or arrays["information_states"].dtype.kind != "S"
    ):
        return "it has neither keys nor information states, one for each player entry"
    probabilities = arrays["probabilities"]
    if not (probabilities >= 0.0).all():
        return "some probabilities are negative or no numbers"
    if count and np.abs(np.add.reduceat(probabilities, offsets[:-1]) - 1.0).max() > SUM_TOLERANCE:
        return "some probabilities do not sum to one"
    return None
