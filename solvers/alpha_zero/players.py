"""Players with a network that was trained on open hands, in games where hands are hidden.

`worlds` deals of what is hidden are drawn, searched as if they were the truth (`cardtable.search.tree`), and the action
with the best weighted mean value is played. How worlds are drawn and weighed is a `Belief`: uniformly and equally for
every game; for Gongzhu also as ScrofaZero does (`solvers.alpha_zero.scrofazero`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cardtable.files import read_tensors, write_tensors
from cardtable.parameters import UserError, require, require_whole
from cardtable.player import Player, legal_mask, require_same_rules, write_player_file
from cardtable.search.tree import Evaluator, TreeSearch
from cardtable.search.worlds import Worlds
from cardtable.spiel import CardGame, is_game
from solvers.alpha_zero.network import forward, require_tensors, shapes
from solvers.alpha_zero.views import GongzhuView, OpenView, view_of

KIND = "alpha_zero"
WEIGHTS = "weights.safetensors"
WORLDS = 9
FEWEST_SEARCHES, SEARCHES = 10, 2  # 10 + 2 for each legal action, as in the paper
C = 30.0
AS_TRAINED = -1
BATCH = 64

# (state, seat, generator) -> worlds, one a row, and their weights
Belief = Callable[[np.ndarray, int, np.ndarray], tuple[np.ndarray, np.ndarray]]


def network_evaluator(view: OpenView, tensors: Mapping[str, np.ndarray]) -> Evaluator:
    """What a network says of positions with open hands, for `TreeSearch`."""

    def evaluate(states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, relative = forward(tensors, view.inputs(states, rows))
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        won = view.won(states, rows)
        seats = won.shape[1]
        # The view knows who is to move: its values start with her.
        movers = view.movers(states, rows)
        values = np.empty_like(won)
        for step in range(seats):
            values[np.arange(len(rows)), (movers + step) % seats] = relative[:, step]
        return chances / chances.sum(axis=1, keepdims=True), won + values

    return evaluate


def uniform_belief(game: CardGame, worlds: int) -> Belief:
    """All deals that fit are equally likely (US)."""
    drawn = Worlds(game, drawn=worlds, kept=worlds)
    return lambda state, seat, stream: (drawn.uniform(state, seat, stream, worlds), np.ones(worlds))


def open_player(
    game: CardGame,
    view: OpenView,
    tensors: Mapping[str, np.ndarray],
    belief: Belief | None = None,
    fewest: int = FEWEST_SEARCHES,
    each: int = SEARCHES,
    name: str = KIND,
    endings: int = 0,
) -> Player:
    """The player; `fewest` + `each` times the legal actions is how often every world is searched.

    The last `endings` tricks of each world are solved exactly.
    """
    rules = game.rules
    search = TreeSearch(rules, network_evaluator(view, tensors), C, solver=view.solver(endings))
    drawn = belief or uniform_belief(game, WORLDS)

    def choose_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        legal = legal_mask(rules, states, rows)
        counts = legal.sum(axis=1)
        found = [
            drawn(states[row], int(rules.kernel.current_player(states[row])), stream)
            for row, stream in zip(rows, streams, strict=True)
        ]
        borders = np.cumsum([len(weights) for _, weights in found])[:-1]
        worlds = np.concatenate([some for some, _ in found])
        owners = np.repeat(np.arange(len(rows)), [len(weights) for _, weights in found])
        values = search.search(worlds, (fewest + each * counts)[owners]).values
        chosen = np.empty(len(rows), np.int64)
        for index, part in enumerate(np.split(values, borders)):
            mean = found[index][1] @ np.where(np.isfinite(part), part, 0.0)
            chosen[index] = np.argmax(np.where(legal[index], mean, -np.inf))
        return chosen

    return Player(name, game, choose_rows=choose_rows, batch_size=BATCH)


# ------------------------------------------------------------------------------------------------ saved players


def save_alpha_zero(
    folder: Path, game: CardGame, tensors: Mapping[str, np.ndarray], settings: Mapping[str, Any], made_by: Mapping
) -> None:
    """Writes `player.json` and the weights in half precision, which is enough to play."""
    write_tensors(folder / WEIGHTS, {name: tensor.astype(np.float16) for name, tensor in tensors.items()})
    write_player_file(folder, KIND, game, settings, made_by)


def load_network(folder: Path, head: Mapping[str, Any], game: CardGame) -> tuple[OpenView, dict[str, np.ndarray]]:
    """The network of a saved player and what it is told, checked."""
    require_same_rules(folder, head, game)
    if not is_game(head["game"], game):
        raise UserError(f"{folder} is a player of {head['game']}, not of {game}")
    width, blocks = head["settings"].get("width"), head["settings"].get("blocks")
    if type(width) is not int or type(blocks) is not int or not 1 <= width <= 1 << 14 or not 0 <= blocks <= 100:
        raise UserError(f"{folder}: width and blocks of its settings are {width!r} and {blocks!r}")
    view = view_of(game, head["settings"].get("inputs", "paper"))
    wanted = shapes(view.layout, width, blocks, game.rules.num_distinct_actions, game.rules.num_players)
    tensors = read_tensors(folder / WEIGHTS, "the weights of a network")
    require_tensors(tensors, wanted, str(folder / WEIGHTS))
    return view, {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def saved_player(
    folder: Path,
    head: Mapping[str, Any],
    game: CardGame,
    worlds: int = WORLDS,
    sampling: str = "uniform",
    weights: str = "none",
    head_only: str = "none",
    endings: int = AS_TRAINED,
    fewest: int = FEWEST_SEARCHES,
    each: int = SEARCHES,
) -> Player:
    """A folder with `player.json` of the kind `alpha_zero`; the options are those of Gongzhu's ScrofaZero.

    A world is searched `fewest` + `each` times its legal actions; the paper's raw network: worlds=5,fewest=0,each=1.
    """
    require_whole("worlds", worlds, 1, 10_000)
    require_whole("fewest", fewest, 0, 10_000)
    require_whole("each", each, 1, 10_000)
    require(sampling in ("uniform", "stratified"), "sampling", sampling, "uniform, stratified")
    require(weights in ("none", "iec", "bayes"), "weights", weights, "none, iec, bayes")
    require(head_only in ("none", "thirds", "one_hot"), "head_only", head_only, "none, thirds, one_hot")
    view, tensors = load_network(folder, head, game)
    solved = head["settings"].get("endings", 0) if endings == AS_TRAINED else endings
    if (sampling, weights, head_only) == ("uniform", "none", "none"):
        return open_player(game, view, tensors, uniform_belief(game, worlds), fewest, each, endings=solved)
    from solvers.alpha_zero import scrofazero

    if not isinstance(view, GongzhuView):
        raise UserError("stratified sampling, IEC and the policy head are for Gongzhu with the full deck")
    temperature = float(head["settings"].get("temperature", 5.0))
    if head_only != "none":
        return scrofazero.policy_head_player(game, view, tensors, thirds=head_only == "thirds")
    belief = scrofazero.ScrofaBelief(game, view, tensors, worlds, sampling == "stratified", weights, temperature)
    return open_player(game, view, tensors, belief, fewest, each, endings=solved)
