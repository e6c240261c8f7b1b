"""Every kind of file that somebody may receive: how a good one is written, and how users read it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

import cardspiel  # noqa: F401 registers our games
from cardtable.files import write_arrays, write_tensors
from cardtable.match import Task, play_part
from cardtable.player import find_player, legal_mask, write_player_file
from cardtable.search import saved_values as values
from cardtable.search.action_values import shape_for
from cardtable.search.clones import save_clone
from cardtable.search.networks import context_size
from cardtable.spiel import CardGame
from coinche_spiel.bidding.calls import JUDGEMENT
from coinche_spiel.bidding.contexts import ALL_FEATURES, SITUATIONS
from experiments import coinche_calls, coinche_foresight, toepen_response
from experiments.coinche import expert_table
from experiments.coinche.bidding import deals, making
from experiments.gongzhu.expert import load_examples, save_examples
from experiments.running.checkpoints import load_checkpoint, save_checkpoint
from experiments.running.filed_games import load_games, save_games
from experiments.running.round_robin import PairResult, load_pair, save_pair
from gongzhu_spiel import network as gongzhu_network
from solvers.alpha_zero.network import new_tensors, shapes
from solvers.alpha_zero.players import save_alpha_zero
from solvers.alpha_zero.views import view_of
from solvers.cfr import CFRSolver
from solvers.deep_cfr.players import WEIGHTS_FILE
from solvers.imitation.examples import Teacher, taught
from solvers.learning.inference import number_of_weights
from solvers.policies import POLICY_FILE, load_policy, save_policy
from solvers.ppo import players as ppo

OURS = "python_toepen(suits=2,ranks=2,hand_size=2)"
IDENTITY = {"game": "kuhn_poker", "solver": "cfr"}
NUM_DEALS = 5


@dataclass(frozen=True)
class Loader:
    """A kind of file: writes a good one, and reads it as users do."""

    file: str
    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    slow: bool = False  # to write


@functools.cache
def ours() -> CardGame:
    return pyspiel.load_game(OURS)


def as_player(folder: Path) -> object:
    return find_player(str(folder), ours())


def write_policy(folder: Path, name: str) -> None:
    solver = CFRSolver(pyspiel.load_game(name))
    solver.run(2)
    save_policy(folder / POLICY_FILE, solver.average_policy())
    write_player_file(folder, "policy", solver.game, {}, {})


def write_networks(folder: Path) -> None:
    game = ours()
    shape = {"inputs": game.rules.information_size, "hidden_sizes": [3], "outputs": game.num_distinct_actions()}
    shape |= {"negative_slope": 0.01, "skip_connections": False, "layer_norm": False}
    arrays = {
        "network_of_seat": np.array([0, 0]),
        "single.0.snapshots": np.zeros((2, number_of_weights(shape)), np.float32),
        "single.0.places": np.array([0, 1, 1]),
    }
    write_arrays(folder / WEIGHTS_FILE, arrays)
    write_player_file(folder, "deep_cfr", game, {"shapes": {"single": shape}, "networks": 1}, {})


# ------------------------------------------------------------------------------------------------ Toepen


def write_views(folder: Path) -> None:
    from solvers.toepen.block_player import save_blocks
    from solvers.toepen.views import Abstraction
    from solvers.toepen_deals import DealSolver

    solver = DealSolver(ours(), Abstraction("other", "00112345"))
    solver.run(20)
    save_blocks(folder, ours(), solver.blocks(), {})


def write_card_tree(folder: Path) -> None:
    from solvers.toepen.card_tree import build_card_tree
    from solvers.toepen.tree_policy import save_tree_policy
    from solvers.toepen_cfr import ToepenSolver

    solver = ToepenSolver(build_card_tree(2, 2, 2, keep_keys=True))
    solver.run(2)
    save_tree_policy(folder, ours(), solver, {})


def write_trained(folder: Path) -> None:
    slots = np.array([[5, 7, 0, 1], [0, 0, -1, 0], [6, 7, 2, 1], [0, 0, -1, 0]])
    write_arrays(folder / toepen_response.TRAINED, {"slots": slots, "numbers": np.full(4, 0.5, np.float32)})


# ------------------------------------------------------------------------------------------------ runs of studies


def task() -> Task:
    return Task(ours(), (find_player("random", ours()),) * 2, 1, 1)


def write_games(folder: Path) -> None:
    save_games(folder / "games.npz", [play_part(task(), (0, NUM_DEALS))], task(), 0)


def write_cross_table(folder: Path) -> None:
    result = PairResult(np.zeros(NUM_DEALS), np.ones(2, np.int64), np.ones(2))
    expert_table.save(folder / "match.npz", expert_table.Filed(result, np.ones((2, len(expert_table.FIGURES), 3))))


def write_round(folder: Path) -> None:
    situations, judgement = len(SITUATIONS), len(JUDGEMENT)
    arrays = {"weights": np.ones((situations, len(ALL_FEATURES))), "residuals": np.ones(situations)}
    write_arrays(folder / "round.npz", arrays | {name: np.ones(judgement) for name in ("judgement", "spread")})


HANDS = np.array([[0xFF, 0xFF00, 0xFF0000, 0xFF000000]] * NUM_DEALS)


def write_deals(folder: Path) -> None:
    deals._file(folder / "deals.npz", HANDS, [np.full((NUM_DEALS, 4), 100)])


def write_gains(folder: Path) -> None:
    figures = np.array(["10% at 90"] * len(coinche_calls.COLUMNS))
    gains = {name: np.zeros(NUM_DEALS) for name in ("simulated", "fast")}
    write_arrays(folder / "gains.npz", gains | {"figures": figures})


def write_answers(folder: Path) -> None:
    rows = np.zeros((NUM_DEALS, coinche_foresight.COLUMNS["capots"]))
    coinche_foresight.save_answers(folder / "capots.npz", rows, NUM_DEALS)


def write_examples(folder: Path, of_values: bool) -> None:
    random, rules = find_player("random", ours()), ours().rules

    def values_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        return np.where(legal_mask(rules, states, rows), 0.0, np.nan)

    teacher = Teacher(ours(), values_rows=values_rows) if of_values else Teacher(ours(), random)
    save_examples(folder / "examples.npz", ours(), taught(teacher, range(3)))


ARCHIVES = {
    "checkpoint": Loader(
        "checkpoint.npz",
        lambda folder: save_checkpoint(folder / "checkpoint.npz", IDENTITY, {"regrets": np.zeros(6), "steps": 3}),
        lambda folder: load_checkpoint(folder / "checkpoint.npz", IDENTITY),
    ),
    "policy by name": Loader(
        POLICY_FILE, lambda folder: write_policy(folder, "kuhn_poker"), lambda folder: load_policy(folder / POLICY_FILE)
    ),
    "policy of ours": Loader(POLICY_FILE, lambda folder: write_policy(folder, OURS), as_player),
    "networks": Loader(WEIGHTS_FILE, write_networks, as_player),
    "match": Loader(
        "pair.npz",
        lambda folder: save_pair(
            folder / "pair.npz", PairResult(np.zeros(NUM_DEALS), np.ones(2, np.int64), np.ones(2))
        ),
        lambda folder: load_pair(folder / "pair.npz", NUM_DEALS),
    ),
    "views": Loader("views.npz", write_views, as_player, slow=True),
    "card tree": Loader("card_tree.npz", write_card_tree, as_player, slow=True),
    "trained": Loader(
        toepen_response.TRAINED,
        write_trained,
        lambda folder: toepen_response.load_trained(folder / toepen_response.TRAINED),
    ),
    "values": Loader(
        toepen_response.VALUES,
        lambda folder: write_arrays(folder / toepen_response.VALUES, {"values": np.zeros((3, 2))}),
        lambda folder: toepen_response.load_values(folder / toepen_response.VALUES, 3),
    ),
    "games": Loader(
        "games.npz", write_games, lambda folder: load_games(folder / "games.npz", [(0, NUM_DEALS)], task())
    ),
    "cross table": Loader(
        "match.npz", write_cross_table, lambda folder: expert_table.load(folder / "match.npz", NUM_DEALS)
    ),
    "round": Loader("round.npz", write_round, lambda folder: making._read(folder / "round.npz")),
    "deals": Loader("deals.npz", write_deals, lambda folder: deals._filed(folder / "deals.npz", HANDS)),
    "gains": Loader("gains.npz", write_gains, lambda folder: coinche_calls.load_gains(folder / "gains.npz", NUM_DEALS)),
    "answers": Loader(
        "capots.npz",
        write_answers,
        lambda folder: coinche_foresight.load_answers(folder / "capots.npz", "capots", NUM_DEALS),
    ),
    "examples": Loader(
        "examples.npz",
        lambda folder: write_examples(folder, True),
        lambda folder: load_examples(folder / "examples.npz", ours(), True),
    ),
    "choices": Loader(
        "examples.npz",
        lambda folder: write_examples(folder, False),
        lambda folder: load_examples(folder / "examples.npz", ours(), False),
    ),
}

# ------------------------------------------------------------------------------------------------ weights


def write_clone(folder: Path) -> None:
    sizes = (context_size(ours().rules), 3, ours().num_distinct_actions())
    tensors: dict[str, np.ndarray] = {}
    for number in range(2):
        tensors[f"weight_{number}"] = np.zeros(sizes[number : number + 2], np.float32)
        tensors[f"bias_{number}"] = np.zeros(sizes[number + 1], np.float32)
    save_clone(folder, ours(), tensors, {})


def write_ppo(folder: Path) -> None:
    sizes = (ours().rules.information_size, 3, ours().num_distinct_actions())
    layers = [(np.zeros((sizes[n + 1], sizes[n]), np.float32), np.zeros(sizes[n + 1], np.float32)) for n in range(2)]
    ppo.save_player(layers, ours(), folder, {})


def write_action_values(folder: Path) -> None:
    shape = shape_for(ours().rules, (3,), (2,), 0.1, "information")
    weights = np.zeros((1, sum(math.prod(size) for _, size in shape.blocks())), np.float32)
    values.write_values(folder, ours(), values.Saved("dmc", shape, weights, "information", 1.0, False), {})


def write_alpha_zero(folder: Path) -> None:
    game = ours()
    wanted = shapes(view_of(game, "paper").layout, 4, 1, game.num_distinct_actions(), game.num_players())
    save_alpha_zero(folder, game, new_tensors(wanted, 1), {"width": 4, "blocks": 1}, {})


def write_gongzhu(folder: Path) -> None:
    sizes = (gongzhu_network.KNOWLEDGE, gongzhu_network.WIDTH, gongzhu_network.WIDTH, gongzhu_network.FULL_DECK)
    tensors: dict[str, np.ndarray] = {}
    for number in range(3):
        tensors[f"weight_{number}"] = np.zeros(sizes[number : number + 2], np.float32)
        tensors[f"bias_{number}"] = np.zeros(sizes[number + 1], np.float32)
    write_tensors(folder / "network.safetensors", tensors)


WEIGHTS = {
    "clone": Loader("weights.safetensors", write_clone, as_player),
    "ppo": Loader(ppo.WEIGHTS_FILE, write_ppo, as_player),
    "action values": Loader(values.WEIGHTS_FILE, write_action_values, as_player),
    "alpha zero": Loader("weights.safetensors", write_alpha_zero, as_player),
    "gongzhu": Loader(
        "network.safetensors",
        write_gongzhu,
        lambda folder: gongzhu_network.load_network(folder / "network.safetensors"),
    ),
}

# Who reads archives or weights, and the kind above that goes through it.
READERS = {
    "cardtable/search/clones.py": "clone",
    "experiments/coinche/bidding/deals.py": "deals",
    "experiments/coinche/bidding/making.py": "round",
    "experiments/coinche/expert_table.py": "cross table",
    "experiments/coinche_calls.py": "gains",
    "experiments/coinche_foresight.py": "answers",
    "experiments/gongzhu/expert.py": "examples",
    "experiments/running/checkpoints.py": "checkpoint",
    "experiments/running/filed_games.py": "games",
    "experiments/running/round_robin.py": "match",
    "experiments/toepen_response.py": "trained",
    "gongzhu_spiel/network.py": "gongzhu",
    "solvers/alpha_zero/players.py": "alpha zero",
    "solvers/deep_cfr/players.py": "networks",
    "cardtable/search/saved_values.py": "action values",
    "solvers/policies.py": "policy of ours",
    "solvers/ppo/players.py": "ppo",
    "solvers/toepen/block_player.py": "views",
    "solvers/toepen/tree_policy.py": "card tree",
}
