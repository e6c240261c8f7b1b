"""A position and the way to it are the same thing; and no array of numbers leads anywhere else than play does."""

import subprocess
import sys

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.spiel import CardGame
from cardtable.ways import END, KIND, choices, most_steps, walked, ways_to
from tests.variants import ALL

MOST = 1 << 20


def positions_of(game: CardGame, games: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[int]]:
    """Every position of some random games, with the number of legal actions in it, through pyspiel."""
    positions, counts = [], []
    for _ in range(games):
        state = game.new_initial_state()
        while True:
            positions.append(state.array.copy())
            over = state.is_terminal() or state.is_chance_node()
            counts.append(0 if over else len(state.legal_actions()))
            if state.is_terminal():
                break
            state.apply_action(int(rng.choice(state.legal_actions())))
    return positions, counts


@pytest.mark.parametrize("name", ALL)
def test_every_position_is_found_again(name: str) -> None:
    game = pyspiel.load_game(name)
    positions, counts = positions_of(game, 3, np.random.default_rng(1))
    ways = ways_to(game.rules, np.stack(positions))
    assert ways.dtype == KIND
    assert ways.shape[1] <= most_steps(game.rules)
    again = walked(game.rules, ways, len(ways))
    np.testing.assert_array_equal(again, np.stack(positions))
    np.testing.assert_array_equal(choices(game.rules, again), counts)


@pytest.mark.parametrize("name", ALL)
def test_a_way_is_a_history_of_the_game(name: str) -> None:
    """pyspiel, which refuses illegal actions, takes the same steps. A match begins with its present deal."""
    game = pyspiel.load_game(name)
    if game.rules.forgotten:
        return
    positions, _ = positions_of(game, 1, np.random.default_rng(2))
    for position, way in zip(positions, ways_to(game.rules, np.stack(positions)).tolist(), strict=True):
        state = game.new_initial_state()
        for step in way[: way.index(END)] if END in way else way:
            assert step in state.legal_actions()
            state.apply_action(step)
        np.testing.assert_array_equal(state.array, position)


def wrong_ways(game: CardGame, rng: np.random.Generator) -> list[np.ndarray]:
    positions, _ = positions_of(game, 1, rng)
    ways = ways_to(game.rules, np.stack(positions[-1:]))
    extremes = [np.iinfo(KIND).min, -2, 1 << 15, np.iinfo(KIND).max]
    wrong = [np.full_like(ways, value) for value in (0, *extremes)]
    wrong += [rng.integers(extremes[0], extremes[-1], ways.shape, KIND) for _ in range(5)]
    first = len(game.rules.forgotten)
    for place in range(ways.shape[1]):
        for value in extremes:
            changed = ways.copy()
            changed[0, place] = value
            wrong.append(changed)
    later = np.concatenate([ways, np.zeros((1, 1), KIND)], axis=1)  # after the end
    swapped = np.concatenate([ways[:, :first], ways[:, first:][:, ::-1]], axis=1)
    return [*wrong, later, *([swapped] if (swapped != ways).any() else [])]


@pytest.mark.parametrize("name", ALL)
def test_what_is_no_way_is_refused(name: str) -> None:
    game = pyspiel.load_game(name)
    for ways in wrong_ways(game, np.random.default_rng(3)):
        try:
            found = walked(game.rules, ways, MOST)
        except ValueError as error:
            assert "row 0" in str(error) or "shape" in str(error)  # noqa: PT017 nothing else may come
        else:  # it happens to be a way: then it leads to a position to which there is a way
            np.testing.assert_array_equal(walked(game.rules, ways_to(game.rules, found), MOST), found)


@pytest.mark.parametrize(
    "ways",
    [
        np.zeros((3, 4), np.int64),
        np.zeros((3, 4), np.float32),
        np.zeros(4, KIND),
        np.zeros((2, 2, 2), KIND),
        np.zeros((1 << 40, 0), KIND),
        np.zeros((1, 10_000), KIND),
        np.full((11, 1), END, KIND),
        [[0, 1]],
    ],
)
def test_other_arrays_are_refused_before_memory_is_taken(ways: np.ndarray) -> None:
    rules = pyspiel.load_game("python_toepen(suits=2,ranks=2,hand_size=2)").rules
    with pytest.raises(ValueError, match="ways"):
        walked(rules, ways, 10)


def test_states_of_another_game_have_no_ways() -> None:
    rules = pyspiel.load_game("python_toepen(suits=2,ranks=2,hand_size=2)").rules
    for states in (np.zeros((2, 3), np.int64), np.zeros((2, rules.state_size)), np.zeros(rules.state_size, np.int64)):
        with pytest.raises(ValueError, match="states have the shape"):
            ways_to(rules, states)


def test_a_match_may_not_begin_with_any_score() -> None:
    """Scores and dealers of earlier deals cannot be played again; but they cannot be anything either."""
    game = pyspiel.load_game("python_coinche_match(target=500,max_deals=7)")
    rules = game.rules
    position = rules.root.copy()
    way = ways_to(rules, position[None])
    assert len(rules.forgotten) == 4
    for place, (_, lowest, highest) in enumerate(rules.forgotten):
        for value, good in ((lowest, True), (highest, True), (lowest - 1, False), (highest + 1, False)):
            changed = way.copy()
            changed[0, place] = value
            if good:
                walked(rules, changed, 1)
            else:
                with pytest.raises(ValueError, match="row 0"):
                    walked(rules, changed, 1)
    assert {highest for _, _, highest in rules.forgotten} == {3, 499, 6}


FUZZ = """
import numpy as np, pyspiel, cardspiel
from cardtable.ways import KIND, most_steps, walked
rng = np.random.default_rng(4)
for name in {names!r}:
    rules = pyspiel.load_game(name).rules
    for limits in ((-2, 8), (-1, rules.num_distinct_actions), (-(1 << 31), (1 << 31) - 1)):
        for _ in range(300):
            try:
                walked(rules, rng.integers(*limits, (4, int(rng.integers(1, most_steps(rules)))), KIND), 4)
            except ValueError:
                pass
print("alive")
"""


def test_random_numbers_do_not_hurt() -> None:
    """In a process of its own: whatever reads beyond an array would end it."""
    names = ["python_toepen", "python_kuhn_collab", "python_gongzhu", "python_card_isomorphism(game=python_toepen())"]
    done = subprocess.run([sys.executable, "-c", FUZZ.format(names=names)], capture_output=True, text=True, check=False)
    assert done.stdout == "alive\n", done.stderr
