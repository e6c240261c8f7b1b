import functools

import pyspiel
import pytest

import cardspiel  # noqa: F401  registers our games
from tests.solvers.games import Load


@pytest.fixture(scope="session")
def load() -> Load:
    """pyspiel.load_game, remembering its answers."""
    return functools.cache(pyspiel.load_game)
