"""Networks as models of behaviour, against a softmax in plain Python along the game's history through pyspiel."""

import math

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable import deck
from cardtable.parameters import UserError
from cardtable.randomness import generator
from cardtable.search.models import NetworkModel
from cardtable.search.networks import context_rows, context_size, require_network
from cardtable.search.worlds import Worlds
from cardtable.spiel import CardGame
from tests.cardtable.search.test_worlds import played

GAMES = [
    "python_gongzhu(suits=2,ranks=6)",
    "python_toepen(suits=3,ranks=4,hand_size=3)",
    "python_coinche",
    pytest.param("python_cego", marks=pytest.mark.slow),
]
SMALL = "python_gongzhu(suits=2,ranks=6)"


def random_network(game: pyspiel.Game, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = (context_size(game.rules), 8, game.num_distinct_actions())
    return {
        f"{kind}_{number}": rng.normal(
            size=sizes[number : number + 2] if kind == "weight" else sizes[number + 1]
        ).astype(np.float32)
        for number in range(2)
        for kind in ("weight", "bias")
    }


def plain_likelihoods(
    game: CardGame, tensors: dict[str, np.ndarray], world: np.ndarray, actions: list[int], seat: int
) -> list[float]:
    """log p of every other seat's moves, temperature 2, a tenth of them anything."""
    state = game.new_initial_state()
    found = [0.0] * game.num_players()
    while state.is_chance_node() and world[deck.NEXT_CARD] != state.array[deck.NEXT_CARD]:
        card = int(state.array[deck.NEXT_CARD])
        state.apply_action(next(p for p in range(deck.MAX_PILES) if int(world[deck.DEALT + p]) >> card & 1))
    for action in actions:
        mover, legal = state.current_player(), state.legal_actions()
        if mover != seat and len(legal) > 1:
            tensor = context_rows(game.rules, state.array[None, :].copy(), np.zeros(1, np.int64))[0].astype(float)
            hidden = np.maximum(tensor @ tensors["weight_0"] + tensors["bias_0"], 0)
            outputs = hidden @ tensors["weight_1"] + tensors["bias_1"]
            weights = {a: math.exp((outputs[a] - max(outputs[legal])) / 2) for a in legal}
            found[mover] += math.log(0.9 * weights[action] / sum(weights.values()) + 0.1 / len(legal))
        state.apply_action(action)
    return found


@pytest.mark.parametrize("name", GAMES)
def test_a_network_is_asked_about_every_move_of_the_others(name: str) -> None:
    game = pyspiel.load_game(name)
    tensors = random_network(game, 1)
    state, rng = game.new_initial_state(), np.random.default_rng(3)
    moves = 0
    while not state.is_terminal() and moves < 7:
        if state.is_chance_node():
            state.apply_action(int(rng.choice([outcome for outcome, _ in state.chance_outcomes()])))
        else:
            state.apply_action(int(rng.choice(state.legal_actions())))
            moves += 1
    assert state.current_player() >= 0, "the game was too short; another seed of its moves is needed"
    seat = state.current_player()
    worlds = Worlds(game).uniform(state.array, seat, generator(1), 5)
    found = NetworkModel(tensors, 2.0, 0.1).log_likelihoods(game.rules, worlds, seat)
    actions = [move.action for move in state.full_history() if move.player >= 0]
    for world, logs in zip(worlds, found, strict=True):
        assert logs == pytest.approx(plain_likelihoods(game, tensors, world, actions, seat), abs=1e-3)
    assert found.any()
    assert not found[:, seat].any()


def test_networks_of_another_shape_are_refused() -> None:
    game = pyspiel.load_game(SMALL)
    tensors = random_network(game, 1)
    require_network(game.rules, tensors, "it")
    with pytest.raises(UserError, match="it has 11 outputs; the game has 12 actions"):
        require_network(game.rules, tensors | {"weight_1": np.zeros((8, 11)), "bias_1": np.zeros(11)}, "it")
    with pytest.raises(UserError, match="allowed: weight_0, bias_0"):
        require_network(game.rules, {"first": np.zeros(3)}, "it")


def test_worlds_that_are_counted_are_those_that_are_drawn() -> None:
    state = played(SMALL, 8, seed=2)
    game, seat = state.get_game(), state.current_player()
    worlds = Worlds(game, [NetworkModel(random_network(game, 2))], drawn=60, kept=60)
    drawn = worlds.draw(state.array, seat, generator(4))
    once, counts = worlds.draw_counted(state.array, seat, generator(4))
    assert counts.sum() == len(drawn) == 60
    assert len(once) < 60
    assert (np.repeat(once, counts, axis=0) == drawn).all()
