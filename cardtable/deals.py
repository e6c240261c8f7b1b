"""All deals of the unseen cards, one after the other: where there are few, nobody need draw them.

What `cardtable.redeal` draws from: every pile receives so many of the unseen cards, and none of those forbidden to it.
"""

from __future__ import annotations

import numpy as np

from cardtable import bits
from cardtable.compiled import compiled
from cardtable.redeal import MAX_CARDS, MAX_PILES


@compiled
def list_deals(unseen, needs, forbidden, num_piles, out):
    """Writes every deal to a row of `out`, a card set for each pile; returns how many there are.

    Stops, and returns -1, when there are more than `out` has rows. Cards are placed one after the other, lowest first;
    `choice` holds the pile of each card placed so far.
    """
    cards = np.empty(MAX_CARDS, np.int64)
    choice = np.empty(MAX_CARDS, np.int64)
    room = np.empty(MAX_PILES, np.int64)
    piles = np.zeros(MAX_PILES, np.int64)
    room[:num_piles] = needs[:num_piles]
    n = bits.list_cards(unseen, 0, cards)
    found = 0
    depth = 0
    choice[0] = -1
    while depth >= 0:
        if depth == n:
            if found == len(out):
                return -1
            out[found, :num_piles] = piles[:num_piles]
            found += 1
            depth -= 1
            continue
        card = np.int64(1) << cards[depth]
        pile = choice[depth]
        if pile >= 0:  # take it back from where it was
            piles[pile] ^= card
            room[pile] += 1
        pile += 1
        while pile < num_piles and (room[pile] == 0 or forbidden[pile] & card):
            pile += 1
        if pile == num_piles:
            depth -= 1
            continue
        choice[depth] = pile
        piles[pile] |= card
        room[pile] -= 1
        depth += 1
        if depth < n:
            choice[depth] = -1
    return found
