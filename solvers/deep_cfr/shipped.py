"""The player `deep_cfr` of Coinche: a strategy network that was trained once and lies in `coinche_spiel/deep_cfr`.

    python -c 'from pathlib import Path; from solvers.deep_cfr.shipped import install; install(Path("runs/deep_cfr"))'

makes it anew from a run of `experiments.deep_cfr` on renamed suits. Numpy and compiled code are all it needs to play.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import coinche_spiel
from cardtable.files import write_arrays
from cardtable.player import Player, read_player_file, require_same_rules, write_player_file
from cardtable.spiel import CardGame, load_card_game
from solvers.deep_cfr.players import WEIGHTS_FILE, load_networks, network_player
from transforms.lifting import lifted_player

FOLDER = Path(coinche_spiel.__file__).parent / "deep_cfr"
STRATEGY = "strategy"


def deep_cfr(game: CardGame, greedy: bool = True) -> Player:
    """The network that was trained, in any whole game of Coinche; it plays its likeliest action, or draws."""
    return shipped_player(FOLDER, game, greedy)


def shipped_player(folder: Path, game: CardGame, greedy: bool) -> Player:
    """Other rules of Coinche have the same inputs and actions: what is read there is what the network has learned."""
    head = read_player_file(folder)
    require_same_rules(folder, head, game)
    renamed = load_card_game(f"python_card_isomorphism(game={game})")
    networks = load_networks(folder, head, renamed, STRATEGY)
    return lifted_player(network_player("deep_cfr", renamed, networks, greedy), renamed, game)


def install(run: Path, folder: Path = FOLDER) -> None:
    """The strategy network of a run, in half precision."""
    head = read_player_file(run)
    game = load_card_game(head["game"])
    networks = load_networks(run, head, game, STRATEGY)
    arrays = {"network_of_seat": np.array(networks.network_of_seat, np.int64)}
    for number, (snapshots, places) in enumerate(zip(networks.snapshots, networks.places, strict=True)):
        arrays[f"{STRATEGY}.{number}.snapshots"] = snapshots.astype(np.float16)
        arrays[f"{STRATEGY}.{number}.places"] = places
    folder.mkdir(parents=True, exist_ok=True)
    write_arrays(folder / WEIGHTS_FILE, arrays)
    settings = {"shapes": {STRATEGY: networks.shape}, "networks": len(networks.snapshots)}
    write_player_file(folder, head["kind"], game, settings, head.get("made_by", {}))
