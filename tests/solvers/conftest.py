import functools

import pyspiel
import pytest

import cardspiel  # noqa: F401  registers our games


@pytest.fixture(scope="session")
def load():
    """pyspiel.load_game, remembering its answers."""
    return functools.cache(pyspiel.load_game)
