"""States of trainers that somebody has tampered with: refused in a sentence, and nothing has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.running.openspiel_solvers import CppSolver
from experiments.running.solver_catalogue import SOLVERS
from solvers.learning.trainer import Trainer
from tests.files.crafted import WRONG_VALUES, wrong_arrays
from tests.files.learners import OTHERS, WITH_MEMORIES
from tests.solvers.learning.test_trainer import CANNOT_RESUME, TRAINERS, same

QUICK = (
    "cfr_plus",
    "pcfr_plus",
    "tree_cfr",
    "outcome",
    "openspiel_cfr",
    "openspiel_external",
    "openspiel_cfr_cpp",
    "openspiel_external_cpp",
    "card tree",
    "large deep",
)
# Arrays in which other numbers of the same kind are as good as those that were there.
HARMLESS = re.compile(
    r"(\.iteration|nodes_per_traversal): (-1|-?\d+)$|targets: nan|networks: one entry more"
    r"|_loss: nan|^views: -?\d"  # not measured; a view which nobody ever asks for
)


EVERYBODY = TRAINERS | WITH_MEMORIES | OTHERS


def trained(name: str) -> Trainer:
    if name == "ppo":
        pytest.importorskip("sb3_contrib")
    trainer = EVERYBODY[name]()
    trainer.run(2)
    return trainer


def tampered(state: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in state.items():
        if name == "numpy":  # a list of its own
            for place, other in ((0, "x"), (1, -1), (1, 10**9), (2, "x"), (3, "x")):
                yield f"{name}[{place}]", {**state, name: [*value[:place], other, *value[place + 1 :]]}
        yield f"without {name}", {key: state[key] for key in state if key != name}
        wrongs = (
            wrong_arrays(value) if isinstance(value, np.ndarray) else ((repr(wrong), wrong) for wrong in WRONG_VALUES)
        )
        for what, wrong in wrongs:
            if isinstance(value, float) and isinstance(wrong, int | float) and wrong is not True and wrong == wrong:
                continue  # another number in the place of a number
            if name == "loss" and wrong != wrong:
                continue  # nothing was learned yet
            yield f"{name}: {what}", {**state, name: wrong}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in EVERYBODY
        if name != CANNOT_RESUME
    ],
)
def test_tampered_states_are_refused(name: str) -> None:
    trainer = trained(name)
    state = trainer.get_state()
    tried = 0
    for what, wrong in tampered(state):
        if HARMLESS.search(what):
            continue
        with pytest.raises(ValueError, match=r"\S") as refusal:
            trainer.set_state(wrong)
        assert "\n" not in str(refusal.value).strip(), what
        tried += 1
    assert tried > 20
    assert same(state, trainer.get_state()), "nothing has changed"
    trainer.run(1)


def damaged_texts(text: str) -> Iterator[str]:
    yield from ("", "hello", text[: len(text) // 2], text[: text.index("[SolverValuesTable]")], text + "<~>")
    yield text.replace("kuhn_poker", "leduc_poker")
    yield text.replace("Solver", "Solved")
    yield text.replace("0,1;", "0;", 1)  # fewer actions than the game has
    yield text.replace("0,1;", "0,7;", 1)
    yield text.replace("0,1;", "0,1,2;", 1)
    yield text.replace("0x", "nanx", 1)
    table = text.index("[SolverValuesTable]")
    yield text[:table] + re.sub(r"0x[^,;<]*", "inf", text[table:], count=1)
    yield text[:table] + re.sub(r"0x[^,;<]*,", "", text[table:], count=1)  # a number less: C++ would read on
    yield text[:table] + text[table:].replace("<~>0b<~>", "<~>zz<~>")
    yield re.sub(
        r"(\n\[SolverSpecificState\]\n)\d+",
        r"\g<1>99999999999999999999",
        text.replace("[SolverRNG]\n", "[SolverRNG]\n7 "),
    )


@pytest.mark.parametrize("name", ["openspiel_cfr_cpp", "openspiel_external_cpp"])
def test_what_cpp_believes_is_read_here_first(name: str) -> None:
    trainer = trained(name)
    state = trainer.get_state()
    for text in damaged_texts(state["text"]):
        assert text != state["text"]
        with pytest.raises(ValueError, match="the solver state cannot be read"):
            trainer.set_state({**state, "text": text})
    trainer.set_state(state)
    trainer.run(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openspiel_cfr_cpp", "openspiel_external_cpp"])
def test_random_changes_do_not_hurt_cpp(name: str) -> None:
    trainer = trained(name)
    assert isinstance(trainer, CppSolver)
    state = trainer.get_state()
    text = state["text"]

    @settings(max_examples=3000)
    @given(st.lists(st.tuples(st.integers(0, len(text) - 1), st.text(max_size=4)), min_size=1, max_size=4))
    def change(pieces: list[tuple[int, str]]) -> None:
        changed = text
        for place, piece in pieces:
            changed = changed[:place] + piece + changed[place + len(piece) :]
        try:
            trainer.set_state({**state, "text": changed})
        except ValueError:
            return
        trainer.run(1)

    change()


def test_every_trainer_of_the_catalogue_is_tried() -> None:
    assert set(SOLVERS) < set(TRAINERS)
