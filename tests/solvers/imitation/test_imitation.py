"""Networks that learn from examples: a clone of somebody simple, values that are known, saved clones, bad files."""

from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers the games
from cardtable.executors import Threads
from cardtable.parameters import UserError
from cardtable.player import compiled_player, find_player, legal_mask
from cardtable.search.clones import load_model, save_clone
from solvers.imitation.examples import Teacher, taught
from solvers.imitation.fitting import FitSettings, fit
from tests.cardtable.search.test_worlds import highest

NAME = "python_gongzhu(suits=2,ranks=6)"
GAME = pyspiel.load_game(NAME)


def test_examples_do_not_depend_on_threads() -> None:
    teacher = Teacher(GAME, find_player("random", GAME), exploration=0.3, seed=5)
    one = taught(teacher, range(150))
    with Threads(2) as executor:
        two = taught(teacher, range(150), executor)
    assert (one.states == two.states).all()
    assert (one.targets == two.targets).all()
    assert legal_mask(GAME.rules, one.states, np.arange(len(one.states)))[np.arange(len(one.states)), one.targets].all()


def test_a_clone_of_somebody_simple_plays_like_her(tmp_path: Path) -> None:
    teacher = Teacher(GAME, compiled_player("highest", GAME, highest), exploration=0.2)
    tensors, known = fit(GAME, taught(teacher, range(2000)), "choices", FitSettings(epochs=10))
    assert known["held_out_accuracy"] > 0.9
    save_clone(tmp_path, GAME, tensors, {"player": "highest"})
    clone = find_player(str(tmp_path), GAME)
    fresh = taught(Teacher(GAME, compiled_player("highest", GAME, highest), seed=77), range(30))
    assert clone.probabilities_rows is not None
    chances = clone.probabilities_rows(fresh.states, np.arange(len(fresh.states)))
    assert chances[np.arange(len(fresh.states)), fresh.targets].mean() > 0.8
    assert load_model(tmp_path, GAME).tensors["weight_0"].shape[1] == 32
    with pytest.raises(UserError, match="is a clone for"):
        load_model(tmp_path, pyspiel.load_game("python_gongzhu(suits=2,ranks=4)"))


def test_values_are_learned_up_to_their_mean() -> None:
    """A card is worth its number: the network learns the differences, whatever is added to all cards of a position."""

    def values_rows(states: np.ndarray, rows: np.ndarray, streams: np.ndarray) -> np.ndarray:
        values = np.where(legal_mask(GAME.rules, states, rows), np.arange(12.0) * 20, np.nan)
        return values + 1000 * (streams[:, :1] % 7)

    examples = taught(Teacher(GAME, values_rows=values_rows, exploration=0.5), range(2000))
    _, known = fit(GAME, examples, "values", FitSettings(epochs=8))
    assert known["held_out_loss"] < 0.02
    assert known["held_out_accuracy"] > 0.9
