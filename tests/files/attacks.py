"""Attacks on whoever reads positions, or places in tables, from a file: `python -m tests.files.attacks dqn games ...`

What got through would make machine code read or write where it should not, which may end the process. So each attack
has a process of its own, a fork of this one; forks of a test process, with its threads, would be unsafe.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch

import cardspiel  # noqa: F401 registers our games
from cardtable.parameters import UserError
from cardtable.ways import KIND, walked, ways_to
from solvers.toepen.blocks import CONTEXT, PLACES, SLOT_WORDS
from solvers.toepen_deals import DealSolver
from tests.files import crafted
from tests.files.learners import OTHERS, WITH_MEMORIES
from tests.files.loaders import ARCHIVES, ours

FILES = ("games", "examples", "choices")
LARGER = "python_toepen(suits=3,ranks=3,hand_size=2)"


def wrong_positions(ways: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """What somebody might put in the place of the ways to some positions."""
    rng = np.random.default_rng(1)
    kinds = np.iinfo(KIND)
    states = walked(ours().rules, ways, len(ways))
    yield "states, as files once had", states
    yield "states of the same type", states.astype(KIND)
    yield "a state, of 64 bits", rng.integers(-(1 << 62), 1 << 62, states.shape)
    for name, low, high in (
        ("any", kinds.min, kinds.max),
        ("small", -3, 12),
        ("actions", 0, 8),
        ("huge", 1 << 30, kinds.max),
    ):
        yield f"{name} numbers", rng.integers(low, high, ways.shape, KIND)
    for value in (kinds.min, -2, 127, 1 << 15, kinds.max):
        for place in range(ways.shape[1]):
            changed = ways.copy()
            changed[len(ways) // 2, place] = value
            yield f"{value} at step {place}", changed
    yield "ways of another variant", other_variant(len(ways))
    yield "ways that go on after the end", np.concatenate([ways, np.zeros((len(ways), 1), KIND)], axis=1)
    yield "the deal in another order", np.concatenate([ways[:, 3::-1], ways[:, 4:]], axis=1)
    yield "one card played twice", np.concatenate([ways[:, :-2], ways[:, -3:-2], ways[:, -3:-2]], axis=1)
    yield "a position less", ways[1:]
    yield "a position more", np.concatenate([ways, ways[:1]])
    yield "no steps at all", ways[:, :0]
    yield "nowhere", np.full_like(ways, -1)  # before the deal, where nobody is to move


def other_variant(rows: int) -> np.ndarray:
    larger = pyspiel.load_game(LARGER)
    found: list[np.ndarray] = []
    rng = np.random.default_rng(2)
    while len(found) < rows:
        state = larger.new_initial_state()
        while not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
        found.append(state.array)
    return ways_to(larger.rules, np.stack(found))


def refused_or_the_same(ways: np.ndarray, wrong: np.ndarray, read: Callable[[np.ndarray], Any]) -> bool:
    """Tries to read wrong positions; what is taken all the same must be positions of the game."""
    said = None
    try:
        read(wrong)
    except (UserError, ValueError) as error:
        said = str(error)
    if said is not None:
        assert said
        assert "\n" not in said
        return True
    walked(ours().rules, wrong, len(ways))
    return False


def attack_file(name: str, folder: Path) -> None:
    loader = ARCHIVES[name]
    loader.write(folder)
    file = folder / loader.file
    arrays = crafted.arrays_of(file.read_bytes())
    refused = 0
    for _, wrong in wrong_positions(arrays["ways"]):

        def read(ways: np.ndarray) -> None:
            file.write_bytes(crafted.archive_of({**arrays, "ways": ways}))
            loader.read(folder)

        refused += refused_or_the_same(arrays["ways"], wrong, read)
    assert refused > 30


def attack_learner(name: str, folder: Path) -> None:
    torch.set_num_threads(1)
    trainer = WITH_MEMORIES[name]()
    trainer.run(2)
    state = trainer.get_state()
    positions = [key for key in state if key.endswith((".state", ".states", ".next"))]
    refused = 0
    for key in positions:
        for _, wrong in wrong_positions(state[key]):

            def read(ways: np.ndarray, key: str = key) -> None:
                trainer.set_state({**state, key: ways})
                trainer.run(1)
                trainer.set_state(state)

            refused += refused_or_the_same(state[key], wrong, read)
    for key in set(state) & {
        f"{memory}.{what}" for memory in ("memory", "own") for what in ("place", "count", "next_count")
    }:
        for value in (-1, 5, 1 << 40, -(1 << 62)):
            with pytest.raises(ValueError, match="solver state"):
                trainer.set_state({**state, key: np.full_like(state[key], value)})
    if "memory.legal" in state:
        with pytest.raises(ValueError, match="is not what is legal"):
            trainer.set_state({**state, "memory.legal": ~state["memory.legal"]})
    assert refused > 30 * len(positions)
    trainer.set_state(state)
    trainer.run(1)


def attack_views(folder: Path) -> None:
    """Tables over views of Toepen, whose columns say where numbers stand."""
    solver = OTHERS["deals"]()
    assert isinstance(solver, DealSolver)
    solver.run(50)
    state = solver.get_state()
    views, rng = state["views"], np.random.default_rng(1)
    refused = 0
    for column in range(SLOT_WORDS):
        for row in range(0, len(views), 7):
            for value in (-(1 << 63), -1, 0, 3, 17, 255, 1 << 20, 1 << 40, (1 << 63) - 1):
                wrong = views.copy()
                wrong[row, column] = value
                if value == views[row, column]:
                    continue
                try:
                    solver.set_state({**state, "views": wrong})
                except ValueError:
                    refused += 1
                    continue
                assert column in (PLACES, CONTEXT), "another view, of a block that is just as long"
                solver.run(3)
                solver.blocks(5)
    for _ in range(20):
        with pytest.raises(ValueError, match="view"):
            solver.set_state({**state, "views": rng.integers(-(1 << 62), 1 << 62, views.shape)})
    with pytest.raises(ValueError, match="views of the solver state"):
        solver.set_state({**state, "views": views[::-1].copy()})
    assert refused > len(views) // 7 * 2 * 8


ATTACKS: dict[str, Callable[[Path], None]] = {
    **{name: functools.partial(attack_file, name) for name in FILES},
    **{name: functools.partial(attack_learner, name) for name in WITH_MEMORIES},
    "views": attack_views,
}


def survives(name: str) -> bool:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            with tempfile.TemporaryDirectory() as folder:
                ATTACKS[name](Path(folder))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        print(f"{asked}: {'held' if survives(asked) else 'FAILED'}", flush=True)
