import numpy as np
import pyspiel
import pytest

from solvers.arrays.sequence_form import SequenceForm, sequence_form
from solvers.arrays.sweeps import plans_of
from tests.solvers.games import ForgetfulGame, Load

GAMES = [
    "kuhn_poker",
    "leduc_poker",
    "kuhn_poker(players=4)",
    "tiny_bridge_2p",
    "python_toepen(suits=2,ranks=3,hand_size=2)",
    "python_kuhn_collab",
]


@pytest.mark.parametrize("name", GAMES)
def test_plans_and_entries_give_the_value_of_the_uniform_policy(load: Load, name: str) -> None:
    """Sum over entries of weight * all plans, against a plain walk over the tree."""
    form = sequence_form(load(name))
    tree = form.tree
    reach = np.ones(tree.num_nodes)
    for node in range(tree.num_nodes):
        if tree.player[node] < -1:
            continue
        number = tree.label[node]
        offset = tree.chance_offset if tree.player[node] == -1 else tree.action_offset
        start, end = offset[number], offset[number + 1]
        share = tree.chance_probability[start:end] if tree.player[node] == -1 else 1.0 / (end - start)
        reach[tree.first_child[node] : tree.first_child[node] + end - start] = reach[node] * share
    terminals = tree.player < -1
    expected = reach[terminals] @ tree.returns[tree.label[terminals]]

    probabilities = np.ones(form.num_sequences)
    for number in range(form.num_information_sets):
        probabilities[form.sequences(number)] = 1.0 / form.num_actions[number]
    plan = form.empty_plan()
    plans_of(form.arrays.batches, form.arrays.parent, probabilities, plan)
    row = form.row_of_entry()
    product = form.probability_unit * form.arrays.weight * plan[row] * plan[form.arrays.others].prod(axis=0)
    owner = form.owner_of_sequence()[row]
    values = [product[owner == player].sum() for player in range(form.num_players)]
    assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_parents_come_first(load: Load, name: str) -> None:
    form = sequence_form(load(name))
    assert (form.parent < form.first_sequence).all()
    owner = form.owner_of_sequence()
    assert (owner[form.parent] == form.owner).all()
    assert (form.num_actions >= 2).all()


@pytest.mark.parametrize("name", ["leduc_poker", "python_toepen(suits=2,ranks=3,hand_size=2)"])
def test_information_sets_are_found_again(load: Load, name: str) -> None:
    form = sequence_form(load(name))
    for number, state in form.representative_states():
        player = state.current_player()
        assert form.find(state, player) == number
        assert form.legal_actions(number).tolist() == state.legal_actions()
        assert form.owner[number] == player


def test_forms_are_remembered(load: Load) -> None:
    form = sequence_form(load("kuhn_poker"))
    assert sequence_form(pyspiel.load_game("kuhn_poker")) is form
    assert sequence_form(form) is form


def test_imperfect_recall_is_refused() -> None:
    with pytest.raises(ValueError, match=r"imperfect recall.*'player 0, forgetful'.*solvers\.tree_cfr"):
        SequenceForm.from_game(ForgetfulGame())


def test_simultaneous_moves_are_refused() -> None:
    with pytest.raises(ValueError, match="convert_to_turn_based"):
        SequenceForm.from_game(pyspiel.load_game("matrix_rps"))


def test_too_large_games_are_refused(load: Load) -> None:
    with pytest.raises(MemoryError, match=r"sequence form of python_toepen.* needs about .* TB"):
        SequenceForm.from_game(load("python_toepen"))
    with pytest.raises(MemoryError, match=r"sequence form of leduc_poker.* 500 kB are allowed"):
        SequenceForm.from_game(load("leduc_poker"), max_memory_bytes=500_000)


def test_games_in_which_a_player_never_acts() -> None:
    """An extensive game in which only player 1 has a choice."""
    game = pyspiel.load_efg_game(
        'EFG 2 R "t" { "a" "b" } ""\np "" 2 1 "" { "l" "r" } 0\nt "" 1 "" { 1, 2 }\nt "" 2 "" { 3, -1 }\n'
    )
    form = SequenceForm.from_game(game)
    assert form.owner.tolist() == [1]


def test_weights_are_whole_numbers_where_all_deals_are_equally_likely(load: Load) -> None:
    for name, deals in (("leduc_poker", 120), ("kuhn_poker(players=3)", 24), ("python_kuhn_collab", 360)):
        form = sequence_form(load(name))
        assert form.probability_unit == pytest.approx(1 / deals)
        assert (2 * form.arrays.weight == np.rint(2 * form.arrays.weight)).all()  # Collaborative Kuhn pays halves
