"""The input of ScrofaZero's networks: the whole position with open hands, as 434 numbers (full deck only).

    0    4 x 52  hands left: the player, then the others in turn order
    208  4 x 16  scored cards captured, same seats: H2 to HA, SQ, DJ, C10
    272  3 x 54  cards on the table, the latest first; card c marks the places c, c + 1 and c + 2

Shi, Li and Sun (2021) diffuse a table card over three places, so that neighbours in rank look alike. Their program
leaves out the offset of one, and the deuce of spades spills over the edge of its block; here it does not.
"""

from __future__ import annotations

from cardtable.compiled import compiled
from cardtable.tricks import NUM_SEATS, played_card, write_cards
from gongzhu_spiel.observation import write_scored
from gongzhu_spiel.state import CARDS_PLAYED, FULL_DECK, HAND, TAKEN, TRICKS, require_full_deck

OPEN_HAND_FEATURES = 434
SCORED_OFFSET = NUM_SEATS * FULL_DECK
TABLE_OFFSET = SCORED_OFFSET + NUM_SEATS * 16
TABLE_BLOCK = FULL_DECK + 2


@compiled
def open_hand_features(state, player, out):
    """Writes the features seen from `player` into `out`, which arrives zeroed."""
    require_full_deck(state)
    captured = SCORED_OFFSET
    for step in range(NUM_SEATS):
        seat = (player + step) % NUM_SEATS
        write_cards(state[HAND + seat], step * FULL_DECK, out)
        captured = write_scored(state, state[TAKEN + seat], captured, out)
    for back in range(state[CARDS_PLAYED] % NUM_SEATS):
        _, card = played_card(state, TRICKS, state[CARDS_PLAYED] - 1 - back)
        first = TABLE_OFFSET + back * TABLE_BLOCK + card
        out[first : first + 3] = 1.0
