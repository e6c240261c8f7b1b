"""Flags that are not written down twice: those that every run has, those made from a dataclass of
settings, and who does the work."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

from absl import flags

from cardtable.executors import EXECUTORS, Executor, find_executor
from cardtable.parameters import UserError
from solvers.learning.settings import kind_of

FLAGS = flags.FLAGS
DEFINE: dict[type, Any] = {
    bool: flags.DEFINE_bool,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    str: flags.DEFINE_string,
}
flags.disclaim_key_flags()  # --help of a command lists them as its own


def define_settings(settings: type) -> None:
    """A flag for each field of a dataclass; those that are not given keep the default of the engine."""
    hints = get_type_hints(settings)
    for field in dataclasses.fields(settings):
        kind, name, text = kind_of(hints[field.name]), field.name, field.metadata["help"]
        if get_origin(kind) is Literal:
            flags.DEFINE_enum(name, None, list(get_args(kind)), text)
        elif get_origin(kind) is tuple:
            flags.DEFINE_list(name, None, text)
        else:
            DEFINE[kind](name, None, text)


def given_settings(settings: type) -> dict[str, Any]:
    """The fields that were given on the command line."""
    found = {field.name: FLAGS[field.name].value for field in dataclasses.fields(settings)}
    return {name: _whole_numbers(name, value) for name, value in found.items() if value is not None}


def _whole_numbers(name: str, value: Any) -> Any:
    """A list of texts as numbers; anything else as it is."""
    if not isinstance(value, list):
        return value
    try:
        return tuple(int(part) for part in value)
    except ValueError:
        raise UserError(f"--{name}={','.join(value)}: allowed are whole numbers with commas") from None


def define_run(default_out: str, iterations: str = "stop after so many iterations") -> None:
    """What the run loop (`experiments.running.loop`) can be told."""
    flags.DEFINE_integer("iterations", None, iterations, 1)
    flags.DEFINE_float("seconds", None, "stop after so many seconds of training, evaluation not counted", 0.0)
    flags.DEFINE_integer("seed", 1, "of everything that is drawn at random")
    flags.DEFINE_string("out", None, f"run directory; default {default_out}")
    flags.DEFINE_bool("resume", False, "go on with the run in --out")
    flags.DEFINE_float("checkpoint_seconds", 30.0, "seconds between checkpoints", 0.0)


def define_executor(default: str = "serial") -> None:
    """Who does the work of a long command; what comes out is the same."""
    flags.DEFINE_string("executor", default, f"who works: {EXECUTORS}; the result is the same")
    flags.DEFINE_integer("workers", None, "short for --executor=processes:<workers>; 1 is serial", 1)
    flags.DEFINE_bool("allow_mixed_nodes", False, "nodes of a cluster may have other CPUs and libraries than this one")
    flags.register_validator("executor", _is_executor)


def _is_executor(text: str) -> bool:
    try:
        find_executor(text)
    except UserError as error:
        raise flags.ValidationError(str(error)) from None
    return True


def chosen_executor() -> Executor:
    """The executor that the flags ask for, to be closed after use."""
    if FLAGS.workers is None:
        return find_executor(FLAGS.executor, FLAGS.allow_mixed_nodes)
    if FLAGS["executor"].present:
        raise UserError(f"--workers={FLAGS.workers} and --executor={FLAGS.executor} both say who works; allowed: one")
    return find_executor("serial" if FLAGS.workers == 1 else f"processes:{FLAGS.workers}")
