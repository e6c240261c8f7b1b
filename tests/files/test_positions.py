"""Positions in files: whatever numbers stand in their place, none reaches compiled code that believes it.

A wrong position that got through would make machine code read or write where it should not, which may end the process:
everything is tried in a child of this one.
"""

from __future__ import annotations

import multiprocessing
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
from tests.files.loaders import ARCHIVES, OURS, ours

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
    found = []
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


def attack_learner(name: str) -> None:
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


def attack_views() -> None:
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


def survives(attack: Callable[..., None], *arguments: object) -> None:
    child = multiprocessing.get_context("fork").Process(target=attack, args=arguments)
    child.start()
    child.join()
    assert child.exitcode == 0


@pytest.mark.slow  # compiles the learner
def test_tables_of_views_are_looked_through() -> None:
    survives(attack_views)


@pytest.mark.parametrize("name", FILES)
def test_files_hold_only_positions_that_play_leads_to(name: str, tmp_path: Path) -> None:
    survives(attack_file, name, tmp_path)


@pytest.mark.parametrize("name", WITH_MEMORIES)
def test_memories_hold_only_positions_that_play_leads_to(name: str) -> None:
    survives(attack_learner, name)


def test_games_dealt_by_everybody_are_filed_as_they_were(tmp_path: Path) -> None:
    """Where the deal goes round, a way begins at the table of its deal."""
    from cardtable.match import Task, play_part
    from cardtable.player import find_player
    from experiments.running.filed_games import load_games, save_games
    from tests.variants import COINCHE_M0

    game = pyspiel.load_game(COINCHE_M0)
    task = Task(game, (find_player("random", game),) * 4, 1, 1)
    assert len(task.tables) == 4
    items = [(5, 12), (12, 18)]
    parts = [play_part(task, item) for item in items]
    save_games(tmp_path / "games.npz", parts, task, 5)
    for one, other in zip(parts, load_games(tmp_path / "games.npz", items, task), strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.returns, other.returns)


def test_positions_are_filed_as_ways_only() -> None:
    """No state array in any of these files: they could not be told from wrong ones."""
    assert pyspiel.load_game(OURS).rules.state_size > 20
    for make in WITH_MEMORIES.values():
        trainer = make()
        trainer.run(1)
        for name, value in trainer.get_state().items():
            if isinstance(value, np.ndarray):
                assert value.shape[1:] != (ours().rules.state_size,), name
