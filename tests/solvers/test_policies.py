import json
import os
from pathlib import Path

import numpy as np
import pytest

from solvers.best_response import nash_conv
from solvers.cfr import CFRSolver
from solvers.policies import load_metadata, load_policy, save_policy
from tests.solvers.games import Load

GAMES = ["leduc_poker", "python_toepen(suits=2,ranks=3,hand_size=2)"]


@pytest.fixture
def solved(load: Load, request: pytest.FixtureRequest) -> CFRSolver:
    solver = CFRSolver(load(request.param))
    solver.run(20)
    return solver


@pytest.mark.parametrize("solved", GAMES, indirect=True)
@pytest.mark.parametrize("compress", [False, True])
def test_round_trip(solved: CFRSolver, tmp_path: Path, compress: bool) -> None:
    path = tmp_path / "policy.npz"
    policy = solved.average_policy()
    save_policy(path, policy, {"solver": "cfr_plus", "iterations": 20}, compress)
    assert [file.name for file in tmp_path.iterdir()] == ["policy.npz"]
    loaded = load_policy(path)
    assert nash_conv(solved.form, loaded) == pytest.approx(solved.nash_conv(), abs=1e-12)
    for number, state in solved.form.representative_states():
        assert loaded.action_probabilities(state) == policy.action_probabilities(state), number
    assert load_metadata(path)["iterations"] == 20
    assert load_policy(path, solved.game).num_information_sets == policy.num_information_sets


@pytest.mark.parametrize("solved", GAMES, indirect=True)
def test_files_are_readable_with_numpy_alone(solved: CFRSolver, tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    save_policy(path, solved.average_policy())
    with np.load(path) as archive:
        assert json.loads(str(archive["metadata"]))["game"] == str(solved.game)
        offsets, probabilities = archive["offsets"], archive["probabilities"]
        assert np.add.reduceat(probabilities, offsets[:-1]) == pytest.approx(1.0)
        names = archive["keys"] if "keys" in archive else archive["information_states"]
        assert len(names) == len(archive["players"]) == solved.form.num_information_sets


@pytest.mark.parametrize("solved", GAMES[1:], indirect=True)
def test_policies_of_other_rules_are_refused(
    solved: CFRSolver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.npz"
    policy = solved.average_policy()
    save_policy(path, policy)
    assert load_metadata(path)["rules_version"] == solved.game.rules.version
    monkeypatch.setattr("solvers.policies.rules_version", lambda game: 99)
    save_policy(path, policy)
    with pytest.raises(ValueError, match="version 99 of the rules of python_toepen; this is version"):
        load_policy(path, solved.game)


@pytest.mark.parametrize("solved", ["kuhn_poker"], indirect=True)
def test_damaged_and_foreign_files_are_refused(solved: CFRSolver, load: Load, tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    save_policy(path, solved.average_policy())
    content = path.read_bytes()
    for broken in (content[: len(content) // 2], b"", b"hello", content[:200] + bytes(40) + content[240:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="is damaged or not a policy file"):
            load_policy(path)
    np.savez(path, numbers=np.arange(3))
    with pytest.raises(ValueError, match="is damaged or not a policy file"):
        load_policy(path)
    path.write_bytes(content)
    with np.load(path) as archive:
        arrays = dict(archive)
    for name, wrong, message in (
        ("probabilities", 2 * arrays["probabilities"], "do not sum to one"),
        ("probabilities", arrays["probabilities"][1:], "do not fit"),
        ("offsets", arrays["offsets"][::-1].copy(), "offsets"),
        ("metadata", np.array('{"format": "something else"}'), "format"),
        ("metadata", np.array('{"format": "cardspiel-policy", "version": 99}'), "version"),
    ):
        np.savez(path, **{**arrays, name: wrong})
        with pytest.raises(ValueError, match=message):
            load_policy(path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is a policy for kuhn_poker"):
        load_policy(path, load("leduc_poker"))
    with pytest.raises(FileNotFoundError):
        load_policy(tmp_path / "nothing.npz")


@pytest.mark.parametrize("solved", GAMES, indirect=True)
def test_states_outside_the_table(solved: CFRSolver, load: Load, tmp_path: Path) -> None:
    """A table with one information set: elsewhere an error, or uniform play if asked for."""
    path = tmp_path / "policy.npz"
    save_policy(path, solved.average_policy())
    with np.load(path) as archive:
        arrays = dict(archive)
    size = int(arrays["offsets"][1])
    names = "keys" if "keys" in arrays else "information_states"
    for name, length in (("players", 1), ("offsets", 2), ("actions", size), ("probabilities", size), (names, 1)):
        arrays[name] = arrays[name][:length]
    np.savez(path, **arrays)
    strict, lenient = load_policy(path), load_policy(path, missing="uniform")
    found = 0
    for _, state in solved.form.representative_states():
        if strict.find(state, state.current_player()) >= 0:
            found += 1
            assert lenient.action_probabilities(state) == strict.action_probabilities(state)
        else:
            with pytest.raises(ValueError, match="no entry for player"):
                strict.action_probabilities(state)
            assert set(lenient.action_probabilities(state).values()) == {1 / len(state.legal_actions())}
    assert found == 1
    with pytest.raises(ValueError, match="no entry for"):
        nash_conv(solved.form, strict)
    assert nash_conv(solved.form, lenient) > 0.0


@pytest.mark.parametrize("solved", ["kuhn_poker"], indirect=True)
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_files_are_for_those_whom_the_umask_lets(solved: CFRSolver, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        save_policy(tmp_path / "policy.npz", solved.average_policy())
    finally:
        os.umask(before)
    assert (tmp_path / "policy.npz").stat().st_mode & 0o777 == 0o666 & ~mask
