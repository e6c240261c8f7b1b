"""Every command goes through one door: mistakes in one line, exit codes, flags that are checked, one way to open --out.

The list of commands is that of the folder.
"""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from absl import flags

from cardtable.parameters import UserError
from experiments.running.command import command
from experiments.running.flags import define_count, define_number, define_seed, whole_numbers
from tests.commands import ROOT
from tests.forked import COMMANDS


def source(name: str) -> str:
    return (ROOT / "experiments" / f"{name}.py").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_uses_the_one_door(name: str) -> None:
    text = source(name)
    assert "@command\ndef main() -> None:" in text
    assert '\nif __name__ == "__main__":\n' in text
    assert text.endswith("start(main)\n")
    forbidden = re.findall(r"DEFINE_integer|DEFINE_float|RunDirectory\(|sys\.exit|\"out\", |\"seed\", 1", text)
    assert not forbidden, f"{name} has its own way to do what experiments.running.flags and .command do for all"
    if name != "demo":
        assert "define_out(" in text or "define_run(" in text


def failing(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("suits is 7;\nallowed: 1 to 4"), "experiments.some: suits is 7; allowed: 1 to 4"),
        (OSError(28, "No space left on device", "x/y.csv"), "experiments.some: x/y.csv: No space left on device"),
        (OSError(28, "No space left on device"), "experiments.some: No space left on device"),
        (MemoryError(), "experiments.some: out of memory"),
        (MemoryError("Unable to allocate 7 TiB"), "experiments.some: Unable to allocate 7 TiB"),
    ],
)
def test_a_mistake_is_one_line(error: BaseException, line: str) -> None:
    with pytest.raises(SystemExit) as left:
        command(failing(error))(["experiments/some.py"])
    assert left.value.code == line, "sys.exit prints a text and exits with 1"


def test_a_fault_of_the_program_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        command(failing(ZeroDivisionError()))(["some"])


def test_what_is_left_of_the_command_line_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"experiments.some: unexpected arguments 9S AS; see --help"):
        command(lambda: None)(["some", "9S", "AS"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_stop(number: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    def work() -> None:
        os.kill(os.getpid(), number)
        pytest.fail("it was asked to stop")

    with pytest.raises(SystemExit) as left:
        command(work)(["some"])
    assert left.value.code == code
    said = capsys.readouterr().err
    assert said.startswith("experiments.some: interrupted; ")
    assert said.count("\n") == 1
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_asked_twice_stops_at_once(tmp_path: Path) -> None:
    """While it still clears up after the first time."""

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            (tmp_path / "too late").touch()

    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        command(work)(["some"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGINT
    assert not (tmp_path / "too late").exists()


def test_who_ignores_signals_goes_on_ignoring_them() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        command(lambda: os.kill(os.getpid(), signal.SIGINT))(["some"])
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


# ------------------------------------------------------------------------------------------------ numbers


@pytest.fixture
def values(monkeypatch: pytest.MonkeyPatch) -> flags.FlagValues:
    """Flags of their own, so that they are defined in no other test."""
    own = flags.FlagValues()
    original = flags.DEFINE

    def define(*arguments: Any, **named: Any) -> Any:
        return original(*arguments, **named, flag_values=own)  # type: ignore[call-overload]

    monkeypatch.setattr(flags, "DEFINE", define)
    define_number("share", 0.5, "a number", 0.0)
    define_count("deals", 5, "a whole number", 2, bytes_each=1000, seconds_each=1e-3)
    define_count("steps", 5, "another", 1, seconds_each=1.0)
    define_seed()
    return own


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("--share=nan", "finite"),
        ("--share=inf", "finite"),
        ("--share=-inf", "finite"),
        ("--share=1e999", "finite"),
        ("--share=-1", "non-negative"),
        ("--deals=1", "allowed: 2 or more"),
        ("--deals=1e3", "1e3"),
        ("--deals=1000000000000", "needs 1e.03 TB of memory or more"),
        ("--deals=9999999999999999999999", "allowed: 2 or more"),
        ("--steps=1000000000000", "takes 277,777,778 hours or more"),
        ("--seed=-1", "allowed: 0 to 2,147,483,647"),
        ("--seed=2147483648", "allowed: 0 to"),
    ],
)
def test_numbers_that_cannot_be_meant(argument: str, complaint: str, values: flags.FlagValues) -> None:
    with pytest.raises(flags.IllegalFlagValueError, match=complaint):
        values(["some", argument])


def test_numbers_that_can(values: flags.FlagValues) -> None:
    values(["some", "--share=1e-3", "--deals=2", "--seed=2147483647", "--steps=1_000"])
    assert (values.share, values.deals, values.seed, values.steps) == (1e-3, 2, 2147483647, 1000)


@pytest.mark.parametrize("text", ["", "a", "1,,2", "0", "1,-1", "nan", "99999999999999999999"])
def test_lists_of_numbers(text: str) -> None:
    assert whole_numbers("--worlds", ["10", "30"]) == (10, 30)
    with pytest.raises(UserError, match=r"--worlds=.*allowed are whole numbers with commas"):
        whole_numbers("--worlds", text.split(","))
