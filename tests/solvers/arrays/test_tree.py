import pyspiel
import pytest

from cardtable.rules import CHANCE
from solvers.arrays.memory import GameTooLargeError
from solvers.arrays.tree import GameTree, estimate_size, representative_states
from tests.solvers.games import ForgetfulGame, Load

# (decision nodes, terminals, information sets), forced moves left out; the numbers of Toepen are specified.
SIZES = {
    "kuhn_poker": (24, 30, 12),
    "leduc_poker": (3780, 5520, 936),
    "python_toepen(suits=2,ranks=3,hand_size=2)": (5256, 5346, 2760),
    "python_toepen(suits=3,ranks=2,hand_size=2)": (6048, 6138, 3048),
    "python_toepen(suits=3,ranks=3,hand_size=2,betting=False)": (None, None, 180),
    "python_toepen(suits=3,ranks=3,hand_size=2,follow_suit=False)": (None, None, 22338),
    "python_kuhn_collab": (18720, 23400, 312),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(load: Load, name: str) -> None:
    tree = GameTree.from_game(load(name))
    decisions, terminals, information_sets = SIZES[name]
    assert tree.num_information_sets == information_sets
    if decisions is not None:
        assert (tree.player >= 0).sum() == decisions
        assert tree.num_terminals == terminals


@pytest.mark.slow
def test_size_of_toepen_333(load: Load) -> None:
    tree = GameTree.from_game(load("python_toepen(suits=3,ranks=3,hand_size=3)"))
    assert ((tree.player >= 0).sum(), tree.num_terminals) == (1_647_762, 1_660_002)
    assert [(tree.owner == player).sum() for player in (0, 1)] == [337_014, 412_428]


@pytest.mark.parametrize("name", ["leduc_poker", "python_toepen(suits=2,ranks=3,hand_size=2)"])
def test_children_follow_their_parents(load: Load, name: str) -> None:
    tree = GameTree.from_game(load(name))
    covered = 1
    for node in range(tree.num_nodes):
        if tree.first_child[node] >= 0:
            offset = tree.chance_offset if tree.player[node] == CHANCE else tree.action_offset
            count = offset[tree.label[node] + 1] - offset[tree.label[node]]
            assert tree.first_child[node] > node
            assert count > 1
            covered += count
    assert covered == tree.num_nodes


def test_estimates_are_close(load: Load) -> None:
    for name in ("leduc_poker", "python_toepen(suits=3,ranks=3,hand_size=2)"):
        size, tree = estimate_size(load(name)), GameTree.from_game(load(name))
        assert size.nodes == pytest.approx(tree.num_nodes, rel=0.15)
        assert size.terminals == pytest.approx(tree.num_terminals, rel=0.15)


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", "python_toepen(suits=2,ranks=2,hand_size=2)"])
def test_both_ways_give_the_same_tree(load: Load, name: str) -> None:
    """Representative states come from pyspiel, the tree of our games from compiled code."""
    game = load(name)
    tree = GameTree.from_game(game)
    seen = {}
    for number, state in representative_states(game, tree):
        assert state.current_player() == tree.owner[number]
        assert (
            state.legal_actions() == tree.actions[tree.action_offset[number] : tree.action_offset[number + 1]].tolist()
        )
        seen[number] = state.information_state_string()
    assert sorted(seen) == list(range(tree.num_information_sets))
    assert len(set(seen.values())) == tree.num_information_sets


def test_too_large_games_are_refused_before_they_are_walked(load: Load) -> None:
    with pytest.raises(GameTooLargeError, match=r"python_toepen.* needs about .* TB of memory, 1 GB are allowed"):
        GameTree.from_game(load("python_toepen"), max_memory_bytes=10**9)
    with pytest.raises(MemoryError, match=r"needs about .* kB of memory, 10 kB are allowed"):
        GameTree.from_game(load("leduc_poker"), max_memory_bytes=10_000)


def test_unsuitable_games_are_refused() -> None:
    with pytest.raises(ValueError, match="convert_to_turn_based"):
        GameTree.from_game(pyspiel.load_game("goofspiel(num_cards=3)"))
    with pytest.raises(ValueError, match="explicit chance"):
        GameTree.from_game(pyspiel.load_game("negotiation"))


def test_imperfect_recall_is_no_problem_for_a_tree() -> None:
    tree = GameTree.from_game(ForgetfulGame())
    assert (tree.num_nodes, tree.num_information_sets) == (15, 2)
