import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401


def test_partners_share() -> None:
    plain = pyspiel.load_game("python_kuhn_collab").new_initial_state()
    tied = pyspiel.load_game("python_tied_rewards(game=python_kuhn_collab())").new_initial_state()
    rng = np.random.default_rng(1)
    for _ in range(200):
        state, other = plain.clone(), tied.clone()
        while not state.is_terminal():
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            other.apply_action(action)
        north, west, south, east = state.returns()
        assert other.returns() == [north + south, west + east] * 2


def test_names_nest_and_reload() -> None:
    name = "python_tied_rewards(game=python_tied_rewards(game=python_kuhn_collab(fold_topup=False)))"
    game = pyspiel.load_game(name)
    assert str(game) == name
    assert game.base.base.get_parameters() == {"fold_topup": False}
    assert game.teams == ((0, 2), (1, 3))
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
    assert (game.min_utility(), game.max_utility()) == (-12, 12)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python_tied_rewards(game=python_toepen())", "declares no teams"),
        ("python_tied_rewards(game=kuhn_poker())", "game is 'kuhn_poker'; allowed: games and transforms of CardSpiel"),
        ("python_tied_rewards()", "the parameter game is missing"),
    ],
)
def test_bad_input(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(name)
