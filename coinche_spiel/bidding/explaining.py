"""What the fast bidder thinks of calls: the score it expects of each. No simulation, so nobody knows how sure it is."""

from __future__ import annotations

import numpy as np

from cardtable.player import Explanation
from coinche_spiel.auction import legal_calls
from coinche_spiel.bidding.calls import NEVER, VALUES_SIZE, call_values
from coinche_spiel.bidding.contexts import CONTEXT_SIZE, write_context
from coinche_spiel.bidding.shipped import numbers_for
from coinche_spiel.state import HAND, NUM_ACTIONS, PASS, TURN


def learnt_values(state: np.ndarray) -> Explanation:
    """Of every legal call; those that cannot be best have the lowest value, and count as not tried."""
    numbers, context, values = numbers_for(state), np.empty(CONTEXT_SIZE), np.empty(VALUES_SIZE)
    write_context(state, numbers, context)
    call_values(state[HAND + int(state[TURN])], context, numbers, values)
    legal = np.empty(NUM_ACTIONS, np.int64)
    actions = legal[: legal_calls(state, legal)].copy()
    found = values[actions - PASS]
    known = found > NEVER
    found[~known] = found[known].min()
    return Explanation(actions, values=found, tried=known)
