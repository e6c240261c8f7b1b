"""Every trainer counts, runs, describes itself and goes on from a checkpoint in the same way."""

import gc
import json
from collections.abc import Callable

import numpy as np
import pyspiel
import pytest
import torch
from numba.core.dispatcher import Dispatcher

import cardspiel  # noqa: F401 registers our games
from experiments.running.solver_catalogue import SOLVERS
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.settings import Settings
from solvers.deep_cfr.trainer import TabulatedDeepCFR
from solvers.learning.trainer import CannotResumeError, Trainer
from solvers.toepen.card_tree import build_card_tree
from solvers.toepen_cfr import ToepenSolver
from tests.files.learners import OTHERS, WITH_MEMORIES

torch.set_num_threads(1)  # small networks gain nothing from more

TOEPEN = "python_toepen(suits=2,ranks=2,hand_size=2)"
FEW = large_settings(
    traversals=4, training_steps=2, batch_size=16, memory_rows=100, strategy_memory_rows=100, snapshots=4
)


def of_catalogue(name: str) -> Callable[[], Trainer]:
    return lambda: SOLVERS[name](pyspiel.load_game("kuhn_poker"), 1, None)


CANNOT_RESUME = "openspiel_cfr_plus_cpp"
TRAINERS: dict[str, Callable[[], Trainer]] = {
    **{name: of_catalogue(name) for name in SOLVERS},
    "card tree": lambda: ToepenSolver(build_card_tree(2, 2, 2)),
    "tabulated deep": lambda: TabulatedDeepCFR(pyspiel.load_game("kuhn_poker"), Settings(traversals=20), 1),
    "large deep": lambda: LargeDeepCFR(pyspiel.load_game(TOEPEN), FEW, 1),
}


@pytest.fixture(params=[name for name in TRAINERS if name != CANNOT_RESUME])
def make(request: pytest.FixtureRequest) -> Callable[[], Trainer]:
    return TRAINERS[request.param]


def same(first: dict, second: dict) -> bool:
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(comparable(first[name]), comparable(second[name]), name)
    return True


def comparable(value: object) -> np.ndarray:
    """C++ writes a table as a text in which entries come in any order."""
    return np.asarray(sorted(value.replace("\n", "<~>").split("<~>")) if isinstance(value, str) else value)


def test_iterations_are_counted_and_never_negative(make: Callable[[], Trainer]) -> None:
    trainer = make()
    assert isinstance(trainer, Trainer)
    before = trainer.get_state()
    trainer.run(0)
    assert trainer.iterations == 0
    with pytest.raises(ValueError, match="iterations is -1; allowed: 0 or more"):
        trainer.run(-1)
    assert before.keys() == trainer.get_state().keys()
    trainer.run(2)
    trainer.run(1)
    assert trainer.iterations == 3


def loaded_code() -> set[tuple[int, str]]:
    """All that numba has compiled, or read from its cache, so far in this process."""
    dispatchers = [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]
    return {(id(each), str(signature)) for each in dispatchers for signature in each.overloads}


@pytest.mark.parametrize("name", [name for name in TRAINERS if not name.startswith("openspiel")])
def test_the_first_iteration_finds_everything_compiled(name: str) -> None:
    """So that seconds of training are seconds of training, with a warm cache or a cold one."""
    trainer = TRAINERS[name]()
    trainer.run(0)
    before = loaded_code()
    trainer.run(1)
    assert loaded_code() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WITH_MEMORIES, "dmc"])
def test_the_first_iteration_and_checkpoint_of_a_learner_do_too(name: str) -> None:
    trainer = (WITH_MEMORIES | OTHERS)[name]()
    trainer.run(0)
    before = loaded_code()
    trainer.run(2)
    trainer.set_state(trainer.get_state())
    assert loaded_code() == before


@pytest.mark.parametrize("name", ["tabulated deep", "large deep"])
def test_a_rehearsal_leaves_nothing_behind(name: str) -> None:
    rehearsed, other = TRAINERS[name](), TRAINERS[name]()
    rehearsed.run(2)
    rehearsed.run(0)
    rehearsed.run(1)
    other.run(3)
    assert same(rehearsed.get_state(), other.get_state())


def test_a_trainer_says_what_it_is_and_how_far_it_got(make: Callable[[], Trainer]) -> None:
    trainer = make()
    identity = trainer.identity()
    assert {"game", "rules_version", "solver"} <= identity.keys()
    assert json.loads(json.dumps(identity)) == identity
    trainer.run(2)
    assert trainer.identity() == identity, "what it is does not depend on how far it got"
    assert all(isinstance(value, int | float) for value in trainer.metrics().values())
    if "nash_conv" in trainer.metrics():
        assert 0.0 < trainer.metrics()["nash_conv"] < 2.0


def test_it_goes_on_from_a_state(make: Callable[[], Trainer]) -> None:
    whole = make()
    whole.run(5)
    expected, metrics = whole.get_state(), whole.metrics()
    first = make()  # one after the other: OpenSpiel's sampling draws from random numbers that all share
    first.run(3)
    state = first.get_state()
    second = make()
    second.set_state(state)
    assert second.iterations == 3
    second.run(2)
    assert same(expected, second.get_state())
    assert metrics == second.metrics()


def test_who_cannot_go_on_says_so() -> None:
    """A CFR+ of OpenSpiel's that was read back has negative regrets: it is no CFR+ any more."""
    trainer = TRAINERS[CANNOT_RESUME]()
    trainer.run(2)
    assert trainer.iterations == 2
    with pytest.raises(CannotResumeError, match="cannot be resumed"):
        trainer.get_state()
    solver = pyspiel.CFRPlusSolver(pyspiel.load_game("kuhn_poker"))
    copy = pyspiel.CFRPlusSolver.__new__(pyspiel.CFRPlusSolver)
    copy.__setstate__(solver.__getstate__())
    for _ in range(3):
        solver.evaluate_and_update_policy()
        copy.evaluate_and_update_policy()
    assert ";-" not in solver.__getstate__()
    assert ";-" in copy.__getstate__(), "OpenSpiel has mended it: it can be resumed after all"


def test_states_of_something_else_are_refused() -> None:
    tiny, small = ToepenSolver(build_card_tree(2, 2, 2)), ToepenSolver(build_card_tree(2, 3, 2))
    with pytest.raises(ValueError, match="the solver state is one of"):
        small.set_state(tiny.get_state())
