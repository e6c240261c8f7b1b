import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score
from open_spiel.python.policy import UniformRandomPolicy

import cardspiel  # noqa: F401
from cardtable.rules import TERMINAL
from coinche_spiel.small import SMALL_VARIANTS
from solvers.arrays.memory import GameTooLargeError
from solvers.teams.public_tree import PublicTree


def test_sizes_of_collaborative_kuhn_poker() -> None:
    tree = PublicTree.from_game(pyspiel.load_game("python_kuhn_collab"))
    assert (tree.player == TERMINAL).sum() == 65
    assert [(tree.player == seat).sum() for seat in range(4)] == [13] * 4
    assert tree.num_deals == 360
    assert tree.num_types.tolist() == [6, 6, 6, 6]
    assert tree.depth.max() == 10
    assert len(tree.examples) == 4 * 78


def test_types_are_what_players_know() -> None:
    tree = PublicTree.from_game(pyspiel.load_game("python_partner_oracle(game=python_kuhn_collab(),team=1)"))
    assert tree.num_types.tolist() == [6, 30, 6, 30]
    assert len(tree.examples) == 2 * 78 + 2 * 390


def test_values_of_the_uniform_policy_are_the_known_ones() -> None:
    tree = PublicTree.from_game(pyspiel.load_game("python_kuhn_collab"))
    values = tree.values(tree.uniform_behaviour())
    assert values == pytest.approx([1 / 3456, -569 / 6912, 31 / 864, 319 / 6912], abs=1e-12)


@pytest.mark.parametrize("name", ["python_kuhn_collab", SMALL_VARIANTS["M0"]])
def test_uniform_behaviour_is_among_legal_actions(name: str) -> None:
    game = pyspiel.load_game(name)
    tree = PublicTree.from_game(game)
    assert tree.uniform_behaviour() == pytest.approx(tree.behaviour(UniformRandomPolicy(game)))


class Lopsided(UniformRandomPolicy):
    """Different in every information set, so that no two can be mixed up unnoticed."""

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        rng = np.random.default_rng(list(state.information_state_string(player).encode()))
        legal = state.legal_actions()
        return dict(zip(legal, rng.dirichlet(np.ones(len(legal))).tolist(), strict=True))


@pytest.mark.parametrize(
    "name",
    [
        "kuhn_poker(players=4)",
        "leduc_poker",  # chance deals an open card in the middle
        "liars_dice(dice_sides=3)",
        "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)",  # what is legal depends on the hand
    ],
)
def test_values_agree_with_openspiel(name: str) -> None:
    game = pyspiel.load_game(name)
    policy = Lopsided(game)
    tree = PublicTree.from_game(game)
    expected = expected_game_score.policy_value(game.new_initial_state(), [policy] * game.num_players())
    assert tree.values(tree.behaviour(policy)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("matrix_pd", "simultaneous"),
        ("dark_hex(board_size=2)", "has no public tree"),
        ("python_partner_oracle(game=python_kuhn_collab(),accuracy=0.5)", "memory"),
    ],
)
def test_games_without_a_public_tree_are_refused(name: str, message: str) -> None:
    with pytest.raises((ValueError, GameTooLargeError), match=message):
        PublicTree.from_game(pyspiel.load_game(name), max_memory_bytes=10**9)
