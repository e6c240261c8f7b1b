"""The player `deep_cfr` of Coinche: a strategy network that was trained once and lies in `coinche_spiel/deep_cfr`.

    python -c 'from pathlib import Path; from solvers.deep_cfr.shipped import install; install(Path("runs/deep_cfr"))'

makes it anew from a run of `experiments.deep_cfr` on renamed suits. Numpy and compiled code are all it needs to play.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import coinche_spiel
from cardtable.files import read_arrays, read_tensors, write_tensors
from cardtable.parameters import UserError
from cardtable.player import Player, read_player_file, require_same_rules, write_player_file
from cardtable.spiel import CardGame, load_game
from solvers.deep_cfr.players import WEIGHTS_FILE, Networks, network_player
from solvers.learning.inference import number_of_weights
from transforms.lifting import lifted_player

FOLDER = Path(coinche_spiel.__file__).parent / "deep_cfr"
SHIPPED_FILE = "strategy.safetensors"
STRATEGY = "strategy"


def deep_cfr(game: CardGame, greedy: bool = True) -> Player:
    """The network that was trained, in any whole game of Coinche; it plays its likeliest action, or draws."""
    return shipped_player(FOLDER, game, greedy)


def shipped_player(folder: Path, game: CardGame, greedy: bool) -> Player:
    head = read_player_file(folder)
    require_same_rules(folder, head, game)
    renamed = load_game(f"python_card_isomorphism(game={game})")
    file = folder / SHIPPED_FILE
    shape = head["settings"]["shapes"][STRATEGY]
    try:
        weights = read_tensors(file, "a strategy network of Deep CFR")["weights"].astype(np.float32)
    except (OSError, KeyError) as error:
        raise UserError(f"{file} is damaged or has no network: {error}") from None
    if number_of_weights(shape) != len(weights) or shape["inputs"] != renamed.rules.information_size:
        raise UserError(f"{file} does not fit {renamed}")
    everybody = (0,) * game.num_players()
    networks = Networks(STRATEGY, everybody, shape, (weights[None, :],), (np.zeros(1, np.int64),))
    return lifted_player(network_player("deep_cfr", renamed, networks, greedy), renamed, game)


def install(run: Path, folder: Path = FOLDER) -> None:
    """The strategy network of a run, in half precision."""
    head = read_player_file(run)
    arrays = read_arrays(run / WEIGHTS_FILE, "networks of Deep CFR")
    shape, name = head["settings"]["shapes"].get(STRATEGY), f"{STRATEGY}.0.snapshots"
    if shape is None or name not in arrays or head["settings"]["networks"] != 1:
        raise UserError(f"{run} has no strategy network that all seats share")
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / SHIPPED_FILE, {"weights": arrays[name][0].astype(np.float16)})
    settings = {"shapes": {STRATEGY: shape}, "networks": 1}
    write_player_file(folder, head["kind"], load_game(head["game"]), settings, head.get("made_by", {}))
