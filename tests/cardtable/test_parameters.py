"""The one wording of bad parameters."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cardtable import parameters
from cardtable.parameters import UserError
from coinche_spiel.rules import coinche_rules
from kuhn_collab.rules import kuhn_collab_rules
from toepen_spiel.rules import toepen_rules


def _anything(value: Any) -> Any:
    """A value that the annotations forbid."""
    return value


GOOD = [
    lambda: parameters.require_whole("n", 3, 3, 3),
    lambda: parameters.require_whole("n", np.int64(4), 3),
    lambda: parameters.require_number("x", 0, 0, 1),
    lambda: parameters.require_number("x", np.float32(-1e9)),
    lambda: parameters.require_flag("f", np.True_),
    lambda: parameters.require_flag("f", 0),
    lambda: parameters.require_known(["a"], {"a": 1, "b": 2}),
    lambda: parameters.require(True, "n", 1, "anything"),
]
BAD = [
    (lambda: parameters.require_whole("n", 2, 3), "n is 2; allowed: 3 or more"),
    (lambda: parameters.require_whole("n", 5, 3, 4, "game"), "game: n is 5; allowed: 3 to 4"),
    (lambda: parameters.require_whole("n", 5, 3, 4, because="as we said"), "n is 5; allowed: 3 to 4, as we said"),
    (lambda: parameters.require_whole("n", True, 0), "n is True; allowed: 0 or more"),
    (lambda: parameters.require_whole("n", 2.0, 0), "n is 2.0; allowed: 0 or more"),
    (lambda: parameters.require_whole("n", None, 1), "n is None; allowed: 1 or more"),
    (lambda: parameters.require_number("x", math.nan), "x is nan; allowed: a finite number"),
    (lambda: parameters.require_number("x", math.inf, 0), "x is inf; allowed: 0 or more"),
    (lambda: parameters.require_number("x", 1.5, 0, 1, "game"), "game: x is 1.5; allowed: 0 to 1"),
    (lambda: parameters.require_number("x", 1.5, highest=0.5), "x is 1.5; allowed: 0.5 or less"),
    (lambda: parameters.require_number("x", "1"), "x is '1'; allowed: a finite number"),
    (lambda: parameters.require_flag("f", 2), "f is 2; allowed: True, False"),
    (lambda: parameters.require_flag("f", "yes", "game"), "game: f is 'yes'; allowed: True, False"),
    (lambda: parameters.require_one_of("s", "c", ("a", "b"), "game"), "game: s is 'c'; allowed: a, b"),
    (lambda: parameters.require_known(["c"], {"a": 1, "b": 2}, "g"), "g: there is no parameter c; allowed: a, b"),
    (lambda: parameters.require(False, "n", 1, "nothing", "game"), "game: n is 1; allowed: nothing"),
    (lambda: parameters.require_whole_numbers("t", 4, 0, 3, 2), "t is 4; allowed: 0 to 3, one number or one for each"),
    (lambda: parameters.require_whole_numbers("t", [1, 2, 3], 0, 3, 2), "t is [1, 2, 3]; allowed: 0 to 3"),
    (lambda: parameters.require_whole_numbers("t", [0.5, 1], 0, 3, 2), "t is [0.5, 1]; allowed: 0 to 3"),
    (lambda: coinche_rules(coinche=2), "python_coinche: coinche is 2; allowed: True, False"),
    (lambda: kuhn_collab_rules(_anything("no")), "python_kuhn_collab: fold_topup is 'no'; allowed: True, False"),
    (lambda: toepen_rules(suits=_anything(2.5)), "python_toepen: suits is 2.5; allowed: 1 to 4"),
]


@pytest.mark.parametrize("check", GOOD)
def test_good_values_pass(check: Callable[[], object]) -> None:
    check()


@pytest.mark.parametrize(("check", "message"), BAD)
def test_bad_values_are_refused(check: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError) as error:
        check()
    assert str(error.value).startswith(message)
    assert isinstance(error.value, ValueError)


def test_positions_and_arrays() -> None:
    assert parameters.require_one_of("s", "b", ("a", "b")) == 1
    assert parameters.require_whole_numbers("t", 2, 0, 3, 3).tolist() == [2, 2, 2]
    assert parameters.require_whole_numbers("t", np.array([0, 3], np.int8), 0, 3, 2).tolist() == [0, 3]
