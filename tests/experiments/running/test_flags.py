"""Flags made from a dataclass have its names, types, choices and help texts, and no defaults of their own."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

import pytest
from absl import flags

from cardtable.parameters import UserError
from experiments.running.flags import define_settings, given_settings
from solvers.deep_cfr.settings import Settings
from solvers.learning.settings import check_fields, setting
from tests import commands


@dataclass(frozen=True)
class Tea:
    tea_kind: Literal["green", "black"] = setting("black", "of the leaves")
    tea_minutes: int = setting(3, "in the pot", lowest=1)
    tea_sugar: float = setting(0.5, "spoons")
    tea_milk: bool = setting(False, "a drop of it")
    tea_cups: tuple[int, ...] = setting((1,), "for each table")
    tea_guests: int | None = setting(None, "if they are known", lowest=1)

    def __post_init__(self) -> None:
        check_fields(self)


@pytest.fixture(scope="module")
def parsed() -> flags.FlagValues:
    define_settings(Tea)
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
    return flags.FLAGS


def read(values: flags.FlagValues, *arguments: str) -> dict:
    before = {field.name: values[field.name].value for field in dataclasses.fields(Tea)}
    try:
        values(["tea", *arguments])
        return given_settings(Tea)
    finally:
        for name, value in before.items():
            values[name].value = value


def test_what_is_not_given_is_left_to_the_engine(parsed: flags.FlagValues) -> None:
    assert read(parsed) == {}
    found = read(parsed, "--tea_kind=green", "--tea_minutes=4", "--tea_sugar=1", "--tea_milk", "--tea_cups=2,3")
    expected = {"tea_kind": "green", "tea_minutes": 4, "tea_sugar": 1.0, "tea_milk": True, "tea_cups": (2, 3)}
    assert found == expected
    assert Tea(**found).tea_guests is None
    assert read(parsed, "--tea_guests=7") == {"tea_guests": 7}
    assert parsed["tea_minutes"].help == "in the pot"


def test_what_cannot_be_read_is_refused(parsed: flags.FlagValues) -> None:
    with pytest.raises(flags.IllegalFlagValueError, match="green"):
        read(parsed, "--tea_kind=red")
    with pytest.raises(UserError, match="--tea_cups=2,x: allowed are whole numbers"):
        read(parsed, "--tea_cups=2,x")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tea_kind": "red"}, "tea_kind is 'red'; allowed: green, black"),
        ({"tea_minutes": 0}, "tea_minutes is 0; allowed: 1 or more"),
        ({"tea_minutes": 2.5}, "tea_minutes is 2.5"),
        ({"tea_sugar": float("nan")}, "tea_sugar is nan"),
        ({"tea_sugar": float("inf")}, "tea_sugar is inf"),
        ({"tea_cups": ()}, r"tea_cups is \(\)"),
        ({"tea_cups": (1, 0)}, "tea_cups is"),
        ({"tea_guests": 0}, "tea_guests is 0"),
    ],
)
def test_values_are_checked_in_one_wording(wrong: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Tea(**wrong)


def test_every_setting_of_deep_cfr_has_a_flag() -> None:
    text = commands.run("experiments.deep_cfr", "--help").stdout
    for field in dataclasses.fields(Settings):
        assert f"--{field.name}:" in text or f"--[no]{field.name}:" in text, field.name
        assert field.metadata["help"].split()[0] in text
