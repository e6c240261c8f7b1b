"""Settings of a learner: one dataclass, each field with its default, what it means and what is allowed.

    @dataclass(frozen=True)
    class Settings:
        batch_size: int = setting(512, "rows of a minibatch", lowest=1)

        def __post_init__(self) -> None:
            check_fields(self)

Flags are made from the fields (`experiments.running.flags`), so that nothing is declared twice.
"""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cardtable.parameters import require, require_whole


def setting(
    default: Any, meaning: str, lowest: int | None = None, highest: int | None = None, seconds_each: float = 0.0
) -> Any:
    """A field with a default, a help text, the numbers allowed, and what one more costs at the very least."""
    known = {"help": meaning, "lowest": lowest, "highest": highest, "seconds_each": seconds_each}
    return dataclasses.field(default=default, metadata=known)


def kind_of(hint: Any) -> Any:
    """The type of a field; of `int | None` it is int."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(part for part in get_args(hint) if part is not type(None))
    return hint


def check_fields(settings: Any) -> None:
    """Raises UserError for the first field whose value its type does not allow. Lists become tuples."""
    hints = get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        name, hint, value = field.name, hints[field.name], getattr(settings, field.name)
        kind, lowest = kind_of(hint), field.metadata.get("lowest")
        if value is None and kind is not hint:
            continue
        if get_origin(kind) is Literal:
            require(value in get_args(kind), name, value, ", ".join(get_args(kind)))
        elif get_origin(kind) is tuple:
            object.__setattr__(settings, name, tuple(value))
            wanted = "at least one whole number, each 1 or more"
            require(len(value) > 0 and all(type(part) is int and part >= 1 for part in value), name, value, wanted)
        elif kind is int:
            require_whole(name, value, 0 if lowest is None else lowest, field.metadata.get("highest"))
        elif kind is float:
            require(math.isfinite(value), name, value, "numbers, not infinity")
            require(lowest is None or value >= lowest, name, value, f"{lowest} or more")
