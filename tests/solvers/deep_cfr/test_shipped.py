"""The player `deep_cfr` of Coinche, and how it is made from a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401 registers our games
from cardtable.match import play_match
from cardtable.parameters import UserError
from cardtable.player import find_player
from solvers.deep_cfr.large import LargeDeepCFR, large_settings
from solvers.deep_cfr.players import WEIGHTS_FILE, save_player
from solvers.deep_cfr.shipped import install, shipped_player

FEW = large_settings(traversals=1, training_steps=1, strategy_training_steps=5, hidden_sizes=(8,), memory_rows=2000)


def test_what_is_installed_plays_like_the_run(tmp_path: Path) -> None:
    renamed = pyspiel.load_game("python_card_isomorphism(game=python_coinche())")
    game = pyspiel.load_game("python_coinche")
    trainer = LargeDeepCFR(renamed, FEW.replace(traversal="corrected", node_budget=100_000_000), seed=1)
    trainer.run(1)
    trainer.train_strategy_networks()
    (tmp_path / "run").mkdir()
    save_player(trainer, tmp_path / "run", {"seed": 1})
    install(tmp_path / "run", tmp_path / "shipped")
    whole = find_player(f"{tmp_path / 'run'}(average=strategy)", game)
    half = shipped_player(tmp_path / "shipped", game, greedy=False)
    states = np.repeat(game.rules.root[None, :], 4, axis=0)
    for number, state in enumerate(states):
        game.rules.kernel.deal(state, np.array([number], np.uint64))
    assert whole.probabilities_rows is not None
    assert half.probabilities_rows is not None
    one = whole.probabilities_rows(states, np.arange(4))
    two = half.probabilities_rows(states, np.arange(4))
    np.testing.assert_allclose(one, two, atol=0.01)
    assert np.abs(one - one.mean(axis=1, keepdims=True)).max() > 0.01

    (tmp_path / "shipped" / WEIGHTS_FILE).write_bytes(b"nonsense")
    with pytest.raises(UserError, match="damaged"):
        shipped_player(tmp_path / "shipped", game, greedy=True)


def test_a_run_without_strategy_network_is_refused(tmp_path: Path) -> None:
    renamed = pyspiel.load_game("python_card_isomorphism(game=python_coinche())")
    settings = FEW.replace(traversal="corrected", node_budget=100_000_000, strategy_network=False)
    trainer = LargeDeepCFR(renamed, settings, seed=1)
    trainer.run(1)
    save_player(trainer, tmp_path, {})
    with pytest.raises(UserError, match="average is 'strategy'; allowed: single"):
        install(tmp_path, tmp_path / "shipped")


def test_it_beats_simple() -> None:
    """By some sixty points a deal where it was measured; also where contracts are paid in another way."""
    for name in ("python_coinche", "python_coinche(reward=good)"):
        game = pyspiel.load_game(name)
        assert play_match(game, find_player("deep_cfr", game), find_player("simple", game), 400, seed=3).score.low > 0
