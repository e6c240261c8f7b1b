"""PPO: it learns, goes on bit by bit from a state, and plays without torch as it does with it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player
from solvers.environments import ME, seating_of

pytest.importorskip("sb3_contrib")

import torch
from sb3_contrib import MaskablePPO

from solvers.ppo.players import save_player
from solvers.ppo.settings import Settings
from solvers.ppo.trainer import PPO, LeanMaskablePPO

GAME = "python_toepen(suits=2,ranks=3,hand_size=2)"
SMALL = Settings(num_envs=8, n_steps=32, batch_size=64, n_epochs=2, hidden_sizes=(16,))


def trainer(seed: int = 1, settings: Settings = SMALL) -> PPO:
    torch.set_num_threads(1)
    game = pyspiel.load_game(GAME)
    return PPO(game, seating_of(game, [ME, "random"]), settings, seed)


def test_it_goes_on_bit_by_bit() -> None:
    whole, first, second = trainer(), trainer(), trainer()
    whole.run(4)
    first.run(2)
    second.run(1)  # what it has done meanwhile is forgotten
    second.set_state(first.get_state())
    second.run(2)
    expected, found = whole.get_state(), second.get_state()
    assert expected.keys() == found.keys()
    for name in expected:
        np.testing.assert_array_equal(expected[name], found[name], err_msg=name)
    assert not np.array_equal(expected["weights.action_net.weight"], first.get_state()["weights.action_net.weight"])


@pytest.mark.parametrize("entropy", [0.0, 0.01])
def test_the_update_is_that_of_sb3(entropy: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same weights up to rounding as MaskablePPO's own update, minibatches drawn from the same random numbers."""
    settings = dataclasses.replace(SMALL, ent_coef=entropy, learning_rate=3e-3)
    ours = trainer(settings=settings)
    ours.run(2)
    monkeypatch.setattr(LeanMaskablePPO, "train", MaskablePPO.train)
    theirs = trainer(settings=settings)
    theirs.run(2)
    before, after = trainer(settings=settings).get_state(), ours.get_state()
    for name, value in theirs.get_state().items():
        np.testing.assert_allclose(after[name], value, atol=1e-5, rtol=1e-3, err_msg=name)
    moved = max(np.abs(after[name] - before[name]).max() for name in after if name.startswith("weights."))
    assert moved > 0.01


def test_run_0_changes_nothing() -> None:
    ppo = trainer()
    before = ppo.get_state()
    ppo.run(0)
    for name, value in ppo.get_state().items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.slow
def test_it_learns() -> None:
    """At this small game against random play: clearly ahead of random play, which is level with itself."""
    settings = Settings(num_envs=32, n_steps=64, batch_size=256, n_epochs=6, learning_rate=3e-3, hidden_sizes=(32,))
    ppo = trainer(settings=settings)
    ppo.run(12)
    game = ppo.game
    learned, nobody = ppo.player(), find_player("random", game)
    gain = play_match(game, learned, nobody, deals=2000, seed=9).score
    assert gain.low > 0.3


def test_saved_and_found_again(tmp_path: Path) -> None:
    ppo = trainer()
    ppo.run(2)
    save_player(ppo.layers(), ppo.game, tmp_path, {})
    found = find_player(str(tmp_path), ppo.game)
    rows = np.arange(8)
    environment = ppo.environment
    states = environment._states  # positions in which the learner has a choice
    chances = found.probabilities_rows(states, rows)  # type: ignore[misc]
    with torch.no_grad():
        observations = torch.from_numpy(environment.observations())
        distribution = ppo._model.policy.get_distribution(observations, environment.masks())
        expected = distribution.distribution.probs.numpy()  # type: ignore[union-attr, unused-ignore]
    np.testing.assert_allclose(chances, expected, atol=1e-6)
    with pytest.raises(UserError, match="is a player of"):
        find_player(str(tmp_path), pyspiel.load_game("python_toepen"))
    (tmp_path / "policy.safetensors").write_bytes(b"nonsense")
    with pytest.raises(UserError, match="damaged"):
        find_player(str(tmp_path), ppo.game)


def test_states_of_others_are_refused() -> None:
    ppo = trainer()
    good = ppo.get_state()
    for name, value in (
        ("weights.action_net.bias", np.full_like(good["weights.action_net.bias"], np.nan)),
        ("exp_avg_sq.action_net.bias", np.full_like(good["exp_avg_sq.action_net.bias"], -1.0)),
        ("env.chosen", np.full_like(good["env.chosen"], 3)),
        ("iterations", -1),
    ):
        with pytest.raises(ValueError, match=r"solver state|environment"):
            ppo.set_state({**good, name: value})
    for name, value in ppo.get_state().items():
        np.testing.assert_array_equal(value, good[name])


def test_settings_are_checked() -> None:
    with pytest.raises(UserError, match="num_envs is 0"):
        Settings(num_envs=0)
