"""Flags that are not written down twice: those that every run has, those of a dataclass of settings, who does the work.

Numbers are checked where they are defined, in one way for all commands: finite, not too small, and not so large that
the memory or the hours they ask for are not there.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from absl import flags

from cardtable.executors import EXECUTORS, Executor, find_executor
from cardtable.parameters import UserError
from experiments.running.directory import RunDirectory
from solvers.arrays.memory import allowed_bytes, readable_bytes
from solvers.learning.settings import kind_of

FLAGS = flags.FLAGS
flags.disclaim_key_flags()  # --help of a command lists them as its own

LARGEST = 10**15  # of whole numbers: sums and products of them stay within 64 bits
LARGEST_SEED = 2**31 - 1  # what the least of the generators takes, OpenSpiel's in C++
LONGEST_HOURS = 100.0
MOST_WORKERS = 1024  # more than a machine can have are a slip


class _Number(flags.FloatParser):
    """A finite number within its bounds."""

    def convert(self, argument: Any) -> float:
        number = super().convert(argument)
        if not math.isfinite(number):
            raise ValueError("allowed: finite numbers")
        return number


class _Count(flags.IntegerParser):
    """A whole number within its bounds, for which there are memory and time."""

    def __init__(self, lowest: int, highest: int, bytes_each: float, seconds_each: float) -> None:
        super().__init__()
        self._lowest, self._highest = lowest, highest
        self.syntactic_help = f"a whole number, {self._allowed}"
        self._bytes_each, self._seconds_each = bytes_each, seconds_each

    @property
    def _allowed(self) -> str:
        return f"{self._lowest} or more" if self._highest == LARGEST else f"{self._lowest} to {self._highest:,}"

    def convert(self, argument: Any) -> int:
        number = super().convert(argument)
        if not self._lowest <= number <= self._highest:
            raise ValueError(f"allowed: {self._allowed}")
        needed, allowed = number * self._bytes_each, allowed_bytes(None)
        if needed > allowed:
            raise ValueError(f"needs {readable_bytes(needed)} of memory or more; {readable_bytes(allowed)} are free")
        hours = number * self._seconds_each / 3600
        if hours > LONGEST_HOURS:
            raise ValueError(f"takes {hours:,.0f} hours or more; allowed: what may end within {LONGEST_HOURS:,.0f}")
        return number


def define_number(
    name: str, default: float | None, text: str, lowest: float | None = None, highest: float | None = None
) -> None:
    """A flag for a number, which infinity and nan are not."""
    flags.DEFINE(_Number(lowest, highest), name, default, text, serializer=flags.ArgumentSerializer())


def define_count(
    name: str,
    default: int | None,
    text: str,
    lowest: int = 1,
    highest: int = LARGEST,
    bytes_each: float = 0.0,
    seconds_each: float = 0.0,
) -> None:
    """A flag for a whole number; `bytes_each` and `seconds_each` say what one more costs at the very least."""
    parser = _Count(lowest, highest, bytes_each, seconds_each)
    flags.DEFINE(parser, name, default, text, serializer=flags.ArgumentSerializer())


def define_seed(text: str = "of everything that is drawn at random") -> None:
    define_count("seed", 1, text, 0, LARGEST_SEED)


def define_settings(settings: type, already: type | None = None) -> None:
    """A flag for each field of a dataclass; those that are not given keep the default of the engine.

    Fields of `already`, whose flags are defined, mean the same here.
    """
    hints = get_type_hints(settings)
    known = {field.name for field in dataclasses.fields(already)} if already is not None else set()
    for field in dataclasses.fields(settings):
        if field.name in known:
            continue
        kind, name, text = kind_of(hints[field.name]), field.name, field.metadata["help"]
        if get_origin(kind) is Literal:
            flags.DEFINE_enum(name, None, list(get_args(kind)), text)
        elif get_origin(kind) is tuple:
            flags.DEFINE_list(name, None, text)
        elif kind is bool:
            flags.DEFINE_bool(name, None, text)
        elif kind is int:
            lowest, highest = field.metadata["lowest"] or 0, field.metadata["highest"] or LARGEST
            define_count(name, None, text, lowest, highest, seconds_each=field.metadata["seconds_each"])
        elif kind is float:
            define_number(name, None, text, field.metadata["lowest"])
        else:
            flags.DEFINE_string(name, None, text)


def given_settings(settings: type) -> dict[str, Any]:
    """The fields that were given on the command line."""
    found = {field.name: FLAGS[field.name].value for field in dataclasses.fields(settings)}
    return {name: _whole_numbers(name, value) for name, value in found.items() if value is not None}


def _whole_numbers(name: str, value: Any) -> Any:
    """A list of texts as numbers; anything else as it is."""
    return whole_numbers(f"--{name}", value) if isinstance(value, list) else value


def whole_numbers(name: str, texts: list[str], lowest: int = 1, highest: int = LARGEST) -> tuple[int, ...]:
    """The numbers of a flag that is a list."""
    try:
        numbers = tuple(int(text) for text in texts)
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < lowest or max(numbers) > highest:
        raise UserError(f"{name}={','.join(texts)}: allowed are whole numbers with commas, each {lowest:,} or more")
    return numbers


# ------------------------------------------------------------------------------------------------ run directories


def define_out(default: str | None, shown: str = "", resume: str = "") -> None:
    """Where a command writes, and what it does if something is there; `resume` says what it can go on with."""
    flags.DEFINE_string("out", default, f"run directory; default {shown}" if shown else "run directory")
    flags.DEFINE_bool("overwrite", False, "replace the run in --out")
    if resume:
        flags.DEFINE_bool("resume", False, f"go on with {resume} in --out")


def open_directory(config: Mapping[str, Any], default: str | Path = "") -> RunDirectory:
    """The directory of the flags of `define_out`."""
    resume = "resume" in FLAGS and FLAGS.resume
    return RunDirectory(FLAGS.out or default, config, resume=resume, overwrite=FLAGS.overwrite)


def define_run(default_out: str, iterations: str = "stop after so many iterations") -> None:
    """What the run loop (`experiments.running.loop`) can be told."""
    define_count("iterations", None, iterations)
    define_number("seconds", None, "stop after so many CPU seconds of training, evaluation not counted", 0.0)
    define_seed()
    define_out(None, default_out, resume="the run")
    define_number("checkpoint_seconds", 30.0, "seconds between checkpoints", 0.0)


# ------------------------------------------------------------------------------------------------ executors


def define_executor(default: str = "serial") -> None:
    """Who does the work of a long command; what comes out is the same."""
    flags.DEFINE_string("executor", default, f"who works: {EXECUTORS}; the result is the same")
    define_count("workers", None, "short for --executor=processes:<workers>; 1 is serial", 1, MOST_WORKERS)
    flags.DEFINE_bool("allow_mixed_nodes", False, "nodes of a cluster may have other CPUs and libraries than this one")
    flags.register_validator("executor", _is_executor)


def _is_executor(text: str) -> bool:
    try:
        find_executor(text)
    except UserError as error:
        raise flags.ValidationError(str(error)) from None
    return True


def chosen_executor(folder: Path) -> Executor:
    """The executor that the flags ask for, to be closed after use; nodes of a cluster are listed in the folder."""
    if FLAGS.workers is None:
        return find_executor(FLAGS.executor, FLAGS.allow_mixed_nodes, folder)
    if FLAGS["executor"].present:
        raise UserError(f"--workers={FLAGS.workers} and --executor={FLAGS.executor} both say who works; allowed: one")
    return find_executor("serial" if FLAGS.workers == 1 else f"processes:{FLAGS.workers}")
