"""How often something happened among the times it could have: shares for the tables of lessons."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cardtable.match import Estimate


def share(happened: Iterable[bool]) -> Estimate:
    return Estimate.of(np.array(list(happened), float))


def percent(estimate: Estimate) -> str:
    """`37 ± 4 %`; a dash where it could not happen."""
    if not estimate.n:
        return "–"
    spread = f" ± {196 * estimate.standard_error:.0f}" if estimate.n > 1 else ""
    return f"{100 * estimate.mean:.0f}{spread} %"
