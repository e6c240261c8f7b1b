"""The way to a state, read off the state, is the way that was taken; and it leads to every world that fits."""

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.parameters import UserError
from cardtable.randomness import generator
from cardtable.replay import past
from tests.variants import COINCHE_D0, COINCHE_M0

GAMES = (
    "python_toepen",
    "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)",
    "python_kuhn_collab",
    "python_coinche",
    COINCHE_D0,
    COINCHE_M0,
    "python_cego",
    "python_cego(subgame=ultimo)",
    "python_gongzhu",
    "python_gongzhu(suits=2,ranks=4,leader=3)",
    "python_tied_rewards(game=python_kuhn_collab())",
)


@pytest.mark.parametrize("name", GAMES)
def test_the_past_of_a_state_and_of_its_worlds(name: str) -> None:
    game = pyspiel.load_game(name)
    rules = game.rules
    rng = np.random.default_rng(1)
    for number in range(12):
        state = game.new_initial_state()
        taken: list[tuple[list[int], int]] = []
        while not state.is_terminal():
            action = int(rng.choice(state.legal_actions()))
            if not state.is_chance_node():
                taken.append((state.array.tolist(), action))
            state.apply_action(action)
            if state.is_chance_node() or rng.random() > 0.2:
                continue
            positions, actions = past(rules, state.array)
            assert actions.tolist() == [action for _, action in taken]
            assert positions.tolist() == [*(position for position, _ in taken), state.array.tolist()]
            if not state.is_terminal():
                world = state.array.copy()
                rules.kernel.resample(world, state.current_player(), generator(number))
                positions, again = past(rules, world)
                assert again.tolist() == actions.tolist()
                assert positions[-1].tolist() == world.tolist()


def test_who_renames_moves_says_so() -> None:
    game = pyspiel.load_game("python_card_isomorphism(game=python_toepen())")
    with pytest.raises(UserError, match="does not list its moves"):
        past(game.rules, game.rules.new_state())
