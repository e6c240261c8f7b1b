"""Bad input, said in one way everywhere: what is wrong, and what is allowed.

`UserError` is for the person who typed a flag, a parameter, a player's name or a path. It is a ValueError, so that
Python code which builds games and solvers may treat it as such; commands print it as one line.
"""

from __future__ import annotations


class UserError(ValueError):
    """Something that was asked for cannot work; the message is for the person who asked."""


def bad_value(name: str, value: object, allowed: str) -> UserError:
    """The one wording of a bad parameter: `suits is 7; allowed: 1 to 4`."""
    return UserError(f"{name} is {value!r}; allowed: {allowed}")


def require(condition: bool, name: str, value: object, allowed: str) -> None:
    """Raises the error of `bad_value` unless the condition holds."""
    if not condition:
        raise bad_value(name, value, allowed)


def require_whole(name: str, value: object, lowest: int, highest: int | None = None) -> None:
    """A whole number (no bool, no float) from `lowest` to `highest`, both included."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    allowed = f"{lowest} or more" if highest is None else f"{lowest} to {highest}"
    require(whole and lowest <= value and (highest is None or value <= highest), name, value, allowed)  # type: ignore[operator]
