"""Bad input, said in one way everywhere: what is wrong, and what is allowed.

`UserError` is for the person who typed a flag, a parameter, a player's name or a path. It is a ValueError, so that
Python code which builds games and solvers may treat it as such; commands print it as one line.

Every function takes `of`, whose parameter it is: games and transforms give their short name, and the message begins
with it, as in `python_toepen: suits is 7; allowed: 1 to 4`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable, Sequence

import numpy as np


class UserError(ValueError):
    """Something that was asked for cannot work; the message is for the person who asked."""


def refusal(problem: str, allowed: str, of: str = "") -> UserError:
    """For what is no single value: `python_tied_rewards: python_toepen() declares no teams; allowed: ...`."""
    return UserError(f"{of}: {problem}; allowed: {allowed}" if of else f"{problem}; allowed: {allowed}")


def bad_value(name: str, value: object, allowed: str, of: str = "") -> UserError:
    """The one wording of a bad parameter: `suits is 7; allowed: 1 to 4`."""
    return refusal(f"{name} is {value!r}", allowed, of)


def require(condition: bool, name: str, value: object, allowed: str, of: str = "") -> None:
    """Raises the error of `bad_value` unless the condition holds."""
    if not condition:
        raise bad_value(name, value, allowed, of)


def require_whole(
    name: str, value: object, lowest: int, highest: int | None = None, of: str = "", because: str = ""
) -> None:
    """A whole number (no bool, no float) from `lowest` to `highest`, both included; `because` says why these."""
    allowed = f"{lowest} or more" if highest is None else f"{lowest} to {highest}"
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)  # numpy's are welcome
    fits = whole and lowest <= value and (highest is None or value <= highest)  # type: ignore[operator]
    require(fits, name, value, f"{allowed}, {because}" if because else allowed, of)


def require_whole_numbers(name: str, value: object, lowest: int, highest: int, count: int) -> np.ndarray:
    """One whole number for all of `count` things, or one for each; returns an array with one for each."""
    array = np.asarray(value)
    fits = array.shape in ((), (count,)) and (np.issubdtype(array.dtype, np.integer) or array.size == 0)
    require(
        bool(fits and ((array >= lowest) & (array <= highest)).all()),
        name,
        value,
        f"{lowest} to {highest}, one number or one for each of {count}",
    )
    return np.ascontiguousarray(np.broadcast_to(array.astype(np.int64), count))


def require_player(player: object, num_players: int) -> None:
    """The number of a seat. Compiled code does not look: it would read memory that belongs to something else."""
    if type(player) is not int or not 0 <= player < num_players:  # the quick way for all who are right
        require_whole("player", player, 0, num_players - 1)


def require_number(
    name: str, value: object, lowest: float = -math.inf, highest: float = math.inf, of: str = ""
) -> None:
    """A finite number from `lowest` to `highest`, both included."""
    if lowest == -math.inf:
        allowed = "a finite number" if highest == math.inf else f"{highest:g} or less"
    else:
        allowed = f"{lowest:g} or more" if highest == math.inf else f"{lowest:g} to {highest:g}"
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    require(number and math.isfinite(value) and lowest <= value <= highest, name, value, allowed, of)  # type: ignore[arg-type, operator]


def require_flag(name: str, value: object, of: str = "") -> None:
    """True or False, or the numbers 1 and 0, which equal them."""
    require(value in (True, False), name, value, "True, False", of)


def require_one_of(name: str, value: object, allowed: Sequence, of: str = "") -> int:
    """One of a few values; returns its position among them."""
    if value not in allowed:
        raise bad_value(name, value, ", ".join(map(str, allowed)), of)
    return allowed.index(value)


def require_known(names: Iterable[str], known: Collection[str], of: str = "") -> None:
    """Refuses parameters that do not exist, where Python itself does not."""
    for name in names:
        if name not in known:
            raise refusal(f"there is no parameter {name}", ", ".join(known), of)
