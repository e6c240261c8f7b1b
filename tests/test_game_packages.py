"""Every game package has the same shape, so that whoever knows one knows where to look in the others."""

import dataclasses
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pyspiel
import pytest

import cardspiel
from cardtable.parameters import UserError
from cardtable.rules import Kernel, Rules
from coinche_spiel import match
from coinche_spiel import rules as coinche

ROOT = Path(__file__).resolve().parents[1]
# package -> the function that makes its rules record
PACKAGES = {
    "toepen_spiel": "toepen_rules",
    "kuhn_collab": "kuhn_collab_rules",
    "coinche_spiel": "coinche_rules",
    "cego_spiel": "cego_rules",
    "gongzhu_spiel": "gongzhu_rules",
}
# modules that hold a record: one a package, and Coinche's second game
RECORDS = [(f"{package}.rules", function) for package, function in PACKAGES.items()]
RECORDS.append(("coinche_spiel.match", "match_rules"))


def record(module: str, function: str) -> tuple[ModuleType, Rules]:
    holder = importlib.import_module(module)
    return holder, getattr(holder, function)()


def test_no_package_is_left_out() -> None:
    assert {path.parent.name for path in ROOT.glob("*/RULES.md")} == PACKAGES.keys()
    assert {record(*names)[0].NAME for names in RECORDS} == set(cardspiel.GAMES)


@pytest.mark.parametrize("package", PACKAGES)
def test_files(package: str) -> None:
    for name in ("__init__.py", "state.py", "rules.py", "observation.py", "game.py", "RULES.md"):
        assert (ROOT / package / name).is_file(), f"{package} has no {name}"


@pytest.mark.parametrize(("module", "function"), RECORDS)
def test_rules_hold_name_version_defaults_and_record(module: str, function: str) -> None:
    holder, rules = record(module, function)
    assert isinstance(holder.VERSION, int)
    assert rules.version == holder.VERSION
    assert isinstance(holder.KERNEL, Kernel)
    assert rules.kernel is holder.KERNEL
    by_name = getattr(holder, function)(**holder.DEFAULTS)
    assert (by_name.root == rules.root).all()
    for name, parameter in inspect.signature(getattr(holder, function)).parameters.items():
        assert parameter.kind == parameter.VAR_KEYWORD or parameter.default == holder.DEFAULTS[name]


@pytest.mark.parametrize(("module", "function"), RECORDS)
def test_pyspiel_has_the_same_parameters_and_the_same_record(module: str, function: str) -> None:
    """Nothing is added to the record on the pyspiel side: who builds on rules alone has the whole game."""
    holder, rules = record(module, function)
    game = pyspiel.load_game(holder.NAME)
    assert game.get_type().parameter_specification == holder.DEFAULTS
    for field in dataclasses.fields(Rules):
        ours, pyspiels = getattr(rules, field.name), getattr(game.rules, field.name)
        assert (ours == pyspiels).all() if field.name == "root" else ours == pyspiels, field.name


def test_the_version_of_a_match_is_raised_with_that_of_a_deal() -> None:
    assert match.VERSION >= coinche.VERSION


@pytest.mark.parametrize(
    "name",
    [
        "python_tied_rewards(game=python_kuhn_collab())",
        "python_partner_oracle(game=python_kuhn_collab())",
        "python_partner_oracle(game=python_kuhn_collab(),accuracy=0.9)",
        "python_card_isomorphism(game=python_toepen())",
        "python_card_isomorphism(game=python_toepen(),method=thesis)",
        "python_bucketing(game=python_card_isomorphism(game=python_toepen()),hand=bucket)",
    ],
)
def test_transforms_hand_the_version_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("toepen_spiel", "kuhn_collab"):
        monkeypatch.setattr(importlib.import_module(f"{package}.rules"), "VERSION", 7)
    assert pyspiel.load_game(name).rules.version == 7


@pytest.mark.parametrize(("module", "function"), RECORDS)
def test_parameters_that_do_not_exist_are_refused(module: str, function: str) -> None:
    """Also without pyspiel, which checks names and types itself."""
    holder = importlib.import_module(module)
    with pytest.raises((TypeError, UserError), match="colours"):
        getattr(holder, function)(colours=4)


def test_a_match_has_no_reward_scheme() -> None:
    with pytest.raises(UserError, match="python_coinche_match: there is no parameter reward; allowed: players, suits"):
        match.match_rules(reward="classic")
